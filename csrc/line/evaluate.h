/* evaluate: where each contender stands in a line. A new list of the children is read, or a
 * contender is looked at again by what is known since, and what follows is done: it is granted, it
 * waits for its blocker, its unknown node is found or missed, or it is one too many
 * (terms.max_waiting). zkl_line_settle ends a step in a line. */
#ifndef ZKL_EVALUATE_H
#define ZKL_EVALUATE_H

#include "line/line_state.h"

/* ---- how many of this client wait ---- */

/* Must a newcomer with these terms be refused, because it would wait and enough of ours wait
 * already? Only if it is known here that it would have to wait: otherwise the servers are asked,
 * who may let it in. */
bool zkl_max_waiting_refuses(const zkl_line *line, const zkl_terms *terms);

/* Somebody has heard from the servers that it waits: if too many do, the last to come fail with
 * ZKL_BUSY. */
void zkl_max_waiting_thin(zkl_line *line);

/* ---- where a contender stands ---- */

/* Why a contender is looked at, which says how far the snapshot can be believed. */
typedef enum zkl_evidence {
    ZKL_BY_LIST, /* a list was read just now, and has its node in it */
    /* something was heard since the list: others in the snapshot, and its own node, may be gone */
    ZKL_BY_NEWS
} zkl_evidence;

/* Takes a new list of the children. */
void zkl_evaluate_list(zkl_line *line, const char *const *names, size_t count);
/* Its node, whose create's answer was lost, was found in the list as last read. */
void zkl_evaluate_found(zkl_contender *c);
/* Looks where a waiter stands in the snapshot, and does what follows. */
void zkl_evaluate(zkl_contender *c, zkl_evidence evidence);
/* Grants a waiter that is first, if that is certain: its directory's ACL is checked, its node is
 * there at this moment, and validity is above 0. What is still missing for that is asked for,
 * and comes back here with its answer. */
void zkl_evaluate_grant(zkl_contender *c, zkl_evidence evidence);
/* Sets a holder's timer: to the end of its max_hold, and if its own node is not watched yet to when
 * it is to be. */
void zkl_evaluate_set_hold_timer(zkl_contender *c, bool to_watch);

/* ---- the end of a step ---- */

/* Looks again at those whose blocker went, refuses those who are too many, and sends one list for
 * all who want it. */
void zkl_line_settle(zkl_line *line);

#endif
