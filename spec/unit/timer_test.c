/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "base/timer.h"

#include <stdlib.h>
#include <string.h>

#define MANY 200

static zkl_timers timers;
static zkl_timer pool[MANY];
static zkl_timer *fired[4 * MANY];
static size_t fired_count;
static unsigned sooner_count;

static void note_fired(zkl_timer *timer) {
    CHECK(!timer->at);
    CHECK(fired_count < sizeof fired / sizeof *fired);
    fired[fired_count++] = timer;
}

static void count_sooner(zkl_timers *t) {
    (void)t;
    sooner_count++;
}

static void begin(void) {
    memset(&timers, 0, sizeof timers);
    memset(pool, 0, sizeof pool);
    timers.sooner = count_sooner;
    for (size_t i = 0; i < MANY; i++)
        pool[i].fire = note_fired;
    fired_count = sooner_count = 0;
}

static void fires_in_order(void) {
    static const zkl_nanos at[] = {50, 10, 40, 20, 30};
    for (size_t i = 0; i < 5; i++)
        zkl_timer_set(&timers, &pool[i], at[i]);
    CHECK_INT(zkl_timers_next(&timers), 10);
    zkl_timers_run(&timers, 9);
    CHECK_INT(fired_count, 0);
    zkl_timers_run(&timers, 40);
    CHECK_INT(fired_count, 4);
    CHECK(fired[0] == &pool[1] && fired[1] == &pool[3] && fired[2] == &pool[4] &&
          fired[3] == &pool[2]);
    CHECK_INT(zkl_timers_next(&timers), 50);
}

static void never_is_no_deadline(void) {
    CHECK_INT(zkl_timers_next(&timers), ZKL_NEVER);
    zkl_timer_set(&timers, &pool[0], ZKL_NEVER);
    CHECK(!pool[0].at);
    CHECK_INT(zkl_timers_next(&timers), ZKL_NEVER);
    zkl_timer_set(&timers, &pool[0], 5);
    zkl_timer_set(&timers, &pool[0], ZKL_NEVER);
    CHECK(!pool[0].at);
    zkl_timers_run(&timers, ZKL_NEVER - 1);
    CHECK_INT(fired_count, 0);
}

static void moves_a_deadline(void) {
    zkl_timer_set(&timers, &pool[0], 10);
    zkl_timer_set(&timers, &pool[1], 20);
    zkl_timer_set(&timers, &pool[0], 30);
    zkl_timers_run(&timers, 20);
    CHECK_INT(fired_count, 1);
    CHECK(fired[0] == &pool[1]);
    zkl_timers_run(&timers, 30);
    CHECK_INT(fired_count, 2);
}

static void clearing_twice_is_fine(void) {
    zkl_timer_clear(&timers, &pool[0]);
    zkl_timer_set(&timers, &pool[0], 10);
    zkl_timer_clear(&timers, &pool[0]);
    zkl_timer_clear(&timers, &pool[0]);
    CHECK_INT(zkl_timers_next(&timers), ZKL_NEVER);
}

static void tells_when_the_first_moves_nearer(void) {
    zkl_timer_set(&timers, &pool[0], 100);
    CHECK_INT(sooner_count, 1);
    zkl_timer_set(&timers, &pool[1], 200);
    CHECK_INT(sooner_count, 1);
    zkl_timer_set(&timers, &pool[2], 50);
    CHECK_INT(sooner_count, 2);
    zkl_timer_clear(&timers, &pool[2]);
    CHECK_INT(sooner_count, 2);
}

static void what_is_over_fires_at_once(void) {
    for (size_t again = 0; again < 2; again++) { /* each is in there once */
        zkl_timer_set(&timers, &pool[0], 0);
        zkl_timer_set(&timers, &pool[1], -7);
    }
    zkl_timers_run(&timers, 1);
    CHECK_INT(fired_count, 2);
    CHECK(!timers.first);
}

/* When each was last set to fire. */
static zkl_nanos moments[sizeof pool / sizeof *pool];

static void set(zkl_timer *timer, zkl_nanos at) {
    moments[timer - pool] = at;
    zkl_timer_set(&timers, timer, at);
}

static void set_again(zkl_timer *timer) {
    note_fired(timer);
    if (fired_count < 3)
        set(timer, moments[timer - pool] + 10);
}

static void may_be_set_while_it_fires(void) {
    pool[0].fire = set_again;
    set(&pool[0], 10);
    zkl_timers_run(&timers, 20);
    CHECK_INT(fired_count, 2);
    CHECK_INT(zkl_timers_next(&timers), 30);
    zkl_timers_run(&timers, 30);
    CHECK_INT(fired_count, 3);
    CHECK(!pool[0].at);
}

