/* followers: who waits for which child of a line, so that whoever is concerned when one goes is
 * found without looking at the others. A waiter is in one place at a time: with the child that is
 * its blocker, among those who wait for fewer leases, or among those who are to be looked at again;
 * and, beside that, with the child that is its second. Pure. */
#ifndef ZKL_FOLLOWERS_H
#define ZKL_FOLLOWERS_H

#include "line/contender.h"
#include "recipe/snapshot.h"

typedef struct zkl_followers {
    zkl_snapshot *snapshot; /* the line's */
    zkl_list full;          /* wait for fewer leases */
    zkl_list marked;        /* are looked at again at the end of the step */
} zkl_followers;

/* It waits for this child to go. */
void zkl_followers_wait(zkl_followers *followers, zkl_contender *c, const zkl_child *blocker);
/* It will wait for this one when its blocker has gone. */
void zkl_followers_wait_next(zkl_followers *followers, zkl_contender *c, const zkl_child *second);
/* It waits for any of the leases to go. */
void zkl_followers_wait_any(zkl_followers *followers, zkl_contender *c);
/* It waits for nobody. Twice is fine. */
void zkl_followers_leave(zkl_followers *followers, zkl_contender *c);
/* It has no second. */
void zkl_followers_forget_next(zkl_followers *followers, zkl_contender *c);

/* Looks again at each waiter of this child, or of any lease if it is one. */
void zkl_followers_mark(zkl_followers *followers, const zkl_child *child);
/* One of those, who is marked no more; NULL: there is none. */
zkl_contender *zkl_followers_next_marked(zkl_followers *followers);
/* The list of those who have this child for their second, which the caller clears. */
zkl_list zkl_followers_take_next(zkl_followers *followers, const zkl_child *child);

/* Nobody waits for anybody: before the snapshot is another one. */
void zkl_followers_clear(zkl_followers *followers);

#endif
