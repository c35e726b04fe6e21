/* SPDX-License-Identifier: MIT */
/* node_request_state: the data of a node request and its stages, for the rooms of node requests
 * only. Under the client's mutex. */
#ifndef ZKL_NODE_REQUEST_STATE_H
#define ZKL_NODE_REQUEST_STATE_H

#include "ask/ask.h"
#include "line/contender.h"
#include "line/parents.h"
#include "nodes/content.h"
#include "nodes/nodes.h"
#include "port/receiver.h"

/* The subject of an answer. */
enum { ZKL_NODE_REQUEST_OPERATION, ZKL_NODE_REQUEST_PRELUDE };

/* While it is DUE, zkl_node_requests_step hands it over, when the link comes up or `retry` fires.
 * While it is OPEN, its answer continues it, perhaps only to report that it was cut off; without a
 * handle zkl_node_requests_unlink does. */
struct zkl_node_request {
    zkl_ask ask; /* with the guard, if it has one */
    zkl_nodes *nodes;
    zkl_receiver receiver;
    zkl_op *ops;
    zkl_content *contents; /* of each operation */
    size_t count;          /* 0: a sync */
    bool several, too_big, malformed;
    zkl_node_share share; /* of the ephemeral nodes that it makes */
    zkl_shortage shortage;
    uint64_t turn; /* the number of its latest handing over (nodes->turns) */
    bool guarded;
    /* the numbers of the contenders whose nodes come first, as checks */
    uint64_t *checked;
    size_t checks;
    zkl_parents parents;
    char *above; /* the path for `parents`; NULL: not needed so far */
    unsigned rounds;
    bool parents_due; /* it creates the parents before it is handed over again */
    bool found;
    size_t failed;
};

bool zkl_node_request_is_read(const zkl_node_request *request);
/* How many contenders the guard consists of; 0: there is none, or it is gone. */
size_t zkl_node_request_parts(const zkl_contender *guard);

/* It is about to be handed over: what was listed of a lock's directory before it writes there no
 * longer counts. */
void zkl_node_request_note_writes(const zkl_node_request *request);

/* It is due again, and gets no answer to what it has sent. */
void zkl_node_request_make_due(zkl_node_request *request);
/* Takes a share of the node budget for the ephemeral nodes that it makes. false: there is no
 * room. */
bool zkl_node_request_take_share(zkl_node_request *request);
/* Ends that share: what the result of the request says about ephemeral nodes counts from now on. */
void zkl_node_request_end_share(zkl_node_request *request, zkl_status status);
/* A read was cut off: the next link continues it, or a pause. A single try ends. */
void zkl_node_request_cut_off(zkl_node_request *request);
/* The servers answered `rc` and carried nothing out: it waits, and nothing goes out before a pause
 * has passed. A single try ends, unless `rc` is ZOK: then another node request has dropped the
 * barrier, and the next read raises a new one. */
void zkl_node_request_wait(zkl_node_request *request, int rc);

#endif
