/* clock: seconds that no one can turn back, and that go on while the machine is suspended. */
#ifndef ZKL_CLOCK_H
#define ZKL_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef int64_t zkl_nanos; /* since boot; differences are durations */

#define ZKL_NEVER INT64_MAX
#define ZKL_SECOND INT64_C(1000000000)

typedef struct zkl_clock {
    zkl_nanos (*now)(void);
} zkl_clock;

/* CLOCK_BOOTTIME: a suspended machine's session goes on ageing at the servers, and so must we. */
extern const zkl_clock zkl_clock_boot;

/* Seconds from now as a moment; infinity, and what is too far to count, is ZKL_NEVER. */
zkl_nanos zkl_clock_after(zkl_nanos now, double seconds);

/* Seconds above 0 as a duration: rounded up, so that it is never 0; what is too long to count is
 * ZKL_NEVER. */
zkl_nanos zkl_clock_duration(double seconds);

/* Whole seconds and fractions between two moments. */
double zkl_clock_seconds(zkl_nanos duration);

/* A condition that zkl_clock_wait can wait for. */
void zkl_clock_cond_init(pthread_cond_t *cond);
/* As pthread_cond_timedwait, until a moment of this clock; false: the moment has come. */
bool zkl_clock_wait(const zkl_clock *clock, pthread_cond_t *cond, pthread_mutex_t *mutex,
                    zkl_nanos until);

#endif
