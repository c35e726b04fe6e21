/* SPDX-License-Identifier: MIT */
#include "port/barrier.h"

#include "port/receiver.h"

#include <zookeeper/zookeeper.h>

enum { SYNC, WRITE };

int zkl_barrier_write(const zkl_context *context, zkl_port *port, zkl_return back) {
    const zkl_op erase = {.kind = ZKL_OP_DELETE, .path = context->nothing, .version = -1};
    return port->call->perform(port, &erase, false, back);
}

int zkl_barrier_send(const zkl_context *context, zkl_return back, int prelude) {
    zkl_port *port = context->port;
    const int rc = port->call->sync(port, "/", (zkl_return){back.receiver, prelude, back.detail});
    return rc == ZOK ? zkl_barrier_write(context, port, back) : rc;
}

/* A write that was cut off or refused goes out again before the next read. */
static void answered(zkl_receiver *receiver, const zkl_return *asked, const zkl_reply *reply) {
    zkl_barrier *barrier = ZKL_CONTAINER_OF(receiver, zkl_barrier, receiver);
    if (asked->what != WRITE)
        return;
    barrier->rc = reply->rc;
    barrier->passed = reply->rc == ZNONODE;
    barrier->asked = barrier->passed;
}

void zkl_barrier_init(zkl_barrier *barrier, zkl_context *context) {
    *barrier = (zkl_barrier){.context = context, .receiver.answer = answered};
}

int zkl_barrier_raise(zkl_barrier *barrier) {
    zkl_context *context = barrier->context;
    if (barrier->asked)
        return ZOK;
    zkl_receiver_enter(&context->receivers, &barrier->receiver);
    const int rc = zkl_barrier_send(context, (zkl_return){barrier->receiver.id, WRITE, 0}, SYNC);
    barrier->asked = rc == ZOK;
    return rc;
}

bool zkl_barrier_passed(const zkl_barrier *barrier) {
    return barrier->passed;
}

int zkl_barrier_refused(const zkl_barrier *barrier) {
    return barrier->passed ? ZOK : barrier->rc;
}

void zkl_barrier_forget(zkl_barrier *barrier) {
    zkl_receiver_leave(&barrier->context->receivers, &barrier->receiver);
    barrier->asked = barrier->passed = false;
    barrier->rc = ZOK;
}
