/* SPDX-License-Identifier: MIT */
#include "stage.h"

#include "ensemble.h"
#include "library.h"
#include "machine.h"
#include "tree.h"

#include <stdio.h>
#include <string.h>

#define LIMIT (20 * ZKL_SECOND)

enum { SESSIONS_MOST = 8 };

static sim_machine machines[SESSIONS_MOST];
static int servers;

void stage_begin(const char *hosts) {
    servers = strchr(hosts, ',') ? 3 : 1;
    sim_rude_closings = 0;
    sim_begin(1);
    sim_ensemble_begin(ZKL_SECOND);
    sim_exists_needs_read = strncmp(hosts, "strict", strlen("strict")) == 0;
    for (int i = 0; i < SESSIONS_MOST; i++)
        machines[i] = (sim_machine){.id = i};
}

void stage_end(void) {
    sim_run(sim_now + ZKL_SECOND);
    sim_ensemble_end();
    sim_end();
}

int stage_servers(void) {
    return servers;
}

/* The leader is the first of them. One of them, where the real one is alone. */
const char *stage_host(int server) {
    static char host[32];
    snprintf(host, sizeof host, "10.0.0.%d:2181", 1 + (sim_leader() + server) % SERVERS);
    return host;
}

void stage_hold(bool held) {
    const int server = (sim_leader() + 2) % SERVERS;
    if (held)
        sim_server_lag(server, ZKL_NEVER, false);
    else
        sim_server_hurry(server);
}

void stage_as(int session) {
    sim_here = &machines[session];
}

void stage_lock(void) {
}

void stage_unlock(void) {
}

bool stage_wait(bool (*done)(void)) {
    const zkl_nanos until = sim_now + LIMIT;
    while (!done())
        if (!sim_step(until) && sim_now >= until)
            return done();
    return true;
}

void stage_cut(void) {
    sim_sockets_cut(-1, NULL, 1);
}
