/* SPDX-License-Identifier: MIT */
#include "shared/linger.h"

#include "base/timer.h"
#include "line/contender.h"
#include "line/line.h"
#include "shared/handoff.h"
#include "shared/remote_waiters.h"

static void set_idle(zkl_shared_node *shared, bool idle) {
    if (idle != shared->idle)
        shared->context->idle_shared_nodes += idle ? 1 : (size_t)-1;
    shared->idle = idle;
}

/* The timer keeps running during a short hold, because setting a timer may wake a thread. */
static void set_timer(zkl_shared_node *shared) {
    const zkl_nanos linger = shared->sharing.linger;
    if (linger < ZKL_NEVER - shared->idle_since)
        zkl_timer_set(&shared->context->timers, &shared->timer, shared->idle_since + linger);
}

void zkl_linger_begin(zkl_shared_node *shared) {
    if (shared->idle)
        return;
    set_idle(shared, true);
    shared->idle_since = zkl_shared_node_now(shared);
    if (!shared->timer.at || shared->kind == ZKL_KIND_READ)
        set_timer(shared);
}

void zkl_linger_cancel(zkl_shared_node *shared) {
    if (shared->idle && shared->kind == ZKL_KIND_READ)
        zkl_timer_clear(&shared->context->timers, &shared->timer);
    set_idle(shared, false);
}

static bool may_linger(const zkl_shared_node *shared) {
    return zkl_context_is_linked(shared->context) && !shared->line->common->hurried &&
           shared->sharing.linger > 0;
}

bool zkl_linger_try(zkl_shared_node *shared) {
    if (!may_linger(shared) ||
        (shared->remote_waiters != ZKL_REMOTE_WAITERS_NONE && !zkl_remote_waiters_await(shared)))
        return false;
    zkl_linger_begin(shared);
    return true;
}

void zkl_linger_expired(zkl_shared_node *shared) {
    if (zkl_shared_node_now(shared) - shared->idle_since < shared->sharing.linger)
        set_timer(shared);
    else
        shared->sealed = true;
}

/* `node`: the one with which it held, and nobody after it; NULL: after it the node was granted to
 * another caller, when it was known to be there. */
static void end_rest(zkl_contender *c, zkl_contender *node) {
    if (node && node->phase == ZKL_HELD)
        zkl_handoff_doubt(c, node, ZKL_OK); /* its delete is about to go */
    else if (node && node->outcome == ZKL_LOST && node->end.loss == ZKL_LOSS_DELETED)
        zkl_contender_had_lost(c, ZKL_LOSS_DELETED);
    else
        zkl_contender_rested(c);
}

void zkl_linger_end(zkl_shared_node *shared) {
    zkl_contender *node = shared->contender;
    shared->contender = NULL;
    shared->sealed = shared->entered = shared->watch_own = false;
    set_idle(shared, false);
    ZKL_EACH (zkl_contender, c, &shared->resting, member) {
        const bool is_latest = zkl_sharer_of(c)->turn == shared->turn;
        zkl_handoff_leave_resting(shared, c);
        end_rest(c, is_latest ? node : NULL);
    }
    shared->turn = shared->before = 0;
    zkl_timer_clear(&shared->context->timers, &shared->timer);
    zkl_line_drop(node);
}
