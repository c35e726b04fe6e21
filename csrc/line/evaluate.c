#include "line/evaluate.h"

#include "base/timer.h"
#include "line/acl_check.h"
#include "line/contender.h"
#include "line/departure.h"
#include "line/followers.h"
#include "line/polled.h"
#include "line/recover.h"
#include "line/send.h"
#include "recipe/snapshot.h"
#include "recipe/verdict.h"
#include "recipe/znode.h"

#include <string.h>
#include <zookeeper/zookeeper.h>

/* ---- how many of this client wait ---- */

/* Which kinds of ours hold, or came before the one that is being looked at. */
typedef struct before {
    bool kinds[ZKL_KINDS];
} before;

static bool blocks(const before *ours, zkl_kind kind) {
    for (zkl_kind k = ZKL_KIND_LOCK; k < ZKL_KINDS; k++)
        if (ours->kinds[k] && zkl_verdict_blocks(&(zkl_child){.kind = k}, kind))
            return true;
    return false;
}

static before holders(const zkl_line *line) {
    before ours = {{false}};
    for (zkl_kind k = ZKL_KIND_LOCK; k < ZKL_KINDS; k++)
        ours.kinds[k] = line->tally.held[k] > 0;
    return ours;
}

/* How many of ours wait: those who have heard so, and those who came behind one of ours that blocks
 * them. In the end `ours` has the kinds of all, and `last` is the last to come of those who may be
 * refused. */
static size_t count(const zkl_line *line, before *ours, zkl_contender **last) {
    size_t waiting = 0;
    *ours = holders(line);
    *last = NULL;
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (c->phase != ZKL_WAITING)
            continue;
        if (!c->compound && !c->borrowed && (c->queued || blocks(ours, c->terms.kind))) {
            waiting++;
            if (c->terms.max_waiting && !c->settled)
                *last = c;
        }
        ours->kinds[c->terms.kind] = true;
    }
    return waiting;
}

bool zkl_max_waiting_refuses(const zkl_line *line, const zkl_terms *terms) {
    before ours;
    zkl_contender *last;
    if (!terms->max_waiting || terms->under)
        return false;
    const size_t waiting = count(line, &ours, &last);
    return blocks(&ours, terms->kind) && waiting >= terms->max_waiting - 1;
}

void zkl_max_waiting_thin(zkl_line *line) {
    before ours;
    zkl_contender *last;
    line->too_many = false;
    while (line->tally.bounded) {
        const size_t waiting = count(line, &ours, &last);
        if (!last || waiting <= last->terms.max_waiting - 1)
            return;
        zkl_leave_fail(last, ZKL_BUSY);
    }
}

/* ---- where a contender stands ---- */

/* A hold that ends sooner than this never pays for a watch on its own node. */
#define WATCH_AFTER (ZKL_SECOND / 20)

/* ---- granting ---- */

void zkl_evaluate_set_hold_timer(zkl_contender *c, bool to_watch) {
    const zkl_nanos watch = to_watch ? zkl_context_now(c->context) + WATCH_AFTER : ZKL_NEVER;
    const zkl_nanos until = c->hold_until;
    zkl_timer_set(&c->context->timers, &c->timer, watch < until ? watch : until);
}

/* Its node stood in a list that was read just now; or its own node is watched, and had it been
 * deleted, the servers would have told of that before they told that the blocker is gone. Otherwise
 * the blocker's going proves nothing. */
static bool is_node_there(const zkl_contender *c, zkl_evidence evidence) {
    return c->token && (evidence == ZKL_BY_LIST || c->watch == ZKL_WATCH_ARMED);
}

void zkl_evaluate_grant(zkl_contender *c, zkl_evidence evidence) {
    if (c->phase != ZKL_WAITING || c->position != ZKL_POSITION_FIRST || c->node != ZKL_NODE_THERE)
        return;
    if (!zkl_acl_check_passed(c->line))
        return; /* the answer to the ACL comes back here, or ends the wait */
    if (!is_node_there(c, evidence)) {
        zkl_send_watch_own(c); /* its answer comes back here */
        return;
    }
    /* A process that was stopped for long reads now what the servers said before it was: the
     * session may be over. */
    if (c->context->valid_until <= zkl_context_now(c->context))
        /* the heart beats as long as somebody waits, and zkl_line_refreshed comes back here */
        return;
    zkl_contender_granted(c);
    zkl_evaluate_set_hold_timer(c, c->watch == ZKL_WATCH_NONE);
    zkl_send_watch_next(c->line, c);
}

/* ---- waiting ---- */

/* A watch tells a waiter when to look again: on its blocker, or for leases on the directory. Where
 * there is no room for the watch, the line is listed in turn. */
