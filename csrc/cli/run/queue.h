/* SPDX-License-Identifier: MIT */
/* queue: the session's way to the lock: the random pause of --splay, the connection, the line. */
#ifndef RUN_QUEUE_H
#define RUN_QUEUE_H

#include "cli/run/session.h"

/* true: the lock is held. false: the outcome is set. */
bool cli_queue_wait(struct session *session);
/* The outcome of a wait that ran out while no server answered, as it turned out. */
void cli_queue_end_unanswered(struct session *session);

#endif
