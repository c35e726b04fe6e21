/* SPDX-License-Identifier: MIT */
/* heart: keeps asking the servers whether the session is alive, and moves context->valid_until by
 * their answers (validity.h). There is one heartbeat at a time. If no caller holds or waits, it is
 * an occasional sync; otherwise a sync and a write in turn, unless other requests of the client
 * serve as well. Under the client's mutex. */
#ifndef ZKL_HEART_H
#define ZKL_HEART_H

#include "port/context.h"
#include "recipe/validity.h"

typedef struct zkl_heart zkl_heart;

struct zkl_heart {
    zkl_context *context;
    void (*refreshed)(zkl_heart *heart); /* context->valid_until had passed, and has moved on */
    void (*unsure)(zkl_heart *heart);    /* context->unsure has grown */
    zkl_validity_proof validity;
    zkl_receiver receiver; /* gets the answers to heartbeats */
    zkl_port *port;        /* of the link, also while that has no server; NULL: no link */
    bool linked;           /* the link has a server */
    /* a caller held or waited when the link came up: the first heartbeat must be a write */
    bool owes_write;
    bool beating;     /* a heartbeat is on its way */
    zkl_nanos beaten; /* when the latest was handed over; 0: the next one is due at once */
    zkl_nanos sent;   /* the same moment, which stays */
    zkl_nanos met;    /* when the link found its server */
    zkl_nanos heard;  /* when the latest useful answer was read; or met */
    zkl_nanos due;    /* once context->unsure is so much, `unsure` is called again */
    /* how long answers of the leader or a quorum take, smoothed; 0: none so far */
    zkl_nanos latency;
    /* How many answers in a row took too long for any chain, each to a request that was handed
     * over after the former answer was read; and when the latest of them was read. */
    unsigned slow;
    zkl_nanos slowed;
    /* How many connections in a row have answered neither a heartbeat nor a write; and after how
     * many of them a new link follows: see zkl_heart_in_vain. */
    unsigned vain, bearable;
    zkl_timer timer;
    char nothing[64]; /* context->nothing; nobody can create it without guessing its name */
};

/* The caller has set context, refreshed and unsure. false: the system has no random bytes. */
bool zkl_heart_init(zkl_heart *heart);

/* A link was started. The heart hands it a heartbeat from time to time even before it has a server.
 * When such a heartbeat fails, a connection attempt has failed after it, so the server that the
 * link finds later has taken the session later. */
void zkl_heart_started(zkl_heart *heart, zkl_port *port);
/* The link has found a server; see zkl_validity_connected. `proving`: the first heartbeat is a
 * write in any case. */
void zkl_heart_linked(zkl_heart *heart, const zkl_grant *grant, bool proving);
/* The link has lost its server. */
void zkl_heart_unlinked(zkl_heart *heart);
/* True if one connection after the other ends without an answer. Servers hang up, each time, on a
 * link that sends more watches than jute.maxbuffer allows, and each try keeps the session alive. A
 * new link has no watches. If the first new link does not help, the next one follows after four
 * times as many connections. */
bool zkl_heart_in_vain(const zkl_heart *heart);
/* The session has ended, or the link is about to go and perhaps the session with it: nothing counts
 * any more. */
void zkl_heart_stopped(zkl_heart *heart);

/* Every answer of the link comes here before it goes to its receiver. */
void zkl_heart_answered(zkl_heart *heart, zkl_proof proof, zkl_nanos handed);
/* The end of every step: sends a heartbeat if it is time. */
void zkl_heart_advance(zkl_heart *heart);

#endif
