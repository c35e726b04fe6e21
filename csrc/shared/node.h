/* SPDX-License-Identifier: MIT */
/* node: one node in a line on which several callers of this client take turns (fair = false): a
 * grant from one to the next needs no traffic. To the host the callers are contenders, but they are
 * in no line (sharer.h). The node is a contender in its line like any other, with the shared
 * node as its listener. Under the client's mutex.
 *
 * A client has one open shared node in a line. It keeps the node for a while when no caller wants
 * it (linger.h), but lets it go at once when another client's waiter stands behind it. Such a
 * waiter waits for a stint and one hold at most. The stint begins when the servers report that a
 * node has come: a watch on the directory reports that, and only a list under that watch shows that
 * nobody is behind (remote_waiters.h). A sealed shared node is granted to no other caller: once its
 * holder has ended, the client deletes the node and then creates the next one. A read that was
 * taken under a write has its own node: after the write's release it is the shared node of all
 * readers here. */
#ifndef ZKL_SHARED_NODE_H
#define ZKL_SHARED_NODE_H

#include "line/lines.h"
#include "shared/node_state.h"

/* ---- the end of a step ---- */

/* Afterwards the shared node may be gone. */
void zkl_shared_node_advance(zkl_shared_node *shared);
/* Does the same for all shared nodes that have changed: near the end of every step. false: there
 * was none. */
bool zkl_shared_nodes_step(zkl_line_common *common);

/* ---- callers ---- */

/* Joins the line with terms->sharing, on the client's shared node. NULL: no memory. */
zkl_contender *zkl_shared_node_join(zkl_line *line, uint64_t tag, const zkl_terms *terms);
/* From now on the client keeps no shared node that no caller uses. */
void zkl_shared_nodes_hurry(zkl_lines *lines);

#endif
