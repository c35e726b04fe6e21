/* SPDX-License-Identifier: MIT */
/* Creates and deletes of different lines that travel together, in directories with data: no write
 * to these goes behind a create (count_test). */
#include "base/status.h"
#include "fake_item.h"
#include "fake_world.h"
#include "line/batch.h"
#include "line/evaluate.h"
#include "paths/directories.h"
#include "port/wire.h"
#include "recipe/znode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#define B "/locks/b"
#define C "/locks/c"
#define D "/locks/d"
#define E "/locks/e"
#define F "/locks/f"

#define ROUND_TRIP 0.1 /* seconds */
/* More than writes are ever gathered for. */
#define GAP 0.0101

static void hold_once(const char *path) {
    fake_write(zk, path, "data");
    fake_caller *p = fake_join(one, path, 1e12);
    fake_wait(zk, ROUND_TRIP);
    fake_settle(one);
    fake_release(p);
    fake_wait(zk, ROUND_TRIP);
    fake_settle(one);
    fake_drop(p);
}

/* The client has made nodes in all directories, and knows how long a round trip takes. */
static void begin(void) {
    static const char *const paths[] = {B, C, D, E, F};
    fake_world_begin();
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        fake_directory(zk, paths[i]);
        hold_once(paths[i]);
    }
    memset(one->counts, 0, sizeof one->counts);
}

static fake_caller *join(const char *path) {
    return fake_join(one, path, 1e12);
}

/* A write that is on its way, so that the next ones are gathered. */
static fake_caller *busy(void) {
    fake_caller *p = join(B);
    CHECK_TEXT(fake_batch(one), "CL");
    return p;
}

/* ---- when ---- */

static void a_lone_acquire_does_not_wait(void) {
    fake_caller *p = join(B);
    CHECK_TEXT(fake_batch(one), "CL");
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    fake_release(p);
    CHECK_TEXT(fake_batch(one), "D");
}

/* Its own delete is on its way. */
static void who_acquires_again_does_not_wait(void) {
    fake_caller *p = join(B);
    fake_settle(one);
    fake_release(p);
    join(B);
    CHECK_TEXT(fake_batch(one), "DCL");
}

static void creates_are_gathered_while_a_write_is_on_its_way(void) {
    fake_caller *p = busy(), *q = join(C), *r = join(D);
    CHECK_TEXT(fake_batch(one), "CL");
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_batch(one), "CLTLL");
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    CHECK_OWN_TOKEN(q);
    CHECK_OWN_TOKEN(r);
    CHECK_INT(q->token, r->token);
    CHECK(p->token != q->token);
}

static void the_last_answer_sends_what_was_gathered(void) {
    busy();
    join(C);
    join(D);
    fake_carry(one);
    fake_deliver(one);
    CHECK_TEXT(fake_batch(one), "LTLL");
}

static void what_was_gathered_alone_goes_as_ever(void) {
    busy();
    fake_caller *q = join(C);
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_batch(one), "CLCL");
    fake_settle(one);
    CHECK_OWN_TOKEN(q);
}

/* No answer to a transaction tells their tokens there. */
static void on_another_server_creates_go_alone(void) {
    one->context.extras.keeper = true;
    fake_caller *p = join(B), *q = join(C), *r = join(D);
    CHECK_TEXT(fake_batch(one), "CLCLCL");
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    CHECK_OWN_TOKEN(q);
    CHECK_OWN_TOKEN(r);
}

static void a_delete_that_others_wait_for_goes_at_once(void) {
    fake_caller *p = join(C);
    fake_settle(one);
    fake_join(two, C, 1e12);
    fake_settle_all(zk);
    join(C); /* its list shows the other one */
    fake_settle(one);
    busy();
    fake_release(p);
    CHECK_TEXT(fake_batch(one), "CLD");
}

static void a_request_about_nodes_comes_behind_a_release(void) {
    fake_caller *p = join(C);
    fake_settle(one);
    busy();
    CHECK_INT(fake_release(p), ZKL_OK);
    const zkl_op op = {.kind = ZKL_OP_DELETE, .path = C, .data = "", .version = -1};
    zkl_node_request *request =
        zkl_node_request_new(&one->nodes, &(zkl_wish){.ops = &op, .count = 1}, 0);
    CHECK(request != NULL);
    zkl_ask_start(zkl_ask_of_request(request), ZKL_NEVER);
    fake_leave(one);
    fake_settle(one);
    CHECK_INT(one->answers[0], ZKL_OK);
    zkl_ask_free(zkl_ask_of_request(request));
}

