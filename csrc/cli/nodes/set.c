/* SPDX-License-Identifier: MIT */
/* set: writes a node's data. */
#include "cli/commands.h"

#include "cli/nodes/node_command.h"
#include "cli/value.h"
#include "cli/options.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static const char help[] =
    "usage: zklock set [OPTIONS] PATH VALUE\n"
    "       zklock set [OPTIONS] --stdin PATH\n"
    "\n"
    "Writes a node's data. Put -- before a value that begins with -.\n"
    "\n"
    "      --guard NODES   only while these lock nodes are there, a path a line:\n"
    "                      below `zklock run`, --guard \"$ZKLOCK_NODE\"\n"
    "  -v, --if-version N  only if the data has this version\n"
    "      --stdin         read the value from standard input\n" CLI_OPTIONS_HELP;

enum { GUARD = CLI_OPTION_OWN, STDIN };

static const struct option table[] = {CLI_OPTIONS_OF_ALL,
                                      {"guard", required_argument, NULL, GUARD},
                                      {"if-version", required_argument, NULL, 'v'},
                                      {"stdin", no_argument, NULL, STDIN},
                                      {NULL, 0, NULL, 0}};

static const cli_syntax syntax = {":z:v:", table, help};

typedef struct wanted {
    cli_options options;
    cli_guard guard;
    int64_t version;
    bool input;
    const char *data;
    size_t length;
} wanted;

static int take(void *to, int option) {
    wanted *set = to;
    if (option == GUARD)
        return cli_guard_add(&set->guard, "--guard", optarg);
    if (option == 'v')
        return cli_number_whole_of(set->options.name, optarg, 0, INT32_MAX, &set->version);
    set->input = true;
    return 0;
}

static int write_node(cli_node_command *command, const char *path, void *to) {
    const wanted *set = to;
    const zkl_op op = {.kind = ZKL_OP_SET,
                       .path = path,
                       .data = set->data,
                       .length = set->length,
                       .version = (int32_t)set->version};
    return cli_node_command_write(command, &set->guard, &op);
}

static int write_value(wanted *set, const char *path, const char *data, size_t length) {
    set->data = data;
    set->length = length;
    const cli_node_task task = {.use = CLI_PATH_WRITE, .run = write_node, .to = set};
    return cli_node_command_at(path, &set->options, &task);
}

static int write_input(wanted *set, const char *path) {
    size_t length;
    char *data = cli_input_read(&length);
    const int code = data ? write_value(set, path, data, length) : EX_SOFTWARE;
    free(data);
    return code;
}

static int run(wanted *set) {
    if (!cli_options_read(&set->options, take, set))
        return set->options.code;
    const int count = set->input ? 1 : 2;
    const int code =
        cli_options_expect(&set->options, count, count, set->input ? "PATH" : "PATH VALUE");
    if (code)
        return code;
    char **arguments = set->options.argv + optind;
    return set->input ? write_input(set, arguments[0])
                      : write_value(set, arguments[0], arguments[1], strlen(arguments[1]));
}

int cli_set(int argc, char **argv) {
    wanted set = {.options = cli_options_of(argc, argv, &syntax, CLI_NODE_CONNECT), .version = -1};
    const int code = run(&set);
    cli_guard_free(&set.guard);
    return code;
}
