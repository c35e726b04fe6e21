/* SPDX-License-Identifier: MIT */
/* ZooKeeper's own recipe in C, zookeeper-recipes-lock of its sources. It has no timeout: one that waits in vain unlocks.
 * One of its locks is one owner, and of one session only one can stand at a path. */
#include "zookeeper_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zoo_lock.h>

const bool peer_is_shared = true;

struct lock {
    struct zookeeper_link *link;
    zkr_lock_mutex_t recipe;
    char path[160];
    bool made;
    long session;
    pthread_mutex_t mutex;
    pthread_cond_t change;
    bool mine;
};

void *peer_open(const char *servers, long ttl, const char *way) {
    (void)way;
    return zookeeper_open(servers, ttl);
}

void peer_close(void *client) {
    zookeeper_hang_up(client);
}

void *peer_lock(void *client, const char *name) {
    struct lock *self = calloc(1, sizeof *self);
    self->link = client;
    snprintf(self->path, sizeof self->path, "/contest/%s", name);
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->change, NULL);
    return self;
}

static void told(int rc, void *context) {
    struct lock *self = context;
    woken();
    pthread_mutex_lock(&self->mutex);
    self->mine = rc == 0;
    pthread_cond_signal(&self->change);
    pthread_mutex_unlock(&self->mutex);
}

static bool await_grant(struct lock *self, long long end) {
    pthread_mutex_lock(&self->mutex);
    while (!self->mine && now_ms() < end)
        wait_ms(&self->change, &self->mutex, end - now_ms());
    bool mine = self->mine;
    pthread_mutex_unlock(&self->mutex);
    return mine;
}

/* A lock is for a session: with a new one it is made anew. */
static enum outcome prepare(struct lock *self) {
    if (self->made && self->session == self->link->sessions)
        return DONE;
    if (zookeeper_make(self->link, self->path) != DONE)
        return FAILED;
    zkr_lock_init_cb(&self->recipe, self->link->handle, self->path, &ZOO_OPEN_ACL_UNSAFE, told,
                     self);
    self->made = true;
    self->session = self->link->sessions;
    return DONE;
}

enum outcome peer_acquire(void *lock, long timeout, long long *token) {
    (void)token;
    struct lock *self = lock;
    long long end = deadline(timeout);
    if (zookeeper_await(self->link, timeout == 0 ? now_ms() + 1000 : end) != DONE)
        return LATE;
    if (prepare(self) != DONE)
        return FAILED;
    pthread_mutex_lock(&self->mutex);
    self->mine = false;
    pthread_mutex_unlock(&self->mutex);
    zkr_lock_lock(&self->recipe);
    if (await_grant(self, end))
        return DONE;
    zkr_lock_unlock(&self->recipe);
    return LATE;
}

enum outcome peer_release(void *lock) {
    struct lock *self = lock;
    int rc = zkr_lock_unlock(&self->recipe);
    return rc == 0 ? DONE : fail("%s", zerror(rc));
}

int peer_held(void *lock) {
    struct lock *self = lock;
    return self->session == self->link->sessions && zkr_lock_isowner(&self->recipe) &&
           zoo_state(self->link->handle) == ZOO_CONNECTED_STATE;
}
