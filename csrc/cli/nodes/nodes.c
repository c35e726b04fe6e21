/* SPDX-License-Identifier: MIT */
/* nodes: `zklock get` and `ls`: a node's data, its metadata, or the names of its children;
 * `create`, `set` and `delete`: one write each, with --guard only while the lock is held. */
#include "cli/nodes/node_command.h"
#include "cli/options.h"
#include "cli/text.h"
#include "zklock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* ---- the writes ---- */

/* The write that is asked for; each subcommand has some of the options. */
typedef struct wanted {
    cli_options options;
    cli_guard guard;
    zkl_op op;
    int64_t version; /* of the data; -1: any */
    zkl_path_use use;
    bool input;
} wanted;

static int take_guard(void *to, const char *name) {
    return cli_guard_add(&((wanted *)to)->guard, name, optarg);
}

#define FIELD(name) .field = offsetof(wanted, name)

/* ---- standard input ---- */

/* Much more than the servers take: so much of it says "too big". */
#define INPUT_MOST (4 << 20)

/* Reads standard input to its end, or to INPUT_MOST bytes. The caller frees the result. NULL: it
 * cannot be read, after a complaint. */
static char *read_input(size_t *length) {
    char *data = cli_memory(INPUT_MOST);
    *length = 0;
    while (*length < INPUT_MOST) {
        const ssize_t got = read(STDIN_FILENO, data + *length, INPUT_MOST - *length);
        if (got == 0)
            break;
        if (got > 0) {
            *length += (size_t)got;
        } else if (errno != EINTR) {
            cli_complain("cannot read standard input: %s", strerror(errno));
            free(data);
            return NULL;
        }
    }
    return data;
}

/* ---- the write ---- */

static int write_node(cli_node_command *command, const char *path, void *to) {
    const wanted *write = to;
    (void)path; /* the operation has it */
    const int code = cli_node_command_write(command, &write->guard, &write->op);
    if (code == 0 && write->op.sequential)
        cli_output_line(cli_node_command_written(command, &write->guard)->data);
    return code;
}

static int write_at(wanted *write) {
    const cli_node_task task = {.use = write->use, .run = write_node, .to = write};
    return cli_node_command_at(write->op.path, &write->options, &task);
}

static int write_input(wanted *write) {
    char *data = read_input(&write->op.length);
    write->op.data = data;
    const int code = data ? write_at(write) : EX_SOFTWARE;
    free(data);
    return code;
}

/* `least`, `most`: how many arguments there are, PATH included, unless the value comes by --stdin;
 * `usage` names them. */
static int run(wanted *write, int least, int most, const char *usage) {
    if (!cli_options_read(&write->options, write))
        return write->options.code;
    const int code = write->input ? cli_options_expect(&write->options, 1, 1, "PATH")
                                  : cli_options_expect(&write->options, least, most, usage);
    if (code)
        return code;
    if (write->guard.count > 0 && write->op.parents) /* one transaction makes none of these */
        return cli_misuse("--parents", "it cannot be done together with --guard");
    char **arguments = write->options.argv + optind;
    write->op.path = arguments[0];
    write->op.version = (int32_t)write->version;
    if (write->input)
        return write_input(write);
    write->op.data = most > 1 && arguments[1] ? arguments[1] : "";
    write->op.length = strlen(write->op.data);
    return write_at(write);
}

/* ---- create ---- */

static const char create_help[] =
    "usage: zklock create [OPTIONS] PATH [VALUE]\n"
    "       zklock create [OPTIONS] --stdin PATH\n"
    "\n"
    "Makes a node with this data, or with none. With --sequential it writes the path\n"
    "with its number to standard output.\n"
    "\n"
    "      --guard NODES   only while these lock nodes are there, a path a line:\n"
    "                      below `zklock run`, --guard \"$ZKLOCK_NODE\"\n"
    "  -p, --parents       make what is missing above it, as containers\n"
    "  -s, --sequential    the servers append a number that grows\n"
    "      --stdin         read the value from standard input\n" CLI_OPTIONS_HELP;

static const cli_option create_table[] = {
    {"guard", 0, CLI_VALUE, .take = take_guard},
    {"parents", 'p', CLI_FLAG, FIELD(op.parents)},
    {"sequential", 's', CLI_FLAG, FIELD(op.sequential)},
    {"stdin", 0, CLI_FLAG, FIELD(input)},
    {.name = NULL},
};

static const cli_syntax create_syntax = {.table = create_table, .help = create_help};

int cli_create(int argc, char **argv) {
    wanted write = {.options = cli_options_of(argc, argv, &create_syntax, CLI_NODE_CONNECT),
                    .op = {.size = sizeof(zkl_op), .kind = ZKL_OP_CREATE},
                    .use = ZKL_PATH_CREATE};
    const int code = run(&write, 1, 2, "PATH [VALUE]");
    cli_guard_free(&write.guard);
    return code;
}

/* ---- set ---- */

static const char set_help[] =
    "usage: zklock set [OPTIONS] PATH VALUE\n"
    "       zklock set [OPTIONS] --stdin PATH\n"
    "\n"
    "Writes a node's data. Put -- before a value that begins with -.\n"
    "\n"
    "      --guard NODES   only while these lock nodes are there, a path a line:\n"
    "                      below `zklock run`, --guard \"$ZKLOCK_NODE\"\n"
    "  -v, --if-version N  only if the data has this version\n"
    "      --stdin         read the value from standard input\n" CLI_OPTIONS_HELP;

static const cli_option set_table[] = {
    {"guard", 0, CLI_VALUE, .take = take_guard},
    {"if-version", 'v', CLI_WHOLE, FIELD(version), .most = INT32_MAX},
    {"stdin", 0, CLI_FLAG, FIELD(input)},
    {.name = NULL},
};

static const cli_syntax set_syntax = {.table = set_table, .help = set_help};

int cli_set(int argc, char **argv) {
    wanted write = {.options = cli_options_of(argc, argv, &set_syntax, CLI_NODE_CONNECT),
                    .op = {.size = sizeof(zkl_op), .kind = ZKL_OP_SET},
                    .version = -1,
                    .use = ZKL_PATH_WRITE};
    const int code = run(&write, 2, 2, "PATH VALUE");
    cli_guard_free(&write.guard);
    return code;
}

/* ---- delete ---- */

static const char delete_help[] =
    "usage: zklock delete [OPTIONS] PATH\n"
    "\n"
    "Deletes a node that has no children.\n"
    "\n"
    "      --guard NODES   only while these lock nodes are there, a path a line:\n"
    "                      below `zklock run`, --guard \"$ZKLOCK_NODE\"\n"
    "  -v, --if-version N  only if the data has this version\n" CLI_OPTIONS_HELP;

static const cli_option delete_table[] = {
    {"guard", 0, CLI_VALUE, .take = take_guard},
    {"if-version", 'v', CLI_WHOLE, FIELD(version), .most = INT32_MAX},
    {.name = NULL},
};

static const cli_syntax delete_syntax = {.table = delete_table, .help = delete_help};

int cli_delete(int argc, char **argv) {
    wanted write = {.options = cli_options_of(argc, argv, &delete_syntax, CLI_NODE_CONNECT),
                    .op = {.size = sizeof(zkl_op), .kind = ZKL_OP_DELETE},
                    .version = -1,
                    .use = ZKL_PATH_DELETE};
    const int code = run(&write, 1, 1, "PATH");
    cli_guard_free(&write.guard);
    return code;
}
