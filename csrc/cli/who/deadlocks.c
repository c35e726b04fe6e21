/* SPDX-License-Identifier: MIT */
/* deadlocks: finds the circles in a roster, and shows them. */
#include "cli/connection.h"
#include "cli/who/roster.h"

#include "cli/text.h"
#include "recipe/circle.h"
#include "zklock_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the rows as nodes of a graph ---- */

/* A client's nodes share their half of the GUID; other libraries draw each name anew. So a number
 * is one of ours if another node of the session has the same half. */
static bool is_ours(const cli_roster *roster, const cli_row *row, uint64_t client) {
    for (size_t i = 0; i < roster->count; i++) {
        const cli_row *other = &roster->rows[i];
        zkl_guid guid;
        if (other != row && other->session == row->session && zkl_znode_guid(other->node, &guid) &&
            guid.client == client)
            return true;
    }
    return false;
}

static uint32_t owner_of(const cli_roster *roster, const cli_row *row) {
    zkl_guid guid;
    if (!zkl_znode_guid(row->node, &guid) || guid.number >> ZKL_OWNER_SHIFT == 0)
        return 0;
    return is_ours(roster, row, guid.client) ? (uint32_t)(guid.number >> ZKL_OWNER_SHIFT) : 0;
}

static bool is_one_line(const cli_row *a, const cli_row *b) {
    const bool mutex = a->kind == ZKL_KIND_LOCK, lease = a->kind == ZKL_KIND_LEASE;
    return strcmp(a->path, b->path) == 0 && mutex == (b->kind == ZKL_KIND_LOCK) &&
           lease == (b->kind == ZKL_KIND_LEASE);
}

/* The first row of the leases for which those in this line wait. A line whose first does not hold
 * is that of a semaphore. */
static size_t leases_of(const cli_roster *roster, size_t first) {
    static const char gate[] = "/locks", leases[] = "/leases";
    const cli_row *row = &roster->rows[first];
    const size_t length = strlen(row->path), end = sizeof gate - 1;
    if (row->kind != ZKL_KIND_LOCK || row->standing != CLI_WAITS || length < end ||
        strcmp(row->path + length - end, gate) != 0)
        return roster->count;
    size_t i = 0;
    for (; i < roster->count; i++) {
        const char *path = roster->rows[i].path;
        if (roster->rows[i].kind == ZKL_KIND_LEASE && strncmp(path, row->path, length - end) == 0 &&
            strcmp(path + length - end, leases) == 0)
            break;
    }
    return i;
}

static size_t count_holders(const zkl_standing *all, size_t count, size_t first) {
    size_t holders = 0;
    for (size_t i = first; i < count && all[i].line == all[first].line; i++)
        holders += !all[i].waits && !all[i].ends;
    return holders;
}

/* A lease that waits for the others is about to be a hold: it counts for nobody. A node that is
 * not ephemeral is nobody's. */
static zkl_standing standing_of(const cli_roster *roster, size_t i, size_t line) {
    const cli_row *row = &roster->rows[i];
    int32_t sequence = 0;
    zkl_znode_parse(row->node, &sequence);
    const bool waits = row->standing == CLI_WAITS;
    return (zkl_standing){.line = line,
                          .place = sequence,
                          .kind = row->kind,
                          .waits = waits && row->kind != ZKL_KIND_LEASE,
                          .ends = !row->session || (waits && row->kind == ZKL_KIND_LEASE),
                          .owner = owner_of(roster, row),
                          .session = (uint64_t)row->session,
                          .group = row->token,
                          .pool = ZKL_NO_POOL};
}

/* The leases of a semaphore come before its waiters. */
static zkl_standing *standings_of(const cli_roster *roster) {
    zkl_standing *all = cli_memory_again(NULL, roster->count, sizeof *all);
    size_t line = 0;
    for (size_t i = 0; i < roster->count; i++) {
        const bool first = i == 0 || !is_one_line(&roster->rows[i - 1], &roster->rows[i]);
        line += first;
        all[i] = standing_of(roster, i, line);
        const size_t leases = first ? leases_of(roster, i) : i;
        if (leases >= i)
            continue;
        all[i].pool = all[leases].line;
        all[i].enough = count_holders(all, i, leases);
    }
    return all;
}

static zkl_status find(const cli_roster *roster, zkl_circles *found) {
    if (roster->count == 0)
        return ZKL_OK;
    zkl_standing *all = standings_of(roster);
    const bool complete = zkl_circles_find(all, roster->count, found);
    free(all);
    return complete ? ZKL_OK : ZKL_NO_MEMORY;
}

