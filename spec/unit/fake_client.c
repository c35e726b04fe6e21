/* The client around the fake port: what client.c and session.c are to a real one. */
#include "fake_port.h"

#include "check.h"

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
    zkl_groups_step(&client->floor);
    zkl_queries_check(&client->queries);
    zkl_lines_tidy(&client->lines);
    zkl_contenders_sweep(&client->floor);
    if (client->beats)
        zkl_heart_tend(&client->heart);
    /* No watch that the library has is forgotten, and all of them fit into the servers' packet. */
    CHECK(fake_watched_bytes(client) <= client->floor.watches.bytes);
    CHECK(client->floor.watches.bytes <= client->floor.watches.most);
    fake_hear(client);
}

static void refreshed(zkl_heart *heart) {
    fake_client *client = (fake_client *)((char *)heart - offsetof(fake_client, heart));
    zkl_lines_each(&client->lines, zkl_line_refreshed);
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
    zkl_timer_clear(&client->floor.timers, &client->heart.timer);
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
    zkl_floor *floor = &client->floor;
    floor->clock = &fake_clock;
    floor->guid = (UINT64_C(0xabc000) + ++guids) & ZKL_GUID_MASK;
    floor->identifier = "me";
    must(zkl_events_init(&floor->events) && zkl_subjects_init(&floor->subjects) &&
         zkl_lines_init(&client->lines, floor));
    client->queries = (zkl_queries){.floor = floor, .state = &client->state};
    client->heart = (zkl_heart){.floor = floor, .refreshed = refreshed};
    must(zkl_heart_init(&client->heart));
    zkl_heart_started(&client->heart, &client->port);
    client->started = fake_now;
    return client;
}

void fake_client_free(fake_client *client) {
    client->floor.port = NULL;
    zkl_lines_each(&client->lines, zkl_line_expire);
    for (fake_place *p = client->places, *next; p; p = next) {
        next = p->next;
        p->contender->call->drop(p->contender);
        free(p);
    }
    zkl_lines_tidy(&client->lines);
    zkl_contenders_sweep(&client->floor);
    zkl_lines_destroy(&client->lines);
    zkl_vetted_clear(&client->floor.vetted);
    zkl_subjects_destroy(&client->floor.subjects);
    zkl_events_destroy(&client->floor.events);
    fake_port_done(client);
    fake_client **c = &client->servers->clients;
    while (*c != client)
        c = &(*c)->next;
    *c = client->next;
    free(client);
}

/* ---- the host's side ---- */

static fake_place *place_new(fake_client *client) {
    fake_place *place = calloc(1, sizeof *place);
    must(place != NULL);
    place->client = client;
    place->tag = ++client->tags;
    return place;
}

/* NULL: the engine had no memory. */
static fake_place *entered(fake_place *place) {
    fake_client *client = place->client;
    if (!place->contender) { /* no memory */
        free(place);
        place = NULL;
    } else {
        place->next = client->places;
        client->places = place;
    }
    fake_leave(client);
    return place;
}

static fake_place *join(fake_client *client, const char *path, zkl_terms terms) {
    fake_place *place = place_new(client);
    if (!terms.kind)
        terms.kind = ZKL_KIND_LOCK;
    zkl_line *line = zkl_lines_at(&client->lines, path);
    place->contender = line ? zkl_line_join(line, place->tag, &terms) : NULL;
    return entered(place);
}

fake_place *fake_join_all(fake_client *client, const char *const *paths, size_t count,
                          double seconds) {
    fake_place *place = place_new(client);
    const zkl_terms terms = {.kind = ZKL_KIND_LOCK,
                             .deadline = zkl_clock_after(fake_now, seconds),
                             .once = seconds == 0};
    place->contender = zkl_group_join_all(&client->lines, paths, count, place->tag, &terms);
    return entered(place);
}

fake_place *fake_lease_within(fake_client *client, const char *path, size_t count, size_t permits,
                              double seconds) {
    fake_place *place = place_new(client);
    char gate[256], leases[256];
    snprintf(gate, sizeof gate, "%s/locks", path);
    snprintf(leases, sizeof leases, "%s/leases", path);
    const zkl_terms terms = {.kind = ZKL_KIND_LEASE,
                             .permits = permits,
                             .deadline = zkl_clock_after(fake_now, seconds),
                             .once = seconds == 0};
    place->contender =
        zkl_group_join_leases(&client->lines, gate, leases, count, place->tag, &terms);
    return entered(place);
}

