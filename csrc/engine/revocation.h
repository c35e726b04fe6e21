/* revocation: asks those who hold at a path to give it back: writes to the nodes that a roster has found. */
#ifndef ZKL_REVOCATION_H
#define ZKL_REVOCATION_H

#include "roster.h"

typedef struct zkl_revocation {
    zkl_subject subject;
    bool sent, done;
    zkl_status status; /* once done */
    size_t open;       /* not answered yet */
    size_t asked;      /* holders that were there to be asked */
} zkl_revocation;

/* Goes on, with a roster that is done: writes if nothing is on its way. */
void zkl_revocation_step(zkl_revocation *revocation, const zkl_roster *roster);
/* Forgets what is on its way. */
void zkl_revocation_stop(zkl_revocation *revocation, zkl_floor *floor);

#endif
