/* A line whose servers answer: who is granted when, and what is asked for it. */
#include "fake_world.h"

#include <stdio.h>
#include <string.h>

static unsigned asked(const fake_client *client) {
    unsigned n = 0;
    for (size_t op = 0; op < FAKE_OPS; op++)
        n += client->counts[op];
    return n;
}

static void forget_counts(fake_client *client) {
    memset(client->counts, 0, sizeof client->counts);
}

static void create_and_list_leave_together(void) {
    fake_join(one, LINE, 5);
    CHECK_TEXT(fake_batch(one), "CL");
}

static void the_smallest_holds(void) {
    fake_place *p = fake_join(one, LINE, 5);
    CHECK(fake_carry(one) && fake_deliver(one));
    CHECK(fake_waits(p)); /* who else is there is not known yet */
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(p->token, fake_find(zk, fake_node_of(p), FAKE_LATEST)->czxid);
    CHECK_TEXT(fake_find(zk, fake_node_of(p), FAKE_LATEST)->data, "me");
}

static void alone_it_takes_three_requests(void) {
    fake_place *p = fake_holder(one);
    CHECK_INT(fake_release(p), ZKL_OK);
    CHECK_TEXT(fake_batch(one), "D");
    fake_settle(one);
    CHECK_INT(asked(one), 3);
    CHECK_CLEAN();
}

static void a_waiter_watches_the_nearest_and_itself(void) {
    fake_stranger(zk, LINE, NULL);
    const char *nearest = fake_stranger(zk, LINE, NULL);
    fake_place *p = fake_join(one, LINE, 5);
    fake_carry(one);
    fake_stranger(zk, LINE, NULL); /* behind us */
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "GG");
    CHECK_INT(fake_pending(one, FAKE_GET, nearest), 1);
    CHECK_INT(fake_pending(one, FAKE_GET, fake_node_of(p)), 1);
    fake_settle(one);
    CHECK(fake_waits(p));
    CHECK_INT(asked(one), 4);
}

static void a_sole_blocker_that_goes_grants_without_a_list(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_place *p = fake_waiter(one);
    forget_counts(one);
    fake_remove(zk, stranger);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(asked(one), 0);
}

static void a_blocker_in_the_middle_that_goes_does_not_grant(void) {
    const char *first = fake_stranger(zk, LINE, NULL);
    const char *middle = fake_stranger(zk, LINE, NULL);
    fake_place *p = fake_waiter(one);
    fake_remove(zk, middle);
    while (fake_deliver(one))
        continue;
    CHECK(fake_waits(p));
    CHECK_TEXT(fake_batch(one), "G");
    CHECK_INT(fake_pending(one, FAKE_GET, first), 1);
    fake_settle(one);
    CHECK(fake_waits(p));
    fake_remove(zk, first);
    fake_settle(one);
    CHECK(fake_held(p));
}

static void a_blocker_gone_before_the_watch_lists_again(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_place *p = fake_join(one, LINE, 5);
    fake_answer(one);
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "GG");
    fake_remove(zk, stranger);
    CHECK(fake_carry(one) && fake_deliver(one)); /* the watch: NONODE */
    CHECK(fake_waits(p));
    CHECK_TEXT(fake_batch(one), "GL");
    fake_settle(one);
    CHECK(fake_held(p));
}

static void a_blocker_known_of_old_may_be_gone(void) {
    const char *first = fake_stranger(zk, LINE, NULL);
    const char *middle = fake_stranger(zk, LINE, NULL);
    fake_place *p = fake_waiter(one);
    fake_remove(zk, first); /* not watched */
    fake_remove(zk, middle);
    fake_settle(one);
    CHECK(fake_held(p));
}

static void a_write_to_the_blocker_does_not_grant(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_place *p = fake_waiter(one);
    fake_write(zk, stranger, "__REVOKE__");
    fake_settle(one);
    CHECK(fake_waits(p));
    fake_remove(zk, stranger); /* the watch was set again */
    fake_settle(one);
    CHECK(fake_held(p));
}

static void make_stray(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", LINE, name);
    CHECK_INT(fake_make(zk, path, "", ZKL_EPHEMERAL, 0xdead, NULL), ZOK);
}

