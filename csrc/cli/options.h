/* SPDX-License-Identifier: MIT */
/* options: the arguments of a subcommand, read with getopt_long. The options that every subcommand
 * has (-z, --config, --connect, --help, --version) are dealt with here. Complaints name the option,
 * in one line. */
#ifndef ZKL_CLI_OPTIONS_H
#define ZKL_CLI_OPTIONS_H

#include "cli/settings.h"

#include <getopt.h>

/* Values of long options without a letter. */
enum {
    CLI_OPTION_CONFIG = 256,
    CLI_OPTION_CONNECT,
    CLI_OPTION_HELP,
    CLI_OPTION_VERSION,
    CLI_OPTION_OWN /* the subcommand's own count from here */
};

/* The first rows of a subcommand's table. */
#define CLI_OPTIONS_OF_ALL                                                                         \
    {"config", required_argument, NULL, CLI_OPTION_CONFIG},                                        \
        {"connect", required_argument, NULL, CLI_OPTION_CONNECT},                                  \
        {"help", no_argument, NULL, CLI_OPTION_HELP}, {                                            \
        "version", no_argument, NULL, CLI_OPTION_VERSION                                           \
    }

/* Their lines for a subcommand's help. */
#define CLI_OPTIONS_HELP                                                                           \
    "  -z HOSTS            the servers: HOST:PORT[,HOST:PORT...][/CHROOT]\n"                       \
    "      --config FILE   configuration with hosts and credentials\n"                             \
    "      --connect SECONDS\n"                                                                    \
    "                      how long to wait for a server\n"                                        \
    "      --help          show this\n"                                                            \
    "      --version       show the version\n"                                                     \
    "\n"                                                                                           \
    "SECONDS may have a unit: 500ms, 5s, 10m, 20h, 7d.\n"

/* What a subcommand takes, and the text of its --help. */
typedef struct cli_syntax {
    /* begins with ":", and with "+:" where options end at the first argument */
    const char *letters;
    const struct option *table;
    const char *help;
} cli_syntax;

typedef struct cli_options {
    int argc;
    char **argv; /* argv[0] is the subcommand's name */
    const cli_syntax *syntax;

    const char *hosts, *config; /* values, or NULL */
    double connect;             /* seconds */
    int code;                   /* the exit code, at CLI_OPTIONS_STOP */
    char name[32];              /* of the latest option, for a complaint: "-z", "--connect" */
    bool grouped;               /* the latest option is a letter with others behind it: -qn */
} cli_options;

#define CLI_OPTIONS_END (-1)
#define CLI_OPTIONS_STOP (-2)

/* Nothing is read yet. `connect` is the default of --connect. */
cli_options cli_options_of(int argc, char **argv, const cli_syntax *syntax, double connect);

/* The next of the subcommand's own options, whose value is in `optarg`. CLI_OPTIONS_END: there are
 * no more; arguments follow from argv[optind] on. CLI_OPTIONS_STOP: exit with options->code, after
 * a complaint, the help or the version. */
int cli_options_next(cli_options *options);

/* Reads all options. `take` gets the subcommand's own, and returns 0, or an exit code after a
 * complaint. false: exit with options->code. */
bool cli_options_read(cli_options *options, int (*take)(void *to, int option), void *to);

/* The `take` of a subcommand without options of its own. */
int cli_options_none(void *to, int option);

/* Are there so many arguments? `usage` names them: "PATH VALUE". If not, complains and returns
 * EX_USAGE. */
int cli_options_expect(const cli_options *options, int least, int most, const char *usage);

#endif
