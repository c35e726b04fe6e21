/* SPDX-License-Identifier: MIT */
/* validity: until when a holder may rely on the servers still having its session. Pure: numbers in,
 * a moment out.
 *
 * A single answer proves little. A deposed leader still answers syncs, and a follower reports to
 * its leader that it has heard from a session only with its answer to the leader's next ping. A
 * chain does prove something: three requests i, j, c on one connection, each handed over at h and
 * answered at r, with a committed write among i..c:
 *
 *     h(i)   r(i)  --- G at least ---  h(j)   r(j)  --- T/12 at least ---  h(c)   r(c)
 *
 * Between r(i) and h(j) the leader has sent a ping. It reached the follower after i and before the
 * answer to j. The follower's answer, which reports i, went out before c did. So the leader that
 * answered c had restarted the session's timeout T at h(i) or later. It had a quorum when the write
 * was committed, and every later leader has that write, and restarts the timeout itself.
 * docs/promises.md has a drawing, and lists the assumptions. */
#ifndef ZKL_VALIDITY_H
#define ZKL_VALIDITY_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>

/* How far a request travels before it is answered. */
typedef enum zkl_reach {
    ZKL_REACH_SERVER, /* a read */
    ZKL_REACH_LEADER, /* a sync */
    ZKL_REACH_QUORUM, /* a write */
    ZKL_REACH_ERASE   /* a delete: a write, even if the node does not exist */
} zkl_reach;

/* The evidence that an answer gives about the session. */
typedef enum zkl_proof {
    ZKL_PROOF_NONE,   /* nothing, neither way */
    ZKL_PROOF_LEADER, /* the leader, as our server knows it, has answered */
    ZKL_PROOF_QUORUM, /* the same, and a quorum has committed it */
    /* a healthy session never gets this answer: no chain begins with earlier evidence */
    ZKL_PROOF_BROKEN
} zkl_proof;

/* `rc` is ZooKeeper's. */
zkl_proof zkl_proof_of(zkl_reach reach, int rc);

/* How many answers are kept: as many as can be useful at ZKL_VALIDITY_GRAIN. */
#define ZKL_VALIDITY_KEPT 64
#define ZKL_VALIDITY_GRAIN(timeout) ((timeout) / 48)

/* The terms of a connection. */
typedef struct zkl_grant {
    zkl_nanos root;     /* before the servers accepted the connection, as late as is known */
    zkl_nanos granted;  /* the session timeout that the server has granted */
    zkl_nanos believed; /* the part of it that the client believes */
    bool fresh;         /* a new session */
} zkl_grant;

typedef struct zkl_validity_proof {
    zkl_nanos timeout; /* T: the shortest timeout of this session that the client has believed */
    /* the shortest that the servers have granted: the gaps of a chain depend on it */
    zkl_nanos granted;
    /* no leader with a quorum can have ended the session before; 0: nothing known */
    zkl_nanos until;
    /* the session was created, or moved to this connection, after this moment */
    zkl_nanos root;
    /* when the newest write that was answered on the connection was handed over; 0: none */
    zkl_nanos written;
    struct zkl_proven {
        zkl_nanos handed, answered;
        bool founded; /* the session was known to be alive shortly before: it may begin a chain */
    } kept[ZKL_VALIDITY_KEPT];
    size_t count; /* of this connection, oldest first */
} zkl_validity_proof;

/* From now on nothing about the session is certain, until the servers have answered again. */
void zkl_validity_doubt(zkl_validity_proof *validity);
void zkl_validity_connected(zkl_validity_proof *validity, const zkl_grant *grant);
/* An answer was read on this connection. Answers come in the order of their requests. */
void zkl_validity_answered(zkl_validity_proof *validity, zkl_proof proof, zkl_nanos handed,
                           zkl_nanos answered);
/* Three answers that each take longer make no chain: when the last one comes, what the chain gives
 * is over. A fifth of the timeout. */
zkl_nanos zkl_validity_slowest(const zkl_validity_proof *validity);
/* When the newest request with evidence was handed over; 0: none on this connection. */
zkl_nanos zkl_validity_latest(const zkl_validity_proof *validity);
/* True if that request was a sync: the next heartbeat must be a write. */
bool zkl_validity_wants_write(const zkl_validity_proof *validity);

#endif
