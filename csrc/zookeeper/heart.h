/* heart: keeps asking the servers whether the session lives, and keeps context->valid_until by what
 * they answer (validity.h). One heartbeat at a time: with nobody there a sync now and then, while
 * somebody holds or waits a sync and a write in turns, unless other requests of the client do as
 * well. Under the client's mutex. */
#ifndef ZKL_HEART_H
#define ZKL_HEART_H

#include "port/context.h"
#include "recipe/validity.h"

typedef struct zkl_heart zkl_heart;

struct zkl_heart {
    zkl_context *context;
    void (*refreshed)(zkl_heart *heart); /* context->valid_until had passed, and moved on */
    void (*unsure)(zkl_heart *heart);    /* context->unsure has grown */
    zkl_validity_proof validity;
    zkl_receiver receiver; /* gets the answers to heartbeats */
    zkl_port *port;   /* of the link, also while that is without a server; NULL: there is none */
    bool linked;      /* the link has a server */
    bool proving;     /* ... of which nothing is believed before it has answered a write */
    bool owes_write;  /* somebody held or waited when the link came: a write is to be the first */
    bool beating;     /* a heartbeat is on its way */
    zkl_nanos beaten; /* when the latest was handed over */
    zkl_nanos met;    /* when the link found its server */
    zkl_nanos heard;  /* when the latest answer was read that was worth something; or met */
    zkl_nanos told;   /* of context->unsure, when `unsure` was called */
    /* how long answers take that come from the leader or a quorum, smoothed; 0: none has come */
    zkl_nanos latency;
    /* Connections in a row on which the servers have answered neither a heartbeat nor a write; and
     * how many of them another link is to follow: zkl_heart_in_vain. */
    unsigned vain, bearable;
    zkl_timer timer;
    char nothing[64]; /* context->nothing; nobody creates it without guessing its name */
};

/* The caller has set context, refreshed and unsure. false: the system has no random bytes. */
bool zkl_heart_init(zkl_heart *heart);

/* A link was started: now and then a heartbeat is handed to it even before it finds a server. When
 * it fails, a try has failed after that, so that the server which is found later took the session
 * later. */
void zkl_heart_started(zkl_heart *heart, zkl_port *port);
/* It found one; see zkl_validity_connected. `proving`: a write goes first, whoever is there. */
void zkl_heart_linked(zkl_heart *heart, const zkl_grant *grant, bool proving);
/* It has none any more. */
void zkl_heart_unlinked(zkl_heart *heart);
/* Does one connection after the other end without an answer? Servers hang up on a link that sends
 * more watches than jute.maxbuffer allows, each time, and each try keeps the session alive. A new
 * link has no watches. If the first new link does not help, the next one follows after four times
 * as many connections. */
bool zkl_heart_in_vain(const zkl_heart *heart);
/* The session has ended, or the link is about to go, and with it perhaps the session: nothing is
 * believed any more. */
void zkl_heart_stopped(zkl_heart *heart);

/* Every answer of the link comes by here before it goes to whom it is for. */
void zkl_heart_answered(zkl_heart *heart, zkl_proof proof, zkl_nanos handed);
/* The end of every step: beats if it is time. */
void zkl_heart_advance(zkl_heart *heart);

#endif
