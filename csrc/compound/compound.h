/* SPDX-License-Identifier: MIT */
/* compound: several contenders that the host sees as one; it holds all of them or none. The host's
 * contender is the head, which is in no line. The parts are contenders in their lines like any
 * other, with the compound as their listener. Under the client's mutex.
 *
 * One transaction creates the nodes of all parts of a multilock. So two multilocks have the same
 * order in every line, and cannot wait for each other. If one part loses its node before all are
 * held, all leave and enter again together.
 *
 * A semaphore is Curator's InterProcessSemaphoreV2. The holder of the mutex in PATH/locks (the
 * gate) creates leases in PATH/leases, waits until there are few enough, and releases the mutex. No
 * other caller creates leases meanwhile. So all leases of one caller come together, and two callers
 * cannot wait for each other. */
#ifndef ZKL_COMPOUND_H
#define ZKL_COMPOUND_H

#include "line/lines.h"

/* Joins all lines at once. FAILED with ZKL_TOO_BIG: too many lines for one request, or
 * no room in the node budget. NULL: no memory. */
zkl_contender *zkl_compound_join_all(zkl_lines *lines, const char *const *paths, size_t count,
                                     uint64_t tag, const zkl_terms *terms);

/* Joins the gate, then for `count` leases of terms->permits. FAILED with ZKL_TOO_BIG: no room in
 * the node budget. NULL: no memory. */
zkl_contender *zkl_compound_join_leases(zkl_lines *lines, const char *gate, const char *leases,
                                        size_t count, uint64_t tag, const zkl_terms *terms);

/* Ends the waits of compounds that are in no line now: zkl_line_fail does not find them. */
void zkl_compounds_fail(zkl_line_common *common, zkl_status status);

/* Continues with the compounds whose parts have changed: near the end of every step. */
void zkl_compounds_step(zkl_line_common *common);

#endif
