/* SPDX-License-Identifier: MIT */
#include "line/contender.h"

#include "base/counts.h"
#include "base/event.h"
#include "base/round.h"
#include "base/timer.h"
#include "base/transitions.h"
#include "line/outbox.h"
#include "port/receiver.h"
#include "zklock.h"

#include <stdlib.h>

static void count_waiting(zkl_contender *c, bool waits) {
    if (!c->tally)
        return;
    c->tally->waiting[c->terms.kind] += waits ? 1 : -1;
    c->tally->bounded += c->terms.max_waiting ? (waits ? 1 : -1) : 0;
}

/* ---- what the host's contenders count ---- */

static zkl_counts *counts_of(const zkl_contender *c) {
    return zkl_counts_at(&c->context->counts, c->terms.name);
}

/* Its part of those that wait at present. */
static uint64_t *waiting_of(const zkl_contender *c) {
    zkl_counts *counts = counts_of(c);
    return c->terms.job ? &counts->standing_by : &counts->waiting;
}

static uint32_t *slot_of(const zkl_contender *c) {
    return &c->context->owners[c->receiver.owner % ZKL_OWNER_SLOTS];
}

static void begin_wait(zkl_contender *c) {
    c->context->counters.waiting++;
    ++*waiting_of(c);
    c->since = zkl_context_now(c->context);
    zkl_list_append(&c->context->waiters, &c->age);
}

static void end_wait(zkl_contender *c, zkl_result result, zkl_nanos now) {
    zkl_counts *counts = counts_of(c);
    c->context->counters.waiting--;
    --*waiting_of(c);
    counts->ended[result]++;
    zkl_histogram_add(&counts->wait, now - c->since);
    zkl_list_remove(&c->context->waiters, &c->age);
    if (c->slow)
        c->slow->wait_over(c);
}

static void begin_hold(zkl_contender *c, zkl_nanos now) {
    ++*slot_of(c);
    c->context->counters.held++;
    c->context->counters.acquired++;
    counts_of(c)->held++;
    c->since = now;
    zkl_list_append(&c->context->holds, &c->age);
}

static void count_hold_end(zkl_contender *c) {
    zkl_counts *counts = counts_of(c);
    --*slot_of(c);
    c->context->counters.held--;
    counts->held--;
    zkl_histogram_add(&counts->hold, zkl_context_now(c->context) - c->since);
    zkl_list_remove(&c->context->holds, &c->age);
}

void zkl_contender_init(zkl_contender *c, zkl_line_common *common, uint64_t tag,
                        const zkl_terms *terms, zkl_contender_listener *listener) {
    c->common = common;
    c->context = common->context;
    c->listener = listener;
    c->is_part = listener != &zkl_listener_host;
    const uint8_t name = terms->name < ZKL_COUNTS_MOST ? (uint8_t)terms->name : 0;
    c->terms = (zkl_demand){terms->kind,    terms->once,        terms->job,     name,
                            terms->permits, terms->max_waiting, terms->max_hold};
    c->receiver.owner = terms->owner;
    c->answer.tag = c->news.tag = tag;
    count_waiting(c, true);
    if (!c->is_part)
        begin_wait(c);
}

/* ---- the listeners ---- */

static void post(zkl_contender *c, zkl_notice *event, zkl_event_kind kind, zkl_status status) {
    event->kind = kind;
    zkl_events_post(&c->context->events, event, status, kind == ZKL_EVENT_FAILED ? 0 : c->token);
}

static void host_revoked(zkl_contender *c) {
    if (c->phase != ZKL_HELD)
        return; /* it hears of that after the grant */
    c->context->counters.revoked++;
    post(c, &c->news, ZKL_EVENT_REVOKED, ZKL_OK);
}

static void host_in_call_changed(zkl_contender *c) {
    if (c->phase != ZKL_HELD)
        zkl_listener_host.changed(c);
    else if (c->revoked)
        host_revoked(c);
}

/* The call that releases has its own answer. */
static void host_changed(zkl_contender *c) {
    if (c->phase == ZKL_HELD) {
        post(c, &c->answer, ZKL_EVENT_GRANTED, ZKL_OK);
        host_in_call_changed(c);
    } else if (c->outcome == ZKL_LOST) {
        zkl_events_drop(&c->context->events, &c->news); /* it can no longer be released */
        post(c, &c->news, ZKL_EVENT_LOST, ZKL_LOST);
    } else if (c->outcome != ZKL_OK) {
        post(c, &c->answer, ZKL_EVENT_FAILED, c->outcome);
    }
}

