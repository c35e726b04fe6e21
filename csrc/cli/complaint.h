/* SPDX-License-Identifier: MIT */
/* complaint: what zklock has to say on stderr: one line, `zklock: REASON`; and what it exits with.
 * Others' texts in a line are spelled as cli/text.h says, so nobody can write on the user's
 * terminal.
 *
 * The exit codes are those of sysexits(3), which scripts and cron jobs know:
 *
 *   EX_USAGE 64        wrong arguments, or a configuration that cannot be used
 *   EX_DATAERR 65      wrong kind, deadlock, bad version, not empty, too big
 *   EX_NOINPUT 66      no node
 *   EX_UNAVAILABLE 69  no session, or no answer, in time
 *   EX_SOFTWARE 70     any other error
 *   EX_CANTCREAT 73    node exists
 *   EX_TEMPFAIL 75     the lock was lost or revoked; a guard is gone
 *   EX_PROTOCOL 76     unknown: nobody can say whether the write was done
 *   EX_NOPERM 77       access denied, auth failed */
#ifndef ZKL_CLI_COMPLAINT_H
#define ZKL_CLI_COMPLAINT_H

#include "zklock.h"

#include <stdbool.h>
#include <stddef.h>
#include <sysexits.h>

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

/* The lock is held by somebody else; nobody holds what is to be revoked. */
#define CLI_EXIT_BUSY 1

/* ZKL_TIMEOUT counts as no answer in time: a caller that waits for a lock asks for it before. */
int cli_exit_code(zkl_status status);

#endif
