/* sharer: one caller on a shared node, as the host has it: a contender, and in no line. Under the
 * client's mutex. */
#ifndef ZKL_SHARER_H
#define ZKL_SHARER_H

#include "shared/node_state.h"

/* It waits for the shared node. NULL: no memory. */
zkl_contender *zkl_sharer_new(zkl_shared_node *shared, uint64_t tag, const zkl_terms *terms);

/* The short way of one caller who takes a shared node again and again, when nothing of it concerns
 * others: no step need follow. false: nothing was done. Of any contender. */
bool zkl_sharer_rest(zkl_contender *c);       /* it is released */
bool zkl_sharer_take_again(zkl_contender *c); /* it is held again; its token is the same */

#endif
