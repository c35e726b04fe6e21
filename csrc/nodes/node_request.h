/* node_request: something that the host wants done to nodes, once: a read, a write, several writes
 * in one transaction, a sync. It waits until there is a link, is handed over, and is answered by
 * one event, before its deadline. A write is handed over once: whoever is not told what became of
 * it is told that it is not known. Under the client's mutex. */
#ifndef ZKL_NODE_REQUEST_H
#define ZKL_NODE_REQUEST_H

#include "line/contender.h"
#include "nodes/nodes.h"

/* The request. */
typedef struct zkl_wish {
    const zkl_op *ops; /* paths are full; copied */
    size_t count;      /* 0: a sync */
    bool several;      /* a transaction, also of one */
    bool once;
    /* it is not done if this does not hold when the servers do it; only of several */
    zkl_contender *guard;
} zkl_wish;

void zkl_node_requests_init(zkl_nodes *nodes, zkl_context *context, const _Atomic zkl_state *state);
/* NULL: no memory. */
zkl_node_request *zkl_node_request_new(zkl_nodes *nodes, const zkl_wish *wish, uint64_t tag);
void zkl_node_request_start(zkl_node_request *request, zkl_nanos deadline);
/* At any moment. A write that was handed over and not answered counts as one whose outcome is
 * unknown: the next read shows what became of it. */
void zkl_node_request_free(zkl_node_request *request);

/* Hands over what can be: near the end of every step. */
void zkl_node_requests_step(zkl_nodes *nodes);
/* There is a link again: no pause goes on. */
void zkl_node_requests_resume(zkl_nodes *nodes);
/* The library's handle is gone, and with it the answers that have not come. */
void zkl_node_requests_unlink(zkl_nodes *nodes);
/* Answers all: those that were not handed over with `status`. */
void zkl_node_requests_dismiss(zkl_nodes *nodes, zkl_status status);
/* The contender is about to go. */
void zkl_node_requests_forget(zkl_nodes *nodes, const zkl_contender *guard);

/* For the host's side (client/nodes.c). */
void zkl_node_request_set_client(zkl_node_request *request, zkl_client *client);
zkl_client *zkl_node_request_client(const zkl_node_request *request);

#endif
