/* SPDX-License-Identifier: MIT */
/* ZooKeeper's lock as tutorials teach it, three ways, over libzookeeper:
 *   "herd"         one ephemeral node; who finds it there watches it, as all others do
 *   "children"     ephemeral sequential nodes; who is not the first watches the directory, as all others do
 *   "predecessor"  the same, but each watches the one before it: ZooKeeper's own description of the recipe
 *                  (https://zookeeper.apache.org/doc/r3.8.0/recipes.html#sc_recipes_Locks), with the GUID that it advises
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zookeeper_link.h"

const bool peer_is_shared = true;

enum way { HERD, CHILDREN, PREDECESSOR };

struct client {
    struct zookeeper_link *link;
    enum way way;
};

struct lock {
    struct client *client;
    char path[160], guid[64], node[256];
    bool made;
    long session;
    pthread_mutex_t mutex;
    pthread_cond_t change;
    long events;
};

void *peer_open(const char *servers, long ttl, const char *way) {
    struct client *self = calloc(1, sizeof *self);
    self->way = strcmp(way, "herd") == 0       ? HERD
                : strcmp(way, "children") == 0 ? CHILDREN
                                               : PREDECESSOR;
    self->link = zookeeper_open(servers, ttl);
    if (!self->link)
        return free(self), NULL;
    return self;
}

void peer_close(void *client) {
    struct client *self = client;
    zookeeper_hang_up(self->link);
    free(self);
}

void *peer_lock(void *client, const char *name) {
    struct lock *self = calloc(1, sizeof *self);
    self->client = client;
    snprintf(self->path, sizeof self->path, "/contest/%s", name);
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->change, NULL);
    return self;
}

static void watch(zhandle_t *handle, int type, int state, const char *path, void *context) {
    (void)handle, (void)state, (void)path;
    struct lock *self = context;
    if (type != ZOO_SESSION_EVENT)
        woken();
    pthread_mutex_lock(&self->mutex);
    self->events++;
    pthread_cond_signal(&self->change);
    pthread_mutex_unlock(&self->mutex);
}

/* Until something was watched since `seen`, or the time is over. */
static void await_event(struct lock *self, long seen, long long end) {
    pthread_mutex_lock(&self->mutex);
    while (self->events == seen && now_ms() < end)
        wait_ms(&self->change, &self->mutex, end - now_ms());
    pthread_mutex_unlock(&self->mutex);
}

static long events_of(struct lock *self) {
    pthread_mutex_lock(&self->mutex);
    long events = self->events;
    pthread_mutex_unlock(&self->mutex);
    return events;
}

static int by_sequence(const void *a, const void *b) {
    const char *one = *(char *const *)a, *other = *(char *const *)b;
    return strcmp(strrchr(one, '-'), strrchr(other, '-'));
}

/* The children in line; what is not of this recipe is not in it. */
static int line(struct lock *self, bool watched, struct String_vector *children) {
    int rc = zoo_wget_children(self->client->link->handle, self->path, watched ? watch : NULL, self,
                               children);
    if (rc == ZOK)
        qsort(children->data, (size_t)children->count, sizeof *children->data, by_sequence);
    return rc;
}

/* Our node, should it be there though the answer was lost. */
static void look_for_own(struct lock *self) {
    struct String_vector children = {0};
    if (line(self, false, &children) != ZOK)
        return;
    for (int i = 0; i < children.count; i++) {
        if (strncmp(children.data[i], self->guid, strlen(self->guid)) == 0) {
            snprintf(self->node, sizeof self->node, "%.159s/%.90s", self->path, children.data[i]);
        }
    }
    deallocate_String_vector(&children);
}

static int join(struct lock *self) {
    char path[256];
    struct zookeeper_link *link = self->client->link;
    bool herd = self->client->way == HERD;
    if (*self->node)
        return ZOK;
    if (!herd)
        look_for_own(self);
    if (*self->node)
        return ZOK;
    if (herd) {
        snprintf(path, sizeof path, "%.159s", self->path);
    } else {
        snprintf(path, sizeof path, "%.159s/%.64s-", self->path, self->guid);
    }
    self->session = link->sessions;
    return zoo_create(link->handle, path, self->guid, (int)strlen(self->guid), &ZOO_OPEN_ACL_UNSAFE,
                      herd ? ZOO_EPHEMERAL : ZOO_EPHEMERAL | ZOO_SEQUENCE, self->node,
                      sizeof self->node);
}

