/* SPDX-License-Identifier: MIT */
/* When lines ask again for what busy servers have refused for now. */
#include "fake_item.h"
#include "fake_world.h"
#include "line/lines.h"
#include "recipe/throttle.h"

#include <stdio.h>
#include <stdlib.h>
#include <zookeeper/zookeeper.h>

#define MS (ZKL_SECOND / 1000)
enum { MANY = 100 };

/* ---- the moments ---- */

static zkl_throttle throttle;

static void begin(void) {
    throttle = (zkl_throttle){0};
}

static zkl_nanos refused(zkl_nanos now) {
    return zkl_throttle_refused(&throttle, now) - now;
}

/* A round whose refusals come at once; `passed` are answered. The pause of the next one. */
static zkl_nanos next(zkl_nanos *now, unsigned refusals, unsigned passed) {
    for (unsigned i = 0; i < refusals; i++)
        refused(*now);
    for (unsigned i = 0; i < passed; i++)
        zkl_throttle_served(&throttle);
    *now = throttle.until;
    refused(*now);
    return throttle.pause;
}

static int by_moment(const void *a, const void *b) {
    const zkl_nanos left = *(const zkl_nanos *)a, right = *(const zkl_nanos *)b;
    return (left > right) - (left < right);
}

static void a_refusal_alone_waits_for_a_tenth_of_a_second(void) {
    CHECK_INT(refused(0), 100 * MS);
}

static void those_of_one_moment_spread_over_one_pause(void) {
    zkl_nanos moments[MANY];
    for (unsigned i = 0; i < MANY; i++)
        moments[i] = refused(ZKL_SECOND);
    qsort(moments, MANY, sizeof *moments, by_moment);
    CHECK(moments[0] >= 10 * MS && moments[MANY - 1] <= 100 * MS);
    for (unsigned i = 1; i < MANY; i++)
        CHECK(moments[i] > moments[i - 1] && moments[i] - moments[i - 1] < 3 * MS);
}

/* However many there are in it. */
static void the_pause_grows_once_a_round(void) {
    zkl_nanos now = ZKL_SECOND;
    for (zkl_nanos pause = 200 * MS; pause < ZKL_THROTTLE_MOST; pause *= 2)
        CHECK_INT(next(&now, MANY, 0), pause);
    for (unsigned i = 0; i < 3; i++)
        CHECK_INT(next(&now, MANY, 0), ZKL_THROTTLE_MOST);
    for (unsigned i = 0; i < MANY; i++)
        CHECK(refused(now) <= ZKL_THROTTLE_MOST);
}

static void it_shrinks_while_enough_is_answered(void) {
    zkl_nanos now = ZKL_SECOND;
    next(&now, 3, 0);
    CHECK_INT(next(&now, 3, 1), 400 * MS); /* with the refusal that began it: four */
    CHECK_INT(next(&now, 2, 1), 200 * MS);
    CHECK_INT(next(&now, 0, 1), 100 * MS);
    CHECK_INT(next(&now, 0, 1), 100 * MS);
}

static void a_round_without_a_refusal_makes_it_short_again(void) {
    zkl_nanos now = ZKL_SECOND;
    for (unsigned i = 0; i < 4; i++)
        next(&now, MANY, 0);
    zkl_throttle_served(&throttle);
    refused(throttle.until + throttle.pause);
    CHECK_INT(throttle.pause, 100 * MS);
}

static void so_do_five_seconds_more_although_nothing_was_answered(void) {
    zkl_nanos now = ZKL_SECOND;
    for (unsigned i = 0; i < 4; i++)
        next(&now, MANY, 0);
    refused(throttle.until + throttle.pause + ZKL_THROTTLE_MOST);
    CHECK_INT(throttle.pause, 100 * MS);
}

/* Each refusal comes when its request has waited in the server for longer than the pause. */
static void it_grows_however_late_the_refusals_come(void) {
    for (zkl_nanos late = 0; late < ZKL_THROTTLE_MOST; late += 100 * MS) {
        begin();
        unsigned asked = 0;
        for (zkl_nanos now = ZKL_SECOND; now < 60 * ZKL_SECOND; asked++)
            now += refused(now) + late;
        CHECK_INT(throttle.pause, ZKL_THROTTLE_MOST);
        CHECK(asked <= 36);
    }
}

/* ---- the lines ---- */

static fake_caller *callers[MANY];

/* The servers have refused a request of all lines: it is `op`. */
static void throttled(fake_op op) {
    char path[32];
    fake_world_begin();
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(path, sizeof path, "/locks/many-%u", i);
        fake_directory(zk, path);
    }
    fake_refuse(zk, op, "/locks", ZTHROTTLEDOP, 0);
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(path, sizeof path, "/locks/many-%u", i);
        callers[i] = fake_join(one, path, 1e12);
    }
    fake_settle(one);
    fake_forget_counts(one);
}

