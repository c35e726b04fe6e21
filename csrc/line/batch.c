/* SPDX-License-Identifier: MIT */
#include "line/batch.h"

#include "base/status.h"
#include "base/timer.h"
#include "line/answer.h"
#include "line/contender.h"
#include "line/departure.h"
#include "paths/directories.h"
#include "line/evaluate.h"
#include "line/line_state.h"
#include "line/outbox.h"
#include "line/send.h"
#include "port/receiver.h"
#include "port/wire.h"
#include "recipe/znode.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* Larger batches noticeably delay the requests of other clients. */
#define MEMBERS_MOST 64
#define BYTES_MOST 65536

/* On its way. */
typedef struct batch {
    zkl_receiver receiver; /* its number is part of the mark's name */
    zkl_list_item item;    /* outbox->batches */
    zkl_line_common *common;
    char *marked; /* the directory that has the mark; NULL: none has */
    /* of members: first those that delete, then those that create, at last those that count */
    size_t count, counts; /* in all; of the latter: their writes come behind all members */
    uint64_t members[];   /* the numbers of their receivers */
} batch;

static void batch_free(batch *b) {
    zkl_receiver_leave(&b->common->context->receivers, &b->receiver);
    zkl_list_remove(&b->common->outbox.batches, &b->item);
    free(b->marked);
    free(b);
}

void zkl_batches_forget(zkl_line_common *common) {
    zkl_outbox_forget(&common->outbox);
    ZKL_EACH (batch, b, &common->outbox.batches, item)
        batch_free(b);
}

static zkl_contender *contender_of(zkl_dispatch *dispatch) {
    return ZKL_CONTAINER_OF(dispatch, zkl_contender, dispatch);
}

/* ---- what stands behind the creates ---- */

zkl_op zkl_batch_write(const char *directory) {
    return (zkl_op){.kind = ZKL_OP_SET, .path = directory, .data = "", .version = -1};
}

enum { MARK_MADE, MARK_WRITTEN, MARK_DELETED };

bool zkl_batch_add_mark(const zkl_context *context, const char *directory, uint64_t number,
                        zkl_op *ops) {
    char name[ZKL_ZNODE_SIZE];
    zkl_znode_make_mark(name, (zkl_guid){context->guid, number});
    char *path = zkl_znode_path(directory, name);
    if (!path)
        return false;
    const zkl_op op = {.path = path, .data = "", .version = -1, .acl = context->acl};
    ops[MARK_MADE] = ops[MARK_WRITTEN] = ops[MARK_DELETED] = op;
    ops[MARK_MADE].kind = ZKL_OP_CREATE;
    ops[MARK_WRITTEN].kind = ZKL_OP_SET;
    ops[MARK_DELETED].kind = ZKL_OP_DELETE;
    return true;
}

int64_t zkl_batch_token(const zkl_reply *reply, size_t count) {
    return reply->outcomes[count + MARK_WRITTEN].stat.mzxid;
}

/* ---- the answer ---- */

/* The contender whose create or delete is on its way in the batch; NULL: it has gone. As long as it
 * is there, only the batch's answer, or its loss, says what became of that node. */
static zkl_contender *member(const batch *b, size_t i) {
    return zkl_line_member(b->common->context, b->members[i]);
}

static void tell(zkl_contender *c, const zkl_reply *reply, const zkl_stat *directory) {
    if (c->node == ZKL_NODE_CREATE_BATCHED)
        zkl_line_created(c, reply, directory);
    else
        zkl_line_erased(c, reply);
}

static void tell_all(const batch *b, int rc) {
    for (size_t i = 0; i < b->count; i++) {
        zkl_contender *c = member(b, i);
        if (c)
            tell(c, &(zkl_reply){.rc = rc}, NULL);
    }
}

/* The index of the operation that writes to the directory of the member; 0: there is none. */
static size_t write_of(const batch *b, size_t i) {
    return i < b->count - b->counts ? 0 : i + b->counts;
}

