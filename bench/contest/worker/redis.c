/* SPDX-License-Identifier: MIT */
/* SET key value NX PX, as Redis' documentation has it (https://redis.io/docs/latest/commands/set/#patterns), and, with
 * several servers, Redlock (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/).
 * way "plain"; "watchdog": a thread renews the key every third of its time; "redlock". */
#include "redis_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVERS = 8, REDLOCK_PATIENCE = 50 };

struct client {
    struct redis_link links[SERVERS];
    int count;
    long ttl;
    bool watchdog, redlock;
    char ttl_text[24];
    struct lock *locks;
};

struct lock {
    struct client *client;
    struct lock *next;
    char name[128], value[64];
    long long until; /* ours at most until then, by our clock */
    /* the watchdog's */
    pthread_t dog;
    pthread_mutex_t mutex;
    pthread_cond_t change;
    bool holding, over, lost;
};

static struct redis_script unlock = {.text = "if redis.call('get', KEYS[1]) == ARGV[1] then return "
                                             "redis.call('del', KEYS[1]) else return 0 end"};
static struct redis_script renew = {
    .text = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], "
            "ARGV[2]) else return 0 end"};

static void *open_client(const char *servers, long ttl, const char *way) {
    struct client *self = calloc(1, sizeof *self);
    self->ttl = ttl;
    self->redlock = strcmp(way, "redlock") == 0;
    self->watchdog = strcmp(way, "watchdog") == 0;
    snprintf(self->ttl_text, sizeof self->ttl_text, "%ld", ttl);
    char list[256], *rest = NULL;
    snprintf(list, sizeof list, "%s", servers);
    if (!self->redlock) {
        snprintf(self->links[self->count++].servers, sizeof self->links->servers, "%s", servers);
    } else {
        for (char *one = strtok_r(list, ",", &rest); one && self->count < SERVERS;
             one = strtok_r(NULL, ",", &rest)) {
            snprintf(self->links[self->count++].servers, sizeof self->links->servers, "%s", one);
        }
    }
    for (int i = 0; i < self->count; i++) {
        if (redis_call(&self->links[i], 3000) != DONE)
            return free(self), NULL;
    }
    return self;
}

/* ---- the watchdog ----------------------------------------------------------------------------------------------- */

static void renew_once(struct lock *self, struct redis_link *link) {
    pthread_mutex_unlock(&self->mutex);
    long long asked = now_ms();
    bool done = redis_is(
        redis_eval(link, &renew, 1, self->name, self->value, self->client->ttl_text, NULL), 1);
    pthread_mutex_lock(&self->mutex);
    if (!self->holding)
        return;
    if (done) {
        self->until = asked + self->client->ttl;
    } else if (link->context) {
        self->lost = true; /* the server said so */
    }
}

static void *watch(void *argument) {
    struct lock *self = argument;
    struct redis_link link = self->client->links[0];
    link.context = NULL;
    pthread_mutex_lock(&self->mutex);
    while (!self->over) {
        if (!self->holding) {
            pthread_cond_wait(&self->change, &self->mutex);
            continue;
        }
        if (!wait_ms(&self->change, &self->mutex, self->client->ttl / 3) && self->holding)
            renew_once(self, &link);
    }
    pthread_mutex_unlock(&self->mutex);
    redis_hang_up(&link);
    return NULL;
}

static void tell_dog(struct lock *self, bool holding, bool over) {
    pthread_mutex_lock(&self->mutex);
    self->holding = holding;
    self->over = over;
    self->lost = false;
    pthread_cond_signal(&self->change);
    pthread_mutex_unlock(&self->mutex);
}

/* ----------------------------------------------------------------------------------------------------------------- */

static void *new_lock(void *client, const char *name) {
    struct lock *self = calloc(1, sizeof *self);
    self->client = client;
    snprintf(self->name, sizeof self->name, "%s", name);
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->change, NULL);
    if (self->client->watchdog && pthread_create(&self->dog, NULL, watch, self) != 0)
        abort();
    self->next = self->client->locks;
    self->client->locks = self;
    return self;
}

