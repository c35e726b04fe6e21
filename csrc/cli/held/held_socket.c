/* SPDX-License-Identifier: MIT */
#include "cli/held/held_socket.h"

#include "zklock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A run answers this. The two may be of different versions of zklock: whoever changes a byte of it
 * changes HELD_MESSAGE_VERSION. */
#define HELD_MESSAGE_VERSION 1

struct held_message {
    uint32_t version;
    uint32_t zero[3]; /* so that all machines lay it out alike */
    int64_t left;     /* nanoseconds */
};
_Static_assert(sizeof(struct held_message) == 24, "a message without gaps");

/* The socket in the directory. false: the path is too long. */
static bool address_of(const char *directory, struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int length = snprintf(address->sun_path, sizeof address->sun_path, "%s/held", directory);
    return length > 0 && (size_t)length < sizeof address->sun_path;
}

/* ---- the run ---- */

#define BACKLOG 64
#define NAME "zklock-XXXXXX"

static bool make_below(const char *above, char directory[HELD_DIRECTORY_SIZE]) {
    if (!above || above[0] != '/')
        return false;
    const int length = snprintf(directory, HELD_DIRECTORY_SIZE, "%s/" NAME, above);
    return length < HELD_DIRECTORY_SIZE && mkdtemp(directory);
}

bool cli_held_make(char directory[HELD_DIRECTORY_SIZE]) {
    return make_below(getenv("XDG_RUNTIME_DIR"), directory) ||
           make_below(getenv("TMPDIR"), directory) || make_below("/tmp", directory);
}

void cli_held_remove(const char *directory) {
    struct sockaddr_un address;
    if (address_of(directory, &address))
        unlink(address.sun_path);
    rmdir(directory);
}

int cli_held_open(const char *directory) {
    struct sockaddr_un address;
    if (!address_of(directory, &address)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
        listen(fd, BACKLOG) == 0)
        return fd;
    const int why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* The little that is sent fits into the socket of one that has just asked. */
void cli_held_serve(int fd, zkl_nanos until) {
    const zkl_nanos left = until ? until - zkl_now() : 0;
    const struct held_message message = {.version = HELD_MESSAGE_VERSION,
                                         .left = left > 0 ? left : 0};
    int asking;
    while ((asking = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        send(asking, &message, sizeof message, MSG_NOSIGNAL);
        close(asking);
    }
}

/* ---- the command ---- */

#define RETRY_MILLISECONDS 10

static int milliseconds_until(zkl_nanos deadline) {
    const zkl_nanos left = deadline - zkl_now();
    return left > 0 ? (int)(left / 1000000) + 1 : 0;
}

/* The backlog of a run that is stopped may be full: then connect(2) fails at once. */
static bool reach(int fd, const struct sockaddr_un *address, zkl_nanos deadline) {
    while (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0) {
        if ((errno != EAGAIN && errno != EINTR) || milliseconds_until(deadline) == 0)
            return false;
        poll(NULL, 0, RETRY_MILLISECONDS);
    }
    return true;
}

/* Reads `size` bytes. false: the run has hung up, or the time is over. */
static bool receive(int fd, void *to, size_t size, zkl_nanos deadline) {
    for (size_t used = 0; used < size;) {
        struct pollfd polled = {.fd = fd, .events = POLLIN};
        const int wait = milliseconds_until(deadline);
        if (wait == 0 || (poll(&polled, 1, wait) < 0 && errno != EINTR))
            return false;
        const ssize_t more = recv(fd, (char *)to + used, size - used, 0);
        if (more == 0 || (more < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        used += more > 0 ? (size_t)more : 0;
    }
    return true;
}

/* After a run has ended, others may make a directory with its name. */
static bool is_trusted(const char *directory, uid_t *owner) {
    struct stat found;
    if (lstat(directory, &found) != 0 || !S_ISDIR(found.st_mode))
        return false;
    *owner = found.st_uid;
    return *owner == 0 || *owner == geteuid();
}

static bool is_of(int fd, uid_t owner) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == 0 || peer.uid == owner);
}

static bool converse(int fd, const char *directory, double *seconds) {
    const zkl_nanos asked = zkl_now(), deadline = asked + HELD_PATIENCE * ZKL_SECOND;
    struct sockaddr_un address;
    struct held_message message;
    uid_t owner;
    if (!is_trusted(directory, &owner) || !address_of(directory, &address) ||
        !reach(fd, &address, deadline) || !is_of(fd, owner) ||
        !receive(fd, &message, sizeof message, deadline) || message.version != HELD_MESSAGE_VERSION)
        return false;
    const zkl_nanos left = message.left - (zkl_now() - asked);
    *seconds = left > 0 ? (double)left / ZKL_SECOND : 0;
    return true;
}

bool cli_held_ask(const char *directory, double *left) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    const bool heard = converse(fd, directory, left);
    close(fd);
    return heard;
}
