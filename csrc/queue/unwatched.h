/* unwatched: who finds no room for a watch (watches.h) and is therefore looked after by reads, in
 * turn and at a pace (base/round.h). Only who is in which of the two rounds; patrol.h has what is
 * done when it is somebody's turn. */
#ifndef ZKL_UNWATCHED_H
#define ZKL_UNWATCHED_H

#include "queue/contender.h"

/* Its own node is not watched: that is read now and then, until the second one is called. */
void zkl_unwatched_own(zkl_contender *c);
void zkl_unwatched_own_no_more(zkl_contender *c);
/* It waits for something that is not watched: its line is listed now and then, which shows its own
 * node, too. */
void zkl_unwatched_turn(zkl_contender *c);
void zkl_unwatched_turn_no_more(zkl_contender *c);

/* How many are looked after. */
size_t zkl_unwatched_count(const zkl_queue *queue);

#endif
