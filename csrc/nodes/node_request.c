/* SPDX-License-Identifier: MIT */
#include "nodes/node_request.h"

#include "base/event.h"
#include "base/timer.h"
#include "line/line_state.h"
#include "line/outbox.h"
#include "line/parents.h"
#include "nodes/barrier.h"
#include "nodes/content.h"
#include "nodes/node_request_answer.h"
#include "nodes/node_request_send.h"
#include "nodes/node_request_state.h"
#include "paths/node_budget.h"
#include "port/wire.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>

/* The longest number that the servers append to a sequential node's path. */
#define SEQUENCE_SIZE sizeof "-2147483648"

/* ---- all node requests ---- */

/* true: it has ended without being handed over. */
static bool is_settled(zkl_node_request *e) {
    const zkl_nodes *nodes = e->nodes;
    if (e->malformed)
        zkl_node_request_finish(e, ZKL_BAD_ARGUMENT);
    else if (e->too_big)
        zkl_node_request_finish(e, ZKL_TOO_BIG);
    else if (e->guarded && (!e->guard || e->guard->phase != ZKL_HELD))
        zkl_node_request_finish(e, ZKL_LOST);
    else if (*nodes->state == ZKL_STATE_AUTH_FAILED)
        zkl_node_request_finish(e, ZKL_AUTH_FAILED);
    else if (e->once && !zkl_context_is_linked(nodes->context))
        zkl_node_request_finish(e, ZKL_DISCONNECTED);
    return e->stage == ZKL_NODE_REQUEST_DONE;
}

void zkl_node_requests_step(zkl_nodes *nodes) {
    bool open = zkl_context_is_linked(nodes->context) && !nodes->retry.timer.at;
    ZKL_EACH (zkl_node_request, e, &nodes->waiting, item) {
        if (!is_settled(e) && open)
            open = zkl_node_request_hand_over(e);
    }
}

void zkl_node_requests_resume(zkl_nodes *nodes) {
    zkl_timer_clear(&nodes->context->timers, &nodes->retry.timer);
}

void zkl_node_requests_unlink(zkl_nodes *nodes) {
    zkl_barrier_forget(&nodes->barrier);
    ZKL_EACH (zkl_node_request, e, &nodes->handed, item) {
        if (zkl_node_request_is_read(e))
            zkl_node_request_cut_off(e);
        else
            zkl_node_request_finish(e, ZKL_UNKNOWN);
    }
}

void zkl_node_requests_dismiss(zkl_nodes *nodes, zkl_status status) {
    ZKL_EACH (zkl_node_request, e, &nodes->waiting, item) {
        zkl_node_request_give_up(e, status);
    }
    ZKL_EACH (zkl_node_request, e, &nodes->handed, item) {
        zkl_node_request_give_up(e, status);
    }
}

void zkl_node_requests_forget(zkl_nodes *nodes, const zkl_contender *guard) {
    const zkl_list *lists[] = {&nodes->waiting, &nodes->handed};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        ZKL_EACH (zkl_node_request, e, lists[i], item) {
            if (e->guard == guard)
                e->guard = NULL;
        }
    }
}

/* ---- life ---- */

void zkl_node_requests_init(zkl_nodes *nodes, zkl_context *context,
                            const _Atomic zkl_state *state) {
    *nodes = (zkl_nodes){.context = context, .state = state};
    zkl_barrier_init(&nodes->barrier, context);
}

static bool copy_op(zkl_node_request *e, size_t i, const zkl_op *op) {
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
        e->contents[i].data[0] = '\0'; /* until there is an answer */
    }
    if (op->kind != ZKL_OP_CREATE && op->kind != ZKL_OP_SET)
        return true;
    char *data = malloc(op->length + 1);
    own->data = data;
    if (!data)
        return false;
    if (op->length)
        memcpy(data, op->data, op->length);
    data[op->length] = '\0';
    return true;
}

/* The size of the whole request, with the checks of its guard. */
static bool is_too_big(const zkl_node_request *e) {
    size_t bytes = zkl_wire_request(e->several);
    for (size_t i = 0; i < e->count && bytes <= ZKL_WIRE_MOST; i++)
        bytes += zkl_wire_op(&e->ops[i], e->several);
    const bool held = e->guard && e->guard->phase == ZKL_HELD;
    const size_t checks = held ? zkl_node_request_parts(e->guard) : 0;
    for (size_t i = 0; i < checks && bytes <= ZKL_WIRE_MOST; i++) {
        const zkl_contender *part = e->guard->call->part(e->guard, i);
        bytes += zkl_wire_check(zkl_line_length(part->line, part->name));
    }
    return bytes > ZKL_WIRE_MOST;
}

static void deadline_passed(zkl_timer *timer) {
    zkl_node_request *e = ZKL_CONTAINER_OF(timer, zkl_node_request, timer);
    zkl_node_request_give_up(e, zkl_context_is_linked(e->nodes->context) ? ZKL_TIMEOUT
                                                                         : ZKL_DISCONNECTED);
}

zkl_node_request *zkl_node_request_new(zkl_nodes *nodes, const zkl_wish *wish, uint64_t tag) {
    zkl_node_request *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->nodes = nodes;
    e->stage = ZKL_NODE_REQUEST_DONE; /* until it starts */
    e->several = wish->several;
    e->once = wish->once;
    e->malformed = wish->malformed;
    e->guard = wish->guard;
    e->guarded = wish->guard != NULL;
    e->receiver.answer = zkl_node_request_answered;
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
    zkl_node_request_free(e);
    return NULL;
}

void zkl_node_request_tell(zkl_node_request *e, void (*told)(void *of, zkl_status status),
                           void *of) {
    e->told = told;
    e->of = of;
}

void zkl_node_request_start(zkl_node_request *e, zkl_nanos deadline) {
    e->too_big = is_too_big(e) || !zkl_node_request_take_share(e);
    zkl_node_request_set_stage(e, ZKL_NODE_REQUEST_WAITING);
    if (!e->guarded) /* one under a hold does not depend on earlier releases */
        zkl_outbox_hurry(&e->nodes->lines->common.outbox);
    zkl_timer_set(&e->nodes->context->timers, &e->timer, e->once ? ZKL_NEVER : deadline);
}

void zkl_node_request_free(zkl_node_request *e) {
    zkl_context *context = e->nodes->context;
    if (zkl_node_request_is_unknown(e))
        /* as zkl_node_request_finish does for ZKL_UNKNOWN */
        zkl_barrier_forget(&e->nodes->barrier);
    zkl_node_request_end_share(e, zkl_node_request_is_unknown(e) ? ZKL_UNKNOWN : ZKL_CANCELLED);
    zkl_node_request_set_stage(e, ZKL_NODE_REQUEST_DONE);
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

/* ---- the host's side ---- */

void zkl_node_request_set_client(zkl_node_request *e, zkl_client *client) {
    e->client = client;
}

zkl_client *zkl_node_request_client(const zkl_node_request *e) {
    return e->client;
}

const zkl_content *zkl_node_request_content(const zkl_node_request *e, size_t index) {
    return index < e->count ? &e->contents[index] : NULL;
}

bool zkl_node_request_shortage(const zkl_node_request *e, char *text, size_t size) {
    if (!e->shortage.asked)
        return false;
    zkl_node_budget_explain(&e->nodes->lines->common.node_budget, &e->shortage, text, size);
    return true;
}

bool zkl_node_request_found(const zkl_node_request *e) {
    return e->found;
}

size_t zkl_node_request_failed(const zkl_node_request *e) {
    return e->failed;
}