static int64_t token_of(const batch *b, const zkl_reply *reply) {
    if (b->counts)
        return reply->outcomes[b->count].stat.mzxid;
    return b->marked ? zkl_batch_token(reply, b->count) : 0;
}

static void done(const batch *b, const zkl_reply *reply) {
    const zkl_stat made = {.czxid = token_of(b, reply)};
    for (size_t i = 0; i < b->count; i++) {
        zkl_contender *c = member(b, i);
        if (c) {
            const size_t at = write_of(b, i);
            c->dispatch.rollbacks = 0;
            tell(c, &(zkl_reply){.rc = ZOK, .path = reply->outcomes[i].path, .stat = &made},
                 at ? &reply->outcomes[at].stat : NULL);
        }
    }
}

/* The servers did not do its create or delete: it is due again. */
static void roll_back(zkl_contender *c) {
    c->dispatch.rollbacks++;
    if (c->node == ZKL_NODE_DELETE_BATCHED) {
        c->end.erases = 0; /* a delete that was sent before would go alone */
        zkl_contender_set_node(c, ZKL_NODE_DELETE_DUE);
    } else if (c->phase == ZKL_OVER) {
        zkl_contender_set_node(c, ZKL_NODE_NONE);
        zkl_leave_retire(c);
    } else {
        zkl_contender_set_node(c, ZKL_NODE_CREATE_DUE);
    }
}

size_t zkl_batch_culprit(const zkl_reply *reply) {
    size_t i = 0;
    while (i < reply->count &&
           (reply->outcomes[i].rc == ZOK || reply->outcomes[i].rc == ZRUNTIMEINCONSISTENCY))
        i++;
    return i;
}

/* The servers have refused what goes behind the members: from now on it does not. If they do not
 * say which, none of it does. */
static void refused(const batch *b, const zkl_reply *reply, size_t culprit) {
    zkl_directories *directories = &b->common->directories;
    if (b->marked)
        zkl_directories_refuse_mark(directories, b->marked);
    for (size_t i = b->count - b->counts; i < b->count; i++) {
        const zkl_contender *c = member(b, i);
        if (c && (culprit == write_of(b, i) || culprit == reply->count))
            zkl_directories_refuse_count(directories, c->line->path);
    }
}

/* The other members go again before the failed one handles its answer. */
static void failed(const batch *b, const zkl_reply *reply) {
    zkl_line_common *common = b->common;
    const size_t at = zkl_batch_culprit(reply);
    zkl_contender *culprit = at < b->count ? member(b, at) : NULL;
    if (at >= b->count)
        refused(b, reply, at);
    for (size_t i = 0; i < b->count; i++) {
        zkl_contender *c = i == at ? NULL : member(b, i);
        zkl_line *line = c ? c->line : NULL;
        if (!c)
            continue;
        roll_back(c);
        zkl_line_settle(line);
    }
    common->outbox.urgent = true;
    if (culprit)
        tell(culprit, &(zkl_reply){.rc = reply->outcomes[at].rc}, NULL);
}

/* Creates that would have overtaken a member of the batch are due now. */
static void let_follow(zkl_line_common *common) {
    ZKL_EACH (zkl_dispatch, dispatch, &common->outbox.behind, item) {
        zkl_contender *c = contender_of(dispatch);
        if (!c->line->tally.dispatch.creates_batched)
            zkl_contender_set_node(c, ZKL_NODE_CREATE_DUE);
    }
}

static void answered(zkl_receiver *receiver, const zkl_return *back, const zkl_reply *reply) {
    batch *b = ZKL_CONTAINER_OF(receiver, batch, receiver);
    zkl_line_common *common = b->common;
    const bool heard = !zkl_status_unknown(reply->rc);
    zkl_outbox_answered(&common->outbox, back->receiver, heard, zkl_context_now(common->context));
    if (reply->rc == ZOK)
        done(b, reply);
    else if (heard && !zkl_status_throttled(reply->rc))
        failed(b, reply);
    else
        tell_all(b, reply->rc);
    batch_free(b);
    let_follow(common);
}

