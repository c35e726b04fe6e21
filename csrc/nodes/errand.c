#include "nodes/errand.h"

#include "base/event.h"
#include "base/timer.h"
#include "nodes/barrier.h"
#include "nodes/content.h"
#include "nodes/errand_answer.h"
#include "nodes/errand_send.h"
#include "nodes/errand_state.h"
#include "port/wire.h"
#include "queue/line_state.h"
#include "queue/parents.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>

/* What the servers append to a sequential node's path. */
#define SEQUENCE_SIZE sizeof "-2147483648"

/* ---- what becomes of all ---- */

/* true: it has ended without being handed over. */
static bool is_settled(zkl_errand *e) {
    const zkl_nodes *nodes = e->nodes;
    if (e->too_big)
        zkl_errand_finish(e, ZKL_TOO_BIG);
    else if (e->guarded && (!e->guard || e->guard->phase != ZKL_HELD))
        zkl_errand_finish(e, ZKL_LOST);
    else if (*nodes->state == ZKL_STATE_AUTH_FAILED)
        zkl_errand_finish(e, ZKL_AUTH_FAILED);
    else if (e->once && !nodes->context->port)
        zkl_errand_finish(e, ZKL_DISCONNECTED);
    return e->stage == ZKL_ERRAND_DONE;
}

void zkl_errands_step(zkl_nodes *nodes) {
    bool open = nodes->context->port && !nodes->retry.at;
    ZKL_EACH (zkl_errand, e, &nodes->waiting, item) {
        if (!is_settled(e) && open)
            open = zkl_errand_hand_over(e);
    }
}

void zkl_errands_resume(zkl_nodes *nodes) {
    zkl_timer_clear(&nodes->context->timers, &nodes->retry);
}

void zkl_errands_unlink(zkl_nodes *nodes) {
    zkl_barrier_forget(&nodes->barrier);
    ZKL_EACH (zkl_errand, e, &nodes->handed, item) {
        if (zkl_errand_is_read(e))
            zkl_errand_read_again(e, true);
        else
            zkl_errand_finish(e, ZKL_UNKNOWN);
    }
}

void zkl_errands_dismiss(zkl_nodes *nodes, zkl_status status) {
    ZKL_EACH (zkl_errand, e, &nodes->waiting, item) {
        zkl_errand_give_up(e, status);
    }
    ZKL_EACH (zkl_errand, e, &nodes->handed, item) {
        zkl_errand_give_up(e, status);
    }
}

void zkl_errands_forget(zkl_nodes *nodes, const zkl_contender *guard) {
    const zkl_list *lists[] = {&nodes->waiting, &nodes->handed};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        ZKL_EACH (zkl_errand, e, lists[i], item) {
            if (e->guard == guard)
                e->guard = NULL;
        }
    }
}

/* ---- life ---- */

/* Every step ends with zkl_errands_step, this one too. */
static void retry(zkl_timer *timer) {
    (void)timer;
}

void zkl_errands_init(zkl_nodes *nodes, zkl_context *context, const _Atomic zkl_state *state) {
    *nodes = (zkl_nodes){.context = context, .state = state, .retry.fire = retry};
    zkl_barrier_init(&nodes->barrier, context);
}

static bool copy_op(zkl_errand *e, size_t i, const zkl_op *op) {
    zkl_op *own = &e->ops[i];
    *own = *op;
    own->path = strdup(op->path);
    own->data = NULL;
    if (!op->own_acl)
        own->acl = e->nodes->context->acl;
    if (!own->path)
        return false;
    if (op->kind == ZKL_OP_CREATE) {
        e->contents[i].data = malloc(strlen(op->path) + SEQUENCE_SIZE);
        if (!e->contents[i].data)
            return false;
    }
    if (op->kind != ZKL_OP_CREATE && op->kind != ZKL_OP_SET)
        return true;
    char *data = malloc(op->length + 1);
    own->data = data;
    if (!data)
        return false;
    memcpy(data, op->data, op->length);
    data[op->length] = '\0';
    return true;
}

