/* polled: who finds no room for a watch (watch_budget.h) and is therefore looked after by reads, in
 * turn and at a pace (base/round.h). Only who is in which of the two rounds; poll_rounds.h has what
 * is done when it is somebody's turn. */
#ifndef ZKL_POLLED_H
#define ZKL_POLLED_H

#include "line/contender.h"

/* Its own node is not watched: that is read now and then, until the second one is called. */
void zkl_polled_add_own(zkl_contender *c);
void zkl_polled_remove_own(zkl_contender *c);
/* It waits for something that is not watched: its line is listed now and then, which shows its own
 * node, too. */
void zkl_polled_add_line(zkl_contender *c);
void zkl_polled_remove_line(zkl_contender *c);

/* How many are looked after. */
size_t zkl_polled_count(const zkl_line_common *common);

#endif
