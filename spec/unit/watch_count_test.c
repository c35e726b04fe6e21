/* SPDX-License-Identifier: MIT */
/* The bytes of watches that the library has are counted, and taken back when nobody wants them. */
#include "fake_watch.h"
#include "watch_world.h"

#include "line/polled.h"

#include <stdio.h>
#include <string.h>

#define POOL "/locks/pool"

/* ---- what is counted ---- */

static void one_on_a_node_that_a_list_misses_is_not_counted(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_join(one, LINE, 1e12); /* with a list */
    fake_write(zk, stranger, "something");
    CHECK(fake_deliver(one)); /* so it is asked for again, after the list */
    fake_remove(zk, stranger);
    fake_settle(one);
    CHECK(fake_held(p));
    watch_check_counted();
}

static void none_is_counted_when_the_handle_is_lost(void) {
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_lease(two, POOL, 1, 1);
    fake_settle_all(zk);
    fake_waiter(one);
    fake_lease(one, POOL, 1, 1);
    fake_settle(one);
    watch_check_counted();
    for (unsigned i = 0; i < 2; i++) {
        fake_cut(one);
        if (i == 0)
            fake_relink(one);
        else
            fake_expire(one);
        CHECK_INT((int64_t)one->lines.common.watch_budget.bytes, 0);
        fake_connect(one);
        fake_settle(one);
        watch_check_counted();
        CHECK(one->lines.common.watch_budget.bytes > 0);
    }
    CHECK(fake_held(p));
}