static void wait_for(zkl_contender *c, const zkl_verdict *verdict) {
    zkl_line *line = c->line;
    bool told = line->directory_watch == ZKL_WATCH_ARMED;
    if (c->position == ZKL_POSITION_BEHIND) {
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

/* It is not first. One list tells more than a question for each child that the snapshot still
 * shows. */
static void not_first(zkl_contender *c, const zkl_verdict *verdict, zkl_evidence evidence) {
    if (c->terms.once) {
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
        return; /* a list that has its node is wanted or on its way */
    if (evidence == ZKL_BY_NEWS && line->freshness.doubtful && c->terms.kind == ZKL_KIND_WRITE) {
        line->list_wanted = true; /* a reader may be there that the snapshot does not show */
        return;
    }
    const zkl_verdict verdict =
        zkl_verdict_of(line->snapshot.children, line->snapshot.count, own, c->terms.permits);
    zkl_followers_leave(&line->followers, c);
    zkl_contender_set_position(c, position_of(verdict.outcome));
    const bool first = c->position == ZKL_POSITION_FIRST;
    line->too_many |= !first && !c->queued;
    c->queued = !first;
    if (verdict.outcome == ZKL_VERDICT_TIED)
        zkl_leave_fail(c, ZDATAINCONSISTENCY);
    else if (first)
        zkl_evaluate_grant(c, evidence);
    else
        not_first(c, &verdict, evidence);
}

/* ---- a new list ---- */

/* At most so many nodes that are nobody's are deleted for each list. */
#define STRAYS_MOST 64

/* Whose node it is, or may be. A GUID in a name is worth little: whoever has seen the name can make
 * another with it. */
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
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        c->seen = false;
    }
    for (size_t i = 0; i < line->snapshot.count; i++) {
        zkl_child *child = &line->snapshot.children[i];
        zkl_contender *c = owner_of(line, child->name, &strays);
        if (c && c->node == ZKL_NODE_UNKNOWN) {
            zkl_recover_seen(c, child);
        } else if (c && c->name && strcmp(c->name, child->name) == 0) {
            child->mine = c;
            c->seen = true;
        }
    }
}

/* Does a lock use this directory that one of `kind` cannot share it with? Who is refused for that
 * takes its own node out of the snapshot, so that is asked again for each number of children; but
 * not for each waiter. */
static bool is_mixed(const zkl_snapshot *snapshot, zkl_kind kind, size_t asked_at[ZKL_KINDS],
                     bool answers[ZKL_KINDS]) {
    if (asked_at[kind] != snapshot->count) {
        asked_at[kind] = snapshot->count;
        answers[kind] = zkl_verdict_mixed(snapshot->children, snapshot->count, kind);
    }
    return answers[kind];
}

static void refuse_mixed(zkl_line *line) {
    size_t asked_at[ZKL_KINDS];
    bool answers[ZKL_KINDS];
    for (size_t kind = 0; kind < ZKL_KINDS; kind++)
        asked_at[kind] = SIZE_MAX;
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (c->phase == ZKL_WAITING && is_mixed(&line->snapshot, c->terms.kind, asked_at, answers))
            zkl_leave_fail(c, ZKL_WRONG_KIND);
    }
}

/* A read under a write is as old as the write. It may hold if the two stood in one list: if the
 * write was gone by then, a later writer may hold, and the read has to queue with a sequence of its
 * own. */
static bool stood_together(zkl_line *line, const zkl_contender *read) {
    for (size_t i = 0; i < line->snapshot.count; i++) {
        const zkl_child *child = &line->snapshot.children[i];
        if (child->kind == ZKL_KIND_WRITE && child->mine && child->mine->token == read->borrowed)
            return true;
    }
    return false;
}

static void evaluate_or_queue(zkl_contender *c, zkl_evidence evidence) {
    if (c->borrowed && c->phase == ZKL_WAITING && !stood_together(c->line, c))
        zkl_leave_erase(c); /* the answer to the delete queues it anew */
    else
        zkl_evaluate(c, evidence);
}

void zkl_evaluate_found(zkl_contender *c) {
    evaluate_or_queue(c, ZKL_BY_NEWS);
}

/* false: no memory. Watches on children that the list does not show any more have told before. */
static bool take_list(zkl_line *line, const char *const *names, size_t count) {
    const size_t watched = zkl_line_watched_bytes(line);
    zkl_followers_clear(&line->followers);
    if (!zkl_snapshot_take(&line->snapshot, names, count)) {
        line->freshness.stale = line->list_wanted =
            true; /* the end of the step asks for another one */
        return false;
    }
    line->common->watch_budget.bytes += zkl_line_watched_bytes(line) - watched;
    line->freshness.stale = line->freshness.doubtful = line->freshness.lagging = false;
    return true;
}

/* Those who have lost come first: the host hears of a loss before it hears that the next one
 * holds. */
void zkl_evaluate_list(zkl_line *line, const char *const *names, size_t count) {
    if (!take_list(line, names, count))
        return;
    mark_own(line);
    refuse_mixed(line);
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (c->node == ZKL_NODE_UNKNOWN)
            zkl_recover_look(c);
        else if (c->node == ZKL_NODE_THERE && !c->seen)
            zkl_leave_missing(c);
    }
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (c->node == ZKL_NODE_THERE)
            evaluate_or_queue(c, ZKL_BY_LIST);
    }
}

/* ---- the end of a step ---- */

/* Looking at one may mark others. */
static void look_again(zkl_line *line) {
    while (line->followers.marked.first || line->too_many) {
        zkl_contender *c;
        if (line->too_many)
            zkl_max_waiting_thin(line);
        while ((c = zkl_followers_next_marked(&line->followers)))
            zkl_evaluate(c, ZKL_BY_NEWS);
    }
}

void zkl_line_settle(zkl_line *line) {
    look_again(line);
    if (line->list_wanted && !line->list_sent && line->context->port && line->members.first)
        zkl_send_list(line);
    if (!line->members.first)
        zkl_line_idle(line); /* a watch that was to be taken back may be gone now */
    zkl_line_mark_dirty(line);
}
