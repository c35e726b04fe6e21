/* SPDX-License-Identifier: MIT */
#include "compound/compound.h"

#include "base/timer.h"
#include "compound/compound_lock.h"
#include "compound/parts.h"
#include "compound/transaction.h"
#include "line/contender.h"
#include "line/doubt.h"
#include "paths/node_budget.h"

#include <stdlib.h>
#include <string.h>

/* The pause before a compound enters its lines again, once it has done so too often at once. */
#define AGAIN_PAUSE (ZKL_SECOND / 10)

/* A part has changed: the end of the step decides about the whole. */
static void mark_dirty(zkl_compound_lock *lock) {
    if (lock->dirty)
        return;
    lock->dirty = true;
    zkl_list_append(&lock->head.common->dirty_compounds, &lock->item);
}

static void part_changed(zkl_contender *part) {
    mark_dirty(zkl_compound_lock_around(part));
}

/* The gate is held only while its semaphore waits for leases, so the host has nothing to
 * release. */
static void part_revoked(zkl_contender *part) {
    zkl_compound_lock *lock = zkl_compound_lock_around(part);
    if (part != lock->gate)
        zkl_contender_revoked(&lock->head);
}

static void node_wanted(zkl_contender *part) {
    zkl_compound_lock *lock = zkl_compound_lock_around(part);
    lock->wanted = true;
    mark_dirty(lock);
}

/* ---- the head's changes of state ---- */

/* Of two parts that have ended, returns the one that says more: a failure ends the whole, but after
 * a loss it enters again. */
static const zkl_contender *worse(const zkl_contender *a, const zkl_contender *b) {
    if (!b || b->phase != ZKL_OVER)
        return a;
    return !a || a->outcome == ZKL_LOST ? b : a;
}

static const zkl_contender *ended_part(const zkl_compound_lock *lock) {
    const zkl_contender *ended = worse(NULL, lock->gate);
    for (size_t i = 0; i < lock->count; i++)
        ended = worse(ended, lock->parts[i]);
    return ended;
}

static bool is_behind(const zkl_contender *part) {
    return part->phase == ZKL_WAITING && part->queue.position == ZKL_POSITION_BEHIND;
}

/* The part that has ended the wait; else the first that waits and that a list has shown behind
 * another node; else the first that waits. `count`: none. */
static size_t busy_part(const zkl_compound_lock *lock) {
    const zkl_contender *ended = ended_part(lock);
    size_t first = lock->count;
    for (size_t i = 0; i < lock->count; i++) {
        const zkl_contender *part = lock->parts[i];
        if (part && (ended ? part == ended : is_behind(part)))
            return i;
        if (part && !ended && first == lock->count && part->phase == ZKL_WAITING)
            first = i;
    }
    return first;
}

/* The index of the path that the host has given. */
static size_t path_of(const zkl_compound_lock *lock, size_t part) {
    return lock->leases || part == lock->count ? 0 : part;
}

static void fail(zkl_compound_lock *lock, zkl_status status) {
    const size_t busy = busy_part(lock);
    lock->busy = path_of(lock, busy);
    lock->seen = busy < lock->count && (ended_part(lock) || is_behind(lock->parts[busy]));
    zkl_parts_let_all_go(lock);
    zkl_contender_failed(&lock->head, status);
}

static void lose(zkl_compound_lock *lock, zkl_loss loss) {
    zkl_parts_let_all_go(lock);
    zkl_contender_lost(&lock->head, loss);
}

static void give_back(zkl_compound_lock *lock) {
    zkl_contender_released(&lock->head);
    zkl_parts_let_all_go(lock);
}

static void enter_or_fail(zkl_compound_lock *lock) {
    if (!zkl_parts_enter(lock))
        fail(lock, ZKL_NO_MEMORY);
}

static void pause_over(zkl_timer *timer) {
    zkl_compound_lock *lock = ZKL_CONTAINER_OF(timer, zkl_compound_lock, again);
    zkl_list_remove(&lock->head.common->pausing, &lock->pause);
    enter_or_fail(lock);
}

static void begin_pause(zkl_compound_lock *lock) {
    zkl_context *context = lock->head.context;
    zkl_list_append(&lock->head.common->pausing, &lock->pause);
    zkl_timer_set(&context->timers, &lock->again, zkl_context_now(context) + AGAIN_PAUSE);
}

/* At once, unless it has lost its nodes too often. */
static void enter_again(zkl_compound_lock *lock) {
    zkl_parts_let_all_go(lock);
    lock->wanted = false;
    if (lock->entries++ < ZKL_AT_ONCE)
        enter_or_fail(lock);
    else
        begin_pause(lock);
}

