/* SPDX-License-Identifier: MIT */
#include "compound/transaction.h"

#include "base/status.h"
#include "line/answer.h"
#include "line/batch.h"
#include "line/contender.h"
#include "line/evaluate.h"
#include "line/line_state.h"
#include "line/send.h"
#include "port/receiver.h"
#include "port/wire.h"
#include "recipe/throttle.h"
#include "recipe/znode.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* True if it is unknown whether a part's parents exist. Then their absence may have failed the
 * transaction, which says nothing about the other parts. */
static bool is_unheard(const zkl_compound_lock *lock) {
    for (size_t i = 0; i < lock->count; i++)
        if (lock->parts[i]->line->parents.unheard)
            return true;
    return false;
}

/* The first line that comes back sends the whole transaction again, so all come back together. */
static void come_back_together(const zkl_compound_lock *lock) {
    zkl_line_common *common = lock->head.common;
    const zkl_nanos at = zkl_throttle_refused(&common->throttle, zkl_context_now(common->context));
    for (size_t i = 0; i < lock->count; i++)
        if (lock->parts[i]->phase == ZKL_WAITING && !lock->parts[i]->terms.once)
            zkl_line_retry_at(lock->parts[i]->line, at);
}

void zkl_transaction_answered(zkl_receiver *receiver, const zkl_return *back,
                              const zkl_reply *reply) {
    (void)back;
    zkl_compound_lock *lock = ZKL_CONTAINER_OF(receiver, zkl_compound_lock, receiver);
    const bool made = reply->rc == ZOK;
    const zkl_stat stat = {.czxid =
                               made && !lock->unmarked ? zkl_batch_token(reply, lock->count) : 0};
    /* perhaps the servers have refused only the mark */
    const bool again = reply->rc == ZNOAUTH && !lock->unmarked;
    const bool unheard = reply->rc == ZNONODE && is_unheard(lock);
    lock->unmarked |= again;
    if (zkl_status_throttled(reply->rc))
        come_back_together(lock);
    for (size_t i = 0; i < lock->count; i++) {
        zkl_contender *part = lock->parts[i];
        if (again || (unheard && !part->line->parents.unheard))
            zkl_line_not_created(part);
        else
            zkl_line_created(part,
                             &(zkl_reply){.rc = reply->rc,
                                          .path = made ? reply->outcomes[i].path : NULL,
                                          .stat = &stat},
                             NULL);
    }
}

static int send_batch(zkl_compound_lock *lock, zkl_op *ops) {
    zkl_context *context = lock->head.context;
    for (size_t i = 0; i < lock->count; i++) {
        ops[i] = zkl_send_new_node(lock->parts[i]);
        if (!ops[i].path)
            return ZMARSHALLINGERROR;
    }
    zkl_receiver_enter(&context->receivers, &lock->receiver);
    if (!lock->unmarked &&
        !zkl_batch_add_mark(context, lock->paths[0], lock->receiver.id, ops + lock->count))
        return ZMARSHALLINGERROR;
    const size_t count = lock->count + (lock->unmarked ? 0 : ZKL_MARK_OPS);
    return context->port->call->transact(context->port, ops, count,
                                         (zkl_return){lock->receiver.id, 0, 0});
}

/* Each line keeps the order of what its callers do. */
static void send_what_is_due(zkl_compound_lock *lock) {
    for (size_t i = 0; i < lock->count; i++) {
        const zkl_dispatch_tally *tally = &lock->parts[i]->line->tally.dispatch;
        if (!tally->creates_due && !tally->deletes_due && !tally->creates_behind)
            continue;
        zkl_batch_flush(lock->head.common);
        return;
    }
}

void zkl_transaction_send(zkl_compound_lock *lock) {
    send_what_is_due(lock);
    zkl_op *ops = calloc(lock->count + ZKL_MARK_OPS, sizeof *ops);
    const int rc = ops ? send_batch(lock, ops) : ZMARSHALLINGERROR;
    for (size_t i = 0; i < lock->count; i++) {
        zkl_contender *part = lock->parts[i];
        if (rc == ZOK)
            zkl_contender_set_node(part, ZKL_NODE_ASKED);
        else
            zkl_line_retry_later(part->line);
    }
    for (size_t i = 0; i < lock->count; i++) /* the lists go out behind the nodes */
        zkl_line_settle(lock->parts[i]->line);
    for (size_t i = 0; ops && i <= lock->count; i++) /* the ops of the mark share one path */
        free((char *)ops[i].path);
    free(ops);
}

bool zkl_transaction_fits(const zkl_compound_lock *lock) {
    const zkl_context *context = lock->head.context;
    char name[ZKL_ZNODE_SIZE];
    zkl_znode_make(name, (zkl_guid){context->guid, 0}, ZKL_KIND_LOCK);
    const size_t data = strlen(context->identifier), below = 1 + strlen(name);
    size_t bytes = zkl_wire_batch(strlen(lock->paths[0]) + below, context->acl);
    for (size_t i = 0; i < lock->count; i++)
        bytes += zkl_wire_create(strlen(lock->paths[i]) + below, data, context->acl);
    return bytes <= ZKL_WIRE_MOST;
}
