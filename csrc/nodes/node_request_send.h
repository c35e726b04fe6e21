/* node_request_send: a node request on its way to the servers. */
#ifndef ZKL_NODE_REQUEST_SEND_H
#define ZKL_NODE_REQUEST_SEND_H

#include "nodes/nodes.h"

/* false: nothing can be handed over now. */
bool zkl_node_request_hand_over(zkl_node_request *request);

#endif
