#include "queue/contender.h"

#include <stdlib.h>

void zkl_contender_init(zkl_contender *c, zkl_context *context, uint64_t tag,
                        const zkl_terms *terms, zkl_compound *compound) {
    c->context = context;
    c->compound = compound;
    c->terms = *terms;
    c->hosted = true;
    c->answer.tag = c->loss.tag = c->revocation.tag = tag;
    c->loss.kind = ZKL_EVENT_LOST;
    if (!compound)
        context->counters.waiting++;
}

/* A part is not counted, and has nothing to tell the host. */
static bool is_part(zkl_contender *c) {
    if (c->compound)
        c->compound->changed(c->compound);
    return c->compound != NULL;
}

static void tell(zkl_contender *c, zkl_event *event, zkl_event_kind kind, zkl_status status) {
    if (!c->hosted)
        return;
    event->kind = kind;
    zkl_events_post(&c->context->events, event, status, c->token);
}

static void tell_revoked(zkl_contender *c) {
    c->context->counters.revoked++;
    tell(c, &c->revocation, ZKL_EVENT_REVOKED, ZKL_OK);
}

void zkl_contender_revoked(zkl_contender *c) {
    if (c->revoked)
        return;
    c->revoked = true;
    if (c->compound)
        c->compound->revoked(c->compound, c);
    else if (c->phase == ZKL_HELD)
        tell_revoked(c);
}

void zkl_contender_granted(zkl_contender *c) {
    c->phase = ZKL_HELD;
    zkl_round_leave(&c->post);
    zkl_timer_clear(&c->context->timers, &c->timer);
    c->hold_until = ZKL_NEVER;
    const zkl_nanos now = zkl_context_now(c->context);
    if (c->terms.max_hold && c->terms.max_hold < ZKL_NEVER - now)
        c->hold_until = now + c->terms.max_hold;
    if (is_part(c))
        return;
    c->context->counters.waiting--;
    c->context->counters.held++;
    c->context->counters.acquired++;
    tell(c, &c->answer, ZKL_EVENT_GRANTED, ZKL_OK);
    if (c->revoked)
        tell_revoked(c);
}

void zkl_contender_failed(zkl_contender *c, zkl_status status) {
    c->phase = ZKL_OVER;
    c->outcome = status;
    zkl_round_leave(&c->post);
    zkl_timer_clear(&c->context->timers, &c->timer);
    if (is_part(c))
        return;
    c->context->counters.waiting--;
    if (status == ZKL_TIMEOUT || status == ZKL_DISCONNECTED)
        c->context->counters.timeouts++;
    tell(c, &c->answer, ZKL_EVENT_FAILED, status);
}

/* Is it the host's to hear of? */
static bool give_up_hold(zkl_contender *c, zkl_status outcome) {
    c->phase = ZKL_OVER;
    c->outcome = outcome;
    zkl_round_leave(&c->post);
    zkl_timer_clear(&c->context->timers, &c->timer);
    if (is_part(c))
        return false;
    c->context->counters.held--;
    return true;
}

void zkl_contender_lost(zkl_contender *c) {
    if (!give_up_hold(c, ZKL_LOST))
        return;
    c->context->counters.lost++;
    tell(c, &c->loss, ZKL_EVENT_LOST, ZKL_LOST);
}

void zkl_contender_released(zkl_contender *c) {
    if (give_up_hold(c, ZKL_OK))
        c->context->counters.released++;
}

void zkl_contender_depart(zkl_contender *c) {
    zkl_context *context = c->context;
    c->departure = ++context->departures;
    c->ahead = context->last_departing;
    c->behind = NULL;
    *(c->ahead ? &c->ahead->behind : &context->departing) = c;
    context->last_departing = c;
}

static void departed(zkl_contender *c) {
    zkl_context *context = c->context;
    *(c->ahead ? &c->ahead->behind : &context->departing) = c->behind;
    *(c->behind ? &c->behind->ahead : &context->last_departing) = c->ahead;
    c->departure = 0;
}

static void free_when_swept(zkl_contender *c) {
    c->next = c->context->retired;
    c->context->retired = c;
}

void zkl_contender_retire(zkl_contender *c) {
    zkl_context *context = c->context;
    zkl_round_leave(&c->post);
    zkl_timer_clear(&context->timers, &c->timer);
    zkl_receiver_leave(&context->receivers, &c->receiver);
    if (c->departure)
        departed(c);
    c->line = NULL;
    if (!c->hosted)
        free_when_swept(c);
}

void zkl_contender_unhost(zkl_contender *c) {
    c->hosted = false;
    zkl_events_drop(&c->context->events, &c->answer);
    zkl_events_drop(&c->context->events, &c->loss);
    zkl_events_drop(&c->context->events, &c->revocation);
    if (!c->line)
        free_when_swept(c);
}

zkl_nanos zkl_contender_trusted_until(const zkl_contender *c) {
    const zkl_nanos trusted = c->context->trusted_until;
    if (c->phase != ZKL_HELD)
        return 0;
    return c->hold_until < trusted ? c->hold_until : trusted;
}

void zkl_contenders_sweep(zkl_context *context) {
    zkl_contender *next;
    for (zkl_contender *c = context->retired; c; c = next) {
        next = c->next;
        c->call->free(c);
    }
    context->retired = NULL;
}
