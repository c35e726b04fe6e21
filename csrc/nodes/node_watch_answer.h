/* SPDX-License-Identifier: MIT */
/* node_watch_answer: the answers of the servers to a node watch, and the events that the host
 * gets. */
#ifndef ZKL_NODE_WATCH_ANSWER_H
#define ZKL_NODE_WATCH_ANSWER_H

#include "port/receiver.h"

/* The `answer` of a node watch's receiver. */
void zkl_node_watch_answered(zkl_receiver *receiver, const zkl_return *asked,
                             const zkl_reply *reply);

#endif