/* ---- sending ---- */

/* The contenders that are gathered for one transaction. */
typedef struct gathering {
    zkl_contender *members[MEMBERS_MOST];
    size_t count, counts, bytes;
    bool creates; /* at least one of them creates a node */
} gathering;

static void empty(gathering *g) {
    g->count = g->counts = g->bytes = 0;
    g->creates = false;
}

/* Its line is settled when all is sent: lists come behind the batches. */
static void settle_later(zkl_line *line) {
    if (line->is_sent)
        return;
    line->is_sent = true;
    zkl_list_append(&line->common->sent, &line->sent);
}

static void settle_sent(zkl_line_common *common) {
    zkl_line *line;
    while ((line = ZKL_FIRST(&common->sent, zkl_line, sent))) {
        zkl_list_remove(&common->sent, &line->sent);
        line->is_sent = false;
        zkl_line_settle(line);
    }
}

static void send_alone(zkl_contender *c) {
    settle_later(c->line);
    zkl_send_alone(c);
}

/* The directory of the first create that takes a mark. */
static const zkl_line *line_for_mark(const gathering *g) {
    for (size_t i = 0; i < g->count; i++) {
        const zkl_contender *c = g->members[i];
        if (zkl_node_is_none(c->node) &&
            zkl_directories_allow_mark(&c->common->directories, c->line->path))
            return c->line;
    }
    return NULL;
}

static zkl_op op_of(zkl_contender *c) {
    if (zkl_node_is_none(c->node))
        return zkl_send_new_node(c);
    return (zkl_op){.kind = ZKL_OP_DELETE, .path = zkl_line_node_path(c), .version = -1};
}

/* Those that delete come first: in each line a delete goes before the next create. */
enum { DELETES, CREATES, COUNTS, RANKS };

static int rank_of(const zkl_contender *c) {
    return !zkl_node_is_none(c->node) ? DELETES : c->dispatch.counts ? COUNTS : CREATES;
}

/* In the order of the creates of those that count. */
static void add_writes(zkl_op *ops, const gathering *g) {
    size_t n = 0;
    for (size_t i = 0; i < g->count; i++)
        if (rank_of(g->members[i]) == COUNTS)
            ops[n++] = zkl_batch_write(g->members[i]->line->path);
}

/* false: no memory */
static bool fill(batch *b, zkl_op *ops, const gathering *g) {
    for (int rank = DELETES; rank < RANKS; rank++)
        for (size_t i = 0; i < g->count; i++) {
            zkl_contender *c = g->members[i];
            if (rank_of(c) != rank)
                continue;
            ops[b->count] = op_of(c);
            b->members[b->count++] = c->receiver.id;
        }
    b->counts = g->counts;
    add_writes(ops + b->count, g);
    return !b->marked ||
           zkl_batch_add_mark(b->common->context, b->marked, b->receiver.id, ops + b->count);
}

static batch *batch_new(zkl_line_common *common, size_t members, const zkl_line *marked) {
    batch *b = malloc(sizeof *b + members * sizeof *b->members);
    if (!b)
        return NULL;
    *b = (batch){.common = common,
                 .receiver.answer = answered,
                 .marked = marked ? strdup(marked->path) : NULL};
    zkl_receiver_enter(&common->context->receivers, &b->receiver);
    zkl_list_append(&common->outbox.batches, &b->item);
    if (!marked || b->marked)
        return b;
    batch_free(b);
    return NULL;
}

