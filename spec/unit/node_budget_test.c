/* SPDX-License-Identifier: MIT */
/* How many bytes the paths of a session's ephemeral nodes may have: who is refused, and when the
 * bytes are free again. Each step of the fake world also checks the sum (invariants.c). */
#include "fake_world.h"
#include "paths/node_budget.h"

#include <stdio.h>
#include <string.h>

#define POOL "/locks/pool"
/* The bytes of a lock's node in LINE. */
#define LOCK (sizeof LINE "/_c_00000000-0000-4000-8000-000000000000-lock-0000000000" - 1)

static zkl_node_budget *budget;

static void begin(void) {
    fake_world_begin();
    budget = &one->lines.common.node_budget;
}

static void release(fake_caller *caller) {
    CHECK_INT(fake_release(caller), ZKL_OK);
    fake_settle_all(zk);
}

static fake_caller *settled(fake_caller *caller) {
    fake_settle_all(zk);
    return caller;
}

static void expire(fake_client *client) {
    fake_cut(client);
    fake_bury(client);
    fake_expire(client);
}

/* ---- the budget alone ---- */

static void a_share_fits_or_is_refused(void) {
    zkl_node_budget own;
    zkl_node_share first = {0}, second = {0};
    zkl_shortage why = {0};
    zkl_node_budget_init(&own, 1000);
    CHECK(zkl_node_budget_take(&own, &first, 1000, &why));
    CHECK(!why.asked);
    CHECK(!zkl_node_budget_take(&own, &second, 1, &why));
    CHECK(why.bytes == 1000 && why.asked == 1 && !second.bytes);
    zkl_node_budget_return(&own, &first);
    CHECK(zkl_node_budget_take(&own, &second, 1, &why));
    CHECK(!zkl_node_budget_take(&own, &first, SIZE_MAX, &why));
    zkl_node_budget_return(&own, &second);
    zkl_node_budget_return(&own, &second);
    CHECK_INT(own.bytes, 0);
}

static void what_is_owed_goes_before_newcomers(void) {
    zkl_node_budget own;
    zkl_node_share held = {0}, owed = {0}, next = {0};
    zkl_shortage why = {0};
    zkl_node_budget_init(&own, 1000);
    zkl_node_budget_claim(&own, &held, 800);
    zkl_node_budget_claim(&own, &owed, 300);
    CHECK(!held.owed && owed.owed && own.bytes == 800);
    CHECK(!zkl_node_budget_take(&own, &next, 100, &why));
    CHECK_INT(why.bytes, 1100);
    CHECK(!zkl_node_budget_settle(&own, &owed));
    zkl_node_budget_return(&own, &held);
    CHECK(zkl_node_budget_settle(&own, &owed));
    CHECK(own.bytes == 300 && own.owed == 0);
    CHECK(zkl_node_budget_take(&own, &next, 100, &why));
}

/* An answer to a request that was sent before says nothing about the node. */
static void a_node_of_the_host_counts_until_it_is_known_to_be_gone(void) {
    zkl_node_budget own;
    zkl_node_share share = {0};
    zkl_shortage why;
    zkl_node_budget_init(&own, 1000);
    CHECK(zkl_node_budget_take(&own, &share, 100, &why));
    zkl_node_budget_made(&own, &share, 40, "/a", 7);
    zkl_node_budget_made(&own, &share, 60, NULL, 7);
    CHECK(own.bytes == 100 && share.bytes == 0);
    zkl_node_budget_gone(&own, "/b", 9);
    zkl_node_budget_gone(&own, "/a", 6);
    CHECK_INT(own.bytes, 100);
    zkl_node_budget_gone(&own, "/a", 7);
    CHECK_INT(own.bytes, 60);
    zkl_node_budget_gone(&own, "/a", 8);
    CHECK_INT(own.bytes, 60);
    zkl_node_budget_expire(&own);
    CHECK_INT(own.bytes, 0);
}

static void a_node_that_is_made_again_counts_once(void) {
    zkl_node_budget own;
    zkl_node_share share = {0};
    zkl_shortage why;
    zkl_node_budget_init(&own, 1000);
    for (uint64_t turn = 1; turn < 4; turn++) {
        CHECK(zkl_node_budget_take(&own, &share, 2, &why));
        zkl_node_budget_made(&own, &share, 2, "/a", turn);
        CHECK_INT(own.bytes, 2);
    }
    zkl_node_budget_clear(&own);
}

