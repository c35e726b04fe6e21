/* SPDX-License-Identifier: MIT */
/* held_question: the command's side of held_socket.h. */
#include "cli/held/held_message.h"
#include "cli/held/held_socket.h"

#include "zklock.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* The texts behind the message are not for `held`. */
static bool converse(int fd, const char *directory, double *seconds) {
    const zkl_nanos asked = zkl_now(), deadline = asked + HELD_PATIENCE * ZKL_SECOND;
    struct sockaddr_un address;
    struct held_message message;
    uid_t owner;
    if (!is_trusted(directory, &owner) || !cli_held_address(directory, &address) ||
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