static void is_counted(void) {
    watch_without_room();
    fake_caller *p = fake_holder(one), *q = fake_waiter(one);
    watch_wait(0.1);
    CHECK_INT((int64_t)zkl_polled_count(&one->lines.common), 2);
    fake_cancel(q);
    CHECK_INT(fake_release(p), ZKL_OK);
    CHECK_INT((int64_t)zkl_polled_count(&one->lines.common), 0);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

/* ---- names ---- */

static void a_long_name_is_not_watched(void) {
    static char path[1400];
    fake_node *node = NULL;
    for (size_t length = 1023; length <= 1026; length++) {
        int at = snprintf(path, sizeof path, "%s/", LINE);
        memset(path + at, 'x', length);
        strcpy(path + at + length - strlen("-lock-0000000000"),
               "-lock-"); /* the servers add a number */
        CHECK_INT(fake_make(zk, path, "", FAKE_EPHEMERAL_SEQUENCE, 0xdead, &node), 0);
        CHECK_INT((int64_t)strlen(node->path), at + (int64_t)length);
        fake_caller *p = fake_waiter(one);
        CHECK_INT((int64_t)fake_watched(one), length <= 1024 ? 2 : 1); /* its own */
        fake_remove(zk, node->path);
        watch_wait(1);
        CHECK(fake_held(p));
        fake_drop(p);
        fake_settle(one);
        CHECK_CLEAN();
    }
}

/* ---- what is taken back ---- */

static void one_whose_taking_back_was_cut_off_is_taken_back_again(void) {
    fake_stranger(zk, LINE, NULL);
    fake_cancel(fake_waiter(one));
    while (strcmp(fake_batch(one), "U") != 0)
        CHECK(fake_answer(one));
    fake_cut(one);
    CHECK_INT((int64_t)fake_watched(one), 1);
    fake_connect(one);
    fake_settle(one);
    CHECK_INT((int64_t)fake_watched(one), 0);
    CHECK_INT((int64_t)one->lines.common.watch_budget.bytes, 0);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
}

static void one_that_the_servers_do_not_take_back_counts_on(void) {
    static const int why[] = {ZNOAUTH, ZNOWATCHER}; /* the library keeps it in either case */
    for (size_t i = 0; i < 2; i++) {
        const char *stranger = fake_stranger(zk, LINE, NULL);
        fake_refuse(zk, FAKE_UNWATCH, LINE, why[i], 1);
        fake_cancel(fake_waiter(one));
        fake_settle(one);
        CHECK_INT((int64_t)fake_watched(one), 1);
        CHECK_INT((int64_t)one->lines.common.watch_budget.bytes, (int64_t)fake_watched_bytes(one));
        CHECK_INT(zkl_lines_count(&one->lines), 0);
        fake_remove(zk, stranger);
        fake_settle(one);
        CHECK_INT((int64_t)one->lines.common.watch_budget.bytes, 0);
    }
}

/* That another watch tells leaves it as it was. */
static void what_is_left_is_not_taken_for_another(void) {
    fake_stranger(zk, LINE, NULL);
    fake_refuse(zk, FAKE_UNWATCH, LINE, ZNOAUTH, 0);
    fake_cancel(fake_waiter(one));
    fake_settle(one);
    const size_t left = one->lines.common.watch_budget.left;
    CHECK(left > zkl_watch_budget_size(strlen(LINE "/leases")));
    fake_directory(zk, LINE "/leases");
    const char *lease = fake_stranger(zk, LINE "/leases", "_c_%s-lease-");
    fake_waiter(one); /* the directory of leases stands in a line */
    fake_caller *p = fake_lease(one, LINE, 1, 1);
    fake_settle_all(zk);
    CHECK(fake_waits(p));
    fake_remove(zk, lease);
    fake_settle_all(zk);
    CHECK(fake_held(p));
    CHECK_INT((int64_t)one->lines.common.watch_budget.left, (int64_t)left);
}

static void what_is_left_goes_with_the_handle(void) {
    static void (*const ends[])(fake_client *) = {fake_relink, fake_expire};
    fake_refuse(zk, FAKE_UNWATCH, LINE, ZNOAUTH, 0);
    for (size_t i = 0; i < 2; i++) {
        const char *stranger = fake_stranger(zk, LINE, NULL);
        fake_cancel(fake_waiter(one));
        fake_settle(one);
        CHECK(one->lines.common.watch_budget.left > 0);
        fake_caller *p = fake_join(one, "/locks/other", 60); /* a line that sees it go */
        fake_cut(one);
        ends[i](one);
        CHECK_INT((int64_t)one->lines.common.watch_budget.bytes, 0);
        fake_connect(one);
        fake_drop(p);
        fake_remove(zk, stranger);
        fake_settle(one);
    }
}

/* The lease is refused, and its line at its end, before the list that was sent with it is
 * answered. */
static void a_directory_is_taken_back_when_the_library_has_the_watch(void) {
    fake_directory(zk, POOL "/leases");
    fake_refuse(zk, FAKE_CREATE, POOL "/leases", ZNOAUTH, 0);
    fake_caller *p = fake_lease(one, POOL, 1, 1);
    fake_settle_all(zk);
    CHECK_FAILED(p, ZKL_ACCESS_DENIED);
    CHECK_INT((int64_t)fake_watched(one), 0);
    CHECK_INT((int64_t)one->lines.common.watch_budget.bytes, 0);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
}

/* A writer's read has the write's number: what is answered about the one is not the other's. */
static void two_of_one_number_are_told_apart(void) {
    fake_caller *write = fake_write_lock(two, LINE);
    fake_settle(two);
    fake_caller *read = fake_read_under(write, LINE);
    fake_settle(two);
    fake_caller *p = fake_write_lock(one, LINE), *q = fake_read(one, LINE);
    while (fake_pending(one, FAKE_GET, NULL) < 2)
        CHECK(fake_carry(one) && fake_deliver(one));
    CHECK_INT(fake_release(write), ZKL_OK);
    fake_settle(two); /* gone before they are watched */
    fake_settle(one);
    CHECK(fake_waits(p) && fake_waits(q));
    CHECK_INT(fake_release(read), ZKL_OK);
    fake_settle_all(zk);
    CHECK(fake_held(p));
}

/* One of ours stands behind it, and watches it like anybody's: its create's answer was lost.
 * Returns when that watch has come so far. */
static fake_caller *one_of_ours_behind_a_lost_one(bool wanted, zkl_watch until,
                                                  fake_caller **first) {
    char path[256];
    *first = fake_join(one, LINE, 1e12);
    fake_carry(one);
    fake_cut(one);
    if (!wanted)
        fake_cancel(*first);
    snprintf(path, sizeof path, "%s/%s", LINE, fake_child(zk, LINE, 0, FAKE_LATEST));
    fake_refuse(zk, FAKE_GET, path, ZTHROTTLEDOP, 1);
    fake_connect(one);
    fake_caller *behind = fake_join(one, LINE, 1e12);
    const zkl_snapshot *snapshot = &zkl_lines_find(&one->lines, LINE)->snapshot;
    for (unsigned i = 0; !snapshot->count || snapshot->children[0].watch != until; i++) {
        CHECK(i < 1000);
        if (!fake_answer(one))
            fake_wait(zk, 0.1);
    }
    return behind;
}

static void one_on_a_node_that_was_found_to_be_ours_is_counted_until_it_tells(void) {
    for (unsigned wanted = 0; wanted < 2; wanted++) {
        fake_caller *p, *q = one_of_ours_behind_a_lost_one(wanted, ZKL_WATCH_ARMED, &p);
        watch_wait(1);
        if (wanted) {
            CHECK(fake_held(p) && fake_waits(q));
            CHECK_INT(fake_release(p), ZKL_OK);
        }
        fake_settle(one);
        CHECK(fake_held(q));
        CHECK_INT((int64_t)one->lines.common.watch_budget.left, 0);
        CHECK_INT(fake_release(q), ZKL_OK);
        fake_settle(one);
        CHECK_INT((int64_t)one->lines.common.watch_budget.bytes, 0);
    }
}

/* Until the contender asks for a watch on its own node. */
static void until_its_node_is_asked_about(fake_caller *p) {
    for (unsigned i = 0; fake_member(p)->watch != ZKL_WATCH_ASKED; i++) {
        CHECK(i < 1000);
        if (!fake_answer(one))
            fake_wait(zk, 0.1);
    }
}

static void give_up(fake_caller *p) {
    if (fake_held(p))
        CHECK_INT(fake_release(p), ZKL_OK);
    else
        fake_cancel(p);
    fake_settle(one);
}

/* Everybody leaves, and nothing is counted any more. */
static void all_leave(fake_caller *p, fake_caller *q) {
    fake_connect(one);
    watch_wait(1);
    give_up(p);
    give_up(q);
    CHECK_INT((int64_t)fake_watched(one), 0);
    CHECK_INT((int64_t)one->lines.common.watch_budget.bytes, 0);
}

/* The library has had a watch there since somebody stood behind the node. fake_leave compares what
 * is counted with what the library has, here and below. */
static void one_on_a_node_of_ours_counts_when_a_request_for_another_is_cut_off(void) {
    fake_caller *p, *q = one_of_ours_behind_a_lost_one(true, ZKL_WATCH_ARMED, &p);
    until_its_node_is_asked_about(p);
    fake_cancel(p);
    fake_cut(one);
    all_leave(p, q);
}

/* The answer to the request that is on its way shows the change, and leaves a watch. */
static void a_watch_that_is_asked_for_counts_when_an_earlier_one_tells(void) {
    fake_caller *p, *q = one_of_ours_behind_a_lost_one(true, ZKL_WATCH_ARMED, &p);
    until_its_node_is_asked_about(p);
    fake_write(zk, fake_node_of(p), "2");
    while (fake_member(p)->watch == ZKL_WATCH_ASKED)
        CHECK(fake_answer(one));
    CHECK_INT(fake_member(p)->watch, ZKL_WATCH_ARMED);
    fake_cut(one);
    all_leave(p, q);
}

static zkl_child *first_child(void) {
    zkl_line *line = zkl_lines_find(&one->lines, LINE);
    return line && line->snapshot.count ? line->snapshot.children : NULL;
}

/* A stranger's node that the servers did not take a watch back from is watched again. */
static void a_watch_on_a_blocker_counts_when_one_that_was_left_tells(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_refuse(zk, FAKE_UNWATCH, LINE, ZNOAUTH, 1);
    fake_cancel(fake_waiter(one));
    fake_settle(one);
    CHECK(one->lines.common.watch_budget.left > 0);
    fake_caller *p = fake_join(one, LINE, 1e12);
    while (!first_child() || first_child()->watch != ZKL_WATCH_ASKED)
        CHECK(fake_answer(one));
    fake_write(zk, stranger, "2");
    while (fake_deliver(one))
        continue;
    CHECK_INT(fake_pending(one, FAKE_GET, stranger), 1);
    while (first_child()->watch == ZKL_WATCH_ASKED)
        CHECK(fake_answer(one));
    CHECK_INT(first_child()->watch, ZKL_WATCH_ARMED);
    CHECK_INT((int64_t)one->lines.common.watch_budget.left, 0);
    fake_cut(one);
    all_leave(p, p);
}

/* Nobody is in a line that would hear of it. */
static void one_that_is_left_goes_with_the_handle_of_a_client_without_lines(void) {
    fake_stranger(zk, LINE, NULL);
    fake_refuse(zk, FAKE_UNWATCH, LINE, ZNOAUTH, 1);
    fake_cancel(fake_waiter(one));
    fake_settle(one);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
    CHECK(one->lines.common.watch_budget.left > 0);
    fake_cut(one);
    fake_relink(one);
    CHECK_INT((int64_t)one->lines.common.watch_budget.bytes, 0);
    fake_connect(one);
}

/* The node with the number of the write stays, and the read's is gone before it is watched. */
static void of_two_of_one_number_the_other_one_may_go(void) {
    fake_caller *write = fake_write_lock(two, LINE);
    fake_settle(two);
    fake_caller *read = fake_read_under(write, LINE);
    fake_settle(two);
    fake_caller *p = fake_write_lock(one, LINE), *q = fake_read(one, LINE);
    while (fake_pending(one, FAKE_GET, NULL) < 2)
        CHECK(fake_carry(one) && fake_deliver(one));
    CHECK_INT(fake_release(read), ZKL_OK);
    fake_settle(two);
    fake_settle(one);
    CHECK(fake_waits(p) && fake_waits(q));
    CHECK_INT(fake_release(write), ZKL_OK);
    fake_settle_all(zk);
    CHECK(fake_held(p));
}

/* The library says at once that it has none: nothing is left that could be taken back. */
static void one_that_the_library_does_not_know_keeps_no_line(void) {
    fake_stranger(zk, LINE, NULL);
    fake_cancel(fake_waiter(one));
    while (fake_carry(one))
        continue;
    fake_watches_free(&one->listeners);
    while (fake_deliver(one))
        continue;
    CHECK_INT(one->counts[FAKE_UNWATCH], 0);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
    CHECK_INT((int64_t)one->lines.common.watch_budget.bytes, 0);
}

/* The servers refuse the create, and the library has a watch on the directory as soon as it
 * delivers what has arrived. */
static void directory_with_a_watch_to_take_back(void) {
    fake_refuse(zk, FAKE_CREATE, LINE, ZNOAUTH, 1);
    CHECK(fake_waits(fake_share(one, LINE, 1e12)));
    while (fake_carry(one))
        continue;
}

/* The directory's: the library had no memory for the request. */
static void a_directory_that_cannot_be_taken_back_is_taken_back_later(void) {
    directory_with_a_watch_to_take_back();
    one->deaf = ZMARSHALLINGERROR;
    while (fake_deliver(one))
        continue;
    one->deaf = ZOK;
    CHECK_INT(fake_watched(one), 1);
    CHECK_INT(one->counts[FAKE_UNWATCH], 0);
    watch_wait(1);
    CHECK_INT(fake_watched(one), 0);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
}

/* The library refuses the request, so its watch stays, and a view relies on it. */
static void a_view_is_not_read_again_before_its_watch_is_taken_back(void) {
    zkl_node_watch *view = NULL;
    CHECK_INT(zkl_node_watch_open(&one->nodes, LINE, true, 0, &view), ZKL_OK);
    fake_leave(one);
    fake_settle(one);
    directory_with_a_watch_to_take_back();
    const unsigned reads = one->counts[FAKE_LIST];
    one->deaf = ZMARSHALLINGERROR;
    while (fake_deliver(one))
        continue;
    one->deaf = ZOK;
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_LIST], reads);
    watch_wait(1);
    CHECK_INT(one->counts[FAKE_UNWATCH], 1);
    CHECK_INT(one->counts[FAKE_LIST], reads + 1);
    zkl_node_watch_quit(view);
    fake_leave(one);
    fake_settle(one);
    CHECK_INT(fake_watched(one), 0);
}