/* The port's answer. */
static int transact(zkl_line_common *common, const gathering *g, const zkl_line *marked) {
    zkl_port *port = common->context->port;
    zkl_op ops[2 * MEMBERS_MOST + ZKL_MARK_OPS];
    batch *b = batch_new(common, g->count, marked);
    int rc = ZMARSHALLINGERROR;
    if (!b)
        return rc;
    if (fill(b, ops, g)) {
        rc = port->call->transact(port, ops, b->count + b->counts + (marked ? ZKL_MARK_OPS : 0),
                                  (zkl_return){b->receiver.id, 0, 0});
        if (marked) /* its ops share one path */
            free((char *)ops[b->count].path);
    }
    if (rc == ZOK)
        zkl_outbox_sent(&common->outbox, b->receiver.id, zkl_context_now(common->context));
    else
        batch_free(b);
    return rc;
}

static void drop_creates(gathering *g) {
    const gathering all = *g;
    g->count = 0;
    for (size_t i = 0; i < all.count; i++)
        if (!zkl_node_is_none(all.members[i]->node))
            g->members[g->count++] = all.members[i];
}

/* Without a mark or a write to a directory no answer has the token of the creates: they stay due,
 * and go alone. */
static void send_gathered(zkl_line_common *common, gathering *g) {
    const zkl_line *marked = g->creates && !g->counts ? line_for_mark(g) : NULL;
    if (g->creates && !g->counts && !marked)
        drop_creates(g);
    const bool alone = g->count == 1 && !g->counts;
    const int rc = g->count && !alone ? transact(common, g, marked) : ZOK;
    for (size_t i = 0; i < g->count; i++) {
        zkl_contender *c = g->members[i];
        if (alone) {
            send_alone(c);
            continue;
        }
        settle_later(c->line);
        if (rc == ZOK) {
            zkl_send_noted(c, true);
        } else {
            zkl_contender_not_due(c);
            zkl_line_retry_later(c->line);
        }
    }
    empty(g);
}

static size_t size_of(const zkl_contender *c) {
    const size_t path = strlen(c->line->path) + ZKL_ZNODE_SIZE;
    const zkl_op write = zkl_batch_write(c->line->path);
    if (!zkl_node_is_none(c->node))
        return zkl_wire_check(path);
    return zkl_wire_create(path, strlen(c->context->identifier), c->context->acl) +
           (c->dispatch.counts ? zkl_wire_op(&write, true) : 0);
}

static void gather(zkl_line_common *common, gathering *g, zkl_contender *c) {
    c->dispatch.counts = zkl_node_is_none(c->node) && zkl_send_may_count(c);
    const size_t size = size_of(c);
    if (g->count == MEMBERS_MOST || (g->count && g->bytes + size > BYTES_MOST))
        send_gathered(common, g);
    g->members[g->count++] = c;
    g->creates |= zkl_node_is_none(c->node);
    g->counts += c->dispatch.counts;
    g->bytes += size;
}

/* Two nodes of one line never have one token, and creates of one line keep their order: if more
 * than one is due there, they go alone. */
static bool may_join(const zkl_contender *c) {
    return !zkl_send_goes_alone(c) &&
           (c->node == ZKL_NODE_DELETE_DUE || c->line->tally.dispatch.creates_due == 1);
}

void zkl_batch_flush(zkl_line_common *common) {
    zkl_outbox *outbox = &common->outbox;
    gathering g;
    empty(&g);
    outbox->urgent = false;
    ZKL_EACH (zkl_dispatch, dispatch, &outbox->due, item) {
        zkl_contender *c = contender_of(dispatch);
        if (may_join(c))
            gather(common, &g, c);
        else if (c->node == ZKL_NODE_DELETE_DUE)
            send_alone(c);
    }
    send_gathered(common, &g);
    ZKL_EACH (zkl_dispatch, dispatch, &outbox->due, item)
        send_alone(contender_of(dispatch));
    settle_sent(common);
}

bool zkl_batch_step(zkl_line_common *common) {
    zkl_context *context = common->context;
    zkl_outbox *outbox = &common->outbox;
    if (!outbox->due.first) {
        zkl_timer_clear(&context->timers, &outbox->timer);
        return false;
    }
    if (!zkl_outbox_schedule(outbox, &context->timers, zkl_context_now(context)))
        return false;
    zkl_batch_flush(common);
    return true;
}
