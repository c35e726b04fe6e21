#include "queue/turns.h"

#include "base/timer.h"
#include "queue/company.h"
#include "queue/contender.h"
#include "queue/vetting.h"

/* ---- who waits ---- */

void zkl_turns_wait(zkl_place *place, zkl_contender *c) {
    zkl_guest *guest = zkl_guest_of(c);
    guest->place = place;
    zkl_list_append(&place->waiting, &c->member);
    place->waiters++;
    place->impatient += c->terms.once;
    if (c->terms.crowd)
        zkl_list_append(&place->bounded, &guest->bounded);
}

static void wait_no_more(zkl_place *place, zkl_contender *c) {
    zkl_list_remove(&place->waiting, &c->member);
    place->waiters--;
    place->impatient -= c->terms.once;
    if (c->terms.crowd)
        zkl_list_remove(&place->bounded, &zkl_guest_of(c)->bounded);
}

void zkl_turns_fail(zkl_contender *c, zkl_status status) {
    zkl_place *place = zkl_guest_of(c)->place;
    wait_no_more(place, c);
    zkl_guest_of(c)->place = NULL;
    zkl_place_stir(place);
    zkl_contender_failed(c, status);
}

void zkl_turns_fail_all(zkl_place *place, zkl_status status) {
    ZKL_EACH (zkl_contender, c, &place->waiting, member) {
        zkl_turns_fail(c, status);
    }
}

/* They come only when nobody waits: those who do are not looked at. */
void zkl_turns_fail_impatient(zkl_place *place, zkl_status status) {
    ZKL_EACH (zkl_contender, c, &place->waiting, member) {
        if (!place->impatient)
            return;
        if (c->terms.once)
            zkl_turns_fail(c, status);
    }
}

/* The last to come of those who may be refused. */
static zkl_contender *last_bounded(const zkl_place *place) {
    zkl_guest *last = zkl_list_object(place->bounded.last, offsetof(zkl_guest, bounded));
    return last ? &last->contender : NULL;
}

void zkl_turns_thin(zkl_place *place) {
    zkl_contender *last;
    while ((last = last_bounded(place)) && place->waiters > last->terms.crowd - 1)
        zkl_turns_fail(last, ZKL_BUSY);
}

/* A single try asks only once; whoever is patient makes the node wait. */
bool zkl_turns_tried_once(const zkl_place *place) {
    return place->impatient == place->waiters;
}

/* ---- who holds ---- */

static void move_waiting(zkl_place *from, zkl_place *to) {
    ZKL_EACH (zkl_contender, c, &from->waiting, member) {
        wait_no_more(from, c);
        zkl_turns_wait(to, c);
    }
    zkl_place_stir(from); /* nobody wants it any more */
}

/* Are newcomers let in now? Who had to wait there would have given up the node with which he has
 * queued, and would stand behind those who came after him. */
static bool lets_in(zkl_place *read) {
    if (!read->entered || zkl_place_sealed(read) || zkl_turns_may_hand_over(read) != ZKL_MAY)
        return false;
    zkl_company_look(read);
    return !zkl_company_waited(read);
}

void zkl_turns_downgrade(zkl_place *write, bool well) {
    zkl_place *read = write->lent;
    if (!read)
        return;
    zkl_place *other = zkl_place_find(read->line, ZKL_KIND_READ);
    read->under = write->lent = NULL;
    if (!well || (other && !lets_in(read)))
        read->sealed = true;
    else if (other)
        move_waiting(other, read);
    zkl_place_stir(read);
}

void zkl_turns_leave(zkl_place *place, zkl_contender *c) {
    zkl_turns_downgrade(place, false);
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

/* With somebody behind, it goes as soon as nobody here wants it; but others may be about to ask, of
 * whom the host has not heard yet while one after the other has been granted. So the last of those
 * who wait is not told before the host's next turn, in which it hears of them, too. */
static bool is_last_for_now(const zkl_place *place) {
    return place->kind != ZKL_KIND_READ && place->company != ZKL_COMPANY_NONE &&
           place->counted < place->sharing.handoffs && !zkl_place_waiter(place);
}

void zkl_turns_grant(zkl_place *place, bool handed) {
    zkl_contender *c = zkl_place_waiter(place);
    wait_no_more(place, c);
    zkl_list_append(&place->holders, &c->member);
    if (!place->under || !place->turn) /* all reads under one write have the write's turn ... */
        place->turn++;
    c->turn = place->before + place->turn;
    c->token = place->node->token;
    c->revoked = place->node->revoked;
    place->counted +=
        place->company != ZKL_COMPANY_NONE && !place->under; /* ... and are one hold */
    place->context->counters.handed += handed;
    c->answer.unhurried = is_last_for_now(place);
    zkl_contender_granted(c);
    zkl_timer_set(&place->context->timers, &c->timer, c->hold_until);
}

void zkl_turns_leave_resting(zkl_place *place, zkl_contender *c) {
    zkl_list_remove(&place->resting, &c->member);
    zkl_guest_of(c)->place = NULL;
}
