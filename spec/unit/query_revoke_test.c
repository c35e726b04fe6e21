/* SPDX-License-Identifier: MIT */
/* The holders are asked to give the lock back. */
#include "query_world.h"

static void a_holder_that_leaves_just_then_is_not_taken_for_nobody(void) {
    fake_caller *p = fake_holder(two), *q = fake_waiter(two);
    fake_stranger(zk, LINE, NULL);
    query_ask(ZKL_QUERY_REVOKE, 5);
    fake_answer(one);
    CHECK_INT(fake_pending(one, FAKE_SET, fake_node_of(p)), 1);
    fake_release(p);
    fake_settle(two);
    CHECK(fake_held(q));
    fake_settle(one);
    query_check_answered(ZKL_OK);
    CHECK_INT(query->revocation.asked, 1);
    fake_settle(two);
    CHECK_INT(q->revocations, 1);
}

/* It has no deadline: it would wait for the next link. */
static void a_single_revocation_ends_with_the_link(void) {
    fake_caller *p = fake_holder(two);
    query_ask_once(ZKL_QUERY_REVOKE);
    fake_answer(one);
    CHECK_INT(fake_pending(one, FAKE_SET, fake_node_of(p)), 1);
    fake_cut(one);
    query_check_answered(ZKL_DISCONNECTED);
}

/* Those that were there have been asked: it does not begin anew for one that was not. */
static void of_several_one_may_leave_just_then(void) {
    query_fill(1, "_c_%s-__READ__");
    const char *stranger = fake_stranger(zk, LINE, "_c_%s-__READ__");
    query_fill(1, "_c_%s-__READ__");
    query_ask(ZKL_QUERY_REVOKE, 5);
    fake_answer(one);
    fake_remove(zk, stranger);
    fake_settle(one);
    query_check_answered(ZKL_OK);
    CHECK_INT(query->revocation.asked, 2);
    CHECK_INT(one->counts[FAKE_SET], 3);
    CHECK_INT(one->counts[FAKE_LIST], 1);
}

static void where_the_last_holder_leaves_just_then_nobody_holds(void) {
    fake_caller *p = fake_holder(two);
    query_ask(ZKL_QUERY_REVOKE, 5);
    fake_answer(one);
    fake_release(p);
    fake_settle(two);
    CHECK(query->ask.stage != ZKL_ASK_DONE);
    fake_settle(one);
    query_check_answered(ZKL_OK);
    CHECK_INT(query->revocation.asked, 0);
}

static void holders_that_never_stay_are_looked_for_until_the_deadline(void) {
    query_ask(ZKL_QUERY_REVOKE, 5);
    for (unsigned i = 0; i < 50; i++) {
        const char *stranger = fake_stranger(zk, LINE, NULL);
        fake_wait(zk, i > 1 ? 0.06 : 0); /* the first time it lists again at once */
        fake_leave(one);
        CHECK(fake_answer(one)); /* the list */
        fake_remove(zk, stranger);
        fake_stranger(zk, LINE, NULL);
        fake_remove(zk, fake_stranger(zk, LINE, NULL));
        CHECK(query->ask.stage != ZKL_ASK_DONE);
        fake_end_session(zk, 0xdead);
        CHECK(fake_carry(one)); /* the write finds nobody */
        fake_stranger(zk, LINE, NULL);
        CHECK(fake_deliver(one));
        fake_end_session(zk, 0xdead);
    }
    fake_wait(zk, 5);
    query_check_answered(ZKL_TIMEOUT);
}

/* The first refusal is the answer; those on their way find nobody. */
static void a_holder_that_may_not_be_asked_is_told_of(void) {
    query_fill(3, "_c_%s-__READ__");
    fake_refuse(zk, FAKE_SET, LINE, ZNOAUTH, 1);
    query_ask(ZKL_QUERY_REVOKE, 5);
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "WWW");
    fake_settle(one);
    query_check_answered(ZKL_ACCESS_DENIED);
    CHECK_INT(one->counts[FAKE_SET], 3);
}

/* No more are asked then. */
static void also_in_the_midst_of_many(void) {
    query_fill(300, "_c_%s-__READ__");
    fake_refuse(zk, FAKE_SET, LINE, ZNOAUTH, 1);
    query_ask(ZKL_QUERY_REVOKE, 5);
    fake_settle(one);
    query_check_answered(ZKL_ACCESS_DENIED);
    CHECK_INT(one->counts[FAKE_SET], ZKL_LISTING_WINDOW);
}

static void all_who_hold_are_asked(void) {
    query_fill(300, "_c_%s-__READ__");
    fake_stranger(zk, LINE, "_c_%s-__WRIT__");
    query_fill(10, "_c_%s-__READ__");
    query_ask(ZKL_QUERY_REVOKE, 5);
    fake_answer(one);
    CHECK(fake_pending(one, FAKE_SET, NULL) <= ZKL_LISTING_WINDOW);
    fake_cut(one); /* all again */
    fake_connect(one);
    fake_leave(one);
    fake_settle(one);
    query_check_answered(ZKL_OK);
    CHECK_INT(one->counts[FAKE_LIST], 1);
    CHECK_INT(query->revocation.asked, 300);
    CHECK_INT(one->counts[FAKE_GET], 0);
}

/* An answer that is still on its way finds nobody: nothing more is asked. */
static void a_deadline_ends_the_asking_of_many(void) {
    query_fill(300, "_c_%s-__READ__");
    query_ask(ZKL_QUERY_REVOKE, 5);
    fake_answer(one);
    const unsigned asked = fake_pending(one, FAKE_SET, NULL);
    CHECK(asked > 0 && asked < 300);
    fake_wait(zk, 5);
    query_check_answered(ZKL_TIMEOUT);
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_SET], asked);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a single revocation ends with the link", a_single_revocation_ends_with_the_link},
        {"a holder that leaves just when it is asked still counts",
         a_holder_that_leaves_just_then_is_not_taken_for_nobody},
        {"of several one may leave just then", of_several_one_may_leave_just_then},
        {"where the last holder leaves just then nobody holds",
         where_the_last_holder_leaves_just_then_nobody_holds},
        {"holders that never stay are looked for until the deadline",
         holders_that_never_stay_are_looked_for_until_the_deadline},
        {"a holder that may not be asked fails the query",
         a_holder_that_may_not_be_asked_is_told_of},
        {"also in the midst of many", also_in_the_midst_of_many},
        {"all holders are asked, some at a time", all_who_hold_are_asked},
        {"a deadline ends the asking of many", a_deadline_ends_the_asking_of_many},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, query_end);
}
