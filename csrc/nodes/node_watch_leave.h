/* SPDX-License-Identifier: MIT */
/* node_watch_leave: ends a node watch that the host has quit. It removes the library's watches,
 * unless other code relies on them. */
#ifndef ZKL_NODE_WATCH_LEAVE_H
#define ZKL_NODE_WATCH_LEAVE_H

#include "nodes/nodes.h"
#include "port/receiver.h"

/* True if the library has a watch of that kind for it, or will have once its read is answered. */
bool zkl_node_watch_relies_on(const zkl_node_watch *node_watch, bool list);

/* Removes its watches, one after the other, and frees it when that is answered. */
void zkl_node_watch_leave(zkl_node_watch *node_watch);
/* The answer to such a removal. */
void zkl_node_watch_unwatched(zkl_node_watch *node_watch, bool list, const zkl_reply *reply);

#endif