/* ---- the second reading ---- */

static bool is_still_there(const cli_roster *again, const cli_row *row) {
    const cli_row *other = cli_roster_find(again, row);
    return other && other->token == row->token && other->standing == row->standing;
}

static bool stands(const cli_deadlocks *found, const cli_roster *again, const zkl_circle *circle) {
    const cli_row *rows = found->roster.rows;
    for (size_t i = 0; i < circle->count; i++)
        if (!is_still_there(again, &rows[circle->links[i].waits]) ||
            !is_still_there(again, &rows[circle->links[i].front]))
            return false;
    return true;
}

static void keep_those_in(cli_deadlocks *found, const cli_roster *again) {
    size_t kept = 0;
    for (size_t i = 0; i < found->circles.count; i++) {
        const zkl_circle circle = found->circles.all[i];
        if (stands(found, again, &circle))
            found->circles.all[kept++] = circle;
        else
            free(circle.links);
    }
    found->circles.count = kept;
}

int cli_deadlocks_find(const cli_search *search, cli_connection *connection, cli_deadlocks *found) {
    cli_roster again = {.count = 0};
    const cli_search quietly = {search->path, search->below, search->most, .quiet = true};
    int code = cli_search_read(search, connection, &found->roster);
    if (code == 0)
        code = cli_connection_failure(connection, find(&found->roster, &found->circles), NULL);
    if (code == 0 && found->circles.count > 0) {
        code = cli_search_read(&quietly, connection, &again);
        keep_those_in(found, &again);
    }
    cli_roster_free(&again);
    return code;
}

void cli_deadlocks_free(cli_deadlocks *found) {
    zkl_circles_free(&found->circles);
    cli_roster_free(&found->roster);
}

/* ---- what is shown ---- */

/* An owner in a circle: the wait, and the node for which the one before waits. */
typedef struct member {
    const cli_row *waits, *holds;
} member;

static member member_at(const cli_deadlocks *found, const zkl_circle *circle, size_t i) {
    const size_t before = (i + circle->count - 1) % circle->count;
    return (member){&found->roster.rows[circle->links[i].waits],
                    &found->roster.rows[circle->links[before].front]};
}

static const char *certainty_of(const zkl_circle *circle) {
    return circle->certain ? "certain" : "possible";
}

char *cli_deadlocks_text(const cli_deadlocks *found, size_t index) {
    const zkl_circle *circle = &found->circles.all[index];
    char *text = cli_memory_print("%s:", certainty_of(circle));
    for (size_t i = 0; i < circle->count; i++) {
        const member one = member_at(found, circle, i);
        char session[CLI_SESSION_TEXT], since[CLI_TIME_TEXT];
        cli_output_session(session, one.waits->session);
        cli_output_time(since, one.waits->created);
        char *longer =
            cli_memory_print("%s%s %s (session %s) %s %s and waits for %s since %s", text,
                             i == 0 ? "" : ";", one.waits->identifier, session,
                             one.holds->standing == CLI_HOLDS ? "holds" : "stands in front at",
                             one.holds->path, one.waits->path, since);
        free(text);
        text = longer;
    }
    return text;
}

static void print_member(const member *one) {
    char session[CLI_SESSION_TEXT];
    cli_output_session(session, one->waits->session);
    printf("{\"session\": \"%s\"", session);
    cli_json_text(", \"identifier\": ", one->waits->identifier);
    cli_json_text(", \"holds\": ", one->holds->path);
    cli_json_text(", \"waits\": ", one->waits->path);
    printf(", \"since\": %.3f}", one->waits->created);
}

static void print_json(const cli_deadlocks *found, const zkl_circle *circle) {
    printf("{\"deadlock\": \"%s\", \"circle\": [", certainty_of(circle));
    for (size_t i = 0; i < circle->count; i++) {
        const member one = member_at(found, circle, i);
        fputs(i == 0 ? "" : ", ", stdout);
        print_member(&one);
    }
    puts("]}");
}

void cli_deadlocks_print(const cli_deadlocks *found, bool json) {
    for (size_t i = 0; i < found->circles.count; i++) {
        if (json) {
            print_json(found, &found->circles.all[i]);
            continue;
        }
        char *text = cli_deadlocks_text(found, i);
        cli_output_shown(text);
        free(text);
    }
}
