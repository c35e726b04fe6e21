/* SPDX-License-Identifier: MIT */
/* read: `zklock get` and `zklock ls`: a node's data, its metadata, or the names of its children. */
#include "cli/nodes/node_command.h"
#include "cli/text.h"
#include "cli/options.h"
#include "zklock.h"

/* ---- get ---- */

static const char get_help[] =
    "usage: zklock get [OPTIONS] PATH\n"
    "\n"
    "Writes a node's data to standard output: as it is into a pipe or a file, and\n"
    "with what a terminal must not see spelled as \\x1b on a terminal.\n"
    "\n"
    "  -s, --stat          write the node's metadata instead, a name and a value a "
    "line\n" CLI_OPTIONS_HELP;

static const cli_option get_table[] = {{"stat", 's', CLI_FLAG, .field = 0}, {.name = NULL}};

static const cli_syntax get_syntax = {.table = get_table, .help = get_help};

static int read_node(cli_node_command *command, const char *path, void *to) {
    const bool *stat = to;
    const zkl_op op = {.size = sizeof(zkl_op), .kind = ZKL_OP_GET, .path = path};
    const int code = cli_node_command_do(command, &op);
    if (code)
        return code;
    const zkl_content *content = zkl_node_request_content(command->request, 0);
    if (*stat)
        cli_output_stat(&content->stat);
    else
        cli_output_data(content->data, content->length);
    return EX_OK;
}

int cli_get(int argc, char **argv) {
    bool stat = false;
    cli_options options = cli_options_of(argc, argv, &get_syntax, CLI_NODE_CONNECT);
    return cli_node_command_run(&options, &(cli_node_task){ZKL_PATH_READ, read_node, &stat});
}

/* ---- ls ---- */

static const char ls_help[] = "usage: zklock ls [OPTIONS] PATH\n"
                              "\n"
                              "Lists the names of a node's children, one a line, sorted as bytes.\n"
                              "\n" CLI_OPTIONS_HELP;

static const cli_syntax ls_syntax = {.help = ls_help};

static int list(cli_node_command *command, const char *path, void *to) {
    (void)to;
    const zkl_op op = {.size = sizeof(zkl_op), .kind = ZKL_OP_CHILDREN, .path = path};
    const int code = cli_node_command_do(command, &op);
    if (code)
        return code;
    const zkl_content *content = zkl_node_request_content(command->request, 0);
    for (size_t i = 0; i < content->count; i++)
        cli_output_line(content->names[i]);
    return 0;
}

int cli_ls(int argc, char **argv) {
    cli_options options = cli_options_of(argc, argv, &ls_syntax, CLI_NODE_CONNECT);
    return cli_node_command_run(&options, &(cli_node_task){ZKL_PATH_READ, list, NULL});
}
