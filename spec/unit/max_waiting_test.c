/* SPDX-License-Identifier: MIT */
/* How many of a client may wait in a line: who is refused, when, and who never is. */
#include "fake_world.h"

#include <stdio.h>

/* Joins; nothing is answered yet. */
static fake_caller *come(size_t max_waiting) {
    return fake_join_among(one, LINE, ZKL_KIND_LOCK, max_waiting);
}

static fake_caller *come_for(zkl_kind kind, size_t max_waiting) {
    fake_caller *p = fake_join_among(one, LINE, kind, max_waiting);
    fake_settle_all(zk);
    return p;
}

static fake_caller *settled(size_t max_waiting) {
    return come_for(ZKL_KIND_LOCK, max_waiting);
}

/* Somebody else's node, for as long as it is not removed. */
static void stranger(char *path, size_t size) {
    snprintf(path, size, "%s", fake_stranger(zk, LINE, "_c_%s-lock-"));
}

static void one_too_many_is_refused_at_once(void) {
    fake_caller *holder = settled(2), *first = settled(2), *second = come(2);
    const unsigned creates = one->counts[FAKE_CREATE] + fake_pending(one, FAKE_CREATE, NULL);
    fake_caller *third = come(2);
    CHECK_FAILED(third, ZKL_BUSY);
    CHECK_INT(one->counts[FAKE_CREATE] + fake_pending(one, FAKE_CREATE, NULL), creates);
    CHECK(fake_held(holder) && fake_waits(first) && fake_waits(second));
    fake_settle_all(zk);
    CHECK_INT(fake_children(zk, LINE), 3);
    CHECK(fake_waits(first) && fake_waits(second));
}

static void a_holder_here_is_enough_to_be_refused(void) {
    fake_caller *holder = settled(1), *first = come(1);
    CHECK_FAILED(come(0), ZKL_BUSY);
    CHECK_FAILED(come(1),
                 ZKL_BUSY); /* the first is on its way, but it is known that it will wait */
    CHECK(fake_held(holder) && fake_waits(first));
}

static void whoever_leaves_makes_room(void) {
    fake_caller *holder = settled(1), *waiter = settled(1);
    CHECK_FAILED(settled(1), ZKL_BUSY);
    fake_cancel(waiter);
    fake_caller *next = settled(1); /* the other's node may still be on its way out */
    CHECK(fake_waits(next));
    CHECK_FAILED(settled(1), ZKL_BUSY);
    CHECK_INT(fake_release(holder), ZKL_OK);
    fake_settle_all(zk);
    CHECK(fake_held(next));
    CHECK(fake_waits(settled(1)));
}

/* The servers may let the first in, but not those behind him. */
static void the_first_to_come_does_not_count_yet(void) {
    fake_caller *first = come(1), *second = come(1);
    CHECK_FAILED(come(1), ZKL_BUSY);
    CHECK_FAILED(come(0), ZKL_BUSY);
    fake_settle_all(zk);
    CHECK(fake_held(first) && fake_waits(second));
}

static void behind_a_stranger_the_last_to_come_go(void) {
    char theirs[256];
    stranger(theirs, sizeof theirs);
    fake_caller *first = come(1), *second = come(1);
    CHECK(fake_waits(first) && fake_waits(second));
    fake_settle_all(zk);
    CHECK(fake_waits(first));
    CHECK_FAILED(second, ZKL_BUSY);
    CHECK_INT(fake_children(zk, LINE), 2); /* it left no node behind */
    fake_remove(zk, theirs);
    fake_settle_all(zk);
    CHECK(fake_held(first));
}

static void of_none_even_the_first_goes_behind_a_stranger(void) {
    char theirs[256];
    stranger(theirs, sizeof theirs);
    CHECK_FAILED(settled(0), ZKL_BUSY);
    CHECK_INT(fake_children(zk, LINE), 1);
    fake_remove(zk, theirs);
    CHECK(fake_held(settled(0)));
}

/* Each goes by his own number. */
static void who_says_nothing_is_never_refused(void) {
    char theirs[256];
    stranger(theirs, sizeof theirs);
    fake_caller *a = fake_waiter(one), *b = fake_waiter(one), *late = settled(1);
    CHECK_FAILED(late, ZKL_BUSY);
    fake_caller *c = fake_waiter(one);
    CHECK(fake_waits(a) && fake_waits(b) && fake_waits(c));
}

static void nor_does_he_shield_those_before_him(void) {
    char theirs[256];
    stranger(theirs, sizeof theirs);
    fake_caller *first = come(0), *any = fake_join(one, LINE, 1e12);
    fake_settle_all(zk);
    CHECK_FAILED(first, ZKL_BUSY);
    CHECK(fake_waits(any));
}

