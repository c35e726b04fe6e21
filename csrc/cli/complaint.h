/* SPDX-License-Identifier: MIT */
/* complaint: what zklock has to say on stderr: one line, `zklock: REASON`. Others' texts in it are
 * spelled as cli/text.h says, so nobody can write on the user's terminal. */
#ifndef ZKL_CLI_COMPLAINT_H
#define ZKL_CLI_COMPLAINT_H

#include "zklock.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes text as far as the reader takes it. After `stty tostop` the terminal would stop a process
 * in the background that writes: not this one. */
void cli_write(int fd, const char *text, size_t length);

/* From now on a line that nobody takes within so many milliseconds is left out. Without it a line
 * is waited for. */
void cli_complaint_patience(int milliseconds);
/* Would a line be taken within so many milliseconds? A write to a pipe that is full, or to a
 * terminal after Ctrl-S, would wait. */
bool cli_complaint_is_taken(int milliseconds);

void cli_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* `zklock: warning: ...`: it goes on all the same. */
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Complains of an argument, by its name: "PATH", "--connect". Returns EX_USAGE. */
int cli_misuse(const char *argument, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Complains of a failure: `zklock: no node: /cfg/x`. `about` may be NULL. Returns the exit code of
 * the status. */
int cli_failure(zkl_status status, const char *about);

#endif
