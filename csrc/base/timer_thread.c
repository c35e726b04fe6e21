#include "base/timer_thread.h"

#include "base/process.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void *keep(void *ctx) {
    zkl_keeper *keeper = ctx;
    while (!atomic_load(&keeper->stopping)) {
        uint64_t expirations;
        if (read(keeper->fd, &expirations, sizeof expirations) < 0)
            continue; /* EINTR, or ECANCELED when the clock was set: BOOTTIME is not */
        if (!atomic_load(&keeper->stopping))
            keeper->run(keeper->ctx);
    }
    return NULL;
}

bool zkl_keeper_start(zkl_keeper *keeper, void (*run)(void *ctx), void *ctx) {
    atomic_init(&keeper->stopping, false);
    keeper->run = run;
    keeper->ctx = ctx;
    keeper->fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    if (keeper->fd < 0)
        return false;
    if (zkl_thread_start(&keeper->thread, keep, keeper))
        return true;
    close(keeper->fd);
    errno = EAGAIN;
    return false;
}

void zkl_keeper_wake_at(zkl_keeper *keeper, zkl_nanos at) {
    struct itimerspec spec = {.it_value = {.tv_nsec = 1}}; /* zero would disarm it */
    if (at == ZKL_NEVER) {
        spec.it_value.tv_nsec = 0;
    } else if (at > 0) {
        spec.it_value.tv_sec = at / ZKL_SECOND;
        spec.it_value.tv_nsec = at % ZKL_SECOND;
    }
    timerfd_settime(keeper->fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

void zkl_keeper_stop(zkl_keeper *keeper) {
    atomic_store(&keeper->stopping, true);
    zkl_keeper_wake_at(keeper, 0);
    pthread_join(keeper->thread, NULL);
    close(keeper->fd);
}
