/* SPDX-License-Identifier: MIT */
#include "shared/node.h"

#include "base/timer.h"
#include "line/contender.h"
#include "line/doubt.h"
#include "line/line.h"
#include "line/line_state.h"
#include "line/send.h"
#include "paths/node_budget.h"
#include "shared/handoff.h"
#include "shared/linger.h"
#include "shared/node_state.h"
#include "shared/remote_waiters.h"
#include "shared/sharer.h"

#include <stdlib.h>

/* ---- the node ---- */

/* The list that goes out with the create sets the watch on the directory. If it shows nobody else,
 * no other list is needed. */
static void queue_up(zkl_shared_node *shared) {
    const zkl_terms terms = {.kind = shared->kind,
                             .deadline = ZKL_NEVER,
                             .once = zkl_handoff_tried_once(shared),
                             .under = shared->under ? shared->under->contender : NULL};
    shared->listener.attends = shared->kind != ZKL_KIND_READ;
    shared->lists = shared->line->lists;
    zkl_shared_node_set_remote_waiters(shared, ZKL_REMOTE_WAITERS_UNKNOWN);
    shared->contender = zkl_line_join_part(shared->line, &terms, &shared->node_listener);
    if (!shared->contender)
        zkl_handoff_fail_all(shared, ZKL_NO_MEMORY);
}

/* The node has ended, and not by our doing. Its holder heard of that when it came. */
static void node_ended(zkl_shared_node *shared) {
    const zkl_status why = shared->contender->outcome;
    zkl_linger_end(shared);
    if (why != ZKL_LOST) /* released: the client is closing */
        zkl_handoff_fail_all(shared, why == ZKL_OK ? ZKL_CLOSED : why);
}

/* Queues the node. false: no caller waits for it any more. */
static bool advance_queue(zkl_shared_node *shared) {
    zkl_contender *node = shared->contender;
    if (!zkl_context_is_linked(shared->context))
        zkl_handoff_fail_impatient(shared, ZKL_DISCONNECTED);
    if (node->queue.queued) {
        shared->listener.attends = false; /* nodes that come behind it do not matter yet */
        zkl_handoff_fail_impatient(shared, ZKL_TIMEOUT);
        zkl_handoff_thin(shared);
    }
    node->terms.once = zkl_handoff_tried_once(shared);
    return zkl_shared_node_waiter(shared) != NULL;
}

static void watch_own(zkl_shared_node *shared) {
    if (shared->watch_own)
        return;
    shared->watch_own = true;
    zkl_send_watch_own(shared->contender);
}

/* ---- one at a time ---- */

/* Its waiters cannot get it, and other clients may wait behind it. */
static bool give_up(zkl_shared_node *shared) {
    if (!zkl_context_is_linked(shared->context) ||
        !zkl_context_lose_patience(shared->context, &shared->patience))
        return false;
    shared->patience = 0;
    zkl_handoff_fail_all(shared, ZKL_DISCONNECTED);
    return true;
}

/* It is held by no caller. false: it has to go. */
static bool advance_free(zkl_shared_node *shared, bool fresh) {
    if (fresh && zkl_shared_node_waiter(shared)) {
        zkl_handoff_grant(shared, false);
        return true;
    }
    if (!zkl_shared_node_waiter(shared))
        shared->patience = 0;
    else if (give_up(shared))
        return false;
    if (zkl_shared_node_sealed(shared))
        return false;
    if (!zkl_context_is_linked(shared->context))
        zkl_handoff_fail_impatient(shared, ZKL_DISCONNECTED);
    if (!zkl_shared_node_waiter(shared))
        return zkl_linger_try(shared);
    zkl_linger_cancel(shared);
    if (zkl_remote_waiters_waited(shared))
        return zkl_remote_waiters_await(shared);
    const zkl_may may = zkl_handoff_prepare(shared);
    if (may == ZKL_MAY)
        zkl_handoff_grant(shared, true);
    return may != ZKL_MAY_NOT;
}

/* false: it has to go. */
static bool advance_single(zkl_shared_node *shared, bool fresh) {
    if (zkl_shared_node_holder(shared))
        shared->patience = 0;
    if (!zkl_shared_node_holder(shared) && !advance_free(shared, fresh))
        return false;
    /* The sooner the client asks, the less a caller here waits for the answer. */
    if (zkl_shared_node_holder(shared) && shared->remote_waiters == ZKL_REMOTE_WAITERS_UNKNOWN)
        zkl_remote_waiters_ask(shared);
    return true;
}

