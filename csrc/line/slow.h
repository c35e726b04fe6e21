/* SPDX-License-Identifier: MIT */
/* slow: one warning for each wait that takes longer than its caller has said. It names the path and
 * who holds, which is the data of the first node in the line. If no server is in reach, it says
 * that, and a second one names who holds once the line can be read. Each first node of a line is
 * read at most once, however many callers wait behind it; a node of this client is not read. Under
 * the client's mutex. */
#ifndef ZKL_SLOW_H
#define ZKL_SLOW_H

#include "line/line_state.h"

/* What a line knows about its first node. It lives as long as the line. */
typedef struct zkl_first_node {
    zkl_receiver receiver;
    zkl_line *line;
    char *name;
    char owner[160]; /* its data, cut; "": not known, or not yet */
    bool reading;
    bool read;      /* its data, which may be empty, are known */
    zkl_list waits; /* slow waits whose warning waits for the answer */
    zkl_list lists; /* those that wait for a list of the line */
    zkl_list cut;   /* those that were told of while no server was in reach: the next list serves */
} zkl_first_node;

/* The contender has begun to wait, and after so long the wait is slow. Does nothing if the host has
 * no log; without memory there is no warning. */
void zkl_slow_begin(zkl_contender *c, zkl_nanos after);

/* A list of the line was read; or could not be. */
void zkl_slow_listed(zkl_line *line, bool ok);
/* The line has lost its link's handle: no answer comes. */
void zkl_slow_unlink(zkl_line *line);
/* The line is about to be freed. */
void zkl_slow_forget(zkl_line *line);

#endif
