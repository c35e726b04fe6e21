#include "shared/sharer.h"

#include "base/timer.h"
#include "line/contender.h"
#include "line/doubt.h"
#include "shared/handoff.h"
#include "shared/linger.h"

#include <stdlib.h>

/* The end of max_hold. */
static void overstay(zkl_contender *c) {
    zkl_shared_node *shared = zkl_sharer_of(c)->shared;
    shared->sealed = true;
    zkl_handoff_leave(shared, c);
    zkl_contender_lost(c);
}

/* The node stays: it is the shared node's, which hands it on when validity is above 0 again. */
static void doubt(zkl_contender *c, zkl_contender *node) {
    zkl_sharer_of(c)->witness = node;
    zkl_doubt_begin(c, node);
}

/* `sealing`: nobody here takes it over. A write that one of several readers leaves behind hurts
 * nobody. */
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
    if (status == ZKL_UNKNOWN)
        doubt(c, shared->contender);
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
    c->hosted = false;
    cancel(c, ZKL_CANCELLED);
    give_up(c);
    zkl_shared_node *rests_on = zkl_sharer_of(c)->shared;
    if (rests_on)
        zkl_handoff_leave_resting(rests_on, c);
    zkl_doubt_drop(c);
    zkl_contender_unhost(c);
}

/* A caller that writes with the node as a guard may do so after the hold, when another caller has
 * it: so the node goes with this hold, whose end looks at the shared node. */
static zkl_contender *part(zkl_contender *c, size_t index) {
    zkl_shared_node *shared = zkl_sharer_of(c)->shared;
    if (index > 0)
        return NULL;
    shared->sealed = true;
    return shared->contender;
}

static void free_sharer(zkl_contender *c) {
    free(zkl_sharer_of(c));
}

/* The end of its wait, or of its max_hold. */
static void sharer_timer(zkl_timer *timer) {
    zkl_contender *c = ZKL_CONTAINER_OF(timer, zkl_contender, timer);
    if (c->phase == ZKL_WAITING)
        zkl_handoff_fail(c, c->context->port ? ZKL_TIMEOUT : ZKL_DISCONNECTED);
    else if (c->phase == ZKL_HELD)
        overstay(c);
}

static zkl_testimony heard(zkl_contender *c, const zkl_contender *witness) {
    return zkl_sharer_of(c)->witness == witness ? ZKL_TESTIMONY_LAST : ZKL_TESTIMONY_NONE;
}

static const zkl_contender_table sharers = {release,     give_up, cancel, drop,
                                            free_sharer, part,    heard};

zkl_contender *zkl_sharer_new(zkl_shared_node *shared, uint64_t tag, const zkl_terms *terms) {
    zkl_sharer *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    zkl_contender *c = &made->contender;
    zkl_contender_init(c, shared->line->common, tag, terms, NULL);
    c->call = &sharers;
    c->timer.fire = sharer_timer;
    zkl_handoff_wait(shared, c);
    return c;
}

/* ---- the short way ---- */

/* Does nothing of it concern others, for now? That nobody stands behind it is known only while
 * there is a link, and a list that was made since it came. */
static bool is_quiet(const zkl_shared_node *shared) {
    return shared->kind != ZKL_KIND_READ && shared->remote_waiters == ZKL_REMOTE_WAITERS_NONE &&
           !zkl_shared_node_sealed(shared) && !zkl_shared_node_waiter(shared) &&
           !shared->line->common->hurried && shared->sharing.linger > 0;
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
    zkl_linger_begin(shared);
    return true;
}

bool zkl_sharer_take_again(zkl_contender *c) {
    if (c->call != &sharers || !zkl_sharer_of(c)->rested)
        return false;
    zkl_shared_node *shared = zkl_sharer_of(c)->shared;
    if (!shared || !shared->idle || !is_quiet(shared) ||
        zkl_handoff_may_hand_over(shared) != ZKL_MAY)
        return false;
    zkl_list_remove(&shared->resting, &c->member);
    zkl_list_append(&shared->holders, &c->member);
    zkl_sharer_of(c)->rested = false;
    zkl_linger_cancel(shared);
    c->turn = ++shared->turn;
    shared->context->counters.handed++;
    zkl_contender_held_again(c);
    zkl_timer_set(&shared->context->timers, &c->timer, c->hold_until);
    return true;
}
