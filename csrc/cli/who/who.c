/* SPDX-License-Identifier: MIT */
/* who: shows who holds and who waits, once or with each change. */
#include "cli/connection.h"
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
    cli_search search;
    bool deadlocks, follow, json;
} wanted;

static const cli_option table[] = {
    {"deadlocks", 0, CLI_FLAG, .field = offsetof(wanted, deadlocks)},
    {"follow", 'f', CLI_FLAG, .field = offsetof(wanted, follow)},
    {"json", 0, CLI_FLAG, .field = offsetof(wanted, json)},
    {"recursive", 'r', CLI_FLAG, .field = offsetof(wanted, search.below)},
    {.name = NULL},
};

static const cli_syntax syntax = {.table = table, .help = help};

/* ---- what -f shows: each change, as it comes ---- */

/* A line that changes all the time is read once a second at most; a tree, in which not every
 * directory can be watched, every 5 seconds. */
#define PAUSE ZKL_SECOND
#define TREE_PAUSE (5 * ZKL_SECOND)

#define WATCH 2  /* the tag of all watches */
#define NOBODY 3 /* has no event */

enum { WATCHES = 3 };

typedef struct follower {
    const cli_search *search;
    cli_connection *connection;
    bool json, shown; /* shown: the heading */
    zkl_node_watch *watches[WATCHES];
    cli_roster roster; /* what was shown */
} follower;

/* ---- changes ---- */

/* The line itself, and the two of a semaphore. */
static zkl_status watch(follower *f) {
    static const char *const below[WATCHES] = {"", "/leases", "/locks"};
    const char *path = f->search->path[1] ? f->search->path : "";
    zkl_status status = ZKL_OK;
    for (size_t i = 0; status == ZKL_OK && i < WATCHES; i++) {
        char *watched = cli_memory_print("%s%s", i == 0 ? f->search->path : path, below[i]);
        status = zkl_look_at(f->connection->client, watched, true, WATCH, &f->watches[i]);
        free(watched);
    }
    return status;
}

/* Drops the content: the follower reads the line anew. The client looks in turn at all that it
 * watches, and says each time that there is content which nobody has taken. */
static void take_content(zkl_node_watch *watch) {
    zkl_status status;
    zkl_content *content = NULL;
    if (zkl_node_watch_take(watch, &status, &content) && content)
        zkl_content_free(content);
}

static void wait_for_change(const follower *f, zkl_nanos since) {
    zkl_client *client = f->connection->client;
    const bool below = f->search->below;
    zkl_event event;
    zkl_wait(client, WATCH, below ? since + TREE_PAUSE : ZKL_NEVER, &event);
    zkl_wait(client, NOBODY, since + PAUSE, &event);
    for (size_t i = 0; !below && i < WATCHES; i++)
        take_content(f->watches[i]);
}

/* ---- what is shown ---- */

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
        if (!cli_roster_find(now, &f->roster.rows[i])) {
            changed[count] = f->roster.rows[i];
            changed[count++].standing = CLI_GONE;
        }
    }
    for (size_t i = 0; i < now->count; i++) {
        const cli_row *before = cli_roster_find(&f->roster, &now->rows[i]);
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
static int show_for_ever(cli_connection *connection, const wanted *who) {
    follower f = {.search = &who->search, .connection = connection, .json = who->json};
    const zkl_status status = who->search.below ? ZKL_OK : watch(&f);
    const int code = status == ZKL_OK
                         ? follow(&f)
                         : cli_connection_failure(connection, status, who->search.path);
    for (size_t i = 0; i < WATCHES; i++)
        zkl_node_watch_drop(f.watches[i]);
    cli_roster_free(&f.roster);
    return code;
}

/* ---- what is shown once ---- */

static int show_once(cli_connection *connection, const wanted *who) {
    cli_roster roster = {.count = 0};
    const int code = cli_search_read(&who->search, connection, &roster);
    bool good = true;
    if (code == 0 && who->json)
        cli_roster_print_json(&roster);
    else if (code == 0)
        good = cli_roster_print_table(&roster, true);
    if (code == 0 && !who->json && !who->search.below)
        cli_roster_print_waits(&roster);
    cli_roster_free(&roster);
    return good ? code : cli_connection_failure(connection, ZKL_NO_MEMORY, NULL);
}

static int show_deadlocks(cli_connection *connection, const wanted *who) {
    cli_deadlocks found = {.roster = {.count = 0}};
    int code = cli_deadlocks_find(&who->search, connection, &found);
    if (code == 0 && found.circles.count > 0) {
        cli_deadlocks_print(&found, who->json);
        code = CLI_EXIT_FOUND;
    } else if (code == 0 && found.roster.cut) {
        code = EX_SOFTWARE; /* it has warned */
    }
    cli_deadlocks_free(&found);
    return code;
}

/* ---- the command ---- */

static int show(cli_connection *connection, const char *path, void *to) {
    wanted *who = to;
    who->search.path = path;
    return who->follow      ? show_for_ever(connection, who)
           : who->deadlocks ? show_deadlocks(connection, who)
                            : show_once(connection, who);
}

static int check_arguments(cli_options *options, const wanted *who) {
    if (who->deadlocks && who->follow)
        return cli_misuse("--deadlocks", "not with --follow");
    return who->deadlocks ? cli_options_expect(options, 0, 1, "[PATH]")
                          : cli_options_expect(options, 1, 1, "PATH");
}

int cli_who(int argc, char **argv) {
    wanted who = {.json = false};
    cli_options options = cli_options_of(argc, argv, &syntax, CLI_CONNECT);
    if (!cli_options_read(&options, &who))
        return options.code;
    const int code = check_arguments(&options, &who);
    const char *path = argv[optind] ? argv[optind] : "/";
    return code ? code : cli_connected(&options, path, ZKL_PATH_READ, show, &who);
}
