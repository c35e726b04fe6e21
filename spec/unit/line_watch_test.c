/* The library's watches: all of them go out in one packet on a reconnect. What there is no room for
 * is looked after. */
#include "fake_watch.h"
#include "fake_world.h"

#include "queue/answer.h"
#include "queue/request.h"
#include "queue/unwatched.h"

#include <stdio.h>
#include <string.h>

#define MANY 40
#define POOL "/locks/pool"

static fake_caller *callers[MANY];
static const char *strangers[MANY];

static const char *path_of(size_t i) {
    static char path[64];
    snprintf(path, sizeof path, "/locks/%zu", i);
    return path;
}

/* One of them in each of many lines. */
static void join_many(void) {
    for (size_t i = 0; i < MANY; i++) {
        fake_directory(zk, path_of(i));
        callers[i] = fake_join(one, path_of(i), 1e12);
    }
    fake_settle(one);
}

static void wait_for_many(void) {
    for (size_t i = 0; i < MANY; i++) {
        fake_directory(zk, path_of(i));
        strangers[i] = fake_stranger(zk, path_of(i), NULL);
    }
    join_many();
}

static void wait_and_settle(double seconds) {
    fake_wait(zk, seconds);
    fake_settle_all(zk);
}

/* So little that nothing is watched. */
static void without_room(void) {
    one->lines.queue.watches.most = two->lines.queue.watches.most = 0;
}

/* ---- the packet ---- */

/* Were there no budget: what the servers refuse they refuse again. */
static void too_many_watches_cannot_come_back(void) {
    zk->packet_most = 1000;
    wait_for_many();
    for (unsigned i = 0; i < 3; i++) {
        if (one->context.port)
            fake_cut(one);
        fake_connect(one);
        CHECK(!one->context.port);
    }
}

static void waiters_come_back(void) {
    zk->packet_most = 1028;
    one->lines.queue.watches.most = 1000;
    wait_for_many();
    CHECK(fake_watched(one) > 5);
    fake_cut(one);
    fake_connect(one);
    CHECK(one->context.port != NULL);
    fake_settle(one);
    for (size_t i = 0; i < MANY; i++)
        fake_remove(zk, strangers[i]);
    for (unsigned i = 0; i < 3; i++)
        wait_and_settle(1);
    for (size_t i = 0; i < MANY; i++)
        CHECK(fake_held(callers[i]));
}

static void holders_come_back(void) {
    zk->packet_most = 1028;
    one->lines.queue.watches.most = 1000;
    join_many();
    wait_and_settle(0.1);
    CHECK(fake_watched(one) > 5);
    fake_cut(one);
    fake_connect(one);
    CHECK(one->context.port != NULL);
    fake_settle(one);
    for (size_t i = 0; i < MANY; i++) {
        CHECK(fake_held(callers[i]));
        CHECK_INT(fake_release(callers[i]), ZKL_OK);
    }
    fake_settle(one);
    CHECK_INT((int64_t)one->lines.queue.watches.bytes, 0);
    CHECK_CLEAN();
}

/* The blockers' watches are worth more: there is room for more of them than for half of the
 * waiters' both. */
static void blockers_go_before_own_nodes(void) {
    one->lines.queue.watches.most = 2000;
    wait_for_many();
    size_t blockers = 0;
    for (size_t i = 0; i < MANY; i++)
        blockers +=
            zkl_lines_find(&one->lines, path_of(i))->snapshot.children[0].watch == ZKL_WATCH_ARMED;
    CHECK(blockers > fake_watched(one) / 2);
    CHECK(one->lines.queue.watches.bytes <= 2000 - 2000 / 16); /* the rest is for turns */
}

static void what_becomes_free_is_used(void) {
    one->lines.queue.watches.most = 1000;
    wait_for_many();
    const size_t watched = fake_watched(one);
    for (size_t i = 0; i < MANY / 2; i++)
        fake_cancel(callers[i]);
    fake_settle(one);
    for (unsigned i = 0; i < 3; i++)
        wait_and_settle(1);
    CHECK(fake_watched(one) + 2 > watched);
}

