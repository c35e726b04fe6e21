/* SPDX-License-Identifier: MIT */
/* SET key value NX PX, as Redis' documentation has it (https://redis.io/docs/latest/commands/set/#patterns), and, with
 * several servers, Redlock (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/).
 * way "plain"; "watchdog": a thread renews the key every third of its time; "redlock". */
#include "redis_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const bool peer_is_shared = false;

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
    struct redis_dog dog;
};

static struct redis_script unlock = {.text = "if redis.call('get', KEYS[1]) == ARGV[1] then return "
                                             "redis.call('del', KEYS[1]) else return 0 end"};
static struct redis_script renew = {
    .text = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], "
            "ARGV[2]) else return 0 end"};

void *peer_open(const char *servers, long ttl, const char *way) {
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

static redisReply *renew_key(void *lock, struct redis_link *link) {
    struct lock *self = lock;
    return redis_eval(link, &renew, 1, self->name, self->value, self->client->ttl_text, NULL);
}

void *peer_lock(void *client, const char *name) {
    struct lock *self = calloc(1, sizeof *self);
    self->client = client;
    snprintf(self->name, sizeof self->name, "%s", name);
    self->dog = (struct redis_dog){
        .renew = renew_key, .lock = self, .ttl = self->client->ttl, .link = self->client->links[0]};
    if (self->client->watchdog)
        redis_dog_start(&self->dog);
    self->next = self->client->locks;
    self->client->locks = self;
    return self;
}

void peer_close(void *client) {
    struct client *self = client;
    for (struct lock *lock = self->locks, *next; lock; lock = next) {
        next = lock->next;
        if (self->watchdog)
            redis_dog_stop(&lock->dog);
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

enum outcome peer_acquire(void *lock, long timeout, long long *token) {
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
                redis_dog_tell(&self->dog, true);
        }
        if (outcome != LATE)
            return outcome;
        if (now_ms() >= end)
            return LATE;
        pause_until(end);
    }
}

enum outcome peer_release(void *lock) {
    struct lock *self = lock;
    if (self->client->watchdog)
        redis_dog_tell(&self->dog, false);
    if (self->client->redlock)
        return unlock_all(self) > self->client->count / 2 ? DONE : fail("not ours on a majority");
    redisReply *reply =
        redis_eval(&self->client->links[0], &unlock, 1, self->name, self->value, NULL);
    if (!reply)
        return FAILED;
    return redis_is(reply, 1) ? DONE : fail("not ours any more");
}

/* By our own clock, as Redlock's validity time: it costs nothing, and is there for who looks. */
int peer_held(void *lock) {
    struct lock *self = lock;
    return self->client->watchdog ? redis_dog_is_sure(&self->dog, self->until)
                                  : now_ms() < self->until;
}
