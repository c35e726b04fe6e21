/* SPDX-License-Identifier: MIT */
#include "lines.h"

#include "ensemble.h"
#include "line/contender.h"
#include "nodes.h"

#include "client/client_state.h"

#include <stdio.h>
#include <string.h>

#define MANY SIM_ROOT "/many"

/* How long a request may take where nothing goes wrong: the completion thread is late by 30 ms now
 * and then. */
#define PROMPT (250 * SIM_MS)

/* Somebody who is no client, and whose nodes are its own. */
#define OPERATOR 1

enum { CLOSED_ONE_IN = 6 };

/* The trouble just after a deed. */
typedef enum trouble { CUT, DELETE_NODE, REAP, CLOSE, OPEN, TROUBLES } trouble;

static struct {
    sim_lines_plan plan;
    zkl_nanos began;
    char paths[PLACES_MOST - PLACES][32];
    uint64_t closed; /* bits, by place */
    uint64_t was_closed;
    bool are_made; /* the directories, from the start */
    sim_event event;
    trouble trouble;
    const sim_host *host;
    sim_place place;
} lines;

int sim_line_count;

const char *sim_line_path(sim_place place) {
    return lines.paths[place - PLACES];
}

sim_place sim_lines_any(void) {
    return (sim_place)(PLACES + (int)sim_any((unsigned)sim_line_count));
}

static uint64_t bit_of(sim_place place) {
    return UINT64_C(1) << place;
}

/* ---- operators ---- */

static void set_acl(sim_place place, int kept) {
    sim_request *r = sim_request_new(OP_SET_ACL, sim_line_path(place));
    r->part.kept = kept;
    r->identity = OPERATOR;
    sim_ensemble_write(r);
    sim_request_drop(r);
}

static void close_line(sim_place place, int kept) {
    SAY("operator: nobody is admitted to %s", sim_line_path(place));
    set_acl(place, kept);
    lines.closed |= bit_of(place);
    lines.was_closed |= bit_of(place);
}

static void open_line(sim_place place) {
    set_acl(place, 0);
    lines.closed &= ~bit_of(place);
}

static void delete_node(sim_place place) {
    const fake_node *directory = fake_find(sim_tree, sim_line_path(place), FAKE_LATEST),
                    *child = directory ? fake_child_before(directory, NULL, FAKE_LATEST) : NULL;
    if (!child)
        return;
    SAY("operator: deletes %s", child->path);
    sim_do(OP_DELETE, child->path, NULL, FAKE_PERSISTENT, NULL);
}

static void reap_all(void) {
    for (int p = PLACES; p < sim_places(); p++)
        sim_do(OP_REAP, sim_line_path((sim_place)p), NULL, FAKE_PERSISTENT, NULL);
}

static void make_trouble(sim_event *event) {
    (void)event;
    switch (lines.trouble) {
    case CUT:
        SAY("network: cuts host %d off", lines.host->machine.id);
        sim_sockets_cut(-1, lines.host, 1);
        break;
    case DELETE_NODE:
        delete_node(lines.place);
        break;
    case REAP:
        reap_all();
        break;
    case CLOSE:
        close_line(lines.place, ZOO_PERM_ALL & ~ZOO_PERM_READ);
        break;
    case OPEN:
    case TROUBLES:
        open_line(lines.place);
    }
}

static void plan(trouble what, const sim_host *host, sim_place place) {
    if (lines.event.place)
        return;
    sim_counted.faults++;
    lines.trouble = what;
    lines.host = host;
    lines.place = place;
    sim_after(&lines.event, sim_some(6 * SIM_MS));
}

static void plan_trouble(const sim_host *host) {
    const trouble what = sim_any(TROUBLES);
    if (what == CUT ? lines.plan.has_cuts : lines.plan.has_operators)
        plan(what, host, sim_lines_any());
}

/* The first line admits everybody at times, and at times nobody: so it is known, and what travels
 * together with its creates fails. */
static void plan_change(const sim_host *host) {
    if (lines.plan.is_calm && lines.are_made)
        plan(lines.closed & bit_of(PLACES) ? OPEN : CLOSE, host, PLACES);
}

/* ---- deeds ---- */

static void join_many(sim_host *host) {
    const int first = (int)sim_any((unsigned)sim_line_count);
    for (int n = 1 + (int)sim_any((unsigned)sim_line_count), i = 0; i < n; i++) {
        const sim_place place = (sim_place)(PLACES + (first + i) % sim_line_count);
        sim_host_join_line(host, place);
        if (sim_once_in(6))
            sim_host_join_line(host, place);
    }
}