/* ---- who is not watched ---- */

static void a_holder_hears_of_its_loss(void) {
    without_room();
    fake_caller *p = fake_holder(one);
    wait_and_settle(0.1);
    CHECK_INT((int64_t)fake_watched(one), 0);
    fake_remove(zk, fake_node_of(p));
    fake_settle_all(zk);
    CHECK_INT(p->losses, 0);
    wait_and_settle(10);
    CHECK_INT(p->losses, 1);
    CHECK_CLEAN();
}

static void a_holder_hears_who_asks_for_it(void) {
    without_room();
    fake_caller *p = fake_holder(one);
    wait_and_settle(0.1);
    fake_write(zk, fake_node_of(p), "__REVOKE__");
    wait_and_settle(10);
    CHECK_INT(p->revocations, 1);
    CHECK(fake_held(p));
}

static void a_holder_hears_of_its_loss_after_a_cut(void) {
    without_room();
    fake_caller *p = fake_holder(one);
    wait_and_settle(0.1);
    fake_cut(one);
    fake_remove(zk, fake_node_of(p));
    fake_wait(zk, 30);
    fake_connect(one);
    fake_settle(one);
    wait_and_settle(10);
    CHECK_INT(p->losses, 1);
}

/* The answer about its node went with the handle that had asked. */
static void a_holder_hears_of_its_loss_from_another_handle(void) {
    without_room();
    fake_caller *p = fake_holder(one);
    wait_and_settle(0.1);
    fake_wait(zk, 11);
    CHECK_INT(fake_pending(one, FAKE_GET, NULL), 1);
    fake_cut_quietly(one);
    fake_relink(one);
    fake_connect(one);
    fake_settle(one);
    fake_remove(zk, fake_node_of(p));
    wait_and_settle(11);
    wait_and_settle(11);
    CHECK_INT(p->losses, 1);
}

static void a_waiter_gets_its_turn(void) {
    without_room();
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one), *q = fake_waiter(one);
    fake_remove(zk, stranger);
    fake_settle_all(zk);
    CHECK(fake_waits(p));
    wait_and_settle(1);
    CHECK(fake_held(p) && fake_waits(q));
    CHECK_INT(fake_release(p), ZKL_OK);
    fake_settle_all(zk);
    CHECK(fake_held(q)); /* of the same client: told by our own delete */
}

static void a_waiter_whose_node_is_deleted_queues_anew(void) {
    without_room();
    fake_caller *p = fake_holder(one), *q = fake_waiter(one), *r = fake_waiter(two);
    fake_remove(zk, fake_node_of(q));
    wait_and_settle(10);
    CHECK(fake_node_of(q) != NULL);
    CHECK_INT(fake_release(p), ZKL_OK);
    for (unsigned i = 0; i < 3; i++)
        wait_and_settle(1);
    CHECK(fake_held(r) && fake_waits(q));
}

/* Its blocker goes, and nobody has told it that its own node is gone: the list does, and it is not
 * granted. */
static void nobody_is_granted_on_the_going_of_a_blocker_alone(void) {
    without_room();
    fake_caller *p = fake_holder(one), *q = fake_waiter(one);
    fake_remove(zk, fake_node_of(q));
    fake_caller *r = fake_join(two, LINE, 1e12);
    while (fake_answer(two))
        continue;
    CHECK_INT(fake_release(p), ZKL_OK);
    while (fake_answer(one))
        CHECK(!fake_held(q) || fake_node_of(q));
    for (unsigned i = 0; i < 3; i++)
        wait_and_settle(1);
    CHECK(fake_held(r) && fake_waits(q) && fake_node_of(q));
}

static void a_lease_gets_its_turn(void) {
    without_room();
    fake_caller *p = fake_lease(one, POOL, 2, 2);
    fake_settle_all(zk);
    fake_caller *q = fake_lease(two, POOL, 2, 2);
    fake_settle_all(zk);
    CHECK(fake_held(p) && fake_waits(q));
    CHECK_INT(fake_release(p), ZKL_OK);
    for (unsigned i = 0; i < 2; i++)
        wait_and_settle(1);
    CHECK(fake_held(q));
}

