/* SPDX-License-Identifier: MIT */
/* polled: the contenders without room for a watch (watch_budget.h). The client polls their nodes in
 * turn, at a pace (base/round.h). This file only keeps the two rounds; poll_rounds.h says what
 * happens at each turn. */
#ifndef ZKL_POLLED_H
#define ZKL_POLLED_H

#include "line/contender.h"

/* Its own node has no watch: the client reads the node in turn, until the second function is
 * called. */
void zkl_polled_add_own(zkl_contender *c);
void zkl_polled_remove_own(zkl_contender *c);
/* It waits for a child without a watch: the client lists its line in turn. A list shows its own
 * node, too. */
void zkl_polled_add_line(zkl_contender *c);
void zkl_polled_remove_line(zkl_contender *c);

/* How many contenders are polled. */
size_t zkl_polled_count(const zkl_line_common *common);

#endif
