/* SPDX-License-Identifier: MIT */
/* options: the arguments of a subcommand, read with getopt_long. The options that every subcommand
 * has (-z, --config, --connect, --help, --version) are dealt with here. Complaints name the option,
 * in one line. */
#ifndef ZKL_CLI_OPTIONS_H
#define ZKL_CLI_OPTIONS_H

#include "cli/connection.h"
#include "cli/text.h"

#include <getopt.h>

/* How an option is taken: what it does with a field of the subcommand's structure, or otherwise.
 * Those from CLI_TEXT to CLI_VALUE have a value. */
typedef enum cli_option_kind {
    CLI_FLAG,    /* sets a bool */
    CLI_TEXT,    /* its value goes into a const char * */
    CLI_SECONDS, /* its value goes into a double, if `seconds` allows it */
    CLI_WHOLE,   /* its value goes into an int64_t, if it is from `least` to `most` */
    CLI_WORD,    /* its value is one of `words`, whose number goes into an enum */
    CLI_VALUE,   /* `take` reads its value, which is in `optarg` */
    CLI_ACT,     /* `take` knows what it means */
    CLI_REFUSED, /* it is known, but always wrong */
    CLI_HELP,
    CLI_VERSION
} cli_option_kind;

/* A row of a subcommand's table. The last one is empty. */
typedef struct cli_option {
    const char *name; /* NULL: none */
    int letter;       /* 0: none. With the letter of a row above it is that option once more */
    cli_option_kind kind;
    size_t field; /* its offset */
    cli_seconds seconds;
    int64_t least, most;
    const char *const *words; /* NULL behind the last */
    const char *expected;     /* the words, for a complaint */
    /* Gets the name as the user has written it: "-w", "--wait". Returns 0, or an exit code after a
     * complaint. */
    int (*take)(void *to, const char *name);
    const char *refusal;
} cli_option;

/* The lines of those that every subcommand has, for its help. */
#define CLI_OPTIONS_HELP                                                                           \
    "  -z HOSTS            the servers: HOST:PORT[,HOST:PORT...][/CHROOT]\n"                       \
    "      --config FILE   configuration with hosts and credentials\n"                             \
    "      --connect SECONDS\n"                                                                    \
    "                      how long to wait for a server\n"                                        \
    "      --help          show this\n"                                                            \
    "      --version       show the version\n"                                                     \
    "\n"                                                                                           \
    "SECONDS may have a unit: 500ms, 5s, 10m, 20h, 7d.\n"

/* The arguments of a subcommand, and the text of its --help. */
typedef struct cli_syntax {
    const cli_option *table; /* NULL: it has no options of its own */
    const char *help;
    const char *arguments; /* cli_options_read expects them; NULL: the subcommand does */
    int least, most;       /* so many of them */
    bool first;            /* options end at the first argument */
    bool local; /* it asks no server: of the common options it has --help and --version alone */
} cli_syntax;

typedef struct cli_options {
    int argc;
    char **argv; /* argv[0] is the subcommand's name */
    const cli_syntax *syntax;

    const char *hosts, *config; /* values, or NULL */
    double connect;             /* seconds */
    int code;                   /* the exit code, if the subcommand is over */
} cli_options;

/* Nothing is read yet. `connect` is the default of --connect. */
cli_options cli_options_of(int argc, char **argv, const cli_syntax *syntax, double connect);

/* Reads all options, the subcommand's own into `to`; arguments follow from argv[optind] on. false:
 * exit with options->code, after a complaint, the help or the version. */
bool cli_options_read(cli_options *options, void *to);

/* The last value of an option, NULL if there is none, although others may be wrong. Arguments
 * follow from argv[optind] on. */
const char *cli_options_find(const cli_options *options, const char *name);

/* Are there so many arguments? `usage` names them: "PATH VALUE". If not, complains and returns
 * EX_USAGE. */
int cli_options_expect(const cli_options *options, int least, int most, const char *usage);

/* Seconds: --connect of most subcommands. */
#define CLI_CONNECT 10

/* The work of a subcommand at its path, with a session. Returns an exit code. */
typedef int cli_task(cli_connection *connection, const char *path, void *to);

/* Reads the configuration, checks the path, connects, waits for a session, and does the task.
 * Returns its exit code, or one after a complaint. */
int cli_connected(const cli_options *options, const char *path, zkl_path_use use, cli_task *task,
                  void *to);

/* ---- the subcommands: each gets its own name as argv[0], and returns the exit code ---- */

int cli_who(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_revoke(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_held(int argc, char **argv);
int cli_node(int argc, char **argv); /* get, ls, create, set, delete */
int cli_run(int argc, char **argv);

#endif
