/* SPDX-License-Identifier: MIT */
/* nodes: `zklock get` and `ls`: a node's data, its metadata, or the names of its children;
 * `create`, `set` and `delete`: one write each, with --guard only while the lock is held. */
#include "cli/connection.h"
#include "cli/options.h"
#include "cli/text.h"
#include "zklock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the options ---- */

/* The operation that is asked for; each subcommand has some of the options. */
typedef struct wanted {
    cli_guard guard;
    zkl_op op;
    int64_t version; /* of the data; -1: any */
    bool stat, input;
    char *data; /* of --stdin */
} wanted;

static int take_guard(void *to, const char *name) {
    return cli_guard_add(&((wanted *)to)->guard, name, optarg);
}

#define FIELD(name) .field = offsetof(wanted, name)

static const char get_help[] =
    "usage: zklock get [OPTIONS] PATH\n"
    "\n"
    "Writes a node's data to standard output: as it is into a pipe or a file, and\n"
    "with what a terminal must not see spelled as \\x1b on a terminal.\n"
    "\n"
    "  -s, --stat          write the node's metadata instead, a name and a value a "
    "line\n" CLI_OPTIONS_HELP;

static const cli_option get_table[] = {{"stat", 's', CLI_FLAG, FIELD(stat)}, {.name = NULL}};

static const char ls_help[] = "usage: zklock ls [OPTIONS] PATH\n"
                              "\n"
                              "Lists the names of a node's children, one a line, sorted as bytes.\n"
                              "\n" CLI_OPTIONS_HELP;

#define GUARD_HELP                                                                                 \
    "      --guard NODES   only while these lock nodes are there, a path a line:\n"                \
    "                      below `zklock run`, --guard \"$ZKLOCK_NODE\"\n"
#define VERSION_HELP "  -v, --if-version N  only if the data has this version\n"
#define STDIN_HELP "      --stdin         read the value from standard input\n"

static const char create_help[] =
    "usage: zklock create [OPTIONS] PATH [VALUE]\n"
    "       zklock create [OPTIONS] --stdin PATH\n"
    "\n"
    "Makes a node with this data, or with none. With --sequential it writes the path\n"
    "with its number to standard output.\n"
    "\n" GUARD_HELP "  -p, --parents       make what is missing above it, as containers\n"
    "  -s, --sequential    the servers append a number that grows\n" STDIN_HELP CLI_OPTIONS_HELP;

static const cli_option create_table[] = {
    {"guard", 0, CLI_VALUE, .take = take_guard},
    {"parents", 'p', CLI_FLAG, FIELD(op.parents)},
    {"sequential", 's', CLI_FLAG, FIELD(op.sequential)},
    {"stdin", 0, CLI_FLAG, FIELD(input)},
    {.name = NULL},
};

static const char set_help[] = "usage: zklock set [OPTIONS] PATH VALUE\n"
                               "       zklock set [OPTIONS] --stdin PATH\n"
                               "\n"
                               "Writes a node's data. Put -- before a value that begins with -.\n"
                               "\n" GUARD_HELP VERSION_HELP STDIN_HELP CLI_OPTIONS_HELP;

static const char delete_help[] = "usage: zklock delete [OPTIONS] PATH\n"
                                  "\n"
                                  "Deletes a node that has no children.\n"
                                  "\n" GUARD_HELP VERSION_HELP CLI_OPTIONS_HELP;

/* Those of `delete` begin at the second row. */
static const cli_option set_table[] = {
    {"stdin", 0, CLI_FLAG, FIELD(input)},
    {"guard", 0, CLI_VALUE, .take = take_guard},
    {"if-version", 'v', CLI_WHOLE, FIELD(version), .most = INT32_MAX},
    {.name = NULL},
};