fake_place *fake_lease(fake_client *client, const char *path, size_t count, size_t permits) {
    return fake_lease_within(client, path, count, permits, 1e12);
}

fake_place *fake_join(fake_client *client, const char *path, double seconds) {
    return join(client, path, (zkl_terms){.deadline = zkl_clock_after(fake_now, seconds)});
}

fake_place *fake_try_kind(fake_client *client, const char *path, zkl_kind kind) {
    return join(client, path, (zkl_terms){.kind = kind, .deadline = fake_now, .once = true});
}

fake_place *fake_try(fake_client *client, const char *path) {
    return fake_try_kind(client, path, ZKL_KIND_LOCK);
}

fake_place *fake_read(fake_client *client, const char *path) {
    return join(client, path, (zkl_terms){.kind = ZKL_KIND_READ, .deadline = ZKL_NEVER});
}

fake_place *fake_read_under(fake_place *write, const char *path) {
    return join(
        write->client, path,
        (zkl_terms){.kind = ZKL_KIND_READ, .deadline = ZKL_NEVER, .under = write->contender});
}

fake_place *fake_write_lock(fake_client *client, const char *path) {
    return join(client, path, (zkl_terms){.kind = ZKL_KIND_WRITE, .deadline = ZKL_NEVER});
}

fake_place *fake_join_for(fake_client *client, const char *path, double max_hold) {
    return join(client, path,
                (zkl_terms){.deadline = ZKL_NEVER, .max_hold = zkl_clock_after(0, max_hold)});
}

fake_place *fake_join_crowd(fake_client *client, const char *path, zkl_kind kind,
                            size_t max_waiting) {
    return join(client, path,
                (zkl_terms){.kind = kind, .deadline = ZKL_NEVER, .crowd = max_waiting + 1});
}

fake_place *fake_join_crowd_under(fake_place *write, const char *path, size_t max_waiting) {
    return join(write->client, path,
                (zkl_terms){.kind = ZKL_KIND_READ,
                            .deadline = ZKL_NEVER,
                            .under = write->contender,
                            .crowd = max_waiting + 1});
}

zkl_status fake_release(fake_place *place) {
    const zkl_status status = place->contender->call->release(place->contender);
    fake_leave(place->client);
    return status;
}

void fake_cancel(fake_place *place) {
    place->contender->call->cancel(place->contender, ZKL_CANCELLED);
    fake_leave(place->client);
}

void fake_drop(fake_place *place) {
    fake_client *client = place->client;
    fake_place **p = &client->places;
    while (*p != place)
        p = &(*p)->next;
    *p = place->next;
    zkl_queries_forget(&client->queries, place->contender);
    place->contender->call->drop(place->contender);
    free(place);
    fake_leave(client);
}

bool fake_held(const fake_place *place) {
    return place->contender->phase == ZKL_HELD;
}

bool fake_waits(const fake_place *place) {
    return place->answers == 0;
}

zkl_query *fake_flush(fake_client *client) {
    zkl_query *query = zkl_query_new(&client->queries, ZKL_ASKED_FLUSH, 0);
    must(query != NULL);
    query->departures = client->floor.departures;
    zkl_query_start(query, ZKL_NEVER);
    fake_leave(client);
    return query;
}

static void hear(fake_client *client, const zkl_event *event) {
    fake_place *place = client->places;
    while (place && place->tag != event->tag)
        place = place->next;
    CHECK(place != NULL); /* one that was dropped hears nothing */
    client->events++;
    if (event->kind == ZKL_EVENT_LOST) {
        CHECK(place->granted && place->losses == 0);
        CHECK_INT(event->token, place->token);
        place->losses++;
        place->lost_at = client->events;
        return;
    }
    if (event->kind == ZKL_EVENT_REVOKED) {
        CHECK(place->granted && place->revocations == 0);
        CHECK_INT(event->token, place->token);
        place->revocations++;
        return;
    }
    CHECK(place->answers == 0); /* each is answered once */
    place->answers++;
    place->answered_at = client->events;
    place->granted = event->kind == ZKL_EVENT_GRANTED;
    place->status = event->status;
    place->token = event->token;
    CHECK(place->granted == (event->status == ZKL_OK));
    CHECK(!place->granted || event->token > 0);
}

void fake_hear(fake_client *client) {
    zkl_event event;
    while (!client->busy && zkl_events_peek(&client->floor.events, &event)) {
        zkl_events_forget(&client->floor.events, event.serial);
        if (event.kind != ZKL_EVENT_ANSWER)
            hear(client, &event);
    }
}
