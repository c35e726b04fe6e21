/* node_request_answer: what the servers say to a node request, and what that means for it. */
#ifndef ZKL_NODE_REQUEST_ANSWER_H
#define ZKL_NODE_REQUEST_ANSWER_H

#include "port/receiver.h"
#include "zklock.h"

zkl_status zkl_node_request_status(int rc);
/* Of a node request's receiver. */
void zkl_node_request_answered(zkl_receiver *receiver, const zkl_return *asked,
                               const zkl_reply *reply);

#endif
