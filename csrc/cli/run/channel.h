/* SPDX-License-Identifier: MIT */
/* loop.c: messages between two processes of a run. Each end is readable when the other process has
 * ended. No call blocks. */
#ifndef RUN_CHANNEL_H
#define RUN_CHANNEL_H

#include <stdbool.h>

enum channel_kind {
    CHANNEL_SIGNAL, /* to the session, the watcher: `value` for the command, or for the wait */
    CHANNEL_START,  /* to the watcher: fork the command */
    CHANNEL_LOOK,   /* to the watcher: validity has fallen, or there is a reason to end it;
                     * to the session: the phase has changed */
    CHANNEL_LINE,   /* to the front: show the text as the waiting line */
    CHANNEL_PRINT,  /* to the front: print the text as a line of its own */
    CHANNEL_READY,  /* to the front: the lock is granted; may the command start? `value`: the number
                     * of the grant, or 0 after a grant was given back */
    CHANNEL_GO      /* to the session: it may, with the same number; the waiting line is gone */
};

#define CHANNEL_TEXT 600

struct channel_message {
    enum channel_kind kind;
    int value;
    char text[CHANNEL_TEXT];
};

/* false: errno says why. */
bool cli_channel_pair(int ends[2]);
/* false: the other process has ended, or does not read. */
bool cli_channel_send(int end, enum channel_kind kind, int value, const char *text);

typedef void channel_heard(void *ctx, const struct channel_message *message);
/* Gives each message that is there; NULL: to nobody. false: the other process has ended. */
bool cli_channel_hear(int end, channel_heard *heard, void *ctx);

#endif
