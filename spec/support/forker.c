/* SPDX-License-Identifier: MIT */
/* A library for LD_PRELOAD: the second fork of a process and those above it fails, or that of the
 * number in FORKER_AT, as at the limit on the number of processes. A signal to every process there
 * is, kill(-1, ...), is not sent: FORKER_MARK names the file that says so. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef pid_t forks(void);
typedef int kills(pid_t pid, int signal);

static int forked;

pid_t fork(void) {
    const char *at = getenv("FORKER_AT");
    if (++forked == (at ? atoi(at) : 2)) {
        errno = EAGAIN;
        return -1;
    }
    void *found = dlsym(RTLD_NEXT, "fork");
    forks *next;
    memcpy(&next, &found, sizeof next);
    return next();
}

int kill(pid_t pid, int signal) {
    if (pid == -1) {
        const char *mark = getenv("FORKER_MARK");
        close(open(mark ? mark : "/dev/null", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        return 0;
    }
    void *found = dlsym(RTLD_NEXT, "kill");
    kills *next;
    memcpy(&next, &found, sizeof next);
    return next(pid, signal);
}
