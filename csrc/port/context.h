/* context: what all of a client's rooms are given: the port, the clock, timers, events, and what is
 * known of the session. The client fills it for real servers, a unit test for fake ones. Everything
 * in it is under the client's mutex. */
#ifndef ZKL_CONTEXT_H
#define ZKL_CONTEXT_H

#include "base/clock.h"
#include "base/event.h"
#include "base/timer.h"
#include "port/port.h"
#include "port/receiver.h"
#include "zklock.h"

typedef struct zkl_context {
    zkl_port *port; /* NULL while there is no connection */
    const zkl_clock *clock;
    zkl_timers timers;
    zkl_events events;
    zkl_receivers receivers;
    zkl_stats counters;

    int64_t session; /* the id that our nodes bear as ephemeralOwner; 0: there is none */
    /* The servers cannot have ended the session before this moment. The heart keeps it, and moves
     * it on while somebody holds or waits; when it had passed and moves on again,
     * zkl_line_refreshed is called for every line. Validity is read from it without the mutex. */
    _Atomic zkl_nanos valid_until;
    /* For how long, in all, the client was connected, was wanted and was answered, and yet nothing
     * was believed of the session. The heart counts it from 1 on; a caller that stands first
     * leaves after `patience` of it (zkl_context_gives_up), which is a session timeout. */
    zkl_nanos unsure, patience;
    uint64_t given_up; /* how many have left so */
    /* Path of a node that does not exist. To delete it changes nothing, but is answered (with
     * ZNONODE) only when a quorum has committed the attempt, so that what is read behind it shows
     * all that anybody had written before. A sync does not promise that: a leader that was deposed
     * still answers one. */
    const char *nothing;

    /* A room that takes all watches of a kind on a path back (`list`: those on its children) calls
     * it, for others may have some there. NULL: nobody has. */
    void (*unwatched)(struct zkl_context *context, const char *path, bool list);

    size_t idle_shared_nodes; /* nobody holds them, but somebody may at any moment */
    uint64_t guid;            /* the client's half of the GUIDs in the names of its nodes */
    const char *identifier;
    zkl_acl acl;
    size_t chroot;      /* bytes at the front of every path that are the chroot */
    bool no_containers; /* the servers are too old for container nodes */
} zkl_context;

static inline zkl_nanos zkl_context_now(const zkl_context *context) {
    return context->clock->now();
}

/* Of one that could hold if the session were believed in: has it waited for that for so long that
 * it is to let others go first? `since`: its own, 0 whenever it begins to wait. */
static inline bool zkl_context_gives_up(zkl_context *context, zkl_nanos *since) {
    if (context->valid_until > zkl_context_now(context)) {
        *since = 0;
    } else if (!*since) {
        *since = context->unsure;
    } else if (context->unsure - *since >= context->patience) {
        context->given_up++;
        return true;
    }
    return false;
}

#endif
