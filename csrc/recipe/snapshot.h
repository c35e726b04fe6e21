/* SPDX-License-Identifier: MIT */
/* snapshot: the children of one lock's directory as last listed, without those known to be gone
 * since. Sorted. */
#ifndef ZKL_SNAPSHOT_H
#define ZKL_SNAPSHOT_H

#include "recipe/verdict.h"

typedef struct zkl_snapshot {
    zkl_child *children;
    uint32_t count;
    uint32_t listed; /* the bytes of the whole list in the servers' answer */
    zkl_child *room; /* one piece of memory for the children and their names */
} zkl_snapshot;

#define ZKL_NOT_FOUND SIZE_MAX

/* Replaces the snapshot by a fresh list. Skips nodes that belong to no lock; keeps the watches on
 * nodes that are still there, with the numbers of their requests. false: no memory, and the
 * snapshot is unchanged. */
bool zkl_snapshot_take(zkl_snapshot *snapshot, const char *const *names, size_t count);

void zkl_snapshot_clear(zkl_snapshot *snapshot);
size_t zkl_snapshot_find(const zkl_snapshot *snapshot, const char *name);
/* The index of the first child with at least that sequence; `count` if there is none. */
size_t zkl_snapshot_from(const zkl_snapshot *snapshot, int64_t sequence);
/* Removing the first or the last child moves no other one: in a queue, mostly the first one
 * goes. */
void zkl_snapshot_remove(zkl_snapshot *snapshot, size_t index);
/* Removes all of our own nodes. */
void zkl_snapshot_remove_mine(zkl_snapshot *snapshot);

#endif
