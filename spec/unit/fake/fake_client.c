/* SPDX-License-Identifier: MIT */
/* The client around the fake port: what client.c and session.c are to a real one. */
#include "fake_port.h"

#include "check.h"
#include "invariants.h"
#include "line/batch.h"
#include "shared/node.h"
#include "shared/sharer.h"

#include <stdio.h>
#include <stdlib.h>
#include <zookeeper/zookeeper.h>

zkl_nanos fake_now;

static zkl_nanos read_clock(void) {
    return fake_now;
}

static const zkl_clock fake_clock = {read_clock};

static void must(bool good) {
    if (!good)
        abort();
}

/* ---- life ---- */

void fake_leave(fake_client *client) {
    do
        zkl_compounds_step(&client->lines.common);
    while (zkl_shared_nodes_step(&client->lines.common) || zkl_batch_step(&client->lines.common));
    do
        zkl_node_requests_step(&client->nodes);
    while (zkl_onces_step(&client->onces));
    zkl_node_watches_step(&client->nodes);
    zkl_asks_step(&client->queries.asks);
    zkl_lines_tidy(&client->lines);
    zkl_contenders_sweep(&client->lines.common);
    if (client->beats)
        zkl_heart_advance(&client->heart);
    zkl_invariants_check(&client->lines, &client->nodes);
    /* No watch that the library has is forgotten, and all of them fit into the servers' packet. */
    CHECK(fake_watched_bytes(client) <=
          client->lines.common.watch_budget.bytes + client->nodes.watch_budget.bytes);
    CHECK(client->lines.common.watch_budget.bytes <= client->lines.common.watch_budget.most);
    fake_hear(client);
}

static void refreshed(zkl_heart *heart) {
    fake_client *client = (fake_client *)((char *)heart - offsetof(fake_client, heart));
    zkl_lines_each(&client->lines, zkl_line_refreshed);
}

static void unsure(zkl_heart *heart) {
    fake_client *client = (fake_client *)((char *)heart - offsetof(fake_client, heart));
    zkl_lines_each(&client->lines, zkl_line_unsure);
}

void fake_beat(fake_client *client, double seconds) {
    const double moment = zkl_clock_seconds(client->timeout) / 24;
    client->beats = true;
    fake_leave(client);
    for (double passed = 0; passed < seconds; passed += moment) {
        fake_settle_all(client->servers);
        fake_wait(client->servers, moment);
    }
    fake_settle_all(client->servers);
}

void fake_still(fake_client *client) {
    client->beats = false;
    zkl_timer_clear(&client->context.timers, &client->heart.timer);
}

static void unwatched(zkl_context *context, const char *path, bool list) {
    fake_client *client = (fake_client *)((char *)context - offsetof(fake_client, context));
    zkl_node_watches_unwatched(&client->nodes, path, list);
}

fake_client *fake_client_new(fake_servers *servers) {
    static uint64_t guids;
    fake_client *client = calloc(1, sizeof *client);
    must(client != NULL);
    client->servers = servers;
    fake_port_init(client);
    client->next = servers->clients;
    servers->clients = client;
    client->view = FAKE_LATEST;
    client->timeout = 30 * ZKL_SECOND;
    client->state = ZKL_STATE_CONNECTING;
    zkl_context *context = &client->context;
    context->clock = &fake_clock;
    context->guid = (UINT64_C(0xabc000) + ++guids) & ZKL_GUID_MASK;
    context->identifier = "me";
    must(zkl_events_init(&context->events) && zkl_receivers_init(&context->receivers) &&
         zkl_lines_init(&client->lines, context, 0));
    client->queries =
        (zkl_queries){.asks = {context, &client->state}, .common = &client->lines.common};
    zkl_node_requests_init(&client->nodes, context, &client->state);
    zkl_node_watches_init(&client->nodes, &client->lines);
    zkl_onces_init(&client->onces, &client->nodes);
    context->unwatched = unwatched;
    client->heart = (zkl_heart){.context = context, .refreshed = refreshed, .unsure = unsure};
    must(zkl_heart_init(&client->heart));
    zkl_heart_started(&client->heart, &client->port);
    client->started = fake_now;
    return client;
}

