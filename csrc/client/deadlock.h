/* SPDX-License-Identifier: MIT */
/* deadlock: would a caller wait for ever, because owners of this client wait for each other? Under
 * the client's mutex. */
#ifndef ZKL_DEADLOCK_H
#define ZKL_DEADLOCK_H

#include "line/lines.h"

/* A caller is about to join these lines with these terms. true: its wait, which has no deadline,
 * would close a circle of owners, and none of the waits in it has one. Leases do not count,
 * because no owner holds them in person, nor does a hold with a bound (max_hold). false also if
 * there is no memory to find out. */
bool zkl_deadlock_closes(const zkl_lines *lines, const char *const *paths, size_t count,
                         const zkl_terms *terms);

#endif
