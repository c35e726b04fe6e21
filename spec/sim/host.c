/* SPDX-License-Identifier: MIT */
#include "host.h"

#include "clerk.h"
#include "ensemble.h"
#include "journal.h"
#include "judge.h"
#include "lines.h"
#include "losses.h"
#include "marks.h"
#include "nodes.h"
#include "line/contender.h"

#include "client/client_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const paths[PLACES] = {
    [PLACE_A] = SIM_ROOT "/a",
    [PLACE_B] = SIM_ROOT "/b",
    [PLACE_SHARED] = SIM_ROOT "/shared",
    [PLACE_POOL] = SIM_ROOT "/pool",
};

const char *sim_place_path(sim_place place) {
    return place < PLACES ? paths[place] : sim_line_path(place);
}

int sim_places(void) {
    return PLACES + sim_line_count;
}

/* As its client is to be told. */
static const char *path_of(const sim_host *host, sim_place place) {
    return sim_place_path(place) + strlen(host->chroot);
}

/* ---- its code runs ---- */

static sim_machine *enter(sim_host *host) {
    return sim_enter(&host->machine);
}

static zkl_nanos after(const sim_host *host, zkl_nanos pause) {
    return sim_clock(&host->machine) + pause;
}

/* ---- callers ---- */

static sim_caller *caller_of(const sim_host *host, uint64_t tag) {
    sim_caller *c = host->callers;
    while (c && c->tag != tag)
        c = c->next;
    return c;
}

static bool waits(const sim_caller *c) {
    return c->answers == 0;
}

static bool holds(const sim_caller *c) {
    return c->is_granted && !c->is_released && !c->losses;
}

static const char *kind_name(const sim_caller *c) {
    static const char *const names[ZKL_KINDS] = {"?", "lock", "read", "write", "lease"};
    return c->is_whole ? "multilock" : c->is_shared ? "shared lock" : names[c->kind];
}

/* Gone from the host's sight; what the client still has of it is the client's. */
static void forget(sim_caller *c) {
    sim_host *host = c->host;
    sim_caller **p = &host->callers;
    while (*p != c)
        p = &(*p)->next;
    *p = c->next;
    sim_cancel(&c->turn);
    sim_journal_dropped(c);
    sim_clerk_forget(c);
    zkl_drop(c->contender);
    free(c);
}

static void release(sim_caller *c) {
    c->was_held = sim_judge_is_held(c);
    c->is_patient = c->tag % 4;
    sim_journal_sure(c);
    sim_losses_release(c);
    const zkl_status status = zkl_release(c->contender);
    sim_journal_released(c, status);
    SAY("host %d releases %s %llu: %s", c->host->machine.id, kind_name(c),
        (unsigned long long)c->tag, zkl_status_text(status));
    c->is_released = true;
    SIM_CHECK(status == ZKL_OK || status == ZKL_UNKNOWN || status == ZKL_LOST);
    if (status == ZKL_OK && !c->was_held)
        sim_fail("%s %llu of host %d is released as held, and its node is gone", kind_name(c),
                 (unsigned long long)c->tag, c->host->machine.id);
    if (status != ZKL_LOST)
        SIM_CHECK(!zkl_held(c->contender) && zkl_token(c->contender) == 0);
    c->is_doubtful = status == ZKL_OK || status == ZKL_UNKNOWN;
    c->is_patient |= status == ZKL_UNKNOWN;
    sim_losses_judge(c->host);
}

/* The answer that its release could not give. */
static void hear_confirmed(sim_caller *c) {
    SAY("host %d hears: %s %llu was held", c->host->machine.id, kind_name(c),
        (unsigned long long)c->tag);
    sim_journal_confirmed(c);
    SIM_CHECK(c->is_doubtful);
    c->is_doubtful = false;
    if (!c->was_held)
        sim_fail("%s %llu of host %d is told that it was held, and its node was gone", kind_name(c),
                 (unsigned long long)c->tag, c->host->machine.id);
}

static void check_hold(const sim_caller *c) {
    uint64_t turn;
    SIM_CHECK(zkl_held(c->contender) && zkl_token(c->contender) == c->token);
    SIM_CHECK(zkl_turn(c->contender, &turn) && (turn > 0) == c->is_shared);
    SIM_CHECK(zkl_session_id(c->host->client) != 0);
}

