/* SPDX-License-Identifier: MIT */
/* The library's watches: all of them go out in one packet on a reconnect. The client polls
 * contenders for whose watches there is no room. */
#include "fake_watch.h"
#include "watch_world.h"

#include "line/polled.h"

#include <string.h>

#define POOL "/locks/pool"

/* ---- the packet ---- */

/* Without a budget: a packet that the servers refuse they refuse again. */
static void too_many_watches_cannot_come_back(void) {
    zk->packet_most = 1000;
    watch_wait_for_many();
    for (unsigned i = 0; i < 3; i++) {
        if (zkl_context_is_linked(&one->context))
            fake_cut(one);
        fake_connect(one);
        CHECK(!zkl_context_is_linked(&one->context));
    }
}

static void waiters_come_back(void) {
    zk->packet_most = 1028;
    one->lines.common.watch_budget.most = 1000;
    watch_wait_for_many();
    CHECK(fake_watched(one) > 5);
    fake_cut(one);
    fake_connect(one);
    CHECK(zkl_context_is_linked(&one->context));
    fake_settle(one);
    for (size_t i = 0; i < WATCH_MANY; i++)
        fake_remove(zk, watch_strangers[i]);
    for (unsigned i = 0; i < 3; i++)
        watch_wait(1);
    for (size_t i = 0; i < WATCH_MANY; i++)
        CHECK(fake_held(watch_callers[i]));
}

static void holders_come_back(void) {
    zk->packet_most = 1028;
    one->lines.common.watch_budget.most = 1000;
    watch_join_many();
    watch_wait(0.1);
    CHECK(fake_watched(one) > 5);
    fake_cut(one);
    fake_connect(one);
    CHECK(zkl_context_is_linked(&one->context));
    fake_settle(one);
    for (size_t i = 0; i < WATCH_MANY; i++) {
        CHECK(fake_held(watch_callers[i]));
        CHECK_INT(fake_release(watch_callers[i]), ZKL_OK);
    }
    fake_settle(one);
    CHECK_INT((int64_t)one->lines.common.watch_budget.bytes, 0);
    CHECK_CLEAN();
}

/* The blockers' watches are worth more: there is room for more of them than for half of the
 * waiters' both. */
static void blockers_go_before_own_nodes(void) {
    one->lines.common.watch_budget.most = 2000;
    watch_wait_for_many();
    size_t blockers = 0;
    for (size_t i = 0; i < WATCH_MANY; i++)
        blockers += zkl_lines_find(&one->lines, watch_path(i))->snapshot.children[0].watch ==
                    ZKL_WATCH_ARMED;
    CHECK(blockers > fake_watched(one) / 2);
    CHECK(one->lines.common.watch_budget.bytes <= 2000 - 2000 / 16); /* the rest is for turns */
}

static void what_becomes_free_is_used(void) {
    one->lines.common.watch_budget.most = 1000;
    watch_wait_for_many();
    const size_t watched = fake_watched(one);
    for (size_t i = 0; i < WATCH_MANY / 2; i++)
        fake_cancel(watch_callers[i]);
    fake_settle(one);
    for (unsigned i = 0; i < 3; i++)
        watch_wait(1);
    CHECK(fake_watched(one) + 2 > watched);
}

/* ---- contenders without a watch ---- */

static void a_holder_hears_of_its_loss(void) {
    watch_without_room();
    fake_caller *p = fake_holder(one);
    watch_wait(0.1);
    CHECK_INT((int64_t)fake_watched(one), 0);
    fake_remove(zk, fake_node_of(p));
    fake_settle_all(zk);
    CHECK_INT(p->losses, 0);
    watch_wait(10);
    CHECK_INT(p->losses, 1);
    CHECK_CLEAN();
}

static void a_holder_hears_who_asks_for_it(void) {
    watch_without_room();
    fake_caller *p = fake_holder(one);
    watch_wait(0.1);
    fake_write(zk, fake_node_of(p), "__REVOKE__");
    watch_wait(10);
    CHECK_INT(p->revocations, 1);
    CHECK(fake_held(p));
}

