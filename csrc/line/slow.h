/* SPDX-License-Identifier: MIT */
/* slow: one warning for each wait that takes longer than its caller has said. It names the path and
 * who holds (front.h). If no server is in reach, it says that, and a second one names who holds
 * once the line can be read. Under the client's mutex. */
#ifndef ZKL_SLOW_H
#define ZKL_SLOW_H

#include "line/contender.h"

/* The contender has begun to wait, and after so long the wait is slow. Does nothing if the host has
 * no log; without memory there is no warning. */
void zkl_slow_begin(zkl_contender *c, zkl_nanos after);

#endif
