/* SPDX-License-Identifier: MIT */
/* The choice of what is watched when there is little room for watches, and its cost. */
#include "fake_watch.h"
#include "watch_world.h"

#include "line/events.h"
#include "line/polled.h"
#include "line/request.h"

#include <string.h>

#define POOL "/locks/pool"

/* ---- who is watched ---- */

static void who_is_told_is_not_looked_after(void) {
    fake_caller *p = fake_lease(one, POOL, 1, 1);
    fake_settle_all(zk);
    fake_caller *q = fake_lease(two, POOL, 1, 1);
    fake_settle_all(zk);
    CHECK(fake_held(p) && fake_waits(q));
    CHECK_INT(zkl_polled_count(&two->lines.common), 0);
    CHECK(zkl_lines_watching(&two->lines, POOL "/leases", true));
    CHECK(!zkl_lines_watching(&one->lines, POOL "/leases", true));
    const unsigned lists = two->counts[FAKE_LIST];
    watch_wait(10);
    CHECK_INT(two->counts[FAKE_LIST], lists);
}

/* The request for the first one's is still on its way. */
static void one_watch_serves_all_who_wait_for_the_same(void) {
    const char *theirs = fake_stranger(zk, LINE, "_c_%s-__WRIT__");
    fake_caller *p = fake_read(one, LINE), *q = fake_read(one, LINE);
    while (!fake_pending(one, FAKE_GET, theirs) || !fake_node_of(q))
        CHECK(fake_answer(one));
    CHECK_INT(fake_pending(one, FAKE_GET, theirs), 1);
    CHECK_INT(zkl_polled_count(&one->lines.common), 0);
    fake_settle(one);
    CHECK_INT(zkl_polled_count(&one->lines.common), 0);
    fake_remove(zk, theirs);
    fake_settle(one);
    CHECK(fake_held(p) && fake_held(q));
    CHECK_INT(zkl_polled_count(&one->lines.common), 0);
}

static void who_finds_room_is_looked_after_no_more(void) {
    watch_without_room();
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    CHECK(zkl_polled_count(&one->lines.common) > 0);
    one->lines.common.watch_budget.most = 100000;
    for (unsigned i = 0; i < 15; i++)
        watch_wait(1);
    CHECK_INT(zkl_polled_count(&one->lines.common), 0);
    const unsigned lists = one->counts[FAKE_LIST];
    watch_wait(10);
    CHECK_INT(one->counts[FAKE_LIST], lists);
    fake_remove(zk, stranger);
    fake_settle(one);
    CHECK(fake_held(p));
}

/* The list that was to set the watch could not be sent. */
static void a_watch_that_was_not_sent_is_sent_later(void) {
    fake_caller *p = fake_lease(two, POOL, 1, 1);
    fake_settle_all(zk);
    fake_caller *q = fake_lease(one, POOL, 1, 1);
    fake_settle_all(zk);
    CHECK(fake_held(p) && fake_waits(q));
    fake_cut(one);
    fake_relink(one);
    one->deaf = ZMARSHALLINGERROR;
    fake_connect(one);
    one->deaf = ZOK;
    for (unsigned i = 0; i < 3; i++)
        watch_wait(0.3);
    fake_release(p);
    fake_settle_all(zk);
    CHECK(fake_held(q));
}

/* The room that is left is not for the watches on the nodes of those who wait. */
static void whose_turn_it_is_watches_its_node_when_others_do_not(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    const size_t path = 4 + strlen(stranger);
    one->lines.common.watch_budget.most = 3 * path;
    fake_caller *p = fake_waiter(one);
    CHECK_INT(fake_watched(one), 1);
    fake_remove(zk, stranger);
    while (fake_deliver(one))
        continue;
    CHECK_TEXT(fake_batch(one), "G");
    fake_settle(one);
    CHECK(fake_held(p));
}

/* The library asks so when it has told of a path: is there anybody left who wants the next? */
static void what_is_watched_is_known(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    watch_without_room();
    fake_caller *p = fake_waiter(one);
    CHECK(!zkl_lines_watching(&one->lines, stranger, false));
    CHECK(!zkl_lines_watching(&one->lines, fake_node_of(p), false));
    one->lines.common.watch_budget.most = 100000;
    for (unsigned i = 0; i < 15; i++)
        watch_wait(1);
    CHECK(zkl_lines_watching(&one->lines, stranger, false));
    CHECK(zkl_lines_watching(&one->lines, fake_node_of(p), false));
    CHECK(!zkl_lines_watching(&one->lines, LINE "/other", false));
}

/* It is nobody's turn any more. */
static void a_holder_finds_room_as_others_do(void) {
    one->lines.common.watch_budget.most = 100;
    fake_caller *p = fake_holder(one);
    watch_wait(0.1);
    CHECK_INT(p->contender->watch, ZKL_WATCH_NONE);
    one->lines.common.watch_budget.most = 200;
    fake_release(p);
    fake_settle(one);
    p = fake_holder(one);
    watch_wait(0.1);
    CHECK_INT(p->contender->watch, ZKL_WATCH_ARMED);
}

