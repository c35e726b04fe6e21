/* SPDX-License-Identifier: MIT */
/* Watches on a fake link: what the host is told of a node, wherever the link is cut and whichever
 * server it meets. */
#include "fake_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE "/locks/x"

static zkl_node_watch *node_watches[FAKE_NODE_REQUESTS];
static size_t count;

static void begin(void) {
    count = 0;
    fake_world_begin();
    memset(one->changes, 0, sizeof one->changes);
}

static void end(void) {
    for (size_t i = 0; i < count; i++)
        if (node_watches[i])
            zkl_node_watch_quit(node_watches[i]);
    fake_world_end();
}

static size_t look(const char *path, bool children) {
    CHECK_INT(zkl_node_watch_open(&one->nodes, path, children, count, &node_watches[count]),
              ZKL_OK);
    fake_leave(one);
    return count++;
}

static void quit(size_t i) {
    zkl_node_watch_quit(node_watches[i]);
    node_watches[i] = NULL;
    fake_leave(one);
}

/* The latest news, as data or names; "-": nothing new. */
static const char *taken(size_t i) {
    static char text[256];
    zkl_status status;
    zkl_content *content;
    if (!zkl_node_watch_hand_out(node_watches[i], &status, &content))
        return "-";
    if (!content)
        return zkl_status_text(status);
    snprintf(text, sizeof text, "%s", content->data ? content->data : "");
    for (size_t n = 0; n < content->count; n++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", n ? " " : "",
                 content->names[n]);
    zkl_content_free(content);
    return text;
}

static void make(const char *path, const char *data) {
    CHECK_INT(fake_make(zk, path, data, FAKE_PERSISTENT, 0, NULL), ZOK);
}

/* Another node with this data; that of before is what a server that lags shows. */
static void make_anew(const char *data) {
    CHECK_INT(fake_remove(zk, NODE), ZOK);
    make(NODE, data);
}

static void tells_what_is_there_and_each_change(void) {
    make(NODE, "1");
    const size_t i = look(NODE, false);
    fake_settle(one);
    CHECK_TEXT(taken(i), "1");
    fake_write(zk, NODE, "2");
    fake_settle(one);
    CHECK_TEXT(taken(i), "2");
    CHECK_INT(one->changes[i], 2);
    CHECK_TEXT(taken(i), "-");
}

static void what_is_written_before_the_read_is_answered_is_told(void) {
    make(NODE, "1");
    const size_t i = look(NODE, false);
    while (fake_carry(one))
        continue;
    fake_write(zk, NODE, "2"); /* behind the read, whose answer is on its way */
    fake_settle(one);
    CHECK_TEXT(taken(i), "2");
}

static void a_missing_node_is_watched(void) {
    const size_t data = look(NODE, false), names = look(NODE, true);
    fake_settle(one);
    CHECK_TEXT(taken(data), "no node");
    CHECK_TEXT(taken(names), "no node");
    make(NODE, "1");
    fake_settle(one);
    CHECK_TEXT(taken(data), "1");
    CHECK_TEXT(taken(names), "");
    make(NODE "/b", "");
    fake_settle(one);
    CHECK_TEXT(taken(names), "b");
    CHECK_INT(fake_remove(zk, NODE "/b"), ZOK);
    CHECK_INT(fake_remove(zk, NODE), ZOK);
    fake_settle(one);
    CHECK_TEXT(taken(data), "no node");
    CHECK_TEXT(taken(names), "no node");
}

/* The exists that watches for the node leaves a watch on its data as well, when the node has come
 * before the exists was answered. fake_leave compares what is counted with what there is. */
static void a_watch_on_children_counts_for_both_that_it_may_leave(void) {
    for (unsigned step = 0; step < 8; step++) {
        const size_t names = look(NODE, true);
        CHECK_INT(one->nodes.watch_budget.bytes, 2 * (4 + strlen(NODE)));
        for (unsigned n = 0; n < step; n++)
            fake_answer(one);
        make(NODE, "1");
        fake_settle(one);
        CHECK_TEXT(taken(names), "");
        quit(names);
        fake_settle(one);
        CHECK_INT(one->nodes.watch_budget.bytes, 0);
        CHECK_INT(fake_watched(one), 0);
        CHECK_INT(fake_remove(zk, NODE), ZOK);
    }
}

/* Whatever request of the search for a missing node it comes between. */
static void a_node_that_comes_and_goes_meanwhile_is_told(void) {
    for (unsigned step = 0; step < 8; step++) {
        const size_t i = look(NODE, false);
        for (unsigned n = 0; n < step; n++)
            fake_answer(one);
        make(NODE, "1");
        fake_settle(one);
        CHECK_TEXT(taken(i), "1");
        quit(i);
        const size_t again = look(NODE, false);
        for (unsigned n = 0; n < step; n++)
            fake_answer(one);
        CHECK_INT(fake_remove(zk, NODE), ZOK);
        fake_settle(one);
        CHECK_TEXT(taken(again), "no node");
        quit(again);
        fake_settle(one);
    }
}