static void nobody_hears(zkl_contender *c) {
    (void)c;
}

zkl_contender_listener zkl_listener_host = {.changed = host_changed, .revoked = host_revoked};
zkl_contender_listener zkl_listener_host_in_call = {.changed = host_in_call_changed,
                                                    .revoked = host_revoked};
zkl_contender_listener zkl_listener_nobody = {.changed = nobody_hears, .revoked = nobody_hears};

void zkl_contender_revoked(zkl_contender *c) {
    if (c->revoked)
        return;
    c->revoked = true;
    c->listener->revoked(c);
}

/* ---- legal changes of the node ---- */

void zkl_contender_describe(const void *object, zkl_transition move, zkl_subject *subject) {
    const zkl_contender *c = object;
    (void)move;
    subject->number = c->answer.tag;
    subject->path = c->call->path(c) + c->context->chroot;
    subject->node = c->name;
}

/* The setters below have the outcome of a phase before they change it. */
static void describe_phase(const zkl_contender *c, zkl_phase phase, zkl_subject *subject) {
    zkl_contender_describe(c, (zkl_transition){0}, subject);
    if (phase == c->phase)
        return;
    if (phase == ZKL_HELD)
        subject->token = c->token;
    else
        subject->result = c->outcome == ZKL_OK ? "released" : zkl_status_text(c->outcome);
}

#define NODES (ZKL_NODE_DELETE_BATCHED + 1)
#define STATE(phase, node) ((unsigned)ZKL_##phase * NODES + ZKL_NODE_##node)
#define TO(phase, node) ZKL_TO(STATE(phase, node))
#define NAME(phase, node) [STATE(phase, node)] = #phase " " #node
#define NAMES(phase)                                                                               \
    NAME(phase, NONE), NAME(phase, CREATE_DUE), NAME(phase, CREATE_BEHIND),                        \
        NAME(phase, CREATE_SENT), NAME(phase, CREATE_BATCHED), NAME(phase, CREATE_TRANSACTED),     \
        NAME(phase, UNKNOWN), NAME(phase, THERE), NAME(phase, DELETE_DUE),                         \
        NAME(phase, DELETE_SENT), NAME(phase, DELETE_BATCHED)

static void describe_member(const void *object, zkl_transition move, zkl_subject *subject) {
    describe_phase(object, (zkl_phase)(move.to / NODES), subject);
}

