/* event: what the host is told. A queue that any thread may post to, with one descriptor that is
 * readable while the queue holds something. Its lock is a leaf: nothing else is locked under it. */
#ifndef ZKL_EVENT_H
#define ZKL_EVENT_H

#include "base/list.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum zkl_event_kind {
    ZKL_EVENT_GRANTED, /* contender `tag` holds; `token` */
    ZKL_EVENT_FAILED,  /* contender `tag` waits no more; `status` */
    ZKL_EVENT_LOST,    /* contender `tag` held, and does not any more; `status`, `token` */
    ZKL_EVENT_REVOKED, /* somebody asks contender `tag` to give back what it holds; `token` */
    ZKL_EVENT_ANSWER,  /* query `tag` is answered; `status` */
    ZKL_EVENT_CHANGED, /* node watch `tag` has something to take */
    ZKL_EVENT_ENDED,   /* visit `tag` has ended */
    ZKL_EVENT_STATE,   /* the session's state changed; `status` is a zkl_state */
    ZKL_EVENT_LOG      /* lines wait in zkl_log_take */
} zkl_event_kind;

/* An event lives inside what it speaks of, so that posting never allocates; drop it before that is
 * freed. */
typedef struct zkl_event {
    zkl_list_item item;
    uint64_t serial; /* of the latest post */
    uint64_t tag;    /* the host's own number for it */
    int64_t token;
    int status;
    zkl_event_kind kind : 8;
    bool queued;
    bool unhurried; /* told only in the turn that the descriptor calls for */
} zkl_event;

typedef struct zkl_events {
    pthread_mutex_t mutex;
    zkl_list queued;
    uint64_t serial; /* of the latest post of all */
    int fd;          /* eventfd; -1: it was hung up */
    /* a socket that gets a byte each time the descriptor becomes readable; -1: none */
    int notifier;
    bool signalled;
} zkl_events;

/* false: no descriptor to be had; errno says why. */
bool zkl_events_init(zkl_events *events);
void zkl_events_destroy(zkl_events *events);

/* Any thread. Posting what is queued already changes its content in place. */
void zkl_events_post(zkl_events *events, zkl_event *event, int status, int64_t token);
void zkl_events_drop(zkl_events *events, zkl_event *event);

/* Copies the oldest event, which stays: whoever is interrupted while dealing with it finds it
 * again. false: there is none, and the descriptor is not readable any more. */
bool zkl_events_peek(zkl_events *events, zkl_event *copy);
/* The same, but the descriptor stays as it is: whoever looks in between leaves the turn that it
 * calls for to come. false also if the oldest is to be told in that turn, and not before. */
bool zkl_events_look(zkl_events *events, zkl_event *copy);
/* The peeked event was dealt with and goes, unless it was posted again since. */
void zkl_events_forget(zkl_events *events, uint64_t serial);

/* From now on this socket gets the bytes, and one at once if something is there already; -1: none
 * does. The caller closes it. */
void zkl_events_notify_at(zkl_events *events, int notifier);

/* Closes the descriptor: nobody looks at it any more. Twice is fine. */
void zkl_events_hang_up(zkl_events *events);

/* Makes the descriptor readable until the next empty peek: the host has work of its own left. */
void zkl_events_wake(zkl_events *events);

#endif
