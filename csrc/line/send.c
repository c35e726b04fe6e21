/* SPDX-License-Identifier: MIT */
#include "line/send.h"

#include "line/acl_check.h"
#include "line/contender.h"
#include "paths/directories.h"
#include "line/outbox.h"
#include "line/polled.h"
#include "paths/node_budget.h"
#include "paths/watch_budget.h"
#include "port/barrier.h"
#include "port/receiver.h"
#include "recipe/snapshot.h"
#include "recipe/znode.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* How many contenders have their turn soon: while these hold, the answer about the last one's node
 * comes. */
#define NEXT 64

/* ---- about a contender's own node ---- */

/* True if the write under which this read was taken is still held. */
static bool still_written(const zkl_contender *read) {
    const zkl_contender *write = zkl_line_member(read->context, read->under.lender);
    return write && write->phase == ZKL_HELD && write->token == read->under.token;
}

zkl_op zkl_send_new_node(zkl_contender *c) {
    zkl_line *line = c->line;
    zkl_context *context = c->context;
    zkl_receiver_enter(&context->receivers, &c->receiver);
    if (c->under.token && !still_written(c))
        c->under.token = 0;
    char name[ZKL_ZNODE_SIZE];
    zkl_znode_make(name, (zkl_guid){context->guid, c->receiver.id}, c->terms.kind);
    if (c->under.token)
        zkl_znode_append(name, c->under.sequence);
    c->parents = line->parents.round;
    line->list_wanted |= !c->dispatch.counts;
    return (zkl_op){
        .kind = ZKL_OP_CREATE,
        .path = zkl_line_ask_node(c, name),
        .data = context->identifier,
        .length = strlen(context->identifier),
        .ephemeral = true,
        .sequential = !c->under.token,
        .acl = context->acl,
    };
}

void zkl_send_noted(zkl_contender *c, bool batched) {
    if (zkl_node_is_none(c->node)) {
        zkl_contender_set_node(c, batched ? ZKL_NODE_CREATE_BATCHED : ZKL_NODE_CREATE_SENT);
        return;
    }
    zkl_contender_set_node(c, batched ? ZKL_NODE_DELETE_BATCHED : ZKL_NODE_DELETE_SENT);
    if (c->end.erases < 2)
        c->end.erases++;
}

static void note(zkl_contender *c, bool sent) {
    if (sent) {
        zkl_send_noted(c, false);
        zkl_outbox_sent(&c->common->outbox, c->receiver.id, zkl_context_now(c->context));
    } else {
        zkl_contender_not_due(c);
        zkl_line_retry_later(c->line);
    }
}

static void create_alone(zkl_contender *c) {
    zkl_port *port = c->context->port;
    c->dispatch.counts = false;
    const zkl_op op = zkl_send_new_node(c);
    const zkl_return back = {c->receiver.id, ZKL_REQUEST_CREATE, 0};
    note(c, port->call->perform(port, &op, false, back) == ZOK);
}

/* A contender goes alone after so many batches that others have made fail. */
enum { ROLLBACKS_MOST = 2 };

bool zkl_send_goes_alone(const zkl_contender *c) {
    if (c->dispatch.rollbacks >= ROLLBACKS_MOST)
        return true;
    if (!zkl_node_is_none(c->node))
        return c->end.erases > 0;
    return !zkl_context_believes(c->context) || c->dispatch.attempts > 1 || c->under.token ||
           !zkl_directories_known(&c->common->directories, c->line->path);
}

/* True if no other contender of ours has a node in its line, or is about to have one. */
static bool is_alone(const zkl_tally *tally) {
    uint32_t others = 0;
    for (size_t kind = 0; kind < ZKL_KINDS; kind++)
        others += tally->waiting[kind] + tally->held[kind];
    return others == 1;
}

/* A lost create is searched for by a list, and what stands behind a shared node is seen by one. */
bool zkl_send_may_count(const zkl_contender *c) {
    const zkl_line *line = c->line;
    const zkl_context *context = c->context;
    return zkl_context_believes(context) && is_alone(&line->tally) && !line->searching &&
           !line->listeners.first &&
           zkl_directories_counts(&c->common->directories, line->path, context->session,
                                  zkl_context_now(context));
}

/* True if it could overtake a create of ours that it has to stand behind: that one is in a batch,
 * and goes again if the batch fails. */
