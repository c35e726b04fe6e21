/* SPDX-License-Identifier: MIT */
#include "line/departure.h"

#include "base/status.h"
#include "line/contender.h"
#include "line/doubt.h"
#include "line/followers.h"
#include "line/send.h"
#include "recipe/snapshot.h"
#include "recipe/verdict.h"

#include <zookeeper/zookeeper.h>

/* ---- the waiters behind a node ---- */

/* A waiter's blockers only go, and no new ones come, with one exception: a writer that also takes
 * read creates a node that is as old as its write. True if the child, which has gone, may have left
 * such a node that the snapshot does not show. */
static bool may_have_read(const zkl_line *line, const zkl_child *child) {
    if (child->kind != ZKL_KIND_WRITE)
        return false;
    if (!child->mine)
        return true;
    if (!child->mine->under.lent)
        return false;
    ZKL_EACH (const zkl_contender, c, &line->members, member) {
        if (c->under.token && c->under.sequence == child->sequence &&
            (!c->name || zkl_snapshot_find(&line->snapshot, c->name) == ZKL_NOT_FOUND))
            return true;
    }
    return false;
}

void zkl_blocker_watch_second(zkl_contender *c, const zkl_verdict *verdict) {
    zkl_line *line = c->line;
    if (verdict->second == ZKL_NOBODY)
        return;
    zkl_child *second = &line->snapshot.children[verdict->second];
    zkl_followers_wait_next(&line->followers, c, second);
    zkl_send_watch_second(line, second);
}

/* The child before its blocker has gone. For our own nodes the snapshot is right. The end of others
 * before the blocker may have been missed, so if one of those is left, a list is wanted. */
static void second_gone(zkl_contender *c) {
    zkl_line *line = c->line;
    const zkl_snapshot *snapshot = &line->snapshot;
    const size_t own = zkl_snapshot_find(snapshot, c->name);
    const zkl_verdict verdict =
        zkl_verdict_of(snapshot->children, snapshot->count, own, c->terms.permits);
    if ((line->freshness.may_lack_read && c->terms.kind == ZKL_KIND_WRITE) ||
        (verdict.second != ZKL_NOBODY && !snapshot->children[verdict.second].mine))
        line->list_wanted = true;
    else
        zkl_blocker_watch_second(c, &verdict);
}

/* The child is no longer in the snapshot, and these contenders had it as their second. A waiter
 * behind a node is in the snapshot; a contender that is over may have left it before. */
static void seconds_gone(zkl_list *seconds) {
    zkl_contender *c;
    while ((c = ZKL_FIRST(seconds, zkl_contender, queue.next_follower))) {
        zkl_list_remove(seconds, &c->queue.next_follower);
        c->queue.has_second = false;
        if (c->phase == ZKL_WAITING && c->queue.position == ZKL_POSITION_BEHIND)
            second_gone(c);
    }
}

void zkl_blocker_gone(zkl_line *line, const char *name) {
    const size_t index = name ? zkl_snapshot_find(&line->snapshot, name) : ZKL_NOT_FOUND;
    if (index == ZKL_NOT_FOUND)
        return;
    zkl_child *child = &line->snapshot.children[index];
    line->freshness.may_lack_read |= may_have_read(line, child);
    zkl_line_abandon_child_watch(line, child);
    zkl_followers_mark(&line->followers, child);
    zkl_list seconds = zkl_followers_take_next(&line->followers, child);
    zkl_snapshot_remove(&line->snapshot, index);
    seconds_gone(&seconds);
}

void zkl_blocker_stays(zkl_line *line, const char *name) {
    const size_t index = zkl_snapshot_find(&line->snapshot, name);
    if (index != ZKL_NOT_FOUND)
        zkl_followers_mark(&line->followers, &line->snapshot.children[index]);
}

void zkl_blocker_missing(zkl_line *line, const char *name) {
    line->freshness.lagging = true;
    zkl_blocker_gone(line, name);
}

/* ---- the end of a contender ---- */

void zkl_leave_retire(zkl_contender *c) {
    zkl_line *line = c->line;
    zkl_doubt_end(c, c->end.loss);
    zkl_blocker_gone(line, c->name);
    zkl_followers_leave(&line->followers, c);
    zkl_list_remove(&line->members, &c->member);
    if (!line->members.first)
        zkl_line_idle(line);
    zkl_contender_set_node(c, ZKL_NODE_NONE);
    zkl_line_set_own_watch(c, ZKL_WATCH_NONE);
    zkl_contender_retire(c);
}

void zkl_leave_erase(zkl_contender *c) {
    zkl_send_erase(c);
    if (c->node != ZKL_NODE_THERE)
        zkl_blocker_gone(c->line, c->name);
}

void zkl_leave_depart(zkl_contender *c) {
    if (zkl_node_is_none(c->node)) {
        zkl_leave_retire(c);
        return;
    }
    zkl_contender_depart(c);
    if (c->node == ZKL_NODE_THERE)
        zkl_leave_erase(c);
    /* Otherwise the answer to its create, a synced list, or the answer to its delete continues. */
}

void zkl_leave_fail(zkl_contender *c, zkl_status status) {
    zkl_contender_failed(c, status);
    zkl_leave_depart(c);
}

void zkl_leave_fail_waiting(zkl_line *line, zkl_status status) {
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (c->phase == ZKL_WAITING)
            zkl_leave_fail(c, status);
    }
}

void zkl_leave_fail_behind(zkl_line *line, int32_t sequence, zkl_status status) {
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (c->phase == ZKL_WAITING && c->queue.position == ZKL_POSITION_BEHIND &&
            c->queue.blocker == sequence)
            zkl_leave_fail(c, status);
    }
}

void zkl_leave_fail_round(zkl_line *line, zkl_status status) {
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (c->phase == ZKL_WAITING && c->parents == line->parents.round)
            zkl_leave_fail(c, status);
    }
}

static void end_try(zkl_contender *c) {
    if (c->phase == ZKL_WAITING && c->terms.once)
        zkl_leave_fail(c, zkl_status_of(ZTHROTTLEDOP));
}

void zkl_leave_end_tries(zkl_line *line, zkl_contender *c) {
    ZKL_EACH (zkl_listener, listener, &line->listeners, item) {
        listener->throttled(listener, c, zkl_status_of(ZTHROTTLEDOP));
    }
    if (c) {
        end_try(c);
        return;
    }
    ZKL_EACH (zkl_contender, each, &line->members, member) {
        end_try(each);
    }
}

/* Queues with a new node. If somebody deletes each node as soon as it is created, or a server
 * claims so, the pauses keep that from using up the client: zkl_line_resume sends the create. */
static void queue_again(zkl_contender *c) {
    if (c->queue.anew < ZKL_AT_ONCE) {
        c->queue.anew++;
        zkl_send_create(c);
        return;
    }
    zkl_line_forget_node(c);
    zkl_line_retry_later(c->line);
}

void zkl_leave_missing(zkl_contender *c) {
    if (c->phase == ZKL_WAITING) {
        zkl_contender_set_node(c, ZKL_NODE_NONE);
        c->queue.settled |= c->queue.queued;
        c->queue.queued = false;
        zkl_blocker_gone(c->line, c->name);
        queue_again(c);
        return;
    }
    if (c->phase == ZKL_HELD)
        zkl_contender_lost(c, ZKL_LOSS_DELETED);
    else
        zkl_doubt_end(c, c->end.erases == 0 ? ZKL_LOSS_DELETED : ZKL_LOSS_NONE);
    zkl_leave_retire(c);
}