/* Of a contender in a line. In any of these states its session may end, and then it has no node. */
static zkl_transitions transitions =
    {
        .of = "contender",
        .names =
            {
                /* NOLINTNEXTLINE(bugprone-suspicious-missing-comma) */
                NAMES(WAITING),
                NAMES(HELD),
                NAMES(OVER),
            },
        .legal =
            {
                [STATE(WAITING, NONE)] = TO(WAITING, CREATE_DUE) | TO(WAITING, CREATE_BEHIND) |
                                         TO(WAITING, CREATE_SENT) | TO(WAITING, CREATE_TRANSACTED) |
                                         TO(OVER, NONE),
                [STATE(WAITING, CREATE_DUE)] = TO(WAITING, CREATE_SENT) |
                                               TO(WAITING, CREATE_BATCHED) | TO(WAITING, NONE) |
                                               TO(OVER, CREATE_DUE),
                [STATE(WAITING, CREATE_BEHIND)] =
                    TO(WAITING, CREATE_DUE) | TO(WAITING, NONE) | TO(OVER, CREATE_BEHIND),
                [STATE(WAITING, CREATE_SENT)] = TO(WAITING, THERE) | TO(WAITING, UNKNOWN) |
                                                TO(WAITING, NONE) | TO(OVER, CREATE_SENT),
                [STATE(WAITING, CREATE_BATCHED)] = TO(WAITING, THERE) | TO(WAITING, UNKNOWN) |
                                                   TO(WAITING, NONE) | TO(WAITING, CREATE_DUE) |
                                                   TO(OVER, CREATE_BATCHED),
                [STATE(WAITING, CREATE_TRANSACTED)] = TO(WAITING, THERE) | TO(WAITING, UNKNOWN) |
                                                      TO(WAITING, NONE) |
                                                      TO(OVER, CREATE_TRANSACTED),
                [STATE(WAITING, UNKNOWN)] =
                    TO(WAITING, THERE) | TO(WAITING, NONE) | TO(OVER, UNKNOWN),
                [STATE(WAITING, THERE)] = TO(HELD, THERE) | TO(WAITING, DELETE_SENT) |
                                          TO(WAITING, NONE) | TO(OVER, THERE),
                [STATE(WAITING, DELETE_SENT)] =
                    TO(WAITING, THERE) | TO(WAITING, NONE) | TO(OVER, DELETE_SENT),
                [STATE(HELD, THERE)] = TO(OVER, THERE),
                [STATE(OVER, CREATE_DUE)] = TO(OVER, NONE),
                [STATE(OVER, CREATE_BEHIND)] = TO(OVER, NONE),
                [STATE(OVER, CREATE_SENT)] = TO(OVER, THERE) | TO(OVER, UNKNOWN) | TO(OVER, NONE),
                [STATE(OVER, CREATE_BATCHED)] = TO(OVER, THERE) | TO(OVER, UNKNOWN) |
                                                TO(OVER, NONE),
                [STATE(OVER, CREATE_TRANSACTED)] = TO(OVER, UNKNOWN) | TO(OVER, NONE),
                [STATE(OVER, UNKNOWN)] = TO(OVER, THERE) | TO(OVER, NONE),
                [STATE(OVER, THERE)] =
                    TO(OVER, DELETE_DUE) | TO(OVER, DELETE_SENT) | TO(OVER, NONE),
                [STATE(OVER, DELETE_DUE)] = TO(OVER, DELETE_SENT) | TO(OVER, DELETE_BATCHED) |
                                            TO(OVER, THERE) | TO(OVER, NONE),
                [STATE(OVER, DELETE_SENT)] = TO(OVER, THERE) | TO(OVER, NONE),
                [STATE(OVER, DELETE_BATCHED)] = TO(OVER, THERE) | TO(OVER, DELETE_DUE) |
                                                TO(OVER, NONE),
            },
        .describe = describe_member,
};

static void describe_caller(const void *object, zkl_transition move, zkl_subject *subject) {
    describe_phase(object, (zkl_phase)move.to, subject);
}

/* Of a contender in no line: a caller on a shared node, or the head of a compound. */
static zkl_transitions caller_transitions = {
    .of = "caller",
    .names = {"WAITING", "HELD", "OVER"},
    .legal =
        {
            [ZKL_WAITING] = ZKL_TO(ZKL_HELD) | ZKL_TO(ZKL_OVER),
            [ZKL_HELD] = ZKL_TO(ZKL_OVER),
            [ZKL_OVER] = ZKL_TO(ZKL_HELD), /* a caller takes its shared node again */
        },
    .describe = describe_caller,
};

static void move(const zkl_contender *c, zkl_phase phase, zkl_node node) {
    if (c->line)
        zkl_transitions_make(
            &transitions,
            (zkl_transition){(unsigned)c->phase * NODES + c->node, (unsigned)phase * NODES + node},
            c->context->trace, c);
    else
        zkl_transitions_make(&caller_transitions, (zkl_transition){c->phase, phase},
                             c->context->trace, c);
}

static zkl_transitions position_transitions = {
    .of = "position",
    .names = {"UNKNOWN", "FIRST", "BEHIND", "FULL"},
    .legal =
        {
            [ZKL_POSITION_UNKNOWN] = ZKL_TO(ZKL_POSITION_FIRST) | ZKL_TO(ZKL_POSITION_BEHIND) |
                                     ZKL_TO(ZKL_POSITION_FULL),
            [ZKL_POSITION_FIRST] = ZKL_TO(ZKL_POSITION_UNKNOWN) | ZKL_TO(ZKL_POSITION_BEHIND) |
                                   ZKL_TO(ZKL_POSITION_FULL),
            [ZKL_POSITION_BEHIND] = ZKL_TO(ZKL_POSITION_UNKNOWN) | ZKL_TO(ZKL_POSITION_FIRST),
            [ZKL_POSITION_FULL] = ZKL_TO(ZKL_POSITION_UNKNOWN) | ZKL_TO(ZKL_POSITION_FIRST),
        },
    .describe = zkl_contender_describe,
};

