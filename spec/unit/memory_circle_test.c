/* SPDX-License-Identifier: MIT */
/* The search for circles of owners when memory runs out: it says so, and keeps nothing. */
#include "check.h"
#include "recipe/circle.h"
#include "scarce.h"

#define NODES 8

static zkl_standing all[NODES];

/* Of two clients each holds a lock and waits for the other's: for sure in the lines 0 and 1, and
 * in the lines 2 and 3 only if the nodes of a session are one owner's. */
static void begin(void) {
    for (size_t i = 0; i < NODES; i++) {
        const size_t line = i / 2;
        const bool waits = i % 2 != 0;
        all[i] = (zkl_standing){.line = line,
                                .place = waits,
                                .kind = ZKL_KIND_LOCK,
                                .waits = waits,
                                .owner = line < 2,
                                .session = 1 + line / 2 * 2 + (line + waits) % 2,
                                .group = (int64_t)i,
                                .pool = ZKL_NO_POOL};
    }
}

static void end(void) {
    scarce_plan(0, 0);
}

static void each_missing_piece_is_told(void) {
    unsigned failures = 0;
    for (bool complete = false; !complete; failures += !complete) {
        zkl_circles found;
        scarce_plan(failures + 1, 1);
        complete = zkl_circles_find(all, NODES, &found);
        CHECK(complete == (scarce_asked() <= failures));
        CHECK_INT(found.count, complete ? 2 : 0);
        zkl_circles_free(&found);
    }
    CHECK(failures > 2); /* the graph, the circles, and the links of each */
}

static void without_memory_nothing_is_a_circle(void) {
    unsigned failures = 0;
    for (bool closes = false; !closes; failures += !closes) {
        scarce_plan(failures + 1, 1);
        closes = zkl_circle_closes(all, NODES, 1);
        CHECK(closes == (scarce_asked() <= failures));
    }
    CHECK(failures > 0);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"each missing piece is told", each_missing_piece_is_told},
        {"without memory nothing is a circle", without_memory_nothing_is_a_circle},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
