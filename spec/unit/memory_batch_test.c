/* SPDX-License-Identifier: MIT */
/* Creates and deletes of many lines that travel together: without memory. */
#include "memory_world.h"

#include <stdio.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

enum { LINES = 6 };
#define GAP 0.0101     /* more than writes are ever gathered for */
#define ROUND_TRIP 0.1 /* seconds */

static const char *path_of(unsigned i) {
    static char path[32];
    snprintf(path, sizeof path, "/locks/%u", i);
    return path;
}

/* The client has made nodes in all directories, and knows how long a round trip takes. */
static void begin(void) {
    for (unsigned i = 0; i < LINES; i++) {
        fake_directory(zk, path_of(i));
        fake_caller *p = fake_join(one, path_of(i), MEMORY_LATER);
        fake_wait(zk, ROUND_TRIP);
        fake_settle(one);
        fake_release(p);
        fake_wait(zk, ROUND_TRIP);
        fake_settle(one);
        fake_drop(p);
    }
}

/* At most one caller of all clients holds each line. */
static void check_held_once(void) {
    for (unsigned i = 0; i < LINES; i++) {
        unsigned held = 0;
        for (const fake_client *c = zk->clients; c; c = c->next)
            for (const fake_caller *p = c->callers; p; p = p->next)
                held += fake_held(p) && strcmp(p->contender->line->path, path_of(i)) == 0;
        CHECK(held <= 1);
    }
}

static void settle(void) {
    fake_wait(zk, GAP);
    fake_settle_all(zk);
    check_held_once();
}

/* The first one's create is on its way at once, and the others are gathered. */
static void join_all(fake_client *client, fake_caller *callers[LINES]) {
    for (unsigned i = 0; i < LINES; i++)
        callers[i] = fake_join(client, path_of(i), MEMORY_LATER);
}

static void release_all(fake_caller *callers[LINES]) {
    for (unsigned i = 0; i < LINES; i++)
        memory_release(callers[i]);
}

static void many_are_taken_and_given_back(void) {
    fake_caller *first[LINES], *behind[LINES], *again[LINES];
    join_all(one, first);
    settle();
    join_all(two, behind);
    settle();
    release_all(first);
    join_all(one, again); /* deletes and creates in one batch */
    settle();
    release_all(behind);
    settle();
    release_all(again);
    settle();
}

static void a_batch_is_throttled(void) {
    fake_caller *first[LINES], *again[LINES];
    join_all(one, first);
    settle();
    fake_refuse(zk, FAKE_CREATE, path_of(2), ZTHROTTLEDOP, 1);
    release_all(first);
    join_all(one, again);
    settle();
    release_all(again);
    settle();
}

static void the_mark_is_refused(void) {
    fake_caller *callers[LINES];
    fake_refuse(zk, FAKE_SET, path_of(1), ZNOAUTH, 0);
    join_all(one, callers);
    settle();
    fake_allow(zk);
    release_all(callers);
    settle();
}

static void a_directory_has_gone(void) {
    fake_caller *callers[LINES];
    join_all(one, callers);
    fake_remove(zk, path_of(3));
    settle();
    release_all(callers);
    settle();
}

static void the_answer_to_a_batch_is_lost(void) {
    fake_caller *callers[LINES], *others[LINES];
    join_all(one, callers);
    join_all(two, others);
    fake_wait(zk, GAP);
    for (unsigned i = 0; i < 4; i++)
        fake_carry(one);
    fake_cut(one);
    fake_connect(one);
    settle();
    release_all(callers);
    fake_wait(zk, GAP);
    fake_cut(one);
    fake_connect(one);
    settle();
    release_all(others);
    settle();
}

static void callers_leave_before_the_answer(void) {
    fake_caller *callers[LINES];
    join_all(one, callers);
    memory_cancel(callers[1]);
    fake_wait(zk, GAP);
    memory_cancel(callers[2]);
    memory_drop(callers[3]);
    callers[3] = NULL;
    settle();
    release_all(callers);
    settle();
}

SCENARIO_WHEN(begin, many_are_taken_and_given_back)
SCENARIO_WHEN(begin, a_batch_is_throttled)
SCENARIO_WHEN(begin, the_mark_is_refused)
SCENARIO_WHEN(begin, a_directory_has_gone)
SCENARIO_WHEN(begin, the_answer_to_a_batch_is_lost)
SCENARIO_WHEN(begin, callers_leave_before_the_answer)

int main(int argc, char **argv) {
    static const check_case cases[] = {
        CASES("many are taken and given back", many_are_taken_and_given_back),
        CASES("a batch is throttled", a_batch_is_throttled),
        CASES("the mark is refused", the_mark_is_refused),
        CASES("a directory has gone", a_directory_has_gone),
        CASES("the answer to a batch is lost", the_answer_to_a_batch_is_lost),
        CASES("callers leave before the answer", callers_leave_before_the_answer),
    };
    return check_run(CHECK_CASES(cases), argc, argv, memory_begin, memory_end);
}
