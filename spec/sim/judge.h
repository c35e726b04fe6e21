/* SPDX-License-Identifier: MIT */
/* judge: what must be true whenever code of a host has run, and whenever the servers have done
 * something: who holds, by what the hosts are told and by what the servers have. */
#ifndef JUDGE_H
#define JUDGE_H

#include "host.h"

void sim_judge_begin(sim_host *hosts, int count);
/* Code of that host has run. */
void sim_judge(sim_host *host);
/* No session that a host has holds a lock's node. */
bool sim_judge_none_left(void);
/* Nobody of us has anything any more. */
void sim_judge_end(void);

/* Is everything there that it holds with? True also of what the promise does not cover: a session
 * that an operator has ended, a node that somebody else has deleted. */
bool sim_judge_is_held(const sim_caller *caller);

#endif
