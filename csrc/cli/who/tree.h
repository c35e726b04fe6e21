/* SPDX-License-Identifier: MIT */
/* tree: finds the lines at and below a path: the directories that have lock nodes. */
#ifndef ZKL_CLI_TREE_H
#define ZKL_CLI_TREE_H

#include "cli/connection.h"

/* Bounds of a search. */
#define CLI_TREE_DEPTH 8
#define CLI_TREE_REQUESTS 10000

/* A directory that has lock nodes. */
typedef struct cli_line {
    char *path;
    size_t locks, leases; /* how many nodes of each */
    bool gate; /* of a semaphore: those in its line wait for a lease, the first one too */
} cli_line;

typedef struct cli_tree {
    cli_line *lines; /* sorted by path, as bytes */
    size_t count;
    size_t requests; /* how many were sent */
    size_t denied;   /* directories that may not be read */
    bool too_deep;   /* there is more below CLI_TREE_DEPTH */
    bool too_many;   /* it ended after CLI_TREE_REQUESTS */
} cli_tree;

/* Looks at the path alone, and at the two lines of a semaphore there; or at all below it, too.
 * ZKL_OK also if there is no such node. What may not be read below it is passed over, and
 * counted. */
zkl_status cli_tree_find(cli_tree *tree, cli_connection *connection, const char *path, bool below,
                         double seconds);

/* Has the search room for so many requests more? They count as sent, then. */
bool cli_tree_spend(cli_tree *tree, size_t requests);

void cli_tree_free(cli_tree *tree);

#endif
