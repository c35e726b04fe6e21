/* SPDX-License-Identifier: MIT */
/* losses: what the servers answer to the deletes of locks' nodes, and what a host is told of a hold
 * whose node an operator had deleted before its release. */
#ifndef LOSSES_H
#define LOSSES_H

#include "host.h"

void sim_losses_begin(void);
void sim_losses_end(void);
/* An operator has deleted that node. */
void sim_losses_robbed(const char *path);
/* The caller is about to release. */
void sim_losses_release(sim_caller *caller);
/* Code of that host has run: what it has concluded about released holds must be so. */
void sim_losses_judge(const sim_host *host);

#endif
