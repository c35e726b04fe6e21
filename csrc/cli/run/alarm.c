/* SPDX-License-Identifier: MIT */
#include "cli/run/alarm.h"

#include <sys/timerfd.h>
#include <time.h>

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
