/* SPDX-License-Identifier: MIT */
/* barrier: a write that changes nothing, before a read: it deletes a node that does not exist. The
 * servers answer (with ZNONODE) only after a quorum has committed the attempt, so the read shows
 * all earlier writes. A sync alone does not promise that, because a deposed leader answers one,
 * too. Under the client's mutex. */
#ifndef ZKL_BARRIER_H
#define ZKL_BARRIER_H

#include "port/context.h"

/* Sends that write: ZOK, or the port's error. */
int zkl_barrier_write(const zkl_context *context, zkl_port *port, zkl_return back);
/* Sends a sync before it. `prelude` marks the sync as `back.what` marks the write. */
int zkl_barrier_send(const zkl_context *context, zkl_return back, int prelude);

/* The two on each handle of the library, before the first read for the host. A new handle does not
 * know how far the servers were, so a lagging server could show an older state than the host has
 * seen. */
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

#endif
