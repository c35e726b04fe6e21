/* SPDX-License-Identifier: MIT */
#include "nodes/node_request_send.h"

#include "ask/ask.h"
#include "base/status.h"
#include "line/line_state.h"
#include "line/parents.h"
#include "port/barrier.h"
#include "nodes/node_request_answer.h"
#include "nodes/node_request_state.h"
#include "port/receiver.h"
#include "recipe/znode.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* Puts checks of the guard's nodes before the operations. false: no memory. */
static bool add_checks(zkl_node_request *e, zkl_op *ops, size_t checks) {
    free(e->checked);
    e->checks = 0;
    e->checked = calloc(checks ? checks : 1, sizeof *e->checked);
    if (!e->checked)
        return false;
    for (; e->checks < checks; e->checks++) {
        const zkl_contender *part = e->ask.held->call->part(e->ask.held, e->checks);
        ops[e->checks] = (zkl_op){.kind = ZKL_OP_CHECK,
                                  .path = zkl_znode_path(part->line->path, part->name),
                                  .version = -1};
        if (!ops[e->checks].path)
            return false;
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
    for (size_t i = 0; ops && i < checks; i++)
        free((char *)ops[i].path);
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

bool zkl_node_request_hand_over(zkl_node_request *e) {
    const int rc = send_out(e);
    if (rc == ZOK)
        zkl_ask_set_stage(&e->ask, ZKL_ASK_OPEN);
    else if (rc == ZMARSHALLINGERROR)
        zkl_ask_answer(&e->ask, ZKL_NO_MEMORY);
    else if (!zkl_status_unknown(rc))
        zkl_ask_answer(&e->ask, zkl_node_request_status(rc));
    return rc == ZOK || e->ask.stage == ZKL_ASK_DONE;
}
