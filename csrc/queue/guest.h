/* guest: one caller on a place, as the host has it: a contender, and in no line. Under the client's
 * mutex. */
#ifndef ZKL_GUEST_H
#define ZKL_GUEST_H

#include "queue/place_state.h"

/* It waits for the place. NULL: no memory. */
zkl_contender *zkl_guest_new(zkl_place *place, uint64_t tag, const zkl_terms *terms);

/* The short way of one caller who takes a place again and again, when nothing of it concerns
 * others: no step need follow. false: nothing was done. Of any contender. */
bool zkl_guest_rest(zkl_contender *c);       /* it is released */
bool zkl_guest_take_again(zkl_contender *c); /* it is held again; its token is the same */

#endif
