/* SPDX-License-Identifier: MIT */
#include "wire.h"
#include "base/list.h"

#include <stdlib.h>
#include <string.h>

/* ---- requests ---- */

sim_request *sim_request_new(sim_op op, const char *path) {
    sim_request *r = sim_new(sizeof *r);
    r->refs = 1;
    r->op = r->part.op = op;
    r->part.path = path ? sim_copy(path) : NULL;
    r->part.version = -1;
    return r;
}

void sim_request_keep(sim_request *r) {
    r->refs++;
}

static void part_free(sim_part *p) {
    free(p->path);
    free(p->data);
    free(p->made);
}

void sim_request_drop(sim_request *r) {
    if (!r || --r->refs > 0)
        return;
    part_free(&r->part);
    for (size_t i = 0; i < r->part_count; i++)
        part_free(&r->parts[i]);
    free(r->parts);
    free(r->data);
    free(r->names); /* and the names behind them */
    free(r);
}

const char *sim_op_name(sim_op op) {
    static const char *const names[] = {
        [OP_CREATE] = "create",
        [OP_DELETE] = "delete",
        [OP_SET] = "set",
        [OP_CHECK] = "check",
        [OP_SET_ACL] = "setACL",
        [OP_MULTI] = "multi",
        [OP_OPEN_SESSION] = "open session",
        [OP_CLOSE_SESSION] = "close session",
        [OP_REAP] = "reap",
        [OP_SYNC] = "sync",
        [OP_GET] = "get",
        [OP_EXISTS] = "exists",
        [OP_LIST] = "list",
        [OP_GET_ACL] = "getACL",
        [OP_UNWATCH] = "unwatch",
        [OP_AUTH] = "auth",
        [OP_SET_WATCHES] = "set watches",
        [OP_PING] = "ping",
    };
    return names[op];
}

/* ---- messages: kept for the next ---- */

static sim_message *spare;

static void message_free(sim_message *m) {
    sim_request_drop(m->request);
    free(m->path);
    free(m->heard);
    m->next = spare;
    spare = m;
}

void sim_wire_end(void) {
    while (spare) {
        sim_message *m = spare;
        spare = m->next;
        free(m);
    }
}

static sim_message *message_new(sim_message_kind kind) {
    sim_message *m = spare;
    if (m)
        spare = m->next;
    else
        m = sim_new(sizeof *m);
    *m = (sim_message){.kind = kind};
    return m;
}

/* ---- queues ---- */

static void wake(sim_queue *q) {
    if (q->first)
        sim_at(&q->event, q->first->at);
    else
        sim_cancel(&q->event);
}

static void run(sim_event *event) {
    sim_queue *q = ZKL_CONTAINER_OF(event, sim_queue, event);
    const zkl_nanos busy = q->busy_until ? q->busy_until(q->of) : 0;
    if (busy > sim_now) {
        sim_at(event, busy + 1 + sim_some(SIM_MS / 10));
        return;
    }
    sim_message *m = q->first;
    q->first = m->next;
    wake(q);
    q->take(q->of, m);
    message_free(m);
}

void sim_queue_init(sim_queue *q, void *of, void (*take)(void *, sim_message *),
                    zkl_nanos (*busy_until)(void *)) {
    *q = (sim_queue){.event = {.run = run}, .of = of, .take = take, .busy_until = busy_until};
    q->latency = SIM_MS;
}

sim_message *sim_put(sim_queue *q, sim_message_kind kind) {
    sim_message *m = message_new(kind);
    m->at = sim_now + q->distance + q->latency / 8 + sim_some(q->latency);
    if (m->at < q->slow_until)
        m->at = q->slow_until;
    if (q->first && m->at < q->last->at)
        m->at = q->last->at;
    if (q->first) {
        q->last->next = m;
    } else {
        q->first = m;
        wake(q);
    }
    q->last = m;
    return m;
}

size_t sim_queue_count(const sim_queue *q) {
    size_t n = 0;
    for (const sim_message *m = q->first; m; m = m->next)
        n++;
    return n;
}

void sim_queue_lose(sim_queue *q, size_t kept) {
    sim_message **p = &q->first, *last = NULL;
    for (; *p && kept > 0; kept--) {
        last = *p;
        p = &last->next;
    }
    sim_message *lost = *p;
    *p = NULL;
    q->last = last;
    while (lost) {
        sim_message *m = lost;
        lost = m->next;
        message_free(m);
    }
    wake(q);
}

void sim_queue_slow(sim_queue *q, zkl_nanos until) {
    if (q->slow_until < until)
        q->slow_until = until;
    for (sim_message *m = q->first; m; m = m->next)
        if (m->at < until)
            m->at = until;
    wake(q);
}

void sim_queue_hurry(sim_queue *q) {
    q->slow_until = 0;
    for (sim_message *m = q->first; m; m = m->next)
        if (m->at > sim_now + q->distance + q->latency)
            m->at = sim_now + q->distance + q->latency;
    wake(q);
}
