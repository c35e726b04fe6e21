/* SPDX-License-Identifier: MIT */
/* followers: which contender waits for which child of a line. When a child goes, this finds its
 * waiters without looking at the others. A waiter is in one list at a time: with the child that is
 * its blocker, among those that wait for fewer leases, or among those marked for evaluation. In
 * addition it is with the child that is its second. Pure. */
#ifndef ZKL_FOLLOWERS_H
#define ZKL_FOLLOWERS_H

#include "line/contender.h"
#include "recipe/snapshot.h"

typedef struct zkl_followers {
    zkl_snapshot *snapshot; /* the line's */
    zkl_list full;          /* contenders that wait for fewer leases */
    zkl_list marked;        /* contenders that the end of the step evaluates */
} zkl_followers;

/* The contender waits for this child to go. */
void zkl_followers_wait(zkl_followers *followers, zkl_contender *c, const zkl_child *blocker);
/* The contender will wait for this child once its blocker has gone. */
void zkl_followers_wait_next(zkl_followers *followers, zkl_contender *c, const zkl_child *second);
/* The contender waits for any lease to go. */
void zkl_followers_wait_any(zkl_followers *followers, zkl_contender *c);
/* The contender waits for nothing. A second call does nothing. */
void zkl_followers_leave(zkl_followers *followers, zkl_contender *c);
/* The contender has no second. */
void zkl_followers_forget_next(zkl_followers *followers, zkl_contender *c);

/* Marks each waiter of this child, and, if the child is a lease, each contender that waits for
 * any. */
void zkl_followers_mark(zkl_followers *followers, const zkl_child *child);
/* Returns a marked contender, which is then no longer marked; NULL: there is none. */
zkl_contender *zkl_followers_take_marked(zkl_followers *followers);
/* The list of the contenders that have this child as their second. The caller empties it. */
zkl_list zkl_followers_take_next(zkl_followers *followers, const zkl_child *child);

/* No contender waits for any child: call it before the snapshot changes. */
void zkl_followers_clear(zkl_followers *followers);

#endif
