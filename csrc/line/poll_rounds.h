/* SPDX-License-Identifier: MIT */
/* poll_rounds: the action for a polled contender when its turn comes (polled.h). The client reads
 * the contender's own node, which shows a loss or a revocation; or it lists the line of a
 * waiter. */
#ifndef ZKL_POLL_ROUNDS_H
#define ZKL_POLL_ROUNDS_H

#include "line/line_common.h"

void zkl_poll_rounds_init(zkl_line_common *common);

#endif
