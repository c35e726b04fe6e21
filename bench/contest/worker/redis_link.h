/* SPDX-License-Identifier: MIT */
/* A link to a Redis server that is made again when it breaks. Not for several threads at a time. */
#ifndef REDIS_LINK_H
#define REDIS_LINK_H

#include <hiredis/hiredis.h>

#include "worker.h"

struct redis_link {
    char servers
        [256]; /* HOST:PORT,...: the first that answers and is no replica, as Sentinel would say */
    redisContext *context;
    long patience; /* the last one */
};

/* Connects if there is no link; patience: what a command may take, in milliseconds. */
enum outcome redis_call(struct redis_link *link, long patience);
void redis_hang_up(struct redis_link *link);

/* Asks, having called if necessary; NULL after fail(). The caller frees the reply. */
redisReply *redis_ask(struct redis_link *link, const char *format, ...);

/* The same with EVALSHA, and EVAL where the server does not know the script; counted, NULL-ended arguments. */
struct redis_script {
    const char *text;
    char sha[41];
};
redisReply *redis_eval(struct redis_link *link, struct redis_script *script, int keys, ...);

/* A thread that renews a hold every third of its time, over a link of its own. The user sets the first four. */
struct redis_dog {
    redisReply *(*renew)(void *lock,
                         struct redis_link *link); /* 1: it has; else it is not ours any more */
    void *lock;
    long ttl;
    struct redis_link link;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t change;
    bool holding, over, lost;
    long long renewed; /* when it was asked to for the last time; 0: not in this hold */
};
void redis_dog_start(struct redis_dog *dog);
void redis_dog_tell(struct redis_dog *dog, bool holding);
/* Whether it is held for sure: until then, or a while longer if it was renewed. */
bool redis_dog_is_sure(struct redis_dog *dog, long long until);
void redis_dog_stop(struct redis_dog *dog);

/* A question that only has to work: whether its answer was this number. */
bool redis_is(redisReply *reply, long long number);

#endif
