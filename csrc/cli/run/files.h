/* SPDX-License-Identifier: MIT */
/* files: what a run has in the file system of its machine: the directory with the socket of
 * held_socket.h, and the file of --report. */
#ifndef RUN_FILES_H
#define RUN_FILES_H

#include "cli/run/state.h"

/* Front, before it forks: makes the directory. Without one it warns, and the run goes on. */
void cli_files_prepare(struct run *run);
/* Any process, when the run is over: removes the directory. Twice is fine. */
void cli_files_remove(const struct run *run);
/* Front, or before there is one: writes the report. `label` is how the run has ended. */
void cli_files_report(const struct run *run, const char *label, int exit_code);

#endif
