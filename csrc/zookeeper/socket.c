/* SPDX-License-Identifier: MIT */
#include "zookeeper/socket.h"

#include "base/descriptors.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Handles of 3.5 begin with the descriptor itself and padding. No address is as low as these
 * numbers. A big-endian machine reads such a number as an upper half with nothing below it: no
 * allocation is there either, since its header comes first. */
#define NUMBERS (1 << 22)

/* True once a handle has proven that its descriptor is where `zkl_socket_presumed` looks for it.
 * All handles of the process belong to one library. */
static atomic_bool known;

/* Since 3.6 a handle begins with the address of its socket structure, which begins with the
 * descriptor. -1: it has none now, or does not begin that way. */
int zkl_socket_presumed(const zhandle_t *handle) {
    const volatile int *socket;
    memcpy(&socket, handle, sizeof socket);
    const uintptr_t address = (uintptr_t)socket;
    const bool possible =
        address >= NUMBERS && address % sizeof socket == 0 && (uint32_t)address != 0;
    return possible ? *socket : -1;
}

static bool is_connected_to(int fd, const struct sockaddr *server, socklen_t length) {
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    memset(&peer, 0, sizeof peer);
    return getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && size == length &&
           memcmp(&peer, server, length) == 0;
}

void zkl_socket_confirmed(const zhandle_t *handle, const struct sockaddr *server,
                          socklen_t length) {
    const int fd = zkl_socket_presumed(handle);
    if (fd >= 0 && is_connected_to(fd, server, length)) {
        known = true;
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    } else {
        zkl_descriptors_mark_sockets(server, length);
    }
}

/* The library's thread may close the descriptor at any time, and another file may get its number.
 * So this shuts a copy down, and only if the number was still the handle's after the copy
 * existed. */
void zkl_socket_hang_up(const zhandle_t *handle) {
    const int fd = known ? zkl_socket_presumed(handle) : -1;
    const int copy = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (copy < 0)
        return;
    if (zkl_socket_presumed(handle) == fd)
        shutdown(copy, SHUT_RDWR);
    close(copy);
}
