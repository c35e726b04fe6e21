/* SPDX-License-Identifier: MIT */
/* compound_lock: the data of a compound, for the rooms of this folder only. */
#ifndef ZKL_COMPOUND_LOCK_H
#define ZKL_COMPOUND_LOCK_H

#include "line/contender.h"
#include "line/lines.h"

typedef struct zkl_compound_lock zkl_compound_lock;

struct zkl_compound_lock {
    /* the host's contender; in no line. Its share of the node budget is that of the leases, until
     * they are in their line */
    zkl_contender head;
    zkl_contender_listener listener; /* hears of its parts */
    zkl_receiver receiver;           /* gets the transaction's answer */
    zkl_lines *lines;
    char **paths; /* of a multilock the parts'; of a semaphore the gate's and the leases' */
    size_t path_count;
    size_t leases; /* 0: a multilock */

    zkl_contender *gate;   /* of a semaphore that waits */
    zkl_contender **parts; /* NULL: the part is not in its line yet */
    size_t count;

    size_t busy; /* its wait has failed: the index of the path where */
    bool seen;   /* and a list, or an answer, has shown that it was there */
    bool dirty;  /* in common->dirty_compounds */
    zkl_list_item item;
    bool wanted;      /* the parts' nodes have to be created */
    unsigned entries; /* how often it has entered its lines again */
    zkl_timer again;  /* until it fires, the compound is in no line, but in common->pausing */
    zkl_list_item pause;
    bool refused;  /* the servers have refused what stands behind the creates (transaction.c) */
    bool unmarked; /* the transaction has no mark: we may not delete in the first directory */
};

static inline zkl_compound_lock *zkl_compound_lock_of(zkl_contender *head) {
    return ZKL_CONTAINER_OF(head, zkl_compound_lock, head);
}

static inline zkl_compound_lock *zkl_compound_lock_around(const zkl_contender *part) {
    return ZKL_CONTAINER_OF(part->listener, zkl_compound_lock, listener);
}

#endif
