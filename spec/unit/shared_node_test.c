/* SPDX-License-Identifier: MIT */
/* A shared node: callers of one client that take turns on one node (fair = false). */
#include "line/line.h"
#include "nodes/node_request.h"
#include "shared_node_world.h"

/* ---- turns ---- */

static void those_here_take_turns_without_traffic(void) {
    fake_caller *callers[5] = {shared_holder(one)};
    for (size_t i = 1; i < 5; i++)
        callers[i] = shared_join(one);
    fake_settle_all(zk);
    fake_forget_counts(one);
    for (size_t i = 0; i < 5; i++) {
        CHECK(fake_held(callers[i]));
        CHECK_INT(shared_turn(callers[i]), i + 1);
        CHECK_INT(callers[i]->token, callers[0]->token);
        shared_release(callers[i]);
    }
    fake_settle_all(zk);
    CHECK_INT(fake_asked(one), 0);
    CHECK_INT(shared_nodes(), 1);
    CHECK_INT(one->context.counters.handed, 4);
    CHECK_INT(one->context.counters.acquired, 5);
}

static void an_idle_shared_node_is_taken_without_traffic(void) {
    fake_caller *first = shared_holder(one);
    shared_release(first);
    fake_caller *second = shared_handed(one);
    CHECK_INT(shared_turn(second), 2);
    CHECK_INT(second->token, first->token);
}

static void a_new_shared_node_has_a_larger_token_and_new_turns(void) {
    fake_caller *first = shared_holder(one);
    CHECK_INT(fake_give_up(first), ZKL_OK);
    fake_caller *second = shared_holder(one);
    CHECK(second->token > first->token);
    CHECK_INT(shared_turn(second), 1);
}

static void to_look_at_the_node_ends_no_shared_node(void) {
    fake_caller *first = shared_holder(one), *second = shared_settled(one);
    CHECK(first->contender->call->part(first->contender, 0) ==
          second->contender->call->part(second->contender, 0));
    CHECK(!second->contender->call->part(second->contender, 1));
    shared_release(first);
    CHECK(fake_held(second));
    CHECK_INT(second->token, first->token);
}

static void a_guarded_write_ends_it_with_its_hold(void) {
    fake_caller *first = shared_holder(one), *second = shared_settled(one);
    const zkl_op op = {.kind = ZKL_OP_CREATE, .path = "/locks/written", .data = ""};
    zkl_node_request *write = zkl_node_request_new(
        &one->nodes,
        &(zkl_wish){.ops = &op, .count = 1, .several = true, .guard = first->contender}, 1);
    zkl_ask_start(zkl_ask_of_request(write), ZKL_NEVER);
    fake_leave(one);
    fake_settle_all(zk);
    CHECK(fake_find(zk, "/locks/written", FAKE_LATEST) != NULL);
    shared_release(first);
    CHECK(fake_waits(second));
    fake_settle_all(zk);
    CHECK(fake_held(second) && second->token > first->token);
    zkl_ask_free(zkl_ask_of_request(write));
}

static void a_fair_hold_has_no_turn(void) {
    CHECK_INT(shared_turn(fake_holder(one)), 0);
}

/* The first list goes out with a watch, so no other one is needed; the own node is watched at
 * once. */
static void alone_it_takes_four_requests(void) {
    fake_caller *p = shared_holder(one);
    CHECK_INT(one->counts[FAKE_CREATE], 1);
    CHECK_INT(one->counts[FAKE_LIST], 1);
    CHECK_INT(one->counts[FAKE_GET], 1);
    shared_release(p);
    fake_wait(zk, 1.01);
    fake_settle_all(zk);
    CHECK_INT(fake_asked(one), 4);
    CHECK_CLEAN();
}

static void each_waits_until_his_own_deadline(void) {
    fake_caller *holder = shared_holder(one);
    fake_caller *late = fake_share(one, LINE, 9), *soon = fake_share(one, LINE, 5);
    fake_caller *last = shared_join(one);
    fake_wait(zk, 6);
    CHECK_FAILED(soon, ZKL_TIMEOUT);
    CHECK(fake_waits(late));
    fake_wait(zk, 4);
    CHECK_FAILED(late, ZKL_TIMEOUT);
    shared_release(holder);
    CHECK(fake_held(last));
}

