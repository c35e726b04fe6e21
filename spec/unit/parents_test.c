/* SPDX-License-Identifier: MIT */
/* The directories above a lock: made when they are missing, in one batch with the create. */
#include "fake_world.h"

#include <string.h>

#define DEEP "/x/y/z"

static fake_node *node_at(const char *path) {
    return fake_find(zk, path, FAKE_LATEST);
}

static void missing_parents_are_made_in_one_batch(void) {
    fake_caller *p = fake_join(one, DEEP, 60);
    fake_answer(one); /* NONODE */
    CHECK_TEXT(fake_batch(one), "LCCCC");
    CHECK_INT(fake_pending(one, FAKE_CREATE, "/x"), 1);
    CHECK_INT(fake_pending(one, FAKE_CREATE, "/x/y"), 1);
    CHECK_INT(fake_pending(one, FAKE_CREATE, "/x/y/z"), 1);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(node_at("/x")->mode, FAKE_CONTAINER);
    CHECK_INT(node_at("/x/y/z")->mode, FAKE_CONTAINER);
    CHECK(zkl_context_knows(&one->context, ZKL_EXTRA_CONTAINER));
}

static void those_of_the_chroot_stay(void) {
    one->context.chroot = strlen("/x/y");
    fake_caller *p = fake_join(one, DEEP, 60);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(node_at("/x")->mode, FAKE_PERSISTENT);
    CHECK_INT(node_at("/x/y")->mode, FAKE_PERSISTENT);
    CHECK_INT(node_at("/x/y/z")->mode, FAKE_CONTAINER);
}

static void old_servers_get_plain_nodes(void) {
    zk->old = true;
    fake_caller *p = fake_join(one, DEEP, 60);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(node_at("/x")->mode, FAKE_PERSISTENT);
    CHECK(!zkl_context_knows(&one->context, ZKL_EXTRA_CONTAINER));
}

static void servers_that_refuse_containers_get_plain_nodes(void) {
    fake_caller *p = fake_join(one, DEEP, 60);
    fake_answer(one);
    fake_refuse(zk, FAKE_CREATE, "/x", ZBADARGUMENTS, 1);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(node_at("/x")->mode, FAKE_PERSISTENT);
    CHECK(!zkl_context_knows(&one->context, ZKL_EXTRA_CONTAINER));
}

static void those_that_exist_are_left_alone(void) {
    fake_directory(zk, "/x/y");
    fake_caller *p = fake_join(one, DEEP, 60);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(node_at("/x/y")->mode, FAKE_PERSISTENT);
}

/* The node's create passes the refusals and finds no parent; the level's does not pass. */
static void refuse_level(const char *level) {
    fake_answer(one);
    fake_refuse(zk, FAKE_CREATE, level, ZNOAUTH, 1);
}

static void an_acl_above_them_does_not_matter_if_they_exist(void) {
    fake_directory(zk, "/x/y");
    fake_caller *p = fake_join(one, DEEP, 60);
    refuse_level(
        "/x"); /* its parent is closed to us; ZooKeeper says so before it says that it exists */
    fake_settle(one);
    CHECK(fake_held(p));
}

/* That the level was closed is of no interest any more when the directory was found; also where the
 * answer to the create was lost. */
static void forget_a_refusal(bool cut) {
    fake_directory(zk, "/x/y");
    fake_caller *p = fake_join(one, DEEP, 60);
    refuse_level("/x");
    while (!fake_children(zk, DEEP)) {
        while (fake_deliver(one))
            continue;
        CHECK(fake_carry(one));
    }
    if (cut) {
        fake_cut(one);
        fake_connect(one);
    }
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(one->counts[FAKE_CREATE], 1 + 3 + 1);
    const char *node = fake_node_of(p);
    fake_caller *q = fake_join(one, DEEP, 60);
    CHECK_INT(fake_remove(zk, node), ZOK);
    CHECK_INT(fake_remove(zk, DEEP), ZOK); /* while the create is on its way */
    fake_settle(one);
    CHECK(fake_held(q));
}

