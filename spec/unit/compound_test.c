/* SPDX-License-Identifier: MIT */
/* Several contenders that are one: multilocks, and the leases of a semaphore. */
#include "fake_item.h"
#include "fake_world.h"

#include <stdio.h>
#include <string.h>

#define A "/locks/a"
#define B "/locks/b"
#define C "/locks/c"
#define POOL "/locks/pool"

static const char *const ab[] = {A, B}, *const ba[] = {B, A}, *const bc[] = {B, C};

static fake_caller *both(fake_client *client, const char *const *paths) {
    return fake_join_all(client, paths, 2, 1e12);
}

static fake_caller *settled(fake_caller *caller) {
    fake_settle_all(zk);
    return caller;
}

/* The directories are there, with data: so lists are needed (compound_count_test.c). */
static void begin(void) {
    fake_world_begin();
    static const char *const paths[] = {A, B, C};
    for (size_t i = 0; i < 3; i++) {
        fake_directory(zk, paths[i]);
        fake_write(zk, paths[i], "data");
    }
    fake_caller *first = settled(both(one, ab)), *second = settled(both(one, bc));
    CHECK_INT(fake_release(first), ZKL_OK);
    fake_settle_all(zk);
    CHECK_INT(fake_release(second), ZKL_OK);
    fake_settle_all(zk);
    fake_drop(first);
    fake_drop(second);
    CHECK_CLEAN();
}

static size_t nodes(void) {
    return fake_children(zk, A) + fake_children(zk, B) + fake_children(zk, C);
}

static void release(fake_caller *caller) {
    CHECK_INT(fake_release(caller), ZKL_OK);
    fake_settle_all(zk);
}

static void remove_first(const char *directory) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, fake_child(zk, directory, 0, FAKE_LATEST));
    CHECK_INT(fake_remove(zk, path), ZOK);
}

static void expire(fake_client *client) {
    fake_cut(client);
    fake_bury(client);
    fake_expire(client);
}

/* ---- multilocks ---- */

static void all_in_one_round_trip(void) {
    fake_caller *p = both(one, ab);
    CHECK_TEXT(fake_batch(one), "TLL");
    for (unsigned i = 0; i < 3; i++)
        fake_answer(one);
    CHECK(fake_held(p)); /* the transaction's answer has the token: nothing has to be read for it */
    settled(p);
    CHECK_INT(p->token, zk->zxid);
    CHECK_INT(one->context.counters.held, 1);
    CHECK_INT(one->context.counters.waiting, 0);
    CHECK_INT(fake_release(p), ZKL_OK);
    CHECK_TEXT(fake_batch(one), "T"); /* both deletes */
    fake_settle(one);
    CHECK_INT(one->context.counters.released, 3);
    CHECK_CLEAN();
}

static void all_or_none(void) {
    fake_caller *b = settled(fake_join(two, B, 60));
    fake_caller *p = settled(both(one, ab));
    CHECK(fake_waits(p));
    fake_caller *a = settled(fake_join(two, A, 60));
    CHECK(fake_waits(a)); /* it stands in both queues, in its place */
    release(b);
    CHECK(fake_held(p));
    CHECK_INT(p->answers, 1);
    release(p);
    CHECK(fake_held(a));
}

static void two_never_wait_for_each_other(void) {
    fake_caller *p = both(one, ab), *q = both(two, ba);
    fake_settle_all(zk);
    CHECK(fake_held(p) != fake_held(q));
    release(fake_held(p) ? p : q);
    CHECK(fake_held(p) != fake_held(q) || p->answers + q->answers == 2);
}

static void makes_the_directories(void) {
    static const char *const fresh[] = {"/new/x", "/new/y"};
    fake_caller *p = settled(fake_join_all(one, fresh, 2, 60));
    CHECK(fake_held(p));
    release(p);
    CHECK_CLEAN();
}

