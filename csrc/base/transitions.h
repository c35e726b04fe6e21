/* SPDX-License-Identifier: MIT */
/* transitions: tables of the legal changes of state, and a trace of the changes that are made. In
 * builds with ZKL_CHECK a change that is not in its table is printed on stderr, and the process
 * aborts. If the environment variable ZKL_TRANSITIONS names a file, such builds also write each
 * legal change, and each change that is made, once into that file (make coverage). */
#ifndef ZKL_TRANSITIONS_H
#define ZKL_TRANSITIONS_H

#include <stdint.h>

#define ZKL_TRANSITIONS_STATES 33

/* The set that contains one state. */
#define ZKL_TO(state) (UINT64_C(1) << (state))

typedef struct zkl_transition {
    unsigned from, to;
} zkl_transition;

/* The object that changes, for a reader of the trace. */
typedef struct zkl_subject {
    uint64_t number;    /* the host's; 0: it has none */
    const char *path;   /* of a lock; NULL: none */
    const char *node;   /* a child of that path; NULL: none */
    const char *result; /* of a wait or a hold that ends; NULL: none ends */
    int64_t token;      /* of a hold that begins; else 0 */
} zkl_subject;

/* One table for each kind of object that has states. */
typedef struct zkl_transitions {
    const char *of;
    const char *names[ZKL_TRANSITIONS_STATES]; /* of the states; NULL: no such state */
    uint64_t legal[ZKL_TRANSITIONS_STATES];    /* by state: the set of states that may follow */
    /* fills in what is known about the object, for the trace; NULL: it needs no more than `of` */
    void (*describe)(const void *object, zkl_transition move, zkl_subject *subject);
    _Atomic uint64_t made[ZKL_TRANSITIONS_STATES];
} zkl_transitions;

/* Gets each change. The subject is valid only during the call. */
typedef struct zkl_trace zkl_trace;
struct zkl_trace {
    void (*changed)(zkl_trace *trace, const zkl_transitions *of, zkl_transition move,
                    const zkl_subject *subject);
};

void zkl_transitions_check(zkl_transitions *transitions, zkl_transition move);
/* cold: the compiler keeps the call out of the way of code that is not traced. It would build a
 * zkl_transition before it looks at `trace`. */
void zkl_transitions_trace(const zkl_transitions *transitions, unsigned from, unsigned to,
                           zkl_trace *trace, const void *object) __attribute__((cold));

/* Called before each change, also before one to the same state. `trace` is NULL while nobody
 * traces: then a release build does nothing else. */
static inline void zkl_transitions_make(zkl_transitions *transitions, zkl_transition move,
                                        zkl_trace *trace, const void *object) {
#ifdef ZKL_CHECK
    zkl_transitions_check(transitions, move);
#endif
    if (trace)
        zkl_transitions_trace(transitions, move.from, move.to, trace, object);
}

#endif
