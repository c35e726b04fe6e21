/* SPDX-License-Identifier: MIT */
#include "recipe/throttle.h"

#include "base/backoff.h"

#include <stdbool.h>

#define PAUSE_FIRST (ZKL_SECOND / 10)
/* 2^32 divided by the golden ratio: multiples of this, modulo 2^32, lie evenly, however many there
 * are. */
#define STEP 2654435769U
/* The soonest place in a pause, as a part of it. */
#define SOONEST 10
/* With more refusals for each answer, the pause is too short for so many lines. */
#define REFUSALS_MOST 3

static void next_round(zkl_throttle *throttle, zkl_nanos now) {
    const bool enough = throttle->refused <= REFUSALS_MOST * throttle->passed;
    /* A request waits in the server before it is refused, perhaps for longer than the pause. */
    if (now >= throttle->until + throttle->pause + (enough ? 0 : ZKL_THROTTLE_MOST))
        throttle->pause = 0; /* nothing was refused for a while */
    if (throttle->pause == 0 || !enough)
        zkl_backoff(&throttle->pause, PAUSE_FIRST, ZKL_THROTTLE_MOST);
    else if (throttle->pause > PAUSE_FIRST)
        throttle->pause /= 2;
    throttle->until = now + throttle->pause;
    throttle->refused = throttle->passed = 0;
}

zkl_nanos zkl_throttle_refused(zkl_throttle *throttle, zkl_nanos now) {
    if (now >= throttle->until)
        next_round(throttle, now);
    throttle->refused++;
    const zkl_nanos place = throttle->places++ * STEP >> 16;
    const zkl_nanos room = throttle->pause - throttle->pause / SOONEST;
    return now + throttle->pause - room * place / 65536;
}

void zkl_throttle_served(zkl_throttle *throttle) {
    throttle->passed++;
}
