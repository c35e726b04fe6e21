/* SPDX-License-Identifier: MIT */
/* outbox: the creates and deletes of lock nodes that a client has not sent yet or that are on their
 * way, and when the next ones go. It knows no contender: each has a dispatch, and its node says how
 * far its create or delete has come. batch.h sends those that are due. docs/internals/batching.md
 * has the policy. */
#ifndef ZKL_OUTBOX_H
#define ZKL_OUTBOX_H

#include "base/list.h"
#include "base/timer.h"
#include "recipe/pace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A contender's node, as far as the client knows. DUE: the end of a step sends the request, or the
 * outbox's timer. SENT, BATCHED, TRANSACTED: the request is on its way, alone, with others, or in
 * the transaction of a multilock: its answer continues. */
typedef enum zkl_node {
    /* the servers have none; the next link creates one for a waiter */
    ZKL_NODE_NONE,
    ZKL_NODE_CREATE_DUE,
    ZKL_NODE_CREATE_BEHIND, /* due once a batch that it must not overtake is answered */
    ZKL_NODE_CREATE_SENT,
    ZKL_NODE_CREATE_BATCHED,
    ZKL_NODE_CREATE_TRANSACTED,
    ZKL_NODE_UNKNOWN, /* the answer to the create was lost: the next synced list shows the node */
    ZKL_NODE_THERE,   /* known by name */
    ZKL_NODE_DELETE_DUE,
    ZKL_NODE_DELETE_SENT,
    ZKL_NODE_DELETE_BATCHED
} zkl_node;

/* No request about it has gone. */
static inline bool zkl_node_is_none(zkl_node node) {
    return node <= ZKL_NODE_CREATE_BEHIND;
}

static inline bool zkl_node_is_asked(zkl_node node) {
    return node >= ZKL_NODE_CREATE_SENT && node <= ZKL_NODE_CREATE_TRANSACTED;
}

/* It is known by name, and no delete has gone. */
static inline bool zkl_node_is_there(zkl_node node) {
    return node == ZKL_NODE_THERE || node == ZKL_NODE_DELETE_DUE;
}

typedef struct zkl_dispatch {
    zkl_list_item item; /* CREATE_DUE, DELETE_DUE: outbox->due; CREATE_BEHIND: outbox->behind */
    /* a write to the directory goes behind its create, and takes the place of a list (batch.h) */
    bool counts;
    /* how many of its batches other members have made fail */
    uint8_t rollbacks;
    uint32_t attempts; /* how often its node was to be created */
} zkl_dispatch;

/* How many nodes of a line are in each of these states. */
typedef struct zkl_dispatch_tally {
    uint32_t creates_due, deletes_due, creates_behind, creates_batched;
} zkl_dispatch_tally;

typedef struct zkl_outbox {
    size_t creates, deletes; /* on their way */
    zkl_list due, behind;    /* dispatch, in the order in which they came */
    bool urgent;             /* all that is due goes at the end of this step */
    zkl_pace pace;
    zkl_nanos flushed; /* when something was sent last */
    uint64_t measured; /* the receiver of the answer whose round trip is measured; 0: none is */
    zkl_nanos measured_since;
    zkl_timer timer;  /* set while something is due */
    zkl_list batches; /* batch: those on their way */
} zkl_outbox;

/* Its contender's node changes, from one state to another; the tally is its line's. */
void zkl_outbox_move(zkl_outbox *outbox, zkl_dispatch *dispatch, zkl_dispatch_tally *tally,
                     zkl_node from, zkl_node to);

/* A request has gone whose answer comes to that receiver. */
void zkl_outbox_sent(zkl_outbox *outbox, uint64_t receiver, zkl_nanos now);
/* That receiver got an answer. `heard`: the servers sent it; otherwise the request was cut off. */
void zkl_outbox_answered(zkl_outbox *outbox, uint64_t receiver, bool heard, zkl_nanos now);
/* Nothing that was on its way will be answered. */
void zkl_outbox_forget(zkl_outbox *outbox);

/* Sends the due writes at the end of this step: the next request of the host must find them
 * done. */
void zkl_outbox_hurry(zkl_outbox *outbox);

/* Something is due. True if all of it is to be sent now. Sets the timer if it has to wait, or else
 * clears it. */
bool zkl_outbox_schedule(zkl_outbox *outbox, zkl_timers *timers, zkl_nanos now);

#endif