static void clear_the_next(zkl_timer *timer) {
    note_fired(timer);
    zkl_timer_clear(&timers, timer + 1);
    set(timer + 2, moments[timer - pool]);
}

static void one_may_clear_and_set_others(void) {
    pool[0].fire = clear_the_next;
    set(&pool[0], 10);
    set(&pool[1], 15);
    set(&pool[2], 1000);
    zkl_timers_run(&timers, 20);
    CHECK_INT(fired_count, 2);
    CHECK(fired[1] == &pool[2]);
}

static void run_inside(zkl_timer *timer) {
    note_fired(timer);
    zkl_timers_run(&timers, moments[timer - pool] + 5);
}

static void running_inside_a_run_is_fine(void) {
    pool[0].fire = run_inside;
    for (size_t i = 0; i < 10; i++)
        set(&pool[i], 10 + (zkl_nanos)i);
    zkl_timers_run(&timers, 12);
    CHECK_INT(fired_count, 6);
}

static zkl_nanos soonest(const zkl_nanos *at) {
    zkl_nanos first = ZKL_NEVER;
    for (size_t i = 0; i < MANY; i++)
        if (at[i] < first)
            first = at[i];
    return first;
}

/* Every at timer's deadline stands in `at`; ZKL_NEVER: not at. */
static void run_and_compare(zkl_nanos *at, zkl_nanos now) {
    fired_count = 0;
    zkl_timers_run(&timers, now);
    zkl_nanos last = INT64_MIN;
    for (size_t i = 0; i < fired_count; i++) {
        const size_t which = (size_t)(fired[i] - pool);
        CHECK(at[which] <= now && at[which] >= last);
        last = at[which];
        at[which] = ZKL_NEVER;
    }
    CHECK(soonest(at) > now);
}

static void agrees_with_a_plain_list(void) {
    zkl_nanos at[MANY], now = 0;
    srandom(20240607);
    for (size_t i = 0; i < MANY; i++)
        at[i] = ZKL_NEVER;
    for (unsigned step = 0; step < 100000; step++) {
        const size_t i = (size_t)random() % MANY;
        switch (random() % 4) {
        case 0:
            zkl_timer_clear(&timers, &pool[i]);
            at[i] = ZKL_NEVER;
            break;
        case 1:
            now += random() % 20;
            run_and_compare(at, now);
            break;
        default:
            at[i] = now + random() % 1000; /* many share a moment */
            zkl_timer_set(&timers, &pool[i], at[i]);
        }
        CHECK_INT(zkl_timers_next(&timers), soonest(at));
    }
}

static void the_clock_counts_far_deadlines_as_none(void) {
    CHECK_INT(zkl_clock_after(5, 1.5), 5 + 3 * ZKL_SECOND / 2);
    CHECK_INT(zkl_clock_after(5, 0), 5);
    CHECK_INT(zkl_clock_after(5, 1e300), ZKL_NEVER);
    CHECK_INT(zkl_clock_after(5, __builtin_inf()), ZKL_NEVER);
    CHECK(zkl_clock_after(5, 3e9) < ZKL_NEVER);
    CHECK_INT(zkl_clock_duration(1.5), 3 * ZKL_SECOND / 2);
    CHECK_INT(zkl_clock_duration(0.1), ZKL_SECOND / 10); /* i386 has more digits than a double */
    CHECK_INT(zkl_clock_duration(4e-10), 1);
    CHECK_INT(zkl_clock_duration(5e-324), 1);
    CHECK_INT(zkl_clock_duration(1e300), ZKL_NEVER);
    CHECK(zkl_clock_seconds(3 * ZKL_SECOND / 2) == 1.5);
    const zkl_nanos before = zkl_clock_boot.now();
    CHECK(before > 0 && zkl_clock_boot.now() >= before);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"fires due timers, soonest first", fires_in_order},
        {"a deadline of never is none", never_is_no_deadline},
        {"setting a timer again moves it", moves_a_deadline},
        {"clearing twice is fine", clearing_twice_is_fine},
        {"tells when the soonest deadline moves nearer", tells_when_the_first_moves_nearer},
        {"a timer in the past fires at once", what_is_over_fires_at_once},
        {"a timer may be set again while it fires", may_be_set_while_it_fires},
        {"a timer may clear and set others while it fires", one_may_clear_and_set_others},
        {"a timer may run the timers while it fires", running_inside_a_run_is_fine},
        {"agrees with a plain list over random operations", agrees_with_a_plain_list},
        {"the clock takes what is too far to count for never",
         the_clock_counts_far_deadlines_as_none},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, NULL);
}
