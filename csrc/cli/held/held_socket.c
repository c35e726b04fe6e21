/* SPDX-License-Identifier: MIT */
/* held_socket: the run's side. The protocol: the run sends one message and hangs up. */
#include "cli/held/held_socket.h"

#include "cli/held/held_message.h"
#include "zklock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

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
    if (cli_held_address(directory, &address))
        unlink(address.sun_path);
    rmdir(directory);
}

int cli_held_open(const char *directory) {
    struct sockaddr_un address;
    if (!cli_held_address(directory, &address)) {
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

/* A message that the socket has no room for (megabytes of paths) is cut off; who asks notices. */
static void send_all(int fd, const struct held_facts *facts) {
    const zkl_nanos left = facts->until ? facts->until - zkl_now() : 0;
    const struct held_message message = {
        .version = HELD_MESSAGE_VERSION,
        .semaphore = facts->semaphore,
        .count = (uint32_t)facts->count + 1,
        .left = left > 0 ? left : 0,
    };
    bool good = send(fd, &message, sizeof message, MSG_NOSIGNAL) == (ssize_t)sizeof message;
    for (size_t i = 0; good && i < message.count; i++) {
        const char *text = i == 0 ? facts->hosts : facts->paths[i - 1];
        const size_t size = strlen(text) + 1;
        good = send(fd, text, size, MSG_NOSIGNAL) == (ssize_t)size;
    }
}

void cli_held_serve(int fd, const struct held_facts *facts) {
    int asking;
    while ((asking = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        send_all(asking, facts);
        close(asking);
    }
}
