/* SPDX-License-Identifier: MIT */
/* pace: for how long writes are gathered before they go out together. Pure: round trips in, a gap
 * out. docs/internals/batching.md says why it is this one. */
#ifndef ZKL_PACE_H
#define ZKL_PACE_H

#include "base/clock.h"

/* No write waits for others for longer. */
#define ZKL_PACE_MOST (ZKL_SECOND / 100)
/* Round trips count for one to two of these. */
#define ZKL_PACE_WINDOW (10 * ZKL_SECOND)

/* All zeros: nothing was measured. */
typedef struct zkl_pace {
    zkl_nanos least, former; /* the shortest of this window, and of the one before; 0: none */
    zkl_nanos smoothed;
    zkl_nanos begun; /* when this window began */
} zkl_pace;

/* A write was answered at `now`, after so long. */
void zkl_pace_measured(zkl_pace *pace, zkl_nanos took, zkl_nanos now);
/* The shortest recent round trip; 0: none was measured. */
zkl_nanos zkl_pace_least(const zkl_pace *pace);
/* How long after the latest write the next one may go, if there is no answer before. */
zkl_nanos zkl_pace_gap(const zkl_pace *pace);

#endif
