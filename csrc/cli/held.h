/* SPDX-License-Identifier: MIT */
/* held: how a command asks the run above it. The run answers on a socket in a directory that
 * only its user may enter; ZKLOCK_RUN has the directory. It sends one message and hangs up. */
#ifndef ZKL_CLI_HELD_H
#define ZKL_CLI_HELD_H

#include "zklock.h"

#define HELD_DIRECTORY_SIZE 96

/* Empty after false: errno says why. */
bool cli_held_make(char directory[HELD_DIRECTORY_SIZE]);
/* With the socket in it. Twice is fine, and so is an empty one. */
void cli_held_remove(const char *directory);
/* A descriptor that is readable when a command asks. -1: there is none. */
int cli_held_open(const char *directory);
/* Answers all that ask: the lock is certainly held until then; 0: it is not held. Never blocks. */
void cli_held_serve(int fd, zkl_nanos until);

#endif
