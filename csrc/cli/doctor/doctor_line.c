/* SPDX-License-Identifier: MIT */
/* doctor_line: what is in the lock's directory: kinds, strangers, marks, orphans; what it costs
 * to acquire there; and a real acquire and release. */
#include "cli/connection.h"
#include "cli/doctor/patient.h"

#include "cli/text.h"
#include "cli/who/roster.h"
#include "zklock_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_finding(cli_patient *patient, cli_level level, const char *subject, const char *remedy,
                 const char *format, ...) {
    static const char *const levels[] = {
        [CLI_FINE] = "ok     ", [CLI_WARNING] = "warning", [CLI_FAILURE] = "failure"};
    va_list arguments;
    va_start(arguments, format);
    char *reason = cli_memory_format(format, arguments);
    va_end(arguments);
    char *line = cli_memory_print("%s  %s: %s%s%s", levels[level], subject, reason,
                                  remedy ? ". " : "", remedy ? remedy : "");
    cli_output_shown(line);
    fflush(stdout);
    free(line);
    free(reason);
    if (level > patient->worst)
        patient->worst = level;
}

/* ---- the children of the directory ---- */

typedef struct contents {
    size_t locks, shared; /* nodes of a mutex; of a read-write lock */
    size_t leases;        /* lease nodes */
    bool semaphore;       /* the directories of a semaphore */
    bool mark;            /* that of --every */
    size_t foreign;
    const char *stranger; /* one of the foreign */
} contents;

/* A child that a multilock or --every makes for a moment. */
static bool is_scratch(const char *name) {
    static const char end[] = "-mark";
    zkl_guid guid;
    const size_t length = strlen(name);
    return zkl_znode_guid(name, &guid) && length > sizeof end &&
           strcmp(name + length - (sizeof end - 1), end) == 0;
}

static void count_other(contents *found, const char *name) {
    if (strcmp(name, ZKL_ONCE_NODE) == 0) {
        found->mark = true;
    } else if (strcmp(name, "leases") == 0 || strcmp(name, "locks") == 0) {
        found->semaphore = true;
    } else if (!is_scratch(name)) {
        found->foreign++;
        found->stranger = name;
    }
}

static void count(contents *found, const char *name) {
    int32_t sequence;
    const zkl_kind kind = zkl_znode_parse(name, &sequence);
    found->locks += kind == ZKL_KIND_LOCK;
    found->shared += kind == ZKL_KIND_READ || kind == ZKL_KIND_WRITE;
    found->leases += kind == ZKL_KIND_LEASE;
    if (kind == ZKL_KIND_NONE)
        count_other(found, name);
}

/* ---- kinds and strangers ---- */

static void examine_kinds(cli_patient *patient, const contents *found) {
    const bool lock = found->locks > 0, shared = found->shared > 0,
               leases = found->semaphore || found->leases > 0;
    const char *kind = lock ? "a mutex" : shared ? "a read-write lock" : "a semaphore";
    if (lock + shared + leases > 1)
        cli_finding(patient, CLI_FAILURE, "kind",
                    "Give each lock a path of its own, and delete what is left over",
                    "%zu nodes of a mutex, %zu of a read-write lock, %s of a semaphore at one "
                    "path: callers get `wrong kind`, or wait for ever",
                    found->locks, found->shared, leases ? "directories" : "none");
    else if (lock + shared + leases == 1)
        cli_finding(patient, CLI_FINE, "kind", NULL, "%s", kind);
    else
        cli_finding(patient, CLI_FINE, "kind", NULL, "none: nobody is in the line");
}

/* A lock may stand above others, whose paths are then children of its own; they keep it from being
 * removed, and that is all. */
static void examine_foreign(cli_patient *patient, const contents *found) {
    if (found->foreign == 0) {
        cli_finding(patient, CLI_FINE, "children", NULL, "no foreign ones");
        return;
    }
    cli_finding(patient, CLI_WARNING, "children",
                "Move them elsewhere, unless they are paths of locks, too",
                "%zu that are no nodes of this lock, such as %s", found->foreign,
                CLI_SHOWN(found->stranger));
}

/* ---- what a free lock costs ---- */

#define DEARER "three requests to acquire and release: "

/* True if we may write to the directory. It has no such version, so nothing is written. */
static bool may_write(cli_patient *patient) {
    const zkl_op op = {.size = sizeof(zkl_op),
                       .kind = ZKL_OP_SET,
                       .path = patient->path,
                       .data = "",
                       .version = INT32_MAX};
    return cli_connection_do(&patient->connection, &op) != ZKL_ACCESS_DENIED;
}

/* By docs/internals/protocol.md, "A free lock". Of a semaphore the directories are below. */
static void examine_cost(cli_patient *patient, const contents *found, int32_t data) {
    static const char subject[] = "free lock";
    if (found->semaphore)
        return;
    if (data > 0)
        cli_finding(patient, CLI_FINE, subject, "Keep its data in another node",
                    DEARER "the directory has %d bytes of data", data);
    if (found->mark)
        cli_finding(patient, CLI_FINE, subject, NULL, DEARER "the mark of --every is in it");
    if (found->foreign > 0)
        cli_finding(patient, CLI_FINE, subject, "Give the lock a path of its own",
                    DEARER "other nodes are in it, such as %s", CLI_SHOWN(found->stranger));
    if (data > 0 || found->mark || found->foreign > 0)
        return;
    if (may_write(patient))
        cli_finding(patient, CLI_FINE, subject, NULL,
                    "two requests to acquire and release, in the 60 s after the first");
    else
        cli_finding(patient, CLI_FINE, subject, "Give its callers the permission WRITE (w), too",
                    DEARER "we may not write to the directory");
}

