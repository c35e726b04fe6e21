/* SPDX-License-Identifier: MIT */
/* waiting: what the session says of its wait: on a terminal in a line that is updated in place,
 * with --verbose in a line for each change. It asks little of the servers: every 5 seconds one
 * list, and the data of the first node. */
#ifndef RUN_WAITING_H
#define RUN_WAITING_H

#include "cli/run/session.h"

/* Asks and says what is due. Returns when to call it again. */
zkl_nanos cli_waiting_turn(struct session *session);
/* The wait is over. */
void cli_waiting_end(struct session *session);

#endif
