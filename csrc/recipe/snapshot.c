/* SPDX-License-Identifier: MIT */
#include "recipe/snapshot.h"

#include "recipe/znode.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>

/* Compares sequences as plain numbers. An order that continues across the counter's overflow is not
 * transitive, and anybody may create a node with any number. Then the order of the children would
 * depend on the order of the list, and two of them could be first. */
static int by_sequence(const void *a, const void *b) {
    const zkl_child *x = a, *y = b;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Both are sorted, so one walk finds every node that is in both. */
static void keep_watches(const zkl_snapshot *old, zkl_child *children, size_t count) {
    size_t i = 0, j = 0;
    while (i < old->count && j < count) {
        const int order = by_sequence(&old->children[i], &children[j]);
        if (order == 0) {
            children[j].watch = old->children[i].watch;
            children[j].request = old->children[i].request;
        }
        i += order <= 0;
        j += order >= 0;
    }
}

/* Memory for the children and, behind them, their names, in one piece. NULL: no memory. */
static zkl_child *room_for(const char *const *names, size_t count) {
    size_t bytes = 1;
    for (size_t i = 0; i < count; i++)
        bytes += strlen(names[i]) + 1;
    return malloc(count * sizeof(zkl_child) + bytes);
}

/* Fills in the children that belong to a lock, and returns how many there are. */
static size_t fill(zkl_child *children, const char *const *names, size_t count) {
    char *text = (char *)(children + count);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t sequence = 0;
        const zkl_kind kind = zkl_znode_parse(names[i], &sequence);
        if (!kind)
            continue;
        children[n++] = (zkl_child){.name = text, .sequence = sequence, .kind = kind};
        text = stpcpy(text, names[i]) + 1;
    }
    return n;
}

bool zkl_snapshot_take(zkl_snapshot *snapshot, const char *const *names, size_t count) {
    zkl_child *children = room_for(names, count);
    if (!children)
        return false;
    const size_t n = fill(children, names, count);
    qsort(children, n, sizeof *children, by_sequence);
    keep_watches(snapshot, children, n);
    zkl_verdict_prepare(children, n);
    zkl_snapshot_clear(snapshot);
    snapshot->children = snapshot->room = children;
    snapshot->count = n;
    return true;
}

void zkl_snapshot_clear(zkl_snapshot *snapshot) {
    free(snapshot->room);
    snapshot->children = snapshot->room = NULL;
    snapshot->count = 0;
}

size_t zkl_snapshot_find(const zkl_snapshot *snapshot, const char *name) {
    zkl_child key = {.name = (char *)name};
    if (!zkl_znode_parse(name, &key.sequence) || !snapshot->count)
        return ZKL_NOT_FOUND;
    const zkl_child *found =
        bsearch(&key, snapshot->children, snapshot->count, sizeof key, by_sequence);
    return found ? (size_t)(found - snapshot->children) : ZKL_NOT_FOUND;
}

size_t zkl_snapshot_from(const zkl_snapshot *snapshot, int64_t sequence) {
    size_t low = 0, high = snapshot->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (snapshot->children[middle].sequence < sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void zkl_snapshot_remove(zkl_snapshot *snapshot, size_t index) {
    zkl_child *children = snapshot->children;
    const size_t behind = snapshot->count - index - 1;
    snapshot->count--;
    if (behind < index) {
        memmove(children + index, children + index + 1, behind * sizeof *children);
    } else {
        memmove(children + 1, children, index * sizeof *children);
        snapshot->children++;
    }
}

void zkl_snapshot_remove_mine(zkl_snapshot *snapshot) {
    size_t kept = 0;
    for (size_t i = 0; i < snapshot->count; i++) {
        if (!snapshot->children[i].mine)
            snapshot->children[kept++] = snapshot->children[i];
    }
    snapshot->count = kept;
}
