/* departure: how contenders leave their line, in whatever way, so that no node stays behind; and
 * what follows for the waiters behind a node that is gone. Nothing is decided about those here:
 * each is marked, and the end of the step looks at it again (evaluate.h). */
#ifndef ZKL_DEPARTURE_H
#define ZKL_DEPARTURE_H

#include "line/line_state.h"

/* ---- the waiters behind a node ---- */

/* The child is gone, or its delete is on the wire: whoever waited for it is marked. NULL: it had no
 * name yet. */
void zkl_blocker_gone(zkl_line *line, const char *name);
/* The same, but no watch has told of it: a get has found it gone, so others may have gone unheard
 * as well. */
void zkl_blocker_missing(zkl_line *line, const char *name);
/* Watches the one that a waiter will wait for once its blocker has gone, if there is one and there
 * is room. That one goes when the blocker's turn comes, and while the blocker holds there is time
 * for a list: so when the blocker goes, it is known to be the last one before the waiter. */
void zkl_blocker_watch_second(zkl_contender *c, const zkl_verdict *verdict);

/* ---- the end of a contender ---- */

/* Its node is gone for good: it is removed from the line, and freed once the host has let go of it,
 * too. */
void zkl_leave_retire(zkl_contender *c);
/* Deletes its node. The servers carry our requests out in order: all that we do from here on comes
 * after the delete, so those who waited for the node are marked at once. */
void zkl_leave_erase(zkl_contender *c);
/* It is over: from now on its node is to go. */
void zkl_leave_depart(zkl_contender *c);
/* Ends its wait; the host hears `status`. */
void zkl_leave_fail(zkl_contender *c, zkl_status status);
/* The same for all who wait in the line. */
void zkl_leave_fail_waiting(zkl_line *line, zkl_status status);
/* Its node is gone, and we did not delete it: a holder has lost, a waiter gets a new node at the
 * end of the queue. */
void zkl_leave_missing(zkl_contender *c);

#endif