static zkl_transitions search_transitions = {
    .of = "search",
    .names = {"NONE", "ASKED", "RESTART"},
    .legal =
        {
            [ZKL_SEARCH_NONE] = ZKL_TO(ZKL_SEARCH_ASKED),
            [ZKL_SEARCH_ASKED] = ZKL_TO(ZKL_SEARCH_RESTART) | ZKL_TO(ZKL_SEARCH_NONE),
            [ZKL_SEARCH_RESTART] = ZKL_TO(ZKL_SEARCH_NONE),
        },
    .describe = zkl_contender_describe,
};

void zkl_contender_set_node(zkl_contender *c, zkl_node node) {
    move(c, c->phase, node);
    if (node != c->node)
        zkl_outbox_move(&c->common->outbox, &c->dispatch, &c->tally->dispatch, c->node, node);
    c->node = node;
}

void zkl_contender_not_due(zkl_contender *c) {
    if (c->node == ZKL_NODE_CREATE_DUE || c->node == ZKL_NODE_CREATE_BEHIND)
        zkl_contender_set_node(c, ZKL_NODE_NONE);
    else if (c->node == ZKL_NODE_DELETE_DUE)
        zkl_contender_set_node(c, ZKL_NODE_THERE);
}

void zkl_contender_set_position(zkl_contender *c, zkl_position position) {
    zkl_transitions_make(&position_transitions, (zkl_transition){c->queue.position, position},
                         c->context->trace, c);
    if (c->phase == ZKL_WAITING &&
        (position == ZKL_POSITION_BEHIND || position == ZKL_POSITION_FULL))
        c->patience = 0;
    c->queue.position = position;
}

void zkl_contender_set_search(zkl_contender *c, zkl_search search) {
    zkl_transitions_make(&search_transitions, (zkl_transition){c->recovery.search, search},
                         c->context->trace, c);
    c->recovery.search = search;
}

/* ---- the timer of a phase ---- */

static void deadline_passed(zkl_timer *timer) {
    zkl_contender *c = ZKL_CONTAINER_OF(timer, zkl_contender, deadline);
    c->call->cancel(c, zkl_context_is_linked(c->context) ? ZKL_TIMEOUT : ZKL_DISCONNECTED);
}

void zkl_contender_set_deadline(zkl_contender *c, const zkl_terms *terms) {
    c->deadline.fire = deadline_passed;
    zkl_timer_set(&c->context->timers, &c->deadline, terms->once ? ZKL_NEVER : terms->deadline);
}

static void hold_timer_fired(zkl_timer *timer) {
    zkl_contender *c = ZKL_CONTAINER_OF(timer, zkl_contender, hold_timer);
    c->call->hold_timer(c);
}

void zkl_contender_set_hold_timer(zkl_contender *c, zkl_nanos at) {
    c->hold_timer.fire = hold_timer_fired;
    zkl_timer_set(&c->context->timers, &c->hold_timer, at);
}

/* ---- legal changes of the phase ---- */

/* Ends the timer of the former phase, and the turn in a round. */
static void set_phase(zkl_contender *c, zkl_phase phase) {
    move(c, phase, c->node);
    c->phase = phase;
    zkl_round_leave(&c->post);
    zkl_timer_clear(&c->context->timers, &c->deadline);
    c->patience = 0;
}

/* Returns the present moment. */
static zkl_nanos bound(zkl_contender *c, zkl_nanos max_hold) {
    const zkl_nanos now = zkl_context_now(c->context);
    const bool bounded = max_hold && max_hold < ZKL_NEVER - now;
    c->hold_until = bounded ? now + max_hold : ZKL_NEVER;
    return now;
}

/* Returns the present moment. */
static zkl_nanos hold(zkl_contender *c) {
    set_phase(c, ZKL_HELD);
    count_waiting(c, false);
    if (c->tally)
        c->tally->held[c->terms.kind]++;
    return bound(c, c->terms.max_hold);
}