static unsigned held(void) {
    unsigned n = 0;
    for (unsigned i = 0; i < MANY; i++)
        n += fake_held(callers[i]);
    return n;
}

/* Nothing is refused any more: the most requests that go out in a millisecond. */
static unsigned rush(fake_op op) {
    unsigned before = 0, most = 0;
    fake_allow(zk);
    for (unsigned i = 0; i < 101; i++) {
        fake_wait(zk, 0.001);
        const unsigned now = one->counts[op];
        most = now - before > most ? now - before : most;
        before = now;
        fake_settle(one);
    }
    return most;
}

static void lines_that_were_refused_together_come_back_one_by_one(void) {
    static const fake_op ops[] = {FAKE_CREATE, FAKE_LIST};
    for (unsigned i = 0; i < sizeof ops / sizeof *ops; i++) {
        throttled(ops[i]);
        CHECK_INT(held(), 0);
        CHECK(rush(ops[i]) <= 4);
        CHECK_INT(held(), MANY);
        fake_world_end();
    }
}

/* A list beside a create that was refused is no progress. */
static void nodes_count_and_lists_of_lines_that_lack_nothing(void) {
    throttled(FAKE_CREATE);
    const zkl_throttle *ours = &one->lines.common.throttle;
    CHECK_INT(ours->refused, MANY);
    CHECK_INT(ours->passed, 0);
    fake_allow(zk);
    fake_wait(zk, 0.1);
    fake_settle(one);
    CHECK_INT(held(), MANY);
    CHECK_INT(ours->passed, 2 * MANY);
    fake_world_end();
}

/* The write before the list of a line that searches for its node is refused, the list is not. */
static void so_do_lines_that_search(void) {
    char path[32];
    fake_world_begin();
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(path, sizeof path, "/locks/many-%u", i);
        fake_directory(zk, path);
        callers[i] = fake_join(one, path, 1e12);
    }
    fake_cut(one);
    fake_refuse(zk, FAKE_ERASE, one->context.nothing, ZTHROTTLEDOP, 0);
    fake_connect(one);
    fake_settle(one);
    CHECK_INT(held(), 0);
    CHECK_INT(one->lines.common.throttle.passed, 0);
    fake_still(one);
    fake_forget_counts(one);
    CHECK(rush(FAKE_LIST) <= 4);
    fake_world_end();
}

/* Its first path that came back would send all of it again, and each other one would, too. */
static void a_multilock_asks_once_in_a_pause(void) {
    char text[MANY][32];
    const char *paths[MANY];
    fake_world_begin();
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(text[i], sizeof text[i], "/locks/many-%u", i);
        fake_directory(zk, paths[i] = text[i]);
    }
    fake_refuse(zk, FAKE_TRANSACT, "/locks", ZTHROTTLEDOP, 0);
    fake_caller *p = fake_join_all(one, paths, MANY, 1e12);
    fake_settle(one);
    fake_forget_counts(one);
    for (unsigned i = 0; i < 100; i++) {
        fake_wait(zk, 0.001);
        fake_settle(one);
    }
    CHECK_INT(one->counts[FAKE_TRANSACT], 1);
    CHECK_INT(one->counts[FAKE_LIST], MANY);
    fake_allow(zk);
    fake_wait(zk, 1);
    fake_settle(one);
    CHECK(fake_held(p));
    fake_world_end();
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a refusal alone waits for a tenth of a second",
         a_refusal_alone_waits_for_a_tenth_of_a_second},
        {"those of one moment spread over one pause", those_of_one_moment_spread_over_one_pause},
        {"the pause grows once a round", the_pause_grows_once_a_round},
        {"it shrinks while enough is answered", it_shrinks_while_enough_is_answered},
        {"a round without a refusal makes it short again",
         a_round_without_a_refusal_makes_it_short_again},
        {"so do five seconds more although nothing was answered",
         so_do_five_seconds_more_although_nothing_was_answered},
        {"it grows however late the refusals come", it_grows_however_late_the_refusals_come},
        {"lines that were refused together come back one by one",
         lines_that_were_refused_together_come_back_one_by_one},
        {"so do lines that search", so_do_lines_that_search},
        {"nodes count, and lists of lines that lack nothing",
         nodes_count_and_lists_of_lines_that_lack_nothing},
        {"a multilock asks once in a pause", a_multilock_asks_once_in_a_pause},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, NULL);
}