static void the_last_who_gives_up_takes_a_queueing_shared_node_along(void) {
    fake_caller *theirs = fake_holder(two);
    fake_caller *first = fake_share(one, LINE, 5), *second = fake_share(one, LINE, 7);
    fake_settle_all(zk);
    CHECK_INT(shared_nodes(), 2);
    fake_wait(zk, 6);
    fake_settle_all(zk);
    CHECK_INT(shared_nodes(), 2);
    CHECK_FAILED(first, ZKL_TIMEOUT);
    fake_wait(zk, 2);
    fake_settle_all(zk);
    CHECK_FAILED(second, ZKL_TIMEOUT);
    CHECK_INT(shared_nodes(), 1);
    CHECK(fake_held(theirs));
}

static void a_shared_node_that_was_waited_for_grants_in_order_of_arrival(void) {
    fake_caller *theirs = fake_holder(two), *first = shared_settled(one),
                *second = shared_settled(one);
    CHECK_INT(shared_nodes(), 2);
    shared_release(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(first) && fake_waits(second));
    shared_release(first);
    CHECK(fake_held(second));
}

static void its_delete_goes_out_before_the_next_create(void) {
    fake_caller *first = shared_holder(one), *second = shared_settled(one);
    CHECK_INT(fake_give_up(first), ZKL_OK);
    CHECK(fake_waits(second));
    CHECK_TEXT(fake_batch(one), "TL");
    fake_settle_all(zk);
    CHECK(fake_held(second));
    CHECK_INT(shared_nodes(), 1);
}

/* ---- conditions of a grant without traffic ---- */

static void nobody_is_granted_without_the_watch_on_the_own_node(void) {
    one->lines.common.watch_budget.most = 1;
    fake_caller *first = shared_holder(one), *second = shared_settled(one);
    shared_release(first);
    CHECK(fake_waits(second)); /* it asks for a node of its own */
    CHECK_TEXT(fake_batch(one), "TL");
    fake_settle_all(zk);
    CHECK(fake_held(second) && second->token > first->token);
}

/* An operator has deleted the node, and this client has not heard of it yet. */
static void who_waits_for_the_own_watch_is_not_granted_sooner(void) {
    fake_caller *first = shared_join(one), *second = shared_join(one);
    CHECK(fake_answer(one) && fake_answer(one)); /* created, listed */
    CHECK(fake_held(first));
    fake_remove(zk, fake_node_of(first));
    shared_release(first);
    CHECK(fake_waits(second));
    fake_settle_all(zk);
    CHECK(fake_held(second));
    CHECK(second->token > first->token);
}

static void nobody_is_granted_while_the_link_is_cut(void) {
    fake_caller *first = shared_holder(one), *second = shared_settled(one);
    fake_cut(one);
    shared_release(first);
    CHECK(fake_waits(second));
    fake_connect(one);
    CHECK(fake_waits(second)); /* first the client learns what has happened meanwhile */
    fake_settle_all(zk);
    CHECK(fake_held(second));
    CHECK_INT(second->token, first->token);
}

static void a_node_that_went_during_the_cut_grants_nobody(void) {
    fake_caller *first = shared_holder(one), *second = shared_settled(one);
    const char *node = fake_node_of(first);
    fake_cut(one);
    shared_release(first);
    fake_remove(zk, node);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_held(second));
    CHECK(second->token > first->token);
}

/* Somebody may have created the directory again, with another ACL. */
static void nobody_is_granted_in_another_directory(void) {
    one->context.acl = ZKL_ACL_CREATOR;
    fake_find(zk, LINE, FAKE_LATEST)->closed = true;
    fake_caller *first = shared_holder(one), *second = shared_settled(one);
    fake_find(zk, LINE, FAKE_LATEST)->aversion++;
    fake_stranger(zk, LINE, NULL);
    fake_settle_all(zk); /* it is listed */
    shared_release(first);
    CHECK(fake_waits(second));
    CHECK_TEXT(fake_batch(one), "TL");
}

static void nobody_is_granted_without_validity(void) {
    fake_caller *first = shared_holder(one), *second = shared_settled(one);
    fake_wait(zk, 31);
    fake_release_in_doubt(first);
    CHECK(fake_waits(second));
    fake_beat(one, 20);
    CHECK(fake_held(second));
    CHECK_INT(second->token, first->token);
}

/* ---- a single try ---- */

static void a_try_gets_an_idle_shared_node(void) {
    shared_release(shared_holder(one));
    const unsigned before = fake_asked(one);
    fake_caller *tried = fake_share(one, LINE, 0);
    CHECK(fake_held(tried));
    CHECK_INT(fake_asked(one), before);
}

static void a_try_fails_at_once_behind_one_of_ours(void) {
    fake_caller *holder = shared_holder(one);
    fake_forget_counts(one);
    CHECK_FAILED(fake_share(one, LINE, 0), ZKL_TIMEOUT);
    CHECK(fake_held(holder));
    fake_caller *other = shared_join(one), *tried;
    shared_release(holder);
    CHECK(fake_held(other));
    tried = fake_share(one, LINE, 0);
    CHECK_FAILED(tried, ZKL_TIMEOUT);
    CHECK_INT(fake_asked(one), 0);
}

