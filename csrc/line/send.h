/* SPDX-License-Identifier: MIT */
/* send: the requests of a line, for itself and for its contenders. If a request cannot be sent (no
 * link, or no memory), nothing changes, and zkl_line_resume or the line's retry timer sends it
 * later. */
#ifndef ZKL_SEND_H
#define ZKL_SEND_H

#include "line/line_state.h"
#include "line/request.h"

/* ---- about a contender's own node ---- */

/* Creates the node under a new GUID, and wants a list after it: at once or with others (batch.h).
 * Forgets everything about a former node. While its share of the node budget is owed, the line's
 * retry does it. */
void zkl_send_create(zkl_contender *c);
/* Deletes the node, at once or with others. */
void zkl_send_erase(zkl_contender *c);
/* For a compound or a batch, which creates the node itself: the create, under a new GUID. Wants a
 * list after it, unless its dispatch counts. */
zkl_op zkl_send_new_node(zkl_contender *c);
/* True if its create or delete has to be a request of its own. */
bool zkl_send_goes_alone(const zkl_contender *c);
/* True if a write to the directory, behind its create in one transaction, may show that no other
 * node is there. */
bool zkl_send_may_count(const zkl_contender *c);
/* Sends its create or delete, which is due, as a request of its own. */
void zkl_send_alone(zkl_contender *c);
/* Its create or delete was sent, alone or in a batch. */
void zkl_send_noted(zkl_contender *c, bool batched);
/* Sets the watch on the node, which is THERE, unless it is armed or asked for. Without room for a
 * watch, the client polls the node of a holder; a waiter that only needs the watch to be granted
 * gets a list instead. */
void zkl_send_watch_own(zkl_contender *c);
/* The same for those of our contenders that come next after `first` and found no room so far: when
 * their turn comes, they need no round trip. */
void zkl_send_watch_next(const zkl_line *line, const zkl_contender *first);
/* Reads the node, which is THERE, without a watch, over the current link. */
void zkl_send_read_own(zkl_contender *c);
/* Asks about the child with the sequence `candidate`, which may be the contender's own. false:
 * nothing was sent. */
bool zkl_send_candidate(zkl_contender *c, const char *name);

/* ---- about the line ---- */

/* Lists the children; behind a write, if the answer to a create was lost. */
void zkl_send_list(zkl_line *line);
/* Sets a watch on a foreign node, unless it is armed or asked for. false: there is no watch, so
 * nothing will report the node's end. */
bool zkl_send_watch_blocker(zkl_line *line, zkl_child *child);
/* The same for the child before the blocker, only if there is much room. */
void zkl_send_watch_second(zkl_line *line, zkl_child *child);
/* Removes a watch on a node that stays. Until the request could be sent, the watch counts as
 * armed. */
void zkl_send_unwatch(zkl_line *line, zkl_child *child);
void zkl_send_unwatch_directory(zkl_line *line);
/* Deletes a node with a GUID of ours that belongs to no contender. */
void zkl_send_erase_stray(zkl_line *line, const char *name);

#endif
