/* SPDX-License-Identifier: MIT */
#include "cli/run/state.h"

#include "zklock.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>

void cli_loop_enter(struct pollfd *polled, const int *fds, nfds_t count) {
    for (nfds_t i = 0; i < count; i++)
        polled[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
}

void cli_loop_wait(struct pollfd *polled, nfds_t count) {
    while (poll(polled, count, -1) < 0 && errno == EINTR)
        continue;
}

int cli_alarm_open(void) {
    return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

void cli_alarm_set(int alarm, zkl_nanos moment) {
    struct itimerspec when = {.it_value = {0}};
    if (moment != ZKL_NEVER) {
        const zkl_nanos at = moment > 0 ? moment : 1; /* zero would disarm it */
        when.it_value.tv_sec = (time_t)(at / ZKL_SECOND);
        when.it_value.tv_nsec = (long)(at % ZKL_SECOND);
    }
    timerfd_settime(alarm, TFD_TIMER_ABSTIME, &when, NULL); /* also forgets that it was readable */
}
