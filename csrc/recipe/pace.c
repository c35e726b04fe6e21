/* SPDX-License-Identifier: MIT */
#include "recipe/pace.h"

/* The weight of one round trip among the others. */
#define WEIGHT 8
/* The gap as a part of a round trip when the servers are quick; and as a part of what they take
 * more than that, because they have much to do. */
#define OF_LEAST 20
#define OF_EXCESS 4

static void turn_window(zkl_pace *pace, zkl_nanos now) {
    if (now < pace->begun + ZKL_PACE_WINDOW)
        return;
    const bool recent = now < pace->begun + 2 * ZKL_PACE_WINDOW;
    *pace = (zkl_pace){
        .former = recent ? pace->least : 0,
        .smoothed = recent ? pace->smoothed : 0,
        .begun = now,
    };
}

void zkl_pace_measured(zkl_pace *pace, zkl_nanos took, zkl_nanos now) {
    turn_window(pace, now);
    if (took < 1)
        took = 1;
    if (!pace->least || took < pace->least)
        pace->least = took;
    if (!pace->smoothed)
        pace->smoothed = took;
    else
        pace->smoothed += (took - pace->smoothed) / WEIGHT;
}

zkl_nanos zkl_pace_least(const zkl_pace *pace) {
    const bool older = pace->former && (!pace->least || pace->former < pace->least);
    return older ? pace->former : pace->least;
}

zkl_nanos zkl_pace_gap(const zkl_pace *pace) {
    const zkl_nanos least = zkl_pace_least(pace);
    const zkl_nanos excess = pace->smoothed > least ? pace->smoothed - least : 0;
    const zkl_nanos gap = least / OF_LEAST + excess / OF_EXCESS;
    return gap < ZKL_PACE_MOST ? gap : ZKL_PACE_MOST;
}
