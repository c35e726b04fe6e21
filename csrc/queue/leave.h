/* exit: how contenders leave their line, by whatever door: no node stays behind. */
#ifndef ZKL_LEAVE_H
#define ZKL_LEAVE_H

#include "queue/line.h"

/* Its node is gone for good: it is a member no more, and freed when the host has let go, too. */
void zkl_leave_retire(zkl_contender *c);
/* Deletes its node. Our requests are carried out in order: what we do from here on comes after that. */
void zkl_leave_erase(zkl_contender *c);
/* One that is over sees to it that its node goes. */
void zkl_leave_depart(zkl_contender *c);
/* Ends its wait; the host hears `status`. */
void zkl_leave_fail(zkl_contender *c, zkl_status status);
/* ... those of all in the line. */
void zkl_leave_fail_waiting(zkl_line *line, zkl_status status);
/* Its node is not at the servers any more, and not by our doing: a holder has lost, a waiter queues anew. */
void zkl_leave_missing(zkl_contender *c);

#endif
