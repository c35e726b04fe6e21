/* SPDX-License-Identifier: MIT */
#include "redis_link.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE = 1000, ARGUMENTS = 12 };

static bool is_master(redisContext *context) {
    redisReply *role = redisCommand(context, "ROLE");
    bool master = role && role->type == REDIS_REPLY_ARRAY && role->elements > 0 &&
                  strcmp(role->element[0]->str, "master") == 0;
    if (role)
        freeReplyObject(role);
    return master;
}

enum outcome redis_call(struct redis_link *self, long patience) {
    if (self->context && self->context->err)
        redis_hang_up(self);
    struct timeval time = {patience / 1000, patience % 1000 * 1000};
    if (self->context && self->patience != patience)
        redisSetTimeout(self->context, time);
    self->patience = patience;
    if (self->context)
        return DONE;
    char servers[sizeof self->servers], *rest = NULL;
    snprintf(servers, sizeof servers, "%s", self->servers);
    bool several = strchr(servers, ',') != NULL;
    for (char *host = strtok_r(servers, ",", &rest); host; host = strtok_r(NULL, ",", &rest)) {
        char *port = strchr(host, ':');
        *port++ = 0;
        redisContext *context = redisConnectWithTimeout(host, atoi(port), time);
        if (context && !context->err && redisSetTimeout(context, time) == REDIS_OK &&
            (!several || is_master(context))) {
            self->context = context;
            return DONE;
        }
        fail("%s", context && context->err ? context->errstr : "no master");
        if (context)
            redisFree(context);
    }
    return FAILED;
}

void redis_hang_up(struct redis_link *self) {
    if (self->context)
        redisFree(self->context);
    self->context = NULL;
}

/* A link that a server's end has broken is noticed only when it is used: the question is asked once more over a new one. */
static bool is_stale(struct redis_link *self, const redisReply *reply) {
    return !reply &&
           (self->context->err == REDIS_ERR_EOF ||
            (self->context->err == REDIS_ERR_IO && errno != EAGAIN)) &&
           redis_call(self, PATIENCE) == DONE;
}

static redisReply *answer(struct redis_link *self, redisReply *reply) {
    if (reply && reply->type != REDIS_REPLY_ERROR)
        return reply;
    if (!reply && !self->context) /* nobody answers there: redis_call has said why */
        return NULL;
    fail("%s", reply ? reply->str : self->context->errstr);
    if (reply)
        freeReplyObject(reply);
    if (self->context->err)
        redis_hang_up(self);
    return NULL;
}

redisReply *redis_ask(struct redis_link *self, const char *format, ...) {
    if (redis_call(self, PATIENCE) != DONE)
        return NULL;
    va_list list;
    va_start(list, format);
    redisReply *reply = redisvCommand(self->context, format, list);
    va_end(list);
    if (is_stale(self, reply)) {
        va_start(list, format);
        reply = redisvCommand(self->context, format, list);
        va_end(list);
    }
    return answer(self, reply);
}

static void learn_sha(struct redis_link *self, struct redis_script *script) {
    redisReply *reply = redisCommand(self->context, "SCRIPT LOAD %s", script->text);
    if (reply && reply->type == REDIS_REPLY_STRING)
        memcpy(script->sha, reply->str, sizeof script->sha);
    if (reply)
        freeReplyObject(reply);
}

redisReply *redis_eval(struct redis_link *self, struct redis_script *script, int keys, ...) {
    const char *words[ARGUMENTS] = {"EVALSHA"};
    char number[12];
    if (redis_call(self, PATIENCE) != DONE)
        return NULL;
    if (!*script->sha)
        learn_sha(self, script);
    if (!self->context)
        return NULL;
    snprintf(number, sizeof number, "%d", keys);
    words[1] = script->sha;
    words[2] = number;
    int count = 3;
    va_list list;
    va_start(list, keys);
    for (const char *word = va_arg(list, const char *); word && count < ARGUMENTS;
         word = va_arg(list, const char *)) {
        words[count++] = word;
    }
    va_end(list);
    redisReply *reply = redisCommandArgv(self->context, count, words, NULL);
    if (is_stale(self, reply))
        reply = redisCommandArgv(self->context, count, words, NULL);
    if (reply && reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "NOSCRIPT", 8) == 0) {
        freeReplyObject(reply);
        words[0] = "EVAL";
        words[1] = script->text;
        reply = redisCommandArgv(self->context, count, words, NULL);
    }
    return answer(self, reply);
}

bool redis_is(redisReply *reply, long long number) {
    bool is = reply && reply->type == REDIS_REPLY_INTEGER && reply->integer == number;
    if (reply)
        freeReplyObject(reply);
    return is;
}

/* ---- the watchdog ----------------------------------------------------------------------------------------------- */

static void renew_once(struct redis_dog *self) {
    pthread_mutex_unlock(&self->mutex);
    long long asked = now_ms();
    bool done = redis_is(self->renew(self->lock, &self->link), 1);
    pthread_mutex_lock(&self->mutex);
    if (!self->holding)
        return;
    if (done) {
        self->renewed = asked;
    } else if (self->link.context) { /* the server said so */
        self->lost = true;
        self->holding = false;
    }
}

static void *watch(void *argument) {
    struct redis_dog *self = argument;
    pthread_mutex_lock(&self->mutex);
    while (!self->over) {
        if (!self->holding)
            pthread_cond_wait(&self->change, &self->mutex);
        else if (!wait_ms(&self->change, &self->mutex, self->ttl / 3) && self->holding)
            renew_once(self);
    }
    pthread_mutex_unlock(&self->mutex);
    redis_hang_up(&self->link);
    return NULL;
}

void redis_dog_start(struct redis_dog *self) {
    self->link.context = NULL;
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->change, NULL);
    if (pthread_create(&self->thread, NULL, watch, self) != 0)
        abort();
}

void redis_dog_tell(struct redis_dog *self, bool holding) {
    pthread_mutex_lock(&self->mutex);
    self->holding = holding;
    self->lost = false;
    self->renewed = 0;
    pthread_cond_signal(&self->change);
    pthread_mutex_unlock(&self->mutex);
}

bool redis_dog_is_sure(struct redis_dog *self, long long until) {
    pthread_mutex_lock(&self->mutex);
    if (self->renewed && self->renewed + self->ttl > until)
        until = self->renewed + self->ttl;
    bool sure = !self->lost && now_ms() < until;
    pthread_mutex_unlock(&self->mutex);
    return sure;
}

void redis_dog_stop(struct redis_dog *self) {
    pthread_mutex_lock(&self->mutex);
    self->holding = false;
    self->over = true;
    pthread_cond_signal(&self->change);
    pthread_mutex_unlock(&self->mutex);
    pthread_join(self->thread, NULL);
}
