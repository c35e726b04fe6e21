/* leave: how contenders leave their line, in whatever way: no node stays behind. */
#ifndef ZKL_LEAVE_H
#define ZKL_LEAVE_H

#include "queue/line_state.h"

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
