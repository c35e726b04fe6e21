/* SPDX-License-Identifier: MIT */
#include "cli/who/roster.h"

#include "cli/connection.h"
#include "cli/memory.h"
#include "cli/text.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

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

zkl_status cli_roster_read(cli_roster *roster, cli_connection *connection, const cli_line *line,
                           bool leases, double seconds) {
    zkl_participant participant;
    const uint64_t tag = cli_connection_tag(connection);
    const zkl_nanos deadline = zkl_clock_after(zkl_now(), seconds);
    zkl_query *query =
        zkl_query_participants(connection->client, line->path, leases, tag, deadline, false);
    const zkl_status status = query ? cli_connection_answer(connection, tag) : ZKL_NO_MEMORY;
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

/* ---- what is in a row ---- */

const char *cli_row_kind(const cli_row *row) {
    static const char *const kinds[] = {
        [ZKL_KIND_NONE] = "",       [ZKL_KIND_LOCK] = "lock",   [ZKL_KIND_READ] = "read",
        [ZKL_KIND_WRITE] = "write", [ZKL_KIND_LEASE] = "lease",
    };
    _Static_assert(sizeof kinds / sizeof *kinds == ZKL_KINDS, "each kind has a name");
    return kinds[row->kind];
}

const char *cli_row_state(const cli_row *row) {
    static const char *const states[] = {
        [CLI_WAITS] = "waits", [CLI_HOLDS] = "holds", [CLI_GONE] = "gone"};
    return states[row->standing];
}

double cli_row_age(const cli_row *row) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const double age = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - row->created;
    return age > 0 ? age : 0;
}