static void a_directory_that_the_library_does_not_know_keeps_no_line(void) {
    fake_share_as(1, 0);
    fake_caller *p = fake_share(one, LINE, 1e12);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK(fake_watched(one) > 0);
    fake_watches_free(&one->listeners);
    CHECK_INT(fake_release(p), ZKL_OK);
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_UNWATCH], 0);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
    CHECK_INT((int64_t)one->lines.common.watch_budget.bytes, 0);
}

/* The server has removed the watch when it fired, so it answers that there is none. */
static void a_directory_that_tells_while_it_is_taken_back_is_not_counted(void) {
    directory_with_a_watch_to_take_back();
    while (fake_deliver(one))
        continue;
    CHECK_INT(fake_pending(one, FAKE_UNWATCH, LINE), 1);
    fake_join(one, LINE, 1e12); /* keeps the line */
    fake_stranger(zk, LINE, NULL);
    fake_refuse(zk, FAKE_UNWATCH, LINE, ZNOWATCHER, 1);
    fake_settle(one);
    CHECK_INT((int64_t)one->lines.common.watch_budget.left, 0);
    watch_check_counted();
}

/* The waiter is found to own the node, leaves it, and has no room for a watch of its own. */
static void one_that_is_left_on_a_node_of_ours_is_counted_until_it_tells(void) {
    fake_caller *p, *q = one_of_ours_behind_a_lost_one(true, ZKL_WATCH_ASKED, &p);
    /* no room for another one */
    one->lines.common.watch_budget.most = one->lines.common.watch_budget.bytes;
    watch_wait(1);
    CHECK(fake_held(p) && fake_waits(q));
    CHECK_INT(fake_release(p), ZKL_OK);
    CHECK(one->lines.common.watch_budget.left > 0);
    fake_settle(one);
    CHECK_INT((int64_t)one->lines.common.watch_budget.left, 0);
    watch_check_counted();
}

