/* SPDX-License-Identifier: MIT */
/* node_watch: keeps the host informed of one node, its data or its children, now and after each
 * change, until the host quits. The latest state always arrives; states in between may merge. The
 * state never goes back: behind the barrier of each handle the servers show no older state than
 * before. Under the client's mutex.
 *
 * One request reads and sets the watch; when the watch fires, the node is read again. For a missing
 * node, an exists sets the watch, with a read right behind it. Servers report no change of a node
 * that the session may not read, so each node is also read from time to time. */
#ifndef ZKL_NODE_WATCH_H
#define ZKL_NODE_WATCH_H

#include "line/lines.h"
#include "nodes/nodes.h"

void zkl_node_watches_init(zkl_nodes *nodes, zkl_lines *lines);
void zkl_node_watches_destroy(zkl_nodes *nodes);

/* `path` is full. ZKL_OK: the host has the node watch until zkl_node_watch_quit. Otherwise
 * ZKL_TOO_MANY_WATCHES or ZKL_NO_MEMORY. */
zkl_status zkl_node_watch_open(zkl_nodes *nodes, const char *path, bool children, uint64_t tag,
                               zkl_node_watch **node_watch);
/* The state that the host has not taken yet. The host frees the content (NULL: the status says
 * why). false: nothing new. */
bool zkl_node_watch_hand_out(zkl_node_watch *node_watch, zkl_status *status, zkl_content **content);
/* The host stops watching. */
void zkl_node_watch_quit(zkl_node_watch *node_watch);

/* Reads the nodes that are due: near the end of every step. */
void zkl_node_watches_step(zkl_nodes *nodes);
/* The link is up. */
void zkl_node_watches_resume(zkl_nodes *nodes);
/* The library's handle is gone, and with it its watches and the answers that have not come. */
void zkl_node_watches_unlink(zkl_nodes *nodes);
/* From now on nothing is read. */
void zkl_node_watches_close(zkl_nodes *nodes);
/* A watch on the path has fired. false: the host does not watch that path. */
bool zkl_node_watches_told(zkl_nodes *nodes, const char *path, zkl_change change);
/* Other code has removed all watches of that kind on the path. */
void zkl_node_watches_unwatched(zkl_nodes *nodes, const char *path, bool list);

zkl_context *zkl_node_watch_context(const zkl_node_watch *node_watch);

#endif
