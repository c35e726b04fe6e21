/* SPDX-License-Identifier: MIT */
#include "base/timer_thread.h"

#include "base/process.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void *keep(void *ctx) {
    zkl_timer_thread *timer_thread = ctx;
    while (!atomic_load(&timer_thread->stopping)) {
        uint64_t expirations;
        if (read(timer_thread->fd, &expirations, sizeof expirations) < 0)
            continue; /* EINTR, or ECANCELED after the clock was set, which BOOTTIME never is */
        if (!atomic_load(&timer_thread->stopping))
            timer_thread->run(timer_thread->ctx);
    }
    return NULL;
}

bool zkl_timer_thread_start(zkl_timer_thread *timer_thread, void (*run)(void *ctx), void *ctx) {
    atomic_init(&timer_thread->stopping, false);
    timer_thread->run = run;
    timer_thread->ctx = ctx;
    timer_thread->fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    if (timer_thread->fd < 0)
        return false;
    if (zkl_thread_start(&timer_thread->thread, keep, timer_thread))
        return true;
    close(timer_thread->fd);
    errno = EAGAIN;
    return false;
}

void zkl_timer_thread_wake_at(zkl_timer_thread *timer_thread, zkl_nanos at) {
    struct itimerspec spec = {.it_value = {.tv_nsec = 1}}; /* zero would disarm the timer */
    if (at == ZKL_NEVER) {
        spec.it_value.tv_nsec = 0;
    } else if (at > 0) {
        spec.it_value.tv_sec = at / ZKL_SECOND;
        spec.it_value.tv_nsec = at % ZKL_SECOND;
    }
    timerfd_settime(timer_thread->fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

void zkl_timer_thread_stop(zkl_timer_thread *timer_thread) {
    atomic_store(&timer_thread->stopping, true);
    zkl_timer_thread_wake_at(timer_thread, 0);
    pthread_join(timer_thread->thread, NULL);
    close(timer_thread->fd);
}
