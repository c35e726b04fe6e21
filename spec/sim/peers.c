/* SPDX-License-Identifier: MIT */
/* The messages between leader and followers. */
#include "server.h"

static void carry_out(void *of, sim_message *m) {
    sim_server *at = of;
    if (m->kind == SAY_SYNCED) {
        sim_finish(m->request);
        return;
    }
    sim_server_apply(at, m->zxid);
    if (m->request && m->request->op == OP_OPEN_SESSION)
        sim_finish_opening(m->request);
    else if (m->request)
        sim_finish(m->request);
    sim_drop_ended(at);
}

/* Commits go through a pipeline of the follower's own. Whether it takes a session is
 * answered past that. */
static void carry_out_in_turn(sim_server *at, sim_message *m) {
    if (!at->backlog.first && at->backlog.slow_until <= sim_now) {
        carry_out(at, m);
        return;
    }
    sim_message *later = sim_put(&at->backlog, m->kind);
    later->zxid = m->zxid;
    later->request = m->request;
    if (m->request)
        sim_request_keep(m->request);
}

static void hear_leader(void *of, sim_message *m) {
    sim_server *at = of;
    switch (m->kind) {
    case SAY_END:
        sim_step_down(at);
        break;
    case SAY_PING: {
        at->heard = sim_now;
        sim_message *pong = sim_put(&at->up, SAY_PONG);
        size_t count = 0;
        for (const sim_session *s = sim_ensemble.sessions; s; s = s->next)
            count += s->touched_at >> at->id & 1;
        pong->heard = count ? sim_new(count * sizeof *pong->heard) : NULL;
        for (sim_session *s = sim_ensemble.sessions; s && count; s = s->next)
            if (s->touched_at >> at->id & 1) {
                s->touched_at &= ~(1U << at->id);
                pong->heard[pong->heard_count++] = s;
            }
        break;
    }
    case SAY_COMMIT:
    case SAY_SYNCED:
        carry_out_in_turn(at, m);
        break;
    case SAY_REVALIDATED:
        sim_answer_connect(m->socket, m->good);
        break;
    default:
        sim_fail("a follower hears what no leader says");
    }
}

/* A machine that has started again, or whose server leads no more, resets a connection that it does
 * not know. One that is down sends nothing. */
static bool is_connected(sim_server *leader, sim_server *follower) {
    if (leader->role == LOOKING || leader->role == FOLLOWING)
        sim_put(&follower->down, SAY_END);
    return leader->role == LEADING;
}

static void hear_follower(void *of, sim_message *m) {
    sim_server *follower = of;
    sim_server *at = &sim_ensemble.servers[follower->leader];
    if (!is_connected(at, follower))
        return;
    switch (m->kind) {
    case SAY_PONG:
        at->heard = sim_now;
        for (size_t i = 0; i < m->heard_count && sim_leads(at); i++)
            sim_session_touch(m->heard[i]);
        break;
    case SAY_FORWARD:
        sim_lead_request(at, m->request, follower->id);
        break;
    case SAY_REVALIDATE: {
        sim_message *answer = sim_put(&follower->down, SAY_REVALIDATED);
        answer->socket = m->socket;
        answer->good = sim_revalidate(at, m->session, follower->id);
        break;
    }
    default:
        sim_fail("a leader hears what no follower says");
    }
}

static zkl_nanos leader_busy_until(void *of) {
    const sim_server *follower = of;
    return sim_ensemble.servers[follower->leader].stopped_until;
}

static zkl_nanos follower_busy_until(void *of) {
    const sim_server *follower = of;
    return follower->stopped_until;
}

void sim_peers_begin(sim_server *at) {
    sim_queue_init(&at->up, at, hear_follower, leader_busy_until);
    sim_queue_init(&at->down, at, hear_leader, follower_busy_until);
    sim_queue_init(&at->backlog, at, carry_out, follower_busy_until);
}

void sim_peers_part(const sim_server *leader) {
    for (int i = 0; i < SERVERS; i++) {
        sim_server *f = &sim_ensemble.servers[i];
        if (f->role == FOLLOWING && f->leader == leader->id)
            sim_put(&f->down, SAY_END);
    }
}

void sim_peers_forget(sim_server *at) {
    sim_queue *all[] = {&at->up, &at->down, &at->backlog};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        sim_queue_lose(all[i], 0);
        all[i]->slow_until = 0;
    }
}
