/* SPDX-License-Identifier: MIT */
/* The port of a client that has no connection. */
#include "port/port.h"

#include <zookeeper/zookeeper.h>

static int at_path(zkl_port *port, const char *path, zkl_return back) {
    (void)port, (void)path, (void)back;
    return ZINVALIDSTATE;
}

static int with_flag(zkl_port *port, const char *path, bool flag, zkl_return back) {
    (void)port, (void)path, (void)flag, (void)back;
    return ZINVALIDSTATE;
}

static int perform(zkl_port *port, const zkl_op *op, bool watch, zkl_return back) {
    (void)port, (void)op, (void)watch, (void)back;
    return ZINVALIDSTATE;
}

static int transact(zkl_port *port, const zkl_op *ops, size_t count, zkl_return back) {
    (void)port, (void)ops, (void)count, (void)back;
    return ZINVALIDSTATE;
}

static const zkl_port_table table = {
    .perform = perform,
    .transact = transact,
    .sync = at_path,
    .unwatch = with_flag,
};

zkl_port zkl_port_refusing = {&table};