static void a_refusal_is_forgotten_when_the_directory_is_there(void) {
    forget_a_refusal(false);
}

static void a_refusal_is_forgotten_when_a_lost_node_is_found(void) {
    forget_a_refusal(true);
}

static void a_level_that_cannot_be_made_gives_access_denied(void) {
    fake_caller *p = fake_join(one, "/y/z", 60);
    refuse_level("/y");
    fake_settle(one);
    CHECK_FAILED(p, ZKL_ACCESS_DENIED);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
    fake_caller *q = fake_join(one, "/y/z", 60); /* the refusal is over */
    fake_settle(one);
    CHECK(fake_held(q));
}

enum { ROUNDS = 60 }; /* more than make a line give up */

/* A multilock whose second directory cannot be made for now. That says nothing about the first. */
static void a_part_whose_directory_is_there_takes_no_part_in_the_making_of_others(void) {
    fake_directory(zk, "/x/y");
    fake_caller *p = fake_join_all(one, (const char *const[]){"/x/y", "/y/z"}, 2, 1e12);
    fake_answer(one); /* the transaction finds no /y/z, and each line makes its directory */
    for (unsigned i = 0; i < ROUNDS; i++) {
        fake_refuse(zk, FAKE_CREATE, "/y", ZTHROTTLEDOP, 2); /* its two levels */
        fake_settle(one);
        fake_wait(zk, 6);
    }
    CHECK(fake_waits(p));
    CHECK_INT(one->counts[FAKE_TRANSACT], 2 + ROUNDS);
    CHECK_INT(one->counts[FAKE_CREATE], 2 + 2 * (1 + ROUNDS)); /* the first one's levels once */
    fake_settle(one);
    CHECK_INT(fake_children(zk, "/x/y"), 1);
    CHECK_INT(fake_children(zk, "/y/z"), 1);
}

static void many_share_the_making(void) {
    fake_caller *callers[10];
    for (size_t i = 0; i < 10; i++)
        callers[i] = fake_join(one, DEEP, 60);
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_CREATE], 10 + 3 + 10);
    for (size_t i = 0; i < 10; i++) {
        CHECK(fake_held(callers[i]));
        fake_release(callers[i]);
    }
    fake_settle(one);
    CHECK_INT(fake_children(zk, DEEP), 0);
}

static void a_directory_cleared_away_between_is_made_again(void) {
    fake_directory(zk, DEEP);
    fake_caller *p = fake_join(one, DEEP, 60);
    fake_remove(zk, DEEP); /* the create is on its way */
    fake_settle(one);
    CHECK(fake_held(p));
    fake_release(p);
    fake_settle(one);
    fake_remove(zk, DEEP);
    fake_remove(zk, "/x/y");
    fake_caller *q = fake_join(one, DEEP, 60);
    fake_settle(one);
    CHECK(fake_held(q));
}

static void giving_up_while_they_are_made_leaves_no_node(void) {
    fake_caller *p = fake_join(one, DEEP, 60);
    fake_answer(one);
    fake_cancel(p);
    fake_settle(one);
    CHECK_FAILED(p, ZKL_CANCELLED);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
    CHECK_INT(fake_children(zk, DEEP), 0);
}

/* The library tells of the cut first where it broke, and was mended and answered, meanwhile. */
static void an_answer_that_comes_after_the_cut_makes_none(void) {
    fake_caller *p = fake_join(one, "/a/b/lock", 5);
    fake_carry(one);
    one->context.port = &zkl_port_refusing;
    fake_deliver(one);
    fake_cut(one);
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_held(p));
}

