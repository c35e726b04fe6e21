/* SPDX-License-Identifier: MIT */
/* value: what a user writes, read and checked: numbers, in decimals with a point whatever the
 * locale, and paths, by the rules of docs/api.md. */
#ifndef ZKL_CLI_VALUE_H
#define ZKL_CLI_VALUE_H

#include "zklock.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- numbers ---- */

/* A duration of at least 0: 0.5 is half a second, and so is 500ms; the units are ms, s, m, h and d.
 * false: the text is none. One that is too large for a double is infinite. */
bool cli_number_seconds(const char *text, double *seconds);

/* A whole number within the bounds. false: the text is none. */
bool cli_number_whole(const char *text, int64_t least, int64_t most, int64_t *number);

/* Which durations an option takes. */
typedef struct cli_seconds {
    bool positive; /* 0 is none of them */
    double most;   /* 0: no bound but that of all durations */
} cli_seconds;

/* The value of an option. Complains of it and returns EX_USAGE, or 0. */
int cli_number_seconds_of(const char *option, const char *text, cli_seconds range, double *seconds);
int cli_number_whole_of(const char *option, const char *text, int64_t least, int64_t most,
                        int64_t *number);

/* ---- paths ---- */

/* `hosts` has the chroot. Complains of `argument` and returns EX_USAGE, or 0. */
int cli_path_check(const char *argument, const char *path, const char *hosts, zkl_path_use use);

#endif
