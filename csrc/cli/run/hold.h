/* SPDX-License-Identifier: MIT */
/* hold: the lock while the command runs, and its release. */
#ifndef RUN_HOLD_H
#define RUN_HOLD_H

#include "cli/run/session.h"

/* Has the watcher start the command, keeps the page up to date until no descendant is left, and
 * sets the outcome. The lock was granted. */
void cli_hold_keep(struct session *session);

/* Gives the lock back, if it is held, and waits until the servers confirm that no node is left: 5
 * seconds at most, then it warns. */
void cli_hold_release(struct session *session);

#endif
