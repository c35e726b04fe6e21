/* SPDX-License-Identifier: MIT */
/* held: is the lock of the run above this process still held? It asks the run, which knows for how
 * long. Where none that can be trusted answers, it asks the servers for the lock's nodes. */
#include "cli/text.h"
#include "cli/held/held_socket.h"
#include "cli/nodes/node_command.h"
#include "cli/options.h"
#include "cli/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CONNECT 1 /* seconds */

static const char help[] =
    "usage: zklock held\n"
    "\n"
    "Below `zklock run`: writes for how many seconds the lock is certainly held, and\n"
    "exits with 0. If the run does not answer within a second, looks for the nodes of\n"
    "$ZKLOCK_NODE at the servers: if all are there, exits with 0 and writes nothing.\n"
    "\n"
    "      --help          show this\n"
    "      --version       show the version\n"
    "\n"
    "exit codes: 0 held, 75 not held, 69 no server within a second, 77 the nodes cannot\n"
    "be read\n";

static const cli_syntax syntax = {.help = help, .local = true};

static int refuse(const char *reason) {
    cli_complain("%s", reason);
    return EX_TEMPFAIL;
}

/* A user who may not read the run's configuration cannot read its nodes either. */
static bool is_config_denied(void) {
    const char *config = getenv("ZKLOCK_CONFIG");
    const char *file = config && *config ? config : CLI_CONFIG_FILE;
    return faccessat(AT_FDCWD, file, R_OK, AT_EACCESS) != 0 && errno == EACCES;
}

/* The servers answer as with a write, so none of them answers from what it has not heard yet. */
static int look_for(const cli_guard *nodes, const cli_options *options) {
    cli_node_command command;
    int code = cli_node_command_begin(&command, options, nodes->nodes[0], ZKL_PATH_READ);
    if (code == 0)
        code = cli_node_command_write(&command, nodes, NULL);
    else if (code == EX_USAGE && is_config_denied())
        code = EX_NOPERM;
    cli_node_command_end(&command);
    return code;
}

static int ask_servers(const cli_options *options) {
    const char *list = getenv("ZKLOCK_NODE");
    cli_guard nodes = {.count = 0};
    if (!list)
        return refuse("not held: the zklock run above this process does not answer, and "
                      "ZKLOCK_NODE is not set");
    const int code = cli_guard_add(&nodes, "$ZKLOCK_NODE", list);
    const int found = code ? code : look_for(&nodes, options);
    cli_guard_free(&nodes);
    return found;
}

int cli_held(int argc, char **argv) {
    cli_options options = cli_options_of(argc, argv, &syntax, CONNECT);
    double left;
    if (!cli_options_read(&options, NULL))
        return options.code;
    const int code = cli_options_expect(&options, 0, 0, "no argument");
    if (code)
        return code;
    const char *directory = getenv("ZKLOCK_RUN");
    if (!directory && !getenv("ZKLOCK_NODE"))
        return refuse("not held: no zklock run above this process (ZKLOCK_RUN is not set)");
    if (!directory || !cli_held_ask(directory, &left))
        return ask_servers(&options);
    if (left <= 0)
        return refuse("lost");
    printf("%.3f\n", left);
    return EX_OK;
}
