/* SPDX-License-Identifier: MIT */
/* Replies that are lost, links that go and come back, servers that lag or refuse. */
#include "fake_world.h"

#include <stdio.h>
#include <string.h>

/* ---- the create's reply is lost ---- */

static void a_lost_create_is_looked_for_after_a_write_and_adopted(void) {
    fake_caller *p = fake_join(one, LINE, 5);
    fake_carry(one);
    fake_cut(one);
    fake_connect(one);
    CHECK_TEXT(fake_batch(one), "DL");
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(one->counts[FAKE_CREATE], 1);
    CHECK_INT(p->token, fake_find(zk, fake_node_of(p), FAKE_LATEST)->czxid);
    fake_release(p);
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_lost_create_that_waits_keeps_its_place(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, 5);
    fake_carry(one);
    fake_cut(one);
    fake_stranger(zk, LINE, NULL);
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_waits(p));
    fake_remove(zk, stranger);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(one->counts[FAKE_CREATE], 1);
}

static void a_create_that_never_happened_is_made_again(void) {
    fake_caller *p = fake_join(one, LINE, 5);
    fake_cut(one);
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(one->counts[FAKE_CREATE], 2);
    CHECK_INT(fake_children(zk, LINE), 1);
}

static void a_server_that_lags_hides_no_lost_create(void) {
    const int64_t before = zk->zxid;
    fake_caller *p = fake_join(one, LINE, 5);
    fake_carry(one);
    fake_cut(one);
    fake_lag(one, before);
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(one->counts[FAKE_CREATE], 1);
    CHECK_INT(fake_children(zk, LINE), 1);
}

static void nothing_is_concluded_from_a_list_whose_sync_failed(void) {
    const int64_t before = zk->zxid;
    fake_caller *p = fake_join(one, LINE, 5);
    fake_carry(one);
    fake_cut(one);
    fake_lag(one, before);
    fake_refuse(zk, FAKE_ERASE, one->context.nothing, ZTHROTTLEDOP, 1);
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_waits(p));
    fake_wait(zk, 1); /* it asks again after a pause */
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(one->counts[FAKE_CREATE], 1);
}

/* A deposed leader that does not know it answers reads and syncs. A node that it does not show may
 * still exist. */
static void a_leader_that_was_deposed_hides_no_lost_create(void) {
    fake_caller *p = fake_join(one, LINE, 5);
    const int64_t before = zk->zxid;
    fake_carry(one);
    fake_cut(one);
    fake_wait(zk, 6); /* it gives up */
    CHECK_INT(p->answers, 1);
    fake_lag(one, before);
    fake_connect(one);
    fake_quorum_depose(one);
    fake_settle(one);
    fake_cut(one);
    fake_connect(one);
    fake_settle(one);
    fake_beat(one, 5);
    CHECK_INT(fake_children(zk, LINE), 0);
}

static void a_reply_lost_again_while_looking(void) {
    fake_caller *p = fake_join(one, LINE, 5);
    fake_carry(one);
    for (unsigned i = 0; i < 5; i++) {
        fake_cut(one);
        fake_connect(one);
        for (unsigned j = 0; j < i; j++)
            fake_carry(one);
    }
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(fake_children(zk, LINE), 1);
}

/* The link is back, and only then is it known that the create was cut off. */
static void a_create_cut_off_by_an_older_link_is_looked_for(void) {
    fake_caller *p = fake_join(one, LINE, 5);
    fake_carry(one);
    fake_cut_quietly(one);
    fake_connect(one);
    fake_settle(one);
    fake_deliver_late(one);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(fake_children(zk, LINE), 1);
}

static void a_list_cut_off_by_an_older_link_is_asked_again(void) {
    fake_caller *p = fake_join(one, LINE, 5);
    CHECK(fake_carry(one) && fake_deliver(one));
    fake_cut_quietly(one);
    fake_connect(one);
    fake_settle(one);
    fake_deliver_late(one);
    fake_settle(one);
    CHECK(fake_held(p));
}

static void a_delete_cut_off_by_an_older_link_is_asked_again(void) {
    fake_caller *p = fake_holder(one);
    fake_release(p);
    fake_cut_quietly(one);
    fake_connect(one);
    fake_settle(one);
    fake_deliver_late(one);
    fake_wait(zk, 31);
    fake_settle(one);
    CHECK_CLEAN();
}

