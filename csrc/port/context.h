/* context: what all lines of one client stand on: port, clock, timers, events, the session as far as it concerns them.
 * The engine fills it for a real client, a test for a fake one. Everything in it is under the client's mutex. */
#ifndef ZKL_CONTEXT_H
#define ZKL_CONTEXT_H

#include "base/round.h"
#include "port/receiver.h"
#include "base/timer.h"
#include "queue/vetted.h"
#include "queue/watches.h"
#include "zklock.h"

struct zkl_contender;

typedef struct zkl_context zkl_context;

struct zkl_context {
    zkl_port *port; /* NULL while there is no connection */
    const zkl_clock *clock;
    zkl_timers timers;
    zkl_events events;
    zkl_receivers receivers;
    zkl_stats counters;

    int64_t session; /* the id that our nodes bear as ephemeralOwner */
    /* Until then the servers cannot have ended the session. Kept by heart.c, which moves it on while somebody holds or
     * waits; zkl_line_refreshed tells when it had run out. */
    zkl_nanos trusted_until;
    /* Path of a node that is not there: to delete it changes nothing, and is answered ZNONODE when a quorum has committed
     * that. What is read behind it shows all that anybody had written before; a sync may be answered by a deposed leader. */
    const char *nothing;

    uint64_t guid; /* the client's half of every GUID */
    const char *identifier;
    zkl_acl acl;
    zkl_vetted vetted;
    size_t chroot;      /* bytes at the front of every path that are the chroot */
    bool no_containers; /* the servers are too old for container nodes */

    struct zkl_contender *departing,
        *last_departing; /* nodes that must go, in order of departure */
    uint64_t departures;

    zkl_watches watches;
    zkl_round reads, lists; /* of those who are not watched: see patrol.h */

    struct compound_lock *restless; /* something happened to them: see group.c */
    struct zkl_line *idle;          /* perhaps empty: see lines.c */
    struct zkl_contender *retired;  /* free to go, once nobody is in the middle of one */
};

static inline zkl_nanos zkl_context_now(const zkl_context *context) {
    return context->clock->now();
}

#endif
