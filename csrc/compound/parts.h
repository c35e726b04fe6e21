/* SPDX-License-Identifier: MIT */
/* parts: the contenders of a compound, and how they enter and leave their lines together. */
#ifndef ZKL_PARTS_H
#define ZKL_PARTS_H

#include "compound/compound_lock.h"

/* The bytes of the paths of all nodes that it will have at once. */
size_t zkl_parts_bytes(const zkl_compound_lock *lock);

/* A multilock's parts, or a semaphore's gate, enter their lines. false: no memory. */
bool zkl_parts_enter(zkl_compound_lock *lock);
/* All parts enter their lines; for a semaphore, its leases. false: no memory. */
bool zkl_parts_join(zkl_compound_lock *lock);

/* Parts that leave delete their nodes by themselves. */
void zkl_parts_let_gate_go(zkl_compound_lock *lock);
void zkl_parts_let_all_go(zkl_compound_lock *lock);
/* The same for a holder whose release is answered so. The end of its nodes shows whether it had
 * lost: zkl_parts_heard removes each. */
void zkl_parts_let_go_in_doubt(zkl_compound_lock *lock, zkl_status answer);
/* To be set as the head's `heard`. */
zkl_testimony zkl_parts_heard(zkl_contender *head, const zkl_contender *witness);

#endif