/* ---- suspended and resumed ---- */

static void a_holder_keeps_its_lock_through_a_cut(void) {
    fake_caller *p = fake_holder(one), *q = fake_waiter(two);
    fake_cut(one);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_held(p) && fake_waits(q));
    CHECK_INT(one->counts[FAKE_CREATE], 1);
    fake_release(p);
    fake_settle_all(zk);
    CHECK(fake_held(q));
}

static void a_waiter_keeps_its_place_through_a_cut(void) {
    fake_caller *p = fake_holder(two), *q = fake_waiter(one), *r = fake_waiter(two);
    fake_cut(one);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK_INT(one->counts[FAKE_CREATE], 1);
    fake_release(p);
    fake_settle_all(zk);
    CHECK(fake_held(q) && fake_waits(r));
}

static void a_blocker_that_went_during_the_cut_is_noticed(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_cut(one);
    fake_remove(zk, stranger);
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_held(p));
}

static void what_was_seen_before_the_cut_grants_nothing(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_caller *q = fake_waiter(one);
    fake_cut(one);
    fake_remove(zk, stranger);
    fake_remove(zk, fake_node_of(p));
    fake_stranger(zk, LINE, NULL);
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_waits(p)); /* it has lost its position, and queues again behind the foreign node */
    CHECK(fake_held(q));
}

/* It was first, for want of trust only; the list tells whether it still is. */
static void who_was_first_before_the_cut_waits_for_a_list(void) {
    fake_caller *holder = fake_holder(one), *p = fake_waiter(one);
    fake_wait(zk, 30);
    fake_release(holder);
    fake_settle(one);
    CHECK(fake_waits(p) && p->contender->queue.position == ZKL_POSITION_FIRST);
    fake_cut(one);
    fake_connect(one);
    CHECK(fake_waits(p));
    CHECK_INT(fake_pending(one, FAKE_LIST, LINE), 1);
    fake_settle(one);
    CHECK(fake_held(p));
}

static void a_deadline_goes_on_through_a_cut(void) {
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, 5);
    fake_settle(one);
    fake_wait(zk, 3);
    fake_cut(one);
    fake_wait(zk, 1);
    fake_connect(one);
    fake_settle(one);
    fake_wait(zk, 1.5);
    CHECK_FAILED(p, ZKL_TIMEOUT);
}

static void a_join_without_a_link_waits_for_it(void) {
    fake_cut(one);
    fake_caller *p = fake_join(one, LINE, 5), *q = fake_join(one, LINE, 5);
    CHECK_TEXT(fake_batch(one), "");
    fake_connect(one);
    CHECK_TEXT(fake_batch(one), "CCL");
    fake_settle(one);
    CHECK(fake_held(p) && fake_waits(q));
}

static void a_hand_over_whose_delete_was_cut_off_stands(void) {
    fake_caller *p = fake_holder(one), *q = fake_waiter(one), *other = fake_waiter(two);
    fake_release(p);
    CHECK(fake_held(q));
    fake_cut(one);
    CHECK(fake_held(q));
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_held(q) && fake_waits(other));
    fake_release(q);
    fake_settle_all(zk);
    CHECK(fake_held(other));
}

static void a_reconnect_asks_for_everything_at_once(void) {
    fake_caller *p = fake_holder(one);
    fake_stranger(zk, LINE, NULL);
    fake_waiter(one);
    fake_release(p);
    fake_cut(one); /* the delete, and the waiter's place */
    fake_connect(one);
    CHECK_TEXT(fake_batch(one), "DL");
}

/* ---- another link for the same session ---- */

static void a_new_link_for_the_session_keeps_places(void) {
    fake_caller *p = fake_holder(two), *q = fake_waiter(one), *r = fake_waiter(one);
    fake_cut_quietly(one);
    fake_relink(one);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK_INT(one->counts[FAKE_CREATE], 2);
    fake_release(p);
    fake_settle_all(zk);
    CHECK(fake_held(q) && fake_waits(r));
}

static void a_new_link_repeats_what_the_old_one_lost(void) {
    fake_caller *p = fake_holder(one), *q = fake_waiter(one), *r = fake_join(one, LINE, 5);
    fake_carry(one); /* the create of the last */
    fake_release(p); /* its delete never gets out */
    fake_cut_quietly(one);
    fake_relink(one);
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_held(q) && fake_waits(r));
    CHECK_INT(one->counts[FAKE_CREATE], 3);
    CHECK_INT(fake_children(zk, LINE), 2);
    fake_release(q);
    fake_settle(one);
    CHECK(fake_held(r));
}