/* ---- locks ---- */

static void one_too_many_is_refused_and_nothing_is_sent(void) {
    budget->most = 2 * LOCK;
    fake_caller *holder = fake_holder(one), *waiter = fake_waiter(one);
    CHECK_INT(budget->bytes, 2 * LOCK);
    fake_forget_counts(one);
    fake_caller *third = fake_join(one, LINE, 60);
    CHECK_FAILED(third, ZKL_TOO_BIG);
    CHECK(third->contender->shortage.bytes == 2 * LOCK && third->contender->shortage.asked == LOCK);
    CHECK_INT(fake_asked(one), 0);
    CHECK_FAILED(fake_try_kind(one, "/locks/b", ZKL_KIND_LOCK), ZKL_TOO_BIG);
    release(holder);
    CHECK(fake_held(waiter));
    CHECK(fake_waits(settled(fake_join(one, LINE, 60))));
}

static void a_node_counts_until_the_delete_is_answered(void) {
    budget->most = LOCK;
    fake_caller *holder = fake_holder(one);
    CHECK_INT(fake_release(holder), ZKL_OK);
    CHECK_FAILED(fake_join(one, LINE, 60), ZKL_TOO_BIG);
    fake_settle_all(zk);
    CHECK_INT(budget->bytes, 0);
    fake_holder(one);
}

static void a_create_in_doubt_counts(void) {
    fake_caller *caller = fake_join(one, LINE, 60);
    fake_carry(one);
    fake_cut(one); /* the answer is lost */
    fake_cancel(caller);
    CHECK_INT(budget->bytes, LOCK);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK_INT(budget->bytes, 0);
    CHECK_CLEAN();
}

static void nodes_of_a_session_that_has_ended_do_not_count(void) {
    budget->most = 2 * LOCK;
    fake_caller *holder = fake_holder(one), *waiter = fake_waiter(one);
    expire(one);
    CHECK_INT(holder->losses, 1);
    CHECK_INT(budget->bytes, LOCK); /* the waiter queues again */
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_held(waiter));
    CHECK_INT(budget->bytes, LOCK);
}

static void a_multilock_counts_with_all_its_paths(void) {
    static const char *const ab[] = {LINE, "/locks/b"};
    budget->most = 2 * LOCK - 1;
    fake_caller *both = fake_join_all(one, ab, 2, 60);
    CHECK_FAILED(both, ZKL_TOO_BIG);
    CHECK_INT(both->contender->shortage.asked, 2 * LOCK);
    budget->most++;
    both = settled(fake_join_all(one, ab, 2, 60));
    CHECK(fake_held(both));
    CHECK_INT(budget->bytes, 2 * LOCK);
    release(both);
    CHECK_INT(budget->bytes, 0);
}

/* It has lost a node while it waited: the other one still counts when both are asked for again. */
static void a_multilock_that_enters_again_waits_for_room(void) {
    static const char *const ab[] = {LINE, "/locks/b"};
    char path[256];
    fake_caller *other = settled(fake_join(two, LINE, 1e12)),
                *both = settled(fake_join_all(one, ab, 2, 1e12));
    CHECK(fake_waits(both));
    budget->most = 2 * LOCK;
    snprintf(path, sizeof path, "/locks/b/%s", fake_child(zk, "/locks/b", 0, FAKE_LATEST));
    CHECK_INT(fake_remove(zk, path), ZOK);
    fake_settle_all(zk);
    for (int i = 0; i < 20; i++) {
        fake_wait(zk, 1);
        fake_settle_all(zk);
    }
    CHECK_INT(budget->bytes, 2 * LOCK);
    CHECK_INT(budget->owed, 0);
    release(other);
    CHECK(fake_held(both));
}

/* It has two paths, and an operator deletes its node at the second one. */
static fake_caller *robbed_at_the_bound(double seconds) {
    static const char *const ab[] = {LINE, "/locks/b"};
    char path[256];
    budget->most = budget->bytes + 2 * LOCK;
    fake_caller *both = fake_join_all(one, ab, 2, seconds);
    while (!fake_child(zk, "/locks/b", 0, FAKE_LATEST))
        CHECK(fake_answer(one));
    snprintf(path, sizeof path, "/locks/b/%s", fake_child(zk, "/locks/b", 0, FAKE_LATEST));
    CHECK_INT(fake_remove(zk, path), ZOK);
    return both;
}

