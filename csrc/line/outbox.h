/* SPDX-License-Identifier: MIT */
/* outbox: the creates and deletes of lock nodes that a client has not sent yet or that are on their
 * way, and when the next ones go. It knows no contender: each has a dispatch, which says how far
 * its create or delete has come. batch.h sends those that are due. docs/internals/batching.md has
 * the policy.
 *
 * A contender whose node is NONE or THERE may be due; one that is sent is ASKED or ERASING.
 * Whenever the node changes, the contender leaves the outbox. */
#ifndef ZKL_OUTBOX_H
#define ZKL_OUTBOX_H

#include "base/list.h"
#include "base/timer.h"
#include "recipe/pace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum zkl_dispatch_state {
    ZKL_DISPATCH_NONE,
    ZKL_DISPATCH_DUE,    /* the end of a step sends it, or the outbox's timer */
    ZKL_DISPATCH_BEHIND, /* a create: due once a batch that it must not overtake is answered */
    ZKL_DISPATCH_SENT,   /* its answer is coming */
    ZKL_DISPATCH_BATCHED /* likewise; it went together with others */
} zkl_dispatch_state;

typedef struct zkl_dispatch {
    zkl_list_item item; /* DUE: outbox->due; BEHIND: outbox->behind */
    zkl_dispatch_state state : 8;
    bool creates; /* or else deletes */
    /* creates: a write to the directory goes behind it, and takes the place of a list (batch.h) */
    bool counts;
    uint8_t attempts; /* how often its node was to be created; 2: or more */
    /* how many of its batches other members have made fail */
    uint8_t rollbacks;
} zkl_dispatch;

/* How many contenders of a line are in each state. */
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

/* The one setter of its state; the tally is its line's. */
void zkl_outbox_set(zkl_outbox *outbox, zkl_dispatch *dispatch, zkl_dispatch_tally *tally,
                    zkl_dispatch_state state);

/* A request has gone whose answer comes to that receiver. */
void zkl_outbox_sent(zkl_outbox *outbox, uint64_t receiver, zkl_nanos now);
/* That receiver got an answer from the servers. */
void zkl_outbox_answered(zkl_outbox *outbox, uint64_t receiver, zkl_nanos now);
/* The request of that receiver was cut off. */
void zkl_outbox_unheard(zkl_outbox *outbox, uint64_t receiver);
/* Nothing that was on its way will be answered. */
void zkl_outbox_forget(zkl_outbox *outbox);

/* Sends the due writes at the end of this step: the next request of the host must find them
 * done. */
void zkl_outbox_hurry(zkl_outbox *outbox);

/* True if all that is due is to be sent now. Sets the timer if it has to wait, or else clears
 * it. */
bool zkl_outbox_schedule(zkl_outbox *outbox, zkl_timers *timers, zkl_nanos now);

#endif
