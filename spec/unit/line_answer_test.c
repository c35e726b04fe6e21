/* SPDX-License-Identifier: MIT */
/* Answers that refuse for now, late answers to a contender that has changed meanwhile, and requests
 * that the port does not take. */
#include "fake_world.h"

#include "line/events.h"
#include "line/polled.h"

#include <string.h>

static void wait_and_settle(double seconds) {
    fake_settle_all(zk);
    fake_wait(zk, seconds);
    fake_settle_all(zk);
}

static void without_room(void) {
    one->lines.common.watch_budget.most = 0;
}

/* ---- about a blocker ---- */

static void an_answer_about_a_blocker_that_is_gone_changes_nothing(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, 1e12);
    while (!fake_pending(one, FAKE_GET, stranger))
        CHECK(fake_answer(one));
    fake_cut_quietly(one);
    fake_remove(zk, stranger);
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_held(p));
    fake_deliver_late(one);
    wait_and_settle(1);
    CHECK(fake_held(p));
    CHECK_INT(p->losses, 0);
}

static void a_watch_that_is_not_taken_back_is_taken_back_later(void) {
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_refuse(zk, FAKE_UNWATCH, LINE, ZTHROTTLEDOP, 1);
    fake_cancel(p);
    fake_settle_all(zk);
    CHECK_INT(one->counts[FAKE_UNWATCH], 1);
    CHECK_INT(fake_watched(one), 1);
    wait_and_settle(1);
    CHECK_INT(one->counts[FAKE_UNWATCH], 2);
    CHECK_INT(fake_watched(one), 0);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
}

static void a_watch_that_cannot_be_taken_back_is_taken_back_later(void) {
    fake_stranger(zk, LINE, NULL);
    fake_cancel(fake_waiter(one));
    while (fake_carry(one))
        continue;
    one->deaf = ZMARSHALLINGERROR;
    while (fake_deliver(one))
        continue;
    one->deaf = ZOK;
    CHECK_INT(fake_watched(one), 1);
    wait_and_settle(1);
    CHECK_INT(fake_watched(one), 0);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
}

/* Nobody is left in the line, and the link goes with the watch that was to be taken back. */
static void a_line_that_nobody_is_in_goes_with_the_link(void) {
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_cancel(p);
    while (!fake_pending(one, FAKE_UNWATCH, NULL))
        CHECK(fake_answer(one));
    fake_cut(one);
    CHECK_INT(zkl_lines_count(&one->lines), 1);
    fake_relink(one);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
    CHECK_INT(one->lines.common.watch_budget.bytes, 0);
}

/* ---- about its own node ---- */

static void a_node_that_is_gone_when_its_delete_was_refused_is_left(void) {
    fake_caller *p = fake_holder(one);
    fake_refuse(zk, FAKE_ERASE, LINE, ZNOAUTH, 1);
    const char *node = fake_node_of(p);
    fake_release(p);
    while (!fake_pending(one, FAKE_GET, node))
        CHECK(fake_answer(one));
    CHECK_INT(fake_remove(zk, node), ZOK);
    fake_settle(one);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
    CHECK_INT(one->counts[FAKE_ERASE], 1);
    CHECK_CLEAN();
}

/* There is no room for the watch that would tell that an operator has deleted it. */
static void a_refused_delete_without_room_for_a_watch_is_tried_again(void) {
    without_room();
    fake_caller *p = fake_holder(one);
    fake_refuse(zk, FAKE_ERASE, LINE, ZNOAUTH, 1);
    fake_release(p);
    fake_settle(one);
    CHECK_INT(zkl_polled_count(&one->lines.common), 0);
    CHECK_INT(one->counts[FAKE_GET], 0);
    wait_and_settle(1);
    CHECK_CLEAN();
}

static void a_waiter_whose_node_cannot_be_read_fails(void) {
    fake_holder(two);
    fake_caller *p = fake_join(one, LINE, 1e12);
    while (!fake_node_of(p))
        CHECK(fake_answer(one));
    fake_refuse(zk, FAKE_GET, fake_node_of(p), ZUNIMPLEMENTED, 0);
    fake_settle_all(zk);
    CHECK_FAILED(p, ZUNIMPLEMENTED);
    CHECK_INT(fake_children(zk, LINE), 1);
}

static void a_holder_whose_node_cannot_be_read_holds(void) {
    fake_caller *p = fake_holder(one);
    fake_refuse(zk, FAKE_GET, fake_node_of(p), ZUNIMPLEMENTED, 0);
    wait_and_settle(1);
    CHECK(one->counts[FAKE_GET] > 0);
    CHECK(fake_held(p));
    CHECK_INT(p->losses, 0);
}

/* A guarded write has not found the node: that matters to a holder only. */
static void that_its_node_is_missing_concerns_who_holds(void) {
    fake_caller *p = fake_holder(one), *q = fake_waiter(one);
    zkl_line_own_missing(q->contender);
    fake_leave(one);
    CHECK(fake_waits(q));
    fake_release(p);
    zkl_line_own_missing(p->contender);
    fake_leave(one);
    CHECK_INT(p->losses, 0);
    fake_settle(one);
    CHECK(fake_held(q));
}

static void who_holds_cannot_be_cancelled(void) {
    fake_caller *p = fake_holder(one);
    fake_cancel(p);
    CHECK(fake_held(p));
    CHECK_TEXT(fake_batch(one), "");
    CHECK_INT(p->answers, 1);
}

/* ---- about nothing, while there is no link ---- */

/* A line that is listed in turn, for there is no room for a watch. */
static void a_line_that_is_listed_in_turn_rests_without_a_link(void) {
    without_room();
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_cut(one);
    fake_wait(zk, 10);
    fake_connect(one);
    wait_and_settle(1);
    CHECK(fake_waits(p));
    fake_remove(zk, stranger);
    for (unsigned i = 0; i < 3; i++)
        wait_and_settle(1);
    CHECK(fake_held(p));
}