static void settle_in(int seconds) {
    for (int i = 0; i < seconds; i++) {
        fake_settle_all(zk);
        fake_wait(zk, 1);
    }
}

/* It was let in, so it is not too big. */
static void a_try_that_enters_again_waits_for_room_too(void) {
    fake_caller *both = robbed_at_the_bound(0);
    settle_in(20);
    CHECK(fake_held(both));
    CHECK_INT(budget->bytes, 2 * LOCK);
}

static void a_try_does_not_wait_for_room_that_may_never_come(void) {
    fake_caller *both = robbed_at_the_bound(0);
    fake_refuse(zk, FAKE_ERASE, LINE, ZNOAUTH, 0);
    settle_in(20);
    CHECK_FAILED(both, ZKL_TOO_BIG);
}

/* It is another lock's delete that the servers refuse. */
static void a_try_takes_the_room_that_comes_all_the_same(void) {
    fake_caller *other = settled(fake_join(one, "/locks/c", 1e12));
    CHECK(fake_held(other));
    fake_refuse(zk, FAKE_ERASE, "/locks/c", ZNOAUTH, 0);
    release(other);
    CHECK_INT((int64_t)one->lines.common.refusals, 1);
    fake_caller *both = robbed_at_the_bound(0);
    settle_in(20);
    CHECK(fake_held(both));
    CHECK_INT((int64_t)one->lines.common.refusals, 1);
}

static void other_callers_wait_for_that_room(void) {
    fake_beat(one, 0);
    fake_caller *both = robbed_at_the_bound(1e12);
    fake_refuse(zk, FAKE_ERASE, LINE, ZNOAUTH, 0);
    settle_in(20);
    CHECK(fake_waits(both));
    fake_allow(zk);
    settle_in(40);
    CHECK(fake_held(both));
}

static void a_semaphore_counts_its_leases_at_the_gate(void) {
    const size_t gate = strlen(POOL "/locks") + LOCK - strlen(LINE),
                 lease = strlen(POOL "/leases") + LOCK - strlen(LINE) + 1;
    budget->most = gate + 3 * lease;
    fake_caller *two_of_it = fake_lease(one, POOL, 2, 5);
    CHECK_INT(budget->bytes, gate + 2 * lease);
    fake_caller *more = fake_lease(one, POOL, 2, 5);
    CHECK_FAILED(more, ZKL_TOO_BIG);
    CHECK_INT(more->contender->shortage.asked, gate + 2 * lease);
    settled(two_of_it);
    CHECK(fake_held(two_of_it));
    CHECK_INT(budget->bytes, 2 * lease);
    more = settled(fake_lease(one, POOL, 1, 5));
    CHECK(fake_held(more));
    release(two_of_it);
    release(more);
    CHECK_INT(budget->bytes, 0);
}

static void a_semaphore_that_leaves_gives_up_its_leases(void) {
    fake_caller *p = fake_lease(one, POOL, 2, 5);
    fake_cancel(p);
    fake_settle_all(zk);
    CHECK_INT(budget->bytes, 0);
}

/* ---- places ---- */

static void a_place_counts_once(void) {
    budget->most = LOCK;
    fake_caller *holder = settled(fake_share(one, LINE, 1e12)),
                *waiter = settled(fake_share(one, LINE, 1e12));
    CHECK(fake_held(holder) && fake_waits(waiter));
    CHECK_INT(budget->bytes, LOCK);
    CHECK_FAILED(fake_share(one, "/locks/b", 60), ZKL_TOO_BIG);
    release(holder);
    CHECK(fake_held(waiter));
}

static void a_place_that_queues_again_waits_for_room(void) {
    fake_share_as(1, 1);
    fake_caller *holder = settled(fake_share(one, LINE, 1e12)),
                *waiter = settled(fake_share(one, LINE, 1e12)),
                *other = settled(fake_join(two, LINE, 1e12));
    budget->most = LOCK;
    fake_beat(one, 2); /* the other one has waited for a stint */
    CHECK_INT(fake_release(holder), ZKL_OK);
    CHECK(fake_waits(waiter));
    CHECK(budget->bytes == LOCK && budget->owed == LOCK);
    for (int i = 0; i < 5; i++) {
        fake_settle_all(zk);
        fake_wait(zk, 1);
    }
    CHECK(budget->bytes == LOCK && budget->owed == 0);
    CHECK(fake_held(other) && fake_waits(waiter));
    release(other);
    CHECK(fake_held(waiter));
}