static void a_query_comes_behind_a_release(void) {
    fake_caller *p = join(C);
    fake_settle(one);
    busy();
    CHECK_INT(fake_release(p), ZKL_OK);
    zkl_query *query = zkl_query_new(&one->queries, ZKL_QUERY_PARTICIPANTS, 0);
    CHECK(query && zkl_listing_init(&query->listing, &one->context, C, false));
    zkl_ask_start(&query->ask, ZKL_NEVER);
    fake_leave(one);
    CHECK_TEXT(fake_batch(one), "CLDL");
    zkl_ask_free(&query->ask);
}

/* A reader of ours waits in front of the other one, for the same write. */
static void a_write_for_which_another_reads_goes_at_once(void) {
    fake_caller *p = fake_write_lock(one, C);
    fake_settle(one);
    fake_read(one, C);
    fake_read(two, C);
    fake_settle_all(zk);
    fake_read(one, C); /* its list shows the other one */
    fake_settle(one);
    busy();
    fake_release(p);
    CHECK_TEXT(fake_batch(one), "CLD");
}

/* ---- what goes together ---- */

static void deletes_go_together_and_before_creates(void) {
    fake_caller *p = join(C), *q = join(D);
    fake_settle(one);
    busy();
    fake_release(p);
    join(E);
    fake_release(q);
    CHECK_TEXT(fake_batch(one), "CL");
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_batch(one), "CLTL");
    CHECK_TEXT(fake_ops(one), "DDCCSD");
    fake_settle(one);
    CHECK_INT(fake_children(zk, C), 0);
    CHECK_INT(fake_children(zk, D), 0);
    CHECK_INT(fake_children(zk, E), 1);
}

static void deletes_alone_need_no_mark(void) {
    fake_caller *p = join(C), *q = join(D);
    fake_settle(one);
    busy();
    fake_release(p);
    fake_release(q);
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_ops(one), "DD");
}

static void creates_of_one_line_go_alone_in_their_order(void) {
    busy();
    fake_caller *p = join(C), *q = join(C);
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_batch(one), "CLCCL");
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    CHECK(fake_waits(q));
    fake_release(p);
    fake_settle(one);
    CHECK_OWN_TOKEN(q);
    CHECK(p->token != q->token);
}

static void a_list_goes_behind_what_is_due(void) {
    busy();
    join(C);
    zkl_line *line = zkl_lines_find(&one->lines, C);
    line->list_wanted = true;
    zkl_line_settle(line);
    CHECK_TEXT(fake_batch(one), "CL");
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_batch(one), "CLCL");
}

/* If the batch failed, it would overtake the one in it. */
static void a_create_waits_for_one_of_its_line_that_is_in_a_batch(void) {
    busy();
    fake_caller *p = join(C);
    join(D);
    fake_wait(zk, GAP);
    fake_caller *q = join(C);
    fake_wait(zk, 10 * GAP);
    CHECK_TEXT(fake_batch(one), "CLTLL");
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    CHECK(fake_waits(q) && fake_node_of(q));
}

static void a_create_that_waits_behind_a_batch_does_not_go_for_a_multilock(void) {
    static const char *const paths[] = {C, E};
    busy();
    fake_caller *p = join(C);
    join(D);
    fake_wait(zk, GAP);
    fake_caller *q = join(C), *both = fake_join_all(one, paths, 2, 1e12);
    CHECK_INT(fake_remove(zk, D), ZOK); /* it fails, and its create in C goes again */
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    CHECK(fake_waits(q) && fake_waits(both));
    fake_release(p);
    fake_settle(one);
    CHECK_OWN_TOKEN(q);
    CHECK(fake_waits(both));
    fake_release(q);
    fake_settle(one);
    CHECK(fake_held(both));
}

static void a_create_in_a_directory_that_is_not_known_goes_at_once_and_alone(void) {
    busy();
    join(LINE);
    CHECK_TEXT(fake_batch(one), "CLCL");
}

