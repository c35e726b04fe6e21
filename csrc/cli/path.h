/* SPDX-License-Identifier: MIT */
/* path: is the path that a user gives that of a lock, or of a node? The rules are those of
 * docs/api.md. */
#ifndef ZKL_CLI_PATH_H
#define ZKL_CLI_PATH_H

#include <stdbool.h>

typedef enum cli_path_use {
    CLI_PATH_LOCK,
    CLI_PATH_READ, /* of a node: / and what is below /zookeeper, too */
    CLI_PATH_WRITE,
    CLI_PATH_CREATE,
    CLI_PATH_DELETE
} cli_path_use;

/* What is wrong with the path, or NULL; static. `hosts` has the chroot. */
const char *cli_path_problem(const char *path, const char *hosts, cli_path_use use);

/* The same; complains of `argument` and returns EX_USAGE, or 0. */
int cli_path_check(const char *argument, const char *path, const char *hosts, cli_path_use use);

#endif