/* The watch fires on a link that the client has given up, and is not set again at once. */
static void a_watch_that_tells_without_a_link_is_set_again_with_the_next_one(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_cut(one);
    fake_watch_remove(fake_watch_at(&one->listeners, stranger, false));
    zkl_lines_watch(&one->lines, stranger, ZKL_CHANGE_OTHER, false);
    fake_leave(one);
    fake_connect(one);
    fake_settle(one);
    watch_check_counted();
    fake_remove(zk, stranger);
    fake_settle(one);
    CHECK(fake_held(p));
}

static void children_of_the_blocker_are_not_its_end(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    zkl_lines_watch(&one->lines, stranger, ZKL_CHANGE_CHILDREN, false);
    fake_leave(one);
    CHECK(zkl_lines_watching(&one->lines, stranger, false));
    CHECK(fake_waits(p));
}

/* The list is sent before the client takes the watch back, and does not show the node. */
static void an_answer_about_a_node_that_a_list_misses_is_nobodys(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_cancel(fake_waiter(one));
    fake_refuse(zk, FAKE_CREATE, LINE, ZNOAUTH, 1);
    fake_caller *refused = fake_join(one, LINE, 1e12);
    CHECK_TEXT(fake_batch(one), "DCL");
    CHECK(fake_answer(one) && fake_answer(one));
    CHECK_FAILED(refused, ZKL_ACCESS_DENIED);
    CHECK_TEXT(fake_batch(one), "LU");
    fake_caller *p = fake_join(one, LINE, 1e12);
    fake_remove(zk, stranger);
    CHECK(fake_answer(one));
    CHECK_INT((int64_t)zkl_lines_find(&one->lines, LINE)->snapshot.count, 0);
    fake_settle(one);
    CHECK(fake_held(p));
    watch_check_counted();
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"who is not watched is counted", is_counted},
        {"a watch on a node that a list misses is not counted",
         one_on_a_node_that_a_list_misses_is_not_counted},
        {"none is counted when the handle is lost", none_is_counted_when_the_handle_is_lost},
        {"a name above 1024 bytes is not watched", a_long_name_is_not_watched},
        {"a watch whose taking back was cut off is taken back again",
         one_whose_taking_back_was_cut_off_is_taken_back_again},
        {"those that the servers do not take back go with the handle",
         what_is_left_goes_with_the_handle},
        {"one that the servers do not take back counts on",
         one_that_the_servers_do_not_take_back_counts_on},
        {"... whatever else is told", what_is_left_is_not_taken_for_another},
        {"a directory's watch is taken back when the library has it",
         a_directory_is_taken_back_when_the_library_has_the_watch},
        {"two of one number are told apart", two_of_one_number_are_told_apart},
        {"one on a node that was found to be ours is counted until it tells",
         one_on_a_node_that_was_found_to_be_ours_is_counted_until_it_tells},
        {"one on a node of ours counts when a request for another is cut off",
         one_on_a_node_of_ours_counts_when_a_request_for_another_is_cut_off},
        {"a watch that is asked for counts when an earlier one tells",
         a_watch_that_is_asked_for_counts_when_an_earlier_one_tells},
        {"a watch on a blocker counts when one that was left tells",
         a_watch_on_a_blocker_counts_when_one_that_was_left_tells},
        {"one that is left goes with the handle of a client without lines",
         one_that_is_left_goes_with_the_handle_of_a_client_without_lines},
        {"of two of one number the other one may go", of_two_of_one_number_the_other_one_may_go},
        {"one that the library does not know keeps no line",
         one_that_the_library_does_not_know_keeps_no_line},
        {"a directory that cannot be taken back is taken back later",
         a_directory_that_cannot_be_taken_back_is_taken_back_later},
        {"a view is not read again before its watch is taken back",
         a_view_is_not_read_again_before_its_watch_is_taken_back},
        {"a directory that the library does not know keeps no line",
         a_directory_that_the_library_does_not_know_keeps_no_line},
        {"a directory that tells while it is taken back is not counted",
         a_directory_that_tells_while_it_is_taken_back_is_not_counted},
        {"one that is left on a node of ours is counted until it tells",
         one_that_is_left_on_a_node_of_ours_is_counted_until_it_tells},
        {"a watch that tells without a link is set again with the next one",
         a_watch_that_tells_without_a_link_is_set_again_with_the_next_one},
        {"children of the blocker are not its end", children_of_the_blocker_are_not_its_end},
        {"an answer about a node that a list misses is nobody's",
         an_answer_about_a_node_that_a_list_misses_is_nobodys},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
