/* SPDX-License-Identifier: MIT */
/* output: what goes to standard output. On a terminal others' texts are spelled as cli/text.h says;
 * a pipe or a file gets the bytes. */
#ifndef ZKL_CLI_OUTPUT_H
#define ZKL_CLI_OUTPUT_H

#include "zklock.h"

/* A node's data. On a terminal newlines and tabs stay, and the last line is ended. */
void cli_output_data(const char *data, size_t length);

/* A name or a path, and a newline. */
void cli_output_line(const char *text);

/* A node's metadata: a name and a value a line. */
void cli_output_stat(const zkl_stat *stat);

/* A session's id, as ZooKeeper's tools print it. */
#define CLI_SESSION_TEXT 19
void cli_output_session(char text[CLI_SESSION_TEXT], int64_t session);

/* Seconds since 1970, by this machine's clock. */
double cli_wall_clock(void);

/* Such a moment, as 2026-01-31T12:00:00Z; empty if it is none. */
#define CLI_TIME_TEXT 32
void cli_output_time(char text[CLI_TIME_TEXT], double seconds);

#endif
