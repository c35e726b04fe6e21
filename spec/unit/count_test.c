/* SPDX-License-Identifier: MIT */
/* A write to the directory goes behind a create, in one transaction, and its answer says how many
 * children there are: a free lock costs no list. */
#include "base/status.h"
#include "fake_item.h"
#include "fake_world.h"
#include "recipe/znode.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#define B "/locks/b"
#define C "/locks/c"
#define D "/locks/d"

#define ROUND_TRIP 0.1 /* seconds */
/* More than writes are ever gathered for. */
#define GAP 0.0101

static fake_node *node_at(const char *path) {
    return fake_find(zk, path, FAKE_LATEST);
}

static fake_caller *join(const char *path) {
    return fake_join(one, path, 1e12);
}

static void release(fake_caller *p) {
    fake_release(p);
    fake_settle(one);
    fake_drop(p);
}

/* The client sees that nobody is there, and no data; and how long a round trip takes. */
static void look_at(const char *path) {
    fake_caller *p = join(path);
    fake_wait(zk, ROUND_TRIP);
    fake_settle(one);
    CHECK(fake_held(p));
    fake_release(p);
    fake_wait(zk, ROUND_TRIP);
    fake_settle(one);
    fake_drop(p);
}

/* Its session lives on. */
static void let_pass(double seconds) {
    fake_beat(one, seconds);
    fake_still(one);
    fake_forget_counts(one);
}

static void begin(void) {
    fake_world_begin();
    fake_directory(zk, B);
    fake_directory(zk, C);
    look_at(LINE);
    look_at(B);
    look_at(C);
    fake_forget_counts(one);
}

/* The next acquire of LINE is a create and a list, and nothing is written to the directory. */
static void check_lists(void) {
    const int32_t version = node_at(LINE)->version;
    fake_caller *p = join(LINE);
    CHECK_TEXT(fake_batch(one), "CL");
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(node_at(LINE)->version, version);
    release(p);
}

static void check_counts(void) {
    fake_caller *p = join(LINE);
    CHECK_TEXT(fake_batch(one), "T");
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    release(p);
}

/* ---- it grants ---- */

static void a_free_lock_costs_one_request(void) {
    fake_caller *p = join(LINE);
    CHECK_TEXT(fake_batch(one), "T");
    CHECK_TEXT(fake_ops(one), "CS");
    fake_answer(one);
    CHECK_OWN_TOKEN(p);
    CHECK_INT(fake_asked(one), 1);
    fake_release(p);
    fake_settle(one);
    CHECK_INT(fake_asked(one), 2);
    CHECK_CLEAN();
}

static void readers_and_writers_are_granted_alike(void) {
    fake_caller *p = fake_write_lock(one, LINE);
    fake_answer(one);
    CHECK_OWN_TOKEN(p);
    release(p);
    p = fake_read(one, LINE);
    fake_answer(one);
    CHECK_OWN_TOKEN(p);
    CHECK_INT(one->counts[FAKE_LIST], 0);
}

static void a_batch_of_them_needs_no_mark(void) {
    fake_caller *busy = join(LINE), *p = join(B), *q = join(C);
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_batch(one), "TT");
    fake_answer(one);
    CHECK_TEXT(fake_ops(one), "CCSS");
    fake_answer(one);
    CHECK_OWN_TOKEN(busy);
    CHECK_OWN_TOKEN(p);
    CHECK_OWN_TOKEN(q);
    CHECK_INT(one->counts[FAKE_LIST], 0);
}

static void one_write_is_enough_for_the_tokens_of_a_batch(void) {
    fake_write(zk, B, "data");
    let_pass(61);
    look_at(B);
    look_at(LINE);
    look_at(C);
    fake_forget_counts(one);
    fake_caller *busy = join(LINE), *p = join(B), *q = join(C);
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_batch(one), "TTL");
    fake_answer(one);
    CHECK_TEXT(fake_ops(one), "CCS");
    fake_settle(one);
    CHECK_OWN_TOKEN(busy);
    CHECK_OWN_TOKEN(p);
    CHECK_OWN_TOKEN(q);
    CHECK_TEXT(node_at(B)->data, "data");
}

