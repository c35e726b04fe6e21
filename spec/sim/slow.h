/* SPDX-License-Identifier: MIT */
/* slow: what is asked of a host whose link is slow: its connection stays, and its answers take too
 * long for any validity. It must not keep other hosts from a lock that it cannot be granted. */
#ifndef SLOW_H
#define SLOW_H

#include "host.h"

/* No host is known to be slow (sim_machine.distance) yet. */
void sim_slow_begin(void);
/* Code of a host has run. */
void sim_slow_judge(sim_host *host);
/* The servers have refused one of its requests for now: what it waits for comes later. */
void sim_slow_throttled(const sim_host *host);

#endif