static void no_more_than_sixty_four_go_together(void) {
    char path[32];
    for (unsigned i = 0; i < 66; i++) {
        snprintf(path, sizeof path, "/locks/many-%u", i);
        fake_directory(zk, path);
        hold_once(path);
    }
    busy();
    for (unsigned i = 0; i < 66; i++) {
        snprintf(path, sizeof path, "/locks/many-%u", i);
        join(path);
    }
    fake_wait(zk, GAP);
    CHECK_INT(strspn(fake_batch(one) + 2, "T"), 2);
    CHECK_INT(strlen(fake_ops(one)), 64 + 3);
    fake_settle(one);
    CHECK_INT(one->context.counters.held, 67);
}

static void no_more_than_64_kilobytes_go_together(void) {
    /* three creates are as large as that */
    static char identifier[65536 / 3];
    memset(identifier, 'i',
           65536 / 3 - zkl_wire_create(strlen(C) + ZKL_ZNODE_SIZE, 0, one->context.acl));
    one->context.identifier = identifier;
    busy();
    join(C);
    join(D);
    join(E);
    join(F);
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_batch(one), "CLTCLLLL");
    CHECK_TEXT(fake_ops(one), "CCCCSD");
    one->context.identifier = "me";
}

/* ---- who leaves before it is sent ---- */

static void a_caller_that_gives_up_before_it_is_sent_leaves_nothing(void) {
    busy();
    fake_caller *p = join(C), *q = fake_join(one, D, GAP / 4);
    fake_cancel(p);
    fake_wait(zk, GAP);
    CHECK_FAILED(p, ZKL_CANCELLED);
    CHECK_FAILED(q, ZKL_TIMEOUT);
    CHECK_TEXT(fake_batch(one), "CL");
    CHECK_INT(zkl_lines_count(&one->lines), 1);
}

static void a_caller_that_gives_up_after_that_is_deleted(void) {
    busy();
    fake_caller *p = join(C);
    join(D);
    fake_wait(zk, GAP);
    fake_cancel(p);
    fake_settle(one);
    CHECK_INT(fake_children(zk, C), 0);
    CHECK_INT(fake_children(zk, D), 1);
}

static void what_is_due_survives_a_cut(void) {
    fake_caller *p = join(D);
    fake_settle(one);
    fake_caller *q = busy(), *r = join(C);
    fake_release(p);
    fake_cut(one);
    fake_connect(one);
    fake_settle(one);
    CHECK_OWN_TOKEN(q);
    CHECK_OWN_TOKEN(r);
    CHECK_INT(fake_children(zk, D), 0);
}

static void what_is_due_survives_the_session(void) {
    fake_caller *q = busy(), *r = join(C), *s = join(D);
    fake_bury(one);
    fake_expire(one);
    fake_connect(one);
    fake_settle(one);
    CHECK_OWN_TOKEN(q);
    CHECK_OWN_TOKEN(r);
    CHECK_OWN_TOKEN(s);
}

/* ---- failures ---- */

static void the_innocent_go_again_at_once_and_the_culprit_alone(void) {
    busy();
    fake_caller *p = join(C), *q = join(D), *r = join(E);
    fake_wait(zk, GAP);
    fake_settle(two);
    CHECK_INT(fake_remove(zk, D), ZOK);
    while (strchr(fake_batch(one), 'T'))
        fake_carry(one);
    while (fake_deliver(one))
        continue;
    CHECK_INT(one->counts[FAKE_TRANSACT], 2);
    CHECK_TEXT(fake_ops(one), "CCCSD");
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    CHECK_OWN_TOKEN(q);
    CHECK_OWN_TOKEN(r);
    CHECK_INT(p->token, r->token);
    CHECK_INT(one->counts[FAKE_TRANSACT], 2);
}

static void after_a_second_failure_each_goes_alone(void) {
    busy();
    fake_caller *p = join(C), *q = join(D), *r = join(E), *s = join(F);
    fake_refuse(zk, FAKE_CREATE, C, ZNOAUTH, 1);
    fake_refuse(zk, FAKE_CREATE, D, ZNOAUTH, 1);
    fake_wait(zk, GAP);
    fake_settle(one);
    CHECK_FAILED(p, ZKL_ACCESS_DENIED);
    CHECK_FAILED(q, ZKL_ACCESS_DENIED);
    CHECK_OWN_TOKEN(r);
    CHECK_OWN_TOKEN(s);
    CHECK_INT(one->counts[FAKE_TRANSACT], 2);
}

