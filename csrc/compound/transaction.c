/* SPDX-License-Identifier: MIT */
#include "compound/transaction.h"

#include "base/status.h"
#include "line/answer.h"
#include "line/batch.h"
#include "line/contender.h"
#include "line/evaluate.h"
#include "line/line_state.h"
#include "line/send.h"
#include "paths/directories.h"
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
        zkl_line_retry_at(lock->parts[i]->line, at);
}

/* Writes to the directories of those parts stand behind the creates, in their order. */
static size_t count_writes(const zkl_compound_lock *lock) {
    size_t writes = 0;
    for (size_t i = 0; i < lock->count; i++)
        writes += lock->parts[i]->dispatch.counts;
    return writes;
}

static int64_t token_of(const zkl_compound_lock *lock, const zkl_reply *reply, size_t writes) {
    if (writes)
        return reply->outcomes[lock->count].stat.mzxid;
    return lock->unmarked ? 0 : zkl_batch_token(reply, lock->count);
}

static void created(const zkl_compound_lock *lock, const zkl_reply *reply) {
    size_t write = lock->count;
    const zkl_stat stat = {.czxid = token_of(lock, reply, count_writes(lock))};
    for (size_t i = 0; i < lock->count; i++) {
        zkl_contender *part = lock->parts[i];
        const zkl_stat *directory = part->dispatch.counts ? &reply->outcomes[write++].stat : NULL;
        zkl_line_created(part,
                         &(zkl_reply){.rc = ZOK, .path = reply->outcomes[i].path, .stat = &stat},
                         directory);
    }
}

/* True if the servers refuse what stands behind the creates, or perhaps do. */
static bool is_refused_behind(const zkl_compound_lock *lock, const zkl_reply *reply) {
    const size_t culprit = zkl_batch_culprit(reply);
    if (zkl_status_unknown(reply->rc) || reply->count <= lock->count)
        return false;
    return culprit < reply->count ? culprit >= lock->count : reply->rc == ZNOAUTH;
}

/* All creates go again, without what was refused. The directories of one lock mostly have one ACL,
 * so a second refusal counts for all of them. */
static void refused_behind(zkl_compound_lock *lock, const zkl_reply *reply) {
    const size_t culprit = zkl_batch_culprit(reply);
    size_t write = lock->count;
    const bool all = lock->refused || culprit == reply->count;
    lock->refused = true;
    lock->unmarked |= !count_writes(lock);
    for (size_t i = 0; i < lock->count; i++) {
        const zkl_contender *part = lock->parts[i];
        if (part->dispatch.counts && (write++ == culprit || all))
            zkl_directories_refuse_count(&part->common->directories, part->line->path);
    }
    for (size_t i = 0; i < lock->count; i++)
        zkl_line_create_again(lock->parts[i]);
}

static void not_created(const zkl_compound_lock *lock, const zkl_reply *reply) {
    const bool unheard = reply->rc == ZNONODE && is_unheard(lock);
    if (zkl_status_throttled(reply->rc))
        come_back_together(lock);
    for (size_t i = 0; i < lock->count; i++) {
        zkl_contender *part = lock->parts[i];
        if (unheard && !part->line->parents.unheard)
            zkl_line_not_created(part);
        else
            zkl_line_created(part, &(zkl_reply){.rc = reply->rc}, NULL);
    }
}

void zkl_transaction_answered(zkl_receiver *receiver, const zkl_return *back,
                              const zkl_reply *reply) {
    (void)back;
    zkl_compound_lock *lock = ZKL_CONTAINER_OF(receiver, zkl_compound_lock, receiver);
    if (reply->rc == ZOK)
        created(lock, reply);
    else if (is_refused_behind(lock, reply))
        refused_behind(lock, reply);
    else
        not_created(lock, reply);
}

/* ---- sending ---- */

