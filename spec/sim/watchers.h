/* SPDX-License-Identifier: MIT */
/* watchers: who at one server is to be told of which path. */
#ifndef WATCHERS_H
#define WATCHERS_H

#include "wire.h"

typedef struct sim_watcher {
    struct sim_watcher *next;  /* in its bucket */
    struct sim_watcher *after; /* of its socket */
    sim_socket *socket;
    char *path;
    uint32_t hash;
    int kinds; /* WATCH_DATA, WATCH_CHILDREN */
} sim_watcher;

typedef struct sim_watchers {
    sim_watcher *buckets[256];
    size_t count;
} sim_watchers;

/* `of`: the socket's own list. */
void sim_watch(sim_watchers *all, sim_watcher **of, sim_socket *socket, const char *path, int kind);
/* Is there one, and it is none any more? */
bool sim_unwatch(sim_watchers *all, sim_watcher **of, const char *path, int kind);
void sim_unwatch_all(sim_watchers *all, sim_watcher **of);
/* Calls `tell` for each socket that watches any of the kinds there, which it does no more. */
void sim_trigger(sim_watchers *all, const char *path, size_t length, int kinds,
                 sim_watcher **(*list_of)(sim_socket *socket),
                 void (*tell)(sim_socket *socket, void *ctx), void *ctx);

#endif
