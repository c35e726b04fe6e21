/* SPDX-License-Identifier: MIT */
/* fake_quorum: when the servers end a session. The leader counts its timeout from when it has heard
 * of it: at once of a client of its own, of a follower's with the follower's answer to its next
 * ping, and not at all once it is deposed: then somebody else counts. Only where
 * servers->keeps_time is set; else sessions end when a test says so. */
#ifndef FAKE_QUORUM_H
#define FAKE_QUORUM_H

#include "base/clock.h"

#include <stdbool.h>

struct fake_client;
struct fake_servers;

/* The servers' knowledge of a client's session. */
typedef struct fake_tenure {
    bool at_follower; /* who the client is connected to: a follower, or the leader */
    bool touched;     /* its follower has heard of it since the leader's last ping */
    bool deposed;     /* its server and who that takes for the leader are cut off from the others */
    bool taken;       /* the servers have its connection, and it has not heard yet */
    zkl_nanos ends;   /* the leader ends it at the first tick after that */
} fake_tenure;

/* The servers have taken its connection: to carry a session on, or to make one. */
void fake_quorum_took(struct fake_client *client);
/* A packet of its has reached its server. */
void fake_quorum_heard(struct fake_client *client);
/* Its connection is gone: what its follower had not told the leader is never told. */
void fake_quorum_left(struct fake_client *client);
/* The others elect a new leader, whom its server does not hear of. That one gives every session its
 * timeout anew. */
void fake_quorum_depose(struct fake_client *client);
/* Time passes up to `until`: pings, and the ends of sessions. */
void fake_quorum_pass(struct fake_servers *servers, zkl_nanos until);

#endif
