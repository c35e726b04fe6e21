/* SPDX-License-Identifier: MIT */
/* number: numbers that a user writes: in decimals with a point, whatever the locale. */
#ifndef ZKL_CLI_NUMBER_H
#define ZKL_CLI_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