/* Its last part was granted in this step, so validity is above 0. */
static void grant(zkl_compound_lock *lock) {
    zkl_contender *head = &lock->head;
    head->token = lock->parts[0]->token;
    for (size_t i = 0; i < lock->count; i++)
        head->waited |= lock->parts[i]->waited;
    zkl_contender_granted(head);
    zkl_contender_set_hold_timer(head, head->hold_until);
    if (lock->leases)
        zkl_parts_let_gate_go(lock);
}

/* True if the parents of a part have to be created first, or there is no room for its node: both
 * after a pause. Or if an earlier caller in its line waits for the answer to a batch. */
static bool is_held_up(const zkl_compound_lock *lock) {
    for (size_t i = 0; i < lock->count; i++) {
        const zkl_line *line = lock->parts[i]->line;
        if (line->parents_due || line->tally.dispatch.creates_behind || lock->parts[i]->share.owed)
            return true;
    }
    return false;
}

/* The transaction creates all nodes. Before that every former node must be gone, and the result of
 * every create known. */
static void want_nodes(zkl_compound_lock *lock) {
    size_t none = 0, there = 0;
    for (size_t i = 0; i < lock->count; i++) {
        none += lock->parts[i]->node == ZKL_NODE_NONE;
        there += lock->parts[i]->node == ZKL_NODE_THERE;
    }
    if (none + there < lock->count)
        return; /* an answer is on its way, and marks it dirty */
    if (is_held_up(lock))
        return; /* the line's retry comes, or that answer: each step looks again */
    lock->wanted = false;
    if (there)
        enter_again(lock);
    else if (zkl_context_is_linked(lock->head.context))
        zkl_transaction_send(lock); /* without a link: zkl_line_resume wants the nodes again */
}

/* ---- steps ---- */

static bool all_held(const zkl_compound_lock *lock) {
    for (size_t i = 0; i < lock->count; i++)
        if (!lock->parts[i] || lock->parts[i]->phase != ZKL_HELD)
            return false;
    return true;
}

static void step_held(zkl_compound_lock *lock) {
    const zkl_contender *ended = ended_part(lock);
    if (ended && ended->outcome == ZKL_OK)
        give_back(lock); /* the client is closing */
    else if (ended)
        lose(lock, ended->end.loss);
}

/* True if a semaphore may create its leases now. A multilock has its parts from the beginning. A
 * lock without any part is in a pause: then nothing marks it dirty, so no step asks this. */
static bool is_let_in(const zkl_compound_lock *lock) {
    return !lock->parts[0] && lock->gate->phase == ZKL_HELD;
}

/* false: the next step has more to do. */
static bool step_waiting(zkl_compound_lock *lock) {
    const zkl_contender *ended = ended_part(lock);
    if (ended && ended->outcome == ZKL_LOST)
        enter_again(lock);
    else if (ended)
        fail(lock, ended->outcome == ZKL_OK ? ZKL_CLOSED : ended->outcome);
    else if (all_held(lock))
        grant(lock);
    else if (is_let_in(lock) && !zkl_parts_join(lock))
        fail(lock, ZKL_NO_MEMORY);
    else if (lock->wanted)
        want_nodes(lock);
    return !lock->wanted;
}

void zkl_compounds_step(zkl_line_common *common) {
    if (!common->dirty_compounds.first)
        return;
    zkl_list later = {0};
    zkl_compound_lock *lock;
    while ((lock = ZKL_FIRST(&common->dirty_compounds, zkl_compound_lock, item))) {
        zkl_list_remove(&common->dirty_compounds, &lock->item);
        lock->dirty = false;
        if (lock->head.phase == ZKL_HELD) {
            step_held(lock);
        } else if (lock->head.phase == ZKL_WAITING && !step_waiting(lock) && !lock->dirty) {
            lock->dirty = true;
            zkl_list_append(&later, &lock->item);
        }
    }
    common->dirty_compounds = later;
}

void zkl_compounds_fail(zkl_line_common *common, zkl_status status) {
    ZKL_EACH (zkl_compound_lock, lock, &common->pausing, pause) {
        fail(lock, status);
    }
}

/* ---- the host's side ---- */

/* max_hold has passed. */
static void overstay(zkl_contender *head) {
    lose(zkl_compound_lock_of(head), ZKL_LOSS_MAX_HOLD);
}

static zkl_status release(zkl_contender *head) {
    zkl_compound_lock *lock = zkl_compound_lock_of(head);
    if (head->outcome == ZKL_LOST)
        return ZKL_LOST;
    if (head->phase != ZKL_HELD)
        return ZKL_NOT_OWNER;
    const zkl_status status = zkl_doubt_about(head);
    if (status == ZKL_LOST) {
        overstay(head);
    } else if (head->listener == &zkl_listener_nobody) {
        give_back(lock);
    } else {
        zkl_contender_released(head);
        zkl_parts_let_go_in_doubt(lock, status);
    }
    return status;
}

static void cancel(zkl_contender *head, zkl_status status) {
    if (head->phase == ZKL_WAITING)
        fail(zkl_compound_lock_of(head), status);
}