static void a_deadline_ends_all(void) {
    fake_caller *b = settled(fake_join(two, B, 1e12));
    fake_caller *p = settled(fake_join_all(one, ab, 2, 5));
    fake_wait(zk, 5);
    CHECK_FAILED(p, ZKL_TIMEOUT);
    fake_settle_all(zk);
    CHECK_INT(nodes(), 1);
    release(b);
    CHECK_CLEAN();
}

static void a_deadline_before_the_answer_leaves_nothing(void) {
    fake_caller *p = fake_join_all(one, ab, 2, 5);
    fake_carry(one); /* made, and the answer is on its way */
    fake_wait(zk, 5);
    CHECK_FAILED(p, ZKL_TIMEOUT);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void a_single_try_is_answered(void) {
    fake_caller *b = settled(fake_join(two, B, 1e12));
    fake_caller *p = settled(fake_join_all(one, ab, 2, 0));
    CHECK_FAILED(p, ZKL_TIMEOUT);
    CHECK_INT(nodes(), 1);
    release(b);
    p = settled(fake_join_all(one, ab, 2, 0));
    CHECK(fake_held(p));
}

static void a_lost_answer_is_found_again(void) {
    fake_caller *p = both(one, ab);
    fake_carry(one);
    fake_cut(one);
    CHECK_INT(nodes(), 2);
    const int64_t made = zk->zxid;
    fake_connect(one);
    settled(p);
    CHECK(fake_held(p));
    CHECK_INT(nodes(), 2);
    CHECK_INT(p->token, made); /* and not made anew */
}

/* All are made together, so what became of each must be known before. */
static void a_lost_answer_is_looked_for_at_all_paths(void) {
    for (unsigned i = 0; i < 2; i++) {
        fake_caller *p = both(one, ab);
        fake_carry(one);
        fake_cut(one);
        remove_first(ab[i]);
        fake_connect(one);
        while (!fake_pending(one, FAKE_TRANSACT, NULL))
            CHECK(fake_answer(one));
        CHECK_INT(fake_pending(one, FAKE_ERASE, NULL), 1);
        settled(p);
        CHECK(fake_held(p));
        CHECK_INT(nodes(), 2);
        release(p);
    }
}

static void a_lost_request_is_sent_again(void) {
    fake_caller *p = both(one, ab);
    fake_cut(one);
    CHECK_INT(nodes(), 0);
    fake_connect(one);
    settled(p);
    CHECK(fake_held(p));
    CHECK_INT(nodes(), 2);
}

static void a_loss_of_one_is_a_loss_of_all(void) {
    fake_caller *p = settled(both(one, ab));
    fake_wait(zk, 0.1); /* the watches on the own nodes */
    fake_settle_all(zk);
    char path[256];
    snprintf(path, sizeof path, "%s/%s", B, fake_child(zk, B, 0, FAKE_LATEST));
    fake_remove(zk, path);
    fake_settle_all(zk);
    CHECK_INT(p->losses, 1);
    CHECK_INT(fake_release(p), ZKL_LOST);
    CHECK_CLEAN();
    CHECK_INT(one->context.counters.lost, 1);
}

/* A single node made anew would stand behind those that came meanwhile, and the other one before
 * them. */
static void a_waiting_one_that_lost_a_node_enters_again_as_a_whole(void) {
    fake_caller *b = settled(fake_join(two, B, 1e12));
    fake_caller *p = settled(both(one, ab)), *q = settled(both(two, ba));
    char path[256];
    snprintf(path, sizeof path, "%s/%s", B, fake_child(zk, B, 1, FAKE_LATEST));
    fake_remove(zk, path);
    fake_settle_all(zk);
    CHECK(fake_waits(p) && fake_waits(q));
    CHECK_INT(nodes(), 5);
    release(b);
    CHECK(fake_held(q) && fake_waits(p));
    release(q);
    CHECK(fake_held(p));
    CHECK_INT(nodes(), 2);
}

static void a_session_that_ends_takes_all(void) {
    fake_caller *p = settled(both(one, ab)), *q = settled(both(two, ab));
    expire(one);
    CHECK_INT(p->losses, 1);
    fake_settle_all(zk);
    CHECK(fake_held(q));
    expire(two);
    fake_caller *r = both(two, bc);
    fake_connect(two);
    fake_connect(one);
    settled(r);
    CHECK(fake_held(r));
    CHECK_INT(q->losses, 1);
    release(r);
    CHECK_CLEAN();
}

static void a_waiter_enters_the_next_session(void) {
    fake_caller *b = settled(fake_join(two, B, 1e12)), *p = settled(both(one, ab));
    expire(one);
    CHECK(fake_waits(p));
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_waits(p));
    CHECK_INT(nodes(), 3);
    release(b);
    CHECK(fake_held(p));
}

