/* SPDX-License-Identifier: MIT */
/* session_process: the life of the session, from the fork to its exit. */
#ifndef RUN_SESSION_PROCESS_H
#define RUN_SESSION_PROCESS_H

#include "cli/run/state.h"

/* Runs in the new process, with run->front and run->lifeline. Returns its exit code; the page has
 * the outcome. */
int cli_session_live(struct run *run);

#endif