/* The script goes on with a lock that it was given. */
static void go_on(sim_event *event) {
    sim_caller *c = ZKL_CONTAINER_OF(event, sim_caller, turn);
    if (sim_is_stopped(&c->host->machine, event))
        return;
    sim_machine *before = enter(c->host);
    if (holds(c))
        sim_journal_sure(c);
    if (holds(c) && c->is_under && sim_once_in(4)) {
        sim_after(event, sim_some(ZKL_SECOND));
    } else if (holds(c) && !c->host->is_resting && c->host->has_marks && sim_any(3)) {
        sim_marks_held(c);
        sim_after(event, sim_some(300 * SIM_MS));
    } else if (holds(c) && !c->host->is_resting && c->host->has_notes && sim_any(3)) {
        sim_clerk_held(c);
        sim_after(event, sim_some(300 * SIM_MS));
    } else if (holds(c)) {
        if (zkl_validity(c->contender) > 0)
            check_hold(c);
        release(c);
        sim_after(event, sim_some(200 * SIM_MS));
    } else if (c->is_doubtful && c->is_patient) {
        sim_after(event, ZKL_SECOND); /* it is told in the end */
    } else if (!waits(c)) {
        forget(c);
    }
    sim_leave(before);
}

/* ---- polling ---- */

bool sim_host_may_hear(zkl_status status) {
    switch ((int)status) {
    case ZKL_TIMEOUT:
    case ZKL_DISCONNECTED:
    case ZKL_CLOSED:
    case ZKL_ACCESS_DENIED:
    case ZKL_AUTH_FAILED:
        return true;
    default:
        return false;
    }
}

static void check_failure(const sim_caller *c, zkl_status status) {
    if (sim_host_may_hear(status) || (status == ZKL_TOO_BIG && c->host->nodes_most))
        return;
    switch ((int)status) {
    case ZKL_CANCELLED:
    case ZKL_BUSY:
    case ZKL_LOST:
    case ZDATAINCONSISTENCY:
        return;
    case ZNODEEXISTS: /* a stranger has made a node with the name of the one to come */
        SIM_CHECK(c->host->is_forged);
        return;
    case ZTHROTTLEDOP: /* the others are asked for again */
        SIM_CHECK(c->tries_once);
        return;
    default:
        sim_fail("%s %llu of host %d failed with '%s'", kind_name(c), (unsigned long long)c->tag,
                 c->host->machine.id, zkl_status_text(status));
    }
}

/* Mostly short, sometimes longer than a session. */
static zkl_nanos some_hold(const sim_host *host) {
    if (!sim_once_in(6))
        return sim_some(300 * SIM_MS);
    return sim_some(sim_once_in(6) ? 2 * zkl_clock_duration(host->session_timeout)
                                   : 3 * ZKL_SECOND);
}

static void hear_answer(sim_caller *c, const zkl_event *event) {
    SIM_CHECK(c->answers++ == 0);
    c->status = event->status;
    c->is_granted = event->kind == ZKL_EVENT_GRANTED;
    c->token = event->token;
    SAY("host %d hears: %s %llu %s, token %llx", c->host->machine.id, kind_name(c),
        (unsigned long long)c->tag, c->is_granted ? "is held" : zkl_status_text(event->status),
        (unsigned long long)event->token);
    if (c->is_granted)
        SIM_CHECK(event->token > 0 && event->status == ZKL_OK);
    else
        check_failure(c, event->status);
    SIM_CHECK(!c->is_given_up || event->status == ZKL_DISCONNECTED);
    sim_journal_answered(c);
    if (c->is_granted)
        sim_journal_sure(c);
    sim_lines_answered(c);
    sim_counted.grants += c->is_granted;
    sim_after(&c->turn, c->host->is_resting ? sim_some(20 * SIM_MS) : some_hold(c->host));
}

static void hear_of(sim_caller *c, const zkl_event *event) {
    if (event->kind == ZKL_EVENT_REVOKED) {
        SIM_CHECK(c->is_granted);
        sim_after(&c->turn, sim_some(50 * SIM_MS));
    } else if (event->kind == ZKL_EVENT_LOST) {
        SAY("host %d hears: %s %llu is lost", c->host->machine.id, kind_name(c),
            (unsigned long long)c->tag);
        sim_journal_lost(c);
        SIM_CHECK(c->is_granted && c->losses++ == 0);
        SIM_CHECK(event->token == c->token);
        c->is_doubtful = false;
        sim_counted.losses++;
        sim_after(&c->turn, sim_some(50 * SIM_MS));
    } else if (event->kind == ZKL_EVENT_FAILED && event->status == ZKL_OK) {
        hear_confirmed(c);
    } else {
        hear_answer(c, event);
    }
}