/* Without the writes all creates would fit into one. */
static void the_writes_are_part_of_the_size_of_a_batch(void) {
    char paths[20][2000];
    for (size_t i = 0; i < 20; i++) {
        memset(paths[i], 'x', sizeof paths[i] - 1);
        paths[i][snprintf(paths[i], sizeof paths[i], LINE "%zu/", i)] = 'x';
        paths[i][sizeof paths[i] - 1] = '\0';
        fake_directory(zk, paths[i]);
        look_at(paths[i]);
    }
    look_at(LINE);
    fake_forget_counts(one);
    join(LINE);
    for (size_t i = 0; i < 20; i++)
        join(paths[i]);
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_batch(one), "TTT");
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_LIST], 0);
}

/* The other way around the write would still count the node that is about to go. */
static void a_delete_of_the_line_goes_first(void) {
    fake_caller *p = join(LINE), *busy;
    fake_settle(one);
    busy = join(B);
    fake_release(p);
    fake_caller *q = join(LINE);
    fake_wait(zk, GAP);
    fake_answer(one);
    CHECK_TEXT(fake_ops(one), "DCS");
    fake_settle(one);
    CHECK_OWN_TOKEN(busy);
    CHECK_OWN_TOKEN(q);
    CHECK_INT(one->counts[FAKE_LIST], 0);
}

/* ---- it does not ---- */

static void whoever_is_not_alone_lists(void) {
    fake_caller *first = fake_holder(two);
    fake_caller *p = join(LINE);
    CHECK_TEXT(fake_batch(one), "T");
    fake_answer(one);
    CHECK(fake_waits(p));
    CHECK_TEXT(fake_batch(one), "L");
    fake_settle(one);
    CHECK(fake_waits(p));
    fake_release(first);
    fake_settle_all(zk);
    CHECK_OWN_TOKEN(p);
}

/* Where others were when it looked last, the list goes out with the create. */
static void a_line_of_others_is_listed_at_once(void) {
    fake_caller *first = fake_holder(two);
    fake_caller *p = join(LINE);
    fake_settle(one);
    fake_cancel(p);
    fake_settle(one);
    fake_caller *q = join(LINE);
    CHECK_TEXT(fake_batch(one), "CL");
    fake_settle(one);
    fake_release(first);
    fake_settle_all(zk);
    release(q);
    check_lists(); /* which shows that it is alone again */
    check_counts();
}

static void a_child_that_is_no_lock_is_a_child(void) {
    fake_directory(zk, LINE "/once-2147483647");
    fake_caller *p = join(LINE);
    fake_answer(one);
    CHECK(fake_waits(p));
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    release(p);
    check_lists();
    check_lists();
}

/* The servers would count two. */
static void a_caller_behind_one_of_ours_lists_at_once(void) {
    fake_caller *p = join(LINE);
    fake_answer(one);
    fake_caller *q = join(LINE);
    CHECK_TEXT(fake_batch(one), "CL");
    fake_settle(one);
    CHECK(fake_waits(q));
    release(p);
    CHECK_OWN_TOKEN(q);
}

/* Both nodes would have one token. */
static void two_of_one_line_are_not_counted(void) {
    fake_caller *busy = join(B), *p = join(LINE), *q = join(LINE);
    fake_wait(zk, GAP);
    CHECK_TEXT(fake_batch(one), "TCCL");
    fake_settle(one);
    CHECK_OWN_TOKEN(busy);
    CHECK_OWN_TOKEN(p);
    CHECK(fake_waits(q));
    release(p);
    CHECK_OWN_TOKEN(q);
}

/* The counter of its directory has come to its end: another node may have the same number. */
static void a_number_at_the_end_of_the_counter_is_not_granted(void) {
    node_at(LINE)->next = INT32_MAX;
    fake_caller *p = join(LINE);
    CHECK_TEXT(fake_batch(one), "T");
    fake_settle(one);
    CHECK_FAILED(p, ZDATAINCONSISTENCY);
    CHECK_CLEAN();
}

static void a_read_under_a_write_is_listed(void) {
    fake_caller *write = fake_write_lock(one, LINE);
    fake_answer(one);
    fake_caller *read = fake_read_under(write, LINE);
    CHECK_TEXT(fake_batch(one), "CL");
    fake_settle(one);
    CHECK(fake_held(read));
    CHECK_INT(read->token, write->token);
}

