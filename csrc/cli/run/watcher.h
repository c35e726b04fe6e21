/* SPDX-License-Identifier: MIT */
/* watcher: the process that forks the command, and ends it in time when the lock is lost. */
#ifndef RUN_WATCHER_H
#define RUN_WATCHER_H

#include "cli/run/state.h"

/* The life of the watcher, in a process of its own with one thread. Uses run->session and
 * run->lifeline. Returns when no descendant is left, or when --close has let them go. */
void cli_watcher_live(struct run *run);

#endif
