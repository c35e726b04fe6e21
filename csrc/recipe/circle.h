/* SPDX-License-Identifier: MIT */
/* circle: which owners wait for each other across lines, so that none of them can ever go on. Pure
 * functions over the nodes of all lines. */
#ifndef ZKL_CIRCLE_H
#define ZKL_CIRCLE_H

#include "zklock.h"

#define ZKL_NO_POOL SIZE_MAX

/* A node that holds or waits. In a line of mutexes or of a read-write lock each waits for those in
 * front that its kind does not share with. */
typedef struct zkl_standing {
    size_t line;   /* nodes of one line have the same; those of other kinds have another one */
    int64_t place; /* nodes with smaller ones are in front; one behind which nobody waits may be the
                    * same as another's */
    zkl_kind kind;
    bool waits;
    bool ends; /* without the owner's doing: a wait with a deadline, a hold that nobody keeps */
    uint32_t owner; /* 0: unknown */
    uint64_t session;
    int64_t group; /* waits of one owner with the same one are one wait: that of a multilock */
    /* of one that also waits for leases: their line, and how many of them are so many that those
     * which are left do not suffice */
    size_t pool, enough;
} zkl_standing;

/* `waits` waits for an owner with a node `front`. That owner is the one of the next link, and the
 * owner of the first link follows the last. */
typedef struct zkl_link {
    size_t waits, front;
} zkl_link;

typedef struct zkl_circle {
    bool certain; /* false: nobody knows whether nodes of a session are of one owner */
    zkl_link *links;
    size_t count;
} zkl_circle;

typedef struct zkl_circles {
    zkl_circle *all;
    size_t count;
} zkl_circles;

/* Finds circles such that each wait that is in any is in one of them; the certain ones come first.
 * `all` is sorted by line and place, and is not empty. false: no memory, and there are none. */
bool zkl_circles_find(const zkl_standing *all, size_t count, zkl_circles *found);
void zkl_circles_free(zkl_circles *found);

/* Is the wait with that index in a circle that is certain? false also if there is no memory. */
bool zkl_circle_closes(const zkl_standing *all, size_t count, size_t index);

#endif
