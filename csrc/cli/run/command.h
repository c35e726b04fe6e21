/* SPDX-License-Identifier: MIT */
/* command: the user's program: its environment, its signals, its process group, and its start. */
#ifndef RUN_COMMAND_H
#define RUN_COMMAND_H

#include "cli/run/state.h"

/* Can it be executed? 0, or the errno with which execvp(3) would fail, as far as the file itself
 * shows. */
int cli_command_check(const struct run *run);
/* The exit code when it cannot be executed. */
int cli_command_code(int why);

/* Forks and executes it. Returns its process id; -1: errno says why. Only for the watcher. */
pid_t cli_command_start(const struct run *run);

/* Sends it a signal: to its process group if that is its own, and somebody is in it. Once it was
 * reaped, to all descendants of the watcher. */
void cli_command_signal(const struct run *run, int signal);

#endif
