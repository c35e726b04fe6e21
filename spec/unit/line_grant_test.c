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
    fake_caller *p = fake_join(one, LINE, 5);
    CHECK(fake_carry(one) && fake_deliver(one));
    CHECK(fake_waits(p)); /* who else is there is not known yet */
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(p->token, fake_find(zk, fake_node_of(p), FAKE_LATEST)->czxid);
    CHECK_TEXT(fake_find(zk, fake_node_of(p), FAKE_LATEST)->data, "me");
}

static void alone_it_takes_three_requests(void) {
    fake_caller *p = fake_holder(one);
    CHECK_INT(fake_release(p), ZKL_OK);
    CHECK_TEXT(fake_batch(one), "D");
    fake_settle(one);
    CHECK_INT(asked(one), 3);
    CHECK_CLEAN();
}

static void a_waiter_watches_the_two_nearest_and_itself(void) {
    fake_stranger(zk, LINE, NULL);
    const char *second = fake_stranger(zk, LINE, NULL);
    const char *nearest = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, 5);
    fake_carry(one);
    fake_stranger(zk, LINE, NULL); /* behind us */
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "GGG");
    CHECK_INT(fake_pending(one, FAKE_GET, nearest), 1);
    CHECK_INT(fake_pending(one, FAKE_GET, second), 1);
    CHECK_INT(fake_pending(one, FAKE_GET, fake_node_of(p)), 1);
    fake_settle(one);
    CHECK(fake_waits(p));
    CHECK_INT(asked(one), 5);
}

static void a_sole_blocker_that_goes_grants_without_a_list(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    forget_counts(one);
    fake_remove(zk, stranger);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(asked(one), 0);
}

static void a_blocker_in_the_middle_that_goes_does_not_grant(void) {
    const char *first = fake_stranger(zk, LINE, NULL);
    const char *middle = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    forget_counts(one);
    fake_remove(zk, middle);
    fake_settle(one);
    CHECK(fake_waits(p));
    CHECK_INT(asked(one), 0); /* the other one is watched already */
    fake_remove(zk, first);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(asked(one), 0);
}

/* Those before the second one have gone unheard. While the blocker holds there is time to find
 * out. */
static void the_second_that_goes_makes_the_line_list_in_time(void) {
    const char *gone = fake_stranger(zk, LINE, NULL);
    const char *second = fake_stranger(zk, LINE, NULL);
    const char *blocker = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_remove(zk, gone);
    fake_settle(one);
    forget_counts(one);
    fake_remove(zk, second);
    fake_settle(one);
    CHECK_INT(asked(one), 1);
    CHECK_INT(one->counts[FAKE_LIST], 1);
    forget_counts(one);
    fake_remove(zk, blocker);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(asked(one), 0);
}

/* The second is ours, and so is the next; the one before those is not, and is asked about. */
static void the_seconds_that_go_one_after_the_other_make_it_list(void) {
    fake_stranger(zk, LINE, NULL);
    const char *gone = fake_stranger(zk, LINE, NULL);
    fake_stranger(zk, LINE, NULL);
    fake_caller *first = fake_waiter(one), *second = fake_waiter(one);
    fake_stranger(zk, LINE, NULL);
    fake_waiter(one);
    fake_remove(zk, gone);
    fake_settle(one);
    fake_cancel(second);
    fake_settle(one);
    forget_counts(one);
    fake_cancel(first);
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_LIST], 1);
}

static void the_second_that_goes_as_the_last_is_of_no_interest(void) {
    const char *second = fake_stranger(zk, LINE, NULL);
    const char *blocker = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    forget_counts(one);
    fake_remove(zk, second);
    fake_remove(zk, blocker);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(asked(one), 0);
}

