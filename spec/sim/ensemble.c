/* SPDX-License-Identifier: MIT */
#include "ensemble.h"

#include "server.h"

#include <stdlib.h>
#include <string.h>

sim_servers sim_ensemble;
size_t sim_packet_most;

void sim_server_crash(int i, bool machine) {
    sim_server *at = &sim_ensemble.servers[i];
    if (at->role == DOWN)
        return;
    SAY("server %d crashes%s", i + 1, machine ? ", and its machine" : "");
    if (at->role == LEADING && !machine)
        sim_peers_part(at);
    if (sim_leads(at))
        sim_ensemble.leader = -1;
    at->role = DOWN;
    sim_leave_quorum(at);
}

void sim_server_restart(int i) {
    sim_server *at = &sim_ensemble.servers[i];
    if (at->role != DOWN)
        return;
    SAY("server %d starts", i + 1);
    at->role = LOOKING;
    at->stopped_until = at->isolated_until = 0;
    at->rests_until = sim_now + sim_some(sim_ensemble.tick);
}

void sim_server_stop(int i, zkl_nanos until) {
    sim_server *at = &sim_ensemble.servers[i];
    SAY("server %d%s is stopped for %.3f s", i + 1, sim_leads(at) ? ", the leader," : "",
        zkl_clock_seconds(until - sim_now));
    /* one that goes on has its limit unspent, and pings before it does anything else */
    at->stopped_until = until;
    at->heard = until;
    sim_at(&at->pace, until);
}

static void slow(sim_server *at, zkl_nanos until, bool back) {
    sim_queue_slow(back ? &at->up : &at->down, until);
}

void sim_server_isolate(int i, zkl_nanos until) {
    sim_server *at = &sim_ensemble.servers[i];
    SAY("server %d%s is cut off from the others for %.3f s", i + 1,
        sim_leads(at) ? ", the leader," : "", zkl_clock_seconds(until - sim_now));
    at->isolated_until = until;
    for (int j = 0; j < SERVERS; j++)
        if (j == i ||
            (sim_ensemble.servers[j].role == FOLLOWING && sim_ensemble.servers[j].leader == i)) {
            slow(&sim_ensemble.servers[j], until, false);
            slow(&sim_ensemble.servers[j], until, true);
        }
}

void sim_server_lag(int i, zkl_nanos until, bool back) {
    SAY("what server %d %s is slow for %.3f s", i + 1, back ? "tells its leader" : "is told",
        zkl_clock_seconds(until - sim_now));
    slow(&sim_ensemble.servers[i], until, back);
}

void sim_server_lag_behind(int i, zkl_nanos until) {
    SAY("server %d carries out nothing for %.3f s", i + 1, zkl_clock_seconds(until - sim_now));
    sim_queue_slow(&sim_ensemble.servers[i].backlog, until);
}

void sim_server_hurry(int i) {
    sim_queue_hurry(&sim_ensemble.servers[i].up);
    sim_queue_hurry(&sim_ensemble.servers[i].down);
    sim_queue_hurry(&sim_ensemble.servers[i].backlog);
}

void sim_throttle(unsigned one_in) {
    sim_ensemble.throttle = one_in;
}

void sim_throttle_directories(bool all) {
    sim_ensemble.directories_throttled = all;
}

void sim_refuse_credentials(unsigned one_in) {
    sim_ensemble.refusing = one_in;
}

bool sim_is_keeper;

void sim_forget_to_hang_up(unsigned one_in) {
    sim_ensemble.forgetting = one_in;
}

void sim_ensemble_heal(void) {
    sim_ensemble.throttle = sim_ensemble.refusing = sim_ensemble.forgetting = 0;
    sim_ensemble.directories_throttled = false;
    fake_allow(sim_tree);
    for (int i = 0; i < SERVERS; i++) {
        sim_server *at = &sim_ensemble.servers[i];
        sim_server_restart(i);
        at->stopped_until = at->isolated_until = 0;
        sim_at(&at->pace, sim_now);
        if (at->heard > sim_now)
            at->heard = sim_now;
        sim_server_hurry(i);
        for (sim_socket *s = at->sockets; s; s = s->beside) {
            sim_queue_hurry(&s->up);
            sim_queue_hurry(&s->down);
        }
    }
    if (sim_ensemble.ticks.at > sim_now + sim_ensemble.tick)
        sim_at(&sim_ensemble.ticks, sim_now + sim_ensemble.tick);
}

bool sim_ensemble_serves(void) {
    return sim_ensemble.leader >= 0 && sim_has_quorum(&sim_ensemble.servers[sim_ensemble.leader]);
}

int sim_leader(void) {
    return sim_ensemble.leader;
}

/* ---- their clocks ---- */

void sim_ensemble_set_clocks(zkl_nanos spread) {
    for (int i = 0; i < SERVERS; i++)
        sim_ensemble.clocks[i] = sim_some(2 * spread) - spread;
}

int64_t sim_wall(void) {
    if (sim_ensemble.leader >= 0)
        sim_ensemble.ahead = sim_ensemble.clocks[sim_ensemble.leader];
    return (sim_now + sim_ensemble.ahead) / SIM_MS;
}

/* ---- life ---- */

void sim_ensemble_begin(zkl_nanos tick) {
    memset(&sim_ensemble, 0, sizeof sim_ensemble);
    sim_tree_begin();
    sim_packet_most = 1048575;
    sim_ensemble.tick = tick;
    sim_ensemble.patience = (2 + (zkl_nanos)sim_any(6)) * tick;
    sim_ensemble.leader = -1;
    sim_ensemble.ids = 0x1000;
    sim_ensemble.commit.run = sim_commit_next;
    sim_ensemble.ticks.run = sim_sessions_end;
    sim_ensemble.elections.run = sim_look_for_leader;
    for (int i = 0; i < SERVERS; i++) {
        sim_server *at = &sim_ensemble.servers[i];
        at->id = i;
        at->role = LOOKING;
        at->pace.run = sim_keep_pace;
        sim_at(&at->pace, sim_now + sim_some(tick / 2));
        sim_peers_begin(at);
    }
    sim_elect((const int[]){0, 1, 2}, SERVERS);
    sim_at(&sim_ensemble.ticks, (sim_now / tick + 1) * tick);
    sim_at(&sim_ensemble.elections, sim_now + tick / 8);
}

void sim_ensemble_end(void) {
    for (int i = 0; i < SERVERS; i++) {
        sim_ensemble.servers[i].role = DOWN;
        sim_leave_quorum(&sim_ensemble.servers[i]);
    }
    while (sim_ensemble.first) {
        sim_proposal *p = sim_take_proposal();
        sim_request_drop(p->request);
        free(p);
    }
    while (sim_ensemble.sockets) {
        sim_socket *s = sim_ensemble.sockets;
        sim_ensemble.sockets = s->next;
        sim_queue_lose(&s->up, 0);
        sim_queue_lose(&s->down, 0);
        free(s);
    }
    while (sim_ensemble.sessions) {
        sim_session *s = sim_ensemble.sessions;
        sim_ensemble.sessions = s->next;
        free(s);
    }
    sim_tree_end();
    sim_wire_end();
}
