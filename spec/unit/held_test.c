/* SPDX-License-Identifier: MIT */
/* How long `zklock held` waits for the run above it: a second for all that it asks. The run and the
 * clock are made up. */
#include "check.h"

#include "cli/options.h"
#include "zklock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MS (ZKL_SECOND / 1000)

static zkl_nanos clock_ns, most_send, most_receive; /* most: what a call may wait */
static zkl_nanos connects_in;                       /* the run's backlog was full for so long */
static unsigned interrupted;                        /* so many reads are, after 400 ms each */

/* ---- in place of the C library's ---- */

int clock_gettime(clockid_t id, struct timespec *t) {
    (void)id;
    *t = (struct timespec){clock_ns / ZKL_SECOND, clock_ns % ZKL_SECOND};
    return 0;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size) {
    struct timeval most;
    (void)fd, (void)level;
    CHECK_INT(size, sizeof most);
    memcpy(&most, value, sizeof most);
    const zkl_nanos nanos = most.tv_sec * ZKL_SECOND + most.tv_usec * 1000;
    CHECK(nanos > 0); /* zero is for ever */
    *(name == SO_SNDTIMEO ? &most_send : &most_receive) = nanos;
    return 0;
}

static int wait_for(zkl_nanos needed, zkl_nanos most) {
    CHECK(most > 0);
    clock_ns += needed < most ? needed : most;
    errno = EAGAIN;
    return needed <= most ? 0 : -1;
}

int connect(int fd, const struct sockaddr *address, socklen_t size) {
    (void)fd, (void)address, (void)size;
    return wait_for(connects_in, most_send);
}

/* The peer is root. */
int getsockopt(int fd, int level, int name, void *value, socklen_t *size) {
    (void)fd, (void)level, (void)name;
    memset(value, 0, *size);
    return 0;
}

/* The run never answers. */
ssize_t recv(int fd, void *to, size_t size, int flags) {
    (void)fd, (void)to, (void)size, (void)flags;
    if (interrupted == 0)
        return wait_for(ZKL_NEVER, most_receive);
    interrupted--;
    if (wait_for(400 * MS, most_receive) == 0)
        errno = EINTR;
    return -1;
}

/* ---- the cases ---- */

static char directory[] = "/tmp/zklock-held-XXXXXX";

static void begin(void) {
    clock_ns = 100 * ZKL_SECOND;
    most_send = most_receive = connects_in = 0;
    interrupted = 0;
}

static zkl_nanos ask(void) {
    char name[] = "held", *argv[] = {name, NULL};
    const zkl_nanos began = clock_ns;
    CHECK_INT(cli_held(1, argv), EX_TEMPFAIL);
    return clock_ns - began;
}

static void waits_for_an_answer(void) {
    CHECK_INT(ask(), ZKL_SECOND);
}

static void counts_the_connect(void) {
    connects_in = 700 * MS;
    CHECK_INT(ask(), ZKL_SECOND);
    CHECK_INT(most_receive, 300 * MS);
}

static void counts_what_was_interrupted(void) {
    interrupted = 5;
    CHECK_INT(ask(), ZKL_SECOND);
}

static void gives_up_a_connect(void) {
    connects_in = ZKL_NEVER;
    CHECK_INT(ask(), ZKL_SECOND);
    CHECK_INT(most_receive, 0);
}

static const check_case cases[] = {
    {"waits a second for the answer of a run", waits_for_an_answer},
    {"counts the wait for the connection as part of the second", counts_the_connect},
    {"goes on with the time that is left after an interruption", counts_what_was_interrupted},
    {"gives up a connection after a second, and asks nothing", gives_up_a_connect},
};

int main(int argc, char **argv) {
    if (!mkdtemp(directory) || setenv("ZKLOCK_RUN", directory, 1) != 0)
        return 1;
    unsetenv("ZKLOCK_NODE");
    const int code = check_run(CHECK_CASES(cases), argc, argv, begin, NULL);
    rmdir(directory);
    return code;
}
