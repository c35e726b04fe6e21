/* SPDX-License-Identifier: MIT */
/* Whether somebody was in front of a holder (zkl_waited). */
#include "shared_node_world.h"

#define OTHER "/locks/other"

static const char *const both[] = {LINE, OTHER};

static bool waited(const fake_caller *caller) {
    return caller->contender->waited;
}

static void a_free_lock_is_not_waited_for(void) {
    CHECK(!waited(fake_granted(fake_join(one, LINE, 60))));
}

static void a_waiter_has_waited(void) {
    fake_caller *holder = fake_holder(two), *p = fake_waiter(one);
    fake_release(holder);
    CHECK(waited(fake_granted(p)));
}

static void a_waiter_that_queues_anew_has_waited(void) {
    fake_caller *holder = fake_holder(two), *p = fake_waiter(one);
    fake_release(holder);
    fake_cut(one);
    fake_bury(one);
    fake_expire(one);
    fake_connect(one);
    CHECK(waited(fake_granted(p)));
}

static void each_line_of_a_multilock_counts(void) {
    fake_directory(zk, OTHER);
    CHECK(!waited(fake_granted(fake_join_all(one, both, 1, 60))));
    fake_caller *holder = fake_granted(fake_join(two, OTHER, 60));
    fake_caller *p = fake_join_all(one, (const char *const[]){OTHER, "/locks/third"}, 2, 60);
    fake_settle_all(zk);
    CHECK(fake_waits(p));
    fake_release(holder);
    CHECK(waited(fake_granted(p)));
}

static void a_free_lease_is_not_waited_for(void) {
    fake_directory(zk, "/locks/pool/locks");
    fake_directory(zk, "/locks/pool/leases");
    fake_caller *first = fake_granted(fake_lease(one, "/locks/pool", 1, 2));
    fake_caller *second = fake_granted(fake_lease(two, "/locks/pool", 1, 2));
    CHECK(!waited(first) && !waited(second));
    fake_caller *third = fake_lease(two, "/locks/pool", 1, 2);
    fake_caller *fourth = fake_lease(one, "/locks/pool", 1, 2);
    fake_settle_all(zk);
    CHECK(fake_waits(third) && fake_waits(fourth));
    fake_release(first);
    fake_release(second);
    CHECK(waited(fake_granted(third)));
    CHECK(waited(fake_granted(fourth))); /* at the gate alone */
}

static void a_free_place_is_not_waited_for(void) {
    fake_caller *first = shared_holder(one);
    CHECK(!waited(first));
    shared_release(first);
    CHECK(!waited(shared_handed(one)));
}

static void callers_of_a_place_wait_for_each_other(void) {
    fake_caller *first = shared_join(one), *second = shared_join(one);
    fake_settle_all(zk);
    CHECK(fake_held(first) && !waited(first));
    shared_release(first);
    CHECK(waited(fake_granted(second)));
}

static void a_place_waits_for_others(void) {
    fake_caller *holder = fake_holder(two), *first = shared_settled(one);
    fake_caller *second = shared_settled(one);
    fake_release(holder);
    CHECK(waited(fake_granted(first)));
    shared_release(first);
    CHECK(fake_held(second) && waited(second));
    shared_release(second);
    CHECK(!waited(shared_handed(one))); /* that was before */
}

static void readers_of_a_place_do_not_wait_for_each_other(void) {
    fake_caller *first = shared_reads(one), *second = shared_reads(one);
    fake_settle_all(zk);
    CHECK(fake_held(first) && !waited(first));
    CHECK(fake_held(second) && !waited(second));
    CHECK(!waited(shared_reader(one)));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a free lock is not waited for", a_free_lock_is_not_waited_for},
        {"a waiter has waited", a_waiter_has_waited},
        {"... also if it queues anew", a_waiter_that_queues_anew_has_waited},
        {"each line of a multilock counts", each_line_of_a_multilock_counts},
        {"a free lease is not waited for", a_free_lease_is_not_waited_for},
        {"a free place is not waited for", a_free_place_is_not_waited_for},
        {"callers of a place wait for each other", callers_of_a_place_wait_for_each_other},
        {"a place waits for others", a_place_waits_for_others},
        {"readers of a place do not wait for each other",
         readers_of_a_place_do_not_wait_for_each_other},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
