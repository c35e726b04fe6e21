/* SPDX-License-Identifier: MIT */
/* ls: lists the names of a node's children. */
#include "cli/commands.h"

#include "cli/nodes/node_command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "zklock.h"

static const char help[] = "usage: zklock ls [OPTIONS] PATH\n"
                           "\n"
                           "Lists the names of a node's children, one a line, sorted as bytes.\n"
                           "\n" CLI_OPTIONS_HELP;

static const struct option table[] = {CLI_OPTIONS_OF_ALL, {NULL, 0, NULL, 0}};

static const cli_syntax syntax = {":z:", table, help};

static int list(cli_node_command *command, const char *path, void *to) {
    (void)to;
    const zkl_op op = {.kind = ZKL_OP_CHILDREN, .path = path};
    const int code = cli_node_command_do(command, &op);
    if (code)
        return code;
    const zkl_content *content = zkl_node_request_content(command->request, 0);
    for (size_t i = 0; i < content->count; i++)
        cli_output_line(content->names[i]);
    return 0;
}

int cli_ls(int argc, char **argv) {
    cli_options options = cli_options_of(argc, argv, &syntax, CLI_NODE_CONNECT);
    return cli_node_command_run(&options,
                                &(cli_node_task){CLI_PATH_READ, cli_options_none, list, NULL});
}
