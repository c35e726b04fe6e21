/* SPDX-License-Identifier: MIT */
/* slow: one warning for each wait that takes longer than its caller has said. It names the path and
 * who holds, which is the data of the first node in the line. If no server is in reach, it says
 * that, and a second one names who holds once the line can be read. Each first node of a line is
 * read at most once, however many callers wait behind it; a node of this client is not read. Under
 * the client's mutex. */
#ifndef ZKL_SLOW_H
#define ZKL_SLOW_H

#include "line/line_state.h"

/* The contender has begun to wait, and after so long the wait is slow. Does nothing if the host has
 * no log; without memory there is no warning. */
void zkl_slow_begin(zkl_contender *c, zkl_nanos after);

/* Of a contender in a line: the holder's data, truncated, if a warning has read them; otherwise
 * "". */
const char *zkl_slow_owner(const zkl_contender *c);

/* A list of the line was read; or could not be. */
void zkl_slow_listed(zkl_line *line, bool ok);
/* The line has lost its link's handle: no answer comes. */
void zkl_slow_unlink(zkl_line *line);
/* The line is about to be freed. */
void zkl_slow_forget(zkl_line *line);

#endif