static void a_try_fails_when_others_hold(void) {
    fake_holder(two);
    fake_caller *tried = fake_share(one, LINE, 0);
    fake_settle_all(zk);
    CHECK_FAILED(tried, ZKL_TIMEOUT);
    CHECK_INT(shared_nodes(), 1);
}

static void a_try_does_not_end_the_wait_of_who_came_after_it(void) {
    fake_caller *theirs = fake_holder(two);
    fake_caller *tried = fake_share(one, LINE, 0), *patient = shared_join(one);
    fake_settle_all(zk);
    CHECK_FAILED(tried, ZKL_TIMEOUT);
    CHECK(fake_waits(patient));
    shared_release(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(patient));
}

static void a_try_without_a_link_fails_at_once(void) {
    fake_cut(one);
    CHECK_FAILED(fake_share(one, LINE, 0), ZKL_DISCONNECTED);
}

static void a_try_that_is_cut_off_fails(void) {
    fake_caller *tried = fake_share(one, LINE, 0), *patient = shared_join(one);
    fake_cut(one);
    CHECK_FAILED(tried, ZKL_DISCONNECTED);
    CHECK(fake_waits(patient));
}

/* It is idle, and not known to be valid: that is asked by a new node. */
static void a_try_of_a_shared_node_without_validity_asks_anew(void) {
    fake_share_as(1, 100);
    fake_caller *first = shared_holder(one);
    shared_release(first);
    fake_wait(zk, 31);
    fake_caller *tried = fake_share(one, LINE, 0);
    CHECK(fake_waits(tried));
    fake_beat(one, 20);
    CHECK(fake_held(tried) && tried->token > first->token);
}

/* ---- one too many ---- */

static fake_caller *max_waiting(size_t most) {
    fake_caller *caller = fake_share_among(one, LINE, most);
    fake_settle_all(zk);
    return caller;
}

static void one_too_many_is_refused(void) {
    fake_caller *holder = max_waiting(1), *waiter = max_waiting(1);
    CHECK(fake_held(holder) && fake_waits(waiter));
    CHECK_FAILED(max_waiting(1), ZKL_BUSY);
    shared_release(holder);
    CHECK(fake_held(waiter));
    CHECK(fake_waits(max_waiting(1)));
}

static void of_none_an_idle_shared_node_is_free(void) {
    fake_caller *first = max_waiting(0);
    CHECK_FAILED(max_waiting(0), ZKL_BUSY);
    shared_release(first);
    CHECK(fake_held(max_waiting(0)));
}

static void behind_others_the_last_to_come_go(void) {
    fake_holder(two);
    fake_caller *first = fake_share_among(one, LINE, 1), *second = fake_share_among(one, LINE, 1);
    CHECK(fake_waits(second)); /* the first one does not count yet */
    fake_settle_all(zk);
    CHECK(fake_waits(first));
    CHECK_FAILED(second, ZKL_BUSY);
}

static void a_new_shared_node_refuses_nobody_who_had_waited(void) {
    fake_caller *holder = max_waiting(2), *first = max_waiting(2), *second = max_waiting(2);
    fake_caller *theirs = fake_join(two, LINE, 1e12);
    fake_settle_all(zk);
    CHECK_INT(fake_give_up(holder), ZKL_OK);
    fake_settle_all(zk);
    CHECK(fake_held(theirs) && fake_waits(first) && fake_waits(second));
}

/* ---- failures ---- */

static void all_fail_with_their_node(void) {
    fake_stranger(zk, LINE, "_c_%s-__READ__");
    fake_caller *first = shared_join(one), *second = shared_join(one);
    fake_settle_all(zk);
    CHECK_FAILED(first, ZKL_WRONG_KIND);
    CHECK_FAILED(second, ZKL_WRONG_KIND);
}

static void close_line(zkl_line *line) {
    zkl_line_fail(line, ZKL_CLOSED, true);
}

