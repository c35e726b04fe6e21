/* SPDX-License-Identifier: MIT */
/* who: shows who holds and who waits. */
#include "cli/commands.h"

#include "cli/complaint.h"
#include "cli/connection.h"
#include "cli/nodes/node_command.h"
#include "cli/options.h"
#include "cli/path.h"
#include "cli/who/roster.h"
#include "cli/who/search.h"
#include "cli/who/who_follow.h"
#include "zklock.h"

static const char help[] =
    "usage: zklock who [OPTIONS] PATH\n"
    "\n"
    "Shows who holds the lock at PATH and who waits for it: a row for each node.\n"
    "\n"
    "  -f, --follow        go on, with a row for each change, until Ctrl-C\n"
    "      --json          for programs; with -f one object a line\n"
    "  -r, --recursive     also all locks below PATH\n" CLI_OPTIONS_HELP;

enum { JSON = CLI_OPTION_OWN };

static const struct option table[] = {CLI_OPTIONS_OF_ALL,
                                      {"follow", no_argument, NULL, 'f'},
                                      {"json", no_argument, NULL, JSON},
                                      {"recursive", no_argument, NULL, 'r'},
                                      {NULL, 0, NULL, 0}};

static const cli_syntax syntax = {":z:fr", table, help};

typedef struct wanted {
    cli_options options;
    bool below, follow, json;
} wanted;

static int take(void *to, int option) {
    wanted *who = to;
    who->below |= option == 'r';
    who->follow |= option == 'f';
    who->json |= option == JSON;
    return 0;
}

static int show(cli_node_command *command, const cli_search *search, bool json) {
    cli_roster roster = {.count = 0};
    const int code = cli_search_read(search, &command->connection, &roster);
    bool good = true;
    if (code == 0 && json)
        cli_roster_print_json(&roster);
    else if (code == 0)
        good = cli_roster_print_table(&roster, true);
    cli_roster_free(&roster);
    return good ? code : cli_failure(ZKL_NO_MEMORY, NULL);
}

int cli_who(int argc, char **argv) {
    wanted who = {.options = cli_options_of(argc, argv, &syntax, CLI_NODE_CONNECT)};
    if (!cli_options_read(&who.options, take, &who))
        return who.options.code;
    int code = cli_options_expect(&who.options, 1, 1, "PATH");
    if (code)
        return code;
    cli_node_command command;
    const cli_search search = {argv[optind], who.below, who.options.connect};
    code = cli_node_command_begin(&command, &who.options, search.path, CLI_PATH_READ);
    if (code == 0 && who.follow)
        code = cli_who_follow(&search, &command.connection, who.json);
    else if (code == 0)
        code = show(&command, &search, who.json);
    cli_node_command_end(&command);
    return code;
}