static void without_the_right_to_write_the_token_is_read(void) {
    fake_refuse(zk, FAKE_ERASE, A, ZNOAUTH, 0);
    fake_caller *p = both(one, ab);
    CHECK_TEXT(fake_ops(one), "CCCSD");
    fake_answer(one);
    CHECK_TEXT(fake_ops(one), "CC"); /* at once */
    settled(p);
    CHECK(fake_held(p));
    char path[256];
    snprintf(path, sizeof path, "%s/%s", A, fake_child(zk, A, 0, FAKE_LATEST));
    CHECK_INT(p->token, fake_find(zk, path, FAKE_LATEST)->czxid);
}

static void a_refusal_is_told(void) {
    fake_refuse(zk, FAKE_CREATE, B, ZNOAUTH, 0);
    fake_caller *p = both(one, ab);
    fake_forget_counts(one);
    fake_answer(one);
    CHECK_FAILED(p, ZKL_ACCESS_DENIED);
    CHECK_INT(one->counts[FAKE_TRANSACT], 0); /* it was not the mark that was refused */
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void a_refusal_that_names_no_part_is_told_once_it_was_not_the_mark(void) {
    fake_refuse(zk, FAKE_TRANSACT, A, ZNOAUTH, 0);
    fake_caller *p = both(one, ab);
    fake_answer(one);
    CHECK_TEXT(fake_ops(one), "CC");
    fake_settle_all(zk);
    CHECK_FAILED(p, ZKL_ACCESS_DENIED);
    CHECK_CLEAN();
}

static void one_that_is_dropped_gives_all_back(void) {
    fake_drop(settled(both(one, ab)));
    fake_settle_all(zk);
    CHECK_CLEAN();
    CHECK_INT(one->context.counters.abandoned, 1);
    fake_drop(both(one, ab));
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void any_part_may_be_asked_for(void) {
    fake_caller *p = settled(both(one, ab));
    fake_wait(zk, 0.1);
    fake_settle_all(zk);
    for (unsigned i = 0; i < 2; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", ab[i], fake_child(zk, ab[i], 0, FAKE_LATEST));
        fake_write(zk, path, "__REVOKE__");
        fake_settle_all(zk);
        CHECK_INT(p->revocations, 1);
    }
}

/* A list that was asked for before the transaction does not tell what became of it. */
static void one_given_up_while_another_is_looked_for_leaves_nothing(void) {
    fake_caller *other = fake_join(one, B, 1e12);
    fake_cut(one); /* was its node made? */
    fake_connect(one);
    CHECK_TEXT(fake_batch(one), "DL");
    fake_caller *p = both(one, ab);
    CHECK_TEXT(fake_batch(one), "DLTL");
    fake_cancel(p);
    fake_cancel(other);
    fake_settle_all(zk);
    fake_wait(zk, 1);
    fake_settle_all(zk);
    CHECK_INT(nodes(), 0);
    CHECK_CLEAN();
}

/* ---- semaphores ---- */

#define LEASE "_c_%s-lease-"

static size_t leases(void) {
    return fake_children(zk, POOL "/leases");
}

static void as_many_hold_as_there_are_permits(void) {
    fake_caller *a = settled(fake_lease(one, POOL, 1, 2)),
                *b = settled(fake_lease(two, POOL, 1, 2));
    fake_caller *c = settled(fake_lease(one, POOL, 1, 2)),
                *d = settled(fake_lease(two, POOL, 1, 2));
    CHECK(fake_held(a) && fake_held(b) && fake_waits(c) && fake_waits(d));
    release(b);
    CHECK(fake_held(c) && fake_waits(d));
    release(a);
    CHECK(fake_held(d));
    release(c);
    release(d);
    CHECK_INT(leases(), 0);
    CHECK_INT(fake_children(zk, POOL "/locks"), 0);
    CHECK_CLEAN();
}

static void a_count_is_all_or_nothing(void) {
    fake_caller *a = settled(fake_lease(one, POOL, 1, 3));
    fake_caller *b = settled(fake_lease(two, POOL, 3, 3));
    CHECK(fake_held(a) && fake_waits(b));
    fake_caller *c = settled(fake_lease(one, POOL, 1, 3));
    CHECK(fake_waits(c)); /* in order of arrival */
    release(a);
    CHECK(fake_held(b) && fake_waits(c));
    CHECK_INT(b->contender->context->counters.held, 1);
    release(b);
    CHECK(fake_held(c));
}

static void who_gives_up_leaves_no_lease(void) {
    fake_caller *a = settled(fake_lease(one, POOL, 2, 2)),
                *b = settled(fake_lease(two, POOL, 1, 2));
    CHECK_INT(leases(), 3);
    fake_cancel(b);
    fake_settle_all(zk);
    CHECK_INT(leases(), 2);
    CHECK_INT(fake_children(zk, POOL "/locks"), 0);
    release(a);
    CHECK_CLEAN();
}

static void a_deadline_leaves_neither_gate_nor_lease(void) {
    fake_caller *a = settled(fake_lease(one, POOL, 2, 2));
    fake_caller *b = settled(fake_lease_within(two, POOL, 2, 2, 5));
    fake_caller *c = settled(fake_lease_within(two, POOL, 1, 2, 6));
    CHECK_INT(leases(), 4);
    CHECK_INT(fake_children(zk, POOL "/locks"), 2);
    fake_wait(zk, 5);
    CHECK_FAILED(b, ZKL_TIMEOUT);
    fake_settle_all(zk);
    CHECK_INT(leases(), 3); /* the next one is at the gate */
    fake_wait(zk, 1);
    CHECK_FAILED(c, ZKL_TIMEOUT);
    fake_settle_all(zk);
    CHECK_INT(leases(), 2);
    CHECK_INT(fake_children(zk, POOL "/locks"), 0);
    release(a);
    CHECK_CLEAN();
}

static void a_single_try_for_a_lease_is_answered(void) {
    fake_caller *a = settled(fake_lease(two, POOL, 1, 2));
    CHECK_FAILED(settled(fake_lease_within(one, POOL, 2, 2, 0)), ZKL_TIMEOUT);
    CHECK_INT(leases(), 1);
    CHECK_INT(fake_children(zk, POOL "/locks"), 0);
    CHECK(fake_held(settled(fake_lease_within(one, POOL, 1, 2, 0))));
    release(a);
}

/* Without waiting for what the watch on the directory tells. */
static void what_is_given_back_is_taken_over_at_once(void) {
    fake_caller *a = settled(fake_lease(one, POOL, 1, 1)),
                *b = settled(fake_lease(one, POOL, 1, 1));
    CHECK(fake_waits(b));
    CHECK_INT(fake_release(a), ZKL_OK);
    CHECK(fake_held(b));
}

static void a_lease_whose_answer_was_lost_is_found_again(void) {
    fake_caller *p = fake_lease(one, POOL, 1, 1);
    while (leases() == 0)
        CHECK(fake_deliver(one) || fake_carry(one));
    fake_cut(one);
    const unsigned creates = one->counts[FAKE_CREATE];
    fake_connect(one);
    settled(p);
    CHECK(fake_held(p));
    CHECK_INT(one->counts[FAKE_CREATE], creates);
}

/* A request to give the gate back goes to a contender that waits. */
static void a_lease_may_be_asked_for_but_not_the_gate(void) {
    fake_caller *a = settled(fake_lease(one, POOL, 1, 1)),
                *b = settled(fake_lease(two, POOL, 1, 1));
    char path[256];
    fake_wait(zk, 0.1); /* the watches on the own nodes */
    fake_settle_all(zk);
    snprintf(path, sizeof path, POOL "/locks/%s", fake_child(zk, POOL "/locks", 0, FAKE_LATEST));
    fake_write(zk, path, "__REVOKE__");
    fake_settle_all(zk);
    release(a);
    CHECK(fake_held(b));
    CHECK_INT(b->revocations, 0);
    fake_wait(zk, 0.1);
    fake_settle_all(zk);
    snprintf(path, sizeof path, POOL "/leases/%s", fake_child(zk, POOL "/leases", 0, FAKE_LATEST));
    fake_write(zk, path, "__REVOKE__");
    fake_settle_all(zk);
    CHECK_INT(b->revocations, 1);
}

/* Between the mutex and the lease the session ends: all of it goes, and comes again. */
static void a_session_that_ends_in_between(void) {
    fake_caller *p = fake_lease(one, POOL, 1, 1);
    for (unsigned steps = 0; steps < 12; steps++) {
        for (unsigned i = 0; i < steps; i++)
            fake_answer(one);
        const bool held = fake_held(p);
        expire(one);
        fake_connect(one);
        fake_settle_all(zk);
        CHECK(fake_held(p) != held); /* one that held has lost */
        CHECK_INT(p->losses, held);
        CHECK_INT(leases(), !held);
        fake_drop(p);
        fake_settle_all(zk);
        CHECK_CLEAN();
        p = fake_lease(one, POOL, 1, 1);
    }
}

static void a_cut_anywhere_leaves_no_lease(void) {
    for (unsigned cut = 0; cut < 24; cut++) {
        fake_caller *p = fake_lease(one, POOL, 2, 2);
        for (unsigned i = 0; i < cut / 2; i++)
            fake_answer(one);
        if (cut % 2)
            fake_carry(one);
        fake_cut(one);
        fake_connect(one);
        settled(p);
        CHECK(fake_held(p));
        CHECK_INT(leases(), 2);
        fake_release(p);
        fake_cut(one);
        fake_connect(one);
        fake_settle_all(zk);
        fake_drop(p);
        CHECK_CLEAN();
    }
}

/* Its server shows an old view: the watch that comes with it tells when it is not so any more. */
static void a_lease_that_was_given_back_while_a_server_lagged_is_heard_of(void) {
    fake_caller *a = settled(fake_lease(two, POOL, 1, 1)),
                *b = settled(fake_lease(one, POOL, 1, 1));
    CHECK(fake_held(a) && fake_waits(b));
    fake_cut(one);
    const int64_t before = zk->zxid;
    release(a);
    fake_lag(one, before);
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_waits(b));
    fake_catch_up(one);
    fake_settle(one);
    CHECK(fake_held(b));
}

static void a_lease_that_is_deleted_is_lost(void) {
    fake_caller *p = settled(fake_lease(one, POOL, 2, 2));
    fake_wait(zk, 0.1);
    fake_settle_all(zk);
    char path[256];
    snprintf(path, sizeof path, POOL "/leases/%s", fake_child(zk, POOL "/leases", 1, FAKE_LATEST));
    fake_remove(zk, path);
    fake_settle_all(zk);
    CHECK_INT(p->losses, 1);
    CHECK_INT(leases(), 0);
    CHECK_CLEAN();
}

static void a_waiting_lease_whose_gate_is_deleted_queues_again(void) {
    fake_caller *a = settled(fake_lease(two, POOL, 1, 1)),
                *b = settled(fake_lease(one, POOL, 1, 1));
    fake_wait(zk, 0.1);
    fake_settle_all(zk);
    char path[256];
    snprintf(path, sizeof path, POOL "/locks/%s", fake_child(zk, POOL "/locks", 0, FAKE_LATEST));
    fake_remove(zk, path);
    fake_settle_all(zk);
    CHECK(fake_held(a) && fake_waits(b));
    CHECK_INT(leases(), 2);
    release(a);
    CHECK(fake_held(b));
}

/* All leases go, and the servers clear their directory away before ours is made anew. */
static void a_lease_waits_on_when_its_directory_was_cleared_away(void) {
    fake_directory(zk, POOL "/leases");
    fake_stranger(zk, POOL "/leases", LEASE);
    fake_caller *p = settled(fake_lease(one, POOL, 1, 1));
    CHECK(fake_waits(p));
    while (fake_children(zk, POOL "/leases"))
        remove_first(POOL "/leases");
    while (fake_deliver(one))
        continue;
    fake_carry(one); /* the list, with a watch on the directory */
    CHECK_INT(fake_remove(zk, POOL "/leases"), ZOK);
    while (!fake_find(zk, POOL "/leases", FAKE_LATEST))
        CHECK(fake_answer(one));
    const char *stranger = fake_stranger(zk, POOL "/leases", LEASE);
    fake_settle_all(zk);
    CHECK(fake_waits(p));
    fake_remove(zk, stranger);
    fake_settle_all(zk);
    CHECK(fake_held(p));
}

/* Joins so many paths, each of 60 bytes, with an identifier of 1000 bytes. */
static fake_caller *join_many(size_t count) {
    static char texts[1000][64], identifier[1001];
    const char *paths[1000];
    memset(identifier, 'i', 1000);
    one->context.identifier = identifier;
    for (size_t i = 0; i < count; i++) {
        snprintf(texts[i], sizeof texts[i], "/locks/%053zu", i);
        paths[i] = texts[i];
    }
    return fake_join_all(one, paths, count, 1e12);
}

static void what_no_request_could_ask_for_is_too_big(void) {
    /* A create has 9 + 4 + 60 + 1 + 45 + 4 + 1000 + 27 + 4 bytes, and all else some five
     * hundred. */
    const size_t most = (1000000 - 500) / 1154;
    const uint64_t sent = one->context.counters.requests_sent;
    fake_caller *p = join_many(most + 1);
    CHECK_FAILED(p, ZKL_TOO_BIG);
    CHECK_INT(one->context.counters.requests_sent, sent);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
    p = join_many(most);
    CHECK(fake_waits(p));
    CHECK_INT(fake_pending(one, FAKE_TRANSACT, NULL), 1);
}

/* ---- ends ---- */

static void a_multilock_is_held_no_longer_than_it_may(void) {
    fake_caller *p = settled(fake_join_all_for(one, ab, 2, 5));
    CHECK(fake_held(p));
    fake_wait(zk, 4.9);
    CHECK(fake_held(p));
    fake_wait(zk, 0.2);
    CHECK(!fake_held(p));
    CHECK_INT(p->losses, 1);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void close_line(zkl_line *line) {
    zkl_line_fail(line, ZKL_CLOSED, true);
}

static void a_multilock_is_given_back_when_the_client_closes(void) {
    fake_caller *p = settled(both(one, ab)), *q = settled(both(one, ab));
    CHECK(fake_held(p) && fake_waits(q));
    zkl_lines_each(&one->lines, close_line);
    fake_leave(one);
    CHECK(!fake_held(p));
    CHECK_INT(p->losses, 0);
    CHECK_FAILED(q, ZKL_CLOSED);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

/* The creates' answer was lost, and nobody wants the nodes any more when they are found. */
static void nobody_is_asked_for_what_was_given_up(void) {
    fake_caller *p = both(one, ab);
    fake_carry(one);
    fake_cut(one);
    fake_cancel(p);
    for (size_t i = 0; i < 2; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", ab[i], fake_child(zk, ab[i], 0, FAKE_LATEST));
        fake_write(zk, path, "__REVOKE__");
    }
    fake_connect(one);
    fake_settle_all(zk);
    CHECK_FAILED(p, ZKL_CANCELLED);
    CHECK_INT(one->context.counters.revoked, 0);
    CHECK_CLEAN();
}

static void a_deadline_without_a_link_says_so(void) {
    settled(fake_join(two, B, 1e12));
    fake_caller *p = settled(fake_join_all(one, ab, 2, 5));
    fake_cut(one);
    fake_wait(zk, 5);
    CHECK_FAILED(p, ZKL_DISCONNECTED);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a multilock takes one round trip", all_in_one_round_trip},
        {"it holds all or none", all_or_none},
        {"two of them never wait for each other", two_never_wait_for_each_other},
        {"it makes the directories", makes_the_directories},
        {"a deadline ends all", a_deadline_ends_all},
        {"a deadline before the answer leaves nothing",
         a_deadline_before_the_answer_leaves_nothing},
        {"a single try is answered", a_single_try_is_answered},
        {"a lost answer is found again", a_lost_answer_is_found_again},
        {"after a lost answer the line searches all paths",
         a_lost_answer_is_looked_for_at_all_paths},
        {"a lost request is sent again", a_lost_request_is_sent_again},
        {"a part that is cancelled while another is searched for leaves nothing",
         one_given_up_while_another_is_looked_for_leaves_nothing},
        {"the loss of one part is the loss of all", a_loss_of_one_is_a_loss_of_all},
        {"a waiting multilock that lost a node enters again as a whole",
         a_waiting_one_that_lost_a_node_enters_again_as_a_whole},
        {"a session that ends takes all", a_session_that_ends_takes_all},
        {"a waiter enters the next session", a_waiter_enters_the_next_session},
        {"without the right to write the token is read",
         without_the_right_to_write_the_token_is_read},
        {"a refused node fails the multilock", a_refusal_is_told},
        {"a refusal that names no part fails it once it was not the mark",
         a_refusal_that_names_no_part_is_told_once_it_was_not_the_mark},
        {"a dropped multilock releases all parts", one_that_is_dropped_gives_all_back},
        {"any part may be asked for", any_part_may_be_asked_for},
        {"a multilock that fits into no request is too big",
         what_no_request_could_ask_for_is_too_big},
        {"as many leases hold as there are permits", as_many_hold_as_there_are_permits},
        {"a count is all or nothing, in order", a_count_is_all_or_nothing},
        {"a caller that gives up leaves no lease", who_gives_up_leaves_no_lease},
        {"a deadline leaves neither gate nor lease", a_deadline_leaves_neither_gate_nor_lease},
        {"a single try for a lease is answered", a_single_try_for_a_lease_is_answered},
        {"a released lease goes to the next caller at once",
         what_is_given_back_is_taken_over_at_once},
        {"a lease whose create's answer was lost is found",
         a_lease_whose_answer_was_lost_is_found_again},
        {"a lease may be asked for, but not the gate", a_lease_may_be_asked_for_but_not_the_gate},
        {"a session that ends between mutex and lease", a_session_that_ends_in_between},
        {"a cut anywhere leaves no lease", a_cut_anywhere_leaves_no_lease},
        {"a waiter hears of a lease that was released while a server lagged",
         a_lease_that_was_given_back_while_a_server_lagged_is_heard_of},
        {"a lease that is deleted is lost", a_lease_that_is_deleted_is_lost},
        {"a waiting lease whose gate is deleted queues again",
         a_waiting_lease_whose_gate_is_deleted_queues_again},
        {"a lease waits on when its directory was cleared away",
         a_lease_waits_on_when_its_directory_was_cleared_away},
        {"a multilock is held no longer than it may", a_multilock_is_held_no_longer_than_it_may},
        {"a client that closes releases its multilocks",
         a_multilock_is_given_back_when_the_client_closes},
        {"no holder is asked for a multilock that was cancelled",
         nobody_is_asked_for_what_was_given_up},
        {"a deadline without a link says so", a_deadline_without_a_link_says_so},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, fake_world_end);
}