static void close_client(void *client) {
    struct client *self = client;
    for (struct lock *lock = self->locks, *next; lock; lock = next) {
        next = lock->next;
        if (self->watchdog) {
            tell_dog(lock, false, true);
            pthread_join(lock->dog, NULL);
        }
        free(lock);
    }
    for (int i = 0; i < self->count; i++)
        redis_hang_up(&self->links[i]);
    free(self);
}

static enum outcome take_one(struct lock *self) {
    redisReply *reply = redis_ask(&self->client->links[0], "SET %s %s NX PX %ld", self->name,
                                  self->value, self->client->ttl);
    if (!reply)
        return FAILED;
    bool ours = reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    return ours ? DONE : LATE;
}

/* All servers at once: first everything is sent, then all answers are read. */
static int tell_all(struct lock *self, const char *format, const char *a, const char *b,
                    const char *c, const char *d) {
    struct client *client = self->client;
    bool asked[SERVERS];
    int yes = 0;
    for (int i = 0; i < client->count; i++) {
        struct redis_link *link = &client->links[i];
        asked[i] = redis_call(link, REDLOCK_PATIENCE) == DONE;
        if (!asked[i])
            continue;
        redisAppendCommand(link->context, format, a, b, c, d);
        int sent = 0;
        while (!sent && redisBufferWrite(link->context, &sent) == REDIS_OK) {
        }
    }
    for (int i = 0; i < client->count; i++) {
        redisReply *reply = NULL;
        if (!asked[i])
            continue;
        if (redisGetReply(client->links[i].context, (void **)&reply) != REDIS_OK) {
            redis_hang_up(&client->links[i]);
        } else {
            yes += (reply->type == REDIS_REPLY_STATUS) ||
                   (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1);
            freeReplyObject(reply);
        }
    }
    return yes;
}

static int unlock_all(struct lock *self) {
    return tell_all(self, "EVAL %s 1 %s %s", unlock.text, self->name, self->value, NULL);
}

/* Ours when a majority said so, and time is left; a hundredth is for the clocks' drift. */
static enum outcome take_majority(struct lock *self) {
    long long asked = now_ms();
    int yes =
        tell_all(self, "SET %s %s NX PX %s", self->name, self->value, self->client->ttl_text, NULL);
    self->until = asked + self->client->ttl - self->client->ttl / 100 - 2;
    if (yes > self->client->count / 2 && now_ms() < self->until)
        return DONE;
    unlock_all(self);
    return LATE;
}

static enum outcome acquire(void *lock, long timeout, long long *token) {
    (void)token;
    struct lock *self = lock;
    long long end = deadline(timeout);
    unique(self->value, sizeof self->value);
    while (true) {
        long long asked = now_ms();
        enum outcome outcome = self->client->redlock ? take_majority(self) : take_one(self);
        if (outcome == DONE) {
            if (!self->client->redlock)
                self->until = asked + self->client->ttl;
            if (self->client->watchdog)
                tell_dog(self, true, false);
        }
        if (outcome != LATE)
            return outcome;
        if (now_ms() >= end)
            return LATE;
        pause_until(end);
    }
}

static enum outcome release(void *lock) {
    struct lock *self = lock;
    if (self->client->watchdog)
        tell_dog(self, false, false);
    if (self->client->redlock)
        return unlock_all(self) > self->client->count / 2 ? DONE : fail("not ours on a majority");
    redisReply *reply =
        redis_eval(&self->client->links[0], &unlock, 1, self->name, self->value, NULL);
    if (!reply)
        return FAILED;
    return redis_is(reply, 1) ? DONE : fail("not ours any more");
}

/* By our own clock, as Redlock's validity time: it costs nothing, and is there for who looks. */
static int held(void *lock) {
    struct lock *self = lock;
    pthread_mutex_lock(&self->mutex);
    int sure = !self->lost && now_ms() < self->until;
    pthread_mutex_unlock(&self->mutex);
    return sure;
}

const struct peer peer = {.shared = false,
                          .open = open_client,
                          .close = close_client,
                          .lock = new_lock,
                          .acquire = acquire,
                          .release = release,
                          .held = held};
