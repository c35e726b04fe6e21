/* SPDX-License-Identifier: MIT */
/* once: the mark of a mutex says when anybody last did what the mutex protects. A zkl_once asks
 * whether that was less than some seconds ago, or writes the mark, or both. It sends node requests
 * that its contender guards. Under the client's mutex. */
#ifndef ZKL_ONCE_H
#define ZKL_ONCE_H

#include "line/contender.h"
#include "nodes/nodes.h"

typedef struct zkl_onces {
    zkl_nodes *nodes;
    zkl_list pending; /* those not answered yet */
    size_t ready;     /* how many of them have the answers to all that they have sent */
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

/* NULL: no memory. */
zkl_once *zkl_once_new(zkl_onces *all, const zkl_once_terms *terms);
void zkl_once_start(zkl_once *once);
void zkl_once_free(zkl_once *once);

/* Goes on with those that have all answers. true: one has sent node requests. */
bool zkl_onces_step(zkl_onces *all);
/* Answers all, after the node requests were dismissed: with `status`, or with ZKL_UNKNOWN if a mark
 * may have been written. */
void zkl_onces_dismiss(zkl_onces *all, zkl_status status);
/* The contender is about to go. */
void zkl_onces_forget(zkl_onces *all, const zkl_contender *held);

/* Seconds that are left, once it is answered; 0: it is due. */
double zkl_once_seconds_left(const zkl_once *once);

/* For the host's side (client/onces.c). */
void zkl_once_set_client(zkl_once *once, zkl_client *client);
zkl_client *zkl_once_client(const zkl_once *once);

#endif