void sim_lines_deed(sim_host *host) {
    const unsigned what = sim_any(8);
    if (what < 4)
        join_many(host);
    else if (what < 6)
        sim_host_release_some(host);
    else
        sim_host_join_line(host, sim_lines_any());
    if (what == 3)
        sim_host_touch(host);
    if (sim_once_in(3))
        plan_trouble(host);
    if (sim_once_in(3))
        plan_change(host);
}

/* ---- judging ---- */

static bool is_of_line(const sim_caller *c) {
    return c->places >= bit_of(PLACES);
}

void sim_lines_answered(const sim_caller *c) {
    if (!lines.plan.is_calm || c->is_granted || !is_of_line(c))
        return;
    if (c->status == ZKL_TOO_BIG && c->host->nodes_most)
        return;
    if (c->status == ZKL_DISCONNECTED && sim_now < lines.began + ZKL_SECOND)
        return; /* it tries once, and its client has no session yet */
    switch (c->status) {
    case ZKL_TIMEOUT:
    case ZKL_CANCELLED:
    case ZKL_CLOSED:
    case ZKL_BUSY:
        return;
    default:
        if (c->status != ZKL_ACCESS_DENIED || !(c->places & lines.was_closed))
            sim_fail("host %d's caller %llu is told '%s', and nothing is wrong with its line",
                     c->host->machine.id, (unsigned long long)c->tag, zkl_status_text(c->status));
    }
}

void sim_lines_granted(const sim_caller *c) {
    if (!lines.plan.is_calm || !lines.are_made || !is_of_line(c) || c->places & lines.was_closed)
        return;
    for (const sim_caller *o = c->host->callers; o; o = o->next)
        if (o->places == c->places && o->tag < c->tag && o->contender->phase == ZKL_WAITING)
            sim_fail("host %d's caller %llu overtakes caller %llu", c->host->machine.id,
                     (unsigned long long)c->tag, (unsigned long long)o->tag);
}

static sim_place place_of(const sim_caller *c) {
    int place = PLACES;
    while (!(c->places >> place & 1))
        place++;
    return (sim_place)place;
}

/* Another one is in its line, or its line has no directory yet: with a closed ACL that takes
 * several rounds, each with a pause. */
static bool is_held_up(const sim_caller *c) {
    const fake_node *directory = fake_find(sim_tree, sim_line_path(place_of(c)), FAKE_LATEST);
    const char *own = c->contender->name;
    if (!directory)
        return true;
    for (fake_node *n = NULL; (n = fake_child_before(directory, n, FAKE_LATEST));)
        if (!own || strcmp(own, fake_name(n)) != 0)
            return true;
    for (const sim_caller *o = c->host->callers; o; o = o->next)
        if (o->places == c->places && o->tag < c->tag && o->contender->phase != ZKL_OVER)
            return true;
    return false;
}

void sim_lines_check(const sim_host *host) {
    if (!lines.plan.is_calm || !host->client)
        return;
    for (sim_caller *c = host->callers; c; c = c->next) {
        if (!is_of_line(c) || c->contender->phase != ZKL_WAITING ||
            !zkl_context_is_linked(&host->client->context) || c->places & lines.was_closed ||
            host->client->context.valid_until <= sim_clock(&host->machine) || is_held_up(c))
            c->first_at = 0;
        else if (!c->first_at)
            c->first_at = sim_now;
        else if (c->first_at + PROMPT < sim_now)
            sim_fail("host %d's caller %llu waits for %.3f s, and nobody is before it",
                     host->machine.id, (unsigned long long)c->tag,
                     zkl_clock_seconds(sim_now - c->first_at));
    }
}

/* ---- life ---- */

void sim_lines_make(void) {
    sim_do(OP_CREATE, SIM_ROOT, "", FAKE_PERSISTENT, NULL);
    sim_do(OP_CREATE, MANY, "", FAKE_PERSISTENT, NULL);
    for (int p = PLACES; p < sim_places(); p++) {
        sim_do(OP_CREATE, sim_line_path((sim_place)p), "", FAKE_CONTAINER, NULL);
        if (sim_once_in(CLOSED_ONE_IN))
            close_line((sim_place)p, ZOO_PERM_ALL & ~(sim_once_in(2) ? ZOO_PERM_READ : 0));
    }
    lines.are_made = true;
}

void sim_lines_mend(void) {
    sim_cancel(&lines.event);
    lines.plan.has_cuts = lines.plan.has_operators = false;
    for (int p = PLACES; p < sim_places(); p++)
        if (lines.closed & bit_of((sim_place)p))
            open_line((sim_place)p);
}

void sim_lines_begin(const sim_lines_plan *plan) {
    memset(&lines, 0, sizeof lines);
    lines.plan = *plan;
    lines.began = sim_now;
    lines.event.run = make_trouble;
    sim_line_count = plan->count;
    for (int i = 0; i < plan->count; i++)
        snprintf(lines.paths[i], sizeof *lines.paths, MANY "/%02d", i);
}
