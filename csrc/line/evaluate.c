/* SPDX-License-Identifier: MIT */
#include "line/evaluate.h"

#include "base/timer.h"
#include "line/acl_check.h"
#include "line/contender.h"
#include "line/departure.h"
#include "line/followers.h"
#include "line/polled.h"
#include "line/recover.h"
#include "line/send.h"
#include "recipe/pace.h"
#include "recipe/snapshot.h"
#include "recipe/verdict.h"
#include "recipe/znode.h"
#include "zklock.h"

#include <string.h>
#include <zookeeper/zookeeper.h>

/* ---- how many callers of this client wait ---- */

/* How many of ours wait: those that the servers have shown to wait, and those that came after one
 * of ours that blocks them. At the end `ours` has the kinds of all, and `last` is the last comer
 * that may be refused. */
static size_t count(const zkl_line *line, zkl_kinds *ours, zkl_contender **last) {
    size_t waiting = 0;
    *ours = zkl_line_kinds_held(line, NULL);
    *last = NULL;
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (c->phase != ZKL_WAITING)
            continue;
        if (!c->is_part && !c->under.token &&
            (c->queue.queued || zkl_verdict_blocked(*ours, c->terms.kind))) {
            waiting++;
            if (c->terms.max_waiting && !c->queue.settled)
                *last = c;
        }
        *ours |= ZKL_KINDS_OF(c->terms.kind);
    }
    return waiting;
}

bool zkl_max_waiting_refuses(const zkl_line *line, const zkl_terms *terms) {
    zkl_kinds ours;
    zkl_contender *last;
    if (!terms->max_waiting || terms->under)
        return false;
    const size_t waiting = count(line, &ours, &last);
    return zkl_verdict_blocked(ours, terms->kind) && waiting >= terms->max_waiting - 1;
}

void zkl_max_waiting_thin(zkl_line *line) {
    zkl_kinds ours;
    zkl_contender *last;
    line->too_many = false;
    while (line->tally.bounded) {
        const size_t waiting = count(line, &ours, &last);
        if (!last || waiting <= last->terms.max_waiting - 1)
            return;
        zkl_leave_fail(last, ZKL_BUSY);
    }
}

/* ---- the position of a contender ---- */

/* A watch on its own node does not pay for a hold that ends sooner than this, or within so many
 * round trips. A script that asks for many locks at once holds the first of them for several round
 * trips before it has the last one, and the watches would delay that. */
#define WATCH_AFTER (ZKL_SECOND / 20)
#define WATCH_AFTER_TRIPS 10
/* A revocation is noticed no later than this, plus the round trip of the watch. */
#define WATCH_AFTER_MOST (ZKL_SECOND / 2)

static zkl_nanos watch_after(const zkl_contender *c) {
    const zkl_nanos trips = WATCH_AFTER_TRIPS * zkl_pace_least(&c->common->outbox.pace);
    if (trips > WATCH_AFTER_MOST)
        return WATCH_AFTER_MOST;
    return trips > WATCH_AFTER ? trips : WATCH_AFTER;
}

/* ---- granting ---- */

void zkl_evaluate_set_hold_timer(zkl_contender *c, bool to_watch) {
    const zkl_nanos watch = to_watch ? zkl_context_now(c->context) + watch_after(c) : ZKL_NEVER;
    const zkl_nanos until = c->hold_until;
    zkl_contender_set_hold_timer(c, watch < until ? watch : until);
}

/* True if the list that was just read contains its node, or if its own node is watched: had the
 * node been deleted, the servers would have reported that before they reported the blocker's end.
 * Otherwise the blocker's end proves nothing. */
static bool is_node_there(const zkl_contender *c, zkl_evidence evidence) {
    return c->token && (evidence == ZKL_BY_LIST || c->watch == ZKL_WATCH_ARMED);
}

void zkl_evaluate_grant(zkl_contender *c, zkl_evidence evidence) {
    if (c->phase != ZKL_WAITING || c->queue.position != ZKL_POSITION_FIRST ||
        c->node != ZKL_NODE_THERE)
        return;
    if (!zkl_acl_check_stands(c->line)) {
        zkl_acl_check_ask(c->line); /* the answer calls this again, or ends the wait */
        return;
    }
    if (!is_node_there(c, evidence)) {
        zkl_send_watch_own(c); /* its answer calls this again */
        return;
    }
    /* A process that was stopped for long now reads answers that came before the stop: the session
     * may be over. */
    if (c->context->valid_until <= zkl_context_now(c->context))
        /* the heart beats while a contender waits, and zkl_line_refreshed calls this again */
        return;
    zkl_contender_granted(c);
    zkl_evaluate_set_hold_timer(c, c->watch == ZKL_WATCH_NONE);
    zkl_send_watch_next(c->line, c);
}

/* ---- waiting ---- */

/* A watch tells the waiter when to check again: a watch on its blocker, or for leases on the
 * directory. If there is no room for the watch, the client polls the line. */
