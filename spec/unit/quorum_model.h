/* SPDX-License-Identifier: MIT */
/* quorum_model: one session, seen from both sides: a client with its heart, and the servers that
 * may end it. Time goes in grains; what is on its way arrives in order, but as late as a schedule
 * of faults wants: links that are slow, processes that are stopped, a follower that dies, a leader
 * that is deposed. A schedule is a number.
 *
 * docs/promises.md describes what the servers do. The leader is the worst that the rule allows
 * for: a session of two ticks, a ping every half tick and some late, sessions ended as soon as can
 * be after a stop. */
#ifndef QUORUM_MODEL_H
#define QUORUM_MODEL_H

#include "zookeeper/heart.h"

#define MODEL_TIMEOUT (INT64_C(9600000000)) /* T */
#define MODEL_GRAIN (MODEL_TIMEOUT / 192)
#define MODEL_TICK (MODEL_TIMEOUT / 2)

/* An answer that the client has read; for rules that a test wants to compare. */
typedef struct model_answer {
    zkl_nanos handed, answered;
    zkl_proof proof;
    unsigned connection;
} model_answer;

/* The input of a rule. */
typedef struct model_news {
    const model_answer *answers; /* all so far */
    size_t count;
    zkl_nanos now;
    zkl_nanos root; /* of the connection */
    unsigned connection;
    bool connected; /* it has just been made, and nothing is answered yet */
} model_news;

typedef struct model_rule {
    const char *name;
    /* Until when the session is believed in, if nothing was believed before; called at each answer
     * and connection. */
    zkl_nanos (*until)(const model_news *news);
    zkl_nanos believed;  /* of the running schedule */
    unsigned violations; /* schedules in which it was believed in after its end */
    unsigned first;      /* the first of them */
} model_rule;

typedef struct model_outcome {
    bool violated;    /* the heart's own validity outlived the session */
    zkl_nanos sure;   /* for how long in all it was above 0 */
    zkl_nanos lasted; /* how long the session lived */
} model_outcome;

/* The differences from one ensemble to the next. Its servers grant MODEL_TIMEOUT. */
typedef struct model_ensemble {
    zkl_nanos tick;
    zkl_nanos believed; /* how much of the timeout the client believes */
} model_ensemble;

/* The least that the rule asks for. */
#define MODEL_USUAL ((model_ensemble){MODEL_TICK, MODEL_TIMEOUT})

/* Runs one schedule; the rules are judged beside the heart, which alone decides what is sent.
 * `trace`: tell on stdout. */
model_outcome model_run(unsigned schedule, model_ensemble ensemble, model_rule *rules, size_t count,
                        bool trace);

#endif