static void of_our_own_nodes_nothing_has_to_be_asked(void) {
    fake_caller *callers[6] = {fake_holder(one)};
    for (size_t i = 1; i < 6; i++)
        callers[i] = fake_waiter(one);
    fake_settle(one);
    forget_counts(one);
    fake_cancel(callers[3]); /* the second before one, and the blocker of another */
    for (size_t i = 0; i < 5; i++) {
        if (i == 3)
            continue;
        fake_release(callers[i]);
        fake_settle(one);
        CHECK(fake_held(callers[i == 2 ? 4 : i + 1]));
    }
    CHECK_INT(asked(one), 5); /* the deletes */
}

/* What was listed over this link, and is not there when its watch is to be set, has been
 * deleted. */
static void a_blocker_gone_before_the_watch_is_one_that_goes(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, 5);
    fake_answer(one);
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "GG");
    fake_remove(zk, stranger);
    CHECK(fake_carry(one) && fake_deliver(one)); /* the watch: NONODE */
    CHECK(fake_waits(p));                        /* until the watch on its own node is answered */
    CHECK_TEXT(fake_batch(one), "G");
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(one->counts[FAKE_LIST], 1);
}

static void a_blocker_gone_before_the_watch_grants_no_node_that_is_gone(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, 5);
    fake_answer(one);
    fake_answer(one);
    fake_remove(zk, stranger);
    CHECK(fake_carry(one) && fake_deliver(one));
    fake_remove(zk, fake_node_of(p));
    fake_stranger(zk, LINE, NULL);
    fake_settle(one);
    CHECK(fake_waits(p));
    CHECK_INT(one->counts[FAKE_CREATE], 2);
}

/* All of a long line may have gone meanwhile: one list, and not a question for each. */
static void several_gone_before_the_watches_make_one_list(void) {
    const char *strangers[8];
    for (size_t i = 0; i < 8; i++)
        strangers[i] = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, 5);
    fake_answer(one);
    fake_answer(one);
    for (size_t i = 1; i < 8; i++)
        fake_remove(zk, strangers[i]);
    forget_counts(one);
    fake_settle(one);
    CHECK(fake_waits(p));
    CHECK(one->counts[FAKE_LIST] <= 2);
    CHECK_INT(one->counts[FAKE_GET], 1); /* of the one that is left */
    fake_caller *q = fake_waiter(one), *r = fake_waiter(one);
    forget_counts(one);
    fake_cancel(q); /* the list is true again */
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_LIST], 0);
    fake_remove(zk, strangers[0]);
    fake_settle(one);
    CHECK(fake_held(p) && fake_waits(r));
}

/* A writer and the read that it took over bear one sequence: what is told of one is not told of the
 * other. */
static void a_write_and_its_read_are_two(void) {
    fake_node *write, *read;
    CHECK_INT(fake_make(zk, LINE "/_c_w-__WRIT__", "", ZKL_EPHEMERAL_SEQUENCE, 0xdead, &write),
              ZOK);
    CHECK_INT(fake_make(zk, LINE "/_c_r-__READ__0000000000", "", ZKL_EPHEMERAL, 0xdead, &read),
              ZOK);
    fake_caller *p = fake_write_lock(one, LINE);
    fake_answer(one);
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "GGG");
    fake_remove(zk, write->path); /* before the watches are set */
    fake_settle(one);
    CHECK(fake_waits(p));
    fake_beat(one, 1);
    fake_remove(zk, read->path);
    fake_settle(one);
    CHECK(fake_held(p));
}

/* Of a writer that goes nobody knows whether it took read before: whoever would write asks once
 * more, in time. */
static void a_second_that_wrote_makes_a_writer_list(void) {
    fake_node *second, *blocker;
    CHECK_INT(fake_make(zk, LINE "/_c_a-__WRIT__", "", ZKL_EPHEMERAL_SEQUENCE, 0xdead, &second),
              ZOK);
    CHECK_INT(fake_make(zk, LINE "/_c_b-__READ__", "", ZKL_EPHEMERAL_SEQUENCE, 0xdead, &blocker),
              ZOK);
    fake_caller *p = fake_write_lock(one, LINE);
    fake_settle(one);
    CHECK_INT(fake_make(zk, LINE "/_c_a-__READ__0000000000", "", ZKL_EPHEMERAL, 0xdead, NULL), ZOK);
    forget_counts(one);
    fake_remove(zk, second->path);
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_LIST], 1);
    fake_remove(zk, blocker->path);
    fake_settle(one);
    CHECK(fake_waits(p)); /* for the read, which was in no list before */
    fake_remove(zk, LINE "/_c_a-__READ__0000000000");
    fake_settle(one);
    CHECK(fake_held(p));
}

