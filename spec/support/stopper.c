/* SPDX-License-Identifier: MIT */
/* A library for LD_PRELOAD. It stops one process, as an operator would: the first that waits for
 * the children that it has killed, or the children of the first that closes its session, whichever
 * comes first. With STOPPER_AT=start it stops the session process that is about to tell the watcher
 * to start the command; with STOPPER_AT=refuse it stops none, and refuses that message once, as a
 * kernel without memory does. STOPPER_MARK names the file that it leaves behind. */
#define _GNU_SOURCE
#include "../../csrc/cli/run/channel.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef int waits(const sigset_t *set, siginfo_t *info, const struct timespec *most);
typedef int closes(void *handle);
typedef ssize_t sends(int end, const void *message, size_t size, int flags);

static bool is_first(void) {
    const char *mark = getenv("STOPPER_MARK");
    const int file = mark ? open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (file >= 0)
        close(file);
    return file >= 0;
}

static void stop_children(void) {
    char path[64];
    int child;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)getpid(), (int)getpid());
    FILE *list = fopen(path, "re");
    while (list && fscanf(list, "%d", &child) == 1)
        kill(child, SIGSTOP);
    if (list)
        fclose(list);
}

int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *most) {
    if (is_first())
        raise(SIGSTOP);
    void *found = dlsym(RTLD_NEXT, "sigtimedwait");
    waits *next;
    memcpy(&next, &found, sizeof next);
    return next(set, info, most);
}

/* Is it the first such message, and to be treated so? */
static bool is_start(const void *message, size_t size, const char *act) {
    const char *at = getenv("STOPPER_AT");
    const struct channel_message *sent = message;
    return at && strcmp(at, act) == 0 && size == sizeof *sent && sent->kind == CHANNEL_START &&
           is_first();
}

ssize_t send(int end, const void *message, size_t size, int flags) {
    if (is_start(message, size, "start"))
        raise(SIGSTOP);
    if (is_start(message, size, "refuse")) {
        errno = ENOBUFS;
        return -1;
    }
    void *found = dlsym(RTLD_NEXT, "send");
    sends *next;
    memcpy(&next, &found, sizeof next);
    return next(end, message, size, flags);
}

int zookeeper_close(void *handle) {
    if (is_first())
        stop_children();
    void *found = dlsym(RTLD_NEXT, "zookeeper_close");
    closes *next;
    memcpy(&next, &found, sizeof next);
    return next(handle);
}
