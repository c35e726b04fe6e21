/* SPDX-License-Identifier: MIT */
#include "nodes/node_request.h"

#include "ask/ask.h"
#include "base/event.h"
#include "base/status.h"
#include "base/timer.h"
#include "line/line_state.h"
#include "line/outbox.h"
#include "line/parents.h"
#include "nodes/content.h"
#include "nodes/node_request_answer.h"
#include "nodes/node_request_state.h"
#include "paths/node_budget.h"
#include "port/barrier.h"
#include "port/receiver.h"
#include "port/wire.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* The longest number that the servers append to a sequential node's path. */
#define SEQUENCE_SIZE sizeof "-2147483648"

/* ---- to the library ---- */

/* Puts checks of the guard's nodes before the operations. false: no memory. */
static bool add_checks(zkl_node_request *e, zkl_op *ops, size_t checks) {
    free(e->checked);
    e->checks = 0;
    e->checked = calloc(checks ? checks : 1, sizeof *e->checked);
    if (!e->checked)
        return false;
    for (; e->checks < checks; e->checks++) {
        const zkl_contender *part = e->ask.held->call->part(e->ask.held, e->checks);
        ops[e->checks] =
            (zkl_op){.kind = ZKL_OP_CHECK, .path = zkl_line_node_path(part), .version = -1};
        e->checked[e->checks] = part->receiver.id;
    }
    return true;
}

static int transact(zkl_node_request *e, zkl_return back) {
    zkl_port *port = e->nodes->context->port;
    zkl_contender *guard = e->ask.held;
    const size_t checks = guard ? zkl_node_request_parts(guard) : 0;
    if (guard && guard->call->seal)
        guard->call->seal(guard);
    zkl_op *ops = calloc(checks + e->count, sizeof *ops);
    int rc = ZMARSHALLINGERROR;
    if (ops && add_checks(e, ops, checks)) {
        memcpy(ops + checks, e->ops, e->count * sizeof *ops);
        rc = port->call->transact(port, ops, checks + e->count, back);
    }
    free(ops);
    return rc;
}

static int send_out(zkl_node_request *e) {
    zkl_context *context = e->nodes->context;
    zkl_port *port = context->port;
    if (e->parents_due) {
        const int rc = zkl_parents_make(&e->parents);
        if (rc != ZOK)
            return rc;
        e->parents_due = false;
    }
    e->turn = ++e->nodes->turns;
    zkl_receiver_enter(&context->receivers, &e->receiver);
    const zkl_return back = {e->receiver.id, ZKL_NODE_REQUEST_OPERATION, 0};
    zkl_node_request_note_writes(e);
    if (e->several)
        return transact(e, back);
    if (e->count == 0)
        return zkl_barrier_send(context, back, ZKL_NODE_REQUEST_PRELUDE);
    const int rc = zkl_node_request_is_read(e) ? zkl_barrier_raise(&e->nodes->barrier) : ZOK;
    const bool whole = e->ops[0].kind == ZKL_OP_CREATE; /* the host wants the Stat */
    return rc == ZOK ? port->call->perform(port, &e->ops[0], whole, back) : rc;
}

/* false: nothing can be handed over now. */
static bool hand_over(zkl_node_request *e) {
    const int rc = send_out(e);
    if (rc == ZOK)
        zkl_ask_set_stage(&e->ask, ZKL_ASK_OPEN);
    else if (rc == ZMARSHALLINGERROR)
        zkl_ask_answer(&e->ask, ZKL_NO_MEMORY);
    else if (!zkl_status_unknown(rc))
        zkl_ask_answer(&e->ask, zkl_node_request_status(rc));
    return rc == ZOK || e->ask.stage == ZKL_ASK_DONE;
}

/* ---- all node requests ---- */

static zkl_node_request *request_of(zkl_ask *ask) {
    return ZKL_CONTAINER_OF(ask, zkl_node_request, ask);
}

/* true: it has ended without being handed over. */
static bool end_early(zkl_node_request *e) {
    if (e->malformed)
        zkl_ask_answer(&e->ask, ZKL_BAD_ARGUMENT);
    else if (e->too_big)
        zkl_ask_answer(&e->ask, ZKL_TOO_BIG);
    else if (e->guarded && (!e->ask.held || e->ask.held->phase != ZKL_HELD))
        zkl_ask_answer(&e->ask, ZKL_LOST);
    else
        zkl_ask_end_unreached(&e->ask);
    return e->ask.stage == ZKL_ASK_DONE;
}

