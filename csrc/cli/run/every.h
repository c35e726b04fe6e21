/* SPDX-License-Identifier: MIT */
/* every: `--every`: is the command due, and the mark that says when anybody ran it last. */
#ifndef RUN_EVERY_H
#define RUN_EVERY_H

#include "cli/run/session.h"

/* The lock is held. true: the command is due, or there is no --every; with `--mark before` the
 * command can be executed, and the mark is written. false: the outcome is set. */
bool cli_every_is_due(struct session *session);

/* The outcome is set. With `--mark after` writes the mark if the command has ended with 0. If that
 * fails, it is the outcome. */
void cli_every_finish(struct session *session);

#endif
