/* snapshot: the children of one lock's directory as last listed, less those known to be gone since.
 * Sorted. */
#ifndef ZKL_SNAPSHOT_H
#define ZKL_SNAPSHOT_H

#include "recipe/verdict.h"

typedef struct zkl_snapshot {
    zkl_child *children;
    size_t count;
    zkl_child *room; /* the piece of memory that they are in, with all their names */
} zkl_snapshot;

#define ZKL_NOT_FOUND SIZE_MAX

/* Replaces the snapshot by a fresh list; what is not a lock's node is left out, watches on nodes
 * that are still there are kept. false: no memory, and the snapshot is as it was. */
bool zkl_snapshot_take(zkl_snapshot *snapshot, const char *const *names, size_t count);

void zkl_snapshot_clear(zkl_snapshot *snapshot);
size_t zkl_snapshot_find(const zkl_snapshot *snapshot, const char *name);
/* The first whose sequence is at least that; `count` if there is none. */
size_t zkl_snapshot_from(const zkl_snapshot *snapshot, int64_t sequence);
/* The first and the last go without any other being moved: in a queue most that go are the first.
 */
void zkl_snapshot_remove(zkl_snapshot *snapshot, size_t index);
/* All that are ours. */
void zkl_snapshot_remove_mine(zkl_snapshot *snapshot);

#endif
