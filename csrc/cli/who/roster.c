/* SPDX-License-Identifier: MIT */
#include "cli/who/roster.h"

#include "cli/complaint.h"
#include "cli/connection.h"
#include "cli/text.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>

/* Bounds of a search. */
#define DEPTH_MOST 8
#define REQUESTS_MOST 10000
/* Requests that are on their way at a time. One after another, a search through 300 lines behind a
 * round trip of 20 ms takes 25 s instead of 15. */
#define WINDOW 64

/* A directory. */
typedef struct place {
    char *path;
    unsigned depth;
    size_t locks, leases; /* how many nodes of each */
    bool gate; /* of a semaphore: those in its line wait for a lease, the first one too */
} place;

/* The question about a place. */
typedef struct question {
    zkl_node_request *request;
    bool answered;
    zkl_status status;
} question;

typedef struct search {
    const cli_search *wanted;
    cli_connection *connection;
    cli_listener caller; /* hears of what is no answer */
    place *places;       /* a queue that grows level by level; sorted by path at the end */
    size_t next, count;  /* the first that was not asked about yet */
    question questions[WINDOW];
    uint64_t tag;       /* of the first; the others have the next ones */
    size_t asked, open; /* so many questions; so many of them have no answer yet */
    size_t requests;    /* how many were sent */
    size_t denied;      /* directories that may not be read */
    bool too_deep;      /* there is more below DEPTH_MOST */
    bool too_many;      /* it ended after REQUESTS_MOST */
} search;

/* Has the search room for so many requests more? They count as sent, then. */
static bool spend(search *s, size_t requests) {
    if (s->requests + requests > REQUESTS_MOST) {
        s->too_many = true;
        return false;
    }
    s->requests += requests;
    return true;
}

/* ---- the places: what is in one ---- */

static void add_place(search *s, place added) {
    s->places = cli_memory_again(s->places, s->count + 1, sizeof *s->places);
    s->places[s->count++] = added;
}

static bool has_leases(const zkl_content *content) {
    for (size_t i = 0; i < content->count; i++)
        if (strcmp(content->names[i], "leases") == 0)
            return true;
    return false;
}

static void go_below(search *s, size_t index, const char *name, bool semaphore) {
    const place here = s->places[index];
    const bool gate = semaphore && strcmp(name, "locks") == 0;
    if (!s->wanted->below && !gate && strcmp(name, "leases") != 0)
        return;
    if (here.depth == DEPTH_MOST) {
        s->too_deep = true;
        return;
    }
    const char *parent = here.path[1] ? here.path : "";
    add_place(s, (place){cli_memory_print("%s/%s", parent, name), here.depth + 1, .gate = gate});
}

static void take(search *s, size_t index, const zkl_content *content) {
    size_t locks = 0, leases = 0;
    const bool semaphore = has_leases(content);
    const bool deeper = s->wanted->below || s->places[index].depth == 0;
    for (size_t i = 0; i < content->count; i++) {
        int32_t sequence;
        const zkl_kind kind = zkl_znode_parse(content->names[i], &sequence);
        leases += kind == ZKL_KIND_LEASE;
        locks += kind != ZKL_KIND_LEASE && kind != ZKL_KIND_NONE;
        if (kind == ZKL_KIND_NONE && deeper)
            go_below(s, index, content->names[i], semaphore);
    }
    s->places[index].locks = locks;
    s->places[index].leases = leases;
}

/* ---- the places: the questions ---- */

static bool on_event(void *context, const zkl_event *event) {
    search *s = context;
    const uint64_t index = event->tag - s->tag;
    if (index >= s->asked)
        return !s->caller.told || s->caller.told(s->caller.context, event);
    s->questions[index].answered = true;
    s->questions[index].status = event->status;
    return --s->open > 0;
}

static void ask(search *s) {
    cli_connection *connection = s->connection;
    const zkl_nanos deadline = zkl_clock_after(zkl_now(), s->wanted->seconds);
    s->tag = connection->tag + 1;
    for (s->asked = s->open = 0; s->asked < WINDOW && s->next + s->asked < s->count && spend(s, 1);
         s->asked++) {
        const zkl_op op = {.kind = ZKL_OP_CHILDREN, .path = s->places[s->next + s->asked].path};
        const uint64_t tag = cli_connection_tag(connection);
        zkl_node_request *request = zkl_node_do(connection->client, &op, tag, deadline, false);
        s->questions[s->asked] = (question){
            .request = request, .answered = !request, .status = request ? ZKL_OK : ZKL_NO_MEMORY};
        s->open += request != NULL;
    }
}

