#include "shared/remote_waiters.h"

#include "base/timer.h"
#include "line/contender.h"
#include "line/evaluate.h"
#include "line/watch_budget.h"
#include "recipe/snapshot.h"
#include "recipe/verdict.h"

#include <string.h>

/* However short a stint is, readers do not ask more often who is behind them; and however long it
 * is, they do ask. */
#define PAUSE_LEAST (ZKL_SECOND / 20)
#define PAUSE_MOST (1800 * ZKL_SECOND)

/* The write under which the read was taken whose node this is. */
static bool is_lender(const zkl_child *child, const zkl_contender *node) {
    return node->borrowed && child->mine && child->sequence == node->sequence;
}

/* A shared node that is held has nobody before it but our own nodes that are on their way out. */
static bool is_anybody_there(const zkl_shared_node *shared) {
    const zkl_snapshot *snapshot = &shared->line->snapshot;
    const zkl_child own = {.kind = shared->contender->terms.kind};
    for (size_t i = 0; i < snapshot->count; i++) {
        const zkl_child *child = &snapshot->children[i];
        if (child->mine != shared->contender && zkl_verdict_blocks(&own, child->kind) &&
            !is_lender(child, shared->contender))
            return true;
    }
    return false;
}

/* Readers that share it have no watch on the directory, for others come and go: what is behind them
 * is asked now and then. */
static bool is_read(const zkl_shared_node *shared) {
    return shared->kind == ZKL_KIND_READ &&
           (zkl_shared_node_holder(shared) || zkl_shared_node_waiter(shared));
}

/* Those who read were to have asked, and have been answered, long ago: somebody may have come just
 * after the latest list, and have waited for as long as he is to. */
static bool is_overdue(const zkl_shared_node *shared) {
    const zkl_nanos stint = shared->sharing.stint;
    return zkl_shared_node_now(shared) - shared->line->known >=
           (stint > 2 * PAUSE_LEAST ? stint : 2 * PAUSE_LEAST);
}

static zkl_remote_waiters remote_waiters_of(const zkl_shared_node *shared) {
    const zkl_line *line = shared->line;
    const bool listed = shared->lists != line->lists;
    if (shared->remote_waiters == ZKL_REMOTE_WAITERS_NONE && line->freshness.current && !listed)
        return ZKL_REMOTE_WAITERS_NONE; /* who comes is shown by a new list */
    if (line->freshness.current || (is_read(shared) && listed))
        return is_anybody_there(shared) ? ZKL_REMOTE_WAITERS_SOME : ZKL_REMOTE_WAITERS_NONE;
    if (shared->remote_waiters == ZKL_REMOTE_WAITERS_NONE &&
        (line->freshness.unsynced || !is_read(shared) || is_overdue(shared)))
        /* the watch has told of something, or it is time to ask */
        return ZKL_REMOTE_WAITERS_UNKNOWN;
    return shared->remote_waiters;
}

void zkl_remote_waiters_look(zkl_shared_node *shared) {
    const zkl_line *line = shared->line;
    const zkl_remote_waiters found = remote_waiters_of(shared);
    if (found == ZKL_REMOTE_WAITERS_NONE)
        shared->counted = 0;
    if (line->freshness.current && found == ZKL_REMOTE_WAITERS_NONE)
        shared->since = zkl_shared_node_now(shared);
    else if (found == ZKL_REMOTE_WAITERS_NONE ||
             (shared->remote_waiters == ZKL_REMOTE_WAITERS_NONE && shared->lists == line->lists))
        shared->since = line->known;
    shared->lists = line->lists;
    zkl_shared_node_set_remote_waiters(shared, found);
    shared->listener.attends = found == ZKL_REMOTE_WAITERS_UNKNOWN && !is_read(shared);
}

/* Is there, or will there be, room for the watch without which a list says little? */
static bool may_watch(const zkl_line *line) {
    return line->directory_watch != ZKL_WATCH_NONE ||
           zkl_watch_budget_room(&line->common->watch_budget, strlen(line->path), ZKL_CLAIM_OTHERS);
}

bool zkl_remote_waiters_ask(zkl_shared_node *shared) {
    zkl_line *line = shared->line;
    if (!shared->context->port || line->retry.at || (!is_read(shared) && !may_watch(line)))
        return line->list_sent;
    if (!line->list_sent) {
        line->list_wanted = true;
        zkl_line_settle(line);
    }
    return line->list_sent;
}

bool zkl_remote_waiters_awaited(zkl_shared_node *shared) {
    return shared->remote_waiters == ZKL_REMOTE_WAITERS_UNKNOWN && zkl_remote_waiters_ask(shared);
}

bool zkl_remote_waiters_waited(const zkl_shared_node *shared) {
    return shared->remote_waiters != ZKL_REMOTE_WAITERS_NONE &&
           (shared->counted >= shared->sharing.handoffs ||
            zkl_shared_node_now(shared) - shared->since >= shared->sharing.stint);
}

/* When readers ask again who is behind them: half a stint after they did, for whoever comes in
 * between waits for one in all. Not all clients at once. */
static zkl_nanos next_moment(const zkl_shared_node *shared) {
    zkl_nanos pause = shared->sharing.stint < ZKL_NEVER ? shared->sharing.stint / 2 : ZKL_SECOND;
    pause = pause > PAUSE_LEAST ? pause : PAUSE_LEAST;
    pause = pause < PAUSE_MOST ? pause : PAUSE_MOST;
    return shared->since + pause - shared->since % (pause / 4);
}

/* The answer comes back here, as does the link, or the line's retry, if it cannot be asked now. */
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
