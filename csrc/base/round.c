/* SPDX-License-Identifier: MIT */
#include "base/round.h"

/* Serves at most so many, then pauses at least so long: a thousand a second. */
#define SERVED_MOST 10
#define PAUSE (ZKL_SECOND / 100)

/* The count at the beginning of the lap sets the pace. If the number that is left set it, the last
 * of many posts that leave one by one would wait longer and longer. */
static zkl_nanos pause_of(const zkl_round *round) {
    const zkl_nanos pause = round->period / (zkl_nanos)round->lap;
    return pause < PAUSE ? PAUSE : pause;
}

/* How many posts to serve after each pause. */
static size_t due(const zkl_round *round) {
    const size_t pauses = (size_t)(round->period / pause_of(round));
    const size_t all = (round->lap + pauses - 1) / pauses;
    return all < SERVED_MOST ? all : SERVED_MOST;
}

static void begin_lap(zkl_round *round) {
    round->lap = round->left = round->count;
}

static void wake(zkl_round *round, zkl_nanos pause) {
    zkl_timer_set(round->timers, &round->timer, round->clock->now() + pause);
}

static zkl_post *rotate(zkl_round *round) {
    zkl_post *post = ZKL_FIRST(&round->posts, zkl_post, item);
    zkl_list_remove(&round->posts, &post->item);
    zkl_list_append(&round->posts, &post->item);
    round->left -= round->left > 0;
    return post;
}

/* To serve a post may make any post leave the round, including that one. */
static void walk(zkl_timer *timer) {
    zkl_round *round = ZKL_CONTAINER_OF(timer, zkl_round, timer);
    zkl_nanos cost = 0;
    for (size_t served = due(round); served > 0 && round->count && cost < PAUSE; served--) {
        const zkl_nanos one = round->serve(rotate(round));
        if (one == ZKL_NEVER)
            return; /* the next zkl_round_add wakes the round */
        cost += one;
    }
    if (!round->count)
        return;
    if (!round->left)
        begin_lap(round);
    wake(round, cost > pause_of(round) ? cost : pause_of(round));
}

void zkl_round_init(zkl_round *round, zkl_timers *timers, const zkl_clock *clock, zkl_nanos period,
                    zkl_nanos (*serve)(zkl_post *post)) {
    *round = (zkl_round){.timers = timers, .clock = clock, .period = period, .serve = serve};
    round->timer.fire = walk;
}

void zkl_round_add(zkl_round *round, zkl_post *post) {
    if (post->round != round) {
        zkl_round_leave(post);
        post->round = round;
        zkl_list_append(&round->posts, &post->item);
        round->count++;
    }
    if (!round->timer.at) {
        begin_lap(round);
        wake(round, pause_of(round));
    }
}

void zkl_round_leave(zkl_post *post) {
    zkl_round *round = post->round;
    if (!round)
        return;
    zkl_list_remove(&round->posts, &post->item);
    post->round = NULL;
    if (--round->count == 0)
        zkl_timer_clear(round->timers, &round->timer);
}