/* Its creates and a mark. */
static size_t least_size(const zkl_compound_lock *lock) {
    const zkl_context *context = lock->head.context;
    char name[ZKL_ZNODE_SIZE];
    zkl_znode_make(name, (zkl_guid){context->guid, 0}, ZKL_KIND_LOCK);
    const size_t data = strlen(context->identifier), below = 1 + strlen(name);
    size_t bytes = zkl_wire_batch(strlen(lock->paths[0]) + below, context->acl);
    for (size_t i = 0; i < lock->count; i++)
        bytes += zkl_wire_create(strlen(lock->paths[i]) + below, data, context->acl);
    return bytes;
}

bool zkl_transaction_fits(const zkl_compound_lock *lock) {
    return least_size(lock) <= ZKL_WIRE_MOST;
}

/* A part for whose write there is no room lists. */
static void choose_counts(const zkl_compound_lock *lock) {
    size_t bytes = least_size(lock);
    for (size_t i = 0; i < lock->count; i++) {
        zkl_contender *part = lock->parts[i];
        const zkl_op write = zkl_batch_write(lock->paths[i]);
        const size_t size = zkl_wire_op(&write, true);
        part->dispatch.counts = bytes + size <= ZKL_WIRE_MOST && zkl_send_may_count(part);
        if (part->dispatch.counts)
            bytes += size;
    }
}

/* Returns how many operations there are; 0: no memory. */
static size_t fill(const zkl_compound_lock *lock, zkl_op *ops) {
    const zkl_context *context = lock->head.context;
    size_t count = lock->count;
    for (size_t i = 0; i < lock->count; i++) {
        zkl_contender *part = lock->parts[i];
        ops[i] = zkl_send_new_node(part);
        if (part->dispatch.counts)
            ops[count++] = zkl_batch_write(lock->paths[i]);
    }
    if (count > lock->count || lock->unmarked)
        return count;
    return zkl_batch_add_mark(context, lock->paths[0], lock->receiver.id, ops + count)
               ? count + ZKL_MARK_OPS
               : 0;
}

static int send_ops(zkl_compound_lock *lock, zkl_op *ops) {
    zkl_context *context = lock->head.context;
    choose_counts(lock);
    lock->unmarked |= !zkl_context_believes(context);
    zkl_receiver_enter(&context->receivers, &lock->receiver);
    const size_t count = fill(lock, ops);
    return count ? context->port->call->transact(context->port, ops, count,
                                                 (zkl_return){lock->receiver.id, 0, 0})
                 : ZMARSHALLINGERROR;
}

/* Each line keeps the order of what its callers do. */
static void send_what_is_due(zkl_compound_lock *lock) {
    for (size_t i = 0; i < lock->count; i++) {
        const zkl_dispatch_tally *tally = &lock->parts[i]->line->tally.dispatch;
        if (!tally->creates_due && !tally->deletes_due)
            continue;
        zkl_batch_flush(lock->head.common);
        return;
    }
}

static void free_ops(zkl_op *ops, size_t creates) {
    if (ops && ops[creates].kind == ZKL_OP_CREATE) /* the ops of the mark share one path */
        free((char *)ops[creates].path);
    free(ops);
}

void zkl_transaction_send(zkl_compound_lock *lock) {
    send_what_is_due(lock);
    zkl_op *ops = calloc(2 * lock->count + ZKL_MARK_OPS, sizeof *ops);
    const int rc = ops ? send_ops(lock, ops) : ZMARSHALLINGERROR;
    free_ops(ops, lock->count);
    for (size_t i = 0; i < lock->count; i++) {
        zkl_contender *part = lock->parts[i];
        if (rc == ZOK)
            zkl_contender_set_node(part, ZKL_NODE_CREATE_TRANSACTED);
        else
            zkl_line_retry_later(part->line);
    }
    for (size_t i = 0; i < lock->count; i++) /* the lists go out behind the nodes */
        zkl_line_settle(lock->parts[i]->line);
}
