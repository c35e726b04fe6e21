/* SPDX-License-Identifier: MIT */
/* memory_world: lines whose allocations fail. In every scenario each one in turn, alone and with
 * all that come after it. Whatever that does: who joined is answered, who waits is served when
 * there is memory again, and nothing is left. A failure prints the allocation. */
#ifndef MEMORY_WORLD_H
#define MEMORY_WORLD_H

#include "fake_world.h"

#define MEMORY_LATER 1e12
#define MEMORY_DRY 1000000 /* allocations in a row: all */

/* The objects that a scenario has begun, and its possible effects on callers. */
typedef struct memory_scenario {
    bool upset;   /* it takes holds away */
    bool several; /* places that are one: one that cannot be entered later ends them all */
    const fake_caller *asked_for[2];
    zkl_query *query;
    zkl_node_request *requests[FAKE_NODE_REQUESTS]; /* of one, by tag; NULL: it had no memory */
    size_t node_request_count;
    zkl_node_watch *view;
} memory_scenario;

extern memory_scenario memory;

void memory_begin(void);
void memory_end(void);

/* Of a caller that may be NULL, for want of memory; the first if it holds. */
void memory_release(fake_caller *caller);
void memory_cancel(fake_caller *caller);
void memory_drop(fake_caller *caller);
const char *memory_node_of(fake_caller *caller);

/* Runs the scenario again and again, until it asks for less than what is to fail: the first
 * allocation, the second, and so on, each time `count` of them. */
void memory_sweep(void (*before)(void), void (*scenario)(void), unsigned count);
void memory_nothing(void);

#define SCENARIO(name) SCENARIO_WHEN(memory_nothing, name)
#define SCENARIO_WHEN(before, name)                                                                \
    static void name##_but_for_one(void) {                                                         \
        memory_sweep(before, name, 1);                                                             \
    }                                                                                              \
    static void name##_with_none_left(void) {                                                      \
        memory_sweep(before, name, MEMORY_DRY);                                                    \
    }
#define CASES(text, name)                                                                          \
    {text ", and one allocation fails", name##_but_for_one}, {                                     \
        text ", and memory runs out", name##_with_none_left                                        \
    }

#endif
