/* SPDX-License-Identifier: MIT */
/* input: the data of a node that is to be written, from an argument or from standard input. */
#ifndef ZKL_CLI_INPUT_H
#define ZKL_CLI_INPUT_H

#include <stddef.h>

/* Much more than the servers take: so much of it says "too big". */
#define CLI_INPUT_MOST (4 << 20)

/* Reads standard input to its end, or to CLI_INPUT_MOST bytes. The caller frees the result. NULL:
 * it cannot be read, after a complaint. */
char *cli_input_read(size_t *length);

#endif