static void hear(sim_host *host, const zkl_event *event) {
    if (sim_clerk_hear(host, event) || sim_marks_hear(host, event))
        return;
    switch (event->kind) {
    case ZKL_EVENT_GRANTED:
    case ZKL_EVENT_FAILED:
    case ZKL_EVENT_LOST:
    case ZKL_EVENT_REVOKED: {
        sim_caller *c = caller_of(host, event->tag);
        SIM_CHECK(c != NULL); /* nothing is told of those that were dropped */
        hear_of(c, event);
        break;
    }
    case ZKL_EVENT_ANSWER:
        for (sim_question *q = host->questions; q; q = q->next)
            if (q->tag == event->tag) {
                SIM_CHECK(!q->is_answered);
                q->is_answered = true;
                q->status = event->status;
            }
        break;
    case ZKL_EVENT_STATE:
        SAY("host %d is %s", host->machine.id, zkl_state_text((zkl_state)event->status));
        break;
    case ZKL_EVENT_CHANGED:
    case ZKL_EVENT_ENDED:
    case ZKL_EVENT_LOG:
        break;
    }
}

/* Whoever asked looks at what he is told. */
static void look_at_answer(const zkl_context *context, const sim_question *q) {
    zkl_participant p = ZKL_PARTICIPANT_DEFAULTS;
    for (size_t i = 0; q->status == ZKL_OK && zkl_participant_at(q->query, i, &p); i++)
        SIM_CHECK(p.node && p.kind);
    zkl_revoked(q->query);
    if (q->status == ZKL_OK)
        SIM_CHECK(!q->is_of_past && (!q->ended_in || q->ended_in != context->session));
}

static void drop_answered(sim_host *host) {
    for (sim_question **p = &host->questions; *p;) {
        sim_question *q = *p;
        if (!q->is_answered) {
            p = &q->next;
            continue;
        }
        *p = q->next;
        look_at_answer(&host->client->context, q);
        zkl_query_drop(q->query);
        free(q);
    }
}

static void poll(sim_event *due) {
    sim_host *host = ZKL_CONTAINER_OF(due, sim_host, poll);
    if (!host->client || sim_is_stopped(&host->machine, due))
        return;
    sim_machine *before = enter(host);
    zkl_event event;
    for (unsigned most = 1 + sim_any(8); most > 0 && zkl_peek(host->client, &event); most--) {
        hear(host, &event);
        zkl_forget(host->client, event.serial);
    }
    if (!host->is_resting)
        drop_answered(host);
    sim_leave(before);
}

void sim_host_ran(sim_host *host) {
    if (host->client && !host->poll.place && host->client->context.events.queued.first)
        sim_after(&host->poll, sim_some(sim_once_in(10) ? host->lateness : SIM_MS / 2));
}

/* ---- deeds ---- */

static size_t count_callers(const sim_host *host) {
    size_t n = 0;
    for (const sim_caller *c = host->callers; c; c = c->next)
        n++;
    return n;
}

static zkl_nanos some_deadline(const sim_host *host) {
    if (sim_once_in(2))
        return ZKL_NEVER;
    return after(host, sim_some(sim_once_in(2) ? 2 * ZKL_SECOND : 30 * ZKL_SECOND));
}

static sim_caller *write_held(const sim_host *host) {
    for (sim_caller *c = host->callers; c; c = c->next)
        if (holds(c) && c->kind == ZKL_KIND_WRITE && zkl_held(c->contender))
            return c;
    return NULL;
}

/* All of a client's callers at a place have the same. */
static const zkl_sharing *sharing_at(sim_place place) {
    static const zkl_sharing all[PLACES] = {
        [PLACE_A] = {sizeof(zkl_sharing), ZKL_SECOND, ZKL_SECOND},
        [PLACE_B] = {sizeof(zkl_sharing), 0, 0},
        [PLACE_SHARED] = {sizeof(zkl_sharing), ZKL_SECOND / 4, 3 * ZKL_SECOND},
    };
    return &all[place];
}