static void goes_on_wherever_the_link_is_cut(void) {
    for (unsigned carried = 0; carried < 6; carried++) {
        const size_t i = look(NODE, false);
        for (unsigned n = 0; n < carried; n++)
            fake_carry(one);
        fake_cut(one);
        make(NODE, "1");
        fake_connect(one);
        fake_settle(one);
        CHECK_TEXT(taken(i), "1");
        fake_cut(one);
        fake_write(zk, NODE, "2");
        fake_connect(one);
        fake_settle(one);
        CHECK_TEXT(taken(i), "2");
        quit(i);
        CHECK_INT(fake_remove(zk, NODE), ZOK);
        fake_settle(one);
    }
}

static void never_goes_back_when_another_handle_meets_a_server_that_lags(void) {
    make(NODE, "1");
    const int64_t old = zk->zxid;
    make_anew("2");
    const size_t i = look(NODE, false);
    fake_settle(one);
    CHECK_TEXT(taken(i), "2");
    fake_cut(one);
    fake_relink(one);
    fake_lag(one, old);
    fake_connect(one);
    fake_settle(one);
    CHECK_TEXT(taken(i), "-"); /* it is what is known */
    fake_expire(one);
    fake_lag(one, old);
    fake_connect(one);
    fake_settle(one);
    CHECK_TEXT(taken(i), "-");
    fake_catch_up(one);
    fake_write(zk, NODE, "3");
    fake_settle(one);
    CHECK_TEXT(taken(i), "3");
}

static void what_is_read_behind_a_barrier_that_was_refused_is_not_told(void) {
    make(NODE, "1");
    const int64_t old = zk->zxid;
    make_anew("2");
    fake_lag(one, old);
    fake_refuse(zk, FAKE_SYNC, "/", ZTHROTTLEDOP, 1);
    fake_refuse(zk, FAKE_ERASE, one->context.nothing, ZTHROTTLEDOP, 1);
    const size_t i = look(NODE, false);
    fake_settle(one);
    CHECK_TEXT(taken(i), "-");
    fake_wait(zk, 3);
    fake_settle(one);
    CHECK_TEXT(taken(i), "2");
}

/* It was armed all the same. */
static void nor_is_its_watch_left(void) {
    make(NODE, "1");
    fake_refuse(zk, FAKE_ERASE, one->context.nothing, ZTHROTTLEDOP, 1);
    const size_t i = look(NODE, true);
    fake_settle(one);
    CHECK_TEXT(taken(i), "-");
    quit(i);
    fake_settle(one);
    CHECK_INT(fake_watched(one), 0);
}

static void a_node_of_which_nothing_is_told_is_read_again_within_a_minute(void) {
    make(NODE, "1");
    fake_refuse(zk, FAKE_GET, NODE, ZNOAUTH, 0);
    const size_t i = look(NODE, false);
    fake_settle(one);
    CHECK_TEXT(taken(i), "access denied");
    fake_allow(zk);
    fake_wait(zk, 60);
    fake_settle(one);
    CHECK_TEXT(taken(i), "1");
    fake_cut(one);
    fake_wait(zk, 300); /* the round rests */
    fake_connect(one);
    fake_settle(one);
    fake_refuse(zk, FAKE_GET, NODE, ZNOAUTH, 0);
    fake_wait(zk, 60);
    fake_settle(one);
    CHECK_TEXT(taken(i), "access denied");
}

/* The receiver that the host told may have ended without taking it. */
static void what_was_not_taken_is_told_again_within_a_minute(void) {
    make(NODE, "1");
    const size_t i = look(NODE, false);
    fake_settle(one);
    CHECK_INT(one->changes[i], 1);
    fake_wait(zk, 60);
    fake_settle(one);
    CHECK(one->changes[i] > 1);
    CHECK_TEXT(taken(i), "1");
    const unsigned told = one->changes[i];
    fake_wait(zk, 120);
    fake_settle(one);
    CHECK_INT(one->changes[i], told);
    CHECK_TEXT(taken(i), "-");
}

