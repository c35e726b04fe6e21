/* SPDX-License-Identifier: MIT */
/* journal: what the callers of a history were told, and what they were sure of, as JSON lines for
 * judges outside of this program (docs/internals/histories.md). Writing it changes nothing in the
 * world; without a file nothing is written. */
#ifndef JOURNAL_H
#define JOURNAL_H

#include "host.h"

#include <stdio.h>

/* From now on there is a file; it is the caller's. */
void sim_journal_to(FILE *file);

/* A history begins, and ends: by itself, or because something is wrong. */
void sim_journal_begin(uint64_t seed);
void sim_journal_end(void);

void sim_journal_answered(const sim_caller *c);
/* For how long it can be sure from now on, if at all. */
void sim_journal_sure(const sim_caller *c);
void sim_journal_released(const sim_caller *c, zkl_status status);
/* Later it hears of its release that it was held. */
void sim_journal_confirmed(const sim_caller *c);
void sim_journal_lost(const sim_caller *c);
/* It ends without an answer: its script drops it, or closes the client. */
void sim_journal_dropped(const sim_caller *c);
/* An operator takes the node of that token away. */
void sim_journal_taken(const sim_host *host, int64_t token);
/* An operator has had the session ended that the host's client had since then. */
void sim_journal_ended(const sim_host *host, zkl_nanos since);

#endif