static bool may_overtake(const zkl_contender *c) {
    const zkl_tally *tally = &c->line->tally;
    if (c->terms.kind == ZKL_KIND_LEASE ||
        (c->terms.kind == ZKL_KIND_READ && !tally->waiting[ZKL_KIND_WRITE]))
        return false;
    /* a contender that has asked before is older than those behind it */
    return tally->dispatch.creates_batched ||
           (c->dispatch.attempts < 2 && tally->dispatch.creates_behind);
}

/* A create that goes alone waits for nothing but what is due in its line. */
static bool goes_at_once(const zkl_contender *c) {
    const zkl_dispatch_tally *tally = &c->line->tally.dispatch;
    return zkl_send_goes_alone(c) && !tally->creates_due && !tally->deletes_due;
}

static void create(zkl_contender *c) {
    if (may_overtake(c))
        zkl_contender_set_node(c, ZKL_NODE_CREATE_BEHIND);
    else if (goes_at_once(c))
        create_alone(c);
    else
        zkl_contender_set_node(c, ZKL_NODE_CREATE_DUE);
}

/* Without a link it gets no node, and zkl_line_resume sends the create. */
void zkl_send_create(zkl_contender *c) {
    if (c->node == ZKL_NODE_CREATE_DUE || c->node == ZKL_NODE_CREATE_BEHIND)
        return;
    zkl_line_forget_node(c);
    if (!zkl_context_is_linked(c->context))
        return;
    if (!zkl_node_budget_settle(&c->common->node_budget, &c->share)) {
        zkl_line_retry_later(c->line);
        return;
    }
    if (c->listener->wanted) {
        c->listener->wanted(c);
        return;
    }
    c->dispatch.attempts++;
    create(c);
}

/* NULL: there was no memory for the path. */
static bool erase(zkl_line *line, const char *path, zkl_return back) {
    zkl_port *port = line->context->port;
    const zkl_op op = {.kind = ZKL_OP_DELETE, .path = path, .version = -1};
    const bool sent = path && port->call->perform(port, &op, false, back) == ZOK;
    if (!sent)
        zkl_line_retry_later(line);
    return sent;
}

static void erase_alone(zkl_contender *c) {
    note(c,
         erase(c->line, zkl_line_node_path(c), (zkl_return){c->receiver.id, ZKL_REQUEST_ERASE, 0}));
}

void zkl_send_alone(zkl_contender *c) {
    if (zkl_node_is_none(c->node))
        create_alone(c);
    else
        erase_alone(c);
}

/* Does another client wait for its node to go, as far as we know? Our own readers that wait behind
 * a write are in nobody's way. */
static bool is_awaited(const zkl_contender *c) {
    const zkl_snapshot *snapshot = &c->line->snapshot;
    size_t next = zkl_snapshot_find(snapshot, c->name);
    if (next == ZKL_NOT_FOUND)
        return c->revoked;
    do
        next++;
    while (c->terms.kind == ZKL_KIND_WRITE && next < snapshot->count &&
           snapshot->children[next].mine && snapshot->children[next].kind == ZKL_KIND_READ);
    return c->revoked || (next < snapshot->count && !snapshot->children[next].mine);
}

/* The delete of a waiter goes now. If it were only due, the waiter's new node could be granted
 * before the old one is gone. */
void zkl_send_erase(zkl_contender *c) {
    if (c->node == ZKL_NODE_DELETE_DUE)
        return;
    zkl_contender_refused(c, ZKL_OK);
    if (!zkl_context_is_linked(c->context))
        return;
    if (c->phase == ZKL_WAITING || zkl_send_goes_alone(c)) {
        erase_alone(c);
        return;
    }
    c->common->outbox.urgent |= is_awaited(c);
    zkl_contender_set_node(c, ZKL_NODE_DELETE_DUE);
}

/* A get, never an exists, which would leave a watch on a node that has gone. NULL: there was no
 * memory for the path. */
static bool get(zkl_line *line, const char *path, bool watch, zkl_return back) {
    zkl_port *port = line->context->port;
    const zkl_op op = {.kind = ZKL_OP_GET, .path = path};
    const bool sent = path && port->call->perform(port, &op, watch, back) == ZOK;
    if (!sent)
        zkl_line_retry_later(line);
    return sent;
}

static bool get_child(zkl_line *line, const char *name, bool watch, zkl_return back) {
    char *path = zkl_znode_path(line->path, name);
    const bool sent = get(line, path, watch, back);
    free(path);
    return sent;
}