void zkl_contender_extend(zkl_contender *c, zkl_nanos max_hold) {
    const bool for_its_end = !c->hold_timer.at || c->hold_timer.at == c->hold_until;
    bound(c, max_hold);
    if (for_its_end || c->hold_timer.at > c->hold_until)
        zkl_contender_set_hold_timer(c, c->hold_until);
}

void zkl_contender_granted(zkl_contender *c) {
    const zkl_nanos now = hold(c);
    if (!c->is_part) {
        end_wait(c, ZKL_RESULT_ACQUIRED, now);
        begin_hold(c, now);
    }
    c->listener->changed(c);
}

void zkl_contender_held_again(zkl_contender *c) {
    begin_hold(c, hold(c));
    zkl_counts *counts = counts_of(c);
    counts->ended[ZKL_RESULT_ACQUIRED]++;
    zkl_histogram_add(&counts->wait, 0);
}

/* The host may not have taken the answer to its wait yet. */
void zkl_contender_rested(zkl_contender *c) {
    post(c, &c->news, ZKL_EVENT_FAILED, ZKL_OK);
}

void zkl_contender_failed(zkl_contender *c, zkl_status status) {
    c->outcome = status;
    set_phase(c, ZKL_OVER);
    count_waiting(c, false);
    if (!c->is_part) {
        end_wait(c, zkl_result_of(status), zkl_context_now(c->context));
        c->context->counters.timeouts += status == ZKL_TIMEOUT || status == ZKL_DISCONNECTED;
    }
    c->listener->changed(c);
}

static void end_hold(zkl_contender *c, zkl_status outcome) {
    c->outcome = outcome;
    set_phase(c, ZKL_OVER);
    if (c->tally)
        c->tally->held[c->terms.kind]--;
    c->hold_until = 0;
    if (!c->is_part)
        count_hold_end(c);
}

void zkl_contender_had_lost(zkl_contender *c, zkl_loss loss) {
    c->end.loss = loss;
    c->outcome = ZKL_LOST;
    if (!c->is_part) {
        c->context->counters.lost++;
        counts_of(c)->lost[loss]++;
    }
    c->listener->changed(c);
}

void zkl_contender_lost(zkl_contender *c, zkl_loss loss) {
    end_hold(c, ZKL_LOST);
    zkl_contender_had_lost(c, loss);
}

void zkl_contender_released(zkl_contender *c) {
    end_hold(c, ZKL_OK);
    c->context->counters.released += !c->is_part;
    c->listener->changed(c);
}

void zkl_contender_refused(zkl_contender *c, zkl_status status) {
    c->common->refusals += (status != ZKL_OK) - (c->end.refused != ZKL_OK);
    c->end.refused = status;
}

void zkl_contender_depart(zkl_contender *c) {
    c->end.departure = ++c->common->departures;
    zkl_list_append(&c->common->departing, &c->end.leaving);
}

static void free_at_end_of_step(zkl_contender *c) {
    zkl_list_append(&c->common->retired, &c->member);
}

void zkl_contender_retire(zkl_contender *c) {
    zkl_timer_clear(&c->context->timers, &c->erase_timer);
    zkl_receiver_leave(&c->context->receivers, &c->receiver);
    if (c->end.departure)
        zkl_list_remove(&c->common->departing, &c->end.leaving);
    zkl_contender_refused(c, ZKL_OK);
    zkl_node_budget_return(&c->common->node_budget, &c->share);
    c->line = NULL;
    if (c->listener == &zkl_listener_nobody)
        free_at_end_of_step(c);
}

void zkl_contender_drop(zkl_contender *c) {
    c->listener = &zkl_listener_nobody;
    zkl_events_drop(&c->context->events, &c->answer);
    zkl_events_drop(&c->context->events, &c->news);
    if (!c->line)
        free_at_end_of_step(c);
}

/* The hold is read last: if it is still there, so is the session that vouches for it. Otherwise a
 * thread that stands still in between could join a hold that is lost by then to what a later
 * session vouches for. */
zkl_nanos zkl_contender_valid_until(const zkl_contender *c) {
    const zkl_nanos valid_until = c->context->valid_until, hold_until = c->hold_until;
    return hold_until < valid_until ? hold_until : valid_until;
}

void zkl_contenders_sweep(zkl_line_common *common) {
    ZKL_EACH (zkl_contender, c, &common->retired, member)
        c->call->free(c);
    common->retired = (zkl_list){0};
}
