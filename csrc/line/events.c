/* SPDX-License-Identifier: MIT */
#include "line/events.h"

#include "base/timer.h"
#include "line/contender.h"
#include "line/departure.h"
#include "line/evaluate.h"
#include "line/send.h"
#include "port/context.h"
#include "recipe/snapshot.h"
#include "recipe/znode.h"
#include "zklock_host.h"

#include <string.h>

/* ---- watches ---- */

/* An operator or this client has deleted our own node, or somebody has written to it. The watch may
 * be on the child: one of our waiters stood behind the node before the client knew that it was its
 * own. The child may have left the snapshot since. If a request for a watch is on its way, its
 * answer shows the change, and sets a new watch. */
static void own_changed(zkl_contender *c, zkl_child *child, zkl_change change) {
    if (child && child->watch == ZKL_WATCH_ARMED)
        zkl_line_set_child_watch(c->line, child, ZKL_WATCH_NONE);
    if (c->watch == ZKL_WATCH_ARMED)
        zkl_line_set_own_watch(c, ZKL_WATCH_NONE);
    if (!zkl_node_is_there(c->node))
        return; /* our own delete, whose answer will come */
    if (change == ZKL_CHANGE_DELETED)
        zkl_leave_missing(c);
    else
        zkl_send_watch_own(c); /* a watch fires only once */
}

/* A write to the blocker has used up the watch, because a watch fires only once. If no new one can
 * be set, the list decides how the waiter is polled. If a request for a watch is on its way, its
 * answer sets a new one, unless the node is gone. */
static void blocker_changed(zkl_line *line, zkl_child *child, zkl_change change) {
    const zkl_watch watch = child->watch;
    if (watch != ZKL_WATCH_ASKED)
        zkl_line_set_child_watch(line, child, ZKL_WATCH_NONE);
    if (change == ZKL_CHANGE_OTHER)
        line->list_wanted |= !zkl_send_watch_blocker(line, child);
    else if (watch == ZKL_WATCH_ARMED)
        zkl_blocker_gone(line, child->name);
    else
        line->list_wanted = true;
}

/* The contender of ours whose node has this name, or NULL. */
static zkl_contender *called(const zkl_line *line, const char *name) {
    zkl_guid guid;
    if (!zkl_znode_guid(name, &guid) || guid.client != line->context->guid)
        return NULL;
    zkl_contender *c = zkl_line_member(line->context, guid.number);
    return c && c->line == line && c->name && strcmp(c->name, name) == 0 ? c : NULL;
}

void zkl_line_watch(zkl_line *line, const char *name, zkl_change change) {
    zkl_contender *c = called(line, name);
    const size_t index = zkl_snapshot_find(&line->snapshot, name);
    zkl_child *child = index != ZKL_NOT_FOUND ? &line->snapshot.children[index] : NULL;
    if (c)
        own_changed(c, child, change);
    else if (child)
        blocker_changed(line, child, change);
    zkl_line_settle(line);
}

bool zkl_line_watching(const zkl_line *line, const char *name) {
    const zkl_contender *c = called(line, name);
    const size_t index = zkl_snapshot_find(&line->snapshot, name);
    return (c && c->watch != ZKL_WATCH_NONE) ||
           (index != ZKL_NOT_FOUND && line->snapshot.children[index].watch != ZKL_WATCH_NONE);
}

void zkl_line_children_changed(zkl_line *line) {
    zkl_line_set_directory_watch(line, ZKL_WATCH_NONE); /* a watch fires only once */
    line->list_wanted |= zkl_line_awaits_leases(line);
    zkl_line_settle(line);
}

void zkl_line_own_missing(zkl_contender *c) {
    zkl_line *line = c->line;
    if (c->phase != ZKL_HELD)
        return;
    zkl_leave_missing(c);
    zkl_line_settle(line);
}

/* ---- time ---- */

/* At the end of max_hold the holder can no longer rely on its hold, and its node goes at once,
 * whatever the host is doing. */
void zkl_line_hold_timer(zkl_contender *c) {
    zkl_line *line = c->line;
    if (c->hold_until <= zkl_context_now(c->context)) {
        zkl_contender_lost(c, ZKL_LOSS_MAX_HOLD);
        zkl_leave_depart(c);
    } else {
        zkl_send_watch_own(c);
        zkl_evaluate_set_hold_timer(c, false);
    }
    zkl_line_settle(line);
}
