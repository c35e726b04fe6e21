/* SPDX-License-Identifier: MIT */
/* guard: the lock nodes of --guard: a write is done only while all of them are there. The list is
 * that of $ZKLOCK_NODE, a full path a line. */
#ifndef ZKL_CLI_GUARD_H
#define ZKL_CLI_GUARD_H

#include "zklock.h"

typedef struct cli_guard {
    char **nodes;
    size_t count; /* 0: nothing is guarded */
} cli_guard;

/* Adds what `source`, --guard or a variable, names. Returns 0, or EX_USAGE after a complaint: the
 * list is empty, or names what is not a lock's node. */
int cli_guard_add(cli_guard *guard, const char *source, const char *list);

/* The operations of a guarded write: a check of each node, then the write; NULL: none. The caller
 * frees them; their paths are the guard's. */
zkl_op *cli_guard_ops(const cli_guard *guard, const zkl_op *write);

void cli_guard_free(cli_guard *guard);

#endif
