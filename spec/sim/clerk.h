/* SPDX-License-Identifier: MIT */
/* clerk: what the script of a host does with nodes besides locking: it reads, writes, counts in a
 * node for as long as it holds, and watches; and holds what it is told against the ledger. */
#ifndef CLERK_H
#define CLERK_H

#include "ledger.h"

/* Its client is there: what it will be shown is not older than now. */
void sim_clerk_open(sim_host *host);
/* A deed: one of all that can be done. */
void sim_clerk_deed(sim_host *host);
/* The script goes on with what it holds: perhaps by counting. */
void sim_clerk_held(sim_caller *caller);
/* The caller has just asked for a write: perhaps somebody takes away what it holds, or its link
 * breaks soon. */
void sim_clerk_trouble(sim_caller *caller);
/* The caller is about to go. */
void sim_clerk_forget(const sim_caller *caller);
/* false: the event is somebody else's. */
bool sim_clerk_hear(sim_host *host, const zkl_event *event);
void sim_clerk_close(sim_host *host);

/* ---- the end ---- */

/* Nothing is asked that has not been answered. */
bool sim_clerk_is_idle(const sim_host *host);
/* Its watches show how it is. */
bool sim_clerk_is_current(const sim_host *host);
/* It stops all of them. */
void sim_clerk_stop(sim_host *host);
/* Of watches nothing is left in its client. */
bool sim_clerk_has_stopped(const sim_host *host);

#endif