/* All that goes out in one request. */
static bool is_too_big(const zkl_errand *e) {
    size_t bytes = zkl_wire_request(e->several);
    for (size_t i = 0; i < e->count && bytes <= ZKL_WIRE_MOST; i++)
        bytes += zkl_wire_op(&e->ops[i], e->several);
    const bool held = e->guard && e->guard->phase == ZKL_HELD;
    const size_t checks = held ? zkl_errand_parts(e->guard) : 0;
    for (size_t i = 0; i < checks && bytes <= ZKL_WIRE_MOST; i++) {
        const zkl_contender *part = e->guard->call->part(e->guard, i);
        bytes += zkl_wire_check(zkl_line_length(part->line, part->name));
    }
    return bytes > ZKL_WIRE_MOST;
}

static void deadline_passed(zkl_timer *timer) {
    zkl_errand *e = ZKL_CONTAINER_OF(timer, zkl_errand, timer);
    zkl_errand_give_up(e, e->nodes->context->port ? ZKL_TIMEOUT : ZKL_DISCONNECTED);
}

zkl_errand *zkl_errand_new(zkl_nodes *nodes, const zkl_wish *wish, uint64_t tag) {
    zkl_errand *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->nodes = nodes;
    e->stage = ZKL_ERRAND_DONE; /* until it starts */
    e->several = wish->several;
    e->once = wish->once;
    e->guard = wish->guard;
    e->guarded = wish->guard != NULL;
    e->receiver.answer = zkl_errand_answered;
    e->timer.fire = deadline_passed;
    e->answer.kind = ZKL_EVENT_ANSWER;
    e->answer.tag = tag;
    e->ops = calloc(wish->count ? wish->count : 1, sizeof *e->ops);
    e->contents = calloc(wish->count ? wish->count : 1, sizeof *e->contents);
    bool complete = e->ops && e->contents;
    for (; complete && e->count < wish->count; e->count++)
        if (!copy_op(e, e->count, &wish->ops[e->count])) {
            e->count++;
            complete = false;
            break;
        }
    if (complete)
        return e;
    zkl_errand_free(e);
    return NULL;
}

void zkl_errand_start(zkl_errand *e, zkl_nanos deadline) {
    e->too_big = is_too_big(e);
    zkl_errand_set_stage(e, ZKL_ERRAND_WAITING);
    zkl_timer_set(&e->nodes->context->timers, &e->timer, e->once ? ZKL_NEVER : deadline);
}

void zkl_errand_free(zkl_errand *e) {
    zkl_context *context = e->nodes->context;
    if (zkl_errand_is_unknown(e))
        zkl_barrier_forget(&e->nodes->barrier); /* as zkl_errand_finish does for ZKL_UNKNOWN */
    zkl_errand_set_stage(e, ZKL_ERRAND_DONE);
    zkl_timer_clear(&context->timers, &e->timer);
    zkl_events_drop(&context->events, &e->answer);
    if (e->above)
        zkl_parents_done(&e->parents);
    free(e->above);
    for (size_t i = 0; i < e->count; i++) {
        free((char *)e->ops[i].path);
        free((char *)e->ops[i].data);
        zkl_content_clear(&e->contents[i]);
    }
    free(e->checked);
    free(e->ops);
    free(e->contents);
    free(e);
}

/* ---- for the host's side ---- */

void zkl_errand_set_client(zkl_errand *e, zkl_client *client) {
    e->client = client;
}

zkl_client *zkl_errand_client(const zkl_errand *e) {
    return e->client;
}

const zkl_content *zkl_errand_content(const zkl_errand *e, size_t index) {
    return index < e->count ? &e->contents[index] : NULL;
}

bool zkl_errand_found(const zkl_errand *e) {
    return e->found;
}

size_t zkl_errand_failed(const zkl_errand *e) {
    return e->failed;
}
