/* SPDX-License-Identifier: MIT */
/* revocation: asks the holders at a path to release, by writes to the nodes that a listing has
 * found. */
#ifndef ZKL_REVOCATION_H
#define ZKL_REVOCATION_H

#include "query/listing.h"

typedef struct zkl_revocation {
    zkl_receiver receiver;
    zkl_listing *listing; /* has found the holders */
    bool sent, done;
    zkl_status status; /* valid when done */
    size_t next;       /* index in the listing of the next entry to check */
    size_t open;       /* how many answers are on their way */
    bool gone;         /* one of the holders has gone since it was listed */
    size_t asked;      /* how many holders have got the request */
    bool vain;         /* all listed holders had gone, once already */
    zkl_retry retry;   /* no request is sent while it runs */
} zkl_revocation;

/* Continues, with a listing that is done: sends writes if no request is on its way and no pause
 * runs. If all holders have left meanwhile, the listing begins again, because others may hold
 * now. */
void zkl_revocation_step(zkl_revocation *revocation, zkl_listing *listing);
/* Drops the requests that are on their way, and the pause. */
void zkl_revocation_stop(zkl_revocation *revocation, zkl_context *context);

#endif
