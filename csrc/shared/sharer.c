/* SPDX-License-Identifier: MIT */
#include "shared/sharer.h"

#include "base/timer.h"
#include "line/contender.h"
#include "line/doubt.h"
#include "shared/handoff.h"
#include "shared/linger.h"

#include <stdlib.h>

/* max_hold has passed. */
static void overstay(zkl_contender *c) {
    zkl_shared_node *shared = zkl_sharer_of(c)->shared;
    shared->sealed = true;
    zkl_handoff_leave(shared, c);
    zkl_contender_lost(c, ZKL_LOSS_MAX_HOLD);
}

/* `sealing`: no caller here may take the node over. For one of several readers that is not needed:
 * a late write of a reader harms nobody. */
static zkl_status end_hold(zkl_contender *c, bool sealing) {
    if (c->outcome == ZKL_LOST)
        return ZKL_LOST;
    if (c->phase != ZKL_HELD)
        return ZKL_NOT_OWNER;
    const zkl_status status = zkl_doubt_about(c);
    if (status == ZKL_LOST) {
        overstay(c);
        return ZKL_LOST;
    }
    zkl_shared_node *shared = zkl_sharer_of(c)->shared;
    shared->sealed |= sealing && shared->kind != ZKL_KIND_READ;
    zkl_handoff_downgrade(shared, !sealing);
    zkl_handoff_leave(shared, c);
    zkl_contender_released(c);
    zkl_handoff_doubt(c, shared->contender, status);
    return status;
}

static zkl_status release(zkl_contender *c) {
    return end_hold(c, false);
}

static zkl_status give_up(zkl_contender *c) {
    return end_hold(c, true);
}

static void cancel(zkl_contender *c, zkl_status status) {
    if (c->phase == ZKL_WAITING)
        zkl_handoff_fail(c, status);
}

static void drop(zkl_contender *c) {
    if (c->phase != ZKL_OVER)
        c->context->counters.abandoned++;
    c->listener = &zkl_listener_nobody;
    cancel(c, ZKL_CANCELLED);
    give_up(c);
    zkl_shared_node *rests_on = zkl_sharer_of(c)->shared;
    if (rests_on)
        zkl_handoff_leave_resting(rests_on, c);
    zkl_doubt_drop(c);
    zkl_contender_drop(c);
}

static const zkl_contender *part(const zkl_contender *c, size_t index) {
    const zkl_sharer *sharer = ZKL_CONTAINER_OF(c, const zkl_sharer, contender);
    return index == 0 ? sharer->shared->contender : NULL;
}

/* Another caller would hold when the write comes. */
static void seal(zkl_contender *c) {
    zkl_sharer_of(c)->shared->sealed = true;
}

static void free_sharer(zkl_contender *c) {
    free(zkl_sharer_of(c));
}

static zkl_testimony heard(zkl_contender *c, const zkl_contender *witness) {
    return zkl_sharer_of(c)->witness == witness ? ZKL_TESTIMONY_ONLY : ZKL_TESTIMONY_NONE;
}

static const char *path(const zkl_contender *c) {
    return ZKL_CONTAINER_OF(c, const zkl_sharer, contender)->path;
}

static zkl_waits waits(const zkl_contender *c) {
    const zkl_shared_node *shared = ZKL_CONTAINER_OF(c, const zkl_sharer, contender)->shared;
    return shared ? (zkl_waits){shared->contender, shared->line, 0, false} : (zkl_waits){0};
}

static const zkl_contender_table sharers = {
    .release = release,
    .give_up = give_up,
    .cancel = cancel,
    .hold_timer = overstay,
    .drop = drop,
    .free = free_sharer,
    .part = part,
    .seal = seal,
    .waits = waits,
    .heard = heard,
    .path = path,
};

zkl_contender *zkl_sharer_new(zkl_shared_node *shared, uint64_t tag, const zkl_terms *terms) {
    zkl_sharer *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    zkl_contender *c = &made->contender;
    made->path = shared->line->path;
    zkl_contender_init(c, shared->line->common, tag, terms, &zkl_listener_host);
    c->call = &sharers;
    zkl_handoff_wait(shared, c);
    return c;
}

/* ---- the short way ---- */

/* True if nothing of it concerns others now. Only with a link, and a list since that came up, is it
 * known that nobody waits behind it. */
static bool is_quiet(const zkl_shared_node *shared) {
    return shared->kind != ZKL_KIND_READ && shared->remote_waiters == ZKL_REMOTE_WAITERS_NONE &&
           !zkl_shared_node_sealed(shared) && !zkl_shared_node_waiter(shared) &&
           !shared->line->common->hurried && shared->sharing.linger > 0;
}

uint64_t zkl_sharer_turn(zkl_contender *c) {
    return c->call == &sharers ? zkl_sharer_of(c)->turn : 0;
}

bool zkl_sharer_rest(zkl_contender *c) {
    if (c->call != &sharers || c->phase != ZKL_HELD || zkl_doubt_about(c) != ZKL_OK)
        return false;
    zkl_shared_node *shared = zkl_sharer_of(c)->shared;
    if (!is_quiet(shared))
        return false;
    zkl_list_remove(&shared->holders, &c->member);
    zkl_list_append(&shared->resting, &c->member);
    zkl_sharer_of(c)->rested = true;
    zkl_contender_released(c);
    c->receiver.owner = 0; /* the host may take it again for another one */
    zkl_linger_begin(shared);
    return true;
}

bool zkl_sharer_take_again(zkl_contender *c) {
    if (c->call != &sharers || !zkl_sharer_of(c)->rested)
        return false;
    zkl_shared_node *shared = zkl_sharer_of(c)->shared;
    if (!shared || !shared->idle || !is_quiet(shared) || zkl_handoff_prepare(shared) != ZKL_MAY)
        return false;
    zkl_list_remove(&shared->resting, &c->member);
    zkl_list_append(&shared->holders, &c->member);
    zkl_sharer_of(c)->rested = false;
    zkl_linger_cancel(shared);
    zkl_sharer_of(c)->turn = ++shared->turn;
    shared->context->counters.handed++;
    zkl_contender_held_again(c);
    zkl_contender_set_hold_timer(c, c->hold_until);
    return true;
}
