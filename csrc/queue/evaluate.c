#include "queue/evaluate.h"

#include "queue/send.h"
#include "queue/leave.h"
#include "queue/lost.h"
#include "queue/patrol.h"
#include "recipe/verdict.h"
#include "queue/vetting.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* A hold shorter than this never pays for a watch on its own node. */
#define WATCH_AFTER (ZKL_SECOND / 20)

/* Blockers vanish and never appear, with one exception: a writer that takes read leaves a node as old as its own. Could
 * this child have, without our having seen it? */
static bool may_have_read(zkl_line *line, const zkl_child *child) {
    if (child->kind != ZKL_KIND_WRITE)
        return false;
    if (!child->mine)
        return true;
    for (const zkl_contender *c = line->first; c; c = c->next)
        if (c->borrowed && c->sequence == child->sequence &&
            (!c->name || zkl_snapshot_find(&line->snapshot, c->name) == ZKL_NOT_FOUND))
            return true;
    return false;
}

/* Whom it waits for once its blocker has gone. The nearest of these is watched as well: it goes when the blocker's turn
 * comes, and while the blocker holds there is time for a list. So when the blocker goes it is known to be the last. */
static void watch_second(zkl_contender *c, const zkl_verdict *v) {
    c->shielded = v->second != ZKL_NOBODY;
    if (!c->shielded)
        return;
    zkl_child *second = &c->line->snapshot.children[v->second];
    c->second = second->sequence;
    zkl_send_second(c->line, second);
}

/* Of our own nodes the snapshot tells the truth; others before the blocker may have gone unheard. */
static void second_gone(zkl_contender *c) {
    zkl_line *line = c->line;
    const size_t own = c->name ? zkl_snapshot_find(&line->snapshot, c->name) : ZKL_NOT_FOUND;
    c->shielded = false;
    if (own == ZKL_NOT_FOUND || line->stale)
        return; /* a list that has it is wanted or on its way */
    const zkl_verdict v =
        zkl_verdict_of(line->snapshot.children, line->snapshot.count, own, c->terms.permits);
    if (v.outcome != ZKL_VERDICT_WAIT)
        return;
    if ((line->doubtful && c->terms.kind == ZKL_KIND_WRITE) ||
        (v.second != ZKL_NOBODY && !line->snapshot.children[v.second].mine))
        line->list_wanted = true;
    else
        watch_second(c, &v);
}

void zkl_evaluate_gone(zkl_line *line, const char *name) {
    const size_t index = name ? zkl_snapshot_find(&line->snapshot, name) : ZKL_NOT_FOUND;
    if (index == ZKL_NOT_FOUND)
        return;
    const int32_t sequence = line->snapshot.children[index].sequence;
    const bool lease = line->snapshot.children[index].kind == ZKL_KIND_LEASE;
    line->doubtful |= may_have_read(line, &line->snapshot.children[index]);
    zkl_send_leave_child(line, &line->snapshot.children[index]);
    zkl_snapshot_remove(&line->snapshot, index);
    for (zkl_contender *c = line->first; c; c = c->next) {
        const bool waited = lease || (c->blocked && c->blocker == sequence);
        if (c->phase != ZKL_WAITING)
            continue;
        if (waited) {
            c->blocked = false;
            c->review = line->review = true;
        } else if (c->shielded && c->second == sequence) {
            second_gone(c);
        }
    }
}

void zkl_evaluate_missing(zkl_line *line, const char *name) {
    line->lagging = true;
    zkl_evaluate_gone(line, name);
}

void zkl_evaluate_set_timer(zkl_contender *c, bool watch) {
    const zkl_nanos soon = watch ? zkl_context_now(c->context) + WATCH_AFTER : ZKL_NEVER;
    zkl_timer_set(&c->context->timers, &c->timer, soon < c->hold_until ? soon : c->hold_until);
}

void zkl_evaluate_grant(zkl_contender *c, bool seen) {
    if (c->phase != ZKL_WAITING || !c->first || c->node != ZKL_NODE_THERE)
        return;
    if (!zkl_vetting_passed(c->line))
        return; /* the answer that this waits for comes back here, or ends the wait */
    if (!c->token || (!seen && c->watch != ZKL_WATCH_ARMED)) {
        zkl_send_own(c); /* its answer comes back here */
        return;
    }
    const zkl_nanos now = zkl_context_now(c->context);
    if (c->context->trusted_until <= now)
        return; /* the heart beats as long as we wait; zkl_line_refreshed comes back here */
    zkl_contender_granted(c);
    zkl_evaluate_set_timer(c, c->watch == ZKL_WATCH_NONE);
}

/* Who waits hears by a watch that it is its turn; where there is none it is looked after. */
static void wait_for(zkl_contender *c, const zkl_verdict *v) {
    zkl_line *line = c->line;
    bool told = line->watched && !line->unwatching;
    if (c->blocked) {
        zkl_child *blocker = &line->snapshot.children[v->blocker];
        c->blocker = blocker->sequence;
        told = zkl_send_blocker(line, blocker);
        watch_second(c, v);
    }
    if (told)
        zkl_patrol_list_no_more(c);
    else
        zkl_patrol_list(c);
    zkl_send_own(c);
}

