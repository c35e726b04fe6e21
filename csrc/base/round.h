/* round: those who are served in turn, at a pace: each about once in a period, or, when they are
 * many, as often as the pace allows. Everything is under the client's mutex; no step is longer when
 * more are in it. */
#ifndef ZKL_ROUND_H
#define ZKL_ROUND_H

#include "base/list.h"
#include "base/timer.h"

#include <stddef.h>

typedef struct zkl_round zkl_round;

/* Lives inside what is served, and must leave the round before that is freed. */
typedef struct zkl_post {
    zkl_list_item item;
    zkl_round *round; /* NULL: in none */
} zkl_post;

struct zkl_round {
    zkl_timers *timers;
    const zkl_clock *clock;
    zkl_nanos period;
    /* The cost of serving, as a pause that it is worth; ZKL_NEVER: it cannot be done now. Then the
     * round rests until somebody is added to it, or is added again. */
    zkl_nanos (*serve)(zkl_post *post);

    zkl_list posts; /* in the order of their turns */
    size_t count;
    size_t lap;  /* how many there were when the current lap began: that sets the pace */
    size_t left; /* how many are still to be served in it */
    zkl_timer timer;
};

void zkl_round_init(zkl_round *round, zkl_timers *timers, const zkl_clock *clock, zkl_nanos period,
                    zkl_nanos (*serve)(zkl_post *post));
/* At the end. One that is in it already keeps its turn; one that is in another round leaves
 * that. */
void zkl_round_add(zkl_round *round, zkl_post *post);
/* Does nothing to one that is in none. */
void zkl_round_leave(zkl_post *post);

#endif
