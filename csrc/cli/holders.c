/* SPDX-License-Identifier: MIT */
/* holders: `zklock check` and `zklock revoke`: does the holder of a lock have this fencing token;
 * would it please give the lock back? */
#include "cli/connection.h"
#include "cli/options.h"
#include "cli/text.h"
#include "zklock.h"

#include <stdlib.h>

/* ---- check ---- */

static const char check_help[] =
    "usage: zklock check [OPTIONS] PATH TOKEN\n"
    "\n"
    "Exits 0 if the holder of the lock or semaphore at PATH has this fencing token\n"
    "now, and 1 if nobody holds with it. Prints nothing in either case.\n"
    "\n"
    "  -w, --wait SECONDS  exit 69 if there is no answer then; otherwise --connect\n"
    "                      counts, for the session and again for the answer\n" CLI_OPTIONS_HELP;

typedef struct wanted {
    double wait; /* seconds; 0: none were given */
    int64_t token;
    zkl_nanos until; /* 0: likewise */
} wanted;

static const cli_option check_table[] = {
    {"wait", 'w', CLI_SECONDS, .field = offsetof(wanted, wait), .seconds = {.positive = true}},
    {.name = NULL},
};

static const cli_syntax check_syntax = {
    .table = check_table, .help = check_help, .arguments = "PATH TOKEN", .least = 2, .most = 2};

static int check(cli_connection *connection, const char *path, void *to) {
    const wanted *w = to;
    const zkl_nanos until = w->until ? w->until : cli_connection_deadline(connection);
    zkl_query *query =
        zkl_query_check(connection->client, path, w->token, CLI_QUESTION, until, false);
    const zkl_status status = cli_connection_answer(connection, query);
    zkl_query_drop(query);
    return status == ZKL_NOT_OWNER ? CLI_EXIT_BUSY
                                   : cli_connection_failure(connection, status, path);
}

int cli_check(int argc, char **argv) {
    wanted w = {.wait = 0};
    cli_options options = cli_options_of(argc, argv, &check_syntax, CLI_CONNECT);
    if (!cli_options_read(&options, &w))
        return options.code;
    const int code = cli_number_whole_of("TOKEN", argv[optind + 1], 0, INT64_MAX, &w.token);
    if (code)
        return code;
    if (w.wait > 0) {
        options.connect = w.wait;
        w.until = zkl_clock_after(zkl_now(), w.wait);
    }
    return cli_connected(&options, argv[optind], ZKL_PATH_LOCK, check, &w);
}

/* ---- revoke ---- */

static const char revoke_help[] =
    "usage: zklock revoke [OPTIONS] PATH\n"
    "\n"
    "Asks the holders of the lock or semaphore at PATH to give it back. A `zklock run`\n"
    "does so if it runs with --revocable. Exits 1 if nobody holds.\n"
    "\n" CLI_OPTIONS_HELP;

static const cli_syntax revoke_syntax = {
    .help = revoke_help, .arguments = "PATH", .least = 1, .most = 1};

static zkl_status ask(cli_connection *connection, const char *path, bool leases, size_t *asked) {
    zkl_query *query = zkl_query_revoke(connection->client, path, leases, CLI_QUESTION,
                                        cli_connection_deadline(connection), false);
    const zkl_status status = cli_connection_answer(connection, query);
    if (status == ZKL_OK)
        *asked += zkl_revoked(query);
    zkl_query_drop(query);
    return status;
}

/* The line of a lock, and the leases of a semaphore. */
static int revoke(cli_connection *connection, const char *path, void *to) {
    (void)to;
    size_t asked = 0;
    char *leases = cli_memory_print("%s/leases", path);
    zkl_status status = ask(connection, path, false, &asked);
    if (status == ZKL_OK)
        status = ask(connection, leases, true, &asked);
    free(leases);
    if (status != ZKL_OK)
        return cli_connection_failure(connection, status, path);
    if (asked > 0)
        return 0;
    cli_complain("nobody holds %s", path);
    return CLI_EXIT_BUSY;
}

int cli_revoke(int argc, char **argv) {
    cli_options options = cli_options_of(argc, argv, &revoke_syntax, CLI_CONNECT);
    return cli_options_read(&options, NULL)
               ? cli_connected(&options, argv[optind], ZKL_PATH_LOCK, revoke, NULL)
               : options.code;
}