void fake_client_free(fake_client *client) {
    client->context.port = &zkl_port_refusing;
    zkl_lines_each(&client->lines, zkl_line_expire);
    zkl_node_requests_unlink(&client->nodes);
    zkl_node_watches_destroy(&client->nodes);
    for (fake_caller *p = client->callers, *next; p; p = next) {
        next = p->next;
        zkl_asks_forget(&client->nodes.asks, p->contender);
        zkl_asks_forget(&client->onces.asks, p->contender);
        p->contender->call->drop(p->contender);
        free(p);
    }
    zkl_shared_nodes_step(&client->lines.common);
    zkl_lines_tidy(&client->lines);
    zkl_contenders_sweep(&client->lines.common);
    zkl_lines_destroy(&client->lines);
    zkl_receivers_destroy(&client->context.receivers);
    zkl_events_destroy(&client->context.events);
    fake_port_done(client);
    fake_client **c = &client->servers->clients;
    while (*c != client)
        c = &(*c)->next;
    *c = client->next;
    free(client);
}

/* ---- the host's side ---- */

static fake_caller *caller_new(fake_client *client) {
    fake_caller *caller = calloc(1, sizeof *caller);
    must(caller != NULL);
    caller->client = client;
    caller->tag = ++client->tags;
    return caller;
}

/* NULL: the engine had no memory. */
static fake_caller *entered(fake_caller *caller) {
    fake_client *client = caller->client;
    if (!caller->contender) { /* no memory */
        free(caller);
        caller = NULL;
    } else {
        caller->next = client->callers;
        client->callers = caller;
    }
    fake_leave(client);
    return caller;
}

bool fake_at_once;

static fake_caller *join(fake_client *client, const char *path, zkl_terms terms) {
    fake_caller *caller = caller_new(client);
    if (!terms.kind)
        terms.kind = ZKL_KIND_LOCK;
    zkl_line *line = zkl_lines_find_or_make(&client->lines, path);
    caller->shares = terms.sharing != NULL;
    caller->deadline = terms.deadline;
    int64_t token = 0;
    if (fake_at_once && caller->shares)
        terms.at_once = &token;
    if (line && terms.sharing) {
        caller->contender = zkl_shared_node_join(line, caller->tag, &terms);
    } else if (line) {
        zkl_line_make_way(line);
        caller->contender = zkl_line_join(line, caller->tag, &terms);
    }
    if (token) { /* no event tells of it */
        caller->granted = true;
        caller->answers = 1;
        caller->token = token;
    }
    return entered(caller);
}

zkl_sharing fake_sharing;

void fake_share_as(double stint, double linger) {
    fake_sharing =
        (zkl_sharing){.stint = zkl_clock_after(0, stint), .linger = zkl_clock_after(0, linger)};
}

fake_caller *fake_share(fake_client *client, const char *path, double seconds) {
    return join(client, path,
                (zkl_terms){.deadline = zkl_clock_after(fake_now, seconds),
                            .once = seconds == 0,
                            .sharing = &fake_sharing});
}

fake_caller *fake_share_kind(fake_client *client, const char *path, zkl_kind kind, double seconds) {
    return join(client, path,
                (zkl_terms){.kind = kind,
                            .deadline = zkl_clock_after(fake_now, seconds),
                            .once = seconds == 0,
                            .sharing = &fake_sharing});
}

fake_caller *fake_share_under(fake_caller *write, const char *path) {
    return join(write->client, path,
                (zkl_terms){.kind = ZKL_KIND_READ,
                            .deadline = ZKL_NEVER,
                            .under = write->contender,
                            .sharing = &fake_sharing});
}

fake_caller *fake_try_under(fake_caller *write, const char *path) {
    return join(write->client, path,
                (zkl_terms){.kind = ZKL_KIND_READ,
                            .deadline = fake_now,
                            .once = true,
                            .under = write->contender,
                            .sharing = &fake_sharing});
}

fake_caller *fake_share_for(fake_client *client, const char *path, double max_hold) {
    return join(client, path,
                (zkl_terms){.deadline = ZKL_NEVER,
                            .max_hold = zkl_clock_after(0, max_hold),
                            .sharing = &fake_sharing});
}

fake_caller *fake_share_read_for(fake_client *client, const char *path, double max_hold) {
    return join(client, path,
                (zkl_terms){.kind = ZKL_KIND_READ,
                            .deadline = ZKL_NEVER,
                            .max_hold = zkl_clock_after(0, max_hold),
                            .sharing = &fake_sharing});
}

fake_caller *fake_share_read_among(fake_client *client, const char *path, size_t max_waiting) {
    return join(client, path,
                (zkl_terms){.kind = ZKL_KIND_READ,
                            .deadline = ZKL_NEVER,
                            .max_waiting = max_waiting + 1,
                            .sharing = &fake_sharing});
}

