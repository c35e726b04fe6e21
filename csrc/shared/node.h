/* node: one node in a line on which several callers of this client take turns (fair = false): a
 * grant from one to the next needs no traffic. The callers are contenders for the host, and in no
 * line (sharer.h); the node is a contender in its line like any other, and knows only that it is
 * part of something. Under the client's mutex.
 *
 * A client has one open shared node in a line. It is kept for a while when nobody here wants it
 * (linger.h), and goes at once when somebody stands behind it. Those who do wait for a bounded
 * number of grants: each counts from the moment at which the servers told that somebody came, for
 * they are told by a watch on the directory, and only a list under that watch says that nobody is
 * behind (remote_waiters.h). A shared node that is sealed is granted to nobody any more: its node
 * is deleted when its holder has ended, before the next one's is created. A read that was taken
 * under a write has a node of its own: the shared node of all who read here, once the write is
 * released. */
#ifndef ZKL_SHARED_NODE_H
#define ZKL_SHARED_NODE_H

#include "line/lines.h"
#include "shared/node_state.h"

/* ---- what the end of a step does ---- */

/* The shared node may be gone then. */
void zkl_shared_node_advance(zkl_shared_node *shared);
/* The same with those to which something has happened: near the end of every step. false: there
 * were none. */
bool zkl_shared_nodes_step(zkl_line_common *common);

/* ---- callers come ---- */

/* Joins the line with terms->sharing, on the client's shared node. NULL: no memory. */
zkl_contender *zkl_shared_node_join(zkl_line *line, uint64_t tag, const zkl_terms *terms);
/* Somebody of this client is about to join the line, and not its shared node: if nobody uses that,
 * it goes first. */
void zkl_shared_node_make_way(zkl_line *line);
/* From now on no shared node is kept that nobody uses. */
void zkl_shared_nodes_hurry(zkl_lines *lines);

#endif
