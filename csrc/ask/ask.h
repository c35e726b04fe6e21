/* SPDX-License-Identifier: MIT */
/* ask: a question of the host that one answer ends: a query, a node request, or the mark of a
 * mutex. They share their life, the deadline and the answer; each kind adds a table of steps.
 * docs/internals/invariants.md compares the kinds. Under the client's mutex. */
#ifndef ZKL_ASK_H
#define ZKL_ASK_H

#include "base/event.h"
#include "base/list.h"
#include "base/timer.h"
#include "port/context.h"

typedef struct zkl_ask zkl_ask;

/* The questions of some kinds, in order of arrival. */
typedef struct zkl_asks {
    zkl_context *context;
    const _Atomic zkl_state *state; /* the session's */
    zkl_list due;                   /* DUE */
    zkl_list open;                  /* OPEN */
} zkl_asks;

/* The steps of a kind. */
typedef struct zkl_ask_call {
    /* The question is DUE from now on. */
    void (*begin)(zkl_ask *ask);
    /* The end of a step, while it is DUE. */
    void (*step)(zkl_ask *ask);
    /* The answer when nobody waits for a better one; `status` says why. NULL: `status`. */
    zkl_status (*give_up)(const zkl_ask *ask, zkl_status status);
    /* It ends: drops its requests. Returns the answer, which is `status` or a more exact one. */
    zkl_status (*end)(zkl_ask *ask, zkl_status status);
    /* Frees it, whatever its stage. */
    void (*free)(zkl_ask *ask);
} zkl_ask_call;

/* The end of a step goes on with one that is DUE, the answer to its request with one that is OPEN.
 * Both end at the deadline. */
typedef enum zkl_ask_stage { ZKL_ASK_DONE, ZKL_ASK_DUE, ZKL_ASK_OPEN } zkl_ask_stage;

/* The first part of a question. */
struct zkl_ask {
    zkl_asks *all;
    const zkl_ask_call *call;
    zkl_list_item item;  /* all->due or all->open */
    zkl_ask_stage stage; /* DONE before it starts, too */
    bool once;           /* a single try: it needs a link, and has no deadline */
    zkl_contender *held; /* the hold that it is about; NULL: none, or it is gone */
    zkl_timer deadline;
    zkl_notice answer;
    /* Called instead of posting the answer. In the middle of a step, so it may only note it. */
    void (*told)(void *of, zkl_status status);
    void *of;
};

/* `ask` is all zeros. */
void zkl_ask_init(zkl_ask *ask, zkl_asks *all, const zkl_ask_call *call, uint64_t tag);
void zkl_ask_start(zkl_ask *ask, zkl_nanos deadline);
/* At any moment; without an answer. */
void zkl_ask_free(zkl_ask *ask);

void zkl_ask_set_stage(zkl_ask *ask, zkl_ask_stage to);
/* Ends it, unless it has ended. */
void zkl_ask_answer(zkl_ask *ask, zkl_status status);
/* The same for one whose result is not known: `status` says why. */
void zkl_ask_give_up(zkl_ask *ask, zkl_status status);
/* Ends it if the servers have refused the client, or if it is a single try without a link. true: it
 * has ended. */
bool zkl_ask_end_unreached(zkl_ask *ask);

/* Goes on with those that are due: near the end of every step. */
void zkl_asks_step(zkl_asks *all);
/* Gives all up. */
void zkl_asks_give_up(zkl_asks *all, zkl_status status);
/* The contender is about to be freed. */
void zkl_asks_forget(zkl_asks *all, const zkl_contender *held);

#endif
