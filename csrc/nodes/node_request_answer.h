/* SPDX-License-Identifier: MIT */
/* node_request_answer: the answers of the servers to a node request, and what follows from them. */
#ifndef ZKL_NODE_REQUEST_ANSWER_H
#define ZKL_NODE_REQUEST_ANSWER_H

#include "port/receiver.h"
#include "zklock.h"

zkl_status zkl_node_request_status(int rc);
/* The `answer` of a node request's receiver. */
void zkl_node_request_answered(zkl_receiver *receiver, const zkl_return *asked,
                               const zkl_reply *reply);

#endif
