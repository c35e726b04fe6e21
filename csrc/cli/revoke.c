/* SPDX-License-Identifier: MIT */
/* revoke: asks the holders of a lock to give it back. */
#include "cli/connection.h"
#include "cli/text.h"
#include "cli/nodes/node_command.h"
#include "cli/options.h"
#include "zklock.h"

#include <stdlib.h>

static const char help[] =
    "usage: zklock revoke [OPTIONS] PATH\n"
    "\n"
    "Asks the holders of the lock or semaphore at PATH to give it back. A `zklock run`\n"
    "does so if it runs with --revocable. Exits 1 if nobody holds.\n"
    "\n" CLI_OPTIONS_HELP;

static const cli_syntax syntax = {.help = help};

static zkl_status ask(cli_node_command *command, const char *path, bool leases, size_t *asked) {
    cli_connection *connection = &command->connection;
    const uint64_t tag = cli_connection_ask(connection);
    const zkl_nanos deadline = zkl_clock_after(zkl_now(), command->connect);
    zkl_query *query = zkl_query_revoke(connection->client, path, leases, tag, deadline, false);
    const zkl_status status = cli_connection_answer(connection, query);
    if (status == ZKL_OK)
        *asked += zkl_revoked(query);
    zkl_query_drop(query);
    return status;
}

/* The line of a lock, and the leases of a semaphore. */
static int revoke(cli_node_command *command, const char *path, void *to) {
    (void)to;
    size_t asked = 0;
    char *leases = cli_memory_print("%s/leases", path);
    zkl_status status = ask(command, path, false, &asked);
    if (status == ZKL_OK)
        status = ask(command, leases, true, &asked);
    free(leases);
    if (status != ZKL_OK)
        return cli_connection_failure(&command->connection, status, path);
    if (asked > 0)
        return 0;
    cli_complain("nobody holds %s", path);
    return CLI_EXIT_BUSY;
}

int cli_revoke(int argc, char **argv) {
    cli_options options = cli_options_of(argc, argv, &syntax, CLI_NODE_CONNECT);
    return cli_node_command_run(&options, &(cli_node_task){ZKL_PATH_LOCK, revoke, NULL});
}
