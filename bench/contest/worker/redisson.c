/* SPDX-License-Identifier: MIT */
/* Redisson's way (https://redisson.pro/docs/data-and-services/locks-and-synchronizers/), which Debian does not have, over
 * hiredis: a hash with the owner's count, a script for each step, waiters that a message wakes, a watchdog that renews
 * every third of the time, a token as its RFencedLock has. way "fair": waiters stand in a list. */
#include "redis_link.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const bool peer_is_shared = false;

struct client {
    struct redis_link link;
    long ttl;
    char ttl_text[24];
    bool fair;
    struct lock *locks;
};

struct lock {
    struct client *client;
    struct lock *next;
    char name[128], owner[64], channel[256], token_name[160], queue[160], timeouts[160];
    struct redis_link news; /* the messages' link, made when first waited for */
    struct redis_dog dog;
};

/* Each gives { 1, token } when taken, { 0, milliseconds } otherwise: after which to look again, should no message come. */
static struct redis_script take = {
    .text = "local mine = redis.call('hexists', KEYS[1], ARGV[1]) == 1 "
            "if not mine and redis.call('exists', KEYS[1]) == 1 then "
            "  return { 0, redis.call('pttl', KEYS[1]) } "
            "end "
            "redis.call('hincrby', KEYS[1], ARGV[1], 1) "
            "redis.call('pexpire', KEYS[1], ARGV[2]) "
            "if mine then return { 1, tonumber(redis.call('get', KEYS[2])) } end "
            "return { 1, redis.call('incr', KEYS[2]) }"};

/* KEYS: lock, token, queue, timeouts; ARGV: owner, ttl, now, how long a silent waiter keeps its place. */
static struct redis_script take_in_turn = {
    .text =
        "while true do "
        "  local first = redis.call('lindex', KEYS[3], 0) "
        "  if not first then break end "
        "  local till = tonumber(redis.call('zscore', KEYS[4], first) or 0) "
        "  if till > tonumber(ARGV[3]) then break end "
        "  redis.call('zrem', KEYS[4], first) redis.call('lpop', KEYS[3]) "
        "end "
        "local mine = redis.call('hexists', KEYS[1], ARGV[1]) == 1 "
        "local first = redis.call('lindex', KEYS[3], 0) "
        "if mine or redis.call('exists', KEYS[1]) == 0 and (not first or first == ARGV[1]) then "
        "  if first == ARGV[1] then redis.call('lpop', KEYS[3]) redis.call('zrem', KEYS[4], "
        "ARGV[1]) end "
        "  redis.call('hincrby', KEYS[1], ARGV[1], 1) "
        "  redis.call('pexpire', KEYS[1], ARGV[2]) "
        "  if mine then return { 1, tonumber(redis.call('get', KEYS[2])) } end "
        "  return { 1, redis.call('incr', KEYS[2]) } "
        "end "
        "if not redis.call('zscore', KEYS[4], ARGV[1]) then redis.call('rpush', KEYS[3], ARGV[1]) "
        "end "
        "redis.call('zadd', KEYS[4], ARGV[3] + ARGV[4], ARGV[1]) "
        "local left = redis.call('pttl', KEYS[1]) "
        "return { 0, left > 0 and left or 100 }"};

/* Wakes all who wait, or the first in line: KEYS: lock, queue; ARGV: owner, channel. */
static struct redis_script give = {
    .text = "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return -1 end "
            "if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then return 0 end "
            "redis.call('del', KEYS[1]) "
            "local first = redis.call('lindex', KEYS[2], 0) "
            "redis.call('publish', ARGV[2] .. (first and ':' .. first or ''), 'free') "
            "return 1"};

static struct redis_script renew = {
    .text = "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end "
            "return redis.call('pexpire', KEYS[1], ARGV[2])"};

static struct redis_script leave = {.text = "redis.call('zrem', KEYS[2], ARGV[1]) "
                                            "return redis.call('lrem', KEYS[1], 0, ARGV[1])"};

void *peer_open(const char *servers, long ttl, const char *way) {
    struct client *self = calloc(1, sizeof *self);
    self->ttl = ttl;
    self->fair = strcmp(way, "fair") == 0;
    snprintf(self->ttl_text, sizeof self->ttl_text, "%ld", ttl);
    snprintf(self->link.servers, sizeof self->link.servers, "%s", servers);
    if (redis_call(&self->link, 1000) != DONE)
        return free(self), NULL;
    return self;
}