/* ---- readers ---- */

/* Lets waiters in, as long as those behind it need not wait too long. false: it takes no new
 * callers, and its waiters wait for the next node. */
static bool let_in(zkl_shared_node *shared, bool fresh) {
    for (bool first = fresh; zkl_shared_node_waiter(shared); first = false) {
        const bool anyway = first || shared->under; /* a writer does not wait for itself */
        if (!anyway && zkl_shared_node_sealed(shared))
            return false;
        if (!anyway && zkl_remote_waiters_waited(shared))
            return zkl_remote_waiters_await(shared);
        const zkl_may may = fresh ? ZKL_MAY : zkl_handoff_prepare(shared);
        if (may != ZKL_MAY)
            return may == ZKL_MAY_SOON;
        zkl_handoff_grant(shared, !first);
    }
    return true;
}

/* Callers here hold read. */
static void advance_readers(zkl_shared_node *shared) {
    if (zkl_shared_node_sealed(shared)) { /* the waiters have to wait for the holders */
        zkl_handoff_fail_impatient(shared, ZKL_TIMEOUT);
        zkl_handoff_thin(shared);
    }
    zkl_remote_waiters_poll(shared);
}

/* false: it has to go. */
static bool advance_shared(zkl_shared_node *shared, bool fresh) {
    if (zkl_shared_node_waiter(shared))
        zkl_linger_cancel(shared);
    if (zkl_shared_node_holder(shared) || !zkl_shared_node_waiter(shared))
        shared->patience = 0;
    else if (!fresh && give_up(shared))
        return false;
    if (!let_in(shared, fresh))
        shared->sealed = true;
    if (!zkl_context_is_linked(shared->context))
        zkl_handoff_fail_impatient(shared, ZKL_DISCONNECTED);
    if (zkl_shared_node_holder(shared)) {
        advance_readers(shared);
        return true;
    }
    if (zkl_shared_node_sealed(shared) || (shared->under && !zkl_shared_node_waiter(shared)))
        return false;
    return zkl_shared_node_waiter(shared) || zkl_linger_try(shared);
}

/* ---- the whole node ---- */

/* True if its node exists, as far as the client knows without asking. */
static bool is_certain(const zkl_shared_node *shared) {
    const zkl_context *context = shared->context;
    return zkl_context_is_linked(context) && !shared->line->freshness.stale &&
           shared->contender->watch == ZKL_WATCH_ARMED &&
           context->valid_until > zkl_context_now(context);
}

/* The node stays. If it has to go, its delete shows more. */
static void settle_doubt(zkl_shared_node *shared) {
    if (shared->contender->end.witness && is_certain(shared))
        zkl_doubt_end(shared->contender, ZKL_LOSS_NONE);
}

/* false: it has to go. */
static bool advance_held(zkl_shared_node *shared) {
    const bool fresh = !shared->entered;
    const zkl_shared_node *write = shared->under;
    if (fresh) /* those who wait behind its write have waited since then */
        shared->since = write && write->remote_waiters != ZKL_REMOTE_WAITERS_NONE
                            ? write->since
                            : zkl_shared_node_now(shared);
    shared->entered = true;
    zkl_remote_waiters_look(shared);
    watch_own(shared);
    return shared->kind == ZKL_KIND_READ ? advance_shared(shared, fresh)
                                         : advance_single(shared, fresh);
}

/* It has no node any more, and no timer runs. */
static void free_shared_node(zkl_shared_node *shared) {
    if (shared->under)
        shared->under->lent = NULL;
    zkl_list_remove(&shared->line->listeners, &shared->listener.item);
    if (shared->dirty)
        zkl_list_remove(&shared->line->common->dirty_nodes, &shared->item);
    free(shared);
}

void zkl_shared_node_advance(zkl_shared_node *shared) {
    for (;;) {
        if (!shared->contender && !zkl_shared_node_waiter(shared)) {
            free_shared_node(shared);
            return;
        }
        if (!shared->contender)
            queue_up(shared);
        else if (shared->contender->phase == ZKL_OVER)
            node_ended(shared);
        else if (shared->contender->phase == ZKL_HELD ? !advance_held(shared)
                                                      : !advance_queue(shared))
            zkl_linger_end(shared);
        else {
            settle_doubt(shared);
            return;
        }
    }
}

/* The next one that has changed; NULL: none is left. */
static zkl_shared_node *take_dirty(zkl_line_common *common) {
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a freed one is no longer in the list */
    zkl_shared_node *shared = ZKL_FIRST(&common->dirty_nodes, zkl_shared_node, item);
    if (!shared)
        return NULL;
    zkl_list_remove(&common->dirty_nodes, &shared->item);
    shared->dirty = false;
    return shared;
}

