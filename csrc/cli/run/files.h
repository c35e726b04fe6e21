/* SPDX-License-Identifier: MIT */
/* files: what a run has in the file system of its machine: the directory with the socket of
 * held_socket.h, the file of --while-held, and that of --report. */
#ifndef RUN_FILES_H
#define RUN_FILES_H

#include "cli/run/state.h"

/* Front, before it forks: removes a stale file of --while-held, and makes the directory. 0, or an
 * exit code after a complaint. */
int cli_files_prepare(struct run *run);
/* Session, when the command is to be started. 0, or an errno. */
int cli_files_publish(struct run *run);
/* Any process, before a signal that ends the command, and before the release: removes the file of
 * --while-held. Twice is fine. */
void cli_files_withdraw(const struct run *run);
/* The same, and the directory: when the run is over. */
void cli_files_remove(const struct run *run);
/* Front: writes the report. `label` is how the run has ended. */
void cli_files_report(const struct run *run, const char *label, int exit_code);

#endif
