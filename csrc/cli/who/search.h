/* SPDX-License-Identifier: MIT */
/* search: reads the roster of a lock, or of all locks below a path. */
#ifndef ZKL_CLI_SEARCH_H
#define ZKL_CLI_SEARCH_H

#include "cli/who/roster.h"

typedef struct cli_search {
    const char *path;
    bool below;     /* all below it, too */
    double seconds; /* for each answer */
} cli_search;

/* Returns 0, also if there is no such lock, or an exit code after a complaint. Warns of what it has
 * left out. The caller frees the roster in both cases. */
int cli_search_read(const cli_search *search, cli_connection *connection, cli_roster *roster);

#endif