static const struct verb {
    const char *name, *usage; /* the arguments */
    int least, most;          /* so many; with --stdin PATH alone */
    zkl_op_kind kind;
    zkl_path_use use;
    const cli_option *table;
    const char *help;
} verbs[] = {
    {"get", "PATH", 1, 1, ZKL_OP_GET, ZKL_PATH_READ, get_table, get_help},
    {"ls", "PATH", 1, 1, ZKL_OP_CHILDREN, ZKL_PATH_READ, NULL, ls_help},
    {"create", "PATH [VALUE]", 1, 2, ZKL_OP_CREATE, ZKL_PATH_CREATE, create_table, create_help},
    {"set", "PATH VALUE", 2, 2, ZKL_OP_SET, ZKL_PATH_WRITE, set_table, set_help},
    {"delete", "PATH", 1, 1, ZKL_OP_DELETE, ZKL_PATH_DELETE, set_table + 1, delete_help},
};

/* ---- standard input ---- */

/* Much more than the servers take: so much of it says "too big". */
#define INPUT_MOST (4 << 20)

/* Reads it to its end, or to INPUT_MOST bytes. Returns 0, or an exit code after a complaint. */
static int read_input(wanted *w) {
    w->op.data = w->data = cli_memory_again(NULL, INPUT_MOST, 1);
    const ssize_t length = cli_read(STDIN_FILENO, w->data, INPUT_MOST);
    if (length < 0) {
        cli_complain("cannot read standard input: %s", strerror(errno));
        return EX_SOFTWARE;
    }
    w->op.length = (size_t)length;
    return 0;
}

/* ---- the operation ---- */

static int operate(cli_connection *connection, const char *path, void *to) {
    const wanted *w = to;
    (void)path; /* the operation has it */
    const int code = cli_guard_do(connection, &w->guard, &w->op);
    if (code)
        return code;
    const zkl_content *content = zkl_node_request_content(connection->request, w->guard.count);
    if (w->stat)
        cli_output_stat(&content->stat);
    else if (w->op.kind == ZKL_OP_GET)
        cli_output_data(content->data, content->length);
    else if (w->op.sequential)
        cli_output_line(content->data);
    for (size_t i = 0; w->op.kind == ZKL_OP_CHILDREN && i < content->count; i++)
        cli_output_line(content->names[i]);
    return 0;
}

/* With its number a sequential node must not stand in the line of a lock either. */
static int check_numbered(const zkl_op *op) {
    if (!op->sequential || zkl_path_problem(op->path, "", ZKL_PATH_CREATE))
        return 0; /* the check of the path itself comes later */
    char *numbered = cli_memory_print("%s0000000000", op->path);
    const int code = cli_path_check("PATH", numbered, "", ZKL_PATH_CREATE);
    free(numbered);
    return code;
}

static int run(const cli_options *options, const struct verb *verb, wanted *w) {
    char **words = options->argv + optind;
    int code = w->input ? cli_options_expect(options, 1, 1, "PATH")
                        : cli_options_expect(options, verb->least, verb->most, verb->usage);
    if (code == 0 && w->guard.count > 0 && w->op.parents) /* one transaction makes none of these */
        code = cli_misuse("--parents", "it cannot be done together with --guard");
    if (code)
        return code;
    w->op.kind = verb->kind;
    w->op.path = words[0];
    w->op.version = (int32_t)w->version;
    w->op.data = verb->most > 1 && words[1] ? words[1] : "";
    w->op.length = strlen(w->op.data);
    code = check_numbered(&w->op);
    if (code == 0 && w->input)
        code = read_input(w);
    return code ? code : cli_connected(options, words[0], verb->use, operate, w);
}

int cli_node(int argc, char **argv) {
    const struct verb *verb = verbs;
    while (strcmp(verb->name, argv[0]) != 0)
        verb++;
    const cli_syntax syntax = {.table = verb->table, .help = verb->help};
    wanted w = {.op = {.size = sizeof(zkl_op)}, .version = -1};
    cli_options options = cli_options_of(argc, argv, &syntax, CLI_CONNECT);
    const int code = cli_options_read(&options, &w) ? run(&options, verb, &w) : options.code;
    free(w.data);
    cli_guard_free(&w.guard);
    return code;
}
