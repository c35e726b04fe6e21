/* SPDX-License-Identifier: MIT */
/* For how long writes are gathered. */
#include "check.h"
#include "recipe/pace.h"

#define MS (ZKL_SECOND / 1000)

static void nothing_is_gathered_before_anything_was_measured(void) {
    const zkl_pace pace = {0};
    CHECK_INT(zkl_pace_gap(&pace), 0);
}

static void a_twentieth_of_a_steady_round_trip(void) {
    zkl_pace pace = {0};
    for (int i = 0; i < 20; i++)
        zkl_pace_measured(&pace, 20 * MS, i * MS);
    CHECK_INT(zkl_pace_gap(&pace), MS);
}

static void a_quarter_of_what_busy_servers_take_longer(void) {
    zkl_pace pace = {0};
    zkl_pace_measured(&pace, 2 * MS, 0);
    for (int i = 0; i < 200; i++)
        zkl_pace_measured(&pace, 10 * MS, i * MS);
    const zkl_nanos gap = zkl_pace_gap(&pace);
    CHECK(gap > 2 * MS && gap <= MS / 10 + 2 * MS);
}

static void never_for_more_than_ten_milliseconds(void) {
    zkl_pace pace = {0};
    zkl_pace_measured(&pace, MS, 0);
    for (int i = 0; i < 100; i++)
        zkl_pace_measured(&pace, ZKL_SECOND, i * MS);
    CHECK_INT(zkl_pace_gap(&pace), 10 * MS);
    pace = (zkl_pace){0};
    zkl_pace_measured(&pace, ZKL_SECOND, 0);
    CHECK_INT(zkl_pace_gap(&pace), 10 * MS);
}

static void one_slow_answer_counts_little(void) {
    zkl_pace pace = {0};
    for (int i = 0; i < 20; i++)
        zkl_pace_measured(&pace, 2 * MS, i * MS);
    zkl_pace_measured(&pace, 10 * MS, 20 * MS);
    CHECK_INT(zkl_pace_gap(&pace), MS / 10 + MS / 4);
}

static void a_shortest_round_trip_is_forgotten_after_two_windows(void) {
    zkl_pace pace = {0};
    zkl_pace_measured(&pace, 2 * MS, ZKL_PACE_WINDOW);
    for (zkl_nanos now = ZKL_PACE_WINDOW; now < 2 * ZKL_PACE_WINDOW; now += ZKL_SECOND / 10)
        zkl_pace_measured(&pace, 20 * MS, now);
    zkl_pace_measured(&pace, 20 * MS, 2 * ZKL_PACE_WINDOW);
    CHECK(zkl_pace_gap(&pace) > 4 * MS); /* it counts still */
    zkl_pace_measured(&pace, 20 * MS, 3 * ZKL_PACE_WINDOW);
    CHECK(zkl_pace_gap(&pace) <= MS + MS / 100);
}

static void after_a_long_pause_it_begins_anew(void) {
    zkl_pace pace = {0};
    for (int i = 0; i < 100; i++)
        zkl_pace_measured(&pace, i ? 30 * MS : MS, ZKL_PACE_WINDOW + i);
    CHECK(zkl_pace_gap(&pace) > MS);
    zkl_pace_measured(&pace, 2 * MS, 3 * ZKL_PACE_WINDOW);
    CHECK_INT(zkl_pace_gap(&pace), MS / 10);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"nothing is gathered before anything was measured",
         nothing_is_gathered_before_anything_was_measured},
        {"gathers for a twentieth of a steady round trip", a_twentieth_of_a_steady_round_trip},
        {"gathers for a quarter of what busy servers take longer",
         a_quarter_of_what_busy_servers_take_longer},
        {"never gathers for more than ten milliseconds", never_for_more_than_ten_milliseconds},
        {"one slow answer counts little", one_slow_answer_counts_little},
        {"the shortest round trip is forgotten after two windows",
         a_shortest_round_trip_is_forgotten_after_two_windows},
        {"after a long pause it begins anew", after_a_long_pause_it_begins_anew},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
