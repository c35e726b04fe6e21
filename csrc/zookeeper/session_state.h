/* session_state: the data of a session, the state that the host sees, and the lines of the log
 * about it. Only for session and session_link, and for the client, which contains a session. Each
 * function is called under the client's mutex. */
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
    ZKL_SESSION_RESUMED,   /* context->port is there */
    ZKL_SESSION_SUSPENDED, /* context->port is gone, the session perhaps not */
    ZKL_SESSION_RELINKED,  /* still suspended, but another link takes over */
    ZKL_SESSION_EXPIRED,   /* a new one is being made */
    ZKL_SESSION_REFUSED,   /* the credentials were not taken: there is none for long */
    ZKL_SESSION_REFRESHED, /* valid_until has moved on from the past */
    ZKL_SESSION_UNSURE     /* it is still in the past, though answers come */
} zkl_session_news;

/* What there is of a link, and who goes on from there. */
typedef enum zkl_stage {
    ZKL_STAGE_OPENING, /* none: the worker opens one, when it has closed what it has to */
    ZKL_STAGE_RESTING, /* none until the timer `reopen` */
    ZKL_STAGE_SEEKING, /* without a server: the library tries one after the other, and at the timer
                          `look` the worker may open another link */
    ZKL_STAGE_PROVING, /* it carries a session on and has a server: the answer to the heart's write,
                          which the heart's timer repeats */
    ZKL_STAGE_LINKED,  /* requests are made; the library hangs up on a server that says nothing */
    ZKL_STAGE_ENDED    /* none any more */
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
    zkl_link *link;    /* the one that counts; what others say is stale */
    zkl_link *retired; /* to be closed by the renew job */
    zkl_nanos timeout; /* granted and believed; before that, asked for */
    zkl_nanos pause;   /* before the next try to open a link */
    zkl_nanos refused_pause;
    bool ending;

    zkl_heart heart;
    bool remembers;        /* the link has had a server: it takes none whose data is older */
    bool carried;          /* the link has taken a session over, and has not proven itself yet */
    bool misled;           /* the library goes by a session timeout that is not believed */
    bool inherits;         /* the next link carries `identity` on */
    zkl_identity identity; /* of the session, as its last connection confirmed it */
    zkl_nanos seeking;     /* since when the link has been without a server */
    zkl_nanos look_pause;  /* before names are looked up again */
    zkl_timer reopen, look;
    zkl_timer overdue; /* no server was ever reached when it fires */
    zkl_nanos away;    /* since when it has not been connected as far as the host knows */
    zkl_job renew, look_again;
    char *addresses;                   /* of the link; worker thread */
    char *tried;                       /* a copy, for the host's questions */
    char unresolved[ZKL_TROUBLE_TEXT]; /* which name had no address; "": all have */
    /* why callers have given up on a link that has a server; "": none has, on this connection */
    char doubt[ZKL_TROUBLE_TEXT];
    uint64_t explained; /* of context->given_up: for so many it was said why */
    bool warned;        /* of that, since anything was believed of the session */
    zkl_nanos met;      /* when there was a server last; 0: never */

    zkl_event states[ZKL_STATES_KEPT]; /* changes the host has not heard of yet */
    size_t state_next;
};

/* Sets the state, and posts the change to the host. A closed session stays closed. */
void zkl_session_state_set(zkl_session *session, zkl_state state);
/* Sets a state other than CONNECTED, and notes since when the host is not connected. */
void zkl_session_state_disconnected(zkl_session *session, zkl_state state);

/* The host receives only the name of a state; the log gets the reason. Call each of these before
 * the state changes, while the heart still has what it measured. */
void zkl_session_log_suspended(zkl_session *session);
void zkl_session_log_expired(zkl_session *session);
void zkl_session_log_connected(zkl_session *session);

/* The client no longer has this session, and trusts nothing that the servers said of it. */
void zkl_session_forget(zkl_session *session);

#endif
