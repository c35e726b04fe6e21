/* SPDX-License-Identifier: MIT */
/* number: numbers that a user writes: in decimals with a point, whatever the locale. */
#ifndef ZKL_CLI_NUMBER_H
#define ZKL_CLI_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Seconds of at least 0, such as 0.5. false: the text is none; infinity and NaN are none. */
bool cli_number_seconds(const char *text, double *seconds);

/* A whole number within the bounds. false: the text is none. */
bool cli_number_whole(const char *text, int64_t least, int64_t most, int64_t *number);

/* The value of an option. Complains of it and returns EX_USAGE, or 0. `most` 0: no bound. */
int cli_number_seconds_of(const char *option, const char *text, double most, double *seconds);
int cli_number_whole_of(const char *option, const char *text, int64_t least, int64_t most,
                        int64_t *number);

#endif