static void readers_that_are_let_in_do_not_wait(void) {
    fake_caller *a = come_for(ZKL_KIND_READ, 0), *b = come_for(ZKL_KIND_READ, 0);
    CHECK(fake_held(a) && fake_held(b));
    fake_caller *write = come_for(ZKL_KIND_WRITE, 1);
    CHECK(fake_waits(write));
    CHECK_FAILED(come_for(ZKL_KIND_READ, 1), ZKL_BUSY); /* it would wait for the writer */
    CHECK_FAILED(come_for(ZKL_KIND_WRITE, 1), ZKL_BUSY);
    CHECK_INT(fake_release(a), ZKL_OK);
    CHECK_INT(fake_release(b), ZKL_OK);
    fake_settle_all(zk);
    CHECK(fake_held(write));
    fake_caller *under = fake_read_under(write, LINE);
    fake_settle_all(zk);
    CHECK(fake_held(under));
}

/* Whoever reads under a write of his own passes those who wait, however many these are. */
static void a_read_under_a_write_is_not_refused(void) {
    fake_caller *write = come_for(ZKL_KIND_WRITE, 0), *next = fake_write_lock(one, LINE);
    fake_settle_all(zk);
    CHECK(fake_held(write) && fake_waits(next));
    fake_caller *under = fake_join_among_under(write, LINE, 0);
    fake_settle_all(zk);
    CHECK(fake_held(under));
}

static void nor_is_it_counted_on_its_way(void) {
    fake_caller *write = come_for(ZKL_KIND_WRITE, 1);
    fake_caller *under = fake_join_among_under(write, LINE, 1);
    fake_caller *next = fake_join_among(one, LINE, ZKL_KIND_WRITE, 1);
    CHECK(fake_waits(under) && fake_waits(next));
    fake_settle_all(zk);
    CHECK(fake_held(under) && fake_waits(next));
}

/* Whoever waits already stays, also when others who have named no number make it more than he has
 * named. */
static void a_new_session_refuses_nobody_who_had_waited(void) {
    char theirs[256];
    stranger(theirs, sizeof theirs);
    fake_caller *first = settled(2), *any = fake_waiter(one);
    fake_bury(one);
    fake_cut(one);
    fake_expire(one);
    fake_caller *another = fake_join(one, LINE, 1e12);
    fake_connect(one);
    fake_caller *late = come(3); /* while the others ask anew */
    fake_settle_all(zk);
    CHECK(fake_waits(first) && fake_waits(any) && fake_waits(another));
    CHECK_FAILED(late, ZKL_BUSY);
    fake_remove(zk, theirs);
    fake_settle_all(zk);
    CHECK(fake_held(first) && fake_waits(any));
}

/* An operator deletes the node of one who waits: he queues anew, at the end, and is not the one too
 * many. */
static void nor_does_a_deleted_node(void) {
    char theirs[256], node[256];
    stranger(theirs, sizeof theirs);
    fake_caller *first = settled(2), *any = fake_waiter(one);
    snprintf(node, sizeof node, "%s", fake_node_of(first));
    fake_remove(zk, node);
    fake_deliver(one);
    fake_caller *another = fake_join(one, LINE, 1e12);
    fake_settle_all(zk);
    CHECK(fake_waits(first) && fake_waits(any) && fake_waits(another));
    CHECK_INT(fake_children(zk, LINE), 4);
}

static void others_of_this_host_count_for_themselves(void) {
    fake_caller *holder = fake_holder(two), *theirs = fake_waiter(two), *mine = settled(1);
    CHECK(fake_waits(mine));
    CHECK_FAILED(settled(1), ZKL_BUSY);
    CHECK(fake_held(holder) && fake_waits(theirs));
}

/* The parts of multilocks are in the line, too, but answer to their whole. */
static void parts_of_a_whole_are_not_counted(void) {
    static const char *const paths[] = {LINE, "/locks/b"};
    fake_directory(zk, paths[1]);
    fake_caller *holder = fake_holder(two);
    fake_caller *both = fake_join_all(one, paths, 2, 1e12);
    fake_settle_all(zk);
    fake_caller *mine = settled(1);
    CHECK(fake_waits(both) && fake_waits(mine));
    CHECK_FAILED(settled(1), ZKL_BUSY);
    CHECK(fake_held(holder));
}