static void nobody_is_granted_beside_a_holder_by_a_stray_number(void) {
    fake_place *holder = fake_holder(one), *places[6];
    make_stray("x-lock--2147483647");
    for (size_t i = 0; i < 6; i++) {
        places[i] = fake_join(i % 2 ? one : two, LINE, 1e12);
        fake_settle_all(zk);
        CHECK(fake_held(holder));
        for (size_t j = 0; j <= i; j++)
            CHECK(fake_waits(places[j]));
    }
}

/* Who may create may stand before everybody, and nobody is granted until that node goes. */
static void a_stray_number_below_all_is_waited_for(void) {
    make_stray("x-lock--000000005");
    fake_place *p = fake_waiter(one);
    fake_remove(zk, LINE "/x-lock--000000005");
    fake_settle(one);
    CHECK(fake_held(p));
}

/* ---- from one of ours to the next ---- */

static void a_release_hands_over_without_waiting(void) {
    fake_place *p = fake_holder(one), *q = fake_waiter(one);
    forget_counts(one);
    CHECK_INT(fake_release(p), ZKL_OK);
    CHECK(fake_held(q)); /* though nothing was carried out */
    CHECK(q->token > p->token);
    CHECK_TEXT(fake_batch(one), "D");
    fake_settle(one);
    CHECK_INT(asked(one), 1);
}

static void ours_need_no_watch_on_each_other(void) {
    fake_place *p = fake_holder(one), *q = fake_waiter(one);
    CHECK_INT(one->counts[FAKE_GET], 1); /* its own node */
    CHECK(fake_held(p) && fake_waits(q));
}

static void a_stranger_between_ours_is_respected(void) {
    fake_place *p = fake_holder(one);
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_place *q = fake_waiter(one);
    CHECK_INT(fake_release(p), ZKL_OK);
    fake_settle(one);
    CHECK(fake_waits(q));
    fake_remove(zk, stranger);
    fake_settle(one);
    CHECK(fake_held(q));
}

static void another_client_between_ours_is_respected(void) {
    fake_place *p = fake_holder(one), *other = fake_waiter(two), *q = fake_waiter(one);
    CHECK_INT(fake_release(p), ZKL_OK);
    CHECK(fake_waits(q));
    fake_settle_all(zk);
    CHECK(fake_held(other) && fake_waits(q));
    fake_release(other);
    fake_settle_all(zk);
    CHECK(fake_held(q));
}