static void a_delete_that_comes_too_late_fails_nobody(void) {
    fake_caller *p = join(C), *q = join(D);
    fake_settle(one);
    busy();
    fake_release(p);
    fake_release(q);
    fake_caller *r = join(E);
    fake_wait(zk, GAP);
    fake_remove(zk, fake_node_of(p));
    fake_settle(one);
    CHECK_OWN_TOKEN(r);
    CHECK_INT(fake_children(zk, D), 0);
    CHECK_INT(one->counts[FAKE_TRANSACT], 2); /* the other delete has company again */
    CHECK(!one->lines.common.departing.first);
}

/* In some directories a client may create, and not delete. */
static void a_directory_that_refuses_the_mark_is_not_asked_again(void) {
    busy();
    fake_caller *p = join(C), *q = join(D);
    fake_refuse(zk, FAKE_SET, C, ZNOAUTH, 0);
    fake_wait(zk, GAP);
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    CHECK_OWN_TOKEN(q);
    CHECK_INT(one->counts[FAKE_TRANSACT], 2);
    fake_release(p);
    fake_release(q);
    fake_settle(one);
    busy();
    join(C);
    join(D);
    fake_wait(zk, GAP);
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_TRANSACT], 3);
}

static void deletes_go_together_beside_a_create_that_goes_alone(void) {
    fake_caller *p = join(C), *q = join(D);
    fake_settle(one);
    busy();
    zkl_directories_refuse_mark(&one->lines.common.directories, E);
    fake_release(p);
    join(E);
    fake_release(q);
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_batch(one), "CLTCL");
    CHECK_TEXT(fake_ops(one), "DD");
}

static void each_mark_has_a_name_of_its_own(void) {
    for (uint64_t number = 1; number < 3; number++) {
        zkl_op ops[ZKL_MARK_OPS];
        char name[ZKL_ZNODE_SIZE];
        CHECK(zkl_batch_add_mark(&one->context, C, number, ops));
        zkl_znode_make_mark(name, (zkl_guid){one->context.guid, number});
        CHECK_TEXT(ops[0].path + strlen(C "/"), name);
        free((char *)ops[0].path);
    }
}

static void without_a_directory_for_the_mark_creates_go_alone(void) {
    busy();
    fake_caller *p = join(C), *q = join(D);
    fake_refuse(zk, FAKE_SET, "/locks", ZNOAUTH, 0);
    fake_wait(zk, GAP);
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    CHECK_OWN_TOKEN(q);
    CHECK_INT(one->counts[FAKE_TRANSACT], 2);
}

static void a_throttled_batch_is_repeated(void) {
    busy();
    fake_caller *p = join(C), *q = join(D);
    fake_refuse(zk, FAKE_CREATE, C, ZTHROTTLEDOP, 1);
    fake_wait(zk, GAP);
    fake_settle(one);
    CHECK(fake_waits(p) && fake_waits(q));
    fake_wait(zk, 1);
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    CHECK_OWN_TOKEN(q);
}

static void a_batch_that_cannot_be_sent_is_repeated(void) {
    busy();
    fake_caller *p = join(C), *q = join(D);
    one->deaf = ZINVALIDSTATE;
    fake_wait(zk, GAP);
    one->deaf = ZOK;
    fake_wait(zk, 1);
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    CHECK_OWN_TOKEN(q);
}

/* Its directory has gone: it makes another one. */
static void the_culprit_keeps_its_turn(void) {
    busy();
    fake_caller *p = join(C);
    join(D);
    CHECK_INT(fake_remove(zk, C), ZOK);
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_batch(one), "CLTLL");
    fake_caller *q = join(C);
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    CHECK(fake_waits(q) && fake_node_of(q));
}

/* The delete of C and the create in E are on their way together, and fail because of E. */
static void release_in_vain(fake_caller *p) {
    busy();
    CHECK_INT(fake_release(p), ZKL_OK);
    join(E);
    CHECK_INT(fake_remove(zk, E), ZOK);
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_ops(one), "DCCSD");
}

