/* revocation: asks those who hold at a path to give it back: writes to the nodes that a listing has
 * found. */
#ifndef ZKL_REVOCATION_H
#define ZKL_REVOCATION_H

#include "query/listing.h"

typedef struct zkl_revocation {
    zkl_receiver receiver;
    zkl_listing *listing; /* that has found the holders */
    bool sent, done;
    zkl_status status; /* once done */
    size_t next;       /* of the listing, to be looked at */
    size_t open;       /* not answered yet */
    bool gone;         /* one of those that held when they were listed is */
    size_t asked;      /* holders that were there to be asked */
    bool vain;         /* all who were listed had gone already: once */
    zkl_timer retry;   /* nothing is written before it fires */
    zkl_nanos pause;   /* the latest pause before that */
} zkl_revocation;

/* Goes on, with a listing that is done: writes if nothing is on its way and no pause runs. If all
 * holders have left in between, the listing is to begin anew, for others may hold now. */
void zkl_revocation_step(zkl_revocation *revocation, zkl_listing *listing);
/* Forgets what is on its way, and the pause. */
void zkl_revocation_stop(zkl_revocation *revocation, zkl_context *context);

#endif