static void a_long_wait_costs_little(void) {
    without_room();
    for (unsigned i = 0; i < 20; i++) {
        fake_stranger(zk, LINE, NULL);
        fake_waiter(one);
    }
    const unsigned lists = one->counts[FAKE_LIST];
    for (unsigned i = 0; i < 400; i++)
        wait_and_settle(0.1);
    CHECK(one->counts[FAKE_LIST] - lists > 30); /* by all twenty */
    CHECK(one->counts[FAKE_LIST] - lists <= 41);
}

static void a_holder_is_not_read_again_before_that_is_answered(void) {
    without_room();
    fake_holder(one);
    wait_and_settle(0.1);
    fake_wait(zk, 35);
    CHECK_INT(fake_pending(one, FAKE_GET, NULL), 1);
}

static void a_waiter_whose_blocker_cannot_be_watched_any_more_gets_its_turn(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_write(zk, stranger, "something");
    one->lines.queue.watches.most =
        one->lines.queue.watches.bytes - 4 - strlen(stranger); /* all but that */
    CHECK(fake_deliver(one));
    fake_settle(one);
    fake_remove(zk, stranger);
    wait_and_settle(1);
    CHECK(fake_held(p));
}

/* Nobody waits for an answer when it is his turn: the watch was asked for while others held. */
static void those_who_come_next_are_watched_in_time(void) {
    enum { WAITERS = 200 };
    static fake_caller *line[WAITERS + 1];
    one->lines.queue.watches.most = 8000;
    for (size_t i = 0; i <= WAITERS; i++)
        line[i] = fake_join(one, LINE, 1e12);
    fake_settle(one);
    CHECK(zkl_unwatched_count(&one->lines.queue) > WAITERS / 2);
    const unsigned gets = one->counts[FAKE_GET];
    for (size_t i = 0; i < WAITERS; i++) {
        CHECK_INT(fake_release(line[i]), ZKL_OK);
        CHECK(fake_held(line[i + 1]));
        fake_settle(one);
    }
    CHECK(one->counts[FAKE_GET] - gets <= WAITERS); /* once for each */
    CHECK(one->lines.queue.watches.bytes <= 200);
}

/* Not all at once, and some room is left for whoever's turn it is. */
static void those_who_come_next_leave_room(void) {
    enum { WAITERS = 200, NEXT = 64 };
    static fake_caller *line[WAITERS + 1];
    const size_t most[] = {3000, 100000};
    for (size_t m = 0; m < 2; m++) {
        zkl_watches *watches = &one->lines.queue.watches;
        watches->most = most[0];
        for (size_t i = 0; i <= WAITERS; i++)
            line[i] = fake_join(one, LINE, 1e12);
        fake_settle(one);
        watches->most = most[m];
        for (size_t i = 0; i < WAITERS; i++) {
            const unsigned gets = one->counts[FAKE_GET];
            CHECK_INT(fake_release(line[i]), ZKL_OK);
            fake_settle(one);
            CHECK(fake_held(line[i + 1]));
            CHECK(one->counts[FAKE_GET] - gets <= NEXT);
            CHECK(watches->bytes <= watches->most - watches->most / 16);
        }
        CHECK_INT(fake_release(line[WAITERS]), ZKL_OK);
        fake_settle(one);
    }
}

/* ---- what is counted ---- */

static void check_counted(void) {
    CHECK_INT((int64_t)one->lines.queue.watches.bytes, (int64_t)fake_watched_bytes(one));
}

static void one_on_a_node_that_a_list_misses_is_not_counted(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_join(one, LINE, 1e12); /* with a list */
    fake_write(zk, stranger, "something");
    CHECK(fake_deliver(one)); /* so it is asked for again, after the list */
    fake_remove(zk, stranger);
    fake_settle(one);
    CHECK(fake_held(p));
    check_counted();
}