static void a_holder_hears_of_its_loss_after_a_cut(void) {
    watch_without_room();
    fake_caller *p = fake_holder(one);
    watch_wait(0.1);
    fake_cut(one);
    fake_remove(zk, fake_node_of(p));
    fake_wait(zk, 30);
    fake_connect(one);
    fake_settle(one);
    watch_wait(10);
    CHECK_INT(p->losses, 1);
}

/* The answer about its node went with the handle that had asked. */
static void a_holder_hears_of_its_loss_from_another_handle(void) {
    watch_without_room();
    fake_caller *p = fake_holder(one);
    watch_wait(0.1);
    fake_wait(zk, 11);
    CHECK_INT(fake_pending(one, FAKE_GET, NULL), 1);
    fake_cut_quietly(one);
    fake_relink(one);
    fake_connect(one);
    fake_settle(one);
    fake_remove(zk, fake_node_of(p));
    watch_wait(11);
    watch_wait(11);
    CHECK_INT(p->losses, 1);
}

static void a_waiter_gets_its_turn(void) {
    watch_without_room();
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one), *q = fake_waiter(one);
    fake_remove(zk, stranger);
    fake_settle_all(zk);
    CHECK(fake_waits(p));
    watch_wait(1);
    CHECK(fake_held(p) && fake_waits(q));
    CHECK_INT(fake_release(p), ZKL_OK);
    fake_settle_all(zk);
    CHECK(fake_held(q)); /* of the same client: told by our own delete */
}

static void a_waiter_whose_node_is_deleted_queues_anew(void) {
    watch_without_room();
    fake_caller *p = fake_holder(one), *q = fake_waiter(one), *r = fake_waiter(two);
    fake_remove(zk, fake_node_of(q));
    watch_wait(10);
    CHECK(fake_node_of(q) != NULL);
    CHECK_INT(fake_release(p), ZKL_OK);
    for (unsigned i = 0; i < 3; i++)
        watch_wait(1);
    CHECK(fake_held(r) && fake_waits(q));
}

/* Its blocker goes, and no watch reports that its own node has gone: the list does, and it is not
 * granted. */
static void nobody_is_granted_on_the_going_of_a_blocker_alone(void) {
    watch_without_room();
    fake_caller *p = fake_holder(one), *q = fake_waiter(one);
    fake_remove(zk, fake_node_of(q));
    fake_caller *r = fake_join(two, LINE, 1e12);
    while (fake_answer(two))
        continue;
    CHECK_INT(fake_release(p), ZKL_OK);
    while (fake_answer(one))
        CHECK(!fake_held(q) || fake_node_of(q));
    for (unsigned i = 0; i < 3; i++)
        watch_wait(1);
    CHECK(fake_held(r) && fake_waits(q) && fake_node_of(q));
}

static void a_lease_gets_its_turn(void) {
    watch_without_room();
    fake_caller *p = fake_lease(one, POOL, 2, 2);
    fake_settle_all(zk);
    fake_caller *q = fake_lease(two, POOL, 2, 2);
    fake_settle_all(zk);
    CHECK(fake_held(p) && fake_waits(q));
    CHECK_INT(fake_release(p), ZKL_OK);
    for (unsigned i = 0; i < 2; i++)
        watch_wait(1);
    CHECK(fake_held(q));
}

static void a_long_wait_costs_little(void) {
    watch_without_room();
    for (unsigned i = 0; i < 20; i++) {
        fake_stranger(zk, LINE, NULL);
        fake_waiter(one);
    }
    const unsigned lists = one->counts[FAKE_LIST];
    for (unsigned i = 0; i < 400; i++)
        watch_wait(0.1);
    CHECK(one->counts[FAKE_LIST] - lists > 30); /* by all twenty */
    CHECK(one->counts[FAKE_LIST] - lists <= 41);
}

static void a_holder_is_not_read_again_before_that_is_answered(void) {
    watch_without_room();
    fake_holder(one);
    watch_wait(0.1);
    fake_wait(zk, 35);
    CHECK_INT(fake_pending(one, FAKE_GET, NULL), 1);
}

