/* SPDX-License-Identifier: MIT */
/* sharer: one caller on a shared node, as the host has it: a contender in no line. Under the
 * client's mutex. */
#ifndef ZKL_SHARER_H
#define ZKL_SHARER_H

#include "shared/node_state.h"

/* The new caller waits for the shared node. NULL: no memory. */
zkl_contender *zkl_sharer_new(zkl_shared_node *shared, uint64_t tag, const zkl_terms *terms);

/* Which grant on its shared node it is; 0 of any other contender. */
uint64_t zkl_sharer_turn(zkl_contender *c);

/* A short way for a caller that takes a shared node again and again, while nothing of it concerns
 * others: no step has to follow. false: nothing was done. Any contender is accepted. */
bool zkl_sharer_rest(zkl_contender *c);       /* releases it */
bool zkl_sharer_take_again(zkl_contender *c); /* holds it again, with the same token */

#endif
