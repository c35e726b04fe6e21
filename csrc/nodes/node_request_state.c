/* SPDX-License-Identifier: MIT */
#include "nodes/node_request_state.h"

#include "base/status.h"
#include "paths/directories.h"
#include "paths/node_budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

bool zkl_node_request_is_read(const zkl_node_request *e) {
    if (e->several)
        return false;
    return e->count == 0 || e->ops[0].kind == ZKL_OP_GET || e->ops[0].kind == ZKL_OP_EXISTS ||
           e->ops[0].kind == ZKL_OP_CHILDREN || e->ops[0].kind == ZKL_OP_ACL;
}

size_t zkl_node_request_parts(const zkl_contender *guard) {
    size_t count = 0;
    while (guard && guard->call->part(guard, count) != NULL)
        count++;
    return count;
}

void zkl_node_request_note_writes(const zkl_node_request *e) {
    const zkl_nanos now = zkl_context_now(e->nodes->context);
    for (size_t i = 0; i < e->count && !zkl_node_request_is_read(e); i++)
        zkl_directories_written(&e->nodes->lines->common.directories, e->ops[i].path, now);
}

void zkl_node_request_make_due(zkl_node_request *e) {
    zkl_receiver_leave(&e->nodes->context->receivers, &e->receiver);
    zkl_ask_set_stage(&e->ask, ZKL_ASK_DUE);
}

/* ---- its ephemeral nodes ---- */

static zkl_node_budget *budget_of(const zkl_node_request *e) {
    return &e->nodes->lines->common.node_budget;
}

/* 0: it makes no ephemeral node. */
static size_t node_bytes(const zkl_op *op) {
    if (op->kind != ZKL_OP_CREATE || !op->ephemeral)
        return 0;
    return strlen(op->path) + (op->sequential ? ZKL_NODE_BUDGET_DIGITS : 0);
}

bool zkl_node_request_take_share(zkl_node_request *e) {
    size_t bytes = 0;
    for (size_t i = 0; i < e->count; i++)
        bytes += node_bytes(&e->ops[i]);
    return !bytes || zkl_node_budget_take(budget_of(e), &e->share, bytes, &e->shortage);
}

/* The full path of a node that it has made. NULL: no memory. */
static char *path_made(const zkl_node_request *e, size_t index) {
    const zkl_op *op = &e->ops[index];
    char *path = NULL;
    if (!op->sequential)
        return strdup(op->path);
    return asprintf(&path, "%.*s%s", (int)e->nodes->context->chroot, op->path,
                    e->contents[index].data) < 0
               ? NULL
               : path;
}

/* The servers have carried the operation out. */
static void note_done(zkl_node_request *e, size_t index) {
    const zkl_op *op = &e->ops[index];
    if (node_bytes(op)) {
        char *path = path_made(e, index);
        zkl_node_budget_made(budget_of(e), &e->share, node_bytes(op), path, e->turn);
        free(path);
    }
    const int64_t owner = e->contents[index].stat.session;
    const bool read = op->kind == ZKL_OP_GET || op->kind == ZKL_OP_EXISTS;
    if (op->kind == ZKL_OP_DELETE || (read && owner != e->nodes->context->session))
        zkl_node_budget_gone(budget_of(e), op->path, e->turn);
}

/* The answer is lost: nothing that was handed over so far shows whether the node is there. */
static void note_doubt(zkl_node_request *e, const zkl_op *op) {
    if (node_bytes(op))
        zkl_node_budget_made(budget_of(e), &e->share, node_bytes(op),
                             op->sequential ? NULL : op->path, e->nodes->turns + 1);
}

/* An earlier operation of the same transaction deletes the node: without the transaction, which was
 * rolled back, it is there. */
static bool is_deleted_before(const zkl_node_request *e, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (e->ops[i].kind == ZKL_OP_DELETE && strcmp(e->ops[i].path, e->ops[index].path) == 0)
            return true;
    return false;
}

/* Without the node of an operation that needs it. */
static void note_missing(zkl_node_request *e) {
    const size_t index = e->several ? e->failed - 1 : 0;
    if (index < e->count && e->ops[index].kind != ZKL_OP_CREATE && !is_deleted_before(e, index))
        zkl_node_budget_gone(budget_of(e), e->ops[index].path, e->turn);
}

void zkl_node_request_end_share(zkl_node_request *e, zkl_status status) {
    for (size_t i = 0; i < e->count; i++) {
        if (status == ZKL_OK)
            note_done(e, i);
        else if (status == ZKL_UNKNOWN)
            note_doubt(e, &e->ops[i]);
    }
    if (status == ZKL_NO_NODE)
        note_missing(e);
    zkl_node_budget_return(budget_of(e), &e->share);
}

void zkl_node_request_cut_off(zkl_node_request *e) {
    if (!e->ask.once && !zkl_context_is_linked(e->nodes->context))
        zkl_node_request_make_due(e); /* the next link continues */
    else
        zkl_node_request_wait(e, ZCONNECTIONLOSS);
}

void zkl_node_request_wait(zkl_node_request *e, int rc) {
    if (e->ask.once && rc != ZOK) {
        zkl_ask_answer(&e->ask, zkl_status_of_try(rc));
        return;
    }
    zkl_node_request_make_due(e);
    zkl_context_retry_later(e->nodes->context, &e->nodes->retry);
}
