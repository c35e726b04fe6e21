/* SPDX-License-Identifier: MIT */
#include "cli/who/roster.h"

#include "cli/complaint.h"
#include "cli/connection.h"
#include "cli/text.h"
#include "cli/who/tree.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>

/* ---- to read ---- */

static void add(cli_roster *roster, const cli_line *line, const zkl_participant *participant) {
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
static zkl_status read_standing(cli_roster *roster, cli_connection *connection,
                                const cli_line *line, bool leases, double seconds) {
    zkl_participant participant;
    const uint64_t tag = cli_connection_ask(connection);
    const zkl_nanos deadline = zkl_clock_after(zkl_now(), seconds);
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

/* ---- the lines of a search ---- */

/* The leases of a semaphore come before its waiters: "leases" sorts before "locks". */
static int read_line(const cli_search *search, cli_connection *connection, cli_tree *tree,
                     const cli_line *line, cli_roster *roster) {
    zkl_status status = ZKL_OK;
    if (line->leases > 0 && cli_tree_spend(tree, line->leases + 1))
        status = read_standing(roster, connection, line, true, search->seconds);
    if (status == ZKL_OK && line->locks > 0 && cli_tree_spend(tree, line->locks + 1))
        status = read_standing(roster, connection, line, false, search->seconds);
    if (status == ZKL_OK)
        return 0;
    const bool passed_over = status == ZKL_ACCESS_DENIED || status == ZKL_TOO_MANY;
    if (!search->below || !passed_over)
        return cli_connection_failure(connection, status, line->path);
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
static void find_pending(cli_roster *roster, const cli_line *line, size_t first) {
    if (!line->gate || first == 0 || first >= roster->count)
        return;
    const cli_row *gate = &roster->rows[first];
    cli_row *last = &roster->rows[first - 1];
    if (last->kind == ZKL_KIND_LEASE && last->session == gate->session &&
        are_siblings(gate->path, last->path))
        last->standing = CLI_WAITS;
}

static void warn_of_gaps(const cli_tree *tree) {
    if (tree->too_many)
        cli_warn("cut short after %d requests: there is more", CLI_TREE_REQUESTS);
    if (tree->too_deep)
        cli_warn("cut short at a depth of %d: there is more below", CLI_TREE_DEPTH);
    if (tree->denied > 0)
        cli_warn("access denied: %zu directories were passed over", tree->denied);
}

int cli_search_read(const cli_search *search, cli_connection *connection, cli_roster *roster) {
    cli_tree tree;
    int code = 0;
    const zkl_status status =
        cli_tree_find(&tree, connection, search->path, search->below, search->seconds);
    if (status != ZKL_OK)
        code = cli_connection_failure(connection, status, search->path);
    for (size_t i = 0; code == 0 && i < tree.count; i++) {
        const size_t first = roster->count;
        code = read_line(search, connection, &tree, &tree.lines[i], roster);
        find_pending(roster, &tree.lines[i], first);
    }
    if (code == 0)
        warn_of_gaps(&tree);
    cli_tree_free(&tree);
    return code;
}