static void no_hand_over_before_the_own_watch_is_answered(void) {
    fake_place *p = fake_holder(one);
    fake_place *q = fake_join(one, LINE, 5);
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
    fake_place *p = fake_join(one, LINE, 5);
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
    fake_place *places[50];
    for (size_t i = 0; i < 50; i++)
        places[i] = fake_join(one, LINE, 5);
    fake_settle(one);
    CHECK(one->counts[FAKE_LIST] <= 2);
    CHECK_INT(one->counts[FAKE_CREATE], 50);
    forget_counts(one);
    for (size_t i = 0; i < 50; i++) {
        CHECK(fake_held(places[i]));
        CHECK_INT(fake_release(places[i]), ZKL_OK); /* nothing is carried out in between */
    }
    CHECK_INT(asked(one), 50);
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_list_on_its_way_does_not_count_for_a_later_create(void) {
    fake_place *p = fake_join(one, LINE, 5);
    fake_carry(one);
    fake_carry(one); /* the list has been made, but is not here yet */
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_place *q = fake_join(one, LINE, 5);
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
    static fake_place *places[MANY];
    const char *stranger = fake_stranger(zk, LINE, NULL);
    one->floor.watches.most = 2 * WATCHED * (4 + strlen(stranger) + 1);
    for (size_t i = 0; i < MANY; i++)
        places[i] = fake_join(one, LINE, 1e12);
    fake_settle(one);
    CHECK(one->counts[FAKE_GET] >= WATCHED - 1 && one->counts[FAKE_GET] <= WATCHED + 1);
    for (size_t i = 0; i < MANY - 1; i++)
        fake_cancel(places[i]);
    fake_remove(zk, stranger);
    while (fake_deliver(one))
        continue;
    CHECK(fake_waits(places[MANY - 1])); /* its own watch is armed now that its turn has come */
    CHECK_INT(fake_pending(one, FAKE_GET, fake_node_of(places[MANY - 1])), 1);
}

/* ---- all kinds of neighbours ---- */

static void strangers_of_all_libraries_count(void) {
    static const char *const forms[] = {
        NULL,
        "_c_%s0123456789abcdef01234567-lock-",
        "%s0123456789abcdef01234567__lock__",
    };
    for (size_t i = 0; i < 3; i++) {
        const char *stranger = fake_stranger(zk, LINE, forms[i]);
        fake_place *p = fake_waiter(one);
        fake_remove(zk, stranger);
        fake_settle(one);
        CHECK(fake_held(p));
        fake_release(p);
        fake_settle(one);
    }
    CHECK_CLEAN();
}

static void what_is_no_lock_is_ignored_and_left_alone(void) {
    fake_make(zk, LINE "/config", "", ZKL_PERSISTENT, 0, NULL);
    fake_make(zk, LINE "/_c_lease-0000000000", "", ZKL_PERSISTENT, 0, NULL);
    fake_place *p = fake_holder(one);
    fake_release(p);
    fake_settle(one);
    CHECK_INT(fake_children(zk, LINE), 2);
}

static void read_write_nodes_are_of_the_wrong_kind(void) {
    fake_place *holder = fake_holder(one), *p = fake_waiter(one);
    fake_stranger(zk, LINE, "_c_%s-1111-4222-b333-444444444444-__READ__");
    fake_place *q = fake_join(one, LINE, 5);
    fake_settle(one);
    CHECK_FAILED(p, ZKL_WRONG_KIND);
    CHECK_FAILED(q, ZKL_WRONG_KIND);
    CHECK(fake_held(holder)); /* what is held is held */
    fake_release(holder);
    fake_settle(one);
    CHECK_INT(fake_children(zk, LINE), 1);
}

static void set_next(int32_t sequence) {
    fake_find(zk, LINE, FAKE_LATEST)->next = sequence;
}

static void order_is_right_up_to_the_end_of_the_counter(void) {
    set_next(INT32_MAX - 2);
    fake_place *p = fake_holder(one), *q = fake_waiter(two);
    CHECK(strstr(fake_node_of(q), "-lock-2147483646"));
    fake_place *r = fake_join(one, LINE, 5);
    fake_settle_all(zk);
    CHECK_FAILED(r, ZDATAINCONSISTENCY);
    fake_release(p);
    fake_settle_all(zk);
    CHECK(fake_held(q));
    CHECK(q->token > p->token);
}

/* The servers give the last number again after ones below zero: who bears it came later, and would stand before them. */
static void nobody_holds_past_the_end_of_the_counter(void) {
    static const int32_t given[] = {INT32_MAX, INT32_MIN, INT32_MIN + 1, INT32_MAX, -1};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        set_next(given[i]);
        fake_place *p = fake_join(i % 2 ? one : two, LINE, 5);
        fake_settle_all(zk);
        CHECK_FAILED(p, ZDATAINCONSISTENCY);
    }
    CHECK_CLEAN();
}

