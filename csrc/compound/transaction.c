/* SPDX-License-Identifier: MIT */
#include "compound/transaction.h"

#include "line/answer.h"
#include "line/batch.h"
#include "line/contender.h"
#include "line/evaluate.h"
#include "line/line_state.h"
#include "line/send.h"
#include "port/receiver.h"
#include "port/wire.h"
#include "recipe/znode.h"

#include <stdio.h>
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

void zkl_transaction_answered(zkl_receiver *receiver, const zkl_return *back,
                              const zkl_reply *reply) {
    (void)back;
    zkl_compound_lock *lock = ZKL_CONTAINER_OF(receiver, zkl_compound_lock, receiver);
    zkl_reply own = *reply;
    /* perhaps the servers have refused only the mark */
    const bool again = reply->rc == ZNOAUTH && !lock->unmarked;
    const bool unheard = reply->rc == ZNONODE && is_unheard(lock);
    lock->unmarked |= again;
    for (size_t i = 0; i < lock->count; i++) {
        zkl_contender *part = lock->parts[i];
        own.path = reply->rc == ZOK ? reply->names[i] : NULL;
        if (again || (unheard && !part->line->parents.unheard))
            zkl_line_not_created(part);
        else
            zkl_line_created(part, &own);
    }
}

/* The answer to a transaction does not contain the czxid of a node that it creates, but the mzxid
 * of one that it writes to, which is the same number. So the transaction also creates a node,
 * writes to it, and deletes it. */
static char *mark_path(const zkl_compound_lock *lock) {
    char name[ZKL_ZNODE_SIZE], *path = NULL;
    zkl_znode_make_mark(name, (zkl_guid){lock->head.context->guid, lock->receiver.id});
    return asprintf(&path, "%s/%s", lock->paths[0], name) < 0 ? NULL : path;
}

static int send_batch(zkl_compound_lock *lock, char **paths) {
    zkl_context *context = lock->head.context;
    for (size_t i = 0; i < lock->count; i++) {
        paths[i] = (char *)zkl_send_new_node(lock->parts[i]).path;
        if (!paths[i])
            return ZMARSHALLINGERROR;
    }
    zkl_receiver_enter(&context->receivers, &lock->receiver);
    char *mark = lock->unmarked ? NULL : mark_path(lock);
    if (!mark && !lock->unmarked)
        return ZMARSHALLINGERROR;
    const zkl_batch batch = {
        .paths = (const char *const *)paths,
        .count = lock->count,
        .data = context->identifier,
        .mark = mark,
    };
    const int rc = context->port->call->create_all(context->port, &batch, context->acl,
                                                   (zkl_return){lock->receiver.id, 0, 0});
    free(mark);
    return rc;
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
    char **paths = calloc(lock->count ? lock->count : 1, sizeof *paths);
    const int rc = paths ? send_batch(lock, paths) : ZMARSHALLINGERROR;
    for (size_t i = 0; i < lock->count; i++) {
        zkl_contender *part = lock->parts[i];
        if (rc == ZOK)
            zkl_contender_set_node(part, ZKL_NODE_ASKED);
        else
            zkl_line_retry_later(part->line);
    }
    for (size_t i = 0; i < lock->count; i++) /* the lists go out behind the nodes */
        zkl_line_settle(lock->parts[i]->line);
    for (size_t i = 0; paths && i < lock->count; i++)
        free(paths[i]);
    free(paths);
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
