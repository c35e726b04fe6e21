/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <math.h>
#include <time.h>

static zkl_nanos boot_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (zkl_nanos)t.tv_sec * ZKL_SECOND + t.tv_nsec;
}

const zkl_clock zkl_clock_boot = {boot_now};

zkl_nanos zkl_clock_after(zkl_nanos now, double seconds) {
    const double century = 3.2e9; /* int64 nanoseconds hold 292 years */
    if (isnan(seconds) || seconds <= 0)
        return now;
    if (seconds >= century)
        return ZKL_NEVER;
    const double nanos = seconds * 1e9; /* rounds to a double on i386, too */
    return now < ZKL_NEVER - (zkl_nanos)nanos ? now + (zkl_nanos)nanos : ZKL_NEVER;
}

zkl_nanos zkl_clock_duration(double seconds) {
    const zkl_nanos duration = zkl_clock_after(0, seconds);
    const double nanos = seconds * 1e9;
    const bool whole = duration > 0 && (double)duration >= nanos;
    return duration == ZKL_NEVER || whole ? duration : duration + 1;
}

double zkl_clock_seconds(zkl_nanos duration) {
    return (double)duration / 1e9;
}

/* No condition waits by CLOCK_BOOTTIME. */
void zkl_clock_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

bool zkl_clock_wait(const zkl_clock *clock, pthread_cond_t *cond, pthread_mutex_t *mutex,
                    zkl_nanos until) {
    const zkl_nanos now = clock->now(), left = until > now ? until - now : 0;
    if (left == 0)
        return false;
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    const zkl_nanos nanos = at.tv_nsec + left % ZKL_SECOND;
    at.tv_sec += left / ZKL_SECOND + nanos / ZKL_SECOND;
    at.tv_nsec = nanos % ZKL_SECOND;
    return pthread_cond_timedwait(cond, mutex, &at) == 0;
}
