/* SPDX-License-Identifier: MIT */
/* timer: the deadlines that are pending, soonest first. Not locked; reads no clock and allocates
 * nothing. */
#ifndef ZKL_TIMER_H
#define ZKL_TIMER_H

#include "base/clock.h"

#include <stdbool.h>

typedef struct zkl_timer zkl_timer;

/* A timer is part of the object that it serves. Clear it before that object is freed. */
struct zkl_timer {
    zkl_nanos at; /* 0: not set */
    /* called after the timer was cleared: it may set the timer again. NULL: the step in which the
     * timer fires does the rest, because it ends with a look at what is due. */
    void (*fire)(zkl_timer *timer);
    zkl_timer *child, *next, *prev; /* a pairing heap; prev is the parent for a first child */
};

typedef struct zkl_timers {
    zkl_timer *first;
    /* the soonest deadline has moved nearer; may be NULL */
    void (*sooner)(struct zkl_timers *timers);
} zkl_timers;

/* Sets or moves the timer; ZKL_NEVER clears it. */
void zkl_timer_set(zkl_timers *timers, zkl_timer *timer, zkl_nanos at);
void zkl_timer_clear(zkl_timers *timers, zkl_timer *timer);

/* The soonest deadline, or ZKL_NEVER. */
zkl_nanos zkl_timers_next(const zkl_timers *timers);

/* Fires everything that is due at `now`. A timer set meanwhile fires too if it is due. */
void zkl_timers_run(zkl_timers *timers, zkl_nanos now);

#endif
