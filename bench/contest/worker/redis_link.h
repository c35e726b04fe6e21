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

/* A question that only has to work: whether its answer was this number. */
bool redis_is(redisReply *reply, long long number);

#endif
