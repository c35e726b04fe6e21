/* SPDX-License-Identifier: MIT */
/* The operations that not every server knows: how a client learns that its servers do not. */
#include "check.h"
#include "port/extras.h"

#include <zookeeper/zookeeper.h>

static zkl_extras extras;

static void begin(void) {
    extras = (zkl_extras){.keeper = false};
}

static void end(void) {
}

static bool knows(zkl_extra extra) {
    return zkl_extras_known(&extras, extra);
}

static void answer(zkl_extra extra, int rc, bool oldest) {
    zkl_extras_answered(&extras, &(zkl_reply){.rc = rc, .extra = extra, .oldest = oldest});
}

static void cut(zkl_extra extra) {
    answer(extra, ZCONNECTIONLOSS, true);
}

static void at_first_all_are_known(void) {
    for (int extra = ZKL_EXTRA_CREATE2; extra < ZKL_EXTRA_COUNT; extra++)
        CHECK(knows((zkl_extra)extra));
    CHECK(zkl_extras_compared(&extras));
}

static void a_server_may_say_that_it_does_not_know_one(void) {
    answer(ZKL_EXTRA_CREATE2, ZUNIMPLEMENTED, false);
    CHECK(!knows(ZKL_EXTRA_CREATE2));
    CHECK(knows(ZKL_EXTRA_CONTAINER));
    zkl_extras_connected(&extras, false, true);
    CHECK(!knows(ZKL_EXTRA_CREATE2)); /* it was no accident */
}

static void it_may_hang_up_at_one_twice(void) {
    cut(ZKL_EXTRA_CONTAINER);
    CHECK(knows(ZKL_EXTRA_CONTAINER));
    cut(ZKL_EXTRA_CONTAINER);
    CHECK(!knows(ZKL_EXTRA_CONTAINER));
    CHECK(knows(ZKL_EXTRA_CREATE2) && knows(ZKL_EXTRA_UNWATCH));
}

static void cuts_at_several_count_apart(void) {
    cut(ZKL_EXTRA_CONTAINER);
    cut(ZKL_EXTRA_CREATE2);
    CHECK(knows(ZKL_EXTRA_CONTAINER) && knows(ZKL_EXTRA_CREATE2));
}

static void an_answer_between_two_cuts_shows_that_they_are_chance(void) {
    for (int i = 0; i < 4; i++) {
        cut(ZKL_EXTRA_CONTAINER);
        answer(ZKL_EXTRA_CONTAINER, ZNODEEXISTS, false);
    }
    CHECK(knows(ZKL_EXTRA_CONTAINER));
}

static void a_cut_at_an_older_request_does_not_count(void) {
    for (int i = 0; i < 4; i++)
        answer(ZKL_EXTRA_CREATE2, ZCONNECTIONLOSS, false);
    for (int i = 0; i < 4; i++)
        cut(ZKL_EXTRA_NONE);
    CHECK(knows(ZKL_EXTRA_CREATE2));
}

/* So an outage of a ZooKeeper leaves no directories behind for ever. */
static void where_sessions_go_on_cuts_are_chance(void) {
    for (int i = 0; i < 4; i++) {
        cut(ZKL_EXTRA_CONTAINER);
        zkl_extras_connected(&extras, false, true);
    }
    CHECK(knows(ZKL_EXTRA_CONTAINER));
    cut(ZKL_EXTRA_CONTAINER);
    zkl_extras_connected(&extras, false, false);
    cut(ZKL_EXTRA_CONTAINER);
    zkl_extras_connected(&extras, false, false);
    CHECK(!knows(ZKL_EXTRA_CONTAINER));
    zkl_extras_connected(&extras, false, true);
    CHECK(knows(ZKL_EXTRA_CONTAINER));
}

static void keeper_is_asked_for_none(void) {
    zkl_extras_connected(&extras, true, false);
    for (int extra = ZKL_EXTRA_CREATE2; extra < ZKL_EXTRA_COUNT; extra++)
        CHECK(!knows((zkl_extra)extra));
    zkl_extras_connected(&extras, false, false);
    CHECK(knows(ZKL_EXTRA_CREATE2));
}

static void where_one_is_not_known_no_stat_was_compared(void) {
    zkl_extras_refused(&extras, ZKL_EXTRA_CONTAINER);
    CHECK(!zkl_extras_compared(&extras));
    begin();
    zkl_extras_refused(&extras, ZKL_EXTRA_CREATE2);
    CHECK(!zkl_extras_compared(&extras));
    begin();
    zkl_extras_connected(&extras, true, false);
    CHECK(!zkl_extras_compared(&extras));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"at first all are known", at_first_all_are_known},
        {"a server may say that it does not know one", a_server_may_say_that_it_does_not_know_one},
        {"it may hang up at one twice", it_may_hang_up_at_one_twice},
        {"cuts at several count apart", cuts_at_several_count_apart},
        {"an answer between two cuts shows that they are chance",
         an_answer_between_two_cuts_shows_that_they_are_chance},
        {"a cut at an older request does not count", a_cut_at_an_older_request_does_not_count},
        {"where sessions go on cuts are chance", where_sessions_go_on_cuts_are_chance},
        {"Keeper is asked for none", keeper_is_asked_for_none},
        {"where one is not known no Stat was compared",
         where_one_is_not_known_no_stat_was_compared},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