static void none_is_counted_when_the_handle_is_lost(void) {
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_lease(two, POOL, 1, 1);
    fake_settle_all(zk);
    fake_waiter(one);
    fake_lease(one, POOL, 1, 1);
    fake_settle(one);
    check_counted();
    for (unsigned i = 0; i < 2; i++) {
        fake_cut(one);
        if (i == 0)
            fake_relink(one);
        else
            fake_expire(one);
        CHECK_INT((int64_t)one->lines.queue.watches.bytes, 0);
        fake_connect(one);
        fake_settle(one);
        check_counted();
        CHECK(one->lines.queue.watches.bytes > 0);
    }
    CHECK(fake_held(p));
}

static void is_counted(void) {
    without_room();
    fake_caller *p = fake_holder(one), *q = fake_waiter(one);
    wait_and_settle(0.1);
    CHECK_INT((int64_t)zkl_unwatched_count(&one->lines.queue), 2);
    fake_cancel(q);
    CHECK_INT(fake_release(p), ZKL_OK);
    CHECK_INT((int64_t)zkl_unwatched_count(&one->lines.queue), 0);
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
        CHECK_INT(fake_make(zk, path, "", ZKL_EPHEMERAL_SEQUENCE, 0xdead, &node), 0);
        CHECK_INT((int64_t)strlen(node->path), at + (int64_t)length);
        fake_caller *p = fake_waiter(one);
        CHECK_INT((int64_t)fake_watched(one), length <= 1024 ? 2 : 1); /* its own */
        fake_remove(zk, node->path);
        wait_and_settle(1);
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
    CHECK_INT((int64_t)one->lines.queue.watches.bytes, 0);
    CHECK_INT((int64_t)one->lines.count, 0);
}

static void one_that_the_servers_do_not_take_back_counts_on(void) {
    static const int why[] = {ZNOAUTH, ZNOWATCHER}; /* the library keeps it in either case */
    for (size_t i = 0; i < 2; i++) {
        const char *stranger = fake_stranger(zk, LINE, NULL);
        fake_refuse(zk, FAKE_UNWATCH, LINE, why[i], 1);
        fake_cancel(fake_waiter(one));
        fake_settle(one);
        CHECK_INT((int64_t)fake_watched(one), 1);
        CHECK_INT((int64_t)one->lines.queue.watches.bytes, (int64_t)fake_watched_bytes(one));
        CHECK_INT((int64_t)one->lines.count, 0);
        fake_remove(zk, stranger);
        fake_settle(one);
        CHECK_INT((int64_t)one->lines.queue.watches.bytes, 0);
    }
}

/* That another watch tells leaves it as it was. */
static void what_is_left_is_not_taken_for_another(void) {
    fake_stranger(zk, LINE, NULL);
    fake_refuse(zk, FAKE_UNWATCH, LINE, ZNOAUTH, 0);
    fake_cancel(fake_waiter(one));
    fake_settle(one);
    const size_t left = one->lines.queue.watches.left;
    CHECK(left > zkl_watches_size(strlen(LINE "/leases")));
    fake_directory(zk, LINE "/leases");
    const char *lease = fake_stranger(zk, LINE "/leases", "_c_%s-lease-");
    fake_waiter(one); /* the directory of leases stands in a line */
    fake_caller *p = fake_lease(one, LINE, 1, 1);
    fake_settle_all(zk);
    CHECK(fake_waits(p));
    fake_remove(zk, lease);
    fake_settle_all(zk);
    CHECK(fake_held(p));
    CHECK_INT((int64_t)one->lines.queue.watches.left, (int64_t)left);
}

