#include "line/departure.h"

#include "line/contender.h"
#include "line/doubt.h"
#include "line/followers.h"
#include "line/send.h"
#include "recipe/snapshot.h"
#include "recipe/verdict.h"

/* ---- the waiters behind a node ---- */

/* Somebody's blockers go, and new ones never come, with one exception: a writer that takes read as
 * well makes a node which is as old as its write. May this child, which has gone, have left such a
 * node that the snapshot does not show? */
static bool may_have_read(zkl_line *line, const zkl_child *child) {
    if (child->kind != ZKL_KIND_WRITE)
        return false;
    if (!child->mine)
        return true;
    if (!child->mine->lent)
        return false;
    ZKL_EACH (const zkl_contender, c, &line->members, member) {
        if (c->borrowed && c->sequence == child->sequence &&
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

/* The one before its blocker has gone. Of our own nodes the snapshot tells the truth; others before
 * the blocker may have gone unheard, so with one of those left a list is wanted. */
static void second_gone(zkl_contender *c) {
    zkl_line *line = c->line;
    const zkl_snapshot *snapshot = &line->snapshot;
    const size_t own = zkl_snapshot_find(snapshot, c->name);
    const zkl_verdict verdict =
        zkl_verdict_of(snapshot->children, snapshot->count, own, c->terms.permits);
    if ((line->freshness.doubtful && c->terms.kind == ZKL_KIND_WRITE) ||
        (verdict.second != ZKL_NOBODY && !snapshot->children[verdict.second].mine))
        line->list_wanted = true;
    else
        zkl_blocker_watch_second(c, &verdict);
}

/* The child is out of the snapshot whose these seconds were. Whoever waits behind somebody stands
 * in it; who is over may have left it before. */
static void seconds_gone(zkl_list *seconds) {
    zkl_contender *c;
    while ((c = ZKL_FIRST(seconds, zkl_contender, next_follower))) {
        zkl_list_remove(seconds, &c->next_follower);
        c->has_second = false;
        if (c->phase == ZKL_WAITING && c->position == ZKL_POSITION_BEHIND)
            second_gone(c);
    }
}

void zkl_blocker_gone(zkl_line *line, const char *name) {
    const size_t index = name ? zkl_snapshot_find(&line->snapshot, name) : ZKL_NOT_FOUND;
    if (index == ZKL_NOT_FOUND)
        return;
    zkl_child *child = &line->snapshot.children[index];
    line->freshness.doubtful |= may_have_read(line, child);
    zkl_line_abandon_child_watch(line, child);
    zkl_followers_mark(&line->followers, child);
    zkl_list seconds = zkl_followers_take_next(&line->followers, child);
    zkl_snapshot_remove(&line->snapshot, index);
    seconds_gone(&seconds);
}

void zkl_blocker_missing(zkl_line *line, const char *name) {
    line->freshness.lagging = true;
    zkl_blocker_gone(line, name);
}

/* ---- the end of a contender ---- */

void zkl_leave_retire(zkl_contender *c) {
    zkl_line *line = c->line;
    zkl_doubt_end(c, c->outcome == ZKL_LOST);
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
    if (c->node == ZKL_NODE_ERASING)
        zkl_blocker_gone(c->line, c->name);
}

void zkl_leave_depart(zkl_contender *c) {
    if (c->node == ZKL_NODE_NONE) {
        zkl_leave_retire(c);
        return;
    }
    zkl_contender_depart(c);
    if (c->node == ZKL_NODE_THERE)
        zkl_leave_erase(c);
    /* ASKED, UNKNOWN or ERASING: the answer to its create, a synced list, or the answer to its
     * delete goes on. */
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

/* With a new node. Somebody who deletes each as soon as it is made, or a server that says so, does
 * not keep us busy: zkl_line_resume sends the create. */
static void queue_again(zkl_contender *c) {
    if (c->anew < ZKL_AT_ONCE) {
        c->anew++;
        zkl_send_create(c);
        return;
    }
    zkl_line_forget_node(c);
    zkl_line_retry_later(c->line);
}

void zkl_leave_missing(zkl_contender *c) {
    if (c->phase == ZKL_WAITING) {
        zkl_contender_set_node(c, ZKL_NODE_NONE);
        c->settled |= c->queued;
        c->queued = false;
        zkl_blocker_gone(c->line, c->name);
        queue_again(c);
        return;
    }
    if (c->phase == ZKL_HELD)
        zkl_contender_lost(c);
    else
        zkl_doubt_end(c, c->erases == 0);
    zkl_leave_retire(c);
}