static void what_was_stopped_leaves_no_watch_and_no_bytes(void) {
    make(NODE, "1");
    for (unsigned step = 0; step < 8; step++) {
        const size_t data = look(NODE, false), names = look(NODE, true),
                     nothing = look("/locks/none", false);
        for (unsigned n = 0; n < step; n++)
            fake_answer(one);
        quit(data);
        quit(names);
        if (step % 2)
            fake_cut(one);
        quit(nothing);
        if (step % 2)
            fake_connect(one);
        fake_settle(one);
        CHECK_INT(fake_watched(one), 0);
        CHECK_INT(one->nodes.watch_budget.bytes, 0);
        CHECK_INT(one->nodes.reading, 0);
    }
}

/* The library keeps it, and has it set again over each connection. */
static void a_watch_that_the_servers_do_not_take_back_counts_on(void) {
    make(NODE, "1");
    for (unsigned children = 0; children < 2; children++) {
        const size_t i = look(NODE, children);
        fake_settle(one);
        fake_refuse(zk, FAKE_UNWATCH, NODE, ZNOAUTH, 1);
        quit(i);
        fake_settle(one);
        CHECK_INT(fake_watched(one), 1);
        CHECK_INT(one->lines.common.watch_budget.left, 4 + strlen(NODE));
        const size_t again = look(NODE, children);
        fake_settle(one);
        quit(again); /* which takes back what was left, too */
        fake_settle(one);
        CHECK_INT(fake_watched(one), 0);
        CHECK_INT(one->lines.common.watch_budget.bytes, 0);
    }
}

/* A node watch's watch tells of another path than that of the watch that a line has left. */
static void one_that_tells_leaves_the_lines_theirs(void) {
    make(NODE, "1");
    fake_stranger(zk, LINE, NULL);
    fake_refuse(zk, FAKE_UNWATCH, LINE, ZNOAUTH, 1);
    fake_cancel(fake_waiter(one));
    fake_settle(one);
    const size_t left = one->lines.common.watch_budget.left;
    const size_t i = look(NODE, false);
    fake_settle(one);
    fake_refuse(zk, FAKE_UNWATCH, NODE, ZNOAUTH, 1);
    quit(i);
    fake_settle(one);
    fake_write(zk, NODE, "2");
    fake_settle(one);
    CHECK_INT(fake_watched(one), 1);
    CHECK_INT(one->lines.common.watch_budget.left, left);
}

/* The second one relies on a watch that its own read of a missing node does not leave. */
static void one_that_is_stopped_while_it_asks_takes_back_what_another_has_left_it(void) {
    const size_t a = look(NODE, false);
    fake_settle(one);
    const size_t b = look(NODE, false);
    quit(a);
    quit(b);
    fake_settle(one);
    CHECK_INT(fake_watched(one), 0);
    CHECK_INT(one->nodes.watch_budget.bytes, 0);
}

static void one_that_is_stopped_leaves_the_others_their_watch(void) {
    make(NODE, "1");
    const size_t a = look(NODE, false), b = look(NODE, false);
    fake_settle(one);
    quit(a);
    fake_settle(one);
    CHECK_TEXT(taken(b), "1");
    fake_write(zk, NODE, "2");
    fake_settle(one);
    CHECK_TEXT(taken(b), "2");
}

static void a_line_that_takes_its_watch_back_leaves_it_to_the_host(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *waiter = fake_waiter(one);
    const size_t i = look(stranger, false);
    fake_settle(one);
    CHECK_TEXT(taken(i), "stranger");
    fake_cancel(waiter); /* nobody waits for the stranger any more */
    fake_settle(one);
    fake_write(zk, stranger, "2");
    fake_settle(one);
    CHECK_TEXT(taken(i), "2");
}

/* Also where its request goes out behind the read that sets the watch, and before that is
 * answered. */
static void a_line_that_takes_its_watch_back_meanwhile_leaves_it_to_the_host(void) {
    const size_t first = look("/locks", false); /* the barrier is up */
    fake_settle(one);
    for (unsigned step = 0; step < 6; step++) {
        const char *stranger = fake_stranger(zk, LINE, NULL);
        fake_caller *waiter = fake_waiter(one);
        fake_cancel(waiter);
        for (unsigned n = 0; n < step; n++)
            fake_answer(one);
        const size_t i = look(stranger, false);
        fake_settle(one);
        CHECK_TEXT(taken(i), "stranger");
        fake_write(zk, stranger, "2");
        fake_settle(one);
        CHECK_TEXT(taken(i), "2");
        CHECK_INT(fake_remove(zk, stranger), ZOK);
        fake_settle(one);
    }
    quit(first);
}

static void a_node_watch_that_is_stopped_leaves_a_line_its_watch(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *waiter = fake_waiter(one);
    const size_t i = look(stranger, false);
    fake_settle(one);
    quit(i);
    fake_settle(one);
    CHECK_INT(fake_remove(zk, stranger), ZOK);
    fake_settle(one);
    CHECK(fake_held(waiter));
}