static void what_is_left_goes_with_the_handle(void) {
    static void (*const ends[])(fake_client *) = {fake_relink, fake_expire};
    fake_refuse(zk, FAKE_UNWATCH, LINE, ZNOAUTH, 0);
    for (size_t i = 0; i < 2; i++) {
        const char *stranger = fake_stranger(zk, LINE, NULL);
        fake_cancel(fake_waiter(one));
        fake_settle(one);
        CHECK(one->lines.queue.watches.left > 0);
        fake_caller *p = fake_join(one, "/locks/other", 60); /* a line that sees it go */
        fake_cut(one);
        ends[i](one);
        CHECK_INT((int64_t)one->lines.queue.watches.bytes, 0);
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
    CHECK_INT((int64_t)one->lines.queue.watches.bytes, 0);
    CHECK_INT((int64_t)one->lines.count, 0);
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

/* ---- who is watched ---- */

static void who_is_told_is_not_looked_after(void) {
    fake_caller *p = fake_lease(one, POOL, 1, 1);
    fake_settle_all(zk);
    fake_caller *q = fake_lease(two, POOL, 1, 1);
    fake_settle_all(zk);
    CHECK(fake_held(p) && fake_waits(q));
    CHECK_INT(zkl_unwatched_count(&two->lines.queue), 0);
    CHECK(zkl_lines_watching(&two->lines, POOL "/leases", true));
    CHECK(!zkl_lines_watching(&one->lines, POOL "/leases", true));
    const unsigned lists = two->counts[FAKE_LIST];
    wait_and_settle(10);
    CHECK_INT(two->counts[FAKE_LIST], lists);
}

/* The request for the first one's is still on its way. */
static void one_watch_serves_all_who_wait_for_the_same(void) {
    const char *theirs = fake_stranger(zk, LINE, "_c_%s-__WRIT__");
    fake_caller *p = fake_read(one, LINE), *q = fake_read(one, LINE);
    while (!fake_pending(one, FAKE_GET, theirs) || !fake_node_of(q))
        CHECK(fake_answer(one));
    CHECK_INT(fake_pending(one, FAKE_GET, theirs), 1);
    CHECK_INT(zkl_unwatched_count(&one->lines.queue), 0);
    fake_settle(one);
    CHECK_INT(zkl_unwatched_count(&one->lines.queue), 0);
    fake_remove(zk, theirs);
    fake_settle(one);
    CHECK(fake_held(p) && fake_held(q));
    CHECK_INT(zkl_unwatched_count(&one->lines.queue), 0);
}

static void who_finds_room_is_looked_after_no_more(void) {
    without_room();
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    CHECK(zkl_unwatched_count(&one->lines.queue) > 0);
    one->lines.queue.watches.most = 100000;
    for (unsigned i = 0; i < 15; i++)
        wait_and_settle(1);
    CHECK_INT(zkl_unwatched_count(&one->lines.queue), 0);
    const unsigned lists = one->counts[FAKE_LIST];
    wait_and_settle(10);
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
        wait_and_settle(0.3);
    fake_release(p);
    fake_settle_all(zk);
    CHECK(fake_held(q));
}

/* The room that is left is not for the watches on the nodes of those who wait. */
static void whose_turn_it_is_watches_its_node_when_others_do_not(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    const size_t path = 4 + strlen(stranger);
    one->lines.queue.watches.most = 3 * path;
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
    without_room();
    fake_caller *p = fake_waiter(one);
    CHECK(!zkl_lines_watching(&one->lines, stranger, false));
    CHECK(!zkl_lines_watching(&one->lines, fake_node_of(p), false));
    one->lines.queue.watches.most = 100000;
    for (unsigned i = 0; i < 15; i++)
        wait_and_settle(1);
    CHECK(zkl_lines_watching(&one->lines, stranger, false));
    CHECK(zkl_lines_watching(&one->lines, fake_node_of(p), false));
    CHECK(!zkl_lines_watching(&one->lines, LINE "/other", false));
}

/* It is nobody's turn any more. */
static void a_holder_finds_room_as_others_do(void) {
    one->lines.queue.watches.most = 100;
    fake_caller *p = fake_holder(one);
    wait_and_settle(0.1);
    CHECK_INT(p->contender->watch, ZKL_WATCH_NONE);
    one->lines.queue.watches.most = 200;
    fake_release(p);
    fake_settle(one);
    p = fake_holder(one);
    wait_and_settle(0.1);
    CHECK_INT(p->contender->watch, ZKL_WATCH_ARMED);
}

static void a_line_that_is_listed_in_turn_is_counted(void) {
    without_room();
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    CHECK_INT((int64_t)zkl_unwatched_count(&one->lines.queue), 1);
    fake_cancel(p);
    CHECK_INT((int64_t)zkl_unwatched_count(&one->lines.queue), 0);
}

static void a_line_is_not_listed_again_before_that_is_answered(void) {
    without_room();
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
    zkl_watches *watches = &one->lines.queue.watches;
    watches->most = 3000;
    for (size_t i = 0; i < WAITERS; i++) {
        theirs[i] = fake_stranger(zk, LINE, NULL);
        line[i] = fake_join(one, LINE, 1e12);
        fake_settle(one);
    }
    CHECK(zkl_unwatched_count(&one->lines.queue) > WAITERS / 2);
    watches->most = 100000;
    for (size_t i = 0; i < WAITERS; i++) {
        fake_remove(zk, theirs[i]);
        wait_and_settle(1);
        CHECK(fake_held(line[i]));
        CHECK_INT(fake_release(line[i]), ZKL_OK);
        wait_and_settle(0.1);
    }
    CHECK_CLEAN();
}

/* As many as are there, and not as many as there may be: they have just been listed. */
static void a_short_line_that_comes_next_is_watched_in_time(void) {
    enum { WAITERS = 40 };
    static fake_caller *line[WAITERS];
    const char *theirs = fake_stranger(zk, LINE, NULL);
    one->lines.queue.watches.most = 1000;
    for (size_t i = 0; i < WAITERS; i++)
        line[i] = fake_join(one, LINE, 1e12);
    fake_settle(one);
    CHECK(zkl_unwatched_count(&one->lines.queue) > WAITERS / 2);
    one->lines.queue.watches.most = 100000;
    fake_cut(one);
    fake_remove(zk, theirs);
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_held(line[0]));
    CHECK_INT(fake_watched(one), WAITERS);
    CHECK_INT(zkl_unwatched_count(&one->lines.queue), 0);
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

/* One of ours stands behind it, and watches it like anybody's: its create's answer was lost. */
static fake_caller *one_of_ours_behind_a_lost_one(bool wanted, fake_caller **first) {
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
    for (unsigned i = 0; !snapshot->count || snapshot->children[0].watch != ZKL_WATCH_ARMED; i++) {
        CHECK(i < 1000);
        if (!fake_answer(one))
            fake_wait(zk, 0.1);
    }
    return behind;
}

static void one_on_a_node_that_was_found_to_be_ours_is_counted_until_it_tells(void) {
    for (unsigned wanted = 0; wanted < 2; wanted++) {
        fake_caller *p, *q = one_of_ours_behind_a_lost_one(wanted, &p);
        wait_and_settle(1);
        if (wanted) {
            CHECK(fake_held(p) && fake_waits(q));
            CHECK_INT(fake_release(p), ZKL_OK);
        }
        fake_settle(one);
        CHECK(fake_held(q));
        CHECK_INT((int64_t)one->lines.queue.watches.left, 0);
        CHECK_INT(fake_release(q), ZKL_OK);
        fake_settle(one);
        CHECK_INT((int64_t)one->lines.queue.watches.bytes, 0);
    }
}

/* It is asked for in the turn of those who are looked after; one request is enough. */
static void a_holder_for_whom_there_is_room_again_is_watched(void) {
    without_room();
    fake_holder(one);
    wait_and_settle(0.1);
    CHECK_INT((int64_t)zkl_unwatched_count(&one->lines.queue), 1);
    one->lines.queue.watches.most = 1000;
    const unsigned before = one->counts[FAKE_GET];
    wait_and_settle(10);
    CHECK_INT((int64_t)fake_watched(one), 1);
    CHECK_INT((int64_t)zkl_unwatched_count(&one->lines.queue), 0);
    CHECK_INT(one->counts[FAKE_GET], before + 1);
}

/* A byte a microsecond. */
static void who_is_looked_after_pays_for_what_is_read(void) {
    without_room();
    fake_caller *p = fake_holder(one);
    wait_and_settle(0.1);
    zkl_post *post = &p->contender->post;
    const zkl_round *reads = &one->lines.queue.reads;
    CHECK(post->round == reads);
    CHECK_INT(reads->serve(post), (zkl_nanos)strlen(fake_node_of(p)) * 1000);
    fake_leave(one);
}

/* The names of one list, with four bytes that say how long each is. */
static void a_line_that_is_listed_in_turn_pays_for_what_it_reads(void) {
    without_room();
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    const size_t bytes = strlen(strrchr(stranger, '/')) + strlen(strrchr(fake_node_of(p), '/')) + 6;
    zkl_post *post = &p->contender->post;
    const zkl_round *lists = &one->lines.queue.lists;
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
    one->lines.queue.watches.most = 100;
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
    wait_and_settle(0.1);
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
    wait_and_settle(0.1);
    fake_write(zk, fake_node_of(p), "__REVOKE__");
    CHECK(fake_deliver(one));
    CHECK_INT(fake_pending(one, FAKE_GET, NULL), 1);
    CHECK_INT(fake_release(p), ZKL_OK);
    fake_settle(one);
    CHECK_INT(p->revocations, 0);
    CHECK_INT(one->context.counters.revoked, 0);
}

/* What has the number of the write stays, and what was the read's is gone before it is watched. */
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
    CHECK_INT((int64_t)one->lines.count, 0);
    CHECK_INT((int64_t)one->lines.queue.watches.bytes, 0);
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

/* The directory's: the library had no memory for the request. */
static void a_directory_that_cannot_be_taken_back_is_taken_back_later(void) {
    fake_refuse(zk, FAKE_CREATE, LINE, ZNOAUTH, 1);
    CHECK(fake_waits(fake_share(one, LINE, 1e12)));
    while (fake_carry(one))
        continue;
    one->deaf = ZMARSHALLINGERROR;
    while (fake_deliver(one))
        continue;
    one->deaf = ZOK;
    CHECK_INT(fake_watched(one), 1);
    CHECK_INT(one->counts[FAKE_UNWATCH], 0);
    wait_and_settle(1);
    CHECK_INT(fake_watched(one), 0);
    CHECK_INT((int64_t)one->lines.count, 0);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a client with too many watches for a packet could never come back",
         too_many_watches_cannot_come_back},
        {"one with many waiters comes back, and they get their turns", waiters_come_back},
        {"one with many holders comes back, and they hold", holders_come_back},
        {"blockers are watched rather than own nodes", blockers_go_before_own_nodes},
        {"what becomes free is used", what_becomes_free_is_used},
        {"a holder that is not watched hears of its loss", a_holder_hears_of_its_loss},
        {"... and of it after a cut", a_holder_hears_of_its_loss_after_a_cut},
        {"... and from another handle", a_holder_hears_of_its_loss_from_another_handle},
        {"... and who asks for it back", a_holder_hears_who_asks_for_it},
        {"a waiter that is not told gets its turn", a_waiter_gets_its_turn},
        {"... queues anew when its node is deleted", a_waiter_whose_node_is_deleted_queues_anew},
        {"... is not granted on the going of its blocker alone",
         nobody_is_granted_on_the_going_of_a_blocker_alone},
        {"a lease whose directory is not watched gets its turn", a_lease_gets_its_turn},
        {"one list a second is for all who wait in a line", a_long_wait_costs_little},
        {"who is not watched is counted", is_counted},
        {"a holder is not read again before that is answered",
         a_holder_is_not_read_again_before_that_is_answered},
        {"a waiter whose blocker cannot be watched any more gets its turn",
         a_waiter_whose_blocker_cannot_be_watched_any_more_gets_its_turn},
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
        {"those who come next are watched in time", those_who_come_next_are_watched_in_time},
        {"those who come next leave room", those_who_come_next_leave_room},
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
        {"one on a node that was found to be ours is counted until it tells",
         one_on_a_node_that_was_found_to_be_ours_is_counted_until_it_tells},
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
        {"of two of one number the other one may go", of_two_of_one_number_the_other_one_may_go},
        {"one that the library does not know keeps no line",
         one_that_the_library_does_not_know_keeps_no_line},
        {"a short hold is not watched", a_short_hold_is_not_watched},
        {"a directory that cannot be taken back is taken back later",
         a_directory_that_cannot_be_taken_back_is_taken_back_later},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
