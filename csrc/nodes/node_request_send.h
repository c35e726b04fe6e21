/* SPDX-License-Identifier: MIT */
/* node_request_send: hands a node request over to the library. */
#ifndef ZKL_NODE_REQUEST_SEND_H
#define ZKL_NODE_REQUEST_SEND_H

#include "nodes/nodes.h"

/* false: nothing can be handed over now. */
bool zkl_node_request_hand_over(zkl_node_request *request);

#endif
