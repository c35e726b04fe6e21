/* SPDX-License-Identifier: MIT */
/* event: the engine's messages to the host: a queue of notices to which any thread may post, and a
 * descriptor that is readable while the queue is not empty. Its lock is a leaf: no other lock is
 * taken under it. */
#ifndef ZKL_EVENT_H
#define ZKL_EVENT_H

#include "base/clock.h"
#include "base/list.h"
#include "zklock.h"

#include <pthread.h>
#include <stdatomic.h>

/* An event on its way to the host. It is part of its subject, so posting allocates nothing. Drop it
 * before the subject is freed. */
typedef struct zkl_notice {
    zkl_list_item item;
    uint64_t serial; /* of the latest post */
    uint64_t tag;    /* the host's own number for it */
    int64_t token;
    zkl_status status; /* STATE: the zkl_state */
    zkl_event_kind kind : 8;
    bool queued;
    bool unhurried; /* the host gets it only in the turn that the descriptor asks for */
} zkl_notice;

typedef struct zkl_events {
    pthread_mutex_t mutex;
    zkl_list queued;
    uint64_t serial; /* of the latest post of all */
    int fd;          /* eventfd; -1: hung up */
    /* a socket that gets a byte each time the descriptor becomes readable; -1: none */
    int notifier;
    bool signalled;
    unsigned muted;        /* how many calls look for events themselves at the moment */
    pthread_cond_t posted; /* signalled after each post while a thread waits */
    bool awaited;
} zkl_events;

/* false: there is no descriptor left; errno says why. */
bool zkl_events_init(zkl_events *events);
void zkl_events_destroy(zkl_events *events);

/* Any thread. If the notice is already queued, this changes its content in place. */
void zkl_events_post(zkl_events *events, zkl_notice *notice, zkl_status status, int64_t token);
void zkl_events_drop(zkl_events *events, zkl_notice *notice);

/* Copies the oldest event, which stays queued: a host that is interrupted while it handles the
 * event finds it again. false: the queue is empty, and the descriptor is no longer readable. */
bool zkl_events_peek(zkl_events *events, zkl_event *copy);
/* The same, but the descriptor stays as it is, so the host still gets the turn that the descriptor
 * asks for. Also false if the oldest event is for that turn only. */
bool zkl_events_look(zkl_events *events, zkl_event *copy);
/* From now on posts leave the descriptor as it is, until zkl_events_unmute was called as often. The
 * last of these calls makes it readable if an event is left. */
void zkl_events_mute(zkl_events *events);
void zkl_events_unmute(zkl_events *events);
/* Waits for an event of the subject with that tag, and takes it: ZKL_OK. ZKL_TIMEOUT; ZKL_CLOSED
 * once `*over`, which is set before the last post. One thread at a time. */
zkl_status zkl_events_await(zkl_events *events, const zkl_clock *clock, const atomic_bool *over,
                            uint64_t tag, zkl_nanos until, zkl_event *taken);
/* Removes the event that was peeked, unless it was posted again since. */
void zkl_events_forget(zkl_events *events, uint64_t serial);

/* From now on this socket gets a byte for each signal, and one now if an event is queued. It
 * takes the place of any other socket. -1: no socket. The caller closes the socket. */
void zkl_events_notify_at(zkl_events *events, int notifier);
/* This socket gets no more bytes. Another one that has taken its place still does. */
void zkl_events_notify_no_more(zkl_events *events, int notifier);

/* Closes the descriptor, because the host no longer watches it. A second call does nothing. */
void zkl_events_hang_up(zkl_events *events);

/* Makes the descriptor readable until the next peek that finds no event: the host has work of its
 * own. */
void zkl_events_wake(zkl_events *events);

#endif
