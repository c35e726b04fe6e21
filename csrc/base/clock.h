/* SPDX-License-Identifier: MIT */
/* clock: a clock that nobody can set back, and that runs on while the machine is suspended. */
#ifndef ZKL_CLOCK_H
#define ZKL_CLOCK_H

#include "zklock.h"

#include <pthread.h>

typedef struct zkl_clock {
    zkl_nanos (*now)(void);
} zkl_clock;

/* CLOCK_BOOTTIME, because the servers count the time of a suspended machine as well. */
extern const zkl_clock zkl_clock_boot;

/* A condition that zkl_clock_wait can wait for. */
void zkl_clock_cond_init(pthread_cond_t *cond);
/* As pthread_cond_timedwait, until a moment of this clock. false: the moment has passed. */
bool zkl_clock_wait(const zkl_clock *clock, pthread_cond_t *cond, pthread_mutex_t *mutex,
                    zkl_nanos until);

#endif
