/* deeds: what a host does to nodes (zkl_op), handed to libzookeeper: one by itself, or several in
 * one transaction. */
#ifndef ZKL_DEEDS_H
#define ZKL_DEEDS_H

#include "zookeeper/link_state.h"

int zkl_deeds_perform(zkl_port *port, const zkl_op *op, bool watch, zkl_return back);
int zkl_deeds_transact(zkl_port *port, const zkl_op *ops, size_t count, zkl_return back);

const struct ACL_vector *zkl_deeds_acl(zkl_acl acl);

#endif