static void many_are_read_some_at_a_time(void) {
    for (unsigned n = 0; n < 100; n++)
        look("/locks", n % 2);
    CHECK(strlen(fake_batch(one)) <= 64 + 2);
    fake_settle(one);
    for (size_t i = 0; i < count; i++)
        CHECK_TEXT(taken(i), i % 2 ? "a" : "");
}

static void beyond_the_budget_there_are_too_many(void) {
    one->nodes.watch_budget.most = 4 * (4 + strlen(NODE)) - 1;
    make(NODE, "1");
    const size_t i = look(NODE, false);
    look(NODE, true);
    zkl_node_watch *node_watch = NULL;
    CHECK_INT(zkl_node_watch_open(&one->nodes, NODE, false, 9, &node_watch), ZKL_TOO_MANY_WATCHES);
    fake_settle(one);
    quit(i);
    fake_settle(one);
    CHECK_INT(zkl_node_watch_open(&one->nodes, NODE, true, 9, &node_watch), ZKL_TOO_MANY_WATCHES);
    look(NODE, false);
}

static void one_that_is_closed_tells_nothing(void) {
    make(NODE, "1");
    const size_t i = look(NODE, false);
    zkl_node_watches_close(&one->nodes);
    fake_settle(one);
    fake_write(zk, NODE, "2");
    fake_settle(one);
    const unsigned told = one->changes[i];
    fake_wait(zk, 100);
    fake_settle(one);
    CHECK_INT(one->changes[i], told);
    CHECK(told <= 1);
}

/* The library takes back all watches of a path: a lock that gives back the directory's takes the
 * host's along, who is told all the same. */
static void what_a_lock_gives_back_is_asked_for_again(void) {
    const size_t i = look(LINE, true);
    fake_settle(one);
    taken(i);
    fake_refuse(zk, FAKE_CREATE, LINE, ZNOAUTH, 1);
    fake_caller *p = fake_share(one, LINE, 1e12);
    fake_settle(one);
    CHECK_FAILED(p, ZKL_ACCESS_DENIED);
    CHECK_INT(one->counts[FAKE_UNWATCH], 1);
    const char *theirs = fake_stranger(zk, LINE, NULL);
    fake_settle(one);
    CHECK_TEXT(taken(i), strrchr(theirs, '/') + 1);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"reports the state, and each change", tells_what_is_there_and_each_change},
        {"reports a write that comes before the read is answered",
         what_is_written_before_the_read_is_answered_is_told},
        {"a missing node is watched", a_missing_node_is_watched},
        {"a watch on children counts for both that it may leave",
         a_watch_on_children_counts_for_both_that_it_may_leave},
        {"reports a node that comes and goes meanwhile",
         a_node_that_comes_and_goes_meanwhile_is_told},
        {"goes on wherever the link is cut", goes_on_wherever_the_link_is_cut},
        {"never goes back when another handle meets a server that lags",
         never_goes_back_when_another_handle_meets_a_server_that_lags},
        {"reports no read behind a refused barrier",
         what_is_read_behind_a_barrier_that_was_refused_is_not_told},
        {"nor is its watch left", nor_is_its_watch_left},
        {"reads a node without events again within a minute",
         a_node_of_which_nothing_is_told_is_read_again_within_a_minute},
        {"reports a state that was not taken again within a minute",
         what_was_not_taken_is_told_again_within_a_minute},
        {"a stopped watch leaves nothing in the library and in the budget",
         what_was_stopped_leaves_no_watch_and_no_bytes},
        {"a watch that the servers do not take back counts on",
         a_watch_that_the_servers_do_not_take_back_counts_on},
        {"one that tells leaves the lines theirs", one_that_tells_leaves_the_lines_theirs},
        {"one that is stopped while it asks takes back what another has left it",
         one_that_is_stopped_while_it_asks_takes_back_what_another_has_left_it},
        {"one that is stopped leaves the others their watch",
         one_that_is_stopped_leaves_the_others_their_watch},
        {"a line that takes its watch back leaves it to the host",
         a_line_that_takes_its_watch_back_leaves_it_to_the_host},
        {"a line that takes its watch back meanwhile leaves it to the host",
         a_line_that_takes_its_watch_back_meanwhile_leaves_it_to_the_host},
        {"a node watch that is stopped leaves a line its watch",
         a_node_watch_that_is_stopped_leaves_a_line_its_watch},
        {"many are read some at a time", many_are_read_some_at_a_time},
        {"beyond the budget there are too many", beyond_the_budget_there_are_too_many},
        {"a closed watch reports nothing", one_that_is_closed_tells_nothing},
        {"what a lock gives back is asked for again", what_a_lock_gives_back_is_asked_for_again},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
