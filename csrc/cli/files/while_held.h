/* SPDX-License-Identifier: MIT */
/* while_held: the file of `--while-held`, which is there, with the token, while the lock is held.
 * The process that has written it keeps a flock(2) on it, so that another run on this machine can
 * tell it from a stale one. */
#ifndef FILES_WHILE_HELD_H
#define FILES_WHILE_HELD_H

#include <stdbool.h>
#include <stdint.h>

/* Before the wait: removes a file that nobody keeps. false: there is a file that is none of a
 * run's. */
bool cli_while_held_clear(const char *file);
/* Writes the file under another name, then renames it. Returns a descriptor that the caller keeps
 * until the lock is given up; -1: errno says why. */
int cli_while_held_write(const char *file, int64_t token);
/* Any process of the run: removes the file, unless it has another token by now. Twice is fine. */
void cli_while_held_remove(const char *file, int64_t token);

#endif