fake_caller *fake_share_among(fake_client *client, const char *path, size_t max_waiting) {
    return join(client, path,
                (zkl_terms){.deadline = ZKL_NEVER,
                            .max_waiting = max_waiting + 1,
                            .sharing = &fake_sharing});
}

fake_caller *fake_share_among_under(fake_caller *write, const char *path, size_t max_waiting) {
    return join(write->client, path,
                (zkl_terms){.kind = ZKL_KIND_READ,
                            .deadline = ZKL_NEVER,
                            .under = write->contender,
                            .max_waiting = max_waiting + 1,
                            .sharing = &fake_sharing});
}

static fake_caller *join_all(fake_client *client, const char *const *paths, size_t count,
                             zkl_terms terms) {
    fake_caller *caller = caller_new(client);
    terms.kind = ZKL_KIND_LOCK;
    for (size_t i = 0; i < count; i++) {
        zkl_line *line = zkl_lines_find(&client->lines, paths[i]);
        if (line)
            zkl_line_make_way(line);
    }
    caller->deadline = terms.deadline;
    caller->contender = zkl_compound_join_all(&client->lines, paths, count, caller->tag, &terms);
    return entered(caller);
}

fake_caller *fake_join_all(fake_client *client, const char *const *paths, size_t count,
                           double seconds) {
    return join_all(
        client, paths, count,
        (zkl_terms){.deadline = zkl_clock_after(fake_now, seconds), .once = seconds == 0});
}

fake_caller *fake_join_all_for(fake_client *client, const char *const *paths, size_t count,
                               double max_hold) {
    return join_all(client, paths, count,
                    (zkl_terms){.deadline = ZKL_NEVER, .max_hold = zkl_clock_after(0, max_hold)});
}

fake_caller *fake_lease_within(fake_client *client, const char *path, size_t count,
                               uint32_t permits, double seconds) {
    fake_caller *caller = caller_new(client);
    char gate[256], leases[256];
    snprintf(gate, sizeof gate, "%s/locks", path);
    snprintf(leases, sizeof leases, "%s/leases", path);
    const zkl_terms terms = {.kind = ZKL_KIND_LEASE,
                             .permits = permits,
                             .deadline = zkl_clock_after(fake_now, seconds),
                             .once = seconds == 0};
    caller->deadline = terms.deadline;
    caller->contender =
        zkl_compound_join_leases(&client->lines, gate, leases, count, caller->tag, &terms);
    return entered(caller);
}

fake_caller *fake_lease(fake_client *client, const char *path, size_t count, uint32_t permits) {
    return fake_lease_within(client, path, count, permits, 1e12);
}

fake_caller *fake_join(fake_client *client, const char *path, double seconds) {
    return join(client, path, (zkl_terms){.deadline = zkl_clock_after(fake_now, seconds)});
}

fake_caller *fake_try_kind(fake_client *client, const char *path, zkl_kind kind) {
    return join(client, path, (zkl_terms){.kind = kind, .deadline = fake_now, .once = true});
}

fake_caller *fake_try(fake_client *client, const char *path) {
    return fake_try_kind(client, path, ZKL_KIND_LOCK);
}

fake_caller *fake_read(fake_client *client, const char *path) {
    return join(client, path, (zkl_terms){.kind = ZKL_KIND_READ, .deadline = ZKL_NEVER});
}

fake_caller *fake_read_under(fake_caller *write, const char *path) {
    return join(
        write->client, path,
        (zkl_terms){.kind = ZKL_KIND_READ, .deadline = ZKL_NEVER, .under = write->contender});
}

fake_caller *fake_try_read_under(fake_caller *write, const char *path) {
    return join(
        write->client, path,
        (zkl_terms){
            .kind = ZKL_KIND_READ, .deadline = fake_now, .once = true, .under = write->contender});
}

fake_caller *fake_write_lock(fake_client *client, const char *path) {
    return join(client, path, (zkl_terms){.kind = ZKL_KIND_WRITE, .deadline = ZKL_NEVER});
}

fake_caller *fake_join_for(fake_client *client, const char *path, double max_hold) {
    return join(client, path,
                (zkl_terms){.deadline = ZKL_NEVER, .max_hold = zkl_clock_after(0, max_hold)});
}

fake_caller *fake_join_among(fake_client *client, const char *path, zkl_kind kind,
                             size_t max_waiting) {
    return join(client, path,
                (zkl_terms){.kind = kind, .deadline = ZKL_NEVER, .max_waiting = max_waiting + 1});
}

