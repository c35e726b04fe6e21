/* SPDX-License-Identifier: MIT */
/* backoff: pauses between failed tries, each twice as long as the one before. */
#ifndef ZKL_BACKOFF_H
#define ZKL_BACKOFF_H

#include "base/timer.h"

/* The next pause: `first` if *pause is 0, else twice *pause, but at most `most`. *pause keeps it;
 * the caller sets *pause to 0 after a try that succeeds. */
static inline zkl_nanos zkl_backoff(zkl_nanos *pause, zkl_nanos first, zkl_nanos most) {
    const zkl_nanos next = *pause ? 2 * *pause : first;
    *pause = next < most ? next : most;
    return *pause;
}

/* The pause of requests that servers refuse for now, or that were cut off. All zeros: none runs. A
 * success sets `pause` back to 0. */
typedef struct zkl_retry {
    zkl_timer timer; /* runs during a pause: no request is sent before it fires */
    zkl_nanos pause; /* the latest one */
} zkl_retry;

#define ZKL_RETRY_FIRST (ZKL_SECOND / 20)
#define ZKL_RETRY_MOST (2 * ZKL_SECOND)

/* Begins a pause at `now`, unless one runs: if many requests are refused at once, the first one
 * sets the pause. */
static inline void zkl_retry_later(zkl_retry *retry, zkl_timers *timers, zkl_nanos now) {
    if (!retry->timer.at)
        zkl_timer_set(timers, &retry->timer,
                      now + zkl_backoff(&retry->pause, ZKL_RETRY_FIRST, ZKL_RETRY_MOST));
}

#endif
