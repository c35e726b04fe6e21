/* SPDX-License-Identifier: MIT */
/* doctor_acquire: a real acquire and release, and what they cost. */
#include "cli/doctor/patient.h"

#include "cli/connection.h"
#include "cli/nodes/node_command.h"
#include "cli/output.h"
#include "cli/who/roster.h"
#include "zklock.h"

#include <inttypes.h>

#define SKEW 2.0 /* seconds */

/* The requests that were sent, and the time that passed, since a moment. */
typedef struct cost {
    uint64_t requests;
    zkl_nanos since;
} cost;

static cost cost_now(zkl_client *client) {
    zkl_stats stats;
    zkl_client_stats(client, &stats);
    return (cost){stats.requests_sent, zkl_now()};
}

static void report_cost(cli_patient *patient, const char *subject, cost before) {
    const cost now = cost_now(patient->command.connection.client);
    cli_finding(patient, CLI_FINE, subject, NULL, "%.1f ms, %" PRIu64 " requests",
                zkl_clock_seconds(now.since - before.since) * 1e3, now.requests - before.requests);
}

/* As a caller of the kind that is there would. */
static zkl_kind kind_of(cli_patient *patient) {
    cli_roster roster = {.count = 0};
    const cli_search search = {patient->path, false, patient->command.connect};
    zkl_kind kind = ZKL_KIND_LOCK;
    if (cli_search_read(&search, &patient->command.connection, &roster) == 0 && roster.count > 0)
        kind = roster.rows[0].kind;
    cli_roster_free(&roster);
    return kind == ZKL_KIND_READ ? ZKL_KIND_WRITE : kind;
}

/* The node's time is the servers'. */
static void examine_clock(cli_patient *patient, zkl_contender *contender) {
    char path[ZKL_NODE_PATH];
    if (!zkl_node_at(contender, 0, path, sizeof path))
        return;
    const zkl_op op = {.kind = ZKL_OP_EXISTS, .path = path};
    if (cli_node_command_try(&patient->command, &op) != ZKL_OK)
        return;
    const zkl_stat *stat = &zkl_node_request_content(patient->command.request, 0)->stat;
    const double ahead = (double)stat->ctime / 1e3 - cli_wall_clock();
    if (ahead > SKEW || ahead < -SKEW - patient->command.connect)
        cli_finding(patient, CLI_WARNING, "clock", "Set both by NTP",
                    "the servers' is %.0f s ahead of ours: ages are wrong, and --every counts by "
                    "theirs",
                    ahead);
    else
        cli_finding(patient, CLI_FINE, "clock", NULL, "the servers' agrees with ours");
}

static void release(cli_patient *patient, zkl_contender *contender) {
    cli_connection *connection = &patient->command.connection;
    const cost before = cost_now(connection->client);
    const uint64_t tag = cli_connection_ask(connection);
    const zkl_nanos deadline = zkl_clock_after(zkl_now(), patient->command.connect);
    zkl_status status = zkl_release(contender);
    zkl_query *query = zkl_query_flush(connection->client, tag, deadline);
    if (status == ZKL_OK)
        status = cli_connection_answer(connection, query);
    zkl_query_drop(query);
    if (status == ZKL_OK)
        report_cost(patient, "release", before);
    else
        cli_finding(patient, CLI_FAILURE, "release", "Look at the lines above", "%s",
                    zkl_status_text(status));
}

static void report_failure(cli_patient *patient, zkl_status status, cost before) {
    if (status == ZKL_TIMEOUT)
        report_cost(patient, "acquire, which found the lock held", before);
    else
        cli_finding(patient, CLI_FAILURE, "acquire", "Look at the lines above", "%s",
                    zkl_status_text(status));
}

static void acquire(cli_patient *patient, zkl_kind kind) {
    zkl_contender *contender;
    cli_connection *connection = &patient->command.connection;
    const cost before = cost_now(connection->client);
    const uint64_t tag = cli_connection_ask(connection);
    const zkl_terms terms = {.kind = kind, .deadline = ZKL_NEVER, .once = true};
    const zkl_status status = zkl_join(connection->client, patient->path, tag, &terms, &contender);
    if (status != ZKL_OK) {
        report_failure(patient, status, before);
        return;
    }
    const zkl_nanos until = zkl_clock_after(zkl_now(), 2 * patient->command.connect);
    if (cli_connection_await(connection, until) != CLI_WAITED_ANSWER) {
        report_failure(patient, ZKL_DISCONNECTED, before);
    } else if (connection->answer.kind != ZKL_EVENT_GRANTED) {
        report_failure(patient, connection->answer.status, before);
    } else {
        report_cost(patient, "acquire", before);
        examine_clock(patient, contender);
        release(patient, contender);
    }
    zkl_drop(contender);
}

void cli_doctor_acquire(cli_patient *patient) {
    const zkl_kind kind = kind_of(patient);
    if (kind == ZKL_KIND_LEASE)
        cli_finding(patient, CLI_FINE, "acquire", NULL,
                    "not tried: the permits of this semaphore are not known");
    else
        acquire(patient, kind);
}
