#include "queue/turns.h"

#include "base/timer.h"
#include "queue/company.h"
#include "queue/contender.h"
#include "queue/vetting.h"

/* ---- who waits ---- */

void zkl_turns_wait(zkl_place *place, zkl_contender *c) {
    zkl_guest_of(c)->place = place;
    zkl_list_append(&place->waiting, &c->member);
}

void zkl_turns_fail(zkl_contender *c, zkl_status status) {
    zkl_place *place = zkl_guest_of(c)->place;
    zkl_list_remove(&place->waiting, &c->member);
    zkl_guest_of(c)->place = NULL;
    zkl_place_stir(place);
    zkl_contender_failed(c, status);
}

void zkl_turns_fail_all(zkl_place *place, zkl_status status) {
    ZKL_EACH (zkl_contender, c, &place->waiting, member) {
        zkl_turns_fail(c, status);
    }
}

void zkl_turns_fail_impatient(zkl_place *place, zkl_status status) {
    ZKL_EACH (zkl_contender, c, &place->waiting, member) {
        if (c->terms.once)
            zkl_turns_fail(c, status);
    }
}

/* How many wait, and the last to come of those who may be refused: not of those who had waited
 * before they queued anew, who were no more than that many. */
static size_t count_waiting(const zkl_place *place, zkl_contender **last) {
    size_t count = 0;
    ZKL_EACH (zkl_contender, c, &place->waiting, member) {
        count++;
        if (last && c->terms.crowd)
            *last = c;
    }
    return count;
}

void zkl_turns_thin(zkl_place *place) {
    for (;;) {
        zkl_contender *last = NULL;
        const size_t waiting = count_waiting(place, &last);
        if (!last || waiting <= last->terms.crowd - 1)
            return;
        zkl_turns_fail(last, ZKL_BUSY);
    }
}

size_t zkl_turns_waiting(const zkl_place *place) {
    return count_waiting(place, NULL);
}

/* A single try asks only once; whoever is patient makes the node wait. */
bool zkl_turns_tried_once(const zkl_place *place) {
    ZKL_EACH (const zkl_contender, c, &place->waiting, member) {
        if (!c->terms.once)
            return false;
    }
    return true;
}

/* ---- who holds ---- */

void zkl_turns_leave(zkl_place *place, zkl_contender *c) {
    zkl_list_remove(&place->holders, &c->member);
    zkl_guest_of(c)->place = NULL;
    zkl_place_stir(place);
}

void zkl_turns_lose(zkl_place *place) {
    ZKL_EACH (zkl_contender, c, &place->holders, member) {
        zkl_turns_leave(place, c);
        zkl_contender_lost(c);
    }
}

zkl_may zkl_turns_may_hand_over(zkl_place *place) {
    const zkl_context *context = place->context;
    const zkl_contender *node = place->node;
    if (!context->port)
        return ZKL_MAY_SOON; /* zkl_line_resume comes by */
    if (place->line->stale)  /* what has happened while the link was cut comes first */
        return zkl_company_ask(place) ? ZKL_MAY_SOON : ZKL_MAY_NOT;
    if (!zkl_vetting_stands(place->line))
        return ZKL_MAY_NOT;
    if (node->watch != ZKL_WATCH_ARMED)
        return node->watch == ZKL_WATCH_ASKED ? ZKL_MAY_SOON : ZKL_MAY_NOT;
    if (context->trusted_until <= zkl_context_now(context))
        return ZKL_MAY_SOON; /* the heart beats as long as somebody waits */
    return ZKL_MAY;
}

void zkl_turns_grant(zkl_place *place, bool handed) {
    zkl_contender *c = zkl_place_waiter(place);
    zkl_list_remove(&place->waiting, &c->member);
    zkl_list_append(&place->holders, &c->member);
    c->turn = ++place->turn;
    c->token = place->node->token;
    c->revoked = place->node->revoked;
    place->counted += place->company != ZKL_COMPANY_NONE;
    place->context->counters.handed += handed;
    zkl_contender_granted(c);
    zkl_timer_set(&place->context->timers, &c->timer, c->hold_until);
}

void zkl_turns_leave_resting(zkl_place *place, zkl_contender *c) {
    zkl_list_remove(&place->resting, &c->member);
    zkl_guest_of(c)->place = NULL;
}
