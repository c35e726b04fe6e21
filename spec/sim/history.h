/* SPDX-License-Identifier: MIT */
/* history: what a seed does: so many hosts, so many deeds of scripts, networks, servers and
 * operators, one after the other; then everything is mended, and everybody must get what he waits
 * for, and leave nothing behind. */
#ifndef HISTORY_H
#define HISTORY_H

#include "sim.h"

enum { DEEDS_MOST = 4000 };

/* A seed that has it is of a history with many lines (lines). */
#define SIM_MANY_LINES (UINT64_C(1) << 47)

/* ... in which those who hold a mutex ask for its mark, and write it (marks). */
#define SIM_MARKS (UINT64_C(1) << 46)

/* ... in which the servers are ClickHouse Keeper's. */
#define SIM_KEEPER (UINT64_C(1) << 45)

typedef struct sim_plan {
    uint64_t seed;
    /* Deeds that are left out, to find the few that matter. Each draws its chances for itself:
     * leaving one out changes no other. */
    bool dropped[DEEDS_MOST];
} sim_plan;

/* Deeds of a seed; its plan runs as many at most. */
unsigned sim_history_deeds(uint64_t seed);
/* Ends the process if something is wrong. sim_counted has what happened. */
void sim_history_run(const sim_plan *plan);

#endif
