/* barrier: on each handle of the library, before anything is read for the host: a sync and a write
 * that changes nothing. What is read behind them shows all that anybody had written before; the
 * sync alone would be answered by a leader that was deposed, too. A new handle begins without any
 * memory of how far the servers were, and a lagging one could show it an older state than the host
 * has seen. Under the client's mutex. */
#ifndef ZKL_BARRIER_H
#define ZKL_BARRIER_H

#include "port/context.h"

typedef struct zkl_barrier {
    zkl_receiver receiver;
    zkl_context *context;
    bool asked, passed; /* on this handle */
    int rc;             /* the answer to the latest write; ZOK: none came yet */
} zkl_barrier;

void zkl_barrier_init(zkl_barrier *barrier, zkl_context *context);
/* Sends the two, unless they were sent: what is sent next is behind them. ZOK, or the port's
 * error. */
int zkl_barrier_raise(zkl_barrier *barrier);
/* A read behind it counts. Answers come in the order of the requests. */
bool zkl_barrier_passed(const zkl_barrier *barrier);
/* Why it is not passed: the servers' answer; ZOK: none came. */
int zkl_barrier_refused(const zkl_barrier *barrier);
/* Another handle takes over, or will; or what was done is not known, and the next read is to show
 * it. */
void zkl_barrier_forget(zkl_barrier *barrier);

/* Sends a sync and that write for somebody else; `back.what` is that of the write, whose answer is
 * ZNONODE, and the sync's is `prelude`. */
int zkl_barrier_send(zkl_context *context, zkl_return back, int prelude);

#endif