/* ---- the mark ---- */

/* As the engine has it: a number above 0 without leading zeros. */
static bool is_token(const zkl_content *content) {
    int64_t token;
    return content->data[0] != '0' && cli_number_whole(content->data, 1, INT64_MAX, &token) &&
           strlen(content->data) == content->length;
}

static void examine_mark(cli_patient *patient) {
    char when[CLI_TIME_TEXT];
    char *path = cli_memory_print("%s/" ZKL_ONCE_NODE, patient->path);
    const zkl_status status = cli_connection_read(&patient->connection, ZKL_OP_GET, path);
    const zkl_content *content = zkl_node_request_content(patient->connection.request, 0);
    cli_output_time(when, (double)content->stat.mtime / 1e3);
    if (status != ZKL_OK)
        cli_finding(patient, CLI_WARNING, "mark of --every",
                    "Use the credentials that it was made with", "%s", zkl_status_text(status));
    else if (strcmp(content->data, ZKL_REVOKE) == 0)
        cli_finding(patient, CLI_FINE, "mark of --every", NULL,
                    "counts from %s, when somebody wrote " ZKL_REVOKE " to it", when);
    else if (!is_token(content))
        cli_finding(patient, CLI_FAILURE, "mark of --every",
                    "Delete it: the command is then due at once",
                    "its data is no token: run --every ends with `wrong kind`");
    else
        cli_finding(patient, CLI_FINE, "mark of --every", NULL, "done at %s, with token %s", when,
                    content->data);
    free(path);
}

/* ---- orphans ---- */

/* A node without a session stays when its maker is gone. */
static void examine_orphans(cli_patient *patient) {
    cli_roster roster = {.count = 0};
    const cli_search search = {.path = patient->path};
    if (cli_search_read(&search, &patient->connection, &roster) != 0)
        cli_finding(patient, CLI_WARNING, "line", NULL, "it cannot be read");
    for (size_t i = 0; i < roster.count; i++)
        if (roster.rows[i].session == 0)
            cli_finding(patient, CLI_FAILURE, roster.rows[i].node, "Delete it with `zklock delete`",
                        "a node of no session stands in the line of %s: nobody removes it",
                        roster.rows[i].path);
    cli_roster_free(&roster);
}

/* ---- an acquire and a release ---- */

#define CONTENDER 2 /* its tag */

static void report_time(cli_patient *patient, const char *subject, zkl_nanos since) {
    cli_finding(patient, CLI_FINE, subject, NULL, "%.1f ms",
                zkl_clock_seconds(zkl_now() - since) * 1e3);
}

static void report_failure(cli_patient *patient, const char *subject, zkl_status status) {
    cli_finding(patient, CLI_FAILURE, subject, "Look at the lines above", "%s",
                zkl_status_text(status));
}

static void release(cli_patient *patient, zkl_contender *contender) {
    cli_connection *connection = &patient->connection;
    const zkl_nanos since = zkl_now(), deadline = cli_connection_deadline(connection);
    zkl_status status = zkl_release(contender);
    zkl_query *query = zkl_query_flush(connection->client, CLI_QUESTION, deadline);
    if (status == ZKL_OK)
        status = cli_connection_answer(connection, query);
    zkl_query_drop(query);
    if (status == ZKL_OK)
        report_time(patient, "release", since);
    else
        report_failure(patient, "release", status);
}

/* A single try, as a caller of the kind that is there would. */
static void examine_acquire(cli_patient *patient, const contents *found) {
    zkl_client *client = patient->connection.client;
    zkl_contender *contender;
    zkl_event answer = {.kind = ZKL_EVENT_FAILED, .status = ZKL_DISCONNECTED};
    const zkl_nanos since = zkl_now();
    const zkl_terms terms = {.size = sizeof(zkl_terms),
                             .kind = found->shared > 0 ? ZKL_KIND_WRITE : ZKL_KIND_LOCK,
                             .deadline = ZKL_NEVER,
                             .once = true};
    const zkl_status status = zkl_join(client, patient->path, CONTENDER, &terms, &contender);
    if (status != ZKL_OK) {
        report_failure(patient, "acquire", status);
        return;
    }
    zkl_wait(client, CONTENDER, zkl_clock_after(since, 2 * patient->connection.seconds), &answer);
    if (answer.kind == ZKL_EVENT_GRANTED) {
        report_time(patient, "acquire", since);
        release(patient, contender);
    } else if (answer.status == ZKL_TIMEOUT) {
        report_time(patient, "acquire, which found the lock held", since);
    } else {
        report_failure(patient, "acquire", answer.status);
    }
    zkl_drop(contender);
}

void cli_doctor_line(cli_patient *patient) {
    contents found = {.locks = 0};
    const zkl_status status =
        cli_connection_read(&patient->connection, ZKL_OP_CHILDREN, patient->path);
    if (status != ZKL_OK && status != ZKL_NO_NODE) {
        cli_finding(patient, CLI_FAILURE, "children",
                    "Add credentials to the configuration that may read it", "%s: %s",
                    zkl_status_text(status), patient->path);
        return;
    }
    const zkl_content *content = zkl_node_request_content(patient->connection.request, 0);
    for (size_t i = 0; i < content->count; i++)
        count(&found, content->names[i]);
    examine_kinds(patient, &found);
    examine_foreign(patient, &found); /* while the names are there */
    if (status == ZKL_OK)
        examine_cost(patient, &found, content->stat.length);
    if (found.mark)
        examine_mark(patient);
    examine_orphans(patient);
    if (found.semaphore || found.leases > 0)
        cli_finding(patient, CLI_FINE, "acquire", NULL,
                    "not tried: the permits of this semaphore are not known");
    else
        examine_acquire(patient, &found);
}
