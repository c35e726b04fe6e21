/* SPDX-License-Identifier: MIT */
#include "cli/who/roster.h"

#include "cli/connection.h"
#include "cli/text.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>

/* Bounds of a search. */
#define DEPTH_MOST 8
#define REQUESTS_MOST 10000

/* A directory. */
typedef struct place {
    const char *path;
    unsigned depth;
    bool gate; /* of a semaphore: those in its line wait for a lease, the first one too */
} place;

typedef struct search {
    const cli_search *wanted;
    cli_connection *connection;
    cli_roster *roster;
    size_t requests; /* how many were sent */
    size_t denied;   /* directories that may not be read */
    bool too_deep;   /* there is more below DEPTH_MOST */
    bool too_many;   /* there is more than REQUESTS_MOST show */
} search;

/* Has the search room for so many requests more? They count as sent, then. */
static bool spend(search *s, size_t requests) {
    const size_t most = s->wanted->most ? s->wanted->most : REQUESTS_MOST;
    s->too_many = s->too_many || s->requests + requests > most;
    s->requests += s->too_many ? 0 : requests;
    return !s->too_many;
}

/* ---- the rows of a line ---- */

static void add(cli_roster *roster, const place *line, const zkl_participant *participant) {
    roster->rows = cli_memory_again(roster->rows, roster->count + 1, sizeof *roster->rows);
    roster->rows[roster->count++] = (cli_row){
        .path = cli_text_spelled(line->path, strlen(line->path)),
        .node = cli_text_spelled(participant->node, strlen(participant->node)),
        .identifier = cli_text_spelled(participant->identifier, participant->identifier_length),
        .kind = participant->kind,
        .standing = participant->holder && !line->gate ? CLI_HOLDS : CLI_WAITS,
        .session = participant->session,
        .token = participant->token,
        .created = participant->created,
    };
}

/* Adds those in a line, in its order: the leases there, or all but leases. */
static zkl_status read_standing(const search *s, const place *line, bool leases) {
    zkl_participant participant = ZKL_PARTICIPANT_DEFAULTS;
    zkl_query *query =
        zkl_query_participants(s->connection->client, line->path, leases, CLI_QUESTION,
                               cli_connection_deadline(s->connection), false);
    const zkl_status status = cli_connection_answer(s->connection, query);
    for (size_t i = 0; status == ZKL_OK && zkl_participant_at(query, i, &participant); i++)
        add(s->roster, line, &participant);
    zkl_query_drop(query);
    return status;
}

static bool are_siblings(const char *path, const char *other) {
    const size_t parent = (size_t)(strrchr(path, '/') - path);
    return strncmp(path, other, parent) == 0 && strrchr(other, '/') == other + parent;
}

/* The caller who has the gate of a semaphore may have made its lease's node already: it waits until
 * there are few enough of them, and keeps the gate until then. `first`: the gate's row, behind
 * those of the leases. */
static void find_pending(cli_roster *roster, size_t first) {
    if (first == 0 || first >= roster->count)
        return;
    const cli_row *gate = &roster->rows[first];
    cli_row *last = &roster->rows[first - 1];
    if (last->kind == ZKL_KIND_LEASE && last->session == gate->session &&
        are_siblings(gate->path, last->path))
        last->standing = CLI_WAITS;
}

/* So many lock nodes, and so many leases. */
static int read_line(search *s, const place *line, size_t locks, size_t leases) {
    const size_t first = s->roster->count;
    zkl_status status = ZKL_OK;
    if (leases > 0 && spend(s, leases + 1))
        status = read_standing(s, line, true);
    if (status == ZKL_OK && locks > 0 && spend(s, locks + 1))
        status = read_standing(s, line, false);
    if (line->gate)
        find_pending(s->roster, first);
    const bool passed_over = status == ZKL_ACCESS_DENIED || status == ZKL_TOO_MANY;
    if (!s->wanted->below || !passed_over)
        return cli_connection_failure(s->connection, status, line->path);
    s->roster->cut = true;
    if (!s->wanted->quiet)
        cli_warn("%s: %s", zkl_status_text(status), line->path);
    return 0;
}

