/* SPDX-License-Identifier: MIT */
/* A handle of libzookeeper that is made again when its session has expired. */
#ifndef ZOOKEEPER_LINK_H
#define ZOOKEEPER_LINK_H

#include <zookeeper/zookeeper.h>

#include "worker.h"

struct zookeeper_link {
    zhandle_t *handle;
    char servers[256];
    int ttl;
    pthread_mutex_t mutex;
    pthread_cond_t change;
    int state;
    long sessions; /* made so far */
};

struct zookeeper_link *zookeeper_open(const char *servers, long ttl);
void zookeeper_hang_up(struct zookeeper_link *link);

/* Waits for the session, at most until then; a new one if the old one has expired. */
enum outcome zookeeper_await(struct zookeeper_link *link, long long deadline);

/* Whether the library says that it is connected with that session. */
bool zookeeper_is_up(struct zookeeper_link *link, long session);

/* Makes the node and those above it. */
enum outcome zookeeper_make(struct zookeeper_link *link, const char *path);

#endif
