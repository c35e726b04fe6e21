/* SPDX-License-Identifier: MIT */
/* A line whose servers answer: when a caller is granted, and which requests that takes. */
#include "fake_world.h"

#include <stdio.h>

static void create_and_list_leave_together(void) {
    fake_join(one, LINE, 5);
    CHECK_TEXT(fake_batch(one), "CL");
}

static void the_smallest_holds(void) {
    fake_caller *p = fake_join(one, LINE, 5);
    CHECK(fake_carry(one) && fake_deliver(one));
    CHECK(fake_waits(p)); /* the client does not know yet who else is there */
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
    CHECK_INT(fake_asked(one), 3);
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
    CHECK_INT(fake_asked(one), 5);
}

static void a_sole_blocker_that_goes_grants_without_a_list(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_forget_counts(one);
    fake_remove(zk, stranger);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(fake_asked(one), 0);
}

static void a_blocker_in_the_middle_that_goes_does_not_grant(void) {
    const char *first = fake_stranger(zk, LINE, NULL);
    const char *middle = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_forget_counts(one);
    fake_remove(zk, middle);
    fake_settle(one);
    CHECK(fake_waits(p));
    CHECK_INT(fake_asked(one), 0); /* the other one is watched already */
    fake_remove(zk, first);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(fake_asked(one), 0);
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
    fake_forget_counts(one);
    fake_remove(zk, second);
    fake_settle(one);
    CHECK_INT(fake_asked(one), 1);
    CHECK_INT(one->counts[FAKE_LIST], 1);
    fake_forget_counts(one);
    fake_remove(zk, blocker);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(fake_asked(one), 0);
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
    fake_forget_counts(one);
    fake_cancel(first);
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_LIST], 1);
}

static void the_second_that_goes_as_the_last_is_of_no_interest(void) {
    const char *second = fake_stranger(zk, LINE, NULL);
    const char *blocker = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_forget_counts(one);
    fake_remove(zk, second);
    fake_remove(zk, blocker);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(fake_asked(one), 0);
}

static void of_our_own_nodes_nothing_has_to_be_asked(void) {
    fake_caller *callers[6] = {fake_holder(one)};
    for (size_t i = 1; i < 6; i++)
        callers[i] = fake_waiter(one);
    fake_settle(one);
    fake_forget_counts(one);
    fake_cancel(callers[3]); /* the second before one, and the blocker of another */
    for (size_t i = 0; i < 5; i++) {
        if (i == 3)
            continue;
        fake_release(callers[i]);
        fake_settle(one);
        CHECK(fake_held(callers[i == 2 ? 4 : i + 1]));
    }
    CHECK_INT(fake_asked(one), 5); /* the deletes */
}

/* A child that was listed over this link, and does not exist when its watch is set, was deleted. */
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
    fake_forget_counts(one);
    fake_settle(one);
    CHECK(fake_waits(p));
    CHECK(one->counts[FAKE_LIST] <= 2);
    CHECK_INT(one->counts[FAKE_GET], 1); /* of the one that is left */
    fake_caller *q = fake_waiter(one), *r = fake_waiter(one);
    fake_forget_counts(one);
    fake_cancel(q); /* the list is true again */
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_LIST], 0);
    fake_remove(zk, strangers[0]);
    fake_settle(one);
    CHECK(fake_held(p) && fake_waits(r));
}

/* A writer and the read that it took have one sequence: an event of one is not an event of the
 * other. */
static void a_write_and_its_read_are_two(void) {
    fake_node *write, *read;
    CHECK_INT(fake_make(zk, LINE "/_c_w-__WRIT__", "", FAKE_EPHEMERAL_SEQUENCE, 0xdead, &write),
              ZOK);
    CHECK_INT(fake_make(zk, LINE "/_c_r-__READ__0000000000", "", FAKE_EPHEMERAL, 0xdead, &read),
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

/* Nobody knows whether a writer that has gone took read before: a waiting writer asks once more, in
 * time. */
static void a_second_that_wrote_makes_a_writer_list(void) {
    fake_node *second, *blocker;
    CHECK_INT(fake_make(zk, LINE "/_c_a-__WRIT__", "", FAKE_EPHEMERAL_SEQUENCE, 0xdead, &second),
              ZOK);
    CHECK_INT(fake_make(zk, LINE "/_c_b-__READ__", "", FAKE_EPHEMERAL_SEQUENCE, 0xdead, &blocker),
              ZOK);
    fake_caller *p = fake_write_lock(one, LINE);
    fake_settle(one);
    CHECK_INT(fake_make(zk, LINE "/_c_a-__READ__0000000000", "", FAKE_EPHEMERAL, 0xdead, NULL),
              ZOK);
    fake_forget_counts(one);
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
    watches->left += half; /* of nodes that no contender needs */
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

static void two_paths_are_two_lines(void) {
    fake_directory(zk, "/locks/b");
    fake_caller *p = fake_holder(one), *q = fake_join(one, "/locks/b", 5);
    fake_settle(one);
    CHECK(fake_held(p) && fake_held(q));
    CHECK_INT(zkl_lines_count(&one->lines), 2);
    fake_release(q);
    fake_settle(one);
    CHECK_INT(zkl_lines_count(&one->lines), 1);
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
    CHECK_INT(zkl_lines_count(&one->lines), 300);
    CHECK(zkl_lines_count(&one->lines) <=
          one->lines.by_path.table.size); /* a search takes as long as among few */
    visited = 0;
    zkl_lines_each(&one->lines, visit);
    CHECK_INT(visited, 300);
    for (int i = 0; i < 300; i++) {
        CHECK(fake_held(callers[i]));
        fake_release(callers[i]);
    }
    fake_settle(one);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
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
        {"the end of a waiter's second makes the line list in time",
         the_second_that_goes_makes_the_line_list_in_time},
        {"the ends of seconds, one after the other, make the line list",
         the_seconds_that_go_one_after_the_other_make_it_list},
        {"the end of a second that is the last before the waiter needs no list",
         the_second_that_goes_as_the_last_is_of_no_interest},
        {"the line needs no request about its own nodes", of_our_own_nodes_nothing_has_to_be_asked},
        {"a blocker that goes before its watch is set counts as gone",
         a_blocker_gone_before_the_watch_is_one_that_goes},
        {"a blocker that goes before its watch is set grants no node that has gone",
         a_blocker_gone_before_the_watch_grants_no_node_that_is_gone},
        {"several blockers that go before their watches are set cause one list",
         several_gone_before_the_watches_make_one_list},
        {"a write and its read count as two nodes", a_write_and_its_read_are_two},
        {"the end of a second that was a writer makes a waiting writer list",
         a_second_that_wrote_makes_a_writer_list},
        {"without much room only the blocker is watched",
         without_much_room_only_the_blocker_is_watched},
        {"a blocker from an old list that has gone does not block for ever",
         a_blocker_known_of_old_may_be_gone},
        {"a write to the blocker does not grant, and it stays watched",
         a_write_to_the_blocker_does_not_grant},
        {"two paths are two lines, and an empty one is freed", two_paths_are_two_lines},
        {"three hundred lines are told apart and freed", lines_are_found_and_freed_however_many},
        {"releasing a contender that does not hold answers not owner",
         a_release_of_what_is_not_held_is_told},
        {"counts acquisitions, releases, waits and holds", counts_what_it_does},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
