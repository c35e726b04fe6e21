/* SPDX-License-Identifier: MIT */
/* round: serves its posts in turn, each about once in a period, or less often if there are too many
 * for the pace. Runs under the client's mutex. No step takes longer when the round has more
 * posts. */
#ifndef ZKL_ROUND_H
#define ZKL_ROUND_H

#include "base/list.h"
#include "base/timer.h"

#include <stddef.h>

typedef struct zkl_round zkl_round;

/* Part of the object that is served. It must leave the round before that object is freed. */
typedef struct zkl_post {
    zkl_list_item item;
    zkl_round *round; /* NULL: in no round */
} zkl_post;

struct zkl_round {
    zkl_timers *timers;
    const zkl_clock *clock;
    zkl_nanos period;
    /* Returns the cost of serving, as the pause to make after it. ZKL_NEVER: it cannot be served
     * now, and the round rests until a post is added, perhaps the same one. */
    zkl_nanos (*serve)(zkl_post *post);

    zkl_list posts; /* in the order of their turns */
    size_t count;
    size_t lap;  /* how many posts there were when the current lap began: that sets the pace */
    size_t left; /* how many are left in this lap */
    zkl_timer timer;
};

void zkl_round_init(zkl_round *round, zkl_timers *timers, const zkl_clock *clock, zkl_nanos period,
                    zkl_nanos (*serve)(zkl_post *post));
/* Adds the post at the end. If it is in the round already, it keeps its turn; if it is in another
 * round, it leaves that one. */
void zkl_round_add(zkl_round *round, zkl_post *post);
/* Does nothing if the post is in no round. */
void zkl_round_leave(zkl_post *post);

#endif