/* Those that share a place have to know who stands behind it, now and later. */
static void a_place_is_listed_under_the_watch_on_its_directory(void) {
    fake_caller *p = fake_share(one, LINE, 60);
    CHECK_TEXT(fake_batch(one), "CL");
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(zkl_lines_find(&one->lines, LINE)->directory_watch, ZKL_WATCH_ARMED);
}

static void a_lost_answer_is_searched_for_by_a_list(void) {
    for (unsigned carried = 0; carried < 2; carried++) {
        fake_forget_counts(one);
        fake_caller *p = join(LINE);
        CHECK_TEXT(fake_batch(one), "T");
        if (carried)
            fake_carry(one);
        fake_cut(one);
        fake_connect(one);
        CHECK_TEXT(fake_batch(one), "DL"); /* behind a write */
        fake_settle(one);
        CHECK_OWN_TOKEN(p);
        release(p);
        CHECK_CLEAN();
        look_at(LINE);
    }
}

/* One that has given up leaves a node that only a list behind a write can show. */
static void while_a_lost_node_is_searched_for_others_list(void) {
    fake_caller *p = join(LINE);
    fake_carry(one);
    fake_cut(one);
    fake_cancel(p);
    fake_connect(one);
    fake_caller *q = join(LINE);
    CHECK_TEXT(fake_batch(one), "DLC");
    fake_settle(one);
    CHECK_OWN_TOKEN(q);
    CHECK_INT(fake_children(zk, LINE), 1);
}

/* Its own node may have gone since. */
static void without_validity_the_watch_on_its_own_node_comes_first(void) {
    fake_caller *p = join(LINE);
    fake_wait(zk, 30);
    CHECK(fake_carry(one) && fake_deliver(one));
    CHECK(fake_waits(p) && p->contender->watch == ZKL_WATCH_NONE);
    const int64_t token = p->contender->token;
    CHECK_INT(fake_remove(zk, fake_node_of(p)), ZOK);
    fake_beat(one, 15);
    CHECK_OWN_TOKEN(p);
    CHECK(p->token != token); /* by a new node */
    CHECK_INT(p->losses, 0);
}

/* ---- directories that are not written to ---- */

static void data_is_not_erased(void) {
    let_pass(61);
    fake_write(zk, LINE, "data");
    check_lists();
    check_lists();
    CHECK_TEXT(node_at(LINE)->data, "data");
    fake_write(zk, LINE, "");
    check_lists();
    check_counts();
}

/* Not from the latest write of ours on: that one shows nothing of the data before. */
static void a_look_counts_for_a_minute(void) {
    let_pass(50);
    check_counts();
    let_pass(10);
    check_lists();
    check_counts();
}

static void a_directory_that_was_made_anew_is_looked_at(void) {
    CHECK_INT(fake_remove(zk, LINE), ZOK);
    fake_directory(zk, LINE);
    check_counts(); /* its count is as good as any */
    check_lists();
    check_counts();
}

static void a_directory_that_is_gone_is_looked_at(void) {
    CHECK_INT(fake_remove(zk, LINE), ZOK);
    fake_caller *p = join(LINE);
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "CCCL"); /* with its parents */
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    release(p);
    check_counts();
}

static void another_session_looks_again(void) {
    fake_expire(one);
    fake_connect(one);
    fake_settle(one);
    check_lists();
    check_counts();
}

static void do_writes(const zkl_op *ops, size_t count) {
    zkl_node_request *request = zkl_node_request_new(
        &one->nodes, &(zkl_wish){.ops = ops, .count = count, .several = count > 1}, 0);
    CHECK(request != NULL);
    zkl_ask_start(zkl_ask_of_request(request), ZKL_NEVER);
    fake_leave(one);
    zkl_ask_free(zkl_ask_of_request(request));
}

/* Neither before it is answered nor afterwards, and a list that was asked for earlier says
 * nothing. */
static void after_a_write_of_its_host_a_client_looks_again(void) {
    const zkl_op op = {
        .kind = ZKL_OP_SET, .path = LINE, .data = "data", .length = 4, .version = -1};
    do_writes(&op, 1);
    fake_caller *p = join(LINE);
    CHECK_TEXT(fake_batch(one), "WCL");
    fake_settle(one);
    release(p);
    check_lists();
    CHECK_TEXT(node_at(LINE)->data, "data");
}

