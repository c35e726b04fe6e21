/* SPDX-License-Identifier: MIT */
/* evaluate: the position of each contender in its line, and what follows from it. It reads a new
 * list of the children, or checks a contender again after news. Then it grants the contender, makes
 * it wait for its blocker, finds or misses its unknown node, or refuses it as one too many
 * (terms.max_waiting). zkl_line_settle ends a step in a line. */
#ifndef ZKL_EVALUATE_H
#define ZKL_EVALUATE_H

#include "line/line_state.h"

/* ---- how many of this client wait ---- */

/* True if a newcomer with these terms must be refused: it would have to wait, and enough callers of
 * this client wait already. If the client does not know whether the newcomer would wait, it asks
 * the servers instead. */
bool zkl_max_waiting_refuses(const zkl_line *line, const zkl_terms *terms);

/* The servers have shown that a contender has to wait. If too many wait, the last to come fail with
 * ZKL_BUSY. */
void zkl_max_waiting_thin(zkl_line *line);

/* ---- the position of a contender ---- */

/* The reason for an evaluation. It says how far the snapshot can be trusted. */
typedef enum zkl_evidence {
    ZKL_BY_LIST, /* a list was just read, and contains its node */
    /* there is news since the list: other nodes in the snapshot, and its own, may be gone */
    ZKL_BY_NEWS
} zkl_evidence;

/* Reads a new list of the children. */
void zkl_evaluate_list(zkl_line *line, const char *const *names, size_t count);
/* The answer to the contender's create was lost, and its node is in the list as last read. */
void zkl_evaluate_found(zkl_contender *c);
/* Finds the position of a waiter in the snapshot, and acts on it. */
void zkl_evaluate(zkl_contender *c, zkl_evidence evidence);
/* Grants a waiter that is first, if that is safe: its directory's ACL is checked, its node exists
 * at this moment, and validity is above 0. If one of these is missing, it sends a request, whose
 * answer calls this again. */
void zkl_evaluate_grant(zkl_contender *c, zkl_evidence evidence);
/* Sets a holder's timer: to the end of its max_hold, or to the moment for setting the watch on its
 * own node. */
void zkl_evaluate_set_hold_timer(zkl_contender *c, bool to_watch);

/* ---- the end of a step ---- */

/* Evaluates the waiters whose blocker has gone, refuses those that are too many, and sends one list
 * for all that need it. */
void zkl_line_settle(zkl_line *line);

#endif
