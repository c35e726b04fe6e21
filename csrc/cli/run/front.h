/* SPDX-License-Identifier: MIT */
/* front: the process that the user has started. */
#ifndef RUN_FRONT_H
#define RUN_FRONT_H

#include "cli/run/state.h"

/* Forks the session, passes signals on, and waits for the end. Returns the exit code of zklock, or
 * ends by a signal. */
int cli_front_live(struct run *run);

#endif