static void a_list_before_that_write_does_not_count(void) {
    const zkl_op op = {
        .kind = ZKL_OP_SET, .path = LINE, .data = "data", .length = 4, .version = -1};
    let_pass(61);
    fake_caller *p = join(LINE);
    CHECK_TEXT(fake_batch(one), "CL");
    do_writes(&op, 1);
    fake_answer(one);
    fake_answer(one);
    CHECK(fake_held(p));
    fake_release(p);
    fake_caller *q = join(LINE);
    CHECK_TEXT(fake_batch(one), "WDCL");
    fake_settle(one);
    CHECK_OWN_TOKEN(q);
    CHECK_TEXT(node_at(LINE)->data, "data");
}

/* In a transaction each operation may write there. */
static void after_a_transaction_of_its_host_a_client_looks_again(void) {
    const zkl_op ops[] = {
        {.kind = ZKL_OP_SET, .path = B, .data = "b", .length = 1, .version = -1},
        {.kind = ZKL_OP_SET, .path = LINE, .data = "data", .length = 4, .version = -1}};
    do_writes(ops, 2);
    fake_settle(one);
    fake_forget_counts(one);
    check_lists();
    check_lists();
    CHECK_TEXT(node_at(LINE)->data, "data");
}

/* No node of ours was made there when the host wrote, and the list was asked for before. */
static void a_write_to_a_directory_that_is_not_known_yet_counts(void) {
    const zkl_op op = {.kind = ZKL_OP_SET, .path = D, .data = "data", .length = 4, .version = -1};
    fake_directory(zk, D);
    fake_caller *p = join(D);
    CHECK_TEXT(fake_batch(one), "CL");
    do_writes(&op, 1);
    fake_settle(one);
    release(p);
    p = join(D);
    CHECK_TEXT(fake_batch(one), "CL");
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    CHECK_TEXT(node_at(D)->data, "data");
}

/* ---- servers that refuse the write ---- */

static void a_refused_write_is_no_refusal_of_the_create(void) {
    fake_refuse(zk, FAKE_SET, LINE, ZNOAUTH, 0);
    fake_caller *p = join(LINE);
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "CL"); /* at once */
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    release(p);
    check_lists();
    check_lists();
    fake_allow(zk);
    check_lists();
    node_at(LINE)->aversion++;
    check_lists(); /* it shows that the ACL is another one */
    check_counts();
}

static void a_refusal_that_names_no_part_counts_as_one_of_the_write(void) {
    fake_refuse(zk, FAKE_TRANSACT, LINE, ZNOAUTH, 0);
    fake_caller *p = join(LINE);
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "CL");
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    release(p);
    check_lists();
}

static void a_refused_write_harms_no_others_of_its_batch(void) {
    fake_refuse(zk, FAKE_SET, C, ZNOAUTH, 0);
    fake_caller *busy = join(LINE), *p = join(B), *q = join(C);
    fake_wait(zk, GAP);
    fake_answer(one);
    CHECK_TEXT(fake_ops(one), "CCSS");
    fake_answer(one);
    CHECK_TEXT(fake_ops(one), "CCS");
    fake_settle(one);
    CHECK_OWN_TOKEN(busy);
    CHECK_OWN_TOKEN(p);
    CHECK_OWN_TOKEN(q);
    CHECK_INT(one->counts[FAKE_LIST], 1);
}

static void a_throttled_one_is_sent_again(void) {
    fake_refuse(zk, FAKE_TRANSACT, LINE, ZTHROTTLEDOP, 1);
    fake_caller *p = join(LINE);
    fake_settle(one);
    CHECK(fake_waits(p));
    fake_wait(zk, 1);
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
}

/* ---- where the ACL matters ---- */

static void begin_closed(void) {
    fake_expire(one);
    one->context.acl = ZKL_ACL_CREATOR;
    node_at(LINE)->closed = true;
    fake_connect(one);
    fake_settle(one);
    look_at(LINE);
    fake_forget_counts(one);
}

static void an_acl_that_was_found_safe_is_not_read_again(void) {
    begin_closed();
    fake_caller *p = join(LINE);
    CHECK_TEXT(fake_batch(one), "T");
    fake_answer(one);
    CHECK_OWN_TOKEN(p);
    CHECK_INT(fake_asked(one), 1);
}

