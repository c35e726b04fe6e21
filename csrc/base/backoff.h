/* SPDX-License-Identifier: MIT */
/* backoff: pauses between failed tries, each twice as long as the one before. */
#ifndef ZKL_BACKOFF_H
#define ZKL_BACKOFF_H

#include "base/clock.h"

/* The next pause: `first` if *pause is 0, else twice *pause, but at most `most`. *pause keeps it;
 * the caller sets *pause to 0 after a try that succeeds. */
static inline zkl_nanos zkl_backoff(zkl_nanos *pause, zkl_nanos first, zkl_nanos most) {
    const zkl_nanos next = *pause ? 2 * *pause : first;
    *pause = next < most ? next : most;
    return *pause;
}

#endif