static void a_read_under_a_write_counts_too(void) {
    budget->most = LOCK + 10;
    fake_caller *write = settled(fake_share_kind(one, LINE, ZKL_KIND_WRITE, 1e12));
    CHECK(fake_held(write));
    CHECK_FAILED(fake_share_under(write, LINE), ZKL_TOO_BIG);
    release(write);
}

/* ---- what the host makes ---- */

#define OWN "/locks/own"

static zkl_node_request *ask(zkl_op_kind kind, bool sequential, double seconds) {
    const zkl_op op = {.kind = kind,
                       .path = OWN,
                       .data = "",
                       .version = -1,
                       .ephemeral = true,
                       .sequential = sequential};
    zkl_node_request *request =
        zkl_node_request_new(&one->nodes, &(zkl_wish){.ops = &op, .count = 1}, 0);
    zkl_ask_start(zkl_ask_of_request(request), zkl_clock_after(fake_now, seconds));
    fake_leave(one);
    return request;
}

static void is_asked(zkl_op_kind kind) {
    zkl_node_request *request = ask(kind, false, 60);
    fake_settle_all(zk);
    fake_wait(zk, 5); /* a read may wait for a new barrier */
    fake_settle_all(zk);
    zkl_ask_free(zkl_ask_of_request(request));
    fake_leave(one);
}

static void a_create_counts_from_its_call_on(void) {
    budget->most = strlen(OWN) + 10;
    zkl_node_request *made = ask(ZKL_OP_CREATE, true, 60);
    CHECK_INT(budget->bytes, strlen(OWN) + 10);
    zkl_node_request *refused = ask(ZKL_OP_CREATE, false, 60);
    char text[ZKL_SHORTAGE_TEXT];
    CHECK(zkl_node_request_shortage(refused, text, sizeof text));
    CHECK(strstr(text, "have 20 bytes, 10 more exceed the bound of 20 ") != NULL);
    CHECK(!zkl_node_request_shortage(made, text, sizeof text));
    fake_settle_all(zk);
    zkl_ask_free(zkl_ask_of_request(made));
    zkl_ask_free(zkl_ask_of_request(refused));
    fake_leave(one);
    CHECK_INT(budget->bytes, strlen(OWN) + 10);
    expire(one);
    CHECK_INT(budget->bytes, 0);
}

static void a_create_that_is_never_sent_does_not_count(void) {
    fake_cut(one);
    zkl_node_request *late = ask(ZKL_OP_CREATE, false, 5), *dropped = ask(ZKL_OP_CREATE, false, 60);
    CHECK_INT(budget->bytes, 2 * strlen(OWN));
    zkl_ask_free(zkl_ask_of_request(dropped));
    fake_wait(zk, 6);
    CHECK_INT(budget->bytes, 0);
    zkl_ask_free(zkl_ask_of_request(late));
}

/* The delete was sent first: its answer, that there is no node, comes after the caller gave up. */
static void a_create_in_doubt_counts_until_a_later_answer_shows_that_it_is_gone(void) {
    zkl_node_request *before = ask(ZKL_OP_DELETE, false, 60);
    zkl_node_request *create = ask(ZKL_OP_CREATE, false, 5);
    fake_wait(zk, 6); /* nothing is answered: its result is unknown */
    CHECK_INT(budget->bytes, strlen(OWN));
    while (fake_carry(one))
        continue;
    fake_settle_all(zk);
    CHECK_INT(budget->bytes, strlen(OWN));
    is_asked(ZKL_OP_GET);
    CHECK_INT(budget->bytes, strlen(OWN)); /* it is there */
    CHECK_INT(fake_remove(zk, OWN), ZOK);
    CHECK_INT(budget->bytes, strlen(OWN));
    is_asked(ZKL_OP_GET);
    CHECK_INT(budget->bytes, 0);
    zkl_ask_free(zkl_ask_of_request(before));
    zkl_ask_free(zkl_ask_of_request(create));
}

static void a_create_that_is_dropped_on_its_way_counts(void) {
    zkl_node_request *create = ask(ZKL_OP_CREATE, false, 60);
    fake_carry(one);
    zkl_ask_free(zkl_ask_of_request(create));
    fake_leave(one);
    CHECK_INT(budget->bytes, strlen(OWN));
    fake_settle_all(zk);
    is_asked(ZKL_OP_DELETE);
    CHECK_INT(budget->bytes, 0);
}