/* The count shows another ACL, and its node may go before that one is read. */
static void another_acl_is_read_before_it_grants(void) {
    begin_closed();
    node_at(LINE)->aversion++;
    fake_caller *p = join(LINE);
    fake_answer(one);
    CHECK(fake_waits(p));
    CHECK_TEXT(fake_batch(one), "A");
    fake_answer(one);
    CHECK(fake_waits(p));
    CHECK_TEXT(fake_batch(one), "G");
    fake_settle(one);
    CHECK_OWN_TOKEN(p);
    release(p);
    node_at(LINE)->aversion++;
    node_at(LINE)->closed = false;
    p = join(LINE);
    fake_settle(one);
    CHECK_FAILED(p, ZKL_ACCESS_DENIED);
}

/* ---- servers that are no ZooKeeper ---- */

/* Nobody has compared what they write into the answer. */
static void on_another_server_nothing_is_written(void) {
    one->context.extras.keeper = true;
    const int32_t version = node_at(LINE)->version;
    fake_caller *p = join(LINE);
    CHECK_TEXT(fake_batch(one), "CL");
    fake_answer(one);
    fake_answer(one);
    CHECK(fake_waits(p)); /* nobody knows its token */
    CHECK_TEXT(fake_batch(one), "G");
    fake_settle(one);
    CHECK_INT(node_at(LINE)->version, version);
    CHECK_OWN_TOKEN(p);
    release(p);
}

static const check_case cases[] = {
    {"a free lock costs one request", a_free_lock_costs_one_request},
    {"readers and writers are granted alike", readers_and_writers_are_granted_alike},
    {"a batch of them needs no mark", a_batch_of_them_needs_no_mark},
    {"one write is enough for the tokens of a batch",
     one_write_is_enough_for_the_tokens_of_a_batch},
    {"the writes are part of the size of a batch", the_writes_are_part_of_the_size_of_a_batch},
    {"a delete of the line goes first", a_delete_of_the_line_goes_first},
    {"a caller that is not alone lists", whoever_is_not_alone_lists},
    {"a line of others is listed at once", a_line_of_others_is_listed_at_once},
    {"a child that is no lock is a child", a_child_that_is_no_lock_is_a_child},
    {"a caller behind one of ours lists at once", a_caller_behind_one_of_ours_lists_at_once},
    {"two of one line are not counted", two_of_one_line_are_not_counted},
    {"a number at the end of the counter is not granted",
     a_number_at_the_end_of_the_counter_is_not_granted},
    {"a read under a write is listed", a_read_under_a_write_is_listed},
    {"a place is listed under the watch on its directory",
     a_place_is_listed_under_the_watch_on_its_directory},
    {"a lost answer is searched for by a list", a_lost_answer_is_searched_for_by_a_list},
    {"while a lost node is searched for others list",
     while_a_lost_node_is_searched_for_others_list},
    {"without validity the watch on its own node comes first",
     without_validity_the_watch_on_its_own_node_comes_first},
    {"data is not erased", data_is_not_erased},
    {"a look counts for a minute", a_look_counts_for_a_minute},
    {"a directory that was made anew is looked at", a_directory_that_was_made_anew_is_looked_at},
    {"a directory that is gone is looked at", a_directory_that_is_gone_is_looked_at},
    {"another session looks again", another_session_looks_again},
    {"after a write of its host a client looks again",
     after_a_write_of_its_host_a_client_looks_again},
    {"a list before that write does not count", a_list_before_that_write_does_not_count},
    {"after a transaction of its host a client looks again",
     after_a_transaction_of_its_host_a_client_looks_again},
    {"a write to a directory that is not known yet counts",
     a_write_to_a_directory_that_is_not_known_yet_counts},
    {"a refused write is no refusal of the create", a_refused_write_is_no_refusal_of_the_create},
    {"a refusal that names no part counts as one of the write",
     a_refusal_that_names_no_part_counts_as_one_of_the_write},
    {"a refused write harms no others of its batch", a_refused_write_harms_no_others_of_its_batch},
    {"a throttled one is sent again", a_throttled_one_is_sent_again},
    {"an ACL that was found safe is not read again", an_acl_that_was_found_safe_is_not_read_again},
    {"another ACL is read before it grants", another_acl_is_read_before_it_grants},
    {"on another server nothing is written", on_another_server_nothing_is_written},
};

int main(int argc, char **argv) {
    return check_run(CHECK_CASES(cases), argc, argv, begin, fake_world_end);
}
