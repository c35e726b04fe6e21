/* SPDX-License-Identifier: MIT */
/* parents: creates the directories above a lock's nodes. They are containers, which the servers
 * delete after they have been empty for a while; those that belong to the chroot are permanent.
 * Unless their ACL is OPEN, so is the topmost directory that the client creates below a level where
 * others may create: once the servers had deleted it, a stranger could create it with another ACL.
 * For that the client first reads the ACLs of the levels. */
#ifndef ZKL_PARENTS_H
#define ZKL_PARENTS_H

#include "base/status.h"
#include "port/context.h"

/* How often the directories may vanish as soon as they are created, before the caller hears that
 * somebody deletes them on purpose. */
#define ZKL_PARENTS_ROUNDS_MOST 50

typedef struct zkl_parents {
    zkl_receiver receiver; /* gets the answers */
    zkl_context *context;
    const char *path; /* the innermost directory; belongs to the owner */
    zkl_acl acl;      /* of the directories: the client's, unless the owner sets another one */
    unsigned round;   /* how often they were requested */
    int refused; /* why a level could not be created; ZOK: no reason known; the owner resets it */
    unsigned unanswered; /* how many levels' ACLs are not known: no answer yet, or it was lost */
    size_t there;        /* how many bytes of the path are known to exist */
    /* of the latest round: why servers in reach have not carried out all of it; or ZOK */
    int unheard;
    bool looked;  /* the round was to read the ACLs */
    bool exposed; /* anybody may create in the existing part, as far as the client can know */
} zkl_parents;

void zkl_parents_init(zkl_parents *parents, zkl_context *context, const char *path);
void zkl_parents_done(zkl_parents *parents);

/* Asks for all levels, outermost first, in one batch with the caller's next request. Levels that
 * exist answer so, and stay as they are. Unless their ACL is OPEN, every other round only reads:
 * the caller's next request will not find the parents yet. Returns the port's error if nothing
 * could be sent. */
int zkl_parents_make(zkl_parents *parents);

#endif