static void a_new_link_watches_what_the_old_one_watched(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one), *q = fake_waiter(one);
    fake_cut_quietly(one);
    fake_relink(one);
    fake_connect(one);
    fake_settle(one);
    fake_remove(zk, stranger);
    fake_settle(one);
    CHECK(fake_held(p) && fake_waits(q));
    fake_cut_quietly(one);
    fake_relink(one);
    fake_connect(one);
    fake_settle(one);
    fake_remove(zk, fake_node_of(p));
    fake_settle(one);
    CHECK_INT(p->losses, 1);
    CHECK(fake_held(q));
}

/* The new link does not know how far the servers were, so one that lags may take it. */
static void a_new_link_to_a_server_that_lags_loses_no_place(void) {
    const int64_t before = zk->zxid;
    fake_caller *p = fake_holder(two), *q = fake_waiter(one);
    fake_cut_quietly(one);
    fake_relink(one);
    fake_lag(one, before);
    one->beats = true;
    fake_connect(one);
    CHECK_TEXT(fake_batch(one), "D"); /* the answer to this makes the server's list count */
    fake_settle_all(zk);
    CHECK_INT(one->counts[FAKE_CREATE], 1);
    CHECK(fake_waits(q));
    fake_release(p);
    fake_settle_all(zk);
    fake_catch_up(one);
    fake_settle_all(zk);
    CHECK(fake_held(q));
}

static void a_new_link_to_a_server_that_lags_loses_no_hold(void) {
    const int64_t before = zk->zxid;
    fake_caller *p = fake_holder(one);
    fake_cut_quietly(one);
    fake_relink(one);
    fake_lag(one, before);
    one->beats = true;
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(p->losses, 0);
}

/* ---- refusals ---- */

static void a_refused_create_is_told(void) {
    fake_refuse(zk, FAKE_CREATE, LINE, ZNOAUTH, 0);
    fake_caller *p = fake_join(one, LINE, 5);
    fake_settle(one);
    CHECK_FAILED(p, ZKL_ACCESS_DENIED);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
}

static void a_refused_list_is_told_and_the_node_deleted(void) {
    fake_refuse(zk, FAKE_LIST, LINE, ZNOAUTH, 0);
    fake_caller *p = fake_join(one, LINE, 5);
    fake_settle(one);
    CHECK_FAILED(p, ZKL_ACCESS_DENIED);
    CHECK_INT(fake_children(zk, LINE), 0);
}

static void a_blocker_that_may_not_be_read_is_told(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_refuse(zk, FAKE_GET, stranger, ZNOAUTH, 0);
    fake_caller *p = fake_join(one, LINE, 5);
    fake_settle(one);
    CHECK_FAILED(p, ZKL_ACCESS_DENIED);
    CHECK_INT(fake_children(zk, LINE), 1);
}

static void a_blocker_that_may_not_be_read_fails_only_whom_it_blocks(void) {
    const char *first = fake_stranger(zk, LINE, NULL);
    fake_caller *before = fake_waiter(one);
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_refuse(zk, FAKE_GET, stranger, ZNOAUTH, 0);
    fake_caller *behind = fake_join(one, LINE, 1e12), *last = fake_join(one, LINE, 1e12);
    fake_settle(one);
    CHECK_FAILED(behind, ZKL_ACCESS_DENIED);
    CHECK_FAILED(last, ZKL_ACCESS_DENIED); /* its turn would never come either */
    CHECK(fake_waits(before));
    fake_remove(zk, first);
    fake_settle(one);
    CHECK(fake_held(before));
    CHECK_INT(fake_children(zk, LINE), 2);
    fake_caller *late = fake_join(one, LINE, 1e12);
    fake_settle(one);
    CHECK_FAILED(late, ZKL_ACCESS_DENIED);
    CHECK(fake_held(before));
}