static void wait_for(zkl_contender *c, const zkl_verdict *verdict) {
    zkl_line *line = c->line;
    bool told = line->directory_watch == ZKL_WATCH_ARMED;
    if (c->queue.position == ZKL_POSITION_BEHIND) {
        zkl_child *blocker = &line->snapshot.children[verdict->blocker];
        zkl_followers_wait(&line->followers, c, blocker);
        told = zkl_send_watch_blocker(line, blocker);
        zkl_blocker_watch_second(c, verdict);
    } else {
        zkl_followers_wait_any(&line->followers, c);
    }
    if (told)
        zkl_polled_remove_line(c);
    else
        zkl_polled_add_line(c);
    zkl_send_watch_own(c);
}

/* True if it is behind a contender of ours that is over and whose delete has yet to be carried
 * out: a batch with that delete has failed. Any answer to the delete evaluates the waiter again. */
static bool is_behind_a_delete(const zkl_line *line, const zkl_verdict *verdict) {
    if (verdict->outcome != ZKL_VERDICT_WAIT)
        return false;
    const zkl_contender *ahead = line->snapshot.children[verdict->blocker].mine;
    return ahead && ahead->phase == ZKL_OVER && ahead->node > ZKL_NODE_THERE;
}

/* The contender is not first. After news, one list costs less than asking about each child that the
 * snapshot still shows. */
static void not_first(zkl_contender *c, const zkl_verdict *verdict, zkl_evidence evidence) {
    if (c->terms.once && !is_behind_a_delete(c->line, verdict)) {
        zkl_leave_fail(c, ZKL_TIMEOUT);
    } else if (evidence == ZKL_BY_NEWS && c->line->freshness.lagging) {
        zkl_contender_set_position(c, ZKL_POSITION_UNKNOWN);
        zkl_line_list_anew(c->line);
    } else {
        wait_for(c, verdict);
    }
}

static zkl_position position_of(zkl_outcome outcome) {
    switch (outcome) {
    case ZKL_VERDICT_GRANTED:
        return ZKL_POSITION_FIRST;
    case ZKL_VERDICT_WAIT:
        return ZKL_POSITION_BEHIND;
    case ZKL_VERDICT_FULL:
        return ZKL_POSITION_FULL;
    case ZKL_VERDICT_TIED:
        break;
    }
    return ZKL_POSITION_UNKNOWN;
}

void zkl_evaluate(zkl_contender *c, zkl_evidence evidence) {
    zkl_line *line = c->line;
    if (c->phase != ZKL_WAITING || !c->name || line->freshness.stale)
        return;
    const size_t own = zkl_snapshot_find(&line->snapshot, c->name);
    if (own == ZKL_NOT_FOUND)
        return; /* a list with its node is wanted or on its way */
    if (evidence == ZKL_BY_NEWS && line->freshness.may_lack_read &&
        c->terms.kind == ZKL_KIND_WRITE) {
        line->list_wanted = true; /* the snapshot may lack a reader */
        return;
    }
    const zkl_verdict verdict =
        zkl_verdict_of(line->snapshot.children, line->snapshot.count, own, c->terms.permits);
    zkl_followers_leave(&line->followers, c);
    zkl_contender_set_position(c, position_of(verdict.outcome));
    const bool first = c->queue.position == ZKL_POSITION_FIRST;
    const bool queued = !first && !is_behind_a_delete(line, &verdict);
    line->too_many |= queued && !c->queue.queued;
    c->queue.queued = queued;
    c->waited |= queued;
    if (verdict.outcome == ZKL_VERDICT_TIED)
        zkl_leave_fail(c, ZDATAINCONSISTENCY);
    else if (first)
        zkl_evaluate_grant(c, evidence);
    else
        not_first(c, &verdict, evidence);
}

/* ---- a new list ---- */

/* The limit for deleting stray nodes, for each list. */
#define STRAYS_MOST 64

/* The contender that may own this node, whose name begins with the `prefix` bytes of this client.
 * That proves little: anybody who has seen the name can create another node with it. */
static zkl_contender *owner_of(zkl_line *line, const char *name, size_t prefix, size_t *strays) {
    uint64_t number;
    if (!zkl_znode_number(name + prefix, &number))
        return NULL;
    zkl_contender *c = zkl_line_member(line->context, number);
    if (!c && zkl_context_is_linked(line->context) && (*strays)++ < STRAYS_MOST)
        zkl_send_erase_stray(line, name);
    return c && c->line == line ? c : NULL;
}

/* Returns how many of the children are nodes that our contenders know. */
static size_t mark_known(zkl_line *line) {
    size_t known = 0;
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        const size_t at = c->name ? zkl_snapshot_find(&line->snapshot, c->name) : ZKL_NOT_FOUND;
        c->seen = at != ZKL_NOT_FOUND;
        if (c->seen)
            line->snapshot.children[at].mine = c;
        known += c->seen;
    }
    return known;
}

/* Of the others those that have the GUID of this client: a lost create has made them, or a
 * stranger. */
