/* SPDX-License-Identifier: MIT */
/* get: writes a node's data, or its metadata, to standard output. */
#include "cli/commands.h"

#include "cli/nodes/node_command.h"
#include "cli/output.h"
#include "cli/options.h"
#include "zklock.h"

#include <sysexits.h>

static const char help[] =
    "usage: zklock get [OPTIONS] PATH\n"
    "\n"
    "Writes a node's data to standard output: as it is into a pipe or a file, and\n"
    "with what a terminal must not see spelled as \\x1b on a terminal.\n"
    "\n"
    "  -s, --stat          write the node's metadata instead, a name and a value a "
    "line\n" CLI_OPTIONS_HELP;

static const struct option table[] = {
    CLI_OPTIONS_OF_ALL, {"stat", no_argument, NULL, 's'}, {NULL, 0, NULL, 0}};

static const cli_syntax syntax = {":z:s", table, help};

typedef struct wanted {
    cli_options options;
    bool stat;
} wanted;

static int take(void *to, int option) {
    (void)option;
    ((wanted *)to)->stat = true;
    return 0;
}

static int read_node(cli_node_command *command, const char *path, void *to) {
    const wanted *get = to;
    const zkl_op op = {.kind = ZKL_OP_GET, .path = path};
    const int code = cli_node_command_do(command, &op);
    if (code)
        return code;
    const zkl_content *content = zkl_node_request_content(command->request, 0);
    if (get->stat)
        cli_output_stat(&content->stat);
    else
        cli_output_data(content->data, content->length);
    return EX_OK;
}

int cli_get(int argc, char **argv) {
    wanted get = {.options = cli_options_of(argc, argv, &syntax, CLI_NODE_CONNECT)};
    return cli_node_command_run(&get.options,
                                &(cli_node_task){CLI_PATH_READ, take, read_node, &get});
}