bool zkl_shared_nodes_step(zkl_line_common *common) {
    bool any = false;
    for (zkl_shared_node *shared; (shared = take_dirty(common)); any = true)
        zkl_shared_node_advance(shared);
    return any;
}

/* ---- events of the node and the line ---- */

static zkl_shared_node *shared_around(const zkl_contender *node) {
    return ZKL_CONTAINER_OF(node->listener, zkl_shared_node, node_listener);
}

/* The host hears of a loss before it hears of the next grant. */
static void node_changed(zkl_contender *node) {
    zkl_shared_node *shared = shared_around(node);
    /* no caller holds it before its first grant, or when the client closes */
    zkl_handoff_lose(shared);
    zkl_shared_node_mark_dirty(shared);
}

static void node_revoked(zkl_contender *node) {
    zkl_shared_node *shared = shared_around(node);
    ZKL_EACH (zkl_contender, c, &shared->holders, member) {
        zkl_contender_revoked(c);
    }
    zkl_shared_node_mark_dirty(shared);
}

static zkl_shared_node *shared_of(zkl_listener *listener) {
    return ZKL_CONTAINER_OF(listener, zkl_shared_node, listener);
}

static void line_dirty(zkl_listener *listener) {
    zkl_shared_node_mark_dirty(shared_of(listener));
}

static void line_failed(zkl_listener *listener, zkl_status status, bool give_back) {
    zkl_shared_node *shared = shared_of(listener);
    zkl_handoff_fail_all(shared, status);
    if (!give_back)
        return;
    ZKL_EACH (zkl_contender, c, &shared->holders, member) {
        zkl_handoff_leave(shared, c);
        zkl_contender_released(c);
    }
}

static bool is_unused(const zkl_shared_node *shared) {
    return shared->entered && !zkl_shared_node_holder(shared) && !zkl_shared_node_waiter(shared);
}

static void line_hurried(zkl_listener *listener) {
    zkl_shared_node *shared = shared_of(listener);
    if (is_unused(shared)) /* at once: a flush counts the nodes that have departed */
        zkl_linger_end(shared);
    zkl_shared_node_mark_dirty(shared);
}

static void line_throttled(zkl_listener *listener, const zkl_contender *c, zkl_status status) {
    zkl_shared_node *shared = shared_of(listener);
    if (c && c != shared->contender)
        return;
    zkl_handoff_fail_impatient(shared, status);
    zkl_shared_node_mark_dirty(shared);
}

/* The end of its lingering; or the time to ask who waits behind the readers. */
static void shared_timer(zkl_timer *timer) {
    zkl_shared_node *shared = ZKL_CONTAINER_OF(timer, zkl_shared_node, timer);
    if (shared->idle)
        zkl_linger_expired(shared);
    zkl_shared_node_mark_dirty(shared);
}

/* ---- the client's shared nodes in a line ---- */

static zkl_shared_node *shared_new(zkl_line *line, zkl_kind kind) {
    zkl_shared_node *shared = calloc(1, sizeof *shared);
    if (!shared)
        return NULL;
    shared->node_listener = (zkl_contender_listener){node_changed, node_revoked, NULL};
    shared->listener = (zkl_listener){.dirty = line_dirty,
                                      .failed = line_failed,
                                      .hurried = line_hurried,
                                      .throttled = line_throttled};
    shared->context = line->context;
    shared->line = line;
    shared->kind = kind;
    shared->timer.fire = shared_timer;
    zkl_list_append(&line->listeners, &shared->listener.item);
    zkl_shared_node_mark_dirty(shared);
    return shared;
}

void zkl_shared_nodes_hurry(zkl_lines *lines) {
    lines->common.hurried = true;
    zkl_lines_each(lines, zkl_line_make_way);
}

/* ---- a caller joins ---- */

/* True if it is held in a way that makes a newcomer wait. */
static bool is_closed(const zkl_shared_node *shared) {
    return zkl_shared_node_holder(shared) &&
           (shared->kind != ZKL_KIND_READ || zkl_shared_node_sealed(shared));
}

/* The first caller waits for the servers until they have shown that the node is behind another
 * one. */
static bool is_full(const zkl_shared_node *shared, size_t max_waiting) {
    const bool queued = is_closed(shared) || (shared->contender && shared->contender->queue.queued);
    return max_waiting && shared->waiters >= max_waiting - queued;
}

