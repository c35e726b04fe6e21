/* flock(1)'s lock, of one machine: the floor. way "broken": one that does not lock, which the contest must notice. */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

struct folder {
    char path[200];
    bool broken;
};

struct lock {
    struct folder *folder;
    int file;
};

/* servers: the folder of the files */
static void *open_folder(const char *servers, long ttl, const char *way) {
    (void)ttl;
    struct folder *self = calloc(1, sizeof *self);
    snprintf(self->path, sizeof self->path, "%s", servers);
    self->broken = strcmp(way, "broken") == 0;
    return self;
}

static void close_folder(void *client) {
    free(client);
}

static void *lock_file(void *client, const char *name) {
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

/* flock(2) has no timeout. Without one it waits in the kernel, where nobody polls; what has one tries a bit later. */
static enum outcome acquire(void *lock, long timeout, long long *token) {
    (void)token;
    struct lock *self = lock;
    if (self->folder->broken)
        return DONE;
    long long end = deadline(timeout);
    while (flock(self->file, LOCK_EX | (timeout < 0 || timeout > 60000 ? 0 : LOCK_NB)) != 0) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return fail("flock: %s", strerror(errno));
        if (now_ms() >= end)
            return LATE;
        sleep_ms(1);
    }
    return DONE;
}

static enum outcome release(void *lock) {
    struct lock *self = lock;
    return self->folder->broken || flock(self->file, LOCK_UN) == 0
               ? DONE
               : fail("flock: %s", strerror(errno));
}

static int held(void *lock) {
    (void)lock;
    return -1;
}

const struct peer peer = {.shared = true,
                          .open = open_folder,
                          .close = close_folder,
                          .lock = lock_file,
                          .acquire = acquire,
                          .release = release,
                          .held = held};