/* After its blocker has gone, a contender is granted only if its own node is watched, or is in a
 * list that was read after that. So without room for the watch it asks for a list. */
static void do_without_watch(zkl_contender *c) {
    if (c->phase == ZKL_OVER)
        return; /* its timer tries the delete again */
    zkl_polled_add_own(c);
    if (c->phase == ZKL_HELD || c->queue.position != ZKL_POSITION_FIRST)
        return;
    if (c->token)
        c->line->list_wanted = true;
    else
        zkl_send_read_own(c);
}

static void watch_own(zkl_contender *c, zkl_claim claim) {
    if (!zkl_context_is_linked(c->context) || c->watch != ZKL_WATCH_NONE)
        return;
    if (!zkl_watch_budget_room(&c->common->watch_budget, zkl_line_length(c->line, c->name),
                               claim)) {
        do_without_watch(c);
        return;
    }
    if (!get(c->line, zkl_line_node_path(c), true,
             (zkl_return){c->receiver.id, ZKL_REQUEST_WATCH_OWN, 0}))
        return;
    zkl_line_set_own_watch(c, ZKL_WATCH_ASKED);
    zkl_polled_remove_own(c);
}

void zkl_send_watch_own(zkl_contender *c) {
    const bool is_first = c->phase == ZKL_WAITING && c->queue.position == ZKL_POSITION_FIRST;
    watch_own(c, is_first ? ZKL_CLAIM_TURN : ZKL_CLAIM_OWN);
}

static bool is_unwatched(const zkl_child *child, const zkl_line_common *common) {
    return child->mine && child->mine->post.round == &common->reads;
}

void zkl_send_watch_next(const zkl_line *line, const zkl_contender *first) {
    const zkl_snapshot *snapshot = &line->snapshot;
    if (!line->common->reads.count)
        return;
    const size_t at = zkl_snapshot_find(snapshot, first->name);
    if (at == ZKL_NOT_FOUND || snapshot->count - at <= NEXT / 2 ||
        !is_unwatched(&snapshot->children[at + NEXT / 2], line->common))
        return;
    for (size_t i = 1; i <= NEXT && at + i < snapshot->count; i++) {
        if (is_unwatched(&snapshot->children[at + i], line->common))
            watch_own(snapshot->children[at + i].mine, ZKL_CLAIM_OTHERS);
    }
}

void zkl_send_read_own(zkl_contender *c) {
    if (c->reading)
        return;
    c->reading = get(c->line, zkl_line_node_path(c), false,
                     (zkl_return){c->receiver.id, ZKL_REQUEST_READ_OWN, 0});
}

bool zkl_send_candidate(zkl_contender *c, const char *name) {
    const zkl_return back = {c->receiver.id, ZKL_REQUEST_CANDIDATE, c->recovery.candidate};
    return zkl_context_is_linked(c->context) && get_child(c->line, name, false, back);
}

/* ---- about the line ---- */

static bool is_attended(const zkl_line *line) {
    ZKL_EACH (const zkl_listener, listener, &line->listeners, item) {
        if (listener->attends)
            return true;
    }
    return false;
}

/* A watch on the directory reports when any lease goes. */
static bool wants_directory_watch(const zkl_line *line) {
    return (zkl_line_awaits_leases(line) || is_attended(line)) &&
           line->directory_watch == ZKL_WATCH_NONE &&
           zkl_watch_budget_room(&line->common->watch_budget, strlen(line->path), ZKL_CLAIM_OTHERS);
}

static bool has_lost_create(const zkl_line *line) {
    ZKL_EACH (const zkl_contender, c, &line->members, member) {
        if (c->node == ZKL_NODE_UNKNOWN)
            return true;
    }
    return false;
}

/* A lagging server could return a list without our own node. */
static bool send_barrier(const zkl_line *line) {
    const zkl_return back = {line->receiver.id, ZKL_REQUEST_BARRIER, 0};
    return zkl_barrier_write(line->context, line->context->port, back) == ZOK;
}