static void a_cut_while_they_are_made_does_not_matter(void) {
    for (unsigned carried = 0; carried < 6; carried++) {
        fake_caller *p = fake_join(one, DEEP, 60);
        fake_answer(one);
        for (unsigned i = 0; i < carried; i++)
            fake_carry(one);
        fake_cut(one);
        fake_connect(one);
        fake_settle(one);
        CHECK(fake_held(p));
        fake_release(p);
        fake_settle(one);
        fake_remove(zk, DEEP);
        fake_remove(zk, "/x/y");
        fake_remove(zk, "/x");
    }
}

static void parents_that_vanish_again_and_again_end_with_an_error(void) {
    fake_caller *p = fake_join(one, DEEP, 1e12);
    for (unsigned i = 0; i < 2000 && fake_waits(p); i++) {
        fake_carry(one);
        fake_remove(zk, DEEP);
        while (fake_deliver(one))
            continue;
    }
    CHECK_FAILED(p, ZNONODE);
    CHECK(one->counts[FAKE_CREATE] < 300);
    fake_settle(one);
    fake_caller *q = fake_join(one, DEEP, 60); /* the next to come tries again */
    fake_settle(one);
    CHECK(fake_held(q));
}

/* Each of these vanished once, in the course of a long life. */
static void parents_that_vanish_now_and_then_do_not_add_up(void) {
    fake_caller *last = fake_holder(one);
    for (unsigned i = 0; i < 200; i++) {
        fake_caller *p = fake_join(one, LINE, 1e12);
        const char *gone = fake_node_of(last);
        fake_wait(zk, 1);
        if (gone)
            fake_remove(zk, gone);
        fake_remove(zk, LINE); /* while the create is on its way */
        fake_settle(one);
        CHECK(fake_held(p));
        last = p;
    }
}

static void a_directory_deleted_under_a_holder_loses_the_lock(void) {
    fake_caller *p = fake_holder(one);
    fake_wait(zk, 1);
    fake_settle(one);
    fake_remove(zk, fake_node_of(p));
    fake_remove(zk, LINE);
    fake_settle(one);
    CHECK_INT(p->losses, 1);
}

/* Those whose creates came after the round that failed fail with it; not who has given up since,
 * nor who has a node. */
static void a_level_that_cannot_be_made_fails_those_who_wait_for_it(void) {
    fake_caller *p = fake_join(one, "/y/z", 60), *q = fake_join(one, "/y/z", 60),
                *r = fake_join(one, "/y/z", 60);
    CHECK_TEXT(fake_batch(one), "CLCC");
    for (unsigned i = 0; i < 4; i++)
        fake_answer(one);
    CHECK_TEXT(fake_batch(one), "CCCLCC"); /* two levels, and theirs again */
    fake_refuse(zk, FAKE_CREATE, "/y", ZNOAUTH, 2);
    fake_cancel(r);
    fake_settle(one);
    CHECK_FAILED(p, ZKL_ACCESS_DENIED);
    CHECK_FAILED(q, ZKL_ACCESS_DENIED);
    CHECK_FAILED(r, ZKL_CANCELLED);
    CHECK_INT(one->context.counters.waiting, 0);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
}

/* An operator makes the directory, and clears it away: the first of two has had a node meanwhile,
 * so nothing is known against the levels any more. */
static void a_level_that_cannot_be_made_fails_nobody_once_it_was_there(void) {
    fake_caller *p = fake_join(one, "/y/z", 60), *q = fake_join(one, "/y/z", 60);
    for (unsigned i = 0; i < 3; i++)
        fake_answer(one);
    CHECK_TEXT(fake_batch(one), "CCCLC");
    fake_refuse(zk, FAKE_CREATE, "/y", ZNOAUTH, 2);
    fake_answer(one);
    fake_answer(one);
    fake_directory(zk, "/y/z");
    const char *stranger = fake_stranger(zk, "/y/z", NULL);
    fake_answer(one);
    fake_answer(one);
    CHECK(fake_waits(p));
    CHECK_INT(fake_remove(zk, fake_node_of(p)), ZOK);
    CHECK_INT(fake_remove(zk, stranger), ZOK);
    CHECK_INT(fake_remove(zk, "/y/z"), ZOK);
    fake_answer(one);
    CHECK(fake_waits(p) && fake_waits(q));
    fake_settle(one);
    CHECK(fake_held(p) != fake_held(q));
    CHECK_INT(p->answers + q->answers, 1);
}