static void a_line_that_is_listed_in_turn_is_counted(void) {
    watch_without_room();
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    CHECK_INT((int64_t)zkl_polled_count(&one->lines.common), 1);
    fake_cancel(p);
    CHECK_INT((int64_t)zkl_polled_count(&one->lines.common), 0);
}

static void a_line_is_not_listed_again_before_that_is_answered(void) {
    watch_without_room();
    fake_stranger(zk, LINE, NULL);
    fake_waiter(one);
    fake_wait(zk, 1.1);
    CHECK_INT(fake_pending(one, FAKE_LIST, NULL), 1);
    const unsigned before = one->counts[FAKE_LIST];
    fake_wait(zk, 5);
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_LIST], before);
}

/* Each of ours is behind one of somebody else's; the last of them go, and it is not said how far
 * that is. */
static void among_strangers_those_who_come_next_are_watched_in_time(void) {
    enum { WAITERS = 80 };
    static fake_caller *line[WAITERS];
    static const char *theirs[WAITERS];
    zkl_watch_budget *watches = &one->lines.common.watch_budget;
    watches->most = 3000;
    for (size_t i = 0; i < WAITERS; i++) {
        theirs[i] = fake_stranger(zk, LINE, NULL);
        line[i] = fake_join(one, LINE, 1e12);
        fake_settle(one);
    }
    CHECK(zkl_polled_count(&one->lines.common) > WAITERS / 2);
    watches->most = 100000;
    for (size_t i = 0; i < WAITERS; i++) {
        fake_remove(zk, theirs[i]);
        watch_wait(1);
        CHECK(fake_held(line[i]));
        CHECK_INT(fake_release(line[i]), ZKL_OK);
        watch_wait(0.1);
    }
    CHECK_CLEAN();
}

/* As many as are there, and not as many as there may be: they have just been listed. */
static void a_short_line_that_comes_next_is_watched_in_time(void) {
    enum { WAITERS = 40 };
    static fake_caller *line[WAITERS];
    const char *theirs = fake_stranger(zk, LINE, NULL);
    one->lines.common.watch_budget.most = 1000;
    for (size_t i = 0; i < WAITERS; i++)
        line[i] = fake_join(one, LINE, 1e12);
    fake_settle(one);
    CHECK(zkl_polled_count(&one->lines.common) > WAITERS / 2);
    one->lines.common.watch_budget.most = 100000;
    fake_cut(one);
    fake_remove(zk, theirs);
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_held(line[0]));
    CHECK_INT(fake_watched(one), WAITERS);
    CHECK_INT(zkl_polled_count(&one->lines.common), 0);
}

/* The numbers of the requests begin anew: each is known by its answer. */
static void after_very_many_requests_about_watches_answers_are_known(void) {
    const char *theirs[4], *last = fake_stranger(zk, LINE, NULL);
    fake_caller *first = fake_waiter(one), *p[4];
    zkl_line *line = zkl_lines_find(&one->lines, LINE);
    line->requests = ZKL_REQUEST_NUMBERS - 2;
    for (size_t i = 0; i < 4; i++) {
        theirs[i] = fake_stranger(zk, LINE, NULL);
        p[i] = fake_waiter(one);
        CHECK(zkl_line_watching(line, strrchr(theirs[i], '/') + 1));
    }
    CHECK_INT(line->requests, 2);
    fake_remove(zk, last);
    fake_settle(one);
    CHECK(fake_held(first));
    CHECK_INT(fake_release(first), ZKL_OK);
    for (size_t i = 0; i < 4; i++) {
        fake_remove(zk, theirs[i]);
        fake_settle(one);
        CHECK(fake_held(p[i]));
        CHECK_INT(fake_release(p[i]), ZKL_OK);
    }
    fake_settle(one);
    CHECK_CLEAN();
}

/* It is asked for in the turn of those who are looked after; one request is enough. */
static void a_holder_for_whom_there_is_room_again_is_watched(void) {
    watch_without_room();
    fake_holder(one);
    watch_wait(0.1);
    CHECK_INT((int64_t)zkl_polled_count(&one->lines.common), 1);
    one->lines.common.watch_budget.most = 1000;
    const unsigned before = one->counts[FAKE_GET];
    watch_wait(10);
    CHECK_INT((int64_t)fake_watched(one), 1);
    CHECK_INT((int64_t)zkl_polled_count(&one->lines.common), 0);
    CHECK_INT(one->counts[FAKE_GET], before + 1);
}

/* A byte a microsecond. */
static void who_is_looked_after_pays_for_what_is_read(void) {
    watch_without_room();
    fake_caller *p = fake_holder(one);
    watch_wait(0.1);
    zkl_post *post = &p->contender->post;
    const zkl_round *reads = &one->lines.common.reads;
    CHECK(post->round == reads);
    CHECK_INT(reads->serve(post), (zkl_nanos)strlen(fake_node_of(p)) * 1000);
    fake_leave(one);
}

