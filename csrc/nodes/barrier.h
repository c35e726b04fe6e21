/* SPDX-License-Identifier: MIT */
/* barrier: a sync and a write that changes nothing, on each handle of the library, before the first
 * read for the host. A read behind them shows all earlier writes; a sync alone does not, because a
 * deposed leader answers one, too. A new handle does not know how far the servers were, so a
 * lagging server could show an older state than the host has seen. Under the client's mutex. */
#ifndef ZKL_BARRIER_H
#define ZKL_BARRIER_H

#include "port/context.h"

typedef struct zkl_barrier {
    zkl_receiver receiver;
    zkl_context *context;
    bool asked, passed; /* on this handle */
    int rc;             /* the answer to the latest write; ZOK: none so far */
} zkl_barrier;

void zkl_barrier_init(zkl_barrier *barrier, zkl_context *context);
/* Sends the two, unless they were sent: the caller's next request is behind them. ZOK, or the
 * port's error. */
int zkl_barrier_raise(zkl_barrier *barrier);
/* True if a read behind it counts. Answers come in the order of the requests. */
bool zkl_barrier_passed(const zkl_barrier *barrier);
/* Why it has not passed: the servers' answer; ZOK: none came. */
int zkl_barrier_refused(const zkl_barrier *barrier);
/* Another handle takes over, or will. Or the result of a write is unknown, and the next read must
 * show it. */
void zkl_barrier_forget(zkl_barrier *barrier);

/* Sends a sync and that write for a caller. `back.what` marks the write, whose answer is ZNONODE;
 * `prelude` marks the sync. */
int zkl_barrier_send(zkl_context *context, zkl_return back, int prelude);

#endif