static fake_caller *hold(const char *path) {
    fake_caller *p = join(path);
    fake_settle(one);
    return p;
}

/* Nobody else is there. */
static void an_attempt_is_not_refused_for_a_delete_of_ours(void) {
    release_in_vain(hold(C));
    fake_caller *q = fake_try(one, C);
    fake_wait(zk, GAP);
    fake_settle(one);
    CHECK_OWN_TOKEN(q);
}

static void an_attempt_ends_when_that_delete_is_refused(void) {
    release_in_vain(hold(C));
    fake_caller *q = fake_try(one, C);
    fake_wait(zk, GAP);
    while (strchr(fake_batch(one), 'T'))
        fake_carry(one);
    fake_refuse(zk, FAKE_ERASE, C, ZNOAUTH, 0);
    fake_settle(one);
    CHECK_FAILED(q, ZKL_TIMEOUT);
}

static void nobody_is_one_too_many_for_that_delete(void) {
    release_in_vain(hold(C));
    fake_caller *q = fake_join_among(one, C, ZKL_KIND_LOCK, 0);
    fake_wait(zk, GAP);
    fake_settle(one);
    CHECK_OWN_TOKEN(q);
}

static void a_shared_node_is_not_refused_for_that_delete(void) {
    fake_share_as(10, 0);
    fake_caller *p = fake_share(one, C, 1e9);
    fake_settle(one);
    release_in_vain(p);
    fake_caller *q = fake_share(one, C, 0);
    fake_wait(zk, GAP);
    fake_settle(one);
    CHECK(fake_held(q));
}

/* The answer that was measured is lost. */
static void the_pace_is_measured_after_a_cut(void) {
    fake_caller *p = join(C);
    fake_cut(one);
    fake_connect(one);
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    CHECK_INT(one->lines.common.outbox.measured, 0);
    fake_wait(zk, 100);
    hold_once(D);
    CHECK_INT(one->lines.common.outbox.pace.begun, fake_now - zkl_clock_after(0, ROUND_TRIP));
}

static void also_after_the_cut_of_a_batch(void) {
    busy();
    fake_answer(one);
    fake_answer(one);
    join(F);
    join(C);
    join(D);
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_batch(one), "CLTLL");
    one->lines.common.outbox.measured = one->sent->next->next->back.receiver;
    fake_cut(one);
    CHECK_INT(one->lines.common.outbox.measured, 0);
}

static bool knows(const char *directory) {
    return zkl_directories_known(&one->lines.common.directories, directory);
}

/* Its next create would make a batch fail. */
static void a_directory_that_a_create_does_not_find_is_no_longer_known(void) {
    CHECK_INT(fake_remove(zk, C), ZOK);
    join(C);
    CHECK(knows(C));
    CHECK(fake_carry(one) && fake_deliver(one));
    CHECK(!knows(C));
}

static void a_directory_that_a_list_does_not_find_is_no_longer_known(void) {
    fake_caller *p = hold(C);
    zkl_line *line = zkl_lines_find(&one->lines, C);
    CHECK_INT(fake_remove(zk, fake_node_of(p)), ZOK);
    CHECK_INT(fake_remove(zk, C), ZOK);
    line->list_wanted = true;
    zkl_line_settle(line);
    CHECK_TEXT(fake_batch(one), "L");
    CHECK(knows(C));
    CHECK(fake_answer(one));
    CHECK(!knows(C));
}

/* The servers refuse it in its batch, and go on refusing: it makes no other batch fail. */
static void after_a_refusal_creates_go_alone_until_one_succeeds(void) {
    busy();
    fake_caller *p = join(C);
    join(D);
    fake_refuse(zk, FAKE_CREATE, C, ZNOAUTH, 2);
    fake_wait(zk, GAP);
    fake_settle(one);
    CHECK_FAILED(p, ZKL_ACCESS_DENIED);
    CHECK_INT(one->counts[FAKE_TRANSACT], 1);
    busy();
    p = join(C);
    CHECK_TEXT(fake_batch(one), "CLCL");
    fake_settle(one);
    CHECK_FAILED(p, ZKL_ACCESS_DENIED);
    busy();
    p = join(C);
    CHECK_TEXT(fake_batch(one), "CLCL");
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    fake_release(p);
    fake_settle(one);
    busy();
    join(C);
    join(E);
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_ops(one), "CCCSD");
}

