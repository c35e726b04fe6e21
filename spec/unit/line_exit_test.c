/* SPDX-License-Identifier: MIT */
/* Every way out of a line deletes the node: after a timeout, a cancel or an error, whatever the
 * servers have answered. */
#include "fake_world.h"

#include <string.h>

static void a_timeout_deletes(void) {
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, 5);
    fake_settle(one);
    fake_wait(zk, 4.99);
    CHECK(fake_waits(p));
    fake_wait(zk, 0.02);
    CHECK_FAILED(p, ZKL_TIMEOUT);
    CHECK_TEXT(fake_batch(one), "D");
    fake_settle(one);
    CHECK_INT(fake_children(zk, LINE), 1);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
    CHECK_INT(one->context.counters.timeouts, 1);
}

static void a_timeout_without_a_link_says_so(void) {
    fake_cut(one);
    fake_caller *p = fake_join(one, LINE, 5);
    fake_wait(zk, 5);
    CHECK_FAILED(p, ZKL_DISCONNECTED);
    CHECK_INT(one->context.counters.timeouts, 1);
    fake_connect(one);
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_cancel_deletes(void) {
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_cancel(p);
    CHECK_FAILED(p, ZKL_CANCELLED);
    fake_cancel(p); /* twice is fine */
    fake_settle(one);
    CHECK_INT(fake_children(zk, LINE), 1);
    CHECK_INT(one->context.counters.timeouts, 0);
}

static void a_cancel_of_what_is_held_does_nothing(void) {
    fake_caller *p = fake_holder(one);
    fake_cancel(p);
    CHECK(fake_held(p));
}

static void a_drop_deletes_and_is_counted(void) {
    fake_caller *p = fake_holder(one), *q = fake_waiter(one), *r = fake_waiter(one);
    fake_drop(q);
    fake_drop(p);
    CHECK_INT(one->context.counters.abandoned, 2);
    CHECK(fake_held(r));
    fake_release(r);
    fake_drop(r);
    CHECK_INT(one->context.counters.abandoned, 2); /* it had come to its end */
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_drop_while_the_create_is_on_its_way(void) {
    fake_drop(fake_join(one, LINE, 5));
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_create_answered_after_giving_up(void) {
    fake_caller *p = fake_join(one, LINE, 5);
    fake_carry(one);
    fake_carry(one);
    fake_cancel(p);
    CHECK_FAILED(p, ZKL_CANCELLED);
    CHECK_TEXT(fake_batch(one), ""); /* it has no name yet */
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_create_refused_after_giving_up(void) {
    fake_caller *p = fake_join(one, LINE, 5);
    fake_refuse(zk, FAKE_CREATE, LINE, ZNOAUTH, 0);
    fake_cancel(p);
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_create_whose_reply_was_lost_after_giving_up(void) {
    fake_caller *p = fake_join(one, LINE, 5);
    fake_carry(one);
    fake_cancel(p);
    fake_cut(one);
    fake_connect(one);
    CHECK_TEXT(fake_batch(one), "DL"); /* looked for */
    fake_settle(one);
    CHECK_CLEAN();
}

static void giving_up_after_the_reply_was_lost(void) {
    fake_caller *p = fake_join(one, LINE, 5);
    fake_carry(one);
    fake_cut(one);
    fake_wait(zk, 5);
    CHECK_FAILED(p, ZKL_DISCONNECTED);
    fake_connect(one);
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_create_that_never_happened_after_giving_up(void) {
    fake_caller *p = fake_join(one, LINE, 5);
    fake_cut(one);
    fake_cancel(p);
    fake_connect(one);
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_CREATE], 1);
    CHECK_CLEAN();
}

/* A server that lags shows neither the node nor its absence. */
static void given_up_and_hidden_by_a_server_that_lags(void) {
    const int64_t before = zk->zxid;
    fake_caller *p = fake_join(one, LINE, 5);
    fake_carry(one);
    fake_cancel(p);
    fake_cut(one);
    fake_lag(one, before);
    fake_connect(one);
    fake_settle(one);
    CHECK_CLEAN();
}

/* The library asks for each watch again on every reconnect: their number must not grow for the
 * session's life. */
static void the_last_to_leave_takes_the_watch_back(void) {
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one), *q = fake_waiter(one);
    fake_cancel(p);
    fake_settle(one);
    CHECK(fake_watched(one) == 2); /* the stranger and its own node */
    fake_cancel(q);
    fake_settle(one);
    CHECK_INT(fake_watched(one), 0);
    CHECK_INT(one->counts[FAKE_UNWATCH], 1);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
}

static void a_watch_answered_after_the_last_left_is_taken_back(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_cancel(fake_waiter(one));
    fake_write(zk, stranger, "__REVOKE__"); /* so that it is watched once more */
    CHECK(fake_deliver(one));
    CHECK_TEXT(fake_batch(one), "DG");
    fake_answer(one);
    CHECK_INT(fake_children(zk, LINE), 1);
    fake_settle(one);
    CHECK_INT(fake_watched(one), 0);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
}

static void what_was_not_taken_is_withdrawn_by_a_drop(void) {
    fake_caller *p = fake_join(one, LINE, 5), *q = fake_join(one, LINE, 5);
    one->busy = true;
    fake_settle(one); /* granted, but the host has not heard */
    fake_cancel(q);
    fake_drop(p);
    fake_drop(q);
    fake_settle(one);
    one->busy = false;
    fake_hear(one); /* knows neither any more */
    CHECK_INT(one->events, 0);
    CHECK_CLEAN();
}

/* The host has not heard yet that it is asked for the lock; the loss is news of its own. */
static void a_loss_is_told_behind_what_came_before_it(void) {
    fake_caller *p = fake_holder(one);
    fake_wait(zk, 0.1); /* the watch on its node */
    fake_settle(one);
    one->busy = true;
    fake_write(zk, fake_node_of(p), ZKL_REVOKE);
    fake_settle(one);
    fake_caller *q = fake_join(one, "/locks/other", 60);
    fake_settle(one);
    fake_remove(zk, fake_node_of(p));
    fake_settle(one);
    one->busy = false;
    fake_hear(one);
    CHECK(fake_held(q));
    CHECK_INT(p->losses, 1);
    CHECK(q->answered_at < p->lost_at);
    CHECK_INT(p->revocations, 0); /* it can no longer be released */
}

static void a_loss_that_was_not_taken_is_withdrawn_by_a_drop(void) {
    fake_caller *p = fake_holder(one);
    one->busy = true;
    fake_cut(one);
    fake_expire(one);
    const uint64_t heard = one->events;
    fake_drop(p);
    one->busy = false;
    fake_hear(one);
    CHECK_INT(one->events, heard);
    fake_connect(one);
    CHECK_CLEAN();
}

static void who_comes_after_a_watch_was_taken_back_sets_it_again(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_cancel(p);
    while (strcmp(fake_batch(one), "U") != 0)
        CHECK(fake_answer(one));
    fake_caller *q = fake_join(one, LINE, 60);
    fake_settle(one);
    fake_remove(zk, stranger);
    fake_settle(one);
    CHECK(fake_held(q));
}

static void a_watch_is_taken_back_after_a_cut_too(void) {
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_cut(one);
    fake_cancel(p);
    fake_connect(one);
    fake_settle(one);
    CHECK_INT(fake_watched(one), 0);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
}

/* ---- the delete ---- */

static void a_delete_whose_reply_was_lost_is_repeated(void) {
    fake_caller *p = fake_holder(one);
    fake_release(p);
    fake_carry(one); /* carried out, and never told */
    fake_cut(one);
    fake_connect(one);
    CHECK_TEXT(fake_batch(one), "D");
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_delete_that_was_cut_off_is_repeated(void) {
    fake_caller *p = fake_holder(one);
    fake_release(p);
    fake_cut(one);
    CHECK(fake_node_of(p));
    fake_connect(one);
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_release_without_a_link_goes_out_with_the_next(void) {
    fake_caller *p = fake_holder(one);
    fake_cut(one);
    CHECK_INT(fake_release(p), ZKL_OK);
    fake_connect(one);
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_refused_delete_is_repeated_with_growing_pauses(void) {
    fake_caller *p = fake_holder(one);
    fake_refuse(zk, FAKE_ERASE, LINE, ZNOAUTH, 0);
    fake_release(p);
    fake_settle(one);
    CHECK(fake_node_of(p));
    unsigned last = one->counts[FAKE_ERASE], often = 0;
    double pause = 0, longest = 0;
    for (double at = 0; at < 300; at += 0.25) {
        fake_wait(zk, 0.25);
        fake_settle(one);
        pause += 0.25;
        if (one->counts[FAKE_ERASE] == last)
            continue;
        CHECK(pause >= longest - 0.25);
        if (pause > longest)
            longest = pause;
        pause = 0;
        often += one->counts[FAKE_ERASE] - last;
        last = one->counts[FAKE_ERASE];
    }
    CHECK(often >= 8 && often <= 25);
    CHECK(longest <= 31);
    fake_allow(zk);
    fake_wait(zk, 31);
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_throttled_delete_is_repeated(void) {
    fake_caller *p = fake_holder(one);
    fake_refuse(zk, FAKE_ERASE, LINE, ZTHROTTLEDOP, 1);
    fake_release(p);
    fake_settle(one);
    fake_wait(zk, 1);
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_delete_that_is_throttled_for_long_is_repeated_every_five_seconds(void) {
    fake_caller *p = fake_holder(one);
    fake_refuse(zk, FAKE_ERASE, LINE, ZTHROTTLEDOP, 0);
    fake_release(p);
    for (int seconds = 0; seconds < 100; seconds++) {
        fake_settle(one);
        fake_wait(zk, 1);
    }
    fake_allow(zk);
    fake_wait(zk, 6);
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_delete_the_port_does_not_take_is_repeated(void) {
    fake_caller *p = fake_holder(one), *q = fake_waiter(one);
    one->deaf = ZINVALIDSTATE;
    fake_release(p);
    CHECK(fake_held(q)); /* only the former holder's node, which is ours, is before its own */
    CHECK_INT(fake_children(zk, LINE), 2);
    one->deaf = ZOK;
    fake_wait(zk, 1);
    fake_settle(one);
    CHECK_INT(fake_children(zk, LINE), 1);
    fake_release(q);
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_refused_delete_that_an_operator_does_for_us_lets_the_next_in(void) {
    fake_caller *p = fake_holder(one);
    fake_wait(zk, 1);
    fake_settle(one); /* its own watch is armed */
    fake_caller *q = fake_waiter(one);
    fake_cut(one); /* so that the hand-over has to wait for the servers */
    fake_release(p);
    fake_refuse(zk, FAKE_ERASE, LINE, ZNOAUTH, 0);
    fake_connect(one);
    fake_beat(one, 100); /* by now it pauses for half a minute */
    CHECK(fake_waits(q));
    fake_remove(zk, fake_node_of(p));
    fake_settle(one);
    fake_wait(zk, 2);
    fake_settle(one);
    CHECK(fake_held(q));
}

/* ---- flush ---- */

static void a_flush_waits_for_what_had_departed(void) {
    fake_caller *p = fake_holder(one), *q = fake_waiter(one);
    zkl_query *early = fake_flush(one);
    CHECK(early->ask.stage == ZKL_ASK_DONE); /* nothing to wait for */
    fake_release(p);
    zkl_query *first = fake_flush(one);
    fake_release(q);
    zkl_query *second = fake_flush(one);
    CHECK(first->ask.stage != ZKL_ASK_DONE && second->ask.stage != ZKL_ASK_DONE);
    fake_answer(one);
    CHECK(first->ask.stage == ZKL_ASK_DONE && second->ask.stage != ZKL_ASK_DONE);
    fake_answer(one);
    CHECK(second->ask.stage == ZKL_ASK_DONE);
    zkl_ask_free(&early->ask);
    zkl_ask_free(&first->ask);
    zkl_ask_free(&second->ask);
}

static void a_flush_waits_for_the_oldest_even_if_later_ones_are_gone(void) {
    fake_caller *p = fake_holder(one);
    fake_refuse(zk, FAKE_ERASE, LINE, ZTHROTTLEDOP, 1);
    fake_caller *q = fake_waiter(one);
    fake_release(p);
    fake_release(q);
    zkl_query *flush = fake_flush(one);
    fake_settle(one);
    CHECK(flush->ask.stage != ZKL_ASK_DONE);
    CHECK(!fake_node_of(q) && fake_node_of(p));
    fake_wait(zk, 1);
    fake_settle(one);
    CHECK(flush->ask.stage == ZKL_ASK_DONE);
    zkl_ask_free(&flush->ask);
    CHECK_CLEAN();
}

static void a_flush_tells_that_a_delete_was_refused(void) {
    fake_caller *p = fake_holder(one), *q = fake_waiter(one);
    fake_refuse(zk, FAKE_ERASE, LINE, ZNOAUTH, 0);
    fake_release(p);
    fake_release(q);
    zkl_query *flush = fake_flush(one);
    CHECK(flush->ask.stage != ZKL_ASK_DONE);
    fake_settle(one);
    CHECK(flush->ask.stage == ZKL_ASK_DONE);
    CHECK_TEXT(zkl_status_text(flush->ask.answer.status), "access denied");
    zkl_ask_free(&flush->ask);
    /* A delete that was refused yesterday is tried again today. */
    fake_allow(zk);
    zkl_lines_each(&one->lines, zkl_line_insist);
    flush = fake_flush(one);
    CHECK(flush->ask.stage != ZKL_ASK_DONE);
    fake_settle(one);
    CHECK_TEXT(zkl_status_text(flush->ask.answer.status), "ok");
    zkl_ask_free(&flush->ask);
    CHECK_CLEAN();
}

static void a_flush_waits_for_a_create_that_was_given_up(void) {
    fake_caller *p = fake_join(one, LINE, 5);
    fake_cut(one);
    fake_cancel(p);
    zkl_query *flush = fake_flush(one);
    CHECK(flush->ask.stage != ZKL_ASK_DONE);
    fake_connect(one);
    CHECK(flush->ask.stage != ZKL_ASK_DONE);
    fake_settle(one);
    CHECK(flush->ask.stage == ZKL_ASK_DONE);
    zkl_ask_free(&flush->ask);
}

static void the_end_of_the_session_ends_a_flush(void) {
    fake_caller *p = fake_holder(one);
    fake_release(p);
    zkl_query *flush = fake_flush(one);
    fake_cut(one);
    CHECK(flush->ask.stage != ZKL_ASK_DONE);
    fake_expire(one);
    CHECK(flush->ask.stage == ZKL_ASK_DONE);
    zkl_ask_free(&flush->ask);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a timeout deletes the node", a_timeout_deletes},
        {"a timeout without a link answers disconnected", a_timeout_without_a_link_says_so},
        {"a cancel deletes the node", a_cancel_deletes},
        {"a cancel does nothing to a holder", a_cancel_of_what_is_held_does_nothing},
        {"a drop deletes the node, hands over, and is counted as abandoned",
         a_drop_deletes_and_is_counted},
        {"a drop while the create is on its way leaves nothing",
         a_drop_while_the_create_is_on_its_way},
        {"a node is deleted if its create is answered after a cancel",
         a_create_answered_after_giving_up},
        {"a create that is refused after a cancel leaves nothing",
         a_create_refused_after_giving_up},
        {"the line searches for and deletes a node whose answer was lost after a cancel",
         a_create_whose_reply_was_lost_after_giving_up},
        {"a cancel after the create's answer was lost leaves nothing",
         giving_up_after_the_reply_was_lost},
        {"a create that never happened is not repeated after a cancel",
         a_create_that_never_happened_after_giving_up},
        {"a cancelled contender's node is found behind a server that lags",
         given_up_and_hidden_by_a_server_that_lags},
        {"the last contender that leaves removes the watch on the blocker",
         the_last_to_leave_takes_the_watch_back},
        {"the line removes a watch that is answered after the last contender left",
         a_watch_answered_after_the_last_left_is_taken_back},
        {"a drop withdraws events that the host has not taken",
         what_was_not_taken_is_withdrawn_by_a_drop},
        {"a drop withdraws a loss that the host has not taken",
         a_loss_that_was_not_taken_is_withdrawn_by_a_drop},
        {"a loss is reported after earlier events", a_loss_is_told_behind_what_came_before_it},
        {"a contender that comes after a watch was removed sets it again",
         who_comes_after_a_watch_was_taken_back_sets_it_again},
        {"a watch is removed after a cut, too", a_watch_is_taken_back_after_a_cut_too},
        {"a delete whose reply was lost is repeated", a_delete_whose_reply_was_lost_is_repeated},
        {"a delete that was cut off is repeated", a_delete_that_was_cut_off_is_repeated},
        {"a release without a link goes out with the next",
         a_release_without_a_link_goes_out_with_the_next},
        {"a refused delete is repeated with growing pauses",
         a_refused_delete_is_repeated_with_growing_pauses},
        {"a throttled delete is repeated", a_throttled_delete_is_repeated},
        {"a delete that is throttled for long is repeated every five seconds",
         a_delete_that_is_throttled_for_long_is_repeated_every_five_seconds},
        {"a delete that cannot be sent hands over and is repeated",
         a_delete_the_port_does_not_take_is_repeated},
        {"an operator's delete of a node that we may not delete lets the next waiter in at once",
         a_refused_delete_that_an_operator_does_for_us_lets_the_next_in},
        {"a flush waits for contenders that had departed, and not for later ones",
         a_flush_waits_for_what_had_departed},
        {"a flush waits for the oldest even if later ones are gone",
         a_flush_waits_for_the_oldest_even_if_later_ones_are_gone},
        {"a flush reports that a delete was refused", a_flush_tells_that_a_delete_was_refused},
        {"a flush waits for the create of a cancelled contender",
         a_flush_waits_for_a_create_that_was_given_up},
        {"the end of the session ends a flush", the_end_of_the_session_ends_a_flush},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