/* The names of one list, with four bytes that say how long each is. */
static void a_line_that_is_listed_in_turn_pays_for_what_it_reads(void) {
    watch_without_room();
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    const size_t bytes = strlen(strrchr(stranger, '/')) + strlen(strrchr(fake_node_of(p), '/')) + 6;
    zkl_post *post = &p->contender->post;
    const zkl_round *lists = &one->lines.common.lists;
    for (unsigned i = 0; i < 3; i++) {
        CHECK(post->round == lists);
        fake_now += ZKL_SECOND;
        CHECK_INT(lists->serve(post), (zkl_nanos)bytes * 1000);
        fake_leave(one);
        fake_settle(one);
    }
}

/* Room is kept for whoever's turn it is, so that no list is needed then. */
static void whose_turn_it_is_is_watched_when_others_would_not_be(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    one->lines.common.watch_budget.most = 100;
    fake_caller *p = fake_waiter(one);
    CHECK_INT((int64_t)fake_watched(one), 1); /* the one before it */
    fake_remove(zk, stranger);
    CHECK(fake_deliver(one));
    CHECK_TEXT(fake_batch(one), "G");
    fake_settle(one);
    CHECK(fake_held(p));
}

/* As long as a revocation is, and something else; longer; and the beginning of one. */
static void what_else_is_written_to_a_node_is_no_revocation(void) {
    fake_caller *p = fake_holder(one);
    watch_wait(0.1);
    fake_write(zk, fake_node_of(p), "__REVOKED_");
    fake_settle(one);
    CHECK_INT(p->revocations, 0);
    fake_write(zk, fake_node_of(p), "__REVOKE__, please");
    fake_settle(one);
    CHECK_INT(p->revocations, 0);
    fake_write(zk, fake_node_of(p), "__REVOKE");
    fake_settle(one);
    CHECK_INT(p->revocations, 0);
    fake_write(zk, fake_node_of(p), "__REVOKE__");
    fake_settle(one);
    CHECK_INT(p->revocations, 1);
}

static void a_revocation_that_is_read_after_the_release_is_not_told(void) {
    fake_caller *p = fake_holder(one);
    watch_wait(0.1);
    fake_write(zk, fake_node_of(p), "__REVOKE__");
    CHECK(fake_deliver(one));
    CHECK_INT(fake_pending(one, FAKE_GET, NULL), 1);
    CHECK_INT(fake_release(p), ZKL_OK);
    fake_settle(one);
    CHECK_INT(p->revocations, 0);
    CHECK_INT(one->context.counters.revoked, 0);
}

/* Not before it has lasted for a while. */
static void a_short_hold_is_not_watched(void) {
    fake_caller *p = fake_holder(one);
    fake_wait(zk, 0.045);
    CHECK_INT(one->counts[FAKE_GET], 0);
    fake_wait(zk, 0.01);
    CHECK_INT(one->counts[FAKE_GET], 1);
    CHECK_INT(fake_release(p), ZKL_OK);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"who is told is not looked after", who_is_told_is_not_looked_after},
        {"one watch serves all who wait for the same", one_watch_serves_all_who_wait_for_the_same},
        {"who finds room is looked after no more", who_finds_room_is_looked_after_no_more},
        {"a watch that was not sent is sent later", a_watch_that_was_not_sent_is_sent_later},
        {"whose turn it is watches its node when others do not",
         whose_turn_it_is_watches_its_node_when_others_do_not},
        {"what is watched is known", what_is_watched_is_known},
        {"a holder finds room as others do", a_holder_finds_room_as_others_do},
        {"a line that is listed in turn is counted", a_line_that_is_listed_in_turn_is_counted},
        {"a line is not listed again before that is answered",
         a_line_is_not_listed_again_before_that_is_answered},
        {"among strangers those who come next are watched in time",
         among_strangers_those_who_come_next_are_watched_in_time},
        {"a short line that comes next is watched in time",
         a_short_line_that_comes_next_is_watched_in_time},
        {"after very many requests about watches answers are known",
         after_very_many_requests_about_watches_answers_are_known},
        {"a holder for whom there is room again is watched",
         a_holder_for_whom_there_is_room_again_is_watched},
        {"who is looked after pays for what is read", who_is_looked_after_pays_for_what_is_read},
        {"a line that is listed in turn pays for what it reads",
         a_line_that_is_listed_in_turn_pays_for_what_it_reads},
        {"whose turn it is is watched when others would not be",
         whose_turn_it_is_is_watched_when_others_would_not_be},
        {"what else is written to a node is no revocation",
         what_else_is_written_to_a_node_is_no_revocation},
        {"a revocation that is read after the release is not told",
         a_revocation_that_is_read_after_the_release_is_not_told},
        {"a short hold is not watched", a_short_hold_is_not_watched},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
