/* SPDX-License-Identifier: MIT */
/* node_request: one request of the host about nodes: a read, a write, several writes in one
 * transaction, or a sync. It waits for a link, goes to the library, and one event answers it before
 * its deadline. A write goes out only once: if its answer is lost, the event says that its result
 * is unknown. Under the client's mutex. */
#ifndef ZKL_NODE_REQUEST_H
#define ZKL_NODE_REQUEST_H

#include "ask/ask.h"
#include "line/contender.h"
#include "nodes/nodes.h"

/* The request's parameters. */
typedef struct zkl_wish {
    const zkl_op *ops; /* paths are full; copied */
    size_t count;      /* 0: a sync */
    bool several;      /* a transaction, perhaps of one operation */
    bool once;
    bool malformed; /* the answer is ZKL_BAD_ARGUMENT */
    /* only of a transaction: the servers perform it only if this contender still holds */
    zkl_contender *guard;
} zkl_wish;

void zkl_node_requests_init(zkl_nodes *nodes, zkl_context *context, const _Atomic zkl_state *state);
/* NULL: no memory. */
zkl_node_request *zkl_node_request_new(zkl_nodes *nodes, const zkl_wish *wish, uint64_t tag);
/* If it is freed, a write without an answer counts as one with an unknown result: the next read
 * will show that. */
zkl_ask *zkl_ask_of_request(zkl_node_request *request);

/* Hands over the requests that are due: near the end of every step. */
void zkl_node_requests_step(zkl_nodes *nodes);
/* The link is up: all pauses end. */
void zkl_node_requests_resume(zkl_nodes *nodes);
/* The library's handle is gone, and with it the answers that have not come. */
void zkl_node_requests_unlink(zkl_nodes *nodes);

#endif