/* Its caller has given up meanwhile. */
static void a_refusal_that_nobody_waits_for_counts_too(void) {
    fake_caller *p = join(C);
    fake_refuse(zk, FAKE_CREATE, C, ZKL_SERVER_QUOTA_EXCEEDED, 1);
    fake_cancel(p);
    CHECK(knows(C));
    fake_settle(one);
    CHECK(!knows(C));
}

/* A busy server, or an answer that is lost, says nothing about the directory. */
static void an_answer_for_now_is_no_refusal(void) {
    join(C);
    fake_refuse(zk, FAKE_CREATE, C, ZTHROTTLEDOP, 1);
    CHECK(fake_carry(one) && fake_deliver(one));
    CHECK(knows(C));
    join(D);
    fake_cut(one);
    CHECK(knows(D));
}

/* It was in a batch that failed, and in one that did not: it has company in the next failure. */
static void failures_before_a_success_do_not_count(void) {
    busy();
    fake_caller *p = join(C), *q = join(D);
    join(E);
    CHECK_INT(fake_remove(zk, E), ZOK);
    fake_wait(zk, GAP);
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    CHECK_OWN_TOKEN(q);
    join(B);
    fake_release(p);
    fake_release(q);
    join(F);
    CHECK_INT(fake_remove(zk, F), ZOK);
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_ops(one), "DDCCSD");
    fake_forget_counts(one);
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_TRANSACT], 1);
    CHECK_INT(one->counts[FAKE_ERASE], 0);
    CHECK_INT(fake_children(zk, C) + fake_children(zk, D), 0);
}

/* A hold that lasts watches its node. The watch reports the end of the node before the answer
 * comes. */
static void the_watch_on_a_node_reports_before_the_answer(void) {
    fake_caller *p = join(C), *q = join(D);
    fake_settle(one);
    fake_wait(zk, 1);
    fake_settle(one);
    CHECK_INT(p->contender->watch, ZKL_WATCH_ARMED);
    busy();
    fake_release(p);
    fake_release(q);
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_ops(one), "DD");
    fake_settle(one);
    CHECK_INT(fake_children(zk, C) + fake_children(zk, D), 0);
    CHECK(!one->lines.common.departing.first);
    CHECK_INT(p->losses + q->losses, 0);
}

/* ---- lost answers ---- */

static void lose_answer(bool carried, bool relink) {
    fake_caller *s = join(E);
    fake_settle(one);
    fake_caller *p = busy(), *q = join(C), *r = join(D);
    fake_release(s);
    fake_wait(zk, GAP);
    while (carried && strchr(fake_batch(one), 'T'))
        fake_carry(one);
    if (relink) {
        fake_cut_quietly(one);
        fake_relink(one);
    } else {
        fake_cut(one);
    }
    fake_connect(one);
    fake_beat(one, 1);
    fake_still(one);
    CHECK_OWN_TOKEN(p);
    CHECK_OWN_TOKEN(q);
    CHECK_OWN_TOKEN(r);
    CHECK_INT(fake_children(zk, C), 1);
    CHECK_INT(fake_children(zk, D), 1);
    CHECK_INT(fake_children(zk, E), 0);
    if (carried)
        CHECK_INT(q->token, r->token);
}

static void a_lost_answer_is_searched_for_by_each(void) {
    lose_answer(true, false);
}

static void a_lost_batch_is_sent_again_by_each(void) {
    lose_answer(false, false);
}

static void the_answer_of_a_former_handle_is_searched_for_by_each(void) {
    lose_answer(true, true);
}

