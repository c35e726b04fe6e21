/* SPDX-License-Identifier: MIT */
/* Nodes in the directory that this client has not created: nodes of other libraries, nodes of no
 * lock, nodes with equal numbers, and numbers at the end of the counter. */
#include "fake_world.h"

#include <stdio.h>
#include <string.h>

static void make_stray(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", LINE, name);
    CHECK_INT(fake_make(zk, path, "", FAKE_EPHEMERAL, 0xdead, NULL), ZOK);
}

static void nobody_is_granted_beside_a_holder_by_a_stray_number(void) {
    fake_caller *holder = fake_holder(one), *callers[6];
    make_stray("x-lock--2147483647");
    for (size_t i = 0; i < 6; i++) {
        callers[i] = fake_join(i % 2 ? one : two, LINE, 1e12);
        fake_settle_all(zk);
        CHECK(fake_held(holder));
        for (size_t j = 0; j <= i; j++)
            CHECK(fake_waits(callers[j]));
    }
}

/* Anybody who may create nodes may stand before all others, and nobody is granted until that node
 * goes. */
static void a_stray_number_below_all_is_waited_for(void) {
    make_stray("x-lock--000000005");
    fake_caller *p = fake_waiter(one);
    fake_remove(zk, LINE "/x-lock--000000005");
    fake_settle(one);
    CHECK(fake_held(p));
}

static void strangers_of_all_libraries_count(void) {
    static const char *const forms[] = {
        NULL,
        "_c_%s0123456789abcdef01234567-lock-",
        "%s0123456789abcdef01234567__lock__",
    };
    for (size_t i = 0; i < 3; i++) {
        const char *stranger = fake_stranger(zk, LINE, forms[i]);
        fake_caller *p = fake_waiter(one);
        fake_remove(zk, stranger);
        fake_settle(one);
        CHECK(fake_held(p));
        fake_release(p);
        fake_settle(one);
    }
    CHECK_CLEAN();
}

static void what_is_no_lock_is_ignored_and_left_alone(void) {
    fake_make(zk, LINE "/config", "", FAKE_PERSISTENT, 0, NULL);
    fake_make(zk, LINE "/_c_lease-0000000000", "", FAKE_PERSISTENT, 0, NULL);
    fake_caller *p = fake_holder(one);
    fake_release(p);
    fake_settle(one);
    CHECK_INT(fake_children(zk, LINE), 2);
}

static void read_write_nodes_are_of_the_wrong_kind(void) {
    fake_caller *holder = fake_holder(one), *p = fake_waiter(one);
    fake_stranger(zk, LINE, "_c_%s-1111-4222-b333-444444444444-__READ__");
    fake_caller *q = fake_join(one, LINE, 5);
    fake_settle(one);
    CHECK_FAILED(p, ZKL_WRONG_KIND);
    CHECK_FAILED(q, ZKL_WRONG_KIND);
    CHECK(fake_held(holder)); /* a hold stays */
    fake_release(holder);
    fake_settle(one);
    CHECK_INT(fake_children(zk, LINE), 1);
}

static void set_next(int32_t sequence) {
    fake_find(zk, LINE, FAKE_LATEST)->next = sequence;
}

static void order_is_right_up_to_the_end_of_the_counter(void) {
    set_next(INT32_MAX - 2);
    fake_caller *p = fake_holder(one), *q = fake_waiter(two);
    CHECK(strstr(fake_node_of(q), "-lock-2147483646"));
    fake_caller *r = fake_join(one, LINE, 5);
    fake_settle_all(zk);
    CHECK_FAILED(r, ZDATAINCONSISTENCY);
    fake_release(p);
    fake_settle_all(zk);
    CHECK(fake_held(q));
    CHECK(q->token > p->token);
}

/* The servers give out the last number again after numbers below zero: a node with such a number
 * came later, and would stand before the others. */
static void nobody_holds_past_the_end_of_the_counter(void) {
    static const int32_t given[] = {INT32_MAX, INT32_MIN, INT32_MIN + 1, INT32_MAX, -1};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        set_next(given[i]);
        fake_caller *p = fake_join(i % 2 ? one : two, LINE, 5);
        fake_settle_all(zk);
        CHECK_FAILED(p, ZDATAINCONSISTENCY);
    }
    CHECK_CLEAN();
}

static void a_tie_fails_and_never_holds(void) {
    fake_caller *p = fake_holder(two);
    set_next(0);
    fake_caller *q = fake_join(one, LINE, 5);
    fake_settle_all(zk);
    CHECK_FAILED(q, ZDATAINCONSISTENCY);
    CHECK(fake_held(p));
    CHECK_INT(fake_children(zk, LINE), 1);
    fake_release(p);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void a_tie_among_ours_grants_one_at_most(void) {
    fake_caller *p = fake_join(one, LINE, 5);
    fake_carry(one);
    set_next(0);
    fake_caller *q = fake_join(one, LINE, 5);
    fake_settle(one);
    CHECK(fake_held(p) + fake_held(q) <= 1);
    CHECK(!fake_waits(p) && !fake_waits(q));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a node with a stray number grants no contender beside a holder",
         nobody_is_granted_beside_a_holder_by_a_stray_number},
        {"a node with a number below all others is waited for",
         a_stray_number_below_all_is_waited_for},
        {"nodes of Curator, Go's zk and kazoo are waited for", strangers_of_all_libraries_count},
        {"a child that is not a lock's node is ignored and left alone",
         what_is_no_lock_is_ignored_and_left_alone},
        {"a mutex among read-write nodes answers wrong kind",
         read_write_nodes_are_of_the_wrong_kind},
        {"order is right up to the end of the sequences",
         order_is_right_up_to_the_end_of_the_counter},
        {"no contender holds after the last sequence", nobody_holds_past_the_end_of_the_counter},
        {"a tie of sequences fails, there are never two holders", a_tie_fails_and_never_holds},
        {"a tie among our contenders grants one at most", a_tie_among_ours_grants_one_at_most},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