static void at_the_close_all_are_answered(void) {
    fake_caller *holder = shared_holder(one), *waiter = shared_settled(one);
    zkl_lines_each(&one->lines, close_line);
    fake_leave(one);
    CHECK_FAILED(waiter, ZKL_CLOSED);
    CHECK_INT(holder->losses, 0);
    CHECK(!fake_held(holder));
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void fail_waiters(zkl_line *line) {
    zkl_line_fail(line, ZKL_AUTH_FAILED, false);
}

static void who_holds_keeps_it_when_those_who_wait_fail(void) {
    fake_caller *holder = shared_holder(one), *waiter = shared_settled(one);
    zkl_lines_each(&one->lines, fail_waiters);
    fake_leave(one);
    CHECK_FAILED(waiter, ZKL_AUTH_FAILED);
    CHECK(fake_held(holder));
    shared_release(holder);
}

static void at_the_close_an_idle_shared_node_goes(void) {
    shared_release(shared_holder(one));
    zkl_lines_each(&one->lines, close_line);
    fake_leave(one);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

/* Until the moment, and not at it. */
static void validity_ends_with_its_moment(void) {
    fake_caller *first = shared_holder(one), *second = shared_settled(one);
    one->context.valid_until = fake_now;
    fake_release_in_doubt(first);
    CHECK(fake_waits(second));
    one->context.valid_until = fake_now + 1;
    zkl_lines_each(&one->lines, zkl_line_refreshed);
    fake_leave(one);
    CHECK(fake_held(second));
}

/* It is asked for once: each answer would have it asked for again. */
static void an_own_node_that_may_not_be_read_is_read_once(void) {
    fake_caller *first = shared_join(one);
    CHECK(fake_answer(one) && fake_answer(one)); /* created, listed */
    CHECK(fake_held(first));
    fake_refuse(zk, FAKE_GET, fake_node_of(first), ZUNIMPLEMENTED, 0);
    fake_settle(one);
    CHECK(fake_held(first));
    CHECK_INT(one->counts[FAKE_GET], 1);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"the client's callers take turns without traffic", those_here_take_turns_without_traffic},
        {"a caller takes an idle shared node without traffic",
         an_idle_shared_node_is_taken_without_traffic},
        {"a new shared node has a larger token, and new turns",
         a_new_shared_node_has_a_larger_token_and_new_turns},
        {"to look at the node ends no shared node", to_look_at_the_node_ends_no_shared_node},
        {"a guarded write ends it with its hold", a_guarded_write_ends_it_with_its_hold},
        {"a fair hold has no turn", a_fair_hold_has_no_turn},
        {"alone it takes four requests", alone_it_takes_four_requests},
        {"each waits until his own deadline", each_waits_until_his_own_deadline},
        {"the last caller that gives up ends a queueing shared node",
         the_last_who_gives_up_takes_a_queueing_shared_node_along},
        {"a shared node that was waited for grants in order of arrival",
         a_shared_node_that_was_waited_for_grants_in_order_of_arrival},
        {"its delete goes out before the next create", its_delete_goes_out_before_the_next_create},
        {"no caller is granted without the watch on the node",
         nobody_is_granted_without_the_watch_on_the_own_node},
        {"a caller is not granted before the watch on the node is answered",
         who_waits_for_the_own_watch_is_not_granted_sooner},
        {"no caller is granted while the link is cut", nobody_is_granted_while_the_link_is_cut},
        {"a node that went during the cut grants no caller",
         a_node_that_went_during_the_cut_grants_nobody},
        {"no caller is granted in another directory", nobody_is_granted_in_another_directory},
        {"no caller is granted without validity", nobody_is_granted_without_validity},
        {"a try gets an idle shared node", a_try_gets_an_idle_shared_node},
        {"a single try fails at once behind another caller here",
         a_try_fails_at_once_behind_one_of_ours},
        {"a try fails when others hold", a_try_fails_when_others_hold},
        {"a single try does not end the wait of a later caller",
         a_try_does_not_end_the_wait_of_who_came_after_it},
        {"a try without a link fails at once", a_try_without_a_link_fails_at_once},
        {"a try that is cut off fails", a_try_that_is_cut_off_fails},
        {"a single try of a shared node without validity asks again",
         a_try_of_a_shared_node_without_validity_asks_anew},
        {"all fail with their node", all_fail_with_their_node},
        {"at the close all are answered", at_the_close_all_are_answered},
        {"a holder keeps the lock when the waiters fail",
         who_holds_keeps_it_when_those_who_wait_fail},
        {"at the close an idle shared node goes", at_the_close_an_idle_shared_node_goes},
        {"the client refuses one waiter too many", one_too_many_is_refused},
        {"of none an idle shared node is free", of_none_an_idle_shared_node_is_free},
        {"behind others the last to come go", behind_others_the_last_to_come_go},
        {"a new shared node refuses no caller that had waited",
         a_new_shared_node_refuses_nobody_who_had_waited},
        {"validity ends with its moment", validity_ends_with_its_moment},
        {"an own node that may not be read is read once",
         an_own_node_that_may_not_be_read_is_read_once},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
