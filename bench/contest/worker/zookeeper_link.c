/* SPDX-License-Identifier: MIT */
#include "zookeeper_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void watch(zhandle_t *handle, int type, int state, const char *path, void *context) {
    (void)path;
    struct zookeeper_link *self = context;
    if (type != ZOO_SESSION_EVENT)
        return;
    pthread_mutex_lock(&self->mutex);
    if (!self->handle || self->handle == handle)
        self->state = state;
    pthread_cond_broadcast(&self->change);
    pthread_mutex_unlock(&self->mutex);
}

static void start(struct zookeeper_link *self) {
    self->state = 0;
    self->sessions++;
    self->handle = NULL;
    self->handle = zookeeper_init(self->servers, watch, self->ttl, NULL, self, 0);
    if (!self->handle)
        abort();
}

/* locked; closing waits for the library's threads, which may be in watch() */
static void renew(struct zookeeper_link *self) {
    zhandle_t *old = self->handle;
    pthread_mutex_unlock(&self->mutex);
    zookeeper_close(old);
    pthread_mutex_lock(&self->mutex);
    start(self);
}

enum outcome zookeeper_await(struct zookeeper_link *self, long long end) {
    pthread_mutex_lock(&self->mutex);
    while (self->state != ZOO_CONNECTED_STATE && now_ms() < end) {
        if (self->state == ZOO_EXPIRED_SESSION_STATE)
            renew(self);
        wait_ms(&self->change, &self->mutex, 20);
    }
    bool up = self->state == ZOO_CONNECTED_STATE;
    pthread_mutex_unlock(&self->mutex);
    return up ? DONE : LATE;
}

bool zookeeper_is_up(struct zookeeper_link *self, long session) {
    return self->sessions == session && zoo_state(self->handle) == ZOO_CONNECTED_STATE;
}

struct zookeeper_link *zookeeper_open(const char *servers, long ttl) {
    struct zookeeper_link *self = calloc(1, sizeof *self);
    zoo_set_debug_level(0);
    snprintf(self->servers, sizeof self->servers, "%s", servers);
    self->ttl = (int)ttl;
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->change, NULL);
    pthread_mutex_lock(&self->mutex);
    start(self);
    pthread_mutex_unlock(&self->mutex);
    if (zookeeper_await(self, deadline(20000)) == DONE)
        return self;
    fail("no session");
    zookeeper_hang_up(self);
    return NULL;
}

void zookeeper_hang_up(struct zookeeper_link *self) {
    zookeeper_close(self->handle);
    free(self);
}

enum outcome zookeeper_make(struct zookeeper_link *self, const char *path) {
    char part[256];
    for (const char *at = path + 1;; at++) {
        if (*at && *at != '/')
            continue;
        snprintf(part, sizeof part, "%.*s", (int)(at - path), path);
        int rc = zoo_create(self->handle, part, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
        if (rc != ZOK && rc != ZNODEEXISTS)
            return fail("%s", zerror(rc));
        if (!*at)
            return DONE;
    }
}