/* Watches on seconds are worth a list each, no more: they go first when room is short. */
static void without_much_room_only_the_blocker_is_watched(void) {
    zkl_watch_budget *watches = &one->lines.common.watch_budget;
    const size_t half = watches->most / 2;
    watches->left += half; /* of nodes that nobody looks after */
    watches->bytes += half;
    fake_stranger(zk, LINE, NULL);
    const char *blocker = fake_stranger(zk, LINE, NULL);
    fake_join(one, LINE, 5);
    fake_answer(one);
    fake_answer(one);
    CHECK_INT(fake_pending(one, FAKE_GET, NULL), 1);
    CHECK_INT(fake_pending(one, FAKE_GET, blocker), 1);
    fake_settle(one);
    watches->left -= half;
    watches->bytes -= half;
}

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
                before += asked(clients[i]);
        CHECK(fake_held(callers[holder]));
        fake_release(callers[holder]);
        CHECK(fake_carry(clients[holder])); /* the delete */
        const unsigned sent = asked(clients[next]);
        while (fake_deliver(clients[next]))
            continue;
        CHECK(fake_held(callers[next]));
        CHECK_INT(asked(clients[next]), sent); /* in one round trip: by the event alone */
        callers[holder] = fake_join(clients[holder], LINE, 1e12);
        fake_settle_all(zk);
        for (size_t i = 0; i < count; i++)
            fake_beat(clients[i], 0);
    }
    for (size_t i = 0; i < count; i++)
        after += asked(clients[i]);
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

static void a_blocker_known_of_old_may_be_gone(void) {
    const char *first = fake_stranger(zk, LINE, NULL);
    const char *middle = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_remove(zk, first); /* not watched */
    fake_remove(zk, middle);
    fake_settle(one);
    CHECK(fake_held(p));
}