static void a_tie_fails_and_never_holds(void) {
    fake_place *p = fake_holder(two);
    set_next(0);
    fake_place *q = fake_join(one, LINE, 5);
    fake_settle_all(zk);
    CHECK_FAILED(q, ZDATAINCONSISTENCY);
    CHECK(fake_held(p));
    CHECK_INT(fake_children(zk, LINE), 1);
    fake_release(p);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void a_tie_among_ours_grants_one_at_most(void) {
    fake_place *p = fake_join(one, LINE, 5);
    fake_carry(one);
    set_next(0);
    fake_place *q = fake_join(one, LINE, 5);
    fake_settle(one);
    CHECK(fake_held(p) + fake_held(q) <= 1);
    CHECK(!fake_waits(p) && !fake_waits(q));
}

static void two_paths_are_two_lines(void) {
    fake_directory(zk, "/locks/b");
    fake_place *p = fake_holder(one), *q = fake_join(one, "/locks/b", 5);
    fake_settle(one);
    CHECK(fake_held(p) && fake_held(q));
    CHECK_INT(one->lines.count, 2);
    fake_release(q);
    fake_settle(one);
    CHECK_INT(one->lines.count, 1);
}

static void lines_are_found_and_freed_however_many(void) {
    fake_place *places[300];
    char path[64];
    for (int i = 0; i < 300; i++) {
        snprintf(path, sizeof path, "/locks/a/line%d", i);
        fake_directory(zk, path);
        places[i] = fake_join(one, path, 5);
    }
    fake_settle(one);
    CHECK_INT(one->lines.count, 300);
    for (int i = 0; i < 300; i++) {
        CHECK(fake_held(places[i]));
        fake_release(places[i]);
    }
    fake_settle(one);
    CHECK_INT(one->lines.count, 0);
}

static void a_release_of_what_is_not_held_is_told(void) {
    fake_place *p = fake_holder(one), *q = fake_waiter(one);
    CHECK_INT(fake_release(q), ZKL_NOT_OWNER);
    CHECK(fake_waits(q));
    CHECK_INT(fake_release(p), ZKL_OK);
    CHECK_INT(fake_release(p), ZKL_NOT_OWNER);
}

static void counts_what_it_does(void) {
    fake_place *p = fake_holder(one), *q = fake_waiter(one);
    CHECK_INT(one->floor.counters.held, 1);
    CHECK_INT(one->floor.counters.waiting, 1);
    CHECK_INT(one->floor.counters.acquired, 1);
    fake_release(p);
    fake_release(q);
    CHECK_INT(one->floor.counters.acquired, 2);
    CHECK_INT(one->floor.counters.released, 2);
    fake_settle(one);
    CHECK_CLEAN();
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"create and list leave together", create_and_list_leave_together},
        {"the smallest holds, its token is the node's czxid", the_smallest_holds},
        {"alone, a lock and its release take three requests", alone_it_takes_three_requests},
        {"a waiter watches the nearest before it, and its own node",
         a_waiter_watches_the_nearest_and_itself},
        {"a sole blocker that goes grants without a list",
         a_sole_blocker_that_goes_grants_without_a_list},
        {"a blocker in the middle that goes does not grant",
         a_blocker_in_the_middle_that_goes_does_not_grant},
        {"a blocker that is gone before it is watched makes the line list again",
         a_blocker_gone_before_the_watch_lists_again},
        {"a blocker known of old that has gone meanwhile does not block for ever",
         a_blocker_known_of_old_may_be_gone},
        {"a write to the blocker does not grant, and it stays watched",
         a_write_to_the_blocker_does_not_grant},
        {"nobody is granted beside a holder because of a node with a stray number",
         nobody_is_granted_beside_a_holder_by_a_stray_number},
        {"a node with a number below all others is waited for",
         a_stray_number_below_all_is_waited_for},
        {"a release grants the next of ours at once", a_release_hands_over_without_waiting},
        {"ours need no watch on each other", ours_need_no_watch_on_each_other},
        {"a stranger between two of ours is respected", a_stranger_between_ours_is_respected},
        {"another client between two of ours is respected",
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
        {"nodes of Curator, Go's zk and kazoo are waited for", strangers_of_all_libraries_count},
        {"what is no lock's node is ignored and left alone",
         what_is_no_lock_is_ignored_and_left_alone},
        {"read-write nodes in the directory are answered with wrong kind",
         read_write_nodes_are_of_the_wrong_kind},
        {"order is right up to the end of the sequences",
         order_is_right_up_to_the_end_of_the_counter},
        {"where the sequences have come to their end nobody holds",
         nobody_holds_past_the_end_of_the_counter},
        {"a tie of sequences fails, there are never two holders", a_tie_fails_and_never_holds},
        {"a tie among ours grants one at most", a_tie_among_ours_grants_one_at_most},
        {"two paths are two lines, and an empty one is freed", two_paths_are_two_lines},
        {"three hundred lines are told apart and freed", lines_are_found_and_freed_however_many},
        {"releasing what is not held is answered with not owner",
         a_release_of_what_is_not_held_is_told},
        {"counts acquisitions, releases, waits and holds", counts_what_it_does},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
