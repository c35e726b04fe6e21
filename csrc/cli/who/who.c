/* SPDX-License-Identifier: MIT */
/* who: shows who holds and who waits, once or with each change. */
#include "cli/connection.h"
#include "cli/nodes/node_command.h"
#include "cli/options.h"
#include "cli/who/roster.h"
#include "cli/text.h"
#include "zklock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: zklock who [OPTIONS] PATH\n"
    "       zklock who [OPTIONS] --deadlocks [PATH]\n"
    "\n"
    "Shows who holds the lock at PATH and who waits for it: a row for each node.\n"
    "\n"
    "      --deadlocks     a line for each circle of owners that wait for each other,\n"
    "                      and exit 1 if there is one; -r: in all locks below PATH, or /\n"
    "  -f, --follow        go on, with a row for each change, until Ctrl-C\n"
    "      --json          for programs; with -f one object a line\n"
    "  -r, --recursive     also all locks below PATH\n" CLI_OPTIONS_HELP;

typedef struct wanted {
    bool below, deadlocks, follow, json;
} wanted;

static const cli_option table[] = {
    {"deadlocks", 0, CLI_FLAG, .field = offsetof(wanted, deadlocks)},
    {"follow", 'f', CLI_FLAG, .field = offsetof(wanted, follow)},
    {"json", 0, CLI_FLAG, .field = offsetof(wanted, json)},
    {"recursive", 'r', CLI_FLAG, .field = offsetof(wanted, below)},
    {.name = NULL},
};

static const cli_syntax syntax = {.table = table, .help = help};

/* ---- what -f shows: each change, as it comes ---- */

/* A line that changes all the time is read once a second at most; a tree, in which not every
 * directory can be watched, every 5 seconds. */
#define PAUSE ZKL_SECOND
#define TREE_PAUSE (5 * ZKL_SECOND)

enum { WATCHES = 3 };

typedef struct follower {
    const cli_search *search;
    cli_connection *connection;
    bool json, shown; /* shown: the heading */
    bool waits, changed;
    char *paths[WATCHES];
    zkl_node_watch *watches[WATCHES];
    uint64_t tags[WATCHES];
    cli_roster roster; /* what was shown */
} follower;

/* ---- changes ---- */

/* Drops the content: the follower reads the line anew. The watch sends no further event until
 * somebody takes what it has. */
static void take_content(zkl_node_watch *watch) {
    zkl_status status;
    zkl_content *content = NULL;
    if (zkl_node_watch_take(watch, &status, &content) && content)
        zkl_content_free(content);
}

static bool on_event(void *context, const zkl_event *event) {
    follower *f = context;
    for (size_t i = 0; i < WATCHES; i++) {
        if (f->watches[i] && f->tags[i] == event->tag) {
            take_content(f->watches[i]);
            f->changed = true;
        }
    }
    return !(f->waits && f->changed);
}

/* The line itself, and the two of a semaphore. */
static zkl_status watch(follower *f) {
    static const char *const below[WATCHES] = {"", "/leases", "/locks"};
    const char *path = f->search->path[1] ? f->search->path : "";
    zkl_status status = ZKL_OK;
    for (size_t i = 0; status == ZKL_OK && i < WATCHES; i++) {
        f->paths[i] = cli_memory_print("%s%s", i == 0 ? f->search->path : path, below[i]);
        f->tags[i] = cli_connection_tag(f->connection);
        status = zkl_look_at(f->connection->client, f->paths[i], true, f->tags[i], &f->watches[i]);
    }
    return status;
}

static void wait_for_change(follower *f, zkl_nanos since) {
    const bool below = f->search->below;
    f->waits = true;
    if (!f->changed)
        cli_connection_await(f->connection, below ? since + TREE_PAUSE : ZKL_NEVER);
    f->waits = false;
    cli_connection_await(f->connection, since + PAUSE);
    f->changed = false;
}

/* ---- what is shown ---- */

static const cli_row *find(const cli_roster *roster, const cli_row *row) {
    for (size_t i = 0; i < roster->count; i++) {
        const cli_row *other = &roster->rows[i];
        if (strcmp(other->node, row->node) == 0 && strcmp(other->path, row->path) == 0)
            return other;
    }
    return NULL;
}

static void show_rows(follower *f, const cli_row *rows, size_t count) {
    const cli_roster part = {.rows = (cli_row *)rows, .count = count};
    if (count == 0)
        return;
    for (size_t i = 0; f->json && i < count; i++) {
        cli_row_print_json(&rows[i]);
        putchar('\n');
    }
    if (!f->json)
        cli_roster_print_table(&part, !f->shown);
    f->shown = true;
}