/* Its only caller tries once. A new node is better than more requests about this one, because the
 * answer to its create decides. */
static void try_once(zkl_shared_node *shared) {
    if (shared->contender && !zkl_shared_node_holder(shared) &&
        zkl_handoff_prepare(shared) != ZKL_MAY)
        zkl_linger_end(shared);
}

/* The options are those of the latest caller. A caller brings other options only while no other
 * caller is here. The counts under the former options go with their node. */
static void adopt(zkl_shared_node *shared, const zkl_sharing *sharing) {
    const zkl_sharing *former = &shared->sharing;
    const bool same = former->stint == sharing->stint && former->linger == sharing->linger;
    if (!same && shared->contender && !zkl_shared_node_holder(shared))
        zkl_linger_end(shared);
    shared->sharing = *sharing;
}

/* Does now what the end of the step would do, and returns the result instead of posting an event.
 * Afterwards the shared node may be gone. */
static void look_at_once(zkl_shared_node *shared, zkl_contender *c, int64_t *token) {
    c->listener = &zkl_listener_host_in_call;
    zkl_shared_node_advance(shared);
    c->listener = &zkl_listener_host;
    *token = c->token; /* 0: it does not hold */
}

static void wait_for(zkl_shared_node *shared, zkl_contender *c, const zkl_terms *terms) {
    zkl_contender_set_deadline(c, terms);
    if (terms->at_once)
        look_at_once(shared, c, terms->at_once);
    else
        zkl_shared_node_mark_dirty(shared);
}

/* True if it has a node with a share of the node budget; or there is room for one. */
static bool check_place(const zkl_shared_node *shared, zkl_contender *c) {
    if (shared->contender && !shared->contender->share.owed)
        return true;
    return zkl_node_budget_fits(&c->common->node_budget,
                                zkl_line_node_length(shared->line, shared->kind), &c->shortage);
}

static zkl_shared_node *lend(zkl_contender *writer, zkl_shared_node *write) {
    zkl_shared_node *read = shared_new(write->line, ZKL_KIND_READ);
    if (!read)
        return NULL;
    read->before = zkl_sharer_of(writer)->turn - 1;
    read->under = write;
    write->lent = read;
    return read;
}

/* Takes read under a write that its owner holds. Until the write ends, the read has a shared node
 * for this owner alone, and shares the write's turn. Meanwhile the write's shared node is granted
 * to no other caller, which would write beside the read. */
static zkl_contender *join_under(uint64_t tag, const zkl_terms *terms) {
    zkl_shared_node *write = zkl_sharer_of(terms->under)->shared;
    zkl_shared_node *read = write->lent ? write->lent : lend(terms->under, write);
    zkl_terms own = *terms;
    own.max_waiting = 0;
    zkl_contender *c = read ? zkl_sharer_new(read, tag, &own) : NULL;
    if (!c)
        return NULL;
    read->sharing = *terms->sharing;
    if (!check_place(read, c)) {
        zkl_handoff_fail(c, ZKL_TOO_BIG);
        return c;
    }
    write->sealed = true;
    wait_for(read, c, terms);
    return c;
}

zkl_contender *zkl_shared_node_join(zkl_line *line, uint64_t tag, const zkl_terms *terms) {
    if (terms->under && terms->under->phase == ZKL_HELD)
        return join_under(tag, terms);
    zkl_shared_node *shared = zkl_shared_node_find(line, terms->kind);
    if (!shared)
        shared = shared_new(line, terms->kind);
    if (!shared)
        return NULL;
    const bool closed = is_closed(shared), occupied = closed || zkl_shared_node_waiter(shared);
    const bool too_many = is_full(shared, terms->max_waiting);
    zkl_contender *c = zkl_sharer_new(shared, tag, terms);
    if (!c)
        return NULL; /* the end of the step frees a shared node that no caller wants */
    adopt(shared, terms->sharing);
    c->waited = terms->kind == ZKL_KIND_READ ? closed : occupied;
    if (too_many) {
        zkl_handoff_fail(c, ZKL_BUSY);
    } else if (terms->once && occupied) {
        zkl_handoff_fail(c, ZKL_TIMEOUT);
    } else {
        /* the caller would have to wait for a node of another kind */
        zkl_line_make_way(line);
        if (terms->once)
            try_once(shared);
        if (check_place(shared, c))
            wait_for(shared, c, terms);
        else
            zkl_handoff_fail(c, ZKL_TOO_BIG);
    }
    return c;
}