static void find_lost(zkl_line *line) {
    size_t strays = 0;
    char prefix[ZKL_ZNODE_SIZE];
    const size_t length = zkl_znode_make_prefix(prefix, line->context->guid);
    for (size_t i = 0; i < line->snapshot.count; i++) {
        const zkl_child *child = &line->snapshot.children[i];
        if (child->mine || strncmp(child->name, prefix, length) != 0)
            continue;
        zkl_contender *c = owner_of(line, child->name, length, &strays);
        if (c && c->node == ZKL_NODE_UNKNOWN)
            zkl_recover_seen(c, child);
    }
}

static void mark_own(zkl_line *line) {
    if (mark_known(line) < line->snapshot.count)
        find_lost(line);
}

/* True if another lock uses this directory that a lock of `kind` cannot share it with. A contender
 * that is refused for that takes its own node out of the snapshot, so this checks again for each
 * number of children, but not for each waiter. */
static bool is_mixed(const zkl_snapshot *snapshot, zkl_kind kind, size_t asked_at[ZKL_KINDS],
                     bool answers[ZKL_KINDS]) {
    if (asked_at[kind] != snapshot->count) {
        asked_at[kind] = snapshot->count;
        answers[kind] = zkl_verdict_mixed(snapshot->children, snapshot->count, kind);
    }
    return answers[kind];
}

static void refuse_mixed(zkl_line *line) {
    size_t asked_at[ZKL_KINDS] = {0};
    bool answers[ZKL_KINDS] = {false}; /* without children nothing is mixed */
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (c->phase == ZKL_WAITING && is_mixed(&line->snapshot, c->terms.kind, asked_at, answers))
            zkl_leave_fail(c, ZKL_WRONG_KIND);
    }
}

/* A read under a write is as old as the write. It may hold if one list shows both. If the write was
 * gone by then, a later writer may hold, and the read has to queue with its own sequence. */
static bool stood_together(zkl_line *line, const zkl_contender *read) {
    for (size_t i = 0; i < line->snapshot.count; i++) {
        const zkl_child *child = &line->snapshot.children[i];
        if (child->kind == ZKL_KIND_WRITE && child->mine && child->mine->token == read->under.token)
            return true;
    }
    return false;
}

static void evaluate_or_queue(zkl_contender *c, zkl_evidence evidence) {
    if (c->under.token && c->phase == ZKL_WAITING && !stood_together(c->line, c))
        zkl_leave_erase(c); /* the answer to the delete queues it again */
    else
        zkl_evaluate(c, evidence);
}

void zkl_evaluate_found(zkl_contender *c) {
    evaluate_or_queue(c, ZKL_BY_NEWS);
}

/* false: no memory. If a list no longer shows a child, the watch on the child has reported
 * already. */
static bool take_list(zkl_line *line, const char *const *names, size_t count) {
    const size_t watched = zkl_line_watched_bytes(line);
    zkl_followers_clear(&line->followers);
    if (!zkl_snapshot_take(&line->snapshot, names, count)) {
        line->freshness.stale = line->list_wanted =
            true; /* the end of the step asks for another one */
        return false;
    }
    line->common->watch_budget.bytes += zkl_line_watched_bytes(line) - watched;
    line->freshness.stale = line->freshness.may_lack_read = line->freshness.lagging = false;
    return true;
}

/* Handles the lost holders first: the host hears of a loss before it hears of the next grant. */
void zkl_evaluate_list(zkl_line *line, const char *const *names, size_t count) {
    if (!take_list(line, names, count))
        return;
    mark_own(line);
    refuse_mixed(line);
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (c->node == ZKL_NODE_UNKNOWN)
            zkl_recover_look(c);
        else if (zkl_node_is_there(c->node) && !c->seen)
            zkl_leave_missing(c);
    }
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (c->node == ZKL_NODE_THERE)
            evaluate_or_queue(c, ZKL_BY_LIST);
    }
}

/* ---- the end of a step ---- */

/* An evaluation may mark other waiters. */
static void look_again(zkl_line *line) {
    while (line->followers.marked.first || line->too_many) {
        zkl_contender *c;
        if (line->too_many)
            zkl_max_waiting_thin(line);
        while ((c = zkl_followers_take_marked(&line->followers)))
            zkl_evaluate(c, ZKL_BY_NEWS);
    }
}

/* A list comes behind the creates and deletes that are due: before them it would show who is gone,
 * and not show who has come. */
static void list_or_hurry(zkl_line *line) {
    const zkl_dispatch_tally *tally = &line->tally.dispatch;
    if (!tally->deletes_due && !tally->creates_due)
        zkl_send_list(line);
    else if (!tally->creates_due)
        line->common->outbox.urgent = true;
}

void zkl_line_settle(zkl_line *line) {
    look_again(line);
    if (line->list_wanted && !line->list_sent && zkl_context_is_linked(line->context) &&
        line->members.first)
        list_or_hurry(line);
    if (!line->members.first)
        zkl_line_idle(line); /* the watch on a child or on the directory may be gone by now */
    zkl_line_mark_dirty(line);
}
