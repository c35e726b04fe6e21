/* SPDX-License-Identifier: MIT */
/* delete: deletes a node. */
#include "cli/commands.h"

#include "cli/nodes/node_command.h"
#include "cli/value.h"
#include "cli/options.h"
#include "zklock.h"

#include <sysexits.h>

static const char help[] =
    "usage: zklock delete [OPTIONS] PATH\n"
    "\n"
    "Deletes a node that has no children.\n"
    "\n"
    "      --guard NODES   only while these lock nodes are there, a path a line:\n"
    "                      below `zklock run`, --guard \"$ZKLOCK_NODE\"\n"
    "  -v, --if-version N  only if the data has this version\n" CLI_OPTIONS_HELP;

enum { GUARD = CLI_OPTION_OWN };

static const struct option table[] = {CLI_OPTIONS_OF_ALL,
                                      {"guard", required_argument, NULL, GUARD},
                                      {"if-version", required_argument, NULL, 'v'},
                                      {NULL, 0, NULL, 0}};

static const cli_syntax syntax = {":z:v:", table, help};

typedef struct wanted {
    cli_options options;
    cli_guard guard;
    int64_t version;
} wanted;

static int take(void *to, int option) {
    wanted *delete = to;
    if (option == GUARD)
        return cli_guard_add(&delete->guard, "--guard", optarg);
    return cli_number_whole_of(delete->options.name, optarg, 0, INT32_MAX, &delete->version);
}

static int remove_node(cli_node_command *command, const char *path, void *to) {
    const wanted *delete = to;
    const zkl_op op = {.kind = ZKL_OP_DELETE, .path = path, .version = (int32_t) delete->version};
    return cli_node_command_write(command, &delete->guard, &op);
}

int cli_delete(int argc, char **argv) {
    wanted delete = {.options = cli_options_of(argc, argv, &syntax, CLI_NODE_CONNECT),
                     .version = -1};
    const int code = cli_node_command_run(
        &delete.options, &(cli_node_task){CLI_PATH_DELETE, take, remove_node, &delete});
    cli_guard_free(&delete.guard);
    return code;
}
