/* SPDX-License-Identifier: MIT */
/* create: makes a node. */
#include "cli/commands.h"

#include "cli/complaint.h"
#include "cli/nodes/node_command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/settings.h"
#include "cli/text.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static const char help[] =
    "usage: zklock create [OPTIONS] PATH [VALUE]\n"
    "       zklock create [OPTIONS] --stdin PATH\n"
    "\n"
    "Makes a node with this data, or with none. With --sequential it writes the path\n"
    "with its number to standard output.\n"
    "\n"
    "      --acl NAME      open, creator or read; otherwise that of the configuration\n"
    "  -c, --container     the servers remove it when its last child is gone\n"
    "      --guard NODES   only while these lock nodes are there, a path a line:\n"
    "                      below `zklock run`, --guard \"$ZKLOCK_NODE\"\n"
    "  -p, --parents       make what is missing above it, as containers\n"
    "  -s, --sequential    the servers append a number that grows\n"
    "      --stdin         read the value from standard input\n" CLI_OPTIONS_HELP;

enum { ACL = CLI_OPTION_OWN, GUARD, STDIN };

static const struct option table[] = {CLI_OPTIONS_OF_ALL,
                                      {"acl", required_argument, NULL, ACL},
                                      {"container", no_argument, NULL, 'c'},
                                      {"guard", required_argument, NULL, GUARD},
                                      {"parents", no_argument, NULL, 'p'},
                                      {"sequential", no_argument, NULL, 's'},
                                      {"stdin", no_argument, NULL, STDIN},
                                      {NULL, 0, NULL, 0}};

static const cli_syntax syntax = {":z:cps", table, help};

typedef struct wanted {
    cli_options options;
    cli_guard guard;
    zkl_op op;
    bool input;
} wanted;

static int take_acl(wanted *create) {
    char shown[CLI_TEXT_SHOWN];
    create->op.own_acl = cli_settings_acl(optarg, &create->op.acl);
    if (create->op.own_acl)
        return 0;
    cli_text_show(shown, sizeof shown, optarg);
    return cli_misuse("--acl", "'open', 'creator' or 'read' expected, got '%s'", shown);
}

static int take(void *to, int option) {
    wanted *create = to;
    if (option == ACL)
        return take_acl(create);
    if (option == GUARD)
        return cli_guard_add(&create->guard, "--guard", optarg);
    create->op.container |= option == 'c';
    create->op.parents |= option == 'p';
    create->op.sequential |= option == 's';
    create->input |= option == STDIN;
    return 0;
}

/* One transaction holds the guard and the create, and makes neither of these. */
static int check(const wanted *create) {
    const zkl_op *op = &create->op;
    if (op->container && op->sequential)
        return cli_misuse("--container", "it cannot be --sequential, too");
    if (create->guard.count == 0 || !(op->container || op->parents))
        return 0;
    return cli_misuse(op->parents ? "--parents" : "--container",
                      "it cannot be done together with --guard");
}

/* Nobody else is the creator for a client without an identity. */
static int check_acl(const wanted *create, const cli_node_command *command) {
    const cli_settings *settings = &command->settings;
    const bool known = settings->auth_count > 0 || settings->tls_ca;
    if (!create->op.own_acl || create->op.acl == ZKL_ACL_OPEN || known)
        return 0;
    return cli_misuse("--acl", "'creator' and 'read' need auth or tls-cert in the configuration");
}

static int make(const wanted *create, cli_node_command *command) {
    int code = check_acl(create, command);
    if (code == 0)
        code = cli_node_command_write(command, &create->guard, &create->op);
    if (code == 0 && create->op.sequential)
        cli_output_line(cli_node_command_written(command, &create->guard)->data);
    return code;
}

static int create_node(const wanted *create) {
    cli_node_command command;
    int code = cli_node_command_begin(&command, &create->options, create->op.path, CLI_PATH_CREATE);
    if (code == 0)
        code = make(create, &command);
    cli_node_command_end(&command);
    return code;
}

static int create_of_input(wanted *create) {
    char *data = cli_input_read(&create->op.length);
    create->op.data = data;
    const int code = data ? create_node(create) : EX_SOFTWARE;
    free(data);
    return code;
}

static int run(wanted *create) {
    if (!cli_options_read(&create->options, take, create))
        return create->options.code;
    const int most = create->input ? 1 : 2;
    int code =
        cli_options_expect(&create->options, 1, most, create->input ? "PATH" : "PATH [VALUE]");
    if (code == 0)
        code = check(create);
    if (code)
        return code;
    char **arguments = create->options.argv + optind;
    create->op.path = arguments[0];
    if (create->input)
        return create_of_input(create);
    create->op.data = arguments[1] ? arguments[1] : "";
    create->op.length = strlen(create->op.data);
    return create_node(create);
}

int cli_create(int argc, char **argv) {
    wanted create = {.options = cli_options_of(argc, argv, &syntax, CLI_NODE_CONNECT),
                     .op = {.kind = ZKL_OP_CREATE}};
    const int code = run(&create);
    cli_guard_free(&create.guard);
    return code;
}