/* ---- about the directory ---- */

/* Its create's answer was lost, and it has given up: its node is looked for until it is gone. */
static void a_lost_node_is_looked_for_though_the_list_is_refused(void) {
    fake_caller *p = fake_join(one, LINE, 1e12);
    fake_carry(one);
    fake_cut(one);
    fake_cancel(p);
    fake_refuse(zk, FAKE_LIST, LINE, ZNOAUTH, 1);
    fake_connect(one);
    fake_settle(one);
    CHECK_INT(fake_children(zk, LINE), 1);
    wait_and_settle(1);
    CHECK_CLEAN();
}

/* A shared node wants a list behind a write after each cut. */
static void a_write_that_is_refused_is_not_sent_again_at_once(void) {
    fake_share_as(1, 100);
    fake_caller *p = fake_share(one, LINE, 1e12);
    fake_settle_all(zk);
    CHECK(fake_held(p));
    fake_refuse(zk, FAKE_ERASE, one->context.nothing, ZTHROTTLEDOP, 0);
    fake_cut(one);
    fake_connect(one);
    const unsigned before = one->counts[FAKE_LIST];
    fake_caller *q = fake_share(one, LINE, 1e12);
    fake_release(p);
    fake_settle(one);
    CHECK(one->counts[FAKE_LIST] <= before + 2);
    fake_allow(zk);
    wait_and_settle(1);
    CHECK(fake_held(q));
}

/* Its node was in a list, no watch has reported it since, and validity was 0: the client asks for
 * the node before it grants. */
static void trust_alone_does_not_grant(void) {
    fake_caller *p = fake_join(one, LINE, 1e12);
    fake_answer(one);
    fake_wait(zk, 30);
    CHECK(fake_carry(one) && fake_deliver(one));
    CHECK(fake_waits(p) && p->contender->watch == ZKL_WATCH_NONE);
    CHECK_INT(fake_remove(zk, fake_node_of(p)), ZOK);
    fake_beat(one, 15);
    CHECK(fake_held(p) && fake_node_of(p)); /* by a new node */
    CHECK_INT(p->losses, 0);
    CHECK_INT(one->counts[FAKE_CREATE], 2);
}

/* The pause after a list depends on its size. */
static void what_a_list_takes_is_counted(void) {
    fake_caller *p = fake_holder(two);
    fake_waiter(one);
    const size_t name = strlen(strrchr(fake_node_of(p), '/') + 1);
    CHECK_INT(zkl_lines_find(&one->lines, LINE)->snapshot.listed, 2 * (4 + name));
}

/* A waiter of ours asks about the node before the client knows that it is its own. The node is gone
 * when that question arrives. */
static void an_own_node_that_a_waiter_here_misses_is_made_again(void) {
    fake_caller *first = fake_holder(two), *second = fake_waiter(two);
    fake_caller *p = fake_join(one, LINE, 1e12);
    fake_carry(one);
    fake_cut(one); /* p's create is to be looked for */
    fake_caller *behind = fake_join(one, LINE, 1e12);
    fake_connect(one);
    while (!fake_pending(one, FAKE_GET, NULL))
        CHECK(fake_deliver(one) || fake_carry(one));
    CHECK(fake_answer(one)); /* it is p's */
    CHECK_INT(fake_remove(zk, fake_node_of(p)), ZOK);
    CHECK(fake_answer(one)); /* the request of the waiter behind it */
    fake_settle_all(zk);
    CHECK(fake_waits(p) && fake_waits(behind));
    fake_caller *const turns[] = {first, second, behind, p};
    for (size_t i = 0; i < 4; i++) {
        CHECK(fake_held(turns[i]));
        CHECK_INT(fake_release(turns[i]), ZOK);
        fake_settle_all(zk);
    }
    CHECK_CLEAN();
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"an answer about a blocker that has gone changes nothing",
         an_answer_about_a_blocker_that_is_gone_changes_nothing},
        {"the line removes a watch later if the removal was cut off",
         a_watch_that_is_not_taken_back_is_taken_back_later},
        {"the line removes a watch later if there was no memory for the request",
         a_watch_that_cannot_be_taken_back_is_taken_back_later},
        {"a line without contenders is freed with the link",
         a_line_that_nobody_is_in_goes_with_the_link},
        {"the line stops deleting a node that somebody else has deleted",
         a_node_that_is_gone_when_its_delete_was_refused_is_left},
        {"the line repeats a refused delete, also without room for a watch",
         a_refused_delete_without_room_for_a_watch_is_tried_again},
        {"a waiter whose node cannot be read fails", a_waiter_whose_node_cannot_be_read_fails},
        {"a holder whose node cannot be read holds", a_holder_whose_node_cannot_be_read_holds},
        {"a missing node ends a hold, but not a wait", that_its_node_is_missing_concerns_who_holds},
        {"a holder cannot be cancelled", who_holds_cannot_be_cancelled},
        {"the client polls no line without a link",
         a_line_that_is_listed_in_turn_rests_without_a_link},
        {"the line searches for a lost node although the servers refuse the list",
         a_lost_node_is_looked_for_though_the_list_is_refused},
        {"a refused write is not sent again at once",
         a_write_that_is_refused_is_not_sent_again_at_once},
        {"validity alone does not grant", trust_alone_does_not_grant},
        {"the budget counts the watch that a list sets", what_a_list_takes_is_counted},
        {"the line creates a contender's node again when a waiter here finds it missing",
         an_own_node_that_a_waiter_here_misses_is_made_again},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