static void a_write_to_the_blocker_does_not_grant(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
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

/* Who may create may stand before everybody, and nobody is granted until that node goes. */
static void a_stray_number_below_all_is_waited_for(void) {
    make_stray("x-lock--000000005");
    fake_caller *p = fake_waiter(one);
    fake_remove(zk, LINE "/x-lock--000000005");
    fake_settle(one);
    CHECK(fake_held(p));
}

/* ---- from one of ours to the next ---- */

static void a_release_hands_over_without_waiting(void) {
    fake_caller *p = fake_holder(one), *q = fake_waiter(one);
    forget_counts(one);
    CHECK_INT(fake_release(p), ZKL_OK);
    CHECK(fake_held(q)); /* though nothing was carried out */
    CHECK(q->token > p->token);
    CHECK_TEXT(fake_batch(one), "D");
    fake_settle(one);
    CHECK_INT(asked(one), 1);
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
    forget_counts(one);
    for (size_t i = 0; i < 50; i++) {
        CHECK(fake_held(callers[i]));
        CHECK_INT(fake_release(callers[i]), ZKL_OK); /* nothing is carried out in between */
    }
    CHECK_INT(asked(one), 50);
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

/* ---- all kinds of neighbours ---- */

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
    fake_make(zk, LINE "/config", "", ZKL_PERSISTENT, 0, NULL);
    fake_make(zk, LINE "/_c_lease-0000000000", "", ZKL_PERSISTENT, 0, NULL);
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

/* The servers give the last number again after ones below zero: who bears it came later, and would
 * stand before them. */
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

static void two_paths_are_two_lines(void) {
    fake_directory(zk, "/locks/b");
    fake_caller *p = fake_holder(one), *q = fake_join(one, "/locks/b", 5);
    fake_settle(one);
    CHECK(fake_held(p) && fake_held(q));
    CHECK_INT(one->lines.count, 2);
    fake_release(q);
    fake_settle(one);
    CHECK_INT(one->lines.count, 1);
}

static size_t visited;

static void visit(zkl_line *line) {
    visited++;
    (void)line;
}

static void lines_are_found_and_freed_however_many(void) {
    fake_caller *callers[300];
    char path[64];
    for (int i = 0; i < 300; i++) {
        snprintf(path, sizeof path, "/locks/a/line%d", i);
        fake_directory(zk, path);
        callers[i] = fake_join(one, path, 5);
    }
    fake_settle(one);
    CHECK_INT(one->lines.count, 300);
    CHECK(one->lines.count <= one->lines.size); /* a search takes as long as among few */
    visited = 0;
    zkl_lines_each(&one->lines, visit);
    CHECK_INT(visited, 300);
    for (int i = 0; i < 300; i++) {
        CHECK(fake_held(callers[i]));
        fake_release(callers[i]);
    }
    fake_settle(one);
    CHECK_INT(one->lines.count, 0);
}

static void a_release_of_what_is_not_held_is_told(void) {
    fake_caller *p = fake_holder(one), *q = fake_waiter(one);
    CHECK_INT(fake_release(q), ZKL_NOT_OWNER);
    CHECK(fake_waits(q));
    CHECK_INT(fake_release(p), ZKL_OK);
    CHECK_INT(fake_release(p), ZKL_NOT_OWNER);
}

static void counts_what_it_does(void) {
    fake_caller *p = fake_holder(one), *q = fake_waiter(one);
    CHECK_INT(one->context.counters.held, 1);
    CHECK_INT(one->context.counters.waiting, 1);
    CHECK_INT(one->context.counters.acquired, 1);
    fake_release(p);
    fake_release(q);
    CHECK_INT(one->context.counters.acquired, 2);
    CHECK_INT(one->context.counters.released, 2);
    fake_settle(one);
    CHECK_CLEAN();
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"create and list leave together", create_and_list_leave_together},
        {"the smallest holds, its token is the node's czxid", the_smallest_holds},
        {"alone, a lock and its release take three requests", alone_it_takes_three_requests},
        {"a waiter watches the two nearest before it, and its own node",
         a_waiter_watches_the_two_nearest_and_itself},
        {"a sole blocker that goes grants without a list",
         a_sole_blocker_that_goes_grants_without_a_list},
        {"a blocker in the middle that goes does not grant",
         a_blocker_in_the_middle_that_goes_does_not_grant},
        {"the second before us that goes makes the line list in time",
         the_second_that_goes_makes_the_line_list_in_time},
        {"the seconds that go one after the other make it list",
         the_seconds_that_go_one_after_the_other_make_it_list},
        {"the second before us that goes as the last is of no interest",
         the_second_that_goes_as_the_last_is_of_no_interest},
        {"of our own nodes nothing has to be asked", of_our_own_nodes_nothing_has_to_be_asked},
        {"a blocker that is gone before it is watched is one that goes",
         a_blocker_gone_before_the_watch_is_one_that_goes},
        {"a blocker that is gone before it is watched grants no node that is gone",
         a_blocker_gone_before_the_watch_grants_no_node_that_is_gone},
        {"several that are gone before they are watched make one list",
         several_gone_before_the_watches_make_one_list},
        {"a write and its read are two", a_write_and_its_read_are_two},
        {"a second before us that wrote makes a writer list",
         a_second_that_wrote_makes_a_writer_list},
        {"without much room only the blocker is watched",
         without_much_room_only_the_blocker_is_watched},
        {"a release is heard in one round trip", a_release_is_heard_in_one_round_trip},
        {"a release among many is heard in one round trip",
         a_release_among_many_is_heard_in_one_round_trip},
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
