/* SPDX-License-Identifier: MIT */
/* Elections: who leads, and who gives up. */
#include "server.h"
#include "base/list.h"

#include <stdlib.h>

void sim_leave_quorum(sim_server *at) {
    sim_sockets_close(at);
    sim_queue_lose(&at->up, 0);
    sim_queue_lose(&at->down, 0);
    sim_queue_lose(&at->backlog, 0);
    for (sim_session *s = sim_ensemble.sessions; s; s = s->next)
        s->touched_at &= ~(1U << at->id);
    at->stuck = 0;
    at->rests_until = sim_now + sim_some(sim_ensemble.tick);
}

void sim_step_down(sim_server *at) {
    SAY("server %d %s", at->id + 1, at->role == LEADING ? "leads no more" : "looks for a leader");
    if (at->role == LEADING)
        sim_peers_part(at);
    if (sim_leads(at))
        sim_ensemble.leader = -1;
    at->role = LOOKING;
    sim_leave_quorum(at);
}

static void follow(sim_server *at, int leader) {
    SAY("server %d follows server %d", at->id + 1, leader + 1);
    sim_peers_forget(at);
    at->role = FOLLOWING;
    at->leader = leader;
    at->heard = sim_now;
    sim_server_apply(at, sim_tree->zxid);
}

static bool can_vote(const sim_server *at) {
    return at->role == LOOKING && !sim_is_stopped(at) && !sim_is_cut_off(at) &&
           at->rests_until <= sim_now;
}

/* The former leader's proposals: some of them had reached the one that leads now. */
static void settle_proposals(sim_server *leader) {
    bool reached = true;
    while (sim_ensemble.first) {
        sim_proposal *p = sim_take_proposal();
        reached =
            reached && p->request->has_reached && p->request->op != OP_SYNC && !sim_once_in(3);
        if (reached)
            sim_commit(leader, p->request, -1);
        sim_request_drop(p->request);
        free(p);
    }
    sim_cancel(&sim_ensemble.commit);
}

/* Those who have not noticed yet that they follow one who was down meanwhile: their connections are
 * none to what leads now. */
static void part_from_former_followers(const sim_server *leader) {
    for (int i = 0; i < SERVERS; i++) {
        sim_server *at = &sim_ensemble.servers[i];
        if (at->role == FOLLOWING && at->leader == leader->id)
            sim_step_down(at);
    }
}

void sim_elect(const int *voters, int count) {
    sim_server *leader = &sim_ensemble.servers[voters[sim_any((unsigned)count)]];
    part_from_former_followers(leader);
    sim_ensemble.epoch++;
    sim_server_apply(leader, sim_tree->zxid);
    settle_proposals(leader);
    sim_tree->zxid = ((int64_t)sim_ensemble.epoch << 32) | 1;
    SAY("server %d is elected, epoch %u", leader->id + 1, sim_ensemble.epoch);
    sim_ensemble.leader = leader->id;
    leader->role = LEADING;
    leader->heard = sim_now;
    sim_server_apply(leader, sim_tree->zxid);
    for (int i = 0; i < count; i++)
        if (voters[i] != leader->id)
            follow(&sim_ensemble.servers[voters[i]], leader->id);
    for (sim_session *s = sim_ensemble.sessions; s; s = s->next) {
        s->closing = false;
        sim_session_touch(s);
    }
    sim_at(&leader->pace, sim_now);
}

void sim_look_for_leader(sim_event *event) {
    int voters[SERVERS], count = 0;
    sim_after(event, sim_ensemble.tick / 8 + sim_some(sim_ensemble.tick / 4));
    for (int i = 0; i < SERVERS; i++)
        if (can_vote(&sim_ensemble.servers[i]))
            voters[count++] = i;
    if (!count)
        return;
    const sim_server *leader =
        sim_ensemble.leader >= 0 ? &sim_ensemble.servers[sim_ensemble.leader] : NULL;
    if (leader && !sim_is_cut_off(leader) && !sim_is_stopped(leader))
        for (int i = 0; i < count; i++)
            follow(&sim_ensemble.servers[voters[i]], leader->id);
    else if (2 * count > SERVERS)
        sim_elect(voters, count);
}

/* Half a tick's work: leaders ping, and whoever has not heard from the others for too long gives
 * up. A leader that goes on after a stop pings before it does anything else. */
void sim_keep_pace(sim_event *event) {
    sim_server *at = ZKL_CONTAINER_OF(event, sim_server, pace);
    if (sim_is_stopped(at)) {
        sim_at(event, at->stopped_until);
        return;
    }
    sim_after(event, sim_ensemble.tick / 2 + sim_some(sim_ensemble.tick / 24));
    if ((at->role == FOLLOWING || at->role == LEADING) &&
        sim_now > at->heard + sim_ensemble.patience) {
        sim_step_down(at);
        return;
    }
    for (int i = 0; i < SERVERS && at->role == LEADING; i++)
        if (sim_ensemble.servers[i].role == FOLLOWING && sim_ensemble.servers[i].leader == at->id)
            sim_put(&sim_ensemble.servers[i].down, SAY_PING);
}
