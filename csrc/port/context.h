/* SPDX-License-Identifier: MIT */
/* context: the data that all rooms of a client share: the port, the clock, timers, events, and the
 * knowledge about the session. The client fills it in for real servers, a unit test for fake ones.
 * Everything in it is under the client's mutex. */
#ifndef ZKL_CONTEXT_H
#define ZKL_CONTEXT_H

#include "base/backoff.h"
#include "base/clock.h"
#include "base/counts.h"
#include "base/event.h"
#include "base/list.h"
#include "base/timer.h"
#include "base/transitions.h"
#include "port/extras.h"
#include "port/port.h"
#include "port/receiver.h"
#include "zklock.h"

#define ZKL_OWNER_SLOTS 1024

typedef struct zkl_context {
    zkl_port *port; /* zkl_port_refusing while there is no connection */
    const zkl_clock *clock;
    zkl_timers timers;
    zkl_events events;
    zkl_receivers receivers;
    zkl_trace *trace; /* gets each change of a state; NULL: nobody wants them */
    zkl_stats counters;
    zkl_counts_table counts;
    /* the host's contenders (those that are part of none), the oldest first */
    zkl_list waiters, holds;
    /* how many holds there are, by the number of the owner, in so many slots */
    uint32_t owners[ZKL_OWNER_SLOTS];

    /* the session's id, which is the ephemeralOwner of our nodes; 0: no session */
    int64_t session;
    /* The servers cannot have ended the session before this moment. The heart moves it on while a
     * caller holds or waits. When it has passed and then moves on again, the client calls
     * zkl_line_refreshed for every line. zkl_validity reads it without the mutex. */
    _Atomic zkl_nanos valid_until;
    /* How long, in all, the client was connected and got answers that it needed, and yet could not
     * be sure of its session. The heart counts it from 1 on. A first waiter leaves after `patience`
     * of it (zkl_context_lose_patience): a session timeout, or 0 once answers have taken too long
     * for any chain. */
    zkl_nanos unsure, patience;
    uint64_t given_up;   /* how many waiters have left in that way */
    const char *nothing; /* the path of a node that does not exist (barrier.h) */

    /* A room that removes all watches of a kind on a path (`list`: those on its children) calls it,
     * because other rooms may have some there. NULL: no other room can. */
    void (*unwatched)(struct zkl_context *context, const char *path, bool list);
    /* Logs a wait that takes long, with the path's length. NULL: the host has no log. */
    void (*warn_slow)(struct zkl_context *context, const char *path, int length, double seconds,
                      const char *why);

    size_t idle_shared_nodes; /* no caller holds them, but one may at any moment */
    uint64_t guid;            /* the client's half of the GUIDs in the names of its nodes */
    const char *identifier;
    zkl_acl acl;
    size_t chroot; /* how many bytes at the start of every path are the chroot */
    zkl_extras extras;
} zkl_context;

static inline zkl_nanos zkl_context_now(const zkl_context *context) {
    return context->clock->now();
}

static inline bool zkl_context_knows(const zkl_context *context, zkl_extra extra) {
    return zkl_extras_known(&context->extras, extra);
}

/* True if the Stats in an answer to a transaction may be believed. */
static inline bool zkl_context_believes(const zkl_context *context) {
    return zkl_extras_compared(&context->extras);
}

static inline void zkl_context_retry_later(zkl_context *context, zkl_retry *retry) {
    zkl_retry_later(retry, &context->timers, zkl_context_now(context));
}

static inline bool zkl_context_is_linked(const zkl_context *context) {
    return context->port != &zkl_port_refusing;
}

/* For a waiter that could hold if the session were certain: true if it has waited for that so long
 * that it has to let others go first. `since` belongs to the waiter, and is 0 when it begins to
 * wait. */
static inline bool zkl_context_lose_patience(zkl_context *context, zkl_nanos *since) {
    if (context->valid_until > zkl_context_now(context)) {
        *since = 0;
        return false;
    }
    if (!*since)
        *since = context->unsure;
    if (context->unsure - *since < context->patience)
        return false;
    context->given_up++;
    return true;
}

#endif
