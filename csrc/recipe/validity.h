/* validity: until when a holder may believe that the servers still have its session. Pure: numbers
 * in, a moment out.
 *
 * An answer alone proves little: a leader that was deposed goes on answering syncs, and a follower
 * tells its leader that it has heard of a session only with the answer to the leader's next ping.
 * What does prove something is a chain of three requests i, j, c of one connection, handed over at
 * h and answered at r, with a committed write among i..c:
 *
 *     h(i)   r(i)  --- G at least ---  h(j)   r(j)  --- T/12 at least ---  h(c)   r(c)
 *
 * Between r(i) and h(j) the leader has sent a ping; it reached the follower after i and before the
 * answer to j; the follower's answer, which tells of i, went out before c did. So the leader that
 * answered c had counted the session's timeout T anew, from h(i) or later; and it had a quorum when
 * the write was committed, which is part of every later leader, who counts anew himself.
 * docs/promises.md has a drawing, and what all this assumes. */
#ifndef ZKL_VALIDITY_H
#define ZKL_VALIDITY_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>

/* How far a request goes before it is answered. */
typedef enum zkl_reach {
    ZKL_REACH_SERVER, /* a read */
    ZKL_REACH_LEADER, /* a sync */
    ZKL_REACH_QUORUM, /* a write */
    ZKL_REACH_ERASE   /* ... that a node which is not there does not keep from being one */
} zkl_reach;

/* The meaning of an answer for the session. */
typedef enum zkl_proof {
    ZKL_PROOF_NONE,   /* nothing, neither way */
    ZKL_PROOF_LEADER, /* who was the leader of our server has answered */
    ZKL_PROOF_QUORUM, /* ... and a quorum has committed it */
    /* not what a healthy session is told: what was proven so far begins no chain */
    ZKL_PROOF_BROKEN
} zkl_proof;

/* rc: ZooKeeper's. */
zkl_proof zkl_proof_of(zkl_reach reach, int rc);

/* How many answers are remembered: as many as can be of use at ZKL_VALIDITY_GRAIN. */
#define ZKL_VALIDITY_KEPT 64
#define ZKL_VALIDITY_GRAIN(timeout) ((timeout) / 48)

/* The terms of a connection. */
typedef struct zkl_grant {
    zkl_nanos root;     /* before the servers took the connection, as late as is known */
    zkl_nanos granted;  /* the session timeout that the server says */
    zkl_nanos believed; /* as much of it as the client believes */
    bool fresh;         /* a new session */
} zkl_grant;

typedef struct zkl_validity_proof {
    zkl_nanos timeout; /* T: the least of this session that was ever believed */
    zkl_nanos granted; /* the least that it was ever granted: the gaps of a chain go by it */
    zkl_nanos until;   /* no leader with a quorum can have ended it before; 0: nothing is known */
    zkl_nanos root;    /* the session was made, or moved to this connection, after that */
    zkl_nanos written; /* when the newest write that was answered on it was handed over; 0: none */
    struct zkl_proven {
        zkl_nanos handed, answered;
        bool founded; /* the session was known to live shortly before: it may begin a chain */
    } kept[ZKL_VALIDITY_KEPT];
    size_t count; /* of this connection, oldest first */
} zkl_validity_proof;

/* Nothing is believed of the session, if there is one, until the servers have said more. */
void zkl_validity_doubt(zkl_validity_proof *validity);
void zkl_validity_connected(zkl_validity_proof *validity, const zkl_grant *grant);
/* An answer of this connection was read. Answers come in the order in which the requests were
 * handed over. */
void zkl_validity_answered(zkl_validity_proof *validity, zkl_proof proof, zkl_nanos handed,
                           zkl_nanos answered);
/* When the newest request that proved something was handed over; 0: none of this connection. */
zkl_nanos zkl_validity_latest(const zkl_validity_proof *validity);
/* Was that one a sync? Then the next heartbeat is a write. */
bool zkl_validity_wants_write(const zkl_validity_proof *validity);

#endif
