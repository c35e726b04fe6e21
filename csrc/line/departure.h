/* SPDX-License-Identifier: MIT */
/* departure: how contenders leave their line without leaving a node behind, and what follows for
 * the waiters behind a node that has gone. Those are only marked here; the end of the step
 * evaluates them (evaluate.h). */
#ifndef ZKL_DEPARTURE_H
#define ZKL_DEPARTURE_H

#include "line/line_state.h"

/* ---- the waiters behind a node ---- */

/* The child has gone, or its delete is on the wire: marks its waiters. NULL: it had no name yet. */
void zkl_blocker_gone(zkl_line *line, const char *name);
/* The delete of our child was refused: marks the waiters that expected it to go. */
void zkl_blocker_stays(zkl_line *line, const char *name);
/* zkl_blocker_gone without a watch that has fired: a get found the child gone, so the end of others
 * may have been missed as well. */
void zkl_blocker_missing(zkl_line *line, const char *name);
/* Watches the child that a waiter will wait for after its blocker, if there is one and there is
 * room. That child goes when the blocker's turn comes, and while the blocker holds there is time
 * for a list. So when the blocker goes, it is known to be the last one before the waiter. */
void zkl_blocker_watch_second(zkl_contender *c, const zkl_verdict *verdict);

/* ---- the end of a contender ---- */

/* Its node is gone for good: removes it from the line, and frees it once the host has dropped
 * it. */
void zkl_leave_retire(zkl_contender *c);
/* Deletes its node, at once or with others. The servers carry out our requests in order, and each
 * list of the line and each create in it goes out after the delete. So this marks the waiters
 * behind the node at once. */
void zkl_leave_erase(zkl_contender *c);
/* The contender is over: from now on its node has to go. */
void zkl_leave_depart(zkl_contender *c);
/* Ends its wait; the host hears `status`. */
void zkl_leave_fail(zkl_contender *c, zkl_status status);
/* The same for all waiters in the line. */
void zkl_leave_fail_waiting(zkl_line *line, zkl_status status);
/* The same for the waiters behind the child with that sequence: no watch would tell them that it
 * has gone. The waiters before it can wait as before. */
void zkl_leave_fail_behind(zkl_line *line, int32_t sequence, zkl_status status);
/* The same for all contenders whose creates came after the latest round of parents: otherwise each
 * would ask for one more round. */
void zkl_leave_fail_round(zkl_line *line, zkl_status status);
/* The servers throttled a request that the contender needs, or that all waiters of the line need if
 * it is NULL. Callers that try once (timeout 0) fail, also those that share its node. The others
 * wait until the request is sent again. */
void zkl_leave_end_tries(zkl_line *line, zkl_contender *c);
/* Its node is gone, and we did not delete it: a holder has lost; a waiter gets a new node at the
 * end of the queue. */
void zkl_leave_missing(zkl_contender *c);

#endif
