/* SPDX-License-Identifier: MIT */
/* terminal: the controlling terminal as it was when the run began. A command that zklock kills
 * cannot put it back itself: an editor leaves it raw, a shell keeps its foreground. */
#ifndef RUN_TERMINAL_H
#define RUN_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

struct terminal {
    bool there;      /* there is a controlling terminal */
    bool foreground; /* the run began in its foreground */
    struct termios settings;
};

void cli_terminal_read(struct terminal *terminal);
/* Puts foreground and settings back, if the run began in the foreground. Blocks SIGTTOU. */
void cli_terminal_restore(const struct terminal *terminal);

#endif
