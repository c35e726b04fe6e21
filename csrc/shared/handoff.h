/* SPDX-License-Identifier: MIT */
/* handoff: the callers that hold a shared node, wait for it or rest on it, and how the node goes
 * from one to the next. Under the client's mutex. */
#ifndef ZKL_HANDOFF_H
#define ZKL_HANDOFF_H

#include "shared/node_state.h"

/* The caller waits behind all others. */
void zkl_handoff_wait(zkl_shared_node *shared, zkl_contender *c);

/* The end of a wait. */
void zkl_handoff_fail(zkl_contender *c, zkl_status status);
void zkl_handoff_fail_all(zkl_shared_node *shared, zkl_status status);
/* Fails the callers that try only once. */
void zkl_handoff_fail_impatient(zkl_shared_node *shared, zkl_status status);
/* All callers here have to wait for another client: refuses those that are too many
 * (terms.max_waiting). */
void zkl_handoff_thin(zkl_shared_node *shared);

/* True if all waiting callers try only once. */
bool zkl_handoff_tried_once(const zkl_shared_node *shared);

/* A hold has ended. The caller of this function decides how. */
void zkl_handoff_leave(zkl_shared_node *shared, zkl_contender *c);
/* The held write is about to end. From now on the read that was taken under it is a normal shared
 * node. `well`: the write was released, so other callers may read along: those that wait for
 * another shared node of readers wait for this one, if it lets callers in now. Otherwise it is
 * sealed. */
void zkl_handoff_downgrade(zkl_shared_node *write, bool well);
/* All holders have lost it. */
void zkl_handoff_lose(zkl_shared_node *shared);

typedef enum zkl_may { ZKL_MAY_NOT, ZKL_MAY_SOON, ZKL_MAY } zkl_may;

/* Says whether the next caller may hold without traffic: the node must exist at this moment, and
 * the session must be alive. Asks for a list if the line needs one for that. SOON: the answer to a
 * request, or the line's next settling, leads back here. */
zkl_may zkl_handoff_prepare(zkl_shared_node *shared);
/* Grants it to the first waiter. `handed`: without traffic. */
void zkl_handoff_grant(zkl_shared_node *shared, bool handed);
/* The caller that rests on it can no longer take it again. */
void zkl_handoff_leave_resting(zkl_shared_node *shared, zkl_contender *c);

/* It has released what it held with that node, and was answered so: the end of the node, or proof
 * that it is there, shows whether it had lost. */
void zkl_handoff_doubt(zkl_contender *c, zkl_contender *node, zkl_status answer);

#endif
