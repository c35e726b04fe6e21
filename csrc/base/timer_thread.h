/* keeper: the thread that runs a client's timers. It sleeps in a timerfd on CLOCK_BOOTTIME: a deadline that passed while
 * the machine was suspended fires as soon as it wakes, and without a deadline there is no wake-up at all. */
#ifndef ZKL_KEEPER_H
#define ZKL_KEEPER_H

#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct zkl_keeper {
    int fd;
    pthread_t thread;
    atomic_bool stopping;
    void (*run)(void *ctx); /* runs what is due, and says with zkl_keeper_wake_at what comes next */
    void *ctx;
} zkl_keeper;

/* false: no descriptor or no thread; errno says why. */
bool zkl_keeper_start(zkl_keeper *keeper, void (*run)(void *ctx), void *ctx);
/* Any thread: run again at `at` (instead of what was said before). */
void zkl_keeper_wake_at(zkl_keeper *keeper, zkl_nanos at);
/* Waits for the thread to end. */
void zkl_keeper_stop(zkl_keeper *keeper);

#endif