/* How often they vanish as soon as they are there until the caller is told so. */
static unsigned rounds_until_told(fake_caller *p) {
    unsigned rounds = 0;
    while (fake_waits(p) && rounds < 1000) {
        fake_carry(one);
        rounds += fake_remove(zk, DEEP) == ZOK;
        while (fake_deliver(one))
            continue;
    }
    CHECK_FAILED(p, ZNONODE);
    return rounds;
}

static void whoever_comes_after_that_tries_as_often(void) {
    CHECK_INT(rounds_until_told(fake_join(one, DEEP, 1e12)), 50);
    fake_settle(one);
    CHECK_INT(rounds_until_told(fake_join(one, DEEP, 1e12)), 50);
}

/* Its line goes on, as the servers have refused the create for now. */
static void whoever_pauses_meanwhile_tries_as_often(void) {
    fake_refuse(zk, FAKE_CREATE, DEEP, ZTHROTTLEDOP, 1);
    fake_caller *p = fake_join(one, DEEP, 1e12);
    fake_answer(one);
    CHECK_INT(rounds_until_told(fake_join(one, DEEP, 1e12)), 50);
    CHECK(fake_waits(p));
    fake_wait(zk, 6);
    CHECK_INT(rounds_until_told(p), 50);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"missing parents are made in one batch with the create",
         missing_parents_are_made_in_one_batch},
        {"the levels of the chroot are created to stay", those_of_the_chroot_stay},
        {"servers without containers get plain nodes", old_servers_get_plain_nodes},
        {"servers that refuse containers get plain nodes",
         servers_that_refuse_containers_get_plain_nodes},
        {"parents that exist are left alone", those_that_exist_are_left_alone},
        {"an ACL above parents that exist does not matter",
         an_acl_above_them_does_not_matter_if_they_exist},
        {"... nor later", a_refusal_is_forgotten_when_the_directory_is_there},
        {"... nor when a lost node is found", a_refusal_is_forgotten_when_a_lost_node_is_found},
        {"parents that cannot be made give access denied",
         a_level_that_cannot_be_made_gives_access_denied},
        {"many share the making of their parents", many_share_the_making},
        {"a part whose directory is there takes no part in the making of others",
         a_part_whose_directory_is_there_takes_no_part_in_the_making_of_others},
        {"a directory that was cleared away in between is made again",
         a_directory_cleared_away_between_is_made_again},
        {"giving up while parents are made leaves no node",
         giving_up_while_they_are_made_leaves_no_node},
        {"an answer that comes after the cut makes none, but does after the next connection",
         an_answer_that_comes_after_the_cut_makes_none},
        {"a cut while parents are made does not matter", a_cut_while_they_are_made_does_not_matter},
        {"parents that vanish again and again end with an error",
         parents_that_vanish_again_and_again_end_with_an_error},
        {"parents that vanish now and then do not add up to an error",
         parents_that_vanish_now_and_then_do_not_add_up},
        {"a directory deleted under a holder loses the lock",
         a_directory_deleted_under_a_holder_loses_the_lock},
        {"a level that cannot be created fails the waiters below it",
         a_level_that_cannot_be_made_fails_those_who_wait_for_it},
        {"a level that cannot be created fails no waiter once it exists",
         a_level_that_cannot_be_made_fails_nobody_once_it_was_there},
        {"whoever comes after parents that vanish tries as often",
         whoever_comes_after_that_tries_as_often},
        {"whoever pauses while parents vanish tries as often",
         whoever_pauses_meanwhile_tries_as_often},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
