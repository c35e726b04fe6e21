/* session: the life of a client's session: connect, suspend, expire, renew, end. */
#ifndef ZKL_SESSION_H
#define ZKL_SESSION_H

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
    ZKL_SESSION_REFRESHED, /* trusted_until has moved on from the past */
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

/* Copies the config. ZKL_OK, ZKL_BAD_ARGUMENT (the connect string), ZKL_NO_MEMORY. The caller has
 * set context, worker, log, enter, leave, tell, answered, watched and ctx, and calls
 * zkl_session_destroy in any case. */
zkl_status zkl_session_init(zkl_session *session, const zkl_config *config);
void zkl_session_destroy(zkl_session *session);

/* locked: starts connecting */
void zkl_session_start(zkl_session *session);
/* locked: the end of every step. If callers have given their places up in it (context->given_up),
 * the host can ask why, and the log gets one warning. */
void zkl_session_step(zkl_session *session);
/* locked: no new link from now on; events say closed */
void zkl_session_ending(zkl_session *session);
/* worker thread, not locked: drains what is open, until the deadline, and closes it, which blocks
 * for seconds at worst. */
void zkl_session_end(zkl_session *session, zkl_nanos deadline);

#endif