static void a_waiter_whose_blocker_cannot_be_watched_any_more_gets_its_turn(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_write(zk, stranger, "something");
    one->lines.common.watch_budget.most =
        one->lines.common.watch_budget.bytes - 4 - strlen(stranger); /* all but that */
    CHECK(fake_deliver(one));
    fake_settle(one);
    fake_remove(zk, stranger);
    watch_wait(1);
    CHECK(fake_held(p));
}

/* No waiter waits for an answer at its turn: the client has asked for its watch while others
 * held. */
static void those_who_come_next_are_watched_in_time(void) {
    enum { WAITERS = 200 };
    static fake_caller *line[WAITERS + 1];
    one->lines.common.watch_budget.most = 8000;
    for (size_t i = 0; i <= WAITERS; i++)
        line[i] = fake_join(one, LINE, 1e12);
    fake_settle(one);
    CHECK(zkl_polled_count(&one->lines.common) > WAITERS / 2);
    const unsigned gets = one->counts[FAKE_GET];
    for (size_t i = 0; i < WAITERS; i++) {
        CHECK_INT(fake_release(line[i]), ZKL_OK);
        CHECK(fake_held(line[i + 1]));
        fake_settle(one);
    }
    CHECK(one->counts[FAKE_GET] - gets <= WAITERS); /* once for each */
    CHECK(one->lines.common.watch_budget.bytes <= 200);
}

/* Not all at once, so that some room is left for a waiter whose turn comes. */
static void those_who_come_next_leave_room(void) {
    enum { WAITERS = 200, NEXT = 64 };
    static fake_caller *line[WAITERS + 1];
    const size_t most[] = {3000, 100000};
    for (size_t m = 0; m < 2; m++) {
        zkl_watch_budget *watches = &one->lines.common.watch_budget;
        watches->most = most[0];
        for (size_t i = 0; i <= WAITERS; i++)
            line[i] = fake_join(one, LINE, 1e12);
        fake_settle(one);
        watches->most = most[m];
        for (size_t i = 0; i < WAITERS; i++) {
            const unsigned gets = one->counts[FAKE_GET];
            CHECK_INT(fake_release(line[i]), ZKL_OK);
            fake_settle(one);
            CHECK(fake_held(line[i + 1]));
            CHECK(one->counts[FAKE_GET] - gets <= NEXT);
            CHECK(watches->bytes <= watches->most - watches->most / 16);
        }
        CHECK_INT(fake_release(line[WAITERS]), ZKL_OK);
        fake_settle(one);
    }
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a client with too many watches for a packet could never reconnect",
         too_many_watches_cannot_come_back},
        {"a client with many waiters reconnects, and they get their turns", waiters_come_back},
        {"a client with many holders reconnects, and they hold", holders_come_back},
        {"blockers get watches before own nodes", blockers_go_before_own_nodes},
        {"the line uses budget that becomes free", what_becomes_free_is_used},
        {"a holder without a watch hears of its loss", a_holder_hears_of_its_loss},
        {"a holder without a watch hears of its loss after a cut",
         a_holder_hears_of_its_loss_after_a_cut},
        {"a holder without a watch hears of its loss over another handle",
         a_holder_hears_of_its_loss_from_another_handle},
        {"a holder without a watch gets a revocation", a_holder_hears_who_asks_for_it},
        {"a waiter without a watch gets its turn", a_waiter_gets_its_turn},
        {"a waiter without a watch queues again when its node is deleted",
         a_waiter_whose_node_is_deleted_queues_anew},
        {"a waiter without a watch is not granted by the end of its blocker alone",
         nobody_is_granted_on_the_going_of_a_blocker_alone},
        {"a lease without a watch on its directory gets its turn", a_lease_gets_its_turn},
        {"one list a second serves all waiters in a line", a_long_wait_costs_little},
        {"the client reads a holder's node again only after the answer",
         a_holder_is_not_read_again_before_that_is_answered},
        {"a waiter whose blocker loses its watch gets its turn",
         a_waiter_whose_blocker_cannot_be_watched_any_more_gets_its_turn},
        {"the next waiters get their watches in time", those_who_come_next_are_watched_in_time},
        {"the watches of the next waiters leave room", those_who_come_next_leave_room},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
