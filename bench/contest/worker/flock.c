/* SPDX-License-Identifier: MIT */
/* flock(1)'s lock, of one machine: the floor. way "broken": one that does not lock, which the contest must notice. */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

const bool peer_is_shared = true;

struct folder {
    char path[200];
    bool broken;
};

struct lock {
    struct folder *folder;
    int file;
};

/* servers: the folder of the files */
void *peer_open(const char *servers, long ttl, const char *way) {
    (void)ttl;
    struct folder *self = calloc(1, sizeof *self);
    snprintf(self->path, sizeof self->path, "%s", servers);
    self->broken = strcmp(way, "broken") == 0;
    return self;
}

void peer_close(void *client) {
    free(client);
}

void *peer_lock(void *client, const char *name) {
    struct folder *folder = client;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) {
        fail("%s: %s", path, strerror(errno));
        return NULL;
    }
    struct lock *self = calloc(1, sizeof *self);
    self->folder = folder;
    self->file = file;
    return self;
}

static void wake(int signal) {
    (void)signal;
}

/* A signal for this thread when the time is over, and again and again, should it come before the call. */
static void set_alarm(timer_t *timer, long timeout) {
    struct sigaction action = {.sa_handler = wake};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    event._sigev_un._tid = gettid();
    sigaction(SIGUSR1, &action, NULL);
    struct itimerspec time = {{0, 10000000}, {timeout / 1000, timeout % 1000 * 1000000}};
    if (timer_create(CLOCK_MONOTONIC, &event, timer) != 0 ||
        timer_settime(*timer, 0, &time, NULL) != 0)
        abort();
}

/* flock(2) has no timeout: as with flock(1), a signal ends the wait. */
enum outcome peer_acquire(void *lock, long timeout, long long *token) {
    (void)token;
    struct lock *self = lock;
    if (self->folder->broken || flock(self->file, LOCK_EX | LOCK_NB) == 0)
        return DONE;
    if (timeout == 0)
        return LATE;
    long long end = deadline(timeout);
    timer_t timer;
    if (timeout > 0)
        set_alarm(&timer, timeout);
    int result;
    while ((result = flock(self->file, LOCK_EX)) != 0 && errno == EINTR && now_ms() < end) {
    }
    bool late = result != 0 && errno == EINTR;
    if (timeout > 0)
        timer_delete(timer);
    return result == 0 ? DONE : late ? LATE : fail("flock: %s", strerror(errno));
}

enum outcome peer_release(void *lock) {
    struct lock *self = lock;
    return self->folder->broken || flock(self->file, LOCK_UN) == 0
               ? DONE
               : fail("flock: %s", strerror(errno));
}

int peer_held(void *lock) {
    (void)lock;
    return -1;
}