/* Ours, should the answer to its making have been lost? */
static int own_herd_node(struct lock *self, bool *ours) {
    char text[64] = "";
    int size = sizeof text - 1;
    int rc = zoo_wget(self->client->link->handle, self->path, watch, self, text, &size, NULL);
    *ours = rc == ZOK && size > 0 && strncmp(text, self->guid, strlen(self->guid)) == 0;
    return rc;
}

static int try_herd(struct lock *self, bool *taken, bool *behind) {
    int rc = join(self);
    if (rc == ZOK)
        *taken = true;
    if (rc != ZNODEEXISTS)
        return rc;
    *self->node = 0;
    bool ours = false;
    rc = own_herd_node(self, &ours);
    if (ours) {
        snprintf(self->node, sizeof self->node, "%.159s", self->path);
        *taken = true;
    }
    *behind = rc == ZOK;
    return rc == ZNONODE ? ZOK : rc;
}

static int try_line(struct lock *self, bool *taken, bool *behind) {
    int rc = join(self);
    if (rc != ZOK)
        return rc;
    struct String_vector children = {0};
    rc = line(self, self->client->way == CHILDREN, &children);
    if (rc != ZOK)
        return rc;
    int place = -1;
    for (int i = 0; i < children.count; i++) {
        if (strcmp(strrchr(self->node, '/') + 1, children.data[i]) == 0)
            place = i;
    }
    if (place < 0) {
        *self->node = 0; /* it went with an old session */
    } else if (place == 0) {
        *taken = true;
    } else if (self->client->way == CHILDREN) {
        *behind = true;
    } else {
        char path[256];
        snprintf(path, sizeof path, "%.159s/%.90s", self->path, children.data[place - 1]);
        rc = zoo_wexists(self->client->link->handle, path, watch, self, NULL);
        *behind = rc == ZOK;
        if (rc == ZNONODE)
            rc = ZOK;
    }
    deallocate_String_vector(&children);
    return rc;
}

static enum outcome leave(struct lock *self, long long end) {
    int rc;
    do {
        rc = *self->node ? zoo_delete(self->client->link->handle, self->node, -1) : ZNONODE;
        if (rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT)
            zookeeper_await(self->client->link, end);
    } while ((rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT) && now_ms() < end);
    if (rc != ZCONNECTIONLOSS && rc != ZOPERATIONTIMEOUT)
        *self->node = 0; /* else the next acquire deletes it */
    return rc == ZOK ? DONE : fail("%s", zerror(rc));
}

static enum outcome give_up(struct lock *self) {
    leave(self, now_ms() + 1000);
    return LATE;
}

enum outcome peer_acquire(void *lock, long timeout, long long *token) {
    (void)token;
    struct lock *self = lock;
    long long end = deadline(timeout);
    if (*self->node)
        leave(self, end);
    if (*self->node)
        return LATE;
    unique(self->guid, sizeof self->guid);
    while (true) {
        bool taken = false, behind = false;
        int rc = ZOK;
        long seen = events_of(self);
        if (zookeeper_await(self->client->link, timeout == 0 ? now_ms() + 1000 : end) != DONE)
            return give_up(self);
        if (!self->made) {
            const char *above = self->client->way == HERD ? "/contest" : self->path;
            if (zookeeper_make(self->client->link, above) != DONE)
                rc = ZCONNECTIONLOSS;
            self->made = rc == ZOK;
        }
        if (rc == ZOK)
            rc = (self->client->way == HERD ? try_herd : try_line)(self, &taken, &behind);
        if (taken)
            return DONE;
        bool broken = rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT || rc == ZSESSIONEXPIRED ||
                      rc == ZINVALIDSTATE;
        if (rc != ZOK && !broken)
            return fail("%s", zerror(rc));
        if (now_ms() >= end)
            return give_up(self);
        if (broken) {
            pause_until(end);
        } else if (behind) {
            await_event(self, seen, end);
        }
    }
}

enum outcome peer_release(void *lock) {
    return leave(lock, now_ms() + 1000);
}

/* The library's view of the session is all that there is. */
int peer_held(void *lock) {
    struct lock *self = lock;
    return zookeeper_is_up(self->client->link, self->session);
}
