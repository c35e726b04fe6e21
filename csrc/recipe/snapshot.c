/* SPDX-License-Identifier: MIT */
#include "recipe/snapshot.h"

#include "recipe/znode.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>

/* Compares sequences as plain numbers. An order that continues across the counter's overflow is not
 * transitive, and anybody may create a node with any number. Then the order of the children would
 * depend on the order of the list, and two of them could be first. */
static int compare(int32_t sequence, const char *name, int32_t other, const char *others_name) {
    if (sequence != other)
        return sequence < other ? -1 : 1;
    return strcmp(name, others_name);
}

static int by_sequence(const void *a, const void *b) {
    const zkl_child *x = a, *y = b;
    return compare(x->sequence, x->name, y->sequence, y->name);
}

/* Both are sorted, so one walk finds each node with a watch that is in both. */
static void keep_watches(const zkl_snapshot *old, zkl_child *children, size_t count) {
    size_t at = 0;
    for (size_t i = 0; i < old->count; i++) {
        const zkl_child *child = &old->children[i];
        if (child->watch == ZKL_WATCH_NONE)
            continue;
        while (at < count && by_sequence(&children[at], child) < 0)
            at++;
        if (at < count && by_sequence(&children[at], child) == 0) {
            children[at].watch = child->watch;
            children[at++].request = child->request;
        }
    }
}

/* A listed name, read once. */
typedef struct entry {
    const char *name;
    size_t length;
    int32_t sequence;
    zkl_kind kind;
} entry;

static int in_order(const void *a, const void *b) {
    const entry *x = a, *y = b;
    return compare(x->sequence, x->name, y->sequence, y->name);
}

/* In the servers' answer, in front of each name. */
#define LENGTH_SIZE 4

/* Reads the names that belong to a lock, and returns how many there are. */
static size_t read_names(entry *entries, const char *const *names, size_t count, size_t *listed) {
    size_t n = 0;
    *listed = count * LENGTH_SIZE;
    for (size_t i = 0; i < count; i++) {
        entry *e = &entries[n];
        e->name = names[i];
        e->length = strlen(names[i]);
        *listed += e->length;
        e->kind = zkl_znode_kind(e->name, e->length, &e->sequence);
        n += e->kind != ZKL_KIND_NONE;
    }
    return n;
}

/* One byte of the sequence as a number from 0, in the order of the sequences. */
static size_t byte_of(const entry *e, unsigned shift) {
    return (((uint32_t)e->sequence ^ UINT32_C(0x80000000)) >> shift) & 0xff;
}

/* The bits in which two of the sequences differ. */
static uint32_t differing(const entry *entries, size_t count) {
    uint32_t bits = 0;
    for (size_t i = 1; i < count; i++)
        bits |= (uint32_t)(entries[i].sequence ^ entries[0].sequence);
    return bits;
}

/* Moves the entries in the order of that byte. Those with the same one keep their order. */
static void distribute(const entry *from, entry *to, size_t count, unsigned shift) {
    size_t next[256] = {0}, sum = 0;
    for (size_t i = 0; i < count; i++)
        next[byte_of(&from[i], shift)]++;
    for (size_t i = 0; i < 256; i++) {
        const size_t here = next[i];
        next[i] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++)
        to[next[byte_of(&from[i], shift)]++] = from[i];
}

/* From so many on they are sorted byte by byte. Room for fewer is on the stack. */
enum { MANY = 64 };

/* The sorted entries, in one of the two places. */
static const entry *sort(entry *entries, entry *spare, size_t count) {
    if (count < 2)
        return entries;
    if (count < MANY) {
        qsort(entries, count, sizeof *entries, in_order);
        return entries;
    }
    const uint32_t differ = differing(entries, count);
    for (unsigned shift = 0; shift < 32; shift += 8) {
        if (!(differ >> shift & 0xff))
            continue;
        distribute(entries, spare, count, shift);
        entry *sorted = spare;
        spare = entries;
        entries = sorted;
    }
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && entries[end].sequence == entries[i].sequence;)
            end++;
        if (end - i > 1)
            qsort(entries + i, end - i, sizeof *entries, in_order);
    }
    return entries;
}

/* The children and, behind them, their names, in one piece of memory. NULL: no memory. */
static zkl_child *children_of(const entry *entries, size_t count) {
    size_t bytes = 1;
    for (size_t i = 0; i < count; i++)
        bytes += entries[i].length + 1;
    zkl_child *children = malloc(count * sizeof *children + bytes);
    if (!children)
        return NULL;
    char *text = (char *)(children + count);
    for (size_t i = 0; i < count; i++) {
        const entry *e = &entries[i];
        children[i] = (zkl_child){.name = text, .sequence = e->sequence, .kind = e->kind};
        text = mempcpy(text, e->name, e->length + 1);
    }
    return children;
}

bool zkl_snapshot_take(zkl_snapshot *snapshot, const char *const *names, size_t count) {
    entry few[MANY];
    entry *entries = count < MANY ? few : malloc(2 * count * sizeof *entries);
    if (!entries)
        return false;
    size_t listed;
    const size_t n = read_names(entries, names, count, &listed);
    zkl_child *children = children_of(sort(entries, entries + count, n), n);
    if (entries != few)
        free(entries);
    if (!children)
        return false;
    keep_watches(snapshot, children, n);
    zkl_verdict_prepare(children, n);
    zkl_snapshot_clear(snapshot);
    snapshot->children = snapshot->room = children;
    snapshot->count = (uint32_t)n;
    snapshot->listed = (uint32_t)listed;
    return true;
}

void zkl_snapshot_clear(zkl_snapshot *snapshot) {
    free(snapshot->room);
    snapshot->children = snapshot->room = NULL;
    snapshot->count = 0;
}

/* Among so few a name is found sooner than its sequence is read. */
enum { FEW = 4 };

static size_t find_by_name(const zkl_snapshot *snapshot, const char *name) {
    for (size_t i = 0; i < snapshot->count; i++)
        if (strcmp(snapshot->children[i].name, name) == 0)
            return i;
    return ZKL_NOT_FOUND;
}

size_t zkl_snapshot_find(const zkl_snapshot *snapshot, const char *name) {
    zkl_child key = {.name = (char *)name};
    if (snapshot->count <= FEW)
        return find_by_name(snapshot, name);
    if (!zkl_znode_parse(name, &key.sequence))
        return ZKL_NOT_FOUND;
    const zkl_child *found =
        bsearch(&key, snapshot->children, snapshot->count, sizeof key, by_sequence);
    return found ? (size_t)(found - snapshot->children) : ZKL_NOT_FOUND;
}

size_t zkl_snapshot_from(const zkl_snapshot *snapshot, int64_t sequence) {
    return zkl_verdict_before(snapshot->children, snapshot->count, sequence);
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
    uint32_t kept = 0;
    for (size_t i = 0; i < snapshot->count; i++) {
        if (!snapshot->children[i].mine)
            snapshot->children[kept++] = snapshot->children[i];
    }
    snapshot->count = kept;
}
