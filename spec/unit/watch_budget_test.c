/* SPDX-License-Identifier: MIT */
/* How many bytes of watches there may be, and those who are visited in turn. */
#include "base/round.h"
#include "check.h"
#include "paths/watch_budget.h"

#include <stdio.h>
#include <string.h>

/* ---- the budget ---- */

static zkl_watch_budget budget;

static void a_watch_counts_with_its_length(void) {
    zkl_watch_budget_add(&budget, 96);
    CHECK_INT(budget.bytes, 100);
    zkl_watch_budget_add(&budget, 0);
    CHECK_INT(budget.bytes, 104);
    zkl_watch_budget_remove(&budget, 96);
    CHECK_INT(budget.bytes, 4);
}

static void fill(size_t bytes, zkl_claim claim) {
    while (budget.bytes < bytes) {
        CHECK(zkl_watch_budget_room(&budget, 96, claim));
        zkl_watch_budget_add(&budget, 96);
    }
    CHECK(!zkl_watch_budget_room(&budget, 96, claim));
}

static void whose_turn_it_is_finds_room_when_others_do_not(void) {
    budget.most = 3200;
    fill(800, ZKL_CLAIM_SECOND);
    fill(1600, ZKL_CLAIM_OWN);
    fill(3000, ZKL_CLAIM_OTHERS);
    fill(3200, ZKL_CLAIM_TURN);
}

static void none_fits_that_is_longer_than_all(void) {
    budget.most = ZKL_WATCH_BUDGET_MOST;
    CHECK(!zkl_watch_budget_room(&budget, ZKL_WATCH_BUDGET_MOST, ZKL_CLAIM_TURN));
    CHECK(zkl_watch_budget_room(&budget, ZKL_WATCH_BUDGET_MOST - 4, ZKL_CLAIM_TURN));
}

static void one_that_is_left_counts_until_it_tells(void) {
    zkl_watch_budget_add(&budget, strlen("/locks/x/y"));
    zkl_watch_budget_leave(&budget, "/locks/x", "y", false);
    zkl_watch_budget_remove(&budget, strlen("/locks/x/y"));
    CHECK_INT(budget.bytes, 14);
    zkl_watch_budget_told(&budget, "/locks/x/z", false); /* another one's, of the same length */
    zkl_watch_budget_told(&budget, "/a", false);
    zkl_watch_budget_told(&budget, "/locks/x/y", true);
    CHECK_INT(budget.bytes, 14);
    zkl_watch_budget_told(&budget, "/locks/x/y", false);
    CHECK_INT(budget.bytes, 0);
    zkl_watch_budget_told(&budget, "/locks/x/y", false);
    CHECK_INT(budget.bytes, 0);
}

static void one_that_is_left_twice_counts_once(void) {
    zkl_watch_budget_leave(&budget, "/locks/x", "y", false);
    zkl_watch_budget_leave(&budget, "/locks/x", "y", false);
    CHECK_INT(budget.bytes, 14);
    zkl_watch_budget_leave(&budget, "/locks/x/y", NULL, true); /* on children: another one */
    CHECK_INT(budget.bytes, 28);
    zkl_watch_budget_told(&budget, "/locks/x/y", false);
    CHECK_INT(budget.bytes, 14);
    zkl_watch_budget_told(&budget, "/locks/x/y", true);
    CHECK_INT(budget.bytes, 0);
    CHECK_INT(budget.left, 0);
}

static void those_that_are_left_go_with_the_handle(void) {
    zkl_watch_budget_add(&budget, 46);
    for (unsigned i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        zkl_watch_budget_leave(&budget, "/locks/x", name, false);
    }
    zkl_watch_budget_lost(&budget);
    CHECK_INT(budget.bytes, 50);
    zkl_watch_budget_told(&budget, "/locks/x/1", false);
    CHECK_INT(budget.bytes, 50);
}

/* ---- rounds ---- */

#define MANY 5000

typedef struct member {
    zkl_post post;
    unsigned visits;
    zkl_nanos latest; /* visit */
} member;

static zkl_timers timers;
static zkl_nanos now;
static zkl_round round_;
static member members[MANY];
static zkl_nanos cost;
static unsigned visits;
static bool leave_when_visited;

static zkl_nanos read_clock(void) {
    return now;
}

static const zkl_clock test_clock = {read_clock};

static zkl_nanos visit(zkl_post *post) {
    member *m = (member *)((char *)post - offsetof(member, post));
    m->visits++;
    m->latest = now;
    visits++;
    if (leave_when_visited)
        zkl_round_leave(post);
    return cost;
}