static void drop(zkl_contender *head) {
    if (head->phase != ZKL_OVER)
        head->context->counters.abandoned++;
    zkl_doubt_drop(head);
    zkl_contender_drop(head); /* frees it at the end of the step */
    cancel(head, ZKL_CANCELLED);
    release(head);
}

static const zkl_contender *part(const zkl_contender *head, size_t index) {
    const zkl_compound_lock *lock = ZKL_CONTAINER_OF(head, const zkl_compound_lock, head);
    return index < lock->count ? lock->parts[index] : NULL;
}

static const char *path(const zkl_contender *head) {
    return ZKL_CONTAINER_OF(head, const zkl_compound_lock, head)->paths[0];
}

/* The holder of the gate waits for leases, perhaps in this client. */
static zkl_waits waits_at_gate(const zkl_compound_lock *lock) {
    zkl_line *leases = zkl_lines_find(lock->lines, lock->paths[1]);
    return (zkl_waits){lock->gate, leases && leases->snapshot.count ? leases : lock->gate->line, 0,
                       false};
}

static zkl_waits waits(const zkl_contender *head) {
    const zkl_compound_lock *lock = ZKL_CONTAINER_OF(head, const zkl_compound_lock, head);
    if (head->phase != ZKL_WAITING)
        return (zkl_waits){.index = lock->busy, .failed = lock->seen};
    if (lock->gate && lock->gate->phase == ZKL_WAITING)
        return waits_at_gate(lock);
    const size_t i = busy_part(lock);
    if (i == lock->count)
        return (zkl_waits){0};
    return (zkl_waits){lock->parts[i], lock->parts[i]->line, path_of(lock, i), false};
}

static void free_lock(zkl_contender *head) {
    zkl_compound_lock *lock = zkl_compound_lock_of(head);
    for (size_t i = 0; lock->paths && i < lock->path_count; i++)
        free(lock->paths[i]);
    free(lock->paths);
    free(lock->parts);
    free(lock);
}

static zkl_compound_lock *lock_new(zkl_lines *lines, const char *const *paths, size_t path_count,
                                   size_t parts) {
    zkl_compound_lock *lock = calloc(1, sizeof *lock);
    if (!lock)
        return NULL;
    lock->head.common = &lines->common;
    lock->lines = lines;
    lock->path_count = path_count;
    lock->count = parts;
    lock->receiver.answer = zkl_transaction_answered;
    lock->again.fire = pause_over;
    lock->paths = calloc(path_count, sizeof *lock->paths);
    lock->parts = calloc(parts, sizeof *lock->parts);
    bool complete = lock->paths && lock->parts;
    for (size_t i = 0; complete && i < path_count; i++)
        complete = (lock->paths[i] = strdup(paths[i])) != NULL;
    if (!complete) {
        free_lock(&lock->head);
        return NULL;
    }
    return lock;
}

static zkl_contender *start(zkl_compound_lock *lock, uint64_t tag, const zkl_terms *terms) {
    static const zkl_contender_table table = {
        .release = release,
        .give_up = release,
        .cancel = cancel,
        .hold_timer = overstay,
        .drop = drop,
        .free = free_lock,
        .part = part,
        .waits = waits,
        .heard = zkl_parts_heard,
        .path = path,
    };
    zkl_contender *head = &lock->head;
    zkl_contender_init(head, head->common, tag, terms, &zkl_listener_host);
    head->call = &table;
    zkl_contender_set_deadline(head, terms);
    if (!lock->leases && !zkl_transaction_fits(lock))
        fail(lock, ZKL_TOO_BIG);
    else if (!zkl_node_budget_fits(&head->common->node_budget, zkl_parts_bytes(lock),
                                   &head->shortage))
        fail(lock, ZKL_TOO_BIG);
    else if (!zkl_parts_enter(lock))
        fail(lock, ZKL_NO_MEMORY);
    return head;
}

zkl_contender *zkl_compound_join_all(zkl_lines *lines, const char *const *paths, size_t count,
                                     uint64_t tag, const zkl_terms *terms) {
    zkl_compound_lock *lock = lock_new(lines, paths, count, count);
    if (!lock)
        return NULL;
    lock->listener = (zkl_contender_listener){part_changed, part_revoked, node_wanted};
    return start(lock, tag, terms);
}

zkl_contender *zkl_compound_join_leases(zkl_lines *lines, const char *gate, const char *leases,
                                        size_t count, uint64_t tag, const zkl_terms *terms) {
    /* for more of them than the node budget has bytes, the wait fails before it needs any */
    const size_t parts = count <= lines->common.node_budget.most ? count : 1;
    zkl_compound_lock *lock = lock_new(lines, (const char *const[]){gate, leases}, 2, parts);
    if (!lock)
        return NULL;
    lock->leases = count;
    lock->listener = (zkl_contender_listener){part_changed, part_revoked, NULL};
    return start(lock, tag, terms);
}
