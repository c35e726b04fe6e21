/* SPDX-License-Identifier: MIT */
/* verdict: which child holds, and which waits for which. Pure functions over a sorted list of
 * children. Locks have one rule, zkl_verdict_blocked; leases are counted. Each reader has a
 * question of its own: line/evaluate asks for the blocker of a contender, line/front how many are
 * in front of one and who holds, query/listing who holds among nodes of anybody, and
 * shared/remote_waiters who is behind. */
#ifndef ZKL_VERDICT_H
#define ZKL_VERDICT_H

#include "base/list.h"
#include "recipe/znode.h"

typedef enum zkl_watch {
    ZKL_WATCH_NONE,
    ZKL_WATCH_ASKED, /* a get with a watch is on its way */
    ZKL_WATCH_ARMED, /* the get was answered: the servers will report */
    /* a request to remove it is on its way; until its answer the library has it */
    ZKL_WATCH_LEAVING
} zkl_watch;

/* One child of a lock's directory. A verdict reads its name, sequence, kind and `writer`; the rest
 * belongs to the line. */
typedef struct zkl_child {
    char *name;
    int32_t sequence;
    int32_t writer;  /* zkl_verdict_prepare: the sequence of the nearest writer before it ... */
    bool has_writer; /* ... if there is one */
    zkl_kind kind : 8;
    zkl_watch watch : 8;
    int32_t request; /* the line's number of the latest request about its watch */
    struct zkl_contender *mine;
    zkl_list followers, next_followers; /* contenders (line/followers.h) */
} zkl_child;

typedef enum zkl_outcome {
    ZKL_VERDICT_GRANTED,
    ZKL_VERDICT_WAIT, /* for the child at `blocker` */
    ZKL_VERDICT_FULL, /* waits for any lease to go */
    ZKL_VERDICT_TIED  /* nobody can say which came first: the directory's counter is used up */
} zkl_outcome;

#define ZKL_NOBODY SIZE_MAX

typedef struct zkl_verdict {
    zkl_outcome outcome;
    size_t blocker;
    /* of WAIT: the nearest child before the blocker that also blocks; ZKL_NOBODY: none */
    size_t second;
} zkl_verdict;

/* A set of kinds: of each one in it, the bit. */
typedef uint8_t zkl_kinds;
#define ZKL_KINDS_OF(kind) ((zkl_kinds)(1U << (kind)))

/* The rule of each kind: true if one of `kind` waits for a child of one of the kinds, which came
 * before it. A mutex waits for every other mutex, a writer for readers and writers, a reader for
 * writers only. */
bool zkl_verdict_blocked(zkl_kinds ahead, zkl_kind kind);
/* The same for one child. */
bool zkl_verdict_blocks(const zkl_child *ahead, zkl_kind kind);

/* How many children, sorted and prepared, keep the one at `own` waiting. Of leases: how many have
 * to go. */
typedef struct zkl_ahead {
    size_t count;
    size_t nearest; /* ZKL_NOBODY: none, or leases, which have no order */
    size_t of;      /* how many there are, itself among them, without stray ones */
} zkl_ahead;
zkl_ahead zkl_verdict_ahead(const zkl_child *children, size_t count, size_t own, size_t permits);

/* The child with which somebody holds, if anybody keeps one of `kind` waiting: the first lease, or
 * for the other kinds the first one that is no lease. ZKL_NOBODY: there is none. */
size_t zkl_verdict_holder(const zkl_child *children, size_t count, zkl_kind kind);

/* A walk over sorted children, one after the other; it begins with zeros. True if this one holds:
 * no child with a smaller sequence blocks it. */
typedef struct zkl_walk {
    zkl_kinds seen, before; /* of all so far; of those with a smaller sequence than the latest */
    int32_t sequence;       /* of the latest */
} zkl_walk;
bool zkl_verdict_walk(zkl_walk *walk, const zkl_child *child);

/* How many of the sorted children have a smaller sequence. */
size_t zkl_verdict_before(const zkl_child *children, size_t count, int64_t sequence);

/* Prepares a new list of children, sorted by sequence. Children may be removed later, but none
 * added. */
void zkl_verdict_prepare(zkl_child *children, size_t count);

/* `children` is sorted and prepared; `own` is the index of the child that the verdict is about. It
 * waits for the nearest child that blocks it. Leases have no order: they hold while there are at
 * most `permits`. */
zkl_verdict zkl_verdict_of(const zkl_child *children, size_t count, size_t own, size_t permits);

/* True if another lock uses this directory that a lock of `kind` cannot share it with. */
bool zkl_verdict_mixed(const zkl_child *children, size_t count, zkl_kind kind);

#endif
