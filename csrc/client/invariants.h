/* SPDX-License-Identifier: MIT */
/* invariants: the rules for a client's lines at the end of every step. docs/internals/invariants.md
 * has them as tables, row by row. Only builds with ZKL_CHECK check them (unit tests, the
 * simulation, `make asan`, `make tsan`, `make chaos`): they print a violation on stderr and abort
 * the process. */
#ifndef ZKL_INVARIANTS_H
#define ZKL_INVARIANTS_H

#include "line/lines.h"
#include "nodes/nodes.h"

#ifdef ZKL_CHECK
void zkl_invariants_check(const zkl_lines *lines, const zkl_nodes *nodes);
#else
static inline void zkl_invariants_check(const zkl_lines *lines, const zkl_nodes *nodes) {
    (void)lines;
    (void)nodes;
}
#endif

#endif
