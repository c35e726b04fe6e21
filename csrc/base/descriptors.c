/* SPDX-License-Identifier: MIT */
#include "base/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct zkl_descriptors {
    size_t count, room;
    int list[];
};

void zkl_descriptors_each(void (*call)(int fd, void *ctx), void *ctx) {
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return; /* without /proc it finds none */
    const struct dirent *entry;
    while ((entry = readdir(dir))) {
        char *end;
        const long fd = strtol(entry->d_name, &end, 10);
        if (*end || end == entry->d_name || fd == dirfd(dir))
            continue;
        call((int)fd, ctx);
    }
    closedir(dir);
}

struct caller {
    void (*call)(int fd, void *ctx);
    void *ctx;
};

static void call_if_inherited(int fd, void *ctx) {
    const struct caller *caller = ctx;
    const int flags = fcntl(fd, F_GETFD);
    if (flags >= 0 && !(flags & FD_CLOEXEC))
        caller->call(fd, caller->ctx);
}

/* Calls `call` for every open descriptor that an exec would keep. */
static void each_inherited(void (*call)(int fd, void *ctx), void *ctx) {
    zkl_descriptors_each(call_if_inherited, &(struct caller){call, ctx});
}

static bool is_pipe(int fd) {
    struct stat s;
    return fstat(fd, &s) == 0 && S_ISFIFO(s.st_mode);
}

static void count_pipe(int fd, void *ctx) {
    ++*(size_t *)ctx;
    (void)fd;
}

static void keep_pipe(int fd, void *ctx) {
    zkl_descriptors *pipes = ctx;
    if (is_pipe(fd) && pipes->count < pipes->room)
        pipes->list[pipes->count++] = fd;
}

zkl_descriptors *zkl_descriptors_pipes(void) {
    size_t open = 0;
    each_inherited(count_pipe, &open);
    zkl_descriptors *pipes = malloc(sizeof *pipes + (open + 16) * sizeof *pipes->list);
    if (!pipes)
        return NULL;
    pipes->count = 0;
    pipes->room = open + 16;
    each_inherited(keep_pipe, pipes);
    return pipes;
}

static void mark_unless_known(int fd, void *ctx) {
    const zkl_descriptors *before = ctx;
    if (!is_pipe(fd))
        return;
    for (size_t i = 0; i < before->count; i++)
        if (before->list[i] == fd)
            return;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void zkl_descriptors_mark_new_pipes(zkl_descriptors *before) {
    if (!before)
        return;
    each_inherited(mark_unless_known, before);
    free(before);
}

struct peer {
    const struct sockaddr *address;
    socklen_t length;
};

static void mark_if_peer(int fd, void *ctx) {
    const struct peer *server = ctx;
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    memset(&peer, 0, sizeof peer);
    if (getpeername(fd, (struct sockaddr *)&peer, &length) == 0 && length == server->length &&
        memcmp(&peer, server->address, length) == 0)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void zkl_descriptors_mark_sockets(const struct sockaddr *server, socklen_t length) {
    each_inherited(mark_if_peer, &(struct peer){server, length});
}
