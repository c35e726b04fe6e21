/* SPDX-License-Identifier: MIT */
/* throttle: when a line asks again for what busy servers have refused for now (THROTTLEDOP). Lines
 * that came back together would be refused together again, so those of one client spread over one
 * pause. Pure: refusals in, moments out. docs/internals/protocol.md says how. */
#ifndef ZKL_THROTTLE_H
#define ZKL_THROTTLE_H

#include "base/clock.h"

#include <stdint.h>

/* No pause is longer. */
#define ZKL_THROTTLE_MOST (5 * ZKL_SECOND)

/* All zeros: nothing was refused. */
typedef struct zkl_throttle {
    zkl_nanos pause, until;   /* of this round: how long it is, and when it ends */
    unsigned refused, passed; /* in this round */
    uint32_t places;          /* how many were given, in all rounds */
} zkl_throttle;

/* Servers have refused a request of a line at `now`. Returns when the line asks again. */
zkl_nanos zkl_throttle_refused(zkl_throttle *throttle, zkl_nanos now);
/* A line has got a node or its list. */
void zkl_throttle_served(zkl_throttle *throttle);

#endif
