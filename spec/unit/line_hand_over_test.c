/* SPDX-License-Identifier: MIT */
/* A lock goes from one caller to the next: of this client, or of others. */
#include "fake_world.h"

#include <string.h>

static void hand_over_in_a_ring(size_t count) {
    fake_client *clients[16];
    fake_caller *callers[16];
    unsigned before = 0, after = 0;
    const unsigned rounds = 100;
    for (size_t i = 0; i < count; i++) {
        clients[i] = fake_client_new(zk);
        fake_connect(clients[i]);
        callers[i] = fake_join(clients[i], LINE, 1e12);
        fake_settle_all(zk);
    }
    for (unsigned r = 0; r < rounds; r++) {
        const size_t holder = r % count, next = (r + 1) % count;
        if (r == 2 * count)
            for (size_t i = 0; i < count; i++)
                before += fake_asked(clients[i]);
        CHECK(fake_held(callers[holder]));
        fake_release(callers[holder]);
        CHECK(fake_carry(clients[holder])); /* the delete */
        const unsigned sent = fake_asked(clients[next]);
        while (fake_deliver(clients[next]))
            continue;
        CHECK(fake_held(callers[next]));
        CHECK_INT(fake_asked(clients[next]), sent); /* in one round trip: by the event alone */
        callers[holder] = fake_join(clients[holder], LINE, 1e12);
        fake_settle_all(zk);
        for (size_t i = 0; i < count; i++)
            fake_beat(clients[i], 0);
    }
    for (size_t i = 0; i < count; i++)
        after += fake_asked(clients[i]);
    const double each = (after - before) / (double)(rounds - 2 * count);
    check_note("%.2f requests for each turn of %zu", each, count);
    CHECK(each < 9); /* delete, create, two lists, three watches, and heartbeats now and then */
}

static void a_release_is_heard_in_one_round_trip(void) {
    hand_over_in_a_ring(3);
}

static void a_release_among_many_is_heard_in_one_round_trip(void) {
    hand_over_in_a_ring(16);
}

static void a_release_hands_over_without_waiting(void) {
    fake_caller *p = fake_holder(one), *q = fake_waiter(one);
    fake_forget_counts(one);
    CHECK_INT(fake_release(p), ZKL_OK);
    CHECK(fake_held(q)); /* though nothing was carried out */
    CHECK(q->token > p->token);
    CHECK_TEXT(fake_batch(one), "D");
    fake_settle(one);
    CHECK_INT(fake_asked(one), 1);
}

static void ours_need_no_watch_on_each_other(void) {
    fake_caller *p = fake_holder(one), *q = fake_waiter(one);
    CHECK_INT(one->counts[FAKE_GET], 1); /* its own node */
    CHECK(fake_held(p) && fake_waits(q));
}

static void a_stranger_between_ours_is_respected(void) {
    fake_caller *p = fake_holder(one);
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *q = fake_waiter(one);
    CHECK_INT(fake_release(p), ZKL_OK);
    fake_settle(one);
    CHECK(fake_waits(q));
    fake_remove(zk, stranger);
    fake_settle(one);
    CHECK(fake_held(q));
}

static void another_client_between_ours_is_respected(void) {
    fake_caller *p = fake_holder(one), *other = fake_waiter(two), *q = fake_waiter(one);
    CHECK_INT(fake_release(p), ZKL_OK);
    CHECK(fake_waits(q));
    fake_settle_all(zk);
    CHECK(fake_held(other) && fake_waits(q));
    fake_release(other);
    fake_settle_all(zk);
    CHECK(fake_held(q));
}

static void no_hand_over_before_the_own_watch_is_answered(void) {
    fake_caller *p = fake_holder(one);
    fake_caller *q = fake_join(one, LINE, 5);
    fake_answer(one);
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "G");
    CHECK_INT(fake_release(p), ZKL_OK);
    CHECK(fake_waits(q));
    CHECK_TEXT(fake_batch(one), "GD");
    fake_answer(one);
    CHECK(fake_held(q));
}

