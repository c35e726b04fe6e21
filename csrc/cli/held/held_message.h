/* SPDX-License-Identifier: MIT */
/* held_message: what a run answers to a command below it: this, then `count` texts, each with a NUL
 * behind it: the servers with the chroot, then the paths. `held` reads no more than this. The two
 * may be of different versions of zklock: whoever changes a byte of it changes
 * HELD_MESSAGE_VERSION. */
#ifndef HELD_MESSAGE_H
#define HELD_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#define HELD_MESSAGE_VERSION 1

struct held_message {
    uint32_t version, semaphore, count;
    uint32_t zero; /* so that all machines lay it out alike */
    int64_t left;  /* nanoseconds */
};
_Static_assert(sizeof(struct held_message) == 24, "a message without gaps");

/* The socket in the directory. false: the path is too long. */
static inline bool cli_held_address(const char *directory, struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int length = snprintf(address->sun_path, sizeof address->sun_path, "%s/held", directory);
    return length > 0 && (size_t)length < sizeof address->sun_path;
}

#endif
