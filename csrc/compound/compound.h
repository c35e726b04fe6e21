/* compound: several contenders that the host sees as one, all or none of which are held. The host's
 * contender is the head, which is in no line; the parts are contenders in their lines like any
 * others, and know only that they are parts of a compound. Under the client's mutex.
 *
 * A multilock's parts enter all their queues in one transaction, so that two multilocks stand in
 * the same order everywhere and cannot wait for each other. When one of the parts loses its node
 * before all are held, all leave and enter again together.
 *
 * A semaphore is Curator's InterProcessSemaphoreV2: who holds the mutex in PATH/locks (the gate)
 * creates leases in PATH/leases, waits until there are few enough, and gives the mutex back. Nobody
 * else creates leases meanwhile, so all that a caller has asked for come together, and two callers
 * cannot wait for each other. */
#ifndef ZKL_COMPOUND_H
#define ZKL_COMPOUND_H

#include "line/lines.h"

/* Joins all lines at once; too many for one request fail with ZKL_TOO_BIG. NULL: no memory. */
zkl_contender *zkl_compound_join_all(zkl_lines *lines, const char *const *paths, size_t count,
                                     uint64_t tag, const zkl_terms *terms);

/* Joins the gate, then for `count` leases of terms->permits. NULL: no memory. */
zkl_contender *zkl_compound_join_leases(zkl_lines *lines, const char *gate, const char *leases,
                                        size_t count, uint64_t tag, const zkl_terms *terms);

/* Ends the waits of those that are in no line now: zkl_line_dismiss does not find them. */
void zkl_compounds_dismiss(zkl_line_common *common, zkl_status status);

/* Goes on with those whose parts have changed: near the end of every step. */
void zkl_compounds_step(zkl_line_common *common);

#endif