static void begin(void) {
    zkl_watch_budget_lost(&budget);
    zkl_watch_budget_init(&budget, 0);
    memset(&timers, 0, sizeof timers);
    memset(members, 0, sizeof members);
    now = 1000 * ZKL_SECOND;
    cost = 0;
    visits = 0;
    leave_when_visited = false;
    zkl_round_init(&round_, &timers, &test_clock, 10 * ZKL_SECOND, visit);
}

static void end(void) {
    for (size_t i = 0; i < MANY; i++)
        zkl_round_leave(&members[i].post);
    CHECK_INT(round_.count, 0);
    CHECK_INT(zkl_timers_next(&timers), ZKL_NEVER);
    zkl_watch_budget_lost(&budget);
}

static void add(size_t count) {
    for (size_t i = 0; i < count; i++)
        zkl_round_add(&round_, &members[i].post);
    CHECK_INT(round_.count, count);
}

/* Runs the timers for so long; each step is a small one. */
static void run(double seconds) {
    const zkl_nanos until = now + (zkl_nanos)(seconds * 1e9);
    while (zkl_timers_next(&timers) <= until) {
        const unsigned before = visits;
        now = zkl_timers_next(&timers);
        zkl_timers_run(&timers, now);
        CHECK(visits - before <= 10);
    }
    now = until;
}

static void each_is_visited_once_in_a_period(void) {
    static const size_t counts[] = {1, 2, 7, 999, 1001, 4999};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        check_note("%zu in the round", counts[i]);
        begin();
        add(counts[i]);
        run(40);
        for (size_t m = 0; m < counts[i]; m++)
            CHECK(members[m].visits >= 3 && members[m].visits <= 6);
        end();
    }
}

static void many_are_visited_at_a_pace(void) {
    zkl_round_init(&round_, &timers, &test_clock, ZKL_SECOND,
                   visit); /* which is too short for all */
    add(MANY);
    run(11); /* the first second is the first one's */
    CHECK(visits > 9900 && visits <= 10100);
    for (size_t i = 0; i < MANY; i++)
        CHECK(members[i].visits >= 1 && members[i].visits <= 3);
}

/* The pace was set by those who were left: the last waited for many times the period. */
static void those_who_leave_do_not_slow_the_others_down(void) {
    leave_when_visited = true;
    add(4000);
    run(21);
    CHECK_INT(visits, 4000);
    CHECK_INT(zkl_timers_next(&timers), ZKL_NEVER);
}

static void who_is_added_again_keeps_its_turn(void) {
    add(100);
    for (unsigned i = 0; i < 150; i++) {
        run(0.2);
        add(100);
    }
    for (size_t i = 0; i < 100; i++)
        CHECK(members[i].visits >= 1 && members[i].visits <= 3);
}

static void a_round_rests_when_no_visit_can_be_made(void) {
    cost = ZKL_NEVER;
    add(10);
    run(60);
    CHECK_INT(visits, 1);
    cost = 0;
    run(60);
    CHECK_INT(visits, 1);
    zkl_round_add(&round_, &members[3].post);
    run(15);
    CHECK(visits > 10);
}

static void what_a_visit_costs_is_a_pause(void) {
    cost = ZKL_SECOND;
    add(1000);
    run(110);
    CHECK(visits >= 99 && visits <= 101);
}

static void who_moves_to_another_round_leaves_the_first(void) {
    zkl_round other;
    zkl_round_init(&other, &timers, &test_clock, ZKL_SECOND, visit);
    add(2);
    zkl_round_add(&other, &members[0].post);
    CHECK_INT(round_.count, 1);
    CHECK_INT(other.count, 1);
    run(5);
    CHECK(members[0].visits >= 4 && members[1].visits <= 1);
    zkl_round_leave(&members[0].post);
    zkl_round_leave(&members[0].post);
    CHECK_INT(other.count, 0);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a watch counts with its length", a_watch_counts_with_its_length},
        {"whose turn it is finds room when others do not",
         whose_turn_it_is_finds_room_when_others_do_not},
        {"none fits that is longer than all together", none_fits_that_is_longer_than_all},
        {"one that is left with the library counts until it tells",
         one_that_is_left_counts_until_it_tells},
        {"one that is left twice counts once", one_that_is_left_twice_counts_once},
        {"those that are left go with the handle", those_that_are_left_go_with_the_handle},
        {"each is visited about once in a period", each_is_visited_once_in_a_period},
        {"many are visited at a pace, and in turn", many_are_visited_at_a_pace},
        {"those who leave do not slow the others down",
         those_who_leave_do_not_slow_the_others_down},
        {"who is added again keeps its turn", who_is_added_again_keeps_its_turn},
        {"a round rests when no visit can be made, and goes on",
         a_round_rests_when_no_visit_can_be_made},
        {"what a visit costs is a pause", what_a_visit_costs_is_a_pause},
        {"who moves to another round leaves the first",
         who_moves_to_another_round_leaves_the_first},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