/* All are answered, by their deadline at the latest. */
static void await(search *s) {
    s->caller = s->connection->listener;
    s->connection->listener = (cli_listener){.told = on_event, .context = s};
    if (s->open > 0)
        cli_connection_await(s->connection, ZKL_NEVER);
    s->connection->listener = s->caller;
}

/* A node below the path that may not be read is passed over, and counted. */
static zkl_status take_answer(search *s, size_t index, const question *q) {
    const zkl_status status = q->answered ? q->status : ZKL_CANCELLED;
    if (status == ZKL_OK)
        take(s, index, zkl_node_request_content(q->request, 0));
    const bool passed_over = status == ZKL_ACCESS_DENIED && index > 0;
    s->denied += passed_over;
    return status == ZKL_NO_NODE || passed_over ? ZKL_OK : status;
}

/* Looks at as many places as may be asked about at a time. */
static zkl_status look(search *s) {
    zkl_status status = ZKL_OK;
    ask(s);
    await(s);
    for (size_t i = 0; i < s->asked; i++) {
        if (status == ZKL_OK)
            status = take_answer(s, s->next + i, &s->questions[i]);
        zkl_node_request_drop(s->questions[i].request);
    }
    s->next += s->asked;
    return status;
}

static int compare(const void *a, const void *b) {
    return strcmp(((const place *)a)->path, ((const place *)b)->path);
}

/* Looks at the path alone, and at the two lines of a semaphore there; or at all below it, too.
 * ZKL_OK also if there is no such node. */
static zkl_status find_places(search *s) {
    zkl_status status = ZKL_OK;
    add_place(s, (place){.path = cli_memory_text(s->wanted->path)});
    while (status == ZKL_OK && s->next < s->count && !s->too_many)
        status = look(s);
    qsort(s->places, s->count, sizeof *s->places, compare);
    return status;
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
static zkl_status read_standing(const search *s, const place *line, bool leases,
                                cli_roster *roster) {
    zkl_participant participant;
    cli_connection *connection = s->connection;
    const uint64_t tag = cli_connection_ask(connection);
    const zkl_nanos deadline = zkl_clock_after(zkl_now(), s->wanted->seconds);
    zkl_query *query =
        zkl_query_participants(connection->client, line->path, leases, tag, deadline, false);
    const zkl_status status = cli_connection_answer(connection, query);
    for (size_t i = 0; status == ZKL_OK && zkl_participant_at(query, i, &participant); i++)
        add(roster, line, &participant);
    zkl_query_drop(query);
    return status;
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

/* ---- all rows ---- */

/* The leases of a semaphore come before its waiters: "leases" sorts before "locks". */
static int read_line(search *s, const place *line, cli_roster *roster) {
    zkl_status status = ZKL_OK;
    if (line->leases > 0 && spend(s, line->leases + 1))
        status = read_standing(s, line, true, roster);
    if (status == ZKL_OK && line->locks > 0 && spend(s, line->locks + 1))
        status = read_standing(s, line, false, roster);
    if (status == ZKL_OK)
        return 0;
    const bool passed_over = status == ZKL_ACCESS_DENIED || status == ZKL_TOO_MANY;
    if (!s->wanted->below || !passed_over)
        return cli_connection_failure(s->connection, status, line->path);
    cli_warn("%s: %s", zkl_status_text(status), line->path);
    return 0;
}

static bool are_siblings(const char *path, const char *other) {
    const size_t parent = (size_t)(strrchr(path, '/') - path);
    return strncmp(path, other, parent) == 0 && strrchr(other, '/') == other + parent;
}

/* The caller who has the gate of a semaphore may have made its lease's node already: it waits until
 * there are few enough of them, and keeps the gate until then. `first`: the gate's row, behind
 * those of the leases. */
static void find_pending(cli_roster *roster, const place *line, size_t first) {
    if (!line->gate || first == 0 || first >= roster->count)
        return;
    const cli_row *gate = &roster->rows[first];
    cli_row *last = &roster->rows[first - 1];
    if (last->kind == ZKL_KIND_LEASE && last->session == gate->session &&
        are_siblings(gate->path, last->path))
        last->standing = CLI_WAITS;
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
    search s = {.wanted = wanted, .connection = connection};
    const zkl_status status = find_places(&s);
    int code = status == ZKL_OK ? 0 : cli_connection_failure(connection, status, wanted->path);
    for (size_t i = 0; code == 0 && i < s.count; i++) {
        const size_t first = roster->count;
        code = read_line(&s, &s.places[i], roster);
        find_pending(roster, &s.places[i], first);
    }
    if (code == 0)
        warn_of_gaps(&s);
    for (size_t i = 0; i < s.count; i++)
        free(s.places[i].path);
    free(s.places);
    return code;
}
