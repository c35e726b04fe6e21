/* SPDX-License-Identifier: MIT */
/* Sessions: who has one, since when it has not been heard of, and how the leader ends it. */
#include "server.h"

void (*sim_session_ended)(const sim_session *session);

int64_t sim_session_id(const sim_session *s) {
    return s->id;
}

bool sim_session_is_open(const sim_session *s) {
    return s->open;
}

size_t sim_session_bytes(const sim_session *s) {
    return s->node_bytes;
}

void sim_session_count_node(sim_session *s, ssize_t bytes) {
    s->node_bytes += (size_t)bytes;
}

sim_session *sim_session_find(int64_t id) {
    sim_session *s = sim_ensemble.sessions;
    while (s && s->id != id)
        s = s->next;
    return s;
}

void *sim_session_owner(const sim_session *s) {
    return s->owner;
}

size_t sim_sessions_open(void) {
    size_t n = 0;
    for (const sim_session *s = sim_ensemble.sessions; s; s = s->next)
        n += s->open;
    return n;
}

sim_session *sim_session_new(void) {
    sim_session *s = sim_new(sizeof *s);
    s->id = ++sim_ensemble.ids;
    s->next = sim_ensemble.sessions;
    sim_ensemble.sessions = s;
    return s;
}

void sim_session_opened(sim_session *s) {
    s->open = true;
    s->touched = sim_now;
    sim_counted.sessions += !s->is_stranger;
}

void sim_session_closed(sim_session *s) {
    s->open = false;
    s->closed = sim_tree->zxid;
    if (sim_session_ended)
        sim_session_ended(s);
}

void sim_session_touch(sim_session *s) {
    if (s && s->open && !s->closing)
        s->touched = sim_now;
}

sim_session *sim_session_stranger(void) {
    sim_session *s = sim_session_new();
    s->is_stranger = true;
    sim_request *r = sim_request_new(OP_OPEN_SESSION, NULL);
    r->session = s;
    sim_ensemble_write(r);
    sim_request_drop(r);
    return s;
}

static void end_one(sim_session *s) {
    if (sim_ensemble.leader < 0 || s->closing || !s->open)
        return;
    SAY("the leader ends session %llx", (unsigned long long)s->id);
    sim_request *r = sim_request_new(OP_CLOSE_SESSION, NULL);
    r->session = s;
    s->closing = true;
    sim_propose(&sim_ensemble.servers[sim_ensemble.leader], r, -1);
    sim_request_drop(r);
}

/* The first tick after the timeout. */
void sim_sessions_end(sim_event *event) {
    sim_server *leader =
        sim_ensemble.leader >= 0 ? &sim_ensemble.servers[sim_ensemble.leader] : NULL;
    sim_at(event, (sim_now / sim_ensemble.tick + 1) * sim_ensemble.tick);
    if (!leader)
        return;
    if (sim_is_stopped(leader)) {
        sim_at(event, leader->stopped_until); /* before it does anything else */
        return;
    }
    for (sim_session *s = sim_ensemble.sessions; s; s = s->next)
        if (s->open && !s->closing && !s->is_stranger &&
            sim_now >= ((s->touched + s->timeout) / sim_ensemble.tick + 1) * sim_ensemble.tick)
            end_one(s);
}

void sim_session_expire(sim_session *s) {
    if (!s->forced_at)
        s->forced_at = sim_now;
    end_one(s);
}

bool sim_session_is_forced(const sim_session *s) {
    return s->forced_at != 0;
}

zkl_nanos sim_session_forced_at(const sim_session *s) {
    return s->forced_at;
}

sim_session *sim_session_any(void) {
    unsigned n = 0;
    for (const sim_session *s = sim_ensemble.sessions; s; s = s->next)
        n += s->open && !s->is_stranger;
    if (!n)
        return NULL;
    n = sim_any(n);
    for (sim_session *s = sim_ensemble.sessions; s; s = s->next)
        if (s->open && !s->is_stranger && n-- == 0)
            return s;
    return NULL;
}
