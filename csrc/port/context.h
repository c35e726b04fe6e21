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
    _Atomic zkl_nanos trusted_until;
    /* Path of a node that does not exist. To delete it changes nothing, but is answered (with
     * ZNONODE) only when a quorum has committed the attempt, so that what is read behind it shows
     * all that anybody had written before. A sync does not promise that: a leader that was deposed
     * still answers one. */
    const char *nothing;

    /* Whoever takes all watches of a kind on a path back (`list`: those on its children) calls it,
     * for others may have some there. NULL: nobody has. */
    void (*unwatched)(struct zkl_context *context, const char *path, bool list);

    size_t idle_places; /* nobody holds them, but somebody may at any moment */
    uint64_t guid;      /* the client's half of the GUIDs in the names of its nodes */
    const char *identifier;
    zkl_acl acl;
    size_t chroot;      /* bytes at the front of every path that are the chroot */
    bool no_containers; /* the servers are too old for container nodes */
} zkl_context;

static inline zkl_nanos zkl_context_now(const zkl_context *context) {
    return context->clock->now();
}

#endif