static void no_grant_by_a_watch_before_the_own_watch_is_answered(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, 5);
    fake_answer(one);
    fake_answer(one);
    fake_answer(one); /* the blocker's watch */
    CHECK_TEXT(fake_batch(one), "G");
    fake_remove(zk, stranger);
    while (fake_deliver(one))
        continue;
    CHECK(fake_waits(p));
    fake_answer(one);
    CHECK(fake_held(p));
}

static void fifty_joins_share_their_lists(void) {
    fake_caller *callers[50];
    for (size_t i = 0; i < 50; i++)
        callers[i] = fake_join(one, LINE, 5);
    fake_settle(one);
    CHECK(one->counts[FAKE_LIST] <= 2);
    CHECK_INT(one->counts[FAKE_CREATE], 50);
    fake_forget_counts(one);
    for (size_t i = 0; i < 50; i++) {
        CHECK(fake_held(callers[i]));
        CHECK_INT(fake_release(callers[i]), ZKL_OK); /* nothing is carried out in between */
    }
    CHECK_INT(fake_asked(one), 50);
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_list_on_its_way_does_not_count_for_a_later_create(void) {
    fake_caller *p = fake_join(one, LINE, 5);
    fake_carry(one);
    fake_carry(one); /* the list has been made, but is not here yet */
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *q = fake_join(one, LINE, 5);
    fake_settle(one);
    CHECK(fake_held(p) && fake_waits(q));
    fake_release(p);
    fake_settle(one);
    CHECK(fake_waits(q));
    fake_remove(zk, stranger);
    fake_settle(one);
    CHECK(fake_held(q));
}

/* On a reconnect all watches go out in one packet, and servers refuse one that is too large. */
static void a_long_line_does_not_watch_all_its_own_nodes(void) {
    enum { MANY = 210, WATCHED = 100 };
    static fake_caller *callers[MANY];
    const char *stranger = fake_stranger(zk, LINE, NULL);
    one->lines.common.watch_budget.most = 2 * WATCHED * (4 + strlen(stranger) + 1);
    for (size_t i = 0; i < MANY; i++)
        callers[i] = fake_join(one, LINE, 1e12);
    fake_settle(one);
    CHECK(one->counts[FAKE_GET] >= WATCHED - 1 && one->counts[FAKE_GET] <= WATCHED + 1);
    for (size_t i = 0; i < MANY - 1; i++)
        fake_cancel(callers[i]);
    fake_remove(zk, stranger);
    while (fake_deliver(one))
        continue;
    CHECK(fake_waits(callers[MANY - 1])); /* its own watch is armed now that its turn has come */
    CHECK_INT(fake_pending(one, FAKE_GET, fake_node_of(callers[MANY - 1])), 1);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"another client hears of a release in one round trip",
         a_release_is_heard_in_one_round_trip},
        {"another client hears of a release among many in one round trip",
         a_release_among_many_is_heard_in_one_round_trip},
        {"a release grants the next of ours at once", a_release_hands_over_without_waiting},
        {"ours need no watch on each other", ours_need_no_watch_on_each_other},
        {"a foreign node between two of ours is waited for", a_stranger_between_ours_is_respected},
        {"another client's node between two of ours is waited for",
         another_client_between_ours_is_respected},
        {"no hand-over before the watch on the own node is answered",
         no_hand_over_before_the_own_watch_is_answered},
        {"no grant by the blocker's watch before the own one is answered",
         no_grant_by_a_watch_before_the_own_watch_is_answered},
        {"fifty joins share two lists and are drained without a round trip",
         fifty_joins_share_their_lists},
        {"a list on its way does not count for a create sent later",
         a_list_on_its_way_does_not_count_for_a_later_create},
        {"a long line does not watch all its own nodes",
         a_long_line_does_not_watch_all_its_own_nodes},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
