/* SPDX-License-Identifier: MIT */
/* signals: the signal mask and the ignored signals that zklock has inherited, which the command
 * gets back, and what zklock's own processes do with signals. */
#ifndef RUN_SIGNALS_H
#define RUN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

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

#endif