/* With others of its client on one node, now and then. */
static void share_node(sim_caller *c, sim_place place, zkl_terms *terms) {
    c->is_shared = sim_once_in(3);
    if (c->is_shared)
        terms->sharing = sharing_at(place);
}

static zkl_status join_shared(sim_caller *c, zkl_terms *terms) {
    sim_host *host = c->host;
    const sim_caller *write = sim_once_in(3) ? write_held(host) : NULL;
    c->places = UINT64_C(1) << PLACE_SHARED;
    c->is_under = write != NULL;
    c->write = write ? write->tag : 0;
    terms->kind = c->kind = write || sim_any(3) ? ZKL_KIND_READ : ZKL_KIND_WRITE;
    terms->under = write ? write->contender : NULL;
    c->is_shared = write && write->is_shared;
    if (c->is_shared)
        terms->sharing = sharing_at(PLACE_SHARED);
    else if (!write)
        share_node(c, PLACE_SHARED, terms);
    return zkl_join(host->client, path_of(host, PLACE_SHARED), c->tag, terms, &c->contender);
}

static zkl_status join_pool(sim_caller *c, zkl_terms *terms) {
    c->places = UINT64_C(1) << PLACE_POOL;
    c->leases = 1 + sim_any(PERMITS);
    terms->kind = c->kind = ZKL_KIND_LEASE;
    terms->permits = PERMITS;
    return zkl_join_leases(c->host->client, path_of(c->host, PLACE_POOL), c->leases, c->tag, terms,
                           &c->contender);
}

static zkl_status join_both(sim_caller *c, zkl_terms *terms) {
    const char *both[] = {path_of(c->host, PLACE_A), path_of(c->host, PLACE_B)};
    c->places = UINT64_C(1) << PLACE_A | UINT64_C(1) << PLACE_B;
    c->is_whole = true;
    terms->kind = c->kind = ZKL_KIND_LOCK;
    return zkl_join_all(c->host->client, both, 2, c->tag, terms, &c->contender);
}

static zkl_status join_one(sim_caller *c, zkl_terms *terms) {
    const sim_place place = sim_once_in(3) ? PLACE_B : PLACE_A;
    c->places = UINT64_C(1) << place;
    terms->kind = c->kind = ZKL_KIND_LOCK;
    share_node(c, place, terms);
    return zkl_join(c->host->client, path_of(c->host, place), c->tag, terms, &c->contender);
}

static zkl_status join_line(sim_caller *c, zkl_terms *terms, sim_place place) {
    c->places = UINT64_C(1) << place;
    terms->kind = c->kind = ZKL_KIND_LOCK;
    return zkl_join(c->host->client, path_of(c->host, place), c->tag, terms, &c->contender);
}

static zkl_status join(sim_caller *c, zkl_terms *terms) {
    if (c->host->has_marks && sim_any(4))
        return join_one(c, terms);
    switch (sim_any(8)) {
    case 0:
        return join_both(c, terms);
    case 1:
    case 2:
        return join_shared(c, terms);
    case 3:
        return join_pool(c, terms);
    default:
        return join_one(c, terms);
    }
}

/* `place`: a line of many; PLACES_MOST: any other place. */
static void join_at(sim_host *host, sim_place place) {
    if (!host->client || host->machine.stopped_until > sim_now ||
        count_callers(host) >= host->callers_most)
        return;
    sim_machine *before = enter(host);
    sim_caller *c = sim_new(sizeof *c);
    c->host = host;
    c->tag = ++host->tags;
    c->turn.run = go_on;
    c->called = sim_now;
    c->joined = after(host, 0);
    zkl_terms terms = {.size = sizeof terms, .deadline = some_deadline(host)};
    terms.once = sim_once_in(10);
    if (terms.once)
        terms.deadline = after(host, 0);
    if (sim_once_in(10))
        terms.max_waiting = 1 + sim_any(3);
    if (sim_once_in(8))
        terms.max_hold = 1 + sim_some(2 * ZKL_SECOND);
    c->tries_once = terms.once;
    c->deadline = terms.once ? ZKL_NEVER : terms.deadline;
    const zkl_status status = place < PLACES_MOST ? join_line(c, &terms, place) : join(c, &terms);
    if (status == ZKL_OK) {
        c->next = host->callers;
        host->callers = c;
        SAY("host %d joins: %s %llu at %llx%s", host->machine.id, kind_name(c),
            (unsigned long long)c->tag, (unsigned long long)c->places, terms.once ? ", once" : "");
    } else {
        SIM_CHECK(status == ZKL_CLOSED || status == ZKL_AUTH_FAILED);
        free(c);
    }
    sim_leave(before);
}

