/* SPDX-License-Identifier: MIT */
#include "cli/run/state.h"

#include "cli/run/channel.h"
#include "zklock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>

static int open_signals(const sigset_t *others) {
    sigset_t set;
    sigemptyset(&set);
    if (others)
        set = *others;
    sigaddset(&set, SIGCHLD);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool cli_loop_open(struct pollfd *polled, const sigset_t *signals, const int *others,
                   nfds_t count) {
    polled[LOOP_SIGNALS].fd = open_signals(signals);
    polled[LOOP_ALARM].fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    for (nfds_t i = 0; i < count; i++)
        polled[LOOP_OTHERS + i].fd = others[i];
    for (nfds_t i = 0; i < LOOP_OTHERS + count; i++)
        polled[i].events = POLLIN;
    return polled[LOOP_SIGNALS].fd >= 0 && polled[LOOP_ALARM].fd >= 0;
}

static void set_alarm(int alarm, zkl_nanos moment) {
    struct itimerspec when = {.it_value = {0}};
    if (moment != ZKL_NEVER) {
        const zkl_nanos at = moment > 0 ? moment : 1; /* zero would disarm it */
        when.it_value.tv_sec = (time_t)(at / ZKL_SECOND);
        when.it_value.tv_nsec = (long)(at % ZKL_SECOND);
    }
    timerfd_settime(alarm, TFD_TIMER_ABSTIME, &when, NULL); /* also forgets that it was readable */
}

void cli_loop_wait(struct pollfd *polled, nfds_t count, zkl_nanos until) {
    set_alarm(polled[LOOP_ALARM].fd, until);
    while (poll(polled, count, -1) < 0 && errno == EINTR)
        continue;
}

/* ---- channels ---- */

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
        if (got < 0 && errno == EINTR)
            continue;
        if (got != (ssize_t)sizeof message)
            return got < 0 && errno == EAGAIN;
        if (heard)
            heard(ctx, &message);
    }
}
