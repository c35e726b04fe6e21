/* SPDX-License-Identifier: MIT */
#include "nodes/node_request_answer.h"

#include "ask/ask.h"
#include "base/status.h"
#include "line/events.h"
#include "line/parents.h"
#include "port/barrier.h"
#include "nodes/content.h"
#include "nodes/node_request_state.h"

#include <string.h>
#include <zookeeper/zookeeper.h>

zkl_status zkl_node_request_status(int rc) {
    switch (rc) {
    case ZNONODE:
        return ZKL_NO_NODE;
    case ZNODEEXISTS:
        return ZKL_NODE_EXISTS;
    case ZBADVERSION:
        return ZKL_BAD_VERSION;
    case ZNOTEMPTY:
        return ZKL_NOT_EMPTY;
    default:
        return zkl_status_of(rc);
    }
}

static void read_answered(zkl_node_request *e, const zkl_reply *reply) {
    e->found = reply->rc == ZOK;
    if (reply->rc == ZNONODE && e->ops[0].kind == ZKL_OP_EXISTS)
        zkl_ask_answer(&e->ask, ZKL_OK);
    else if (reply->rc != ZOK)
        zkl_ask_answer(&e->ask, zkl_node_request_status(reply->rc));
    else
        zkl_ask_answer(&e->ask, zkl_content_copy(&e->contents[0], reply) ? ZKL_OK : ZKL_NO_MEMORY);
}

/* The memory was allocated before the write, so that its result can always be reported. */
static void keep_path(zkl_node_request *e, size_t index, const char *path) {
    zkl_content *content = &e->contents[index];
    path += e->nodes->context->chroot;
    if (!*path)
        path = "/"; /* the chroot itself */
    content->length = strlen(path);
    memcpy(content->data, path, content->length + 1);
}

/* The length of the parent's path. */
static size_t length_above(const zkl_op *op) {
    return (size_t)(strrchr(op->path, '/') - op->path);
}

/* A chroot that does not exist is created with its parents. */
static bool may_make_parents(const zkl_node_request *e) {
    const size_t above = length_above(&e->ops[0]);
    return e->ops[0].kind == ZKL_OP_CREATE && above > 0 &&
           (e->ops[0].parents || above <= e->nodes->context->chroot);
}

/* ZOK: the parents are requested, and the caller sends the create behind them. */
static int make_parents(zkl_node_request *e) {
    if (e->above && (e->parents.refused != ZOK || ++e->rounds > ZKL_PARENTS_ROUNDS_MOST))
        return e->parents.refused != ZOK ? e->parents.refused : ZNONODE;
    if (!zkl_context_is_linked(e->nodes->context))
        return ZOK; /* the next link sends the create again */
    if (!e->above) {
        e->above = strndup(e->ops[0].path, length_above(&e->ops[0]));
        if (!e->above)
            return ZMARSHALLINGERROR;
        zkl_parents_init(&e->parents, e->nodes->context, e->above);
        if (e->ops[0].parents)
            e->parents.acl = e->ops[0].acl;
    }
    return zkl_parents_make(&e->parents);
}

/* A round of parents in which the servers refused something for now says nothing. Another round
 * follows after a pause. */
static void no_parents(zkl_node_request *e) {
    if (e->above && e->parents.refused == ZOK && e->parents.unheard != ZOK) {
        e->parents_due = true;
        zkl_node_request_wait(e, e->parents.unheard);
        return;
    }
    const int rc = make_parents(e);
    if (rc == ZMARSHALLINGERROR)
        zkl_ask_answer(&e->ask, ZKL_NO_MEMORY);
    else if (rc == ZOK || zkl_status_unknown(rc))
        zkl_node_request_make_due(e);
    else
        zkl_ask_answer(&e->ask, zkl_node_request_status(rc));
}

static void write_answered(zkl_node_request *e, const zkl_reply *reply) {
    if (reply->rc == ZNONODE && may_make_parents(e)) {
        no_parents(e);
        return;
    }
    if (reply->rc == ZOK && reply->path)
        keep_path(e, 0, reply->path);
    if (reply->rc == ZOK && reply->stat)
        e->contents[0].stat = *reply->stat;
    zkl_ask_answer(&e->ask, zkl_node_request_status(reply->rc));
}

/* The servers no longer have a node with which the guard holds. */
static void guard_missing(zkl_node_request *e, size_t index) {
    zkl_receiver *receiver = zkl_receiver_find(&e->nodes->context->receivers, e->checked[index]);
    if (receiver && receiver->names_node)
        zkl_line_own_missing(ZKL_CONTAINER_OF(receiver, zkl_contender, receiver));
    zkl_ask_answer(&e->ask, ZKL_LOST);
}

/* The operations before the failed one have ZOK, those behind it the code for "not tried". */
static size_t first_failed(const zkl_reply *reply) {
    size_t i = 0;
    while (i < reply->count && reply->outcomes[i].rc == ZOK)
        i++;
    return i;
}

static void several_failed(zkl_node_request *e, const zkl_reply *reply) {
    const size_t index = first_failed(reply);
    const int rc = index < reply->count ? reply->outcomes[index].rc : reply->rc;
    if (index < e->checks && rc == ZNONODE) {
        guard_missing(e, index);
        return;
    }
    if (index >= e->checks && index < reply->count)
        e->failed = index - e->checks + 1;
    zkl_ask_answer(&e->ask, zkl_node_request_status(rc));
}

static void several_answered(zkl_node_request *e, const zkl_reply *reply) {
    if (reply->rc != ZOK) {
        several_failed(e, reply);
        return;
    }
    for (size_t i = 0; i < e->count; i++) {
        const zkl_op_result *outcome = &reply->outcomes[e->checks + i];
        e->contents[i].stat = outcome->stat;
        if (e->ops[i].kind == ZKL_OP_CREATE)
            keep_path(e, i, outcome->path);
    }
    zkl_ask_answer(&e->ask, ZKL_OK);
}

void zkl_node_request_answered(zkl_receiver *receiver, const zkl_return *asked,
                               const zkl_reply *reply) {
    zkl_node_request *e = ZKL_CONTAINER_OF(receiver, zkl_node_request, receiver);
    const bool cut = zkl_status_unknown(reply->rc) || reply->rc == ZAUTHFAILED;
    if (asked->what == ZKL_NODE_REQUEST_PRELUDE)
        return;
    if (cut && !zkl_node_request_is_read(e))
        zkl_ask_answer(&e->ask, ZKL_UNKNOWN);
    else if (cut)
        zkl_node_request_cut_off(e);
    else if (zkl_status_throttled(reply->rc) && zkl_node_request_is_read(e))
        zkl_node_request_wait(e, reply->rc);
    else if (e->several)
        several_answered(e, reply);
    else if (e->count == 0)
        zkl_ask_answer(&e->ask, reply->rc == ZNONODE ? ZKL_OK : zkl_node_request_status(reply->rc));
    else if (!zkl_node_request_is_read(e))
        write_answered(e, reply);
    else if (zkl_barrier_passed(&e->nodes->barrier))
        read_answered(e, reply);
    else
        zkl_node_request_wait(
            e, zkl_barrier_refused(&e->nodes->barrier)); /* the read does not count */
    if (e->ask.stage == ZKL_ASK_DONE && !zkl_status_passes(reply->rc))
        e->nodes->retry.pause = 0;
}
