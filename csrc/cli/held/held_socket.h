/* SPDX-License-Identifier: MIT */
/* held_socket: how a command asks the run above it. The run answers on a socket in a directory that
 * only its user may enter. ZKLOCK_RUN has the directories of all runs above, the nearest one first,
 * with colons between them. */
#ifndef HELD_SOCKET_H
#define HELD_SOCKET_H

#include "zklock.h"

#include <stdbool.h>
#include <stddef.h>

#define HELD_DIRECTORY_SIZE 96
/* Seconds that a run has for its answer. */
#define HELD_PATIENCE 1

struct held_facts {
    zkl_nanos until;   /* the lock is certainly held until then; 0: it is not held */
    const char *hosts; /* the servers, with the chroot */
    const char *const *paths;
    size_t count;
    bool semaphore;
};

/* ---- the run ---- */

/* false: errno says why. */
bool cli_held_make(char directory[HELD_DIRECTORY_SIZE]);
/* With the socket in it. Twice is fine. */
void cli_held_remove(const char *directory);
/* A descriptor that is readable when a command asks. -1: errno says why. */
int cli_held_open(const char *directory);
/* Answers all that ask. Never blocks. */
void cli_held_serve(int fd, const struct held_facts *facts);

/* ---- the command ---- */

struct held_answer {
    double left;  /* seconds that the lock is certainly held; 0: it is not */
    char *text;   /* hosts, then the paths, each with a NUL behind it */
    size_t count; /* of the texts */
    bool semaphore;
};

/* The nearest directory of ZKLOCK_RUN. false: there is none, or it does not fit. */
bool cli_held_nearest(const char *zklock_run, char directory[HELD_DIRECTORY_SIZE]);
/* false: there is no such run, or it has not answered. After true the caller calls
 * cli_held_free. */
bool cli_held_ask(const char *directory, struct held_answer *answer);
void cli_held_free(struct held_answer *answer);

/* The first of these paths that a run above holds, on servers of which one is among these: its
 * command would wait for itself. Semaphores do not count. NULL: none. */
const char *cli_held_above(const char *zklock_run, const char *hosts, const char *const *paths,
                           size_t count);

#endif