static redisReply *renew_hash(void *lock, struct redis_link *link) {
    struct lock *self = lock;
    return redis_eval(link, &renew, 1, self->name, self->owner, self->client->ttl_text, NULL);
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

static const char *own_channel(struct lock *self) {
    static _Thread_local char text[400];
    snprintf(text, sizeof text, self->client->fair ? "%s:%s" : "%s", self->channel, self->owner);
    return text;
}

/* Messages of an earlier time, and the answer to UNSUBSCRIBE, may stand before the answer. */
static enum outcome subscribe(struct lock *self) {
    redisReply *reply = redis_ask(&self->news, "SUBSCRIBE %s", own_channel(self));
    while (reply) {
        bool done =
            reply->type == REDIS_REPLY_ARRAY && strcmp(reply->element[0]->str, "subscribe") == 0;
        freeReplyObject(reply);
        reply = NULL;
        if (done)
            return DONE;
        if (redisGetReply(self->news.context, (void **)&reply) != REDIS_OK)
            redis_hang_up(&self->news);
    }
    return FAILED;
}

/* Nobody waits for the answer, as in Redisson. */
static void unsubscribe(struct lock *self) {
    int sent = 0;
    if (!self->news.context)
        return;
    redisAppendCommand(self->news.context, "UNSUBSCRIBE %s", own_channel(self));
    while (!sent) {
        if (redisBufferWrite(self->news.context, &sent) != REDIS_OK)
            return redis_hang_up(&self->news);
    }
}

/* Until a message comes, at most so long. */
static void await_news(struct lock *self, long long ms) {
    redisContext *context = self->news.context;
    void *reply = NULL;
    if (!context)
        return sleep_ms(ms < 50 ? (long)ms : 50);
    if (redisGetReplyFromReader(context, &reply) == REDIS_OK && !reply) {
        struct pollfd one = {.fd = context->fd, .events = POLLIN};
        if (poll(&one, 1, (int)ms) <= 0)
            return;
        if (redisBufferRead(context) != REDIS_OK)
            return redis_hang_up(&self->news);
        if (redisGetReplyFromReader(context, &reply) != REDIS_OK)
            return redis_hang_up(&self->news);
    }
    if (reply) {
        woken();
        freeReplyObject(reply);
    }
}

/* ----------------------------------------------------------------------------------------------------------------- */

void *peer_lock(void *client, const char *name) {
    struct lock *self = calloc(1, sizeof *self);
    self->client = client;
    self->news = self->client->link;
    self->news.context = NULL;
    snprintf(self->name, sizeof self->name, "%s", name);
    snprintf(self->channel, sizeof self->channel, "redisson_lock__channel:{%s}", name);
    snprintf(self->token_name, sizeof self->token_name, "{%s}:token", name);
    snprintf(self->queue, sizeof self->queue, "{%s}:queue", name);
    snprintf(self->timeouts, sizeof self->timeouts, "{%s}:timeouts", name);
    unique(self->owner, sizeof self->owner);
    self->dog = (struct redis_dog){
        .renew = renew_hash, .lock = self, .ttl = self->client->ttl, .link = self->client->link};
    redis_dog_start(&self->dog);
    self->next = self->client->locks;
    self->client->locks = self;
    return self;
}

void peer_close(void *client) {
    struct client *self = client;
    for (struct lock *lock = self->locks, *next; lock; lock = next) {
        next = lock->next;
        redis_dog_stop(&lock->dog);
        redis_hang_up(&lock->news);
        free(lock);
    }
    redis_hang_up(&self->link);
    free(self);
}

/* left: milliseconds until the holder's key would expire */
static enum outcome try(struct lock *self, long long *token, long long *left) {
    char now[24];
    snprintf(now, sizeof now, "%lld", now_ms());
    redisReply *reply =
        self->client->fair ? redis_eval(&self->client->link, &take_in_turn, 4, self->name,
                                        self->token_name, self->queue, self->timeouts, self->owner,
                                        self->client->ttl_text, now, "5000", NULL)
                           : redis_eval(&self->client->link, &take, 2, self->name, self->token_name,
                                        self->owner, self->client->ttl_text, NULL);
    if (!reply)
        return FAILED;
    bool taken = reply->element[0]->integer == 1;
    *(taken ? token : left) = reply->element[1]->integer;
    freeReplyObject(reply);
    return taken ? DONE : LATE;
}

static enum outcome wait_for(struct lock *self, long long end, long long *token) {
    long long left = 0;
    while (true) {
        enum outcome outcome = try(self, token, &left);
        long long rest = end - now_ms();
        if (outcome != LATE || rest <= 0)
            return outcome;
        if (!self->news.context && subscribe(self) != DONE)
            return FAILED;
        await_news(self, left < 0 ? 1 : left < rest ? left + 1 : rest);
    }
}

enum outcome peer_acquire(void *lock, long timeout, long long *token) {
    struct lock *self = lock;
    long long end = deadline(timeout), left;
    enum outcome outcome = try(self, token, &left);
    if (outcome == LATE && timeout != 0) {
        if (subscribe(self) != DONE)
            return FAILED;
        outcome = wait_for(self, end, token);
        unsubscribe(self);
    }
    if (outcome == LATE && self->client->fair) {
        redisReply *reply = redis_eval(&self->client->link, &leave, 2, self->queue, self->timeouts,
                                       self->owner, NULL);
        if (reply)
            freeReplyObject(reply);
    }
    if (outcome == DONE)
        redis_dog_tell(&self->dog, true);
    return outcome;
}

enum outcome peer_release(void *lock) {
    struct lock *self = lock;
    redisReply *reply = redis_eval(&self->client->link, &give, 2, self->name, self->queue,
                                   self->owner, self->channel, NULL);
    if (!reply)
        return FAILED;
    long long count = reply->integer;
    freeReplyObject(reply);
    if (count != 0)
        redis_dog_tell(&self->dog, false);
    return count >= 0 ? DONE : fail("not ours any more");
}

/* isHeldByCurrentThread() asks the server. */
int peer_held(void *lock) {
    struct lock *self = lock;
    return redis_is(redis_ask(&self->client->link, "HEXISTS %s %s", self->name, self->owner), 1);
}