void zkl_send_list(zkl_line *line) {
    zkl_port *port = line->context->port;
    line->searching = line->searching && has_lost_create(line);
    const bool to_sync = line->searching || (line->freshness.unsynced && line->listeners.first);
    line->list_synced = to_sync && send_barrier(line);
    zkl_acl_check_before_list(line);
    const bool watch = wants_directory_watch(line);
    const zkl_op op = {.kind = ZKL_OP_CHILDREN, .path = line->path};
    const int rc = port->call->perform(port, &op, watch,
                                       (zkl_return){line->receiver.id, ZKL_REQUEST_LIST, watch});
    if (watch && rc == ZOK)
        zkl_line_set_directory_watch(line, ZKL_WATCH_ARMED);
    line->list_sent = rc == ZOK;
    line->list_synced = line->list_synced && line->list_sent;
    line->asked = zkl_context_now(line->context);
    line->list_wanted = !line->list_sent;
    if (rc != ZOK)
        zkl_line_retry_later(line);
}

/* A watch that is being removed is not set again before the answer: that answer and the one to the
 * new request could not be told apart. */
static bool may_watch(const zkl_line *line, const zkl_child *child, zkl_claim claim) {
    return child->watch == ZKL_WATCH_NONE && strlen(child->name) <= ZKL_WATCHED_NAME_MOST &&
           zkl_watch_budget_room(&line->common->watch_budget, zkl_line_length(line, child->name),
                                 claim);
}

/* The answer finds the child by its sequence. The number in the mark shows whether this is still
 * the latest request about the child's watch. */
static zkl_return about_child(zkl_line *line, zkl_child *child, zkl_line_request what) {
    line->requests = line->requests < ZKL_REQUEST_NUMBERS ? line->requests + 1 : 1;
    child->request = line->requests;
    return (zkl_return){line->receiver.id, (int)what + child->request * ZKL_REQUESTS,
                        child->sequence};
}

static bool watch_child(zkl_line *line, zkl_child *child, zkl_claim claim) {
    if (child->mine || child->watch == ZKL_WATCH_ASKED || child->watch == ZKL_WATCH_ARMED)
        return true; /* our own nodes need no watch */
    if (!zkl_context_is_linked(line->context) || !may_watch(line, child, claim) ||
        !get_child(line, child->name, true, about_child(line, child, ZKL_REQUEST_WATCH_BLOCKER)))
        return false;
    zkl_line_set_child_watch(line, child, ZKL_WATCH_ASKED);
    return true;
}

bool zkl_send_watch_blocker(zkl_line *line, zkl_child *child) {
    return watch_child(line, child, ZKL_CLAIM_OTHERS);
}

void zkl_send_watch_second(zkl_line *line, zkl_child *child) {
    watch_child(line, child, ZKL_CLAIM_SECOND);
}

static void tell_unwatched(zkl_context *context, const char *path, bool list) {
    if (context->unwatched)
        context->unwatched(context, path, list);
}

/* A watch on a node that stays would remain for the session's life. */
void zkl_send_unwatch(zkl_line *line, zkl_child *child) {
    zkl_port *port = line->context->port;
    const zkl_return back = about_child(line, child, ZKL_REQUEST_UNWATCH);
    char *path = zkl_znode_path(line->path, child->name);
    const int rc = path ? port->call->unwatch(port, path, false, back) : ZMARSHALLINGERROR;
    if (rc == ZOK)
        tell_unwatched(line->context, path, false);
    free(path);
    if (rc == ZMARSHALLINGERROR)
        zkl_line_retry_later(line);
    else /* with another error the library knows no such watch */
        zkl_line_set_child_watch(line, child, rc == ZOK ? ZKL_WATCH_LEAVING : ZKL_WATCH_NONE);
}

void zkl_send_unwatch_directory(zkl_line *line) {
    zkl_port *port = line->context->port;
    const zkl_return back = {line->receiver.id, ZKL_REQUEST_UNWATCH_DIRECTORY, 0};
    const int rc = port->call->unwatch(port, line->path, true, back);
    if (rc == ZOK)
        tell_unwatched(line->context, line->path, true);
    if (rc == ZMARSHALLINGERROR)
        zkl_line_retry_later(line);
    else
        zkl_line_set_directory_watch(line, rc == ZOK ? ZKL_WATCH_LEAVING : ZKL_WATCH_NONE);
}

/* The answer to a create was lost, or the former session created the node: nothing waits for it any
 * more. The client deletes it and does not take it over. */
void zkl_send_erase_stray(zkl_line *line, const char *name) {
    char *path = zkl_znode_path(line->path, name);
    erase(line, path, (zkl_return){line->receiver.id, ZKL_REQUEST_ERASE_STRAY, 0});
    free(path);
}