/* ---- the directories ---- */

static int look(search *s, const place *here);

static bool has_leases(const zkl_content *content) {
    for (size_t i = 0; i < content->count; i++)
        if (strcmp(content->names[i], "leases") == 0)
            return true;
    return false;
}

static int go_below(search *s, const place *here, const char *name, bool gate) {
    if (here->depth == DEPTH_MOST) {
        s->too_deep = true;
        return 0;
    }
    char *path = cli_memory_print("%s/%s", here->path[1] ? here->path : "", name);
    const int code = look(s, &(place){path, here->depth + 1, gate});
    free(path);
    return code;
}

/* Without `below` only the two lines of a semaphore at the path itself. The names are sorted:
 * "leases" comes before "locks". */
static int take(search *s, const place *here, const zkl_content *content) {
    size_t locks = 0, leases = 0;
    const bool semaphore = has_leases(content);
    for (size_t i = 0; i < content->count; i++) {
        int32_t sequence;
        const zkl_kind kind = zkl_znode_parse(content->names[i], &sequence);
        leases += kind == ZKL_KIND_LEASE;
        locks += kind != ZKL_KIND_LEASE && kind != ZKL_KIND_NONE;
    }
    int code = read_line(s, here, locks, leases);
    for (size_t i = 0; code == 0 && i < content->count; i++) {
        int32_t sequence;
        const char *name = content->names[i];
        const bool gate = semaphore && strcmp(name, "locks") == 0;
        const bool half = here->depth == 0 && (gate || strcmp(name, "leases") == 0);
        if ((s->wanted->below || half) && zkl_znode_parse(name, &sequence) == ZKL_KIND_NONE)
            code = go_below(s, here, name, gate);
    }
    return code;
}

/* A directory that is gone has no rows. One below the path that may not be read is passed over, and
 * counted. */
static int look(search *s, const place *here) {
    int code = 0;
    if (!spend(s, 1))
        return 0;
    const zkl_status status = cli_connection_read(s->connection, ZKL_OP_CHILDREN, here->path);
    zkl_node_request *request = s->connection->request; /* outlives those below */
    s->connection->request = NULL;
    if (status == ZKL_OK)
        code = take(s, here, zkl_node_request_content(request, 0));
    else if (status == ZKL_ACCESS_DENIED && (here->depth > 0 || s->wanted->quiet))
        s->denied++;
    else if (status != ZKL_NO_NODE)
        code = cli_connection_failure(s->connection, status, here->path);
    zkl_node_request_drop(request);
    return code;
}

static void warn_of_gaps(const search *s) {
    if (s->too_many)
        cli_warn("cut short after %d requests: there is more", REQUESTS_MOST);
    if (s->too_deep)
        cli_warn("cut short at a depth of %d: there is more below", DEPTH_MOST);
    if (s->denied > 0)
        cli_warn("access denied: %zu directories were passed over", s->denied);
}

int cli_search_read(const cli_search *wanted, cli_connection *connection, cli_roster *roster) {
    search s = {.wanted = wanted, .connection = connection, .roster = roster};
    const int code = look(&s, &(place){wanted->path, 0, false});
    roster->cut |= s.too_many || s.too_deep || s.denied > 0;
    if (code == 0 && !wanted->quiet)
        warn_of_gaps(&s);
    return code;
}

const cli_row *cli_roster_find(const cli_roster *roster, const cli_row *row) {
    for (size_t i = 0; i < roster->count; i++) {
        const cli_row *other = &roster->rows[i];
        if (strcmp(other->node, row->node) == 0 && strcmp(other->path, row->path) == 0)
            return other;
    }
    return NULL;
}

void cli_roster_free(cli_roster *roster) {
    for (size_t i = 0; i < roster->count; i++) {
        free(roster->rows[i].path);
        free(roster->rows[i].node);
        free(roster->rows[i].identifier);
    }
    free(roster->rows);
    *roster = (cli_roster){.count = 0};
}
