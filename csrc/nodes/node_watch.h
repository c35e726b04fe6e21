/* node_watch: what the host sees of one node, for as long as it looks: its data or its children,
 * now and after each change. The latest state always arrives, states in between may merge, and it
 * never goes back: behind the barrier of each handle the servers show no older state than before.
 * Under the client's mutex.
 *
 * Watch and read go out as one request; when the watch tells, it is read again. A missing node is
 * watched by an exists, with a read right behind it. Servers tell nothing of what the session may
 * not read, so each node watch is also read again now and then. */
#ifndef ZKL_NODE_WATCH_H
#define ZKL_NODE_WATCH_H

#include "line/lines.h"
#include "nodes/nodes.h"

void zkl_node_watches_init(zkl_nodes *nodes, zkl_lines *lines);
void zkl_node_watches_destroy(zkl_nodes *nodes);

/* `path` is full. ZKL_OK, and the node watch is the host's until zkl_node_watch_quit;
 * ZKL_TOO_MANY_WATCHES, ZKL_NO_MEMORY. */
zkl_status zkl_node_watch_open(zkl_nodes *nodes, const char *path, bool children, uint64_t tag,
                               zkl_node_watch **node_watch);
/* What the host has not been given yet; it frees the content (NULL: the status says why). false:
 * nothing. */
bool zkl_node_watch_given(zkl_node_watch *node_watch, zkl_status *status, zkl_content **content);
/* The host looks no more. */
void zkl_node_watch_quit(zkl_node_watch *node_watch);

/* Reads what is due: near the end of every step. */
void zkl_node_watches_step(zkl_nodes *nodes);
/* There is a link again. */
void zkl_node_watches_resume(zkl_nodes *nodes);
/* The library's handle is gone, and with it its watches and the answers that have not come. */
void zkl_node_watches_unlink(zkl_nodes *nodes);
/* Nothing is read any more. */
void zkl_node_watches_close(zkl_nodes *nodes);
/* A watch has told of the path. false: nobody looks at it. */
bool zkl_node_watches_told(zkl_nodes *nodes, const char *path, zkl_change change);
/* Somebody else has taken all watches of that kind on the path back. */
void zkl_node_watches_unwatched(zkl_nodes *nodes, const char *path, bool list);

/* For the host's side (client/node watches.c). */
void zkl_node_watch_set_client(zkl_node_watch *node_watch, zkl_client *client);
zkl_client *zkl_node_watch_client(const zkl_node_watch *node_watch);

#endif
