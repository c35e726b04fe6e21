/* SPDX-License-Identifier: MIT */
/* Preloaded into a process: its wall clock is off by as many seconds as a file says, at each look
 * anew. All other clocks are left alone. (libfaketime would do, but it also puts off timers that
 * count from CLOCK_BOOTTIME.) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static time_t offset(void) {
    long seconds;
    FILE *file = fopen(getenv("WALL_CLOCK_OFFSET"), "re");
    if (!file || fscanf(file, "%ld", &seconds) != 1)
        abort();
    fclose(file);
    return (time_t)seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const int rc = real(clock, now);
    if (rc == 0 &&
        (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI))
        now->tv_sec += offset();
    return rc;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec precise;
    (void)zone;
    const int rc = clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return rc;
}

time_t time(time_t *now) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (now)
        *now = precise.tv_sec;
    return precise.tv_sec;
}