static void a_sequential_create_in_doubt_counts_until_the_session_ends(void) {
    zkl_node_request *create = ask(ZKL_OP_CREATE, true, 60);
    fake_cut(one);
    zkl_ask_free(zkl_ask_of_request(create));
    fake_connect(one);
    is_asked(ZKL_OP_GET);
    CHECK_INT(budget->bytes, strlen(OWN) + 10);
    expire(one);
    CHECK_INT(budget->bytes, 0);
}

static void a_node_of_another_session_at_its_path_shows_that_it_is_gone(void) {
    is_asked(ZKL_OP_CREATE);
    CHECK_INT(budget->bytes, strlen(OWN));
    CHECK_INT(fake_remove(zk, OWN), ZOK);
    fake_directory(zk, OWN);
    is_asked(ZKL_OP_EXISTS);
    CHECK_INT(budget->bytes, 0);
}

/* Its second delete finds no node only because of the first one, and both are rolled back. */
static void a_transaction_that_deletes_a_node_twice_says_nothing(void) {
    const zkl_op ops[] = {{.kind = ZKL_OP_DELETE, .path = OWN, .version = -1},
                          {.kind = ZKL_OP_DELETE, .path = OWN, .version = -1}};
    is_asked(ZKL_OP_CREATE);
    zkl_node_request *twice =
        zkl_node_request_new(&one->nodes, &(zkl_wish){.ops = ops, .count = 2, .several = true}, 0);
    zkl_ask_start(zkl_ask_of_request(twice), zkl_clock_after(fake_now, 60));
    fake_leave(one);
    fake_settle_all(zk);
    CHECK_INT(zkl_node_request_failed(twice), 2);
    zkl_ask_free(zkl_ask_of_request(twice));
    fake_leave(one);
    CHECK_INT(budget->bytes, strlen(OWN)); /* it is there */
    is_asked(ZKL_OP_DELETE);
    CHECK_INT(budget->bytes, 0);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a share fits, or is refused", a_share_fits_or_is_refused},
        {"what is owed goes before newcomers", what_is_owed_goes_before_newcomers},
        {"a node of the host counts until it is known to be gone",
         a_node_of_the_host_counts_until_it_is_known_to_be_gone},
        {"a node that is made again counts once", a_node_that_is_made_again_counts_once},
        {"one too many is refused, and nothing is sent",
         one_too_many_is_refused_and_nothing_is_sent},
        {"a node counts until the delete is answered", a_node_counts_until_the_delete_is_answered},
        {"a create in doubt counts", a_create_in_doubt_counts},
        {"nodes of a session that has ended do not count",
         nodes_of_a_session_that_has_ended_do_not_count},
        {"a multilock counts with all its paths", a_multilock_counts_with_all_its_paths},
        {"a multilock that enters again waits for room",
         a_multilock_that_enters_again_waits_for_room},
        {"a try that enters again waits for room, too", a_try_that_enters_again_waits_for_room_too},
        {"a try does not wait for room that may never come",
         a_try_does_not_wait_for_room_that_may_never_come},
        {"a try takes the room that comes all the same",
         a_try_takes_the_room_that_comes_all_the_same},
        {"other callers wait for that room", other_callers_wait_for_that_room},
        {"a semaphore counts its leases at the gate", a_semaphore_counts_its_leases_at_the_gate},
        {"a semaphore that leaves gives up its leases",
         a_semaphore_that_leaves_gives_up_its_leases},
        {"a place counts once", a_place_counts_once},
        {"a place that queues again waits for room", a_place_that_queues_again_waits_for_room},
        {"a read under a write counts, too", a_read_under_a_write_counts_too},
        {"a create counts from its call on", a_create_counts_from_its_call_on},
        {"a create that is never sent does not count", a_create_that_is_never_sent_does_not_count},
        {"a create in doubt counts until a later answer shows that it is gone",
         a_create_in_doubt_counts_until_a_later_answer_shows_that_it_is_gone},
        {"a create that is dropped on its way counts", a_create_that_is_dropped_on_its_way_counts},
        {"a sequential create in doubt counts until the session ends",
         a_sequential_create_in_doubt_counts_until_the_session_ends},
        {"a node of another session at its path shows that it is gone",
         a_node_of_another_session_at_its_path_shows_that_it_is_gone},
        {"a transaction that deletes a node twice says nothing about it",
         a_transaction_that_deletes_a_node_twice_says_nothing},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, fake_world_end);
}
