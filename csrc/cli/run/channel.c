/* SPDX-License-Identifier: MIT */
#include "cli/run/channel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

bool cli_channel_pair(int ends[2]) {
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0;
}

bool cli_channel_send(int end, enum channel_kind kind, int value, const char *text) {
    struct channel_message message;
    memset(&message, 0, sizeof message);
    message.kind = kind;
    message.value = value;
    snprintf(message.text, sizeof message.text, "%s", text ? text : "");
    ssize_t sent;
    do
        sent = send(end, &message, sizeof message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof message;
}

bool cli_channel_hear(int end, channel_heard *heard, void *ctx) {
    for (;;) {
        struct channel_message message;
        const ssize_t got = recv(end, &message, sizeof message, 0);
        if (got == (ssize_t)sizeof message)
            heard(ctx, &message);
        else if (got >= 0 || errno != EINTR)
            return got < 0 && errno == EAGAIN;
    }
}
