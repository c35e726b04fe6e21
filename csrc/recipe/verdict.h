/* verdict: who may hold, and who waits for whom. Pure functions over a sorted list of children. */
#ifndef ZKL_VERDICT_H
#define ZKL_VERDICT_H

#include "base/list.h"
#include "recipe/znode.h"

typedef enum zkl_watch {
    ZKL_WATCH_NONE,
    ZKL_WATCH_ASKED,  /* a get with a watch is on its way */
    ZKL_WATCH_ARMED,  /* it was answered: the servers will tell */
    ZKL_WATCH_LEAVING /* it is being taken back: until that is answered the library has it */
} zkl_watch;

/* One child of a lock's directory. A verdict looks at its name, sequence, kind and `writer`; the
 * rest is the line's. */
typedef struct zkl_child {
    char *name;
    int32_t sequence;
    int32_t writer;  /* zkl_verdict_prepare: the sequence of the nearest writer before it ... */
    bool has_writer; /* ... if there is one */
    zkl_kind kind : 8;
    zkl_watch watch : 8;
    int32_t request; /* the line's number for the latest request about its watch */
    struct zkl_contender *mine;
    zkl_list followers, next_followers; /* contenders (line/followers.h) */
} zkl_child;

typedef enum zkl_outcome {
    ZKL_VERDICT_GRANTED,
    ZKL_VERDICT_WAIT, /* for the child at `blocker` */
    ZKL_VERDICT_FULL, /* waits for any of them to go */
    ZKL_VERDICT_TIED  /* nobody can say who came first: the counter of the directory is used up */
} zkl_outcome;

#define ZKL_NOBODY SIZE_MAX

typedef struct zkl_verdict {
    zkl_outcome outcome;
    size_t blocker;
    /* of WAIT: the nearest before the blocker that blocks as well; ZKL_NOBODY: none is left */
    size_t second;
} zkl_verdict;

/* The rule of each kind: does one of `kind` wait for `ahead`, which came before it? A mutex waits
 * for every other one, a writer for readers and writers, a reader for writers only. */
bool zkl_verdict_blocks(const zkl_child *ahead, zkl_kind kind);

/* The children, sorted by sequence, are new. Some of them may be removed later, and none comes. */
void zkl_verdict_prepare(zkl_child *children, size_t count);

/* `children` sorted by sequence and prepared; `own` is the index of the one who asks. It waits for
 * the nearest that blocks it. Leases have no order: they hold when there are `permits` of them at
 * most. */
zkl_verdict zkl_verdict_of(const zkl_child *children, size_t count, size_t own, size_t permits);

/* Does a lock use this directory that one of `kind` cannot share it with? */
bool zkl_verdict_mixed(const zkl_child *children, size_t count, zkl_kind kind);

#endif