static void step(zkl_ask *ask) {
    zkl_nodes *nodes = request_of(ask)->nodes;
    if (!end_early(request_of(ask)) && nodes->ready)
        nodes->ready = hand_over(request_of(ask));
}

void zkl_node_requests_step(zkl_nodes *nodes) {
    nodes->ready = zkl_context_is_linked(nodes->context) && !nodes->retry.timer.at;
    zkl_asks_step(&nodes->asks);
}

void zkl_node_requests_resume(zkl_nodes *nodes) {
    zkl_timer_clear(&nodes->context->timers, &nodes->retry.timer);
}

void zkl_node_requests_unlink(zkl_nodes *nodes) {
    zkl_barrier_forget(&nodes->barrier);
    ZKL_EACH (zkl_node_request, e, &nodes->asks.open, ask.item) {
        if (zkl_node_request_is_read(e))
            zkl_node_request_cut_off(e);
        else
            zkl_ask_answer(&e->ask, ZKL_UNKNOWN);
    }
}

/* ---- life ---- */

void zkl_node_requests_init(zkl_nodes *nodes, zkl_context *context,
                            const _Atomic zkl_state *state) {
    *nodes = (zkl_nodes){.context = context, .asks = {.context = context, .state = state}};
    zkl_barrier_init(&nodes->barrier, context);
}

static bool copy_op(zkl_node_request *e, size_t i, const zkl_op *op) {
    zkl_op *own = &e->ops[i];
    *own = *op;
    own->path = strdup(op->path);
    own->data = NULL;
    e->contents[i].size = sizeof *e->contents;
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
    if (op->length > ZKL_WIRE_MOST) {
        own->length = ZKL_WIRE_MOST; /* nobody sends it: it is too big */
        return true;
    }
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
    const bool held = e->ask.held && e->ask.held->phase == ZKL_HELD;
    const size_t checks = held ? zkl_node_request_parts(e->ask.held) : 0;
    for (size_t i = 0; i < checks && bytes <= ZKL_WIRE_MOST; i++) {
        const zkl_contender *part = e->ask.held->call->part(e->ask.held, i);
        bytes += zkl_wire_check(zkl_line_length(part->line, part->name));
    }
    return bytes > ZKL_WIRE_MOST;
}

static void begin(zkl_ask *ask) {
    zkl_node_request *e = request_of(ask);
    e->too_big = is_too_big(e) || !zkl_node_request_take_share(e);
    if (!e->guarded) /* one under a hold does not depend on earlier releases */
        zkl_outbox_hurry(&e->nodes->lines->common.outbox);
}

static zkl_status give_up(const zkl_ask *ask, zkl_status status) {
    const zkl_node_request *e = ZKL_CONTAINER_OF(ask, zkl_node_request, ask);
    return ask->stage == ZKL_ASK_OPEN && !zkl_node_request_is_read(e) ? ZKL_UNKNOWN : status;
}

/* A read can show the result of a write that is unknown, but not on a server that has not seen the
 * write yet, and the session may have moved to such a server. So the next read is behind a new
 * barrier. */
static zkl_status end(zkl_ask *ask, zkl_status status) {
    zkl_node_request *e = request_of(ask);
    if (status == ZKL_UNKNOWN)
        zkl_barrier_forget(&e->nodes->barrier);
    e->nodes->context->counters.guarded += e->guarded && status == ZKL_OK;
    zkl_node_request_end_share(e, status);
    zkl_receiver_leave(&e->nodes->context->receivers, &e->receiver);
    return status;
}

static void free_request(zkl_ask *ask) {
    zkl_node_request *e = request_of(ask);
    if (ask->stage != ZKL_ASK_DONE)
        end(ask, give_up(ask, ZKL_CANCELLED));
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

zkl_node_request *zkl_node_request_new(zkl_nodes *nodes, const zkl_wish *wish, uint64_t tag) {
    zkl_node_request *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    static const zkl_ask_call call = {begin, step, give_up, end, free_request};
    zkl_ask_init(&e->ask, &nodes->asks, &call, tag);
    e->nodes = nodes;
    e->several = wish->several;
    e->ask.once = wish->once;
    e->malformed = wish->malformed;
    e->ask.held = wish->guard;
    e->guarded = wish->guard != NULL;
    e->receiver.answer = zkl_node_request_answered;
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
    zkl_ask_free(&e->ask);
    return NULL;
}

zkl_ask *zkl_ask_of_request(zkl_node_request *e) {
    return &e->ask;
}

/* ---- the host's side ---- */

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