/* Those that left, then those that came or changed. The rows' texts stay with their rosters. */
static void show_changes(follower *f, const cli_roster *now) {
    cli_row *changed = cli_memory_again(NULL, f->roster.count + now->count, sizeof *changed);
    size_t count = 0;
    for (size_t i = 0; i < f->roster.count; i++) {
        if (!find(now, &f->roster.rows[i])) {
            changed[count] = f->roster.rows[i];
            changed[count++].standing = CLI_GONE;
        }
    }
    for (size_t i = 0; i < now->count; i++) {
        const cli_row *before = find(&f->roster, &now->rows[i]);
        if (!before || before->standing != now->rows[i].standing)
            changed[count++] = now->rows[i];
    }
    show_rows(f, changed, count);
    fflush(stdout);
    free(changed);
}

static int follow(follower *f) {
    for (;;) {
        const zkl_nanos since = zkl_now();
        cli_roster now = {.count = 0};
        const int code = cli_search_read(f->search, f->connection, &now);
        if (code == 0)
            show_changes(f, &now);
        cli_roster_free(&f->roster);
        f->roster = now;
        if (code || ferror(stdout))
            return code;
        wait_for_change(f, since);
    }
}

/* Goes on until the process ends, or the servers are away for too long: then it returns an exit
 * code, after a complaint. */
static int show_for_ever(const cli_search *search, cli_connection *connection, bool json) {
    follower f = {.search = search, .connection = connection, .json = json};
    connection->listener = (cli_listener){.told = on_event, .context = &f};
    const zkl_status status = search->below ? ZKL_OK : watch(&f);
    const int code =
        status == ZKL_OK ? follow(&f) : cli_connection_failure(connection, status, search->path);
    for (size_t i = 0; i < WATCHES; i++) {
        zkl_node_watch_drop(f.watches[i]);
        free(f.paths[i]);
    }
    cli_roster_free(&f.roster);
    return code;
}

/* ---- the command ---- */

static int show(cli_node_command *command, const cli_search *search, bool json) {
    cli_roster roster = {.count = 0};
    const int code = cli_search_read(search, &command->connection, &roster);
    bool good = true;
    if (code == 0 && json)
        cli_roster_print_json(&roster);
    else if (code == 0)
        good = cli_roster_print_table(&roster, true);
    if (code == 0 && !json && !search->below)
        cli_roster_print_waits(&roster);
    cli_roster_free(&roster);
    return good ? code : cli_failure(ZKL_NO_MEMORY, NULL);
}

static int show_deadlocks(cli_node_command *command, const cli_search *search, bool json) {
    cli_deadlocks found = {.roster = {.count = 0}};
    int code = cli_deadlocks_find(search, &command->connection, &found);
    if (code == 0 && found.circles.count > 0) {
        cli_deadlocks_print(&found, json);
        code = CLI_EXIT_FOUND;
    } else if (code == 0 && found.roster.cut) {
        code = EX_SOFTWARE; /* it has warned */
    }
    cli_deadlocks_free(&found);
    return code;
}

static int check_arguments(cli_options *options, const wanted *who) {
    if (who->deadlocks && who->follow)
        return cli_misuse("--deadlocks", "not with --follow");
    return who->deadlocks ? cli_options_expect(options, 0, 1, "[PATH]")
                          : cli_options_expect(options, 1, 1, "PATH");
}

int cli_who(int argc, char **argv) {
    wanted who = {.below = false};
    cli_options options = cli_options_of(argc, argv, &syntax, CLI_NODE_CONNECT);
    if (!cli_options_read(&options, &who))
        return options.code;
    int code = check_arguments(&options, &who);
    if (code)
        return code;
    cli_node_command command;
    const char *path = argv[optind] ? argv[optind] : "/";
    const cli_search search = {.path = path, .below = who.below, .seconds = options.connect};
    code = cli_node_command_begin(&command, &options, search.path, ZKL_PATH_READ);
    if (code == 0 && who.follow)
        code = show_for_ever(&search, &command.connection, who.json);
    else if (code == 0 && who.deadlocks)
        code = show_deadlocks(&command, &search, who.json);
    else if (code == 0)
        code = show(&command, &search, who.json);
    cli_node_command_end(&command);
    return code;
}
