/* round: those who are visited in turn, at a pace: each about once in a period, or, when they are many, as often as the
 * pace allows. Everything is under the client's mutex; no step is longer when more are in it. */
#ifndef ZKL_ROUND_H
#define ZKL_ROUND_H

#include "base/timer.h"

#include <stddef.h>

typedef struct zkl_round zkl_round;

/* Lives inside who is visited; it must leave before that is freed. */
typedef struct zkl_post zkl_post;
struct zkl_post {
    zkl_post *prev, *next;
    zkl_round *round; /* NULL: in none */
};

struct zkl_round {
    zkl_timers *timers;
    const zkl_clock *clock;
    zkl_nanos period;
    /* What serving costs, as a pause that it is worth; ZKL_NEVER: it cannot be done now. Then the round rests until
     * somebody is added to it, or is added again. */
    zkl_nanos (*serve)(zkl_post *post);

    zkl_post *first, *last; /* in the order of their turns */
    size_t count;
    size_t lap,
        left; /* how many there were when the lap began, and are to be visited in it: what sets the pace */
    zkl_timer timer;
};

void zkl_round_init(zkl_round *round, zkl_timers *timers, const zkl_clock *clock, zkl_nanos period,
                    zkl_nanos (*serve)(zkl_post *post));
/* At the end; one that is in it keeps its turn, one that is in another leaves that. */
void zkl_round_add(zkl_round *round, zkl_post *post);
/* Does nothing to one that is in none. */
void zkl_round_leave(zkl_post *post);

#endif
