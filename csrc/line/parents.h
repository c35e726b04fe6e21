/* parents: makes the directories above a lock's nodes. Container nodes, so that the servers clear
 * them away when they have been empty for a while; what belongs to the chroot is made to stay.
 * Unless their ACL is OPEN, so is the topmost level that we make where others may make one, too:
 * once it was cleared away, a stranger could, with an ACL of his own. For that the levels' ACLs are
 * read first. */
#ifndef ZKL_PARENTS_H
#define ZKL_PARENTS_H

#include "base/status.h"
#include "port/context.h"

typedef struct zkl_parents {
    zkl_receiver receiver; /* gets the answers */
    zkl_context *context;
    const char *path; /* the innermost one; the owner's */
    zkl_acl acl;      /* theirs; the client's, unless the owner says otherwise */
    unsigned round;   /* how often they were asked for */
    int refused; /* why a level could not be made; ZOK: nothing known against it; the owner's */
    unsigned unanswered; /* levels whose ACLs are not known: the answer was lost, or is to come */
    size_t there;        /* bytes of the path that are there */
    /* of the latest round: why servers that are there have not carried out all of it; or ZOK */
    int unheard;
    bool looked;  /* the round was to read the ACLs */
    bool exposed; /* anybody may create in what is there, as far as we may know */
} zkl_parents;

void zkl_parents_init(zkl_parents *parents, zkl_context *context, const char *path);
void zkl_parents_done(zkl_parents *parents);

/* Asks for all levels, outermost first, in one batch with what the caller sends next. Those that
 * exist say so and are left alone. Unless their ACL is OPEN every other round only looks: what the
 * caller sends next finds no parents yet. Returns the port's error when nothing could be sent. */
int zkl_parents_make(zkl_parents *parents);

#endif