void sim_host_join(sim_host *host) {
    join_at(host, PLACES_MOST);
}

void sim_host_join_line(sim_host *host, sim_place place) {
    join_at(host, place);
}

void sim_host_check_deadlines(const sim_host *host) {
    if (!host->client || host->machine.stopped_until + ZKL_SECOND > sim_now)
        return;
    for (const sim_caller *c = host->callers; c; c = c->next)
        if (c->contender->phase == ZKL_WAITING && c->deadline < ZKL_NEVER &&
            sim_clock(&host->machine) > c->deadline + ZKL_SECOND / 10)
            sim_fail("%s %llu of host %d waits past its deadline", kind_name(c),
                     (unsigned long long)c->tag, host->machine.id);
}

static sim_caller *any_caller(const sim_host *host) {
    sim_caller *c = host->callers;
    for (size_t n = sim_any((unsigned)count_callers(host)); c && n > 0; n--)
        c = c->next;
    return c;
}

void sim_host_touch(sim_host *host) {
    sim_caller *c = host->client ? any_caller(host) : NULL;
    if (!c || host->machine.stopped_until > sim_now)
        return;
    sim_machine *before = enter(host);
    if (sim_once_in(3)) {
        SAY("host %d drops %s %llu", host->machine.id, kind_name(c), (unsigned long long)c->tag);
        forget(c);
    } else if (waits(c)) {
        SAY("host %d cancels %s %llu", host->machine.id, kind_name(c), (unsigned long long)c->tag);
        zkl_cancel(c->contender);
    } else if (holds(c)) {
        release(c);
        sim_after(&c->turn, sim_some(100 * SIM_MS));
    }
    sim_leave(before);
}

void sim_host_release_some(sim_host *host) {
    if (!host->client || host->machine.stopped_until > sim_now)
        return;
    sim_machine *before = enter(host);
    for (sim_caller *c = host->callers; c; c = c->next)
        if (holds(c) && sim_any(3)) {
            release(c);
            sim_after(&c->turn, sim_some(100 * SIM_MS));
        }
    sim_leave(before);
}

static sim_question *question(sim_host *host, zkl_query *query, uint64_t tag) {
    if (!query)
        return NULL;
    sim_question *q = sim_new(sizeof *q);
    *q = (sim_question){.next = host->questions, .query = query, .tag = tag};
    host->questions = q;
    return q;
}

/* Whether the token of one of its callers holds. A node that is shared stays with the next caller,
 * and the token of a read under a write is that of the write. */
static void ask_for_hold(sim_host *host, const sim_caller *c, uint64_t tag, zkl_nanos deadline) {
    const sim_place place = c ? (sim_place)__builtin_ctzll(c->places) : sim_any(PLACES);
    const bool over = c && c->is_granted && !holds(c) && !c->is_shared && !c->is_under;
    zkl_query *query = zkl_query_check(host->client, path_of(host, place), c ? c->token : 0, tag,
                                       deadline, sim_once_in(4));
    sim_question *q = question(host, query, tag);
    const fake_node *node = sim_node_with(place, c ? c->token : 0);
    if (!q)
        return;
    q->is_of_past = !node;
    q->ended_in = node && over ? node->owner : 0;
}

void sim_host_ask(sim_host *host) {
    if (!host->client || host->machine.stopped_until > sim_now)
        return;
    sim_machine *before = enter(host);
    const uint64_t tag = ++host->tags;
    const zkl_nanos deadline = after(host, sim_some(5 * ZKL_SECOND));
    const sim_place place = sim_any(PLACES);
    const char *path = path_of(host, place);
    const bool leases = place == PLACE_POOL;
    sim_caller *c = any_caller(host);
    zkl_query *query = NULL;
    switch (sim_any(6)) {
    case 0:
        query = zkl_query_session(host->client, tag, deadline);
        break;
    case 1:
        query = zkl_query_flush(host->client, tag, deadline);
        break;
    case 2:
        query = c ? zkl_query_validity(c->contender, tag, deadline) : NULL;
        break;
    case 3:
        query = zkl_query_participants(host->client, path, leases, tag, deadline, sim_once_in(4));
        break;
    case 4:
        query = zkl_query_revoke(host->client, path, leases, tag, deadline, sim_once_in(4));
        break;
    default:
        ask_for_hold(host, c, tag, deadline);
    }
    question(host, query, tag);
    sim_leave(before);
}

