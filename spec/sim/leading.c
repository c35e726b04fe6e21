/* SPDX-License-Identifier: MIT */
/* How the leader commits, and what that takes. */
#include "server.h"

#include <stdlib.h>

bool sim_has_quorum(const sim_server *leader) {
    if (sim_is_cut_off(leader) || sim_is_stopped(leader))
        return false;
    for (int i = 0; i < SERVERS; i++) {
        const sim_server *f = &sim_ensemble.servers[i];
        if (f->role == FOLLOWING && f->leader == leader->id && !sim_is_cut_off(f) &&
            !sim_is_stopped(f) && f->up.slow_until <= sim_now && f->down.slow_until <= sim_now)
            return true;
    }
    return false;
}

void sim_propose(sim_server *leader, sim_request *r, int origin) {
    if (!sim_leads(leader)) {
        leader->stuck++;
        return;
    }
    sim_proposal *p = sim_new(sizeof *p);
    p->request = r;
    sim_request_keep(r);
    r->has_reached = sim_has_quorum(leader);
    p->origin = origin;
    p->at = sim_now + SIM_MS / 4 + sim_some(SIM_MS);
    if (sim_ensemble.last && p->at < sim_ensemble.last->at)
        p->at = sim_ensemble.last->at;
    if (sim_ensemble.last)
        sim_ensemble.last->next = p;
    else
        sim_ensemble.first = p;
    sim_ensemble.last = p;
    if (sim_ensemble.first == p)
        sim_at(&sim_ensemble.commit, p->at);
}

/* To those who follow; the one whose client it was answers it. */
static void spread(const sim_server *leader, sim_request *r, int origin) {
    for (int i = 0; i < SERVERS; i++) {
        sim_server *f = &sim_ensemble.servers[i];
        if (f->role != FOLLOWING || f->leader != leader->id)
            continue;
        sim_message *m = sim_put(&f->down, SAY_COMMIT);
        m->zxid = sim_tree->zxid;
        if (origin == i) {
            m->request = r;
            sim_request_keep(r);
        }
    }
}

static void say_write(const sim_request *r) {
    if (r->session && !r->session->is_stranger)
        SAY("servers: %s %s of session %llx: %d, zxid %llx", sim_op_name(r->op),
            r->part.made   ? r->part.made
            : r->part.path ? r->part.path
                           : "",
            (unsigned long long)r->session->id, r->part.rc, (unsigned long long)sim_tree->zxid);
    else
        SAY("servers: %s %s by somebody else: %d", sim_op_name(r->op),
            r->part.made   ? r->part.made
            : r->part.path ? r->part.path
                           : "",
            r->part.rc);
}

void sim_commit(sim_server *leader, sim_request *r, int origin) {
    const bool only_sync = r->op == OP_SYNC;
    if (!only_sync) {
        sim_write(r);
        if (sim_tracing)
            say_write(r);
    }
    spread(leader, r, origin);
    sim_server_apply(leader, sim_tree->zxid);
    if (origin == leader->id && r->op == OP_OPEN_SESSION)
        sim_finish_opening(r);
    else if (origin == leader->id)
        sim_finish(r);
    if (r->op == OP_CLOSE_SESSION)
        sim_drop_ended(leader);
    if (!only_sync && sim_tree->zxid % 512 == 0) {
        sim_changes_forget(sim_oldest_node_watch(sim_tree));
        fake_forget(sim_tree);
    }
}

sim_proposal *sim_take_proposal(void) {
    sim_proposal *p = sim_ensemble.first;
    sim_ensemble.first = p->next;
    if (!sim_ensemble.first)
        sim_ensemble.last = NULL;
    return p;
}

void sim_commit_next(sim_event *event) {
    if (!sim_ensemble.first)
        return;
    sim_server *leader =
        sim_ensemble.leader >= 0 ? &sim_ensemble.servers[sim_ensemble.leader] : NULL;
    if (!leader)
        return; /* the next one sees what becomes of it */
    if (!sim_has_quorum(leader)) {
        sim_after(event, 5 * SIM_MS);
        return;
    }
    sim_proposal *p = sim_take_proposal();
    if (sim_ensemble.first)
        sim_at(event, sim_ensemble.first->at);
    sim_commit(leader, p->request, p->origin);
    sim_request_drop(p->request);
    free(p);
}

void sim_ensemble_write(sim_request *r) {
    sim_write(r);
    if (sim_tracing)
        say_write(r);
    if (sim_ensemble.leader < 0)
        return;
    spread(&sim_ensemble.servers[sim_ensemble.leader], r, -1);
    sim_server_apply(&sim_ensemble.servers[sim_ensemble.leader], sim_tree->zxid);
    if (r->op == OP_CLOSE_SESSION)
        sim_drop_ended(&sim_ensemble.servers[sim_ensemble.leader]);
}

static void answer_sync(sim_server *leader, sim_request *r, int origin) {
    if (origin == leader->id) {
        sim_finish(r);
        return;
    }
    sim_message *m = sim_put(&sim_ensemble.servers[origin].down, SAY_SYNCED);
    m->request = r;
    sim_request_keep(r);
    m->zxid = leader->view;
}

void sim_lead_request(sim_server *leader, sim_request *r, int origin) {
    if (sim_leads(leader) && origin == leader->id)
        sim_session_touch(r->session);
    if (r->op == OP_SYNC && !leader->stuck && !(sim_leads(leader) && sim_ensemble.first)) {
        answer_sync(leader, r, origin);
        return;
    }
    /* who says goodbye is not asked where it is */
    r->is_moved = sim_leads(leader) && r->session && r->op != OP_OPEN_SESSION &&
                  r->op != OP_CLOSE_SESSION && r->session->home != origin;
    if (r->op == OP_CLOSE_SESSION && r->session && sim_leads(leader))
        r->session->closing = true;
    sim_propose(leader, r, origin);
}

bool sim_revalidate(const sim_server *leader, sim_session *s, int at) {
    if (!s || (s->closed && s->closed <= leader->view) ||
        (sim_leads(leader) && (s->closing || !s->open)))
        return false;
    if (sim_leads(leader)) {
        sim_session_touch(s);
        s->home = at;
    }
    return true;
}
