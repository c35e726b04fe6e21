/* SPDX-License-Identifier: MIT */
/* inherited: what zklock has of its caller, and gives to the command or puts back: the signal mask,
 * the ignored signals, and the controlling terminal. A command that zklock kills cannot put the
 * terminal back itself: an editor leaves it raw, a shell keeps its foreground. */
#ifndef ZKL_CLI_RUN_INHERITED_H
#define ZKL_CLI_RUN_INHERITED_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

/* ---- signals ---- */

struct signals {
    sigset_t mask;    /* inherited */
    sigset_t ignored; /* inherited */
    sigset_t heard;   /* those that the front hears: neither blocked nor ignored before */
};

/* Reads what was inherited. Then only SIGCHLD, SIGCONT and the heard signals are blocked, SIGCHLD
 * has its default action, and SIGPIPE is ignored. */
void cli_signals_take(struct signals *signals);

/* For session and watcher: ignores every signal that can be ignored except SIGCHLD, and blocks all
 * of them. */
void cli_signals_ignore(void);

/* For the command, between fork and exec: as it was inherited. */
void cli_signals_give_back(const struct signals *signals);

/* A descriptor that is readable while such a signal is pending; -1: errno says why. */
int cli_signals_open(const sigset_t *set);

/* Ends this process by a signal, without a core. As process 1, or if that fails, it exits with 128
 * and the signal. */
_Noreturn void cli_signals_die(int signal);

/* ---- the terminal ---- */

struct terminal {
    bool there;      /* there is a controlling terminal */
    bool foreground; /* the run began in its foreground */
    struct termios settings;
};

void cli_terminal_read(struct terminal *terminal);
/* Puts foreground and settings back, if the run began in the foreground. Blocks SIGTTOU. */
void cli_terminal_restore(const struct terminal *terminal);

#endif