fake_caller *fake_join_among_under(fake_caller *write, const char *path, size_t max_waiting) {
    return join(write->client, path,
                (zkl_terms){.kind = ZKL_KIND_READ,
                            .deadline = ZKL_NEVER,
                            .under = write->contender,
                            .max_waiting = max_waiting + 1});
}

zkl_status fake_release(fake_caller *caller) {
    const zkl_status status = caller->contender->call->release(caller->contender);
    caller->doubts |= status == ZKL_OK || status == ZKL_UNKNOWN;
    fake_leave(caller->client);
    return status;
}

void fake_release_in_doubt(fake_caller *caller) {
    CHECK(zkl_contender_valid_until(caller->contender) <= fake_now);
    CHECK_INT(fake_release(caller), ZKL_UNKNOWN);
    CHECK(!fake_held(caller));
}

bool fake_rest(fake_caller *caller) {
    return zkl_sharer_rest(caller->contender);
}

bool fake_take_again(fake_caller *caller) {
    return zkl_sharer_take_again(caller->contender);
}

zkl_status fake_give_up(fake_caller *caller) {
    const zkl_status status = caller->contender->call->give_up(caller->contender);
    caller->doubts |= status == ZKL_OK || status == ZKL_UNKNOWN;
    fake_leave(caller->client);
    return status;
}

void fake_cancel(fake_caller *caller) {
    caller->contender->call->cancel(caller->contender, ZKL_CANCELLED);
    fake_leave(caller->client);
}

void fake_drop(fake_caller *caller) {
    fake_client *client = caller->client;
    fake_caller **p = &client->callers;
    while (*p != caller)
        p = &(*p)->next;
    *p = caller->next;
    zkl_asks_forget(&client->queries.asks, caller->contender);
    zkl_asks_forget(&client->nodes.asks, caller->contender);
    zkl_asks_forget(&client->onces.asks, caller->contender);
    caller->contender->call->drop(caller->contender);
    free(caller);
    fake_leave(client);
}

bool fake_held(const fake_caller *caller) {
    return caller->contender->phase == ZKL_HELD;
}

bool fake_waits(const fake_caller *caller) {
    return caller->answers == 0;
}

zkl_query *fake_flush(fake_client *client) {
    zkl_query *query = zkl_query_new(&client->queries, ZKL_QUERY_FLUSH, 0);
    must(query != NULL);
    zkl_lines_each(&client->lines, zkl_line_insist);
    query->departures = client->lines.common.departures;
    zkl_ask_start(&query->ask, ZKL_NEVER);
    fake_leave(client);
    return query;
}

static void hear(fake_client *client, const zkl_event *event) {
    fake_caller *caller = client->callers;
    while (caller && caller->tag != event->tag)
        caller = caller->next;
    CHECK(caller != NULL); /* one that was dropped hears nothing */
    client->events++;
    if (event->kind == ZKL_EVENT_LOST) {
        CHECK(caller->granted && caller->losses == 0);
        CHECK(!caller->doubts || caller->rests == 0);
        CHECK_INT(event->status, ZKL_LOST);
        CHECK_INT(event->token, caller->token);
        caller->losses++;
        caller->lost_at = client->events;
        return;
    }
    if (event->kind == ZKL_EVENT_REVOKED) {
        CHECK(caller->granted && caller->revocations == 0);
        CHECK_INT(event->status, ZKL_OK);
        CHECK_INT(event->token, caller->token);
        caller->revocations++;
        return;
    }
    if (event->kind == ZKL_EVENT_FAILED && event->status == ZKL_OK) {
        CHECK(caller->granted && !fake_held(caller));
        CHECK(!caller->doubts || (caller->rests == 0 && caller->losses == 0));
        caller->rests++;
        return;
    }
    CHECK(caller->answers == 0); /* each is answered once */
    caller->answers++;
    caller->answered_at = client->events;
    caller->granted = event->kind == ZKL_EVENT_GRANTED;
    caller->status = event->status;
    caller->token = event->token;
    CHECK(caller->granted == (event->status == ZKL_OK));
    CHECK(!caller->granted || event->token > 0);
}

void fake_hear(fake_client *client) {
    zkl_event event;
    while (!client->busy && zkl_events_peek(&client->context.events, &event)) {
        zkl_events_forget(&client->context.events, event.serial);
        if (event.kind == ZKL_EVENT_CHANGED) {
            client->changes[event.tag % FAKE_NODE_REQUESTS]++;
        } else if (event.kind != ZKL_EVENT_ANSWER) {
            hear(client, &event);
        } else if (event.tag < FAKE_NODE_REQUESTS) {
            client->answers[event.tag] = event.status;
            client->answered[event.tag]++;
        }
    }
}
