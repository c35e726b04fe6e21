/* SPDX-License-Identifier: MIT */
#include "cli/who/tree.h"

#include "cli/connection.h"
#include "cli/text.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>

/* Requests that are on their way at a time. One after another, a search through 1,000 lines behind
 * a round trip of 10 ms takes half as long again. */
#define WINDOW 64

/* A directory that is still to be looked at. */
typedef struct place {
    char *path;
    unsigned depth;
    bool gate;
} place;

/* A search; `places` is a queue, which grows level by level. */
typedef struct search {
    cli_tree *tree;
    cli_connection *connection;
    double seconds;
    bool below;
    place *places;
    size_t next, count;
} search;

/* What was asked about one of the places. */
typedef struct question {
    zkl_node_request *request;
    bool answered;
    zkl_status status;
} question;

typedef struct questions {
    question all[WINDOW];
    uint64_t first; /* tag; the others have the next ones */
    size_t count, open;
    cli_listener caller; /* hears of other events meanwhile */
} questions;

bool cli_tree_spend(cli_tree *tree, size_t requests) {
    if (tree->requests + requests > CLI_TREE_REQUESTS) {
        tree->too_many = true;
        return false;
    }
    tree->requests += requests;
    return true;
}

/* ---- the answers ---- */

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
    if (!s->below && !gate && strcmp(name, "leases") != 0)
        return;
    if (here.depth == CLI_TREE_DEPTH) {
        s->tree->too_deep = true;
        return;
    }
    const char *parent = here.path[1] ? here.path : "";
    add_place(s, (place){cli_memory_print("%s/%s", parent, name), here.depth + 1, gate});
}

static void take(search *s, size_t index, const zkl_content *content) {
    cli_line line = {.path = s->places[index].path, .gate = s->places[index].gate};
    const bool semaphore = has_leases(content);
    const bool deeper = s->below || s->places[index].depth == 0;
    for (size_t i = 0; i < content->count; i++) {
        int32_t sequence;
        const zkl_kind kind = zkl_znode_parse(content->names[i], &sequence);
        line.leases += kind == ZKL_KIND_LEASE;
        line.locks += kind != ZKL_KIND_LEASE && kind != ZKL_KIND_NONE;
        if (kind == ZKL_KIND_NONE && deeper)
            go_below(s, index, content->names[i], semaphore);
    }
    if (line.leases + line.locks == 0)
        return;
    cli_tree *tree = s->tree;
    line.path = cli_memory_text(line.path);
    tree->lines = cli_memory_again(tree->lines, tree->count + 1, sizeof *tree->lines);
    tree->lines[tree->count++] = line;
}

/* ---- to ask ---- */

static bool on_event(void *context, const zkl_event *event) {
    questions *asked = context;
    const uint64_t index = event->tag - asked->first;
    if (index >= asked->count)
        return !asked->caller.told || asked->caller.told(asked->caller.context, event);
    asked->all[index].answered = true;
    asked->all[index].status = event->status;
    return --asked->open > 0;
}

static void ask(search *s, questions *asked) {
    cli_connection *connection = s->connection;
    const zkl_nanos deadline = zkl_clock_after(zkl_now(), s->seconds);
    asked->first = connection->tag + 1;
    while (asked->count < WINDOW && s->next + asked->count < s->count &&
           cli_tree_spend(s->tree, 1)) {
        const zkl_op op = {.kind = ZKL_OP_CHILDREN, .path = s->places[s->next + asked->count].path};
        const uint64_t tag = cli_connection_tag(connection);
        zkl_node_request *request = zkl_node_do(connection->client, &op, tag, deadline, false);
        asked->all[asked->count++] = (question){
            .request = request, .answered = !request, .status = request ? ZKL_OK : ZKL_NO_MEMORY};
        asked->open += request != NULL;
    }
}

/* All are answered, by their deadline at the latest. */
static void await(search *s, questions *asked) {
    asked->caller = s->connection->listener;
    s->connection->listener = (cli_listener){.told = on_event, .context = asked};
    if (asked->open > 0)
        cli_connection_await(s->connection, ZKL_NEVER);
    s->connection->listener = asked->caller;
}

static zkl_status take_answer(search *s, size_t index, const question *q) {
    const zkl_status status = q->answered ? q->status : ZKL_CANCELLED;
    if (status == ZKL_OK)
        take(s, index, zkl_node_request_content(q->request, 0));
    const bool passed_over = status == ZKL_ACCESS_DENIED && index > 0;
    s->tree->denied += passed_over;
    return status == ZKL_NO_NODE || passed_over ? ZKL_OK : status;
}

/* Looks at as many places as may be asked about at a time. */
static zkl_status look(search *s) {
    questions asked = {.count = 0};
    zkl_status status = ZKL_OK;
    ask(s, &asked);
    await(s, &asked);
    for (size_t i = 0; i < asked.count; i++) {
        if (status == ZKL_OK)
            status = take_answer(s, s->next + i, &asked.all[i]);
        zkl_node_request_drop(asked.all[i].request);
    }
    s->next += asked.count;
    return status;
}

/* ---- all of it ---- */

static int compare(const void *a, const void *b) {
    return strcmp(((const cli_line *)a)->path, ((const cli_line *)b)->path);
}

zkl_status cli_tree_find(cli_tree *tree, cli_connection *connection, const char *path, bool below,
                         double seconds) {
    *tree = (cli_tree){.count = 0};
    search s = {.tree = tree, .connection = connection, .seconds = seconds, .below = below};
    zkl_status status = ZKL_OK;
    add_place(&s, (place){cli_memory_text(path), 0, false});
    while (status == ZKL_OK && s.next < s.count && !tree->too_many)
        status = look(&s);
    for (size_t i = 0; i < s.count; i++)
        free(s.places[i].path);
    free(s.places);
    if (tree->count > 0)
        qsort(tree->lines, tree->count, sizeof *tree->lines, compare);
    return status;
}

void cli_tree_free(cli_tree *tree) {
    for (size_t i = 0; i < tree->count; i++)
        free(tree->lines[i].path);
    free(tree->lines);
    *tree = (cli_tree){.count = 0};
}
