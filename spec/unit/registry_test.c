/* SPDX-License-Identifier: MIT */
/* The effect of a process's exit on its clients. Each case ends a child, in which the waits for a
 * condition take no time, but as much of the clock as they were to last. */
#include "check.h"

#include "client/registry.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static zkl_nanos clock_ns;
static zkl_nanos began;
static int report[2]; /* a pipe: what the child counts */

typedef struct tally {
    int closed;
    zkl_nanos waited;
} tally;

static tally counted;

int clock_gettime(clockid_t id, struct timespec *t) {
    (void)id;
    *t = (struct timespec){clock_ns / ZKL_SECOND, clock_ns % ZKL_SECOND};
    return 0;
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                           const struct timespec *at) {
    (void)cond, (void)mutex;
    clock_ns = (zkl_nanos)at->tv_sec * ZKL_SECOND + at->tv_nsec;
    return ETIMEDOUT;
}

static void close_and_stay(zkl_registered *entry) {
    (void)entry;
    counted.closed++;
}

static zkl_registered clients[3];

static void tell(void) {
    counted.waited = clock_ns - began;
    if (write(report[1], &counted, sizeof counted) != sizeof counted)
        _exit(1);
}

/* Of so many clients, as many leave before the exit. */
static tally exit_with(size_t entered, size_t left) {
    tally told = {0};
    CHECK(!pipe(report));
    const pid_t child = fork();
    if (!child) {
        atexit(tell); /* called after what the registry has entered later */
        for (size_t i = 0; i < entered; i++) {
            clients[i].close = close_and_stay;
            zkl_registry_enter(&clients[i]);
        }
        for (size_t i = 0; i < left; i++)
            zkl_registry_leave(&clients[i]);
        began = clock_ns = 100 * ZKL_SECOND;
        exit(0);
    }
    int status = -1;
    CHECK_INT(read(report[0], &told, sizeof told), sizeof told);
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    close(report[0]);
    close(report[1]);
    return told;
}

static void all_are_closed_and_waited_for_a_second(void) {
    const tally told = exit_with(3, 0);
    CHECK_INT(told.closed, 3);
    CHECK_INT(told.waited, ZKL_SECOND);
}

static void those_that_have_left_are_not_waited_for(void) {
    const tally told = exit_with(3, 3);
    CHECK_INT(told.closed, 0);
    CHECK_INT(told.waited, 0);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"all are closed, and waited for a second", all_are_closed_and_waited_for_a_second},
        {"those that have left are not waited for", those_that_have_left_are_not_waited_for},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
