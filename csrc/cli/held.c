/* SPDX-License-Identifier: MIT */
/* held: asks the run above this process for how long the lock is certainly held. */
#include "cli/commands.h"

#include "cli/complaint.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/held/held_socket.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: zklock held\n"
    "\n"
    "Below `zklock run`: writes for how many seconds the lock is certainly held, and\n"
    "exits with 0. If it is not held, or nothing answers within a second, exits with 75.\n"
    "\n"
    "      --help          show this\n"
    "      --version       show the version\n";

static const struct option table[] = {{"help", no_argument, NULL, CLI_OPTION_HELP},
                                      {"version", no_argument, NULL, CLI_OPTION_VERSION},
                                      {NULL, 0, NULL, 0}};

static const cli_syntax syntax = {":", table, help};

static int refuse(const char *reason) {
    cli_complain("%s", reason);
    return EX_TEMPFAIL;
}

int cli_held(int argc, char **argv) {
    cli_options options = cli_options_of(argc, argv, &syntax, 0);
    char directory[HELD_DIRECTORY_SIZE];
    struct held_answer answer;
    if (cli_options_next(&options) == CLI_OPTIONS_STOP)
        return options.code;
    const int code = cli_options_expect(&options, 0, 0, "no argument");
    if (code)
        return code;
    if (!cli_held_nearest(getenv("ZKLOCK_RUN"), directory))
        return refuse("not held: no zklock run above this process (ZKLOCK_RUN is not set)");
    if (!cli_held_ask(directory, &answer))
        return refuse("not held: the zklock run above this process does not answer");
    cli_held_free(&answer);
    if (answer.left <= 0)
        return refuse("lost");
    printf("%.3f\n", answer.left);
    return EX_OK;
}
