/* SPDX-License-Identifier: MIT */
/* session_state: the data of a session, the state that the host sees, and the lines of the log
 * about it. Only for session and session_link, and for the client, which contains a session. Each
 * function runs under the client's mutex. */
#ifndef ZKL_SESSION_STATE_H
#define ZKL_SESSION_STATE_H

#include "base/worker.h"
#include "zookeeper/heart.h"
#include "zookeeper/link.h"
#include "zookeeper/log.h"
#include "zookeeper/servers.h"
#include "zookeeper/trouble.h"

#define ZKL_STATES_KEPT 16

typedef struct zkl_session zkl_session;

/* The events that a session reports to its client, under the client's mutex. */
typedef enum zkl_session_news {
    ZKL_SESSION_RESUMED,   /* context->port sends */
    ZKL_SESSION_SUSPENDED, /* context->port refuses; the session may be alive */
    ZKL_SESSION_RELINKED,  /* still suspended, but another link takes over */
    ZKL_SESSION_EXPIRED,   /* the client is creating a new session */
    ZKL_SESSION_REFUSED,   /* the servers have refused the credentials: there is no session */
    ZKL_SESSION_REFRESHED, /* valid_until had passed, and has moved on */
    ZKL_SESSION_UNSURE     /* valid_until is still in the past, although answers come */
} zkl_session_news;

/* The state of the link, and what comes next. */
typedef enum zkl_stage {
    ZKL_STAGE_OPENING, /* no link: the worker opens one, once it has closed the former one */
    ZKL_STAGE_RESTING, /* no link until the timer `reopen` */
    ZKL_STAGE_SEEKING, /* without a server: the library tries one after the other, and at the timer
                          `look` the worker may open another link */
    /* it carries a session on and has a server, but needs the answer to the heart's write */
    ZKL_STAGE_PROVING,
    /* the client sends requests; the library hangs up on a server that does not answer */
    ZKL_STAGE_LINKED,
    ZKL_STAGE_ENDED /* no link any more */
} zkl_stage;

struct zkl_session {
    zkl_context *context;
    zkl_worker *worker;
    zkl_log *log;      /* or NULL */
    zkl_config config; /* its own copy */
    zkl_servers servers;
    void (*enter)(void *ctx), (*leave)(void *ctx); /* the client's mutex */
    void (*tell)(void *ctx, zkl_session_news news);
    void (*answered)(void *ctx, const zkl_return *back, const zkl_reply *reply);
    void (*watched)(void *ctx, const char *path, zkl_change change);
    void *ctx;
    zkl_link_owner owner; /* of each of its links */

    _Atomic zkl_state state; /* read without the mutex as well */
    zkl_stage stage;
    zkl_link *link;    /* the current one; events of others are stale */
    zkl_link *retired; /* the renew job closes it */
    /* the granted timeout, as far as it is believed; before that, the requested one */
    zkl_nanos timeout;
    zkl_nanos pause; /* before the next attempt to open a link */
    zkl_nanos refused_pause;
    bool ending;

    zkl_heart heart;
    bool remembers; /* the link has had a server: it accepts none with older data */
    bool carried;   /* the link has taken a session over, and has not proven itself yet */
    /* the library uses a session timeout that the client does not believe */
    bool misled;
    bool inherits;         /* the next link carries `identity` on */
    zkl_identity identity; /* of the session, as its last connection confirmed it */
    zkl_nanos seeking;     /* since when the link has had no server */
    zkl_nanos look_pause;  /* before the next lookup of names */
    zkl_timer reopen, look;
    zkl_timer overdue; /* fires if no server was ever reached */
    zkl_nanos away;    /* since when the host sees it as not connected */
    zkl_job renew, look_again;
    char *addresses; /* of the link; worker thread */
    char *tried;     /* a copy, for the host's questions */
    /* why no link could be opened: a name without an address, a full process; "": one could */
    char hindrance[ZKL_TROUBLE_TEXT];
    /* why waiters have given up on a link that has a server; "": none has on this connection */
    char doubt[ZKL_TROUBLE_TEXT];
    /* a server has hung up on us for want of credentials (enforce.auth.schemes), and has answered
     * nothing since */
    bool unproven;
    bool told_lacking;  /* the log has that the servers do not make container nodes */
    uint64_t explained; /* how many of context->given_up have been explained */
    zkl_nanos met;      /* when there was a server last; 0: never */

    zkl_notice states[ZKL_STATES_KEPT]; /* changes that the host has not taken yet */
    size_t state_next;
};

/* Sets the state, and posts the change to the host. A closed session stays closed. */
void zkl_session_state_set(zkl_session *session, zkl_state state);
/* Sets a state other than CONNECTED, and notes since when the host is not connected. */
void zkl_session_state_disconnected(zkl_session *session, zkl_state state);

/* The host sees only the name of a state; the log gets the reason. Call these before the state
 * changes, while the heart still has its measurements. */
void zkl_session_log_suspended(zkl_session *session);
void zkl_session_log_expired(zkl_session *session);
void zkl_session_log_connected(zkl_session *session);

/* Why no server is in reach, or waiters give up; false: unknown. */
bool zkl_session_trouble(const zkl_session *session, char *text, size_t size);

/* The client no longer has this session, and nothing about it is certain. */
void zkl_session_forget(zkl_session *session);

#endif