/* However often it was refused before: an answer ends that. */
static void after_an_answer_the_next_pause_is_a_short_one_again(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p[2];
    zkl_nanos first = 0;
    for (unsigned i = 0; i < 2; i++) {
        fake_refuse(zk, FAKE_LIST, LINE, ZTHROTTLEDOP, 0);
        p[i] = fake_waiter(one);
        const zkl_line *line = zkl_lines_find(&one->lines, LINE);
        CHECK(line->retry.at);
        if (i == 0)
            first = line->retry.at - fake_now;
        CHECK(line->retry.at - fake_now <= first);
        for (unsigned j = 0; j < 3; j++) {
            fake_wait(zk, 1);
            fake_settle(one);
        }
        fake_allow(zk);
        fake_wait(zk, 10);
        fake_settle(one);
        CHECK(fake_waits(p[i]) && !line->retry.at);
    }
    CHECK(first >= ZKL_SECOND / 1000);
    fake_remove(zk, stranger);
    fake_settle(one);
    CHECK(fake_held(p[0]));
}

static void a_throttled_request_is_repeated(void) {
    static const fake_op ops[] = {FAKE_CREATE, FAKE_LIST, FAKE_GET};
    for (size_t i = 0; i < 3; i++) {
        const char *stranger = fake_stranger(zk, LINE, NULL);
        fake_refuse(zk, ops[i], LINE, ZTHROTTLEDOP, 3);
        fake_caller *p = fake_join(one, LINE, 60);
        fake_beat(one, 10);
        fake_remove(zk, stranger);
        fake_settle(one);
        CHECK(fake_held(p));
        fake_release(p);
        fake_settle(one);
        CHECK_INT(fake_children(zk, LINE), 0);
    }
}

static void what_the_port_does_not_take_is_asked_later(void) {
    one->deaf = ZINVALIDSTATE;
    fake_caller *p = fake_join(one, LINE, 60);
    fake_wait(zk, 5);
    CHECK(fake_waits(p));
    one->deaf = ZOK;
    fake_wait(zk, 5);
    fake_settle(one);
    CHECK(fake_held(p));
}

/* The first refusal says when: the others neither put that off nor make the pause longer. */
static void many_refusals_make_one_pause(void) {
    fake_caller *callers[20];
    one->deaf = ZINVALIDSTATE;
    for (size_t i = 0; i < 20; i++) {
        callers[i] = fake_join(one, LINE, 60);
        fake_wait(zk, 0.001);
    }
    one->deaf = ZOK;
    fake_wait(zk, 0.2);
    fake_settle(one);
    fake_wait(zk, 0.2);
    fake_settle(one);
    CHECK(fake_held(callers[0]));
    for (size_t i = 1; i < 20; i++)
        CHECK(fake_waits(callers[i]) && fake_node_of(callers[i]));
}

/* Somebody may have written to its node before the client has found it. */
static void a_lost_create_that_is_wanted_back_hears_so(void) {
    for (unsigned wanted = 0; wanted < 2; wanted++) {
        fake_caller *p = fake_join(one, LINE, 60);
        fake_carry(one);
        fake_cut(one);
        char path[256];
        snprintf(path, sizeof path, "%s/%s", LINE, fake_child(zk, LINE, 0, FAKE_LATEST));
        if (wanted)
            fake_write(zk, path, "__REVOKE__");
        fake_connect(one);
        fake_settle(one);
        CHECK(fake_held(p));
        CHECK_INT(p->revocations, wanted);
        fake_release(p);
        fake_settle(one);
    }
}

/* Once it has been answered, the next refusal is the first again. */
static void what_is_refused_now_and_then_is_asked_again_soon(void) {
    fake_caller *p = fake_join(one, LINE, 60);
    fake_settle(one);
    CHECK(fake_held(p));
    for (unsigned i = 0; i < 6; i++) {
        fake_refuse(zk, FAKE_LIST, LINE, ZTHROTTLEDOP, 1);
        fake_caller *q = fake_join(one, LINE, 60);
        fake_settle(one);
        CHECK_INT(q->contender->queue.position, ZKL_POSITION_UNKNOWN);
        fake_wait(zk, 0.2);
        fake_settle(one);
        CHECK_INT(q->contender->queue.position, ZKL_POSITION_BEHIND);
    }
}

/* The first child of all may not be read, and a contender whose create is on its way does not stand
 * behind it. */