static const check_case cases[] = {
    {"a lone acquire does not wait", a_lone_acquire_does_not_wait},
    {"a caller that acquires again does not wait", who_acquires_again_does_not_wait},
    {"creates are gathered while a write is on its way",
     creates_are_gathered_while_a_write_is_on_its_way},
    {"the last answer sends what was gathered", the_last_answer_sends_what_was_gathered},
    {"what was gathered alone goes as a single request", what_was_gathered_alone_goes_as_ever},
    {"a delete that others wait for goes at once", a_delete_that_others_wait_for_goes_at_once},
    {"deletes go together, and before creates", deletes_go_together_and_before_creates},
    {"deletes alone need no mark", deletes_alone_need_no_mark},
    {"creates of one line go alone, in their order", creates_of_one_line_go_alone_in_their_order},
    {"a list goes behind what is due", a_list_goes_behind_what_is_due},
    {"a create waits for one of its line that is in a batch",
     a_create_waits_for_one_of_its_line_that_is_in_a_batch},
    {"a create that waits behind a batch does not go for a multilock",
     a_create_that_waits_behind_a_batch_does_not_go_for_a_multilock},
    {"a create in a directory that is not known goes at once and alone",
     a_create_in_a_directory_that_is_not_known_goes_at_once_and_alone},
    {"no more than 64 go together", no_more_than_sixty_four_go_together},
    {"no more than 64 kB go together", no_more_than_64_kilobytes_go_together},
    {"a caller that gives up before it is sent leaves nothing",
     a_caller_that_gives_up_before_it_is_sent_leaves_nothing},
    {"a caller that gives up after that is deleted", a_caller_that_gives_up_after_that_is_deleted},
    {"what is due survives a cut", what_is_due_survives_a_cut},
    {"what is due survives the session", what_is_due_survives_the_session},
    {"the innocent go again at once, and the culprit alone",
     the_innocent_go_again_at_once_and_the_culprit_alone},
    {"after a second failure each goes alone", after_a_second_failure_each_goes_alone},
    {"a delete that comes too late fails nobody", a_delete_that_comes_too_late_fails_nobody},
    {"a directory that refuses the mark is not asked again",
     a_directory_that_refuses_the_mark_is_not_asked_again},
    {"deletes go together beside a create that goes alone",
     deletes_go_together_beside_a_create_that_goes_alone},
    {"each mark has a name of its own", each_mark_has_a_name_of_its_own},
    {"without a directory for the mark creates go alone",
     without_a_directory_for_the_mark_creates_go_alone},
    {"a throttled batch is repeated", a_throttled_batch_is_repeated},
    {"a batch that cannot be sent is repeated", a_batch_that_cannot_be_sent_is_repeated},
    {"the culprit keeps its turn", the_culprit_keeps_its_turn},
    {"an attempt is not refused for a delete of ours that a batch has failed",
     an_attempt_is_not_refused_for_a_delete_of_ours},
    {"an attempt ends when that delete is refused", an_attempt_ends_when_that_delete_is_refused},
    {"nobody is one too many for that delete", nobody_is_one_too_many_for_that_delete},
    {"a shared node is not refused for that delete", a_shared_node_is_not_refused_for_that_delete},
    {"the pace is measured after a cut", the_pace_is_measured_after_a_cut},
    {"also after the cut of a batch", also_after_the_cut_of_a_batch},
    {"a request about nodes comes behind a release", a_request_about_nodes_comes_behind_a_release},
    {"a query comes behind a release", a_query_comes_behind_a_release},
    {"a delete for which another client's reader waits goes at once",
     a_write_for_which_another_reads_goes_at_once},
    {"a directory that a create does not find is no longer known",
     a_directory_that_a_create_does_not_find_is_no_longer_known},
    {"a directory that a list does not find is no longer known",
     a_directory_that_a_list_does_not_find_is_no_longer_known},
    {"after a refusal creates go alone until one succeeds",
     after_a_refusal_creates_go_alone_until_one_succeeds},
    {"a refusal that nobody waits for counts, too", a_refusal_that_nobody_waits_for_counts_too},
    {"an answer for now is no refusal", an_answer_for_now_is_no_refusal},
    {"failures before a success do not count", failures_before_a_success_do_not_count},
    {"the watch on a node reports before the answer",
     the_watch_on_a_node_reports_before_the_answer},
    {"a lost answer is searched for by each", a_lost_answer_is_searched_for_by_each},
    {"a lost batch is sent again by each", a_lost_batch_is_sent_again_by_each},
    {"the answer of a former handle is searched for by each",
     the_answer_of_a_former_handle_is_searched_for_by_each},
    {"on another server creates go alone", on_another_server_creates_go_alone},
};

int main(int argc, char **argv) {
    return check_run(CHECK_CASES(cases), argc, argv, begin, fake_world_end);
}
