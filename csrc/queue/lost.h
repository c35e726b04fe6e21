/* lost: a create whose answer was lost, and which of the nodes that a list shows is the one it made, if any. Whoever has
 * seen our node can make others whose names begin alike, so the servers are asked which session made them. */
#ifndef ZKL_LOST_H
#define ZKL_LOST_H

#include "queue/line.h"

/* The list that is being read has this child, whose GUID is that of the contender's lost create. */
void zkl_lost_seen(zkl_contender *c, const zkl_child *child);
/* The list was read: asks whose node was seen is, or takes a synced list that has none for the news that there is none. */
void zkl_lost_look(zkl_contender *c);
/* Whose it is. true: ours; the contender has its node. */
bool zkl_lost_answered(zkl_contender *c, int32_t sequence, const zkl_reply *reply);
/* What was asked will not be answered. */
void zkl_lost_forget(zkl_contender *c);

#endif