void zkl_evaluate_look(zkl_contender *c, bool seen) {
    zkl_line *line = c->line;
    if (c->phase != ZKL_WAITING || !c->name || line->stale)
        return;
    const size_t own = zkl_snapshot_find(&line->snapshot, c->name);
    if (own == ZKL_NOT_FOUND)
        return; /* a list that has it is wanted or on its way */
    if (!seen && line->doubtful && c->terms.kind == ZKL_KIND_WRITE) {
        line->list_wanted = true;
        return;
    }
    const zkl_verdict v =
        zkl_verdict_of(line->snapshot.children, line->snapshot.count, own, c->terms.permits);
    c->first = v.outcome == ZKL_VERDICT_GRANTED;
    c->blocked = v.outcome == ZKL_VERDICT_WAIT;
    line->crowded |= !c->first && !c->queued;
    c->queued = !c->first;
    if (v.outcome == ZKL_VERDICT_TIED) {
        zkl_leave_fail(c, ZDATAINCONSISTENCY);
    } else if (c->first) {
        zkl_evaluate_grant(c, seen);
    } else if (c->terms.once) {
        zkl_leave_fail(c, ZKL_TIMEOUT);
    } else if (!seen && line->lagging) {
        line->list_wanted = true; /* one list tells more than a question for each who is shown */
    } else {
        wait_for(c, &v);
    }
}

/* Deletes of nodes that are nobody's, for each list. */
#define STRAYS_MOST 64

/* Whose node it is, or may be. A GUID in a name is worth little: whoever has seen the name can make another with it. */
static zkl_contender *owner_of(zkl_line *line, const char *name, size_t *strays) {
    zkl_guid guid;
    if (!zkl_znode_guid(name, &guid) || guid.client != line->context->guid)
        return NULL;
    zkl_contender *c = zkl_line_member(line, guid.number);
    if (!c && line->context->port && (*strays)++ < STRAYS_MOST)
        zkl_send_erase_stray(line, name);
    return c && c->line == line ? c : NULL;
}

static void mark_own(zkl_line *line) {
    size_t strays = 0;
    for (zkl_contender *c = line->first; c; c = c->next)
        c->seen = false;
    for (size_t i = 0; i < line->snapshot.count; i++) {
        zkl_child *child = &line->snapshot.children[i];
        zkl_contender *c = owner_of(line, child->name, &strays);
        if (c && c->node == ZKL_NODE_LOST) {
            zkl_lost_seen(c, child);
        } else if (c && c->name && strcmp(c->name, child->name) == 0) {
            child->mine = c;
            c->seen = true;
        }
    }
}

/* Whoever is refused takes its own node with it, so it is asked again when one has gone; but not for each waiter. */
static void refuse_mixed(zkl_line *line) {
    const zkl_snapshot *snapshot = &line->snapshot;
    struct {
        size_t count; /* of children, when it was asked */
        bool mixed;
    } known[ZKL_KIND_LEASE + 1];
    for (zkl_kind kind = ZKL_KIND_LOCK; kind <= ZKL_KIND_LEASE; kind++)
        known[kind].count = SIZE_MAX;
    zkl_contender *next;
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        const zkl_kind kind = c->terms.kind;
        if (c->phase != ZKL_WAITING)
            continue;
        if (known[kind].count != snapshot->count) {
            known[kind].count = snapshot->count;
            known[kind].mixed = zkl_verdict_mixed(snapshot->children, snapshot->count, kind);
        }
        if (known[kind].mixed)
            zkl_leave_fail(c, ZKL_WRONG_KIND);
    }
}

/* A read under a write is as old as the write: it holds if the two stood in one list. If the write was gone by then, a
 * later writer may hold, and the read has to wait its turn with a sequence of its own. */
static bool stood_together(zkl_line *line, const zkl_contender *read) {
    for (size_t i = 0; i < line->snapshot.count; i++) {
        const zkl_child *child = &line->snapshot.children[i];
        if (child->kind == ZKL_KIND_WRITE && child->mine && child->mine->token == read->borrowed)
            return true;
    }
    return false;
}

static void stand(zkl_contender *c, bool seen) {
    if (c->borrowed && c->phase == ZKL_WAITING && !stood_together(c->line, c))
        zkl_leave_erase(c); /* erased() queues it anew */
    else
        zkl_evaluate_look(c, seen);
}

void zkl_evaluate_found(zkl_contender *c) {
    if (c->line->stale)
        c->line->list_wanted = true;
    else
        stand(c, false);
}

void zkl_evaluate_read(zkl_line *line, const char *const *names, size_t count) {
    const size_t watched = zkl_send_watched(line);
    if (!zkl_snapshot_take(&line->snapshot, names, count)) {
        line->stale = line->list_wanted = true;
        zkl_send_again_later(line);
        return;
    }
    /* What is not in the list any more is gone: its watch told before. */
    line->context->watches.bytes += zkl_send_watched(line) - watched;
    line->stale = line->doubtful = line->lagging = false;
    mark_own(line);
    refuse_mixed(line);
    /* First who has lost: the host hears of it before the next one holds. */
    zkl_contender *next;
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        if (c->node == ZKL_NODE_LOST)
            zkl_lost_look(c);
        else if (c->node == ZKL_NODE_THERE && !c->seen)
            zkl_leave_missing(c);
    }
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        if (c->node == ZKL_NODE_THERE)
            stand(c, true);
    }
}