zkl_query *sim_host_flush(sim_host *host) {
    sim_machine *before = enter(host);
    const uint64_t tag = ++host->tags;
    zkl_query *query = zkl_query_flush(host->client, tag, ZKL_NEVER);
    question(host, query, tag);
    sim_leave(before);
    return query;
}

bool sim_host_flushed(sim_host *host) {
    for (const sim_question *q = host->questions; q; q = q->next)
        if (!q->is_answered)
            return false;
    return true;
}

void sim_host_rest(sim_host *host) {
    host->is_resting = true;
    host->lateness = SIM_MS;
    if (host->poll.place)
        sim_after(&host->poll, 0);
    for (sim_caller *c = host->callers; c; c = c->next)
        if (!waits(c))
            sim_after(&c->turn, sim_some(20 * SIM_MS));
}

bool sim_host_is_idle(const sim_host *host) {
    return !host->callers && !host->poll.place;
}

/* ---- life ---- */

void sim_host_begin(sim_host *host, int id) {
    memset(host, 0, sizeof *host);
    host->machine.id = id;
    host->poll.run = poll;
    host->hosts = "zk1:2181,zk2:2181,zk3:2181";
    host->chroot = "";
    host->lateness = SIM_MS;
    host->callers_most = CALLERS_MOST;
}

void sim_host_open(sim_host *host) {
    char hosts[128];
    const zkl_auth auth = {"digest", "somebody:secret"};
    if (host->client)
        return;
    snprintf(hosts, sizeof hosts, "%s%s", host->hosts, host->chroot);
    const zkl_config config = {
        .size = sizeof config,
        .hosts = hosts,
        .session_timeout = host->session_timeout,
        .auths = &auth,
        .auth_count = host->is_secured,
        .acl = host->is_secured ? ZKL_ACL_CREATOR : ZKL_ACL_OPEN,
        .identifier = "sim",
    };
    sim_machine *before = enter(host);
    SIM_CHECK(zkl_open(&config, &host->client) == ZKL_OK);
    zkl_hang_up(host->client); /* nobody looks at the descriptor */
    if (host->nodes_most)
        host->client->lines.common.node_budget.most = host->nodes_most;
    if (host->watches_most)
        host->client->lines.common.watch_budget.most = host->watches_most;
    if (host->watches_most)
        host->client->nodes.watch_budget.most = SIM_NOTES_WATCHED;
    host->opened++;
    host->leaves_watches = false;
    host->looked_at = host->lost = 0;
    sim_clerk_open(host);
    SAY("host %d opens a client", host->machine.id);
    sim_leave(before);
}

/* Whatever waited has been answered by the closing, and nothing is told of what is watched. */
static void hear_the_last(sim_host *host) {
    zkl_event event;
    while (zkl_peek(host->client, &event)) {
        SIM_CHECK(event.kind != ZKL_EVENT_CHANGED);
        hear(host, &event);
        zkl_forget(host->client, event.serial);
    }
    SIM_CHECK(sim_clerk_is_idle(host));
    SIM_CHECK(sim_marks_are_answered(host));
}

void sim_host_close(sim_host *host) {
    if (!host->client || host->machine.stopped_until > sim_now)
        return;
    SAY("host %d closes its client", host->machine.id);
    sim_machine *before = enter(host);
    if (sim_once_in(2)) {
        zkl_close(host->client);
        if (host->has_notes || host->has_marks)
            hear_the_last(host);
    }
    sim_clerk_close(host);
    sim_marks_close(host);
    while (host->callers)
        forget(host->callers);
    for (sim_question *q; (q = host->questions);) {
        host->questions = q->next;
        zkl_query_drop(q->query);
        free(q);
    }
    zkl_client *client = host->client;
    host->client = NULL;
    sim_cancel(&host->poll);
    zkl_free(client);
    sim_leave(before);
}
