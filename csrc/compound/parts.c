/* SPDX-License-Identifier: MIT */
#include "compound/parts.h"

#include "base/timer.h"
#include "line/contender.h"
#include "line/doubt.h"
#include "line/evaluate.h"
#include "line/line.h"
#include "line/line_state.h"
#include "line/lines.h"
#include "paths/node_budget.h"
#include "port/receiver.h"
#include "recipe/znode.h"

#include <stdint.h>
#include <string.h>

/* Lets go of a part, which leaves its line by itself. Nothing hears of it any more. The caller
 * settles its line. */
static void let_go(zkl_compound_lock *lock, zkl_contender **part) {
    zkl_contender *c = *part;
    *part = NULL;
    if (!c)
        return;
    lock->head.waited |= c->waited;
    if (c->node == ZKL_NODE_CREATE_TRANSACTED)
        zkl_line_create_unknown(c); /* the answer to the transaction will not find it */
    zkl_line_drop_part(c);
}

static void settle_at(zkl_compound_lock *lock, const char *path) {
    zkl_line *line = zkl_lines_find(lock->lines, path);
    if (line)
        zkl_line_settle(line);
}

static void end_pause(zkl_compound_lock *lock) {
    if (lock->again.at)
        zkl_list_remove(&lock->head.common->pausing, &lock->pause);
    zkl_timer_clear(&lock->head.context->timers, &lock->again);
}

/* All parts leave before a line is settled: no part is granted because another one has left. */
static void all_have_left(zkl_compound_lock *lock) {
    for (size_t i = 0; i < lock->path_count; i++)
        settle_at(lock, lock->paths[i]);
    zkl_receiver_leave(&lock->head.context->receivers, &lock->receiver);
    zkl_node_budget_return(&lock->head.common->node_budget, &lock->head.share);
    end_pause(lock);
}

void zkl_parts_let_all_go(zkl_compound_lock *lock) {
    let_go(lock, &lock->gate);
    for (size_t i = 0; i < lock->count; i++)
        let_go(lock, &lock->parts[i]);
    all_have_left(lock);
}

void zkl_parts_let_gate_go(zkl_compound_lock *lock) {
    let_go(lock, &lock->gate);
    settle_at(lock, lock->paths[0]);
}

void zkl_parts_let_go_in_doubt(zkl_compound_lock *lock, zkl_status answer) {
    for (size_t i = 0; i < lock->count; i++) {
        zkl_contender *part = lock->parts[i];
        zkl_doubt_begin(&lock->head, part, answer);
        let_go(lock, &lock->parts[i]);
        lock->parts[i] = part;
    }
    all_have_left(lock);
}

zkl_testimony zkl_parts_heard(zkl_contender *head, const zkl_contender *witness) {
    zkl_compound_lock *lock = zkl_compound_lock_of(head);
    size_t left = 0;
    bool found = false;
    for (size_t i = 0; i < lock->count; i++) {
        if (lock->parts[i] == witness) {
            lock->parts[i] = NULL;
            found = true;
        }
        left += lock->parts[i] != NULL;
    }
    if (!found)
        return ZKL_TESTIMONY_NONE;
    return left ? ZKL_TESTIMONY_ONE : ZKL_TESTIMONY_LAST;
}

static size_t node_bytes(const char *path, zkl_kind kind) {
    return strlen(path) + 1 + zkl_znode_length(kind);
}

/* At most half of what a size_t can have. */
static size_t lease_bytes(const zkl_compound_lock *lock) {
    const size_t each = node_bytes(lock->paths[1], ZKL_KIND_LEASE), most = SIZE_MAX / 2;
    return lock->leases < most / each ? lock->leases * each : most;
}

size_t zkl_parts_bytes(const zkl_compound_lock *lock) {
    if (lock->leases)
        return node_bytes(lock->paths[0], ZKL_KIND_LOCK) + lease_bytes(lock);
    size_t bytes = 0;
    for (size_t i = 0; i < lock->count; i++)
        bytes += node_bytes(lock->paths[i], ZKL_KIND_LOCK);
    return bytes;
}

static zkl_contender *join_part(zkl_compound_lock *lock, const char *path, zkl_kind kind) {
    const zkl_terms terms = {
        .kind = kind,
        .permits = lock->head.terms.permits,
        .deadline = ZKL_NEVER, /* the deadline is the head's */
        .once = lock->head.terms.once,
        .owner = lock->head.receiver.owner,
    };
    zkl_line *line = zkl_lines_find_or_make(lock->lines, path);
    return line ? zkl_line_join_part(line, &terms, &lock->listener) : NULL;
}

bool zkl_parts_join(zkl_compound_lock *lock) {
    zkl_node_budget_return(&lock->head.common->node_budget, &lock->head.share);
    for (size_t i = 0; i < lock->count; i++) {
        const char *path = lock->leases ? lock->paths[1] : lock->paths[i];
        lock->parts[i] = join_part(lock, path, lock->leases ? ZKL_KIND_LEASE : ZKL_KIND_LOCK);
        if (!lock->parts[i])
            return false;
    }
    return true;
}

bool zkl_parts_enter(zkl_compound_lock *lock) {
    if (!lock->leases)
        return zkl_parts_join(lock);
    lock->gate = join_part(lock, lock->paths[0], ZKL_KIND_LOCK);
    zkl_node_budget_claim(&lock->head.common->node_budget, &lock->head.share, lease_bytes(lock));
    return lock->gate != NULL;
}
