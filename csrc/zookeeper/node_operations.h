/* SPDX-License-Identifier: MIT */
/* node_operations: hands a host's operations on nodes (zkl_op) to libzookeeper: a single one, or
 * several in one transaction. */
#ifndef ZKL_NODE_OPERATIONS_H
#define ZKL_NODE_OPERATIONS_H

#include "zookeeper/link_state.h"

int zkl_node_operations_perform(zkl_port *port, const zkl_op *op, bool watch, zkl_return back);
int zkl_node_operations_transact(zkl_port *port, const zkl_op *ops, size_t count, zkl_return back);

const struct ACL_vector *zkl_node_operations_acl(zkl_acl acl);

#endif