static void nothing_is_left(void) {
    fake_caller *holder = settled(1), *waiter = settled(1);
    CHECK_FAILED(settled(1), ZKL_BUSY);
    fake_cancel(waiter);
    CHECK_INT(fake_release(holder), ZKL_OK);
    char theirs[256];
    stranger(theirs, sizeof theirs);
    CHECK_FAILED(settled(0), ZKL_BUSY);
    fake_remove(zk, theirs);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

/* Whatever it holds, a newcomer who would have to wait for it is refused before anything is
 * asked. */
static void a_holder_of_any_kind_here_is_enough_to_be_refused(void) {
    static const zkl_kind kinds[][2] = {
        {ZKL_KIND_LOCK, ZKL_KIND_LOCK},
        {ZKL_KIND_READ, ZKL_KIND_WRITE},
        {ZKL_KIND_WRITE, ZKL_KIND_READ},
        {ZKL_KIND_WRITE, ZKL_KIND_WRITE},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        fake_caller *holder = come_for(kinds[i][0], 1);
        CHECK(fake_held(holder));
        CHECK_FAILED(fake_join_among(one, LINE, kinds[i][1], 0), ZKL_BUSY);
        CHECK_TEXT(fake_batch(one), "");
        CHECK_INT(fake_release(holder), ZKL_OK);
        fake_settle_all(zk);
    }
}

/* It asks for nothing, and counts for nobody. */
static void without_a_bound_nobody_is_refused(void) {
    settled(1);
    fake_caller *first = fake_join(one, LINE, 1e12), *second = fake_join(one, LINE, 1e12);
    fake_settle_all(zk);
    CHECK(fake_waits(first) && fake_waits(second));
    CHECK_FAILED(come(2), ZKL_BUSY);
    CHECK(fake_waits(come(3)));
}

/* Its session has ended, and it is not known yet whether it has to wait again. */
static void who_queues_anew_does_not_count_yet(void) {
    fake_caller *holder = fake_holder(two), *first = settled(1);
    CHECK(fake_held(holder) && fake_waits(first));
    fake_expire(one);
    CHECK(fake_waits(come(1)));
}

/* An operator has deleted its node. */
static void nor_does_who_has_lost_its_place(void) {
    fake_caller *holder = fake_holder(two), *first = settled(1);
    CHECK(fake_held(holder) && fake_waits(first));
    CHECK_INT(fake_remove(zk, fake_node_of(first)), ZOK);
    while (fake_deliver(one))
        continue;
    CHECK(!fake_node_of(first));
    CHECK(fake_waits(come(1)));
}

/* He came with a node of his own before, and another one goes: once is enough. */
static void who_is_refused_is_refused_once(void) {
    char theirs[256], node[256];
    snprintf(theirs, sizeof theirs, "%s", fake_stranger(zk, LINE, "_c_%s-__WRIT__"));
    fake_caller *first = come_for(ZKL_KIND_READ, 5);
    snprintf(node, sizeof node, "%s", fake_node_of(first));
    fake_remove(zk, node);
    fake_settle_all(zk);
    CHECK(fake_waits(first));
    CHECK_FAILED(come_for(ZKL_KIND_READ, 0), ZKL_BUSY);
    CHECK(fake_waits(first));
    fake_remove(zk, theirs);
    fake_settle_all(zk);
    CHECK(fake_held(first));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"the client refuses one waiter too many at once, without traffic",
         one_too_many_is_refused_at_once},
        {"a holder of this client is enough for a refusal", a_holder_here_is_enough_to_be_refused},
        {"whoever leaves makes room", whoever_leaves_makes_room},
        {"the first to come does not count yet", the_first_to_come_does_not_count_yet},
        {"behind a stranger the last to come go", behind_a_stranger_the_last_to_come_go},
        {"of none even the first goes", of_none_even_the_first_goes_behind_a_stranger},
        {"a caller without max_waiting is never refused", who_says_nothing_is_never_refused},
        {"a caller without max_waiting does not shield those before it",
         nor_does_he_shield_those_before_him},
        {"readers that are let in do not wait", readers_that_are_let_in_do_not_wait},
        {"a read under a write is not refused", a_read_under_a_write_is_not_refused},
        {"a read under a write is not counted while its create is on its way",
         nor_is_it_counted_on_its_way},
        {"a new session refuses no caller that had waited",
         a_new_session_refuses_nobody_who_had_waited},
        {"nor does a deleted node", nor_does_a_deleted_node},
        {"other clients count for themselves", others_of_this_host_count_for_themselves},
        {"parts of a whole are not counted", parts_of_a_whole_are_not_counted},
        {"nothing is left", nothing_is_left},
        {"a holder of any kind in this client is enough for a refusal",
         a_holder_of_any_kind_here_is_enough_to_be_refused},
        {"without a bound no caller is refused", without_a_bound_nobody_is_refused},
        {"a caller that queues again does not count yet", who_queues_anew_does_not_count_yet},
        {"a caller whose node was deleted does not count yet", nor_does_who_has_lost_its_place},
        {"a refused caller hears of it once", who_is_refused_is_refused_once},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
