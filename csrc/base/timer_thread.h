/* SPDX-License-Identifier: MIT */
/* timer_thread: the thread that runs a client's timers. It sleeps in a timerfd on CLOCK_BOOTTIME: a
 * deadline that has passed while the machine was suspended fires as soon as the machine wakes.
 * Without a deadline the thread never wakes. */
#ifndef ZKL_TIMER_THREAD_H
#define ZKL_TIMER_THREAD_H

#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct zkl_timer_thread {
    int fd;
    pthread_t thread;
    atomic_bool stopping;
    /* runs the timers that are due, and sets the next moment with zkl_timer_thread_wake_at */
    void (*run)(void *ctx);
    void *ctx;
} zkl_timer_thread;

/* false: no descriptor or no thread; errno says why. */
bool zkl_timer_thread_start(zkl_timer_thread *timer_thread, void (*run)(void *ctx), void *ctx);
/* Any thread: runs again at `at`, instead of the moment that was set before. */
void zkl_timer_thread_wake_at(zkl_timer_thread *timer_thread, zkl_nanos at);
/* Waits for the thread to end. */
void zkl_timer_thread_stop(zkl_timer_thread *timer_thread);

#endif
