/* parents: makes the directories above a lock's nodes. Container nodes, so that the servers clear them away when they
 * have been empty for a while; what belongs to the chroot is made to stay. */
#ifndef ZKL_PARENTS_H
#define ZKL_PARENTS_H

#include "floor.h"
#include "status.h"

typedef struct zkl_parents {
    zkl_subject subject; /* gets the answers */
    zkl_floor *floor;
    const char *path; /* the innermost one; the owner's */
    unsigned round;   /* how often they were asked for */
    int refused; /* why a level of this round could not be made; ZOK: nothing known against it */
} zkl_parents;

void zkl_parents_init(zkl_parents *parents, zkl_floor *floor, const char *path);
void zkl_parents_done(zkl_parents *parents);

/* Asks for all levels, outermost first, in one batch with what the caller sends next. Those that exist say so and are
 * left alone. Returns the port's error when nothing could be sent. */
int zkl_parents_make(zkl_parents *parents);

#endif
