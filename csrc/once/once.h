/* SPDX-License-Identifier: MIT */
/* once: the mark of a mutex says when anybody last did what the mutex protects. A zkl_once asks
 * whether that was less than some seconds ago, or writes the mark, or both. It sends node requests
 * that its contender guards. Under the client's mutex. */
#ifndef ZKL_ONCE_H
#define ZKL_ONCE_H

#include "ask/ask.h"
#include "line/contender.h"
#include "nodes/nodes.h"

typedef struct zkl_onces {
    zkl_nodes *nodes;
    zkl_asks asks;
    size_t ready; /* how many of them have the answers to all that they have sent */
} zkl_onces;

typedef enum zkl_once_task {
    ZKL_ONCE_ASK,
    ZKL_ONCE_ASK_AND_MARK, /* writes the mark if it is due */
    ZKL_ONCE_MARK
} zkl_once_task;

/* The request. */
typedef struct zkl_once_terms {
    zkl_once_task task;
    zkl_contender *held; /* of a mutex */
    double seconds;      /* of the two that ask; above 0, or infinite */
    uint64_t tag;
    zkl_nanos deadline;
} zkl_once_terms;

void zkl_onces_init(zkl_onces *all, zkl_nodes *nodes);
/* NULL: no memory. */
zkl_once *zkl_once_new(zkl_onces *all, const zkl_once_terms *terms);
/* It starts without a deadline, because its node requests have one. If it ends before they do, its
 * answer is ZKL_UNKNOWN if a mark may have been written. */
zkl_ask *zkl_ask_of_once(zkl_once *once);

/* Goes on with those that have all answers. true: one has sent node requests. */
bool zkl_onces_step(zkl_onces *all);

/* Seconds that are left, once it is answered; 0: it is due. */
double zkl_once_seconds_left(const zkl_once *once);

#endif
