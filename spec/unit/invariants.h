/* SPDX-License-Identifier: MIT */
/* invariants: the rules for a client's lines at the end of every step. docs/internals/invariants.md
 * has them as tables, row by row. This is the hook that builds of the engine with ZKL_CHECK call
 * (csrc/client/client_state.h); the clients of the fake world call it, too. It prints a violation
 * on stderr and aborts the process. */
#ifndef INVARIANTS_H
#define INVARIANTS_H

#include "line/lines.h"
#include "nodes/nodes.h"

void zkl_invariants_check(const zkl_lines *lines, const zkl_nodes *nodes);

#endif
