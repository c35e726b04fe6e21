/* SPDX-License-Identifier: MIT */
/* roster: who holds and who waits, in one line or in several: a row for each lock node. */
#ifndef ZKL_CLI_WHO_ROSTER_H
#define ZKL_CLI_WHO_ROSTER_H

#include "cli/connection.h"
#include "recipe/circle.h"

typedef enum cli_standing { CLI_WAITS, CLI_HOLDS, CLI_GONE } cli_standing;

/* Texts are spelled as cli/text.h says. */
typedef struct cli_row {
    char *path; /* the line's directory */
    char *node;
    char *identifier;
    zkl_kind kind;
    cli_standing standing;
    int64_t session, token;
    double created; /* seconds since 1970, by the servers' clock */
} cli_row;

typedef struct cli_roster {
    cli_row *rows;
    size_t count;
    bool cut; /* the search has left something out */
} cli_roster;

void cli_roster_free(cli_roster *roster);
/* The row of the same node, or NULL. */
const cli_row *cli_roster_find(const cli_roster *roster, const cli_row *row);

/* A table for people. `heading`: with the names of the columns. false: no memory. */
bool cli_roster_print_table(const cli_roster *roster, bool heading);

/* For people: of each that waits, a line that says behind whom. */
void cli_roster_print_waits(const cli_roster *roster);

/* {"who": [ ... ]} */
void cli_roster_print_json(const cli_roster *roster);
/* One object, on a line of its own. */
void cli_row_print_json(const cli_row *row);
/* Prints `before` as it is, and a text that is spelled as cli/text.h says, in quotes. */
void cli_json_text(const char *before, const char *text);

/* ---- to read it: the roster of a lock, or of all locks below a path ---- */

typedef struct cli_search {
    const char *path;
    bool below;  /* all below it, too */
    size_t most; /* requests; 0: 10,000 */
    bool quiet;  /* does not warn, and leaves out a path that may not be read */
} cli_search;

/* Returns 0, also if there is no such lock, or an exit code after a complaint. Warns of what it has
 * left out. The caller frees the roster in both cases. */
int cli_search_read(const cli_search *search, cli_connection *connection, cli_roster *roster);

/* ---- deadlocks: owners that wait for each other (recipe/circle.h) ---- */

typedef struct cli_deadlocks {
    cli_roster roster;
    zkl_circles circles; /* of its rows */
} cli_deadlocks;

/* Reads all, and a second time if there are circles: only those are left whose nodes are the same.
 * Returns 0 or an exit code, as cli_search_read. The caller frees them in both cases. */
int cli_deadlocks_find(const cli_search *search, cli_connection *connection, cli_deadlocks *found);
void cli_deadlocks_free(cli_deadlocks *found);
/* The index-th as a line of text, for free(). */
char *cli_deadlocks_text(const cli_deadlocks *found, size_t index);
/* Each on a line of its own; `json`: as an object. */
void cli_deadlocks_print(const cli_deadlocks *found, bool json);

#endif