static void a_blocker_that_may_not_be_read_fails_nobody_on_his_way(void) {
    const char *stranger = fake_stranger(zk, LINE, "_c_%s-__READ__");
    CHECK(strstr(stranger, "0000000000"));
    fake_refuse(zk, FAKE_GET, stranger, ZNOAUTH, 0);
    fake_caller *write = fake_write_lock(one, LINE);
    while (!fake_pending(one, FAKE_GET, stranger))
        CHECK(fake_answer(one));
    fake_caller *read = fake_read(one, LINE);
    while (fake_waits(write))
        CHECK(fake_answer(one));
    CHECK_FAILED(write, ZKL_ACCESS_DENIED);
    fake_settle(one);
    CHECK(fake_held(read));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"the line searches for a create whose answer was lost behind a write, and adopts the node",
         a_lost_create_is_looked_for_after_a_write_and_adopted},
        {"a create whose reply was lost keeps its place in the line",
         a_lost_create_that_waits_keeps_its_place},
        {"a create that never happened is sent again", a_create_that_never_happened_is_made_again},
        {"a server that lags hides no lost create", a_server_that_lags_hides_no_lost_create},
        {"a list proves nothing if the write before it failed",
         nothing_is_concluded_from_a_list_whose_sync_failed},
        {"a leader that was deposed hides no lost create",
         a_leader_that_was_deposed_hides_no_lost_create},
        {"replies that are lost again and again leave one node", a_reply_lost_again_while_looking},
        {"the line searches for a create that an older link cut off, when it hears of that late",
         a_create_cut_off_by_an_older_link_is_looked_for},
        {"a list that an older link cut off is sent again, when the line hears of that late",
         a_list_cut_off_by_an_older_link_is_asked_again},
        {"a delete that an older link cut off is sent again, when the line hears of that late",
         a_delete_cut_off_by_an_older_link_is_asked_again},
        {"a holder keeps its lock through a cut", a_holder_keeps_its_lock_through_a_cut},
        {"a waiter keeps its place through a cut", a_waiter_keeps_its_place_through_a_cut},
        {"a blocker that went during the cut is noticed",
         a_blocker_that_went_during_the_cut_is_noticed},
        {"a list from before the cut grants nothing after it",
         what_was_seen_before_the_cut_grants_nothing},
        {"a waiter that was first before the cut waits for a list",
         who_was_first_before_the_cut_waits_for_a_list},
        {"a deadline goes on through a cut", a_deadline_goes_on_through_a_cut},
        {"a join without a link waits for it", a_join_without_a_link_waits_for_it},
        {"a hand-over whose delete was cut off stands",
         a_hand_over_whose_delete_was_cut_off_stands},
        {"a reconnect sends all requests at once", a_reconnect_asks_for_everything_at_once},
        {"a new link for the session keeps the positions of waiters",
         a_new_link_for_the_session_keeps_places},
        {"a new link repeats what the old one lost", a_new_link_repeats_what_the_old_one_lost},
        {"a new link watches again what the old one watched",
         a_new_link_watches_what_the_old_one_watched},
        {"a new link to a server that lags loses no position",
         a_new_link_to_a_server_that_lags_loses_no_place},
        {"a new link to a server that lags loses no hold",
         a_new_link_to_a_server_that_lags_loses_no_hold},
        {"a refused create fails its waiter", a_refused_create_is_told},
        {"a refused list fails its waiter, and its node is deleted",
         a_refused_list_is_told_and_the_node_deleted},
        {"a waiter fails if it may not read its blocker, because no watch would wake it",
         a_blocker_that_may_not_be_read_is_told},
        {"a blocker that may not be read fails only the waiters behind it",
         a_blocker_that_may_not_be_read_fails_only_whom_it_blocks},
        {"after an answer the next pause is a short one again",
         after_an_answer_the_next_pause_is_a_short_one_again},
        {"a throttled request is repeated", a_throttled_request_is_repeated},
        {"a request that the port does not take is sent later",
         what_the_port_does_not_take_is_asked_later},
        {"many refusals make one pause", many_refusals_make_one_pause},
        {"a contender whose create was lost gets a revocation",
         a_lost_create_that_is_wanted_back_hears_so},
        {"a request that is refused now and then is soon sent again",
         what_is_refused_now_and_then_is_asked_again_soon},
        {"a blocker that may not be read fails no contender whose create is on its way",
         a_blocker_that_may_not_be_read_fails_nobody_on_his_way},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
