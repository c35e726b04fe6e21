/* SPDX-License-Identifier: MIT */
#include "shared/remote_waiters.h"

#include "base/timer.h"
#include "line/contender.h"
#include "line/evaluate.h"
#include "line/line_state.h"
#include "paths/watch_budget.h"
#include "recipe/snapshot.h"
#include "recipe/verdict.h"

#include <string.h>

/* Between two questions of readers, however short the stint is. */
#define PAUSE_LEAST (ZKL_SECOND / 20)

/* True for the write under which this read node was taken. */
static bool is_lender(const zkl_child *child, const zkl_contender *node) {
    return node->under.token && child->mine && child->sequence == node->under.sequence;
}

/* Only our own nodes, which are about to go, can stand before a held shared node. */
static bool is_anybody_there(const zkl_shared_node *shared) {
    const zkl_snapshot *snapshot = &shared->line->snapshot;
    const zkl_kinds own = ZKL_KINDS_OF(shared->contender->terms.kind);
    for (size_t i = 0; i < snapshot->count; i++) {
        const zkl_child *child = &snapshot->children[i];
        if (child->mine != shared->contender && zkl_verdict_blocked(own, child->kind) &&
            !is_lender(child, shared->contender))
            return true;
    }
    return false;
}

/* Readers that share a node have no watch on the directory, because other readers come and go.
 * Instead the client asks from time to time. */
static bool is_read(const zkl_shared_node *shared) {
    return shared->kind == ZKL_KIND_READ &&
           (zkl_shared_node_holder(shared) || zkl_shared_node_waiter(shared));
}

/* Readers should have asked and got an answer long ago. A waiter may have come just after the
 * latest list, and have waited long enough. */
static bool is_overdue(const zkl_shared_node *shared) {
    const zkl_nanos stint = shared->sharing.stint;
    return zkl_shared_node_now(shared) - shared->line->known >=
           (stint > 2 * PAUSE_LEAST ? stint : 2 * PAUSE_LEAST);
}

static zkl_remote_waiters remote_waiters_of(const zkl_shared_node *shared) {
    const zkl_line *line = shared->line;
    const bool listed = shared->lists != line->lists;
    if (shared->remote_waiters == ZKL_REMOTE_WAITERS_NONE && line->freshness.current && !listed)
        return ZKL_REMOTE_WAITERS_NONE; /* a new list would show a newcomer */
    if (line->freshness.current || (is_read(shared) && listed))
        return is_anybody_there(shared) ? ZKL_REMOTE_WAITERS_SOME : ZKL_REMOTE_WAITERS_NONE;
    if (shared->remote_waiters == ZKL_REMOTE_WAITERS_NONE &&
        (line->freshness.unsynced || !is_read(shared) || is_overdue(shared)))
        /* the watch has reported a change, or it is time to ask */
        return ZKL_REMOTE_WAITERS_UNKNOWN;
    return shared->remote_waiters;
}

void zkl_remote_waiters_look(zkl_shared_node *shared) {
    const zkl_line *line = shared->line;
    const zkl_remote_waiters found = remote_waiters_of(shared);
    if (line->freshness.current && found == ZKL_REMOTE_WAITERS_NONE)
        shared->since = zkl_shared_node_now(shared);
    else if (found == ZKL_REMOTE_WAITERS_NONE ||
             (shared->remote_waiters == ZKL_REMOTE_WAITERS_NONE && shared->lists == line->lists))
        shared->since = line->known;
    shared->lists = line->lists;
    zkl_shared_node_set_remote_waiters(shared, found);
    shared->listener.attends = found == ZKL_REMOTE_WAITERS_UNKNOWN && !is_read(shared);
}

/* True if there is room for the watch. Without it a list says little. */
static bool may_watch(const zkl_line *line) {
    return line->directory_watch != ZKL_WATCH_NONE ||
           zkl_watch_budget_room(&line->common->watch_budget, strlen(line->path), ZKL_CLAIM_OTHERS);
}

bool zkl_remote_waiters_ask(zkl_shared_node *shared) {
    zkl_line *line = shared->line;
    if (!zkl_context_is_linked(shared->context) || line->retry.at ||
        (!is_read(shared) && !may_watch(line)))
        return zkl_line_is_listed(line);
    if (!zkl_line_is_listed(line)) {
        line->list_wanted = true;
        zkl_line_settle(line);
    }
    return zkl_line_is_listed(line);
}

bool zkl_remote_waiters_await(zkl_shared_node *shared) {
    return shared->remote_waiters == ZKL_REMOTE_WAITERS_UNKNOWN && zkl_remote_waiters_ask(shared);
}

bool zkl_remote_waiters_waited(const zkl_shared_node *shared) {
    return shared->remote_waiters != ZKL_REMOTE_WAITERS_NONE &&
           zkl_shared_node_now(shared) - shared->since >= shared->sharing.stint;
}

/* When readers ask again: half a stint after the last time, because a waiter that comes in between
 * waits for a whole stint. Clients spread this over time. */
static zkl_nanos next_moment(const zkl_shared_node *shared) {
    const zkl_nanos half = shared->sharing.stint / 2;
    const zkl_nanos pause = half > PAUSE_LEAST ? half : PAUSE_LEAST;
    return shared->since + pause - shared->since % (pause / 4);
}

/* The answer, the next link or the line's retry calls this again. */
void zkl_remote_waiters_poll(zkl_shared_node *shared) {
    if (shared->remote_waiters == ZKL_REMOTE_WAITERS_UNKNOWN)
        zkl_remote_waiters_ask(shared);
    if (shared->remote_waiters != ZKL_REMOTE_WAITERS_NONE || shared->timer.at)
        return;
    const zkl_nanos at = next_moment(shared);
    if (at > zkl_shared_node_now(shared))
        zkl_timer_set(&shared->context->timers, &shared->timer, at);
    else
        zkl_remote_waiters_ask(shared);
}
