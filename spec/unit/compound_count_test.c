/* SPDX-License-Identifier: MIT */
/* A multilock whose parts are alone in their directories needs no lists (count_test.c). */
#include "base/status.h"
#include "fake_item.h"
#include "fake_world.h"
#include "line/batch.h"
#include "port/wire.h"
#include "recipe/znode.h"

#include <stdlib.h>
#include <string.h>

#define A LINE
#define B "/locks/b"
#define C "/locks/c"

static const char *const abc[] = {A, B, C, "/locks/d", "/locks/e"}, *const ab[] = {A, B};

static fake_caller *all(fake_client *client) {
    return fake_join_all(client, abc, 3, 1e12);
}

static fake_caller *both(void) {
    return fake_join_all(one, ab, 2, 1e12);
}

static void release(fake_caller *p) {
    CHECK_INT(fake_release(p), ZKL_OK);
    fake_settle_all(zk);
    fake_drop(p);
}

/* Its list of each directory shows that nobody is there, and no data. */
static void look(void) {
    fake_caller *p = all(one);
    fake_settle_all(zk);
    CHECK(fake_held(p));
    release(p);
    fake_forget_counts(one);
}

static void begin(void) {
    fake_world_begin();
    fake_directory(zk, B);
    fake_directory(zk, C);
    look();
}

static size_t nodes(void) {
    return fake_children(zk, A) + fake_children(zk, B) + fake_children(zk, C);
}

/* All are held by the nodes that this transaction made. */
static void check_held(const fake_caller *p) {
    CHECK(fake_held(p));
    const zkl_contender *part;
    for (size_t i = 0; (part = p->contender->call->part(p->contender, i)); i++) {
        char *path = zkl_znode_path(part->line->path, part->name);
        CHECK_INT(fake_find(zk, path, FAKE_LATEST)->czxid, p->token);
        free(path);
    }
}

/* ---- they grant ---- */

static void all_free_locks_cost_one_request(void) {
    fake_caller *p = all(one);
    CHECK_TEXT(fake_batch(one), "T");
    CHECK_TEXT(fake_ops(one), "CCCSSS"); /* and no mark */
    fake_answer(one);
    check_held(p);
    CHECK_INT(fake_release(p), ZKL_OK);
    fake_settle(one);
    CHECK_INT(fake_asked(one), 2);
    CHECK_CLEAN();
}

/* There is room for as many writes as creates. */
static void five_free_locks_cost_one_request_in_all(void) {
    for (size_t i = 3; i < 5; i++)
        fake_directory(zk, abc[i]);
    fake_caller *p = fake_join_all(one, abc, 5, 1e12);
    fake_settle(one);
    release(p);
    p = fake_join_all(one, abc, 5, 1e12);
    CHECK_TEXT(fake_batch(one), "T");
    CHECK_TEXT(fake_ops(one), "CCCCCSSSSS");
    fake_answer(one);
    check_held(p);
}

static void a_single_try_costs_one_request(void) {
    fake_caller *p = fake_join_all(one, abc, 3, 0);
    CHECK_TEXT(fake_batch(one), "T");
    fake_answer(one);
    check_held(p);
}

/* The other way around the writes would still count the nodes that are about to go. */
static void deletes_of_its_lines_go_first(void) {
    fake_caller *p = all(one);
    fake_settle(one);
    CHECK_INT(fake_release(p), ZKL_OK);
    fake_caller *q = all(one);
    CHECK_TEXT(fake_batch(one), "TT");
    CHECK_TEXT(fake_ops(one), "DDD");
    fake_settle(one);
    check_held(q);
    CHECK_INT(one->counts[FAKE_LIST], 0);
}

/* ---- some of them do not ---- */

/* Only the line of that one is listed. */
static void a_part_that_is_not_alone_lists(void) {
    fake_caller *b = fake_join(two, B, 1e12);
    fake_settle(two);
    fake_caller *p = all(one);
    CHECK_TEXT(fake_ops(one), "CCCSSS");
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "L");
    CHECK_TEXT(one->sent->path, B);
    fake_settle(one);
    CHECK(fake_waits(p));
    release(b);
    check_held(p);
}

static void a_single_try_lists_before_it_fails(void) {
    fake_caller *b = fake_join(two, B, 1e12);
    fake_settle(two);
    fake_caller *p = fake_join_all(one, abc, 3, 0);
    fake_answer(one);
    CHECK(fake_waits(p));
    fake_settle(one);
    CHECK_FAILED(p, ZKL_TIMEOUT);
    release(b);
    CHECK_INT(nodes(), 0);
    CHECK_CLEAN();
}

static void a_line_of_others_is_listed_with_the_transaction(void) {
    fake_caller *b = fake_join(two, B, 1e12);
    fake_settle(two);
    fake_caller *p = all(one);
    fake_settle(one);
    fake_cancel(p);
    fake_settle(one);
    p = all(one);
    CHECK_TEXT(fake_batch(one), "TL");
    CHECK_TEXT(fake_ops(one), "CCCSS");
    fake_settle(one);
    release(b);
    check_held(p);
}

static void behind_one_of_ours_it_lists_that_line(void) {
    fake_caller *b = fake_join(one, B, 1e12);
    fake_settle(one);
    fake_caller *p = all(one);
    CHECK_TEXT(fake_batch(one), "TL");
    CHECK_TEXT(fake_ops(one), "CCCSS");
    fake_settle(one);
    CHECK(fake_waits(p));
    release(b);
    check_held(p);
}

static void data_of_one_directory_is_not_erased(void) {
    fake_beat(one, 61);
    fake_still(one);
    fake_write(zk, B, "data");
    look();
    fake_caller *p = all(one);
    CHECK_TEXT(fake_batch(one), "TL");
    CHECK_TEXT(fake_ops(one), "CCCSS");
    fake_settle(one);
    check_held(p);
    CHECK_TEXT(fake_find(zk, B, FAKE_LATEST)->data, "data");
}

static void a_number_at_the_end_of_a_counter_is_not_granted(void) {
    fake_find(zk, B, FAKE_LATEST)->next = INT32_MAX;
    fake_caller *p = all(one);
    CHECK_TEXT(fake_ops(one), "CCCSSS");
    fake_settle(one);
    CHECK_FAILED(p, ZDATAINCONSISTENCY);
    CHECK_INT(nodes(), 0);
    CHECK_CLEAN();
}

/* ---- answers that are no grant ---- */

static void a_lost_answer_is_searched_for_by_lists(void) {
    for (unsigned carried = 0; carried < 2; carried++) {
        fake_caller *p = all(one);
        CHECK_TEXT(fake_batch(one), "T");
        if (carried)
            fake_carry(one);
        fake_cut(one);
        fake_connect(one);
        CHECK_TEXT(fake_batch(one), "DLDLDL"); /* each behind a write */
        fake_settle(one);
        check_held(p);
        CHECK_INT(nodes(), 3);
        release(p);
        look();
    }
}

/* A node that only a list behind a write can show is left of the first one. */
static void while_a_lost_node_is_searched_for_it_lists(void) {
    fake_caller *p = all(one);
    fake_carry(one);
    fake_cut(one);
    fake_cancel(p);
    fake_connect(one);
    fake_caller *q = all(one);
    CHECK_TEXT(fake_ops(one), "CCCCSD");
    fake_settle(one);
    check_held(q);
    CHECK_INT(nodes(), 3);
}

static void one_that_gives_up_before_the_answer_leaves_nothing(void) {
    fake_caller *p = all(one);
    fake_carry(one);
    fake_cancel(p);
    fake_settle(one);
    CHECK_INT(nodes(), 0);
    CHECK_CLEAN();
}

static void a_throttled_one_goes_again_as_a_whole(void) {
    fake_refuse(zk, FAKE_TRANSACT, A, ZTHROTTLEDOP, 1);
    fake_caller *p = all(one);
    fake_settle(one);
    CHECK(fake_waits(p));
    fake_wait(zk, 1);
    fake_settle(one);
    check_held(p);
    CHECK_INT(one->counts[FAKE_LIST], 0);
}

/* Each line would have a moment of its own, and the first of these would be that of all. */
static void the_lines_of_a_throttled_one_come_back_together(void) {
    fake_refuse(zk, FAKE_TRANSACT, A, ZTHROTTLEDOP, 1);
    fake_caller *p = all(one);
    fake_settle(one);
    CHECK_INT(one->lines.common.throttle.refused, 1);
    const zkl_nanos at = zkl_lines_find(&one->lines, A)->retry.at;
    CHECK(at > 0);
    CHECK_INT(zkl_lines_find(&one->lines, B)->retry.at, at);
    CHECK_INT(zkl_lines_find(&one->lines, C)->retry.at, at);
    fake_wait(zk, 1);
    fake_settle(one);
    check_held(p);
}

static void a_directory_that_is_gone_is_made_again(void) {
    CHECK_INT(fake_remove(zk, B), ZOK);
    fake_caller *p = all(one);
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "CCCCCCTLLL"); /* behind its parents */
    CHECK_TEXT(fake_ops(one), "CCCCSD");
    fake_settle(one);
    check_held(p);
}

/* ---- servers that refuse the writes ---- */

static void a_refused_write_is_no_refusal_of_the_creates(void) {
    fake_refuse(zk, FAKE_SET, A, ZNOAUTH, 0);
    fake_caller *p = all(one);
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "TL"); /* at once */
    CHECK_TEXT(fake_ops(one), "CCCSS");
    fake_settle(one);
    check_held(p);
    release(p);
    p = all(one);
    CHECK_TEXT(fake_ops(one), "CCCSS");
    fake_settle(one);
    check_held(p);
}

/* The writes are fewer than the creates. */
static void a_refusal_is_that_of_the_directory_that_was_written_to(void) {
    fake_caller *a = fake_join(one, A, 1e12);
    fake_settle(one);
    fake_forget_counts(one);
    fake_refuse(zk, FAKE_SET, C, ZNOAUTH, 0);
    fake_caller *p = all(one);
    CHECK_TEXT(fake_ops(one), "CCCSS");
    fake_answer(one);
    CHECK_TEXT(fake_ops(one), "CCCS");
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_TRANSACT], 2);
    release(a);
    check_held(p);
}

/* There are at most two vain attempts, however many directories refuse. */
static void a_second_refusal_counts_for_all(void) {
    fake_refuse(zk, FAKE_SET, B, ZNOAUTH, 0);
    fake_refuse(zk, FAKE_SET, C, ZNOAUTH, 0);
    fake_caller *p = all(one);
    fake_answer(one);
    CHECK_TEXT(fake_ops(one), "CCCSS");
    fake_answer(one);
    fake_answer(one); /* the list of B, from before */
    CHECK_TEXT(fake_ops(one), "CCCCSD");
    fake_settle(one);
    check_held(p);
    release(p);
    p = both();
    CHECK_TEXT(fake_ops(one), "CCCSD"); /* not even A is written to */
    fake_settle(one);
    check_held(p);
}

static void a_refusal_that_names_no_part_counts_for_all(void) {
    fake_refuse(zk, FAKE_TRANSACT, A, ZNOAUTH, 1);
    fake_caller *p = all(one);
    fake_answer(one);
    CHECK_TEXT(fake_ops(one), "CCCCSD");
    fake_settle(one);
    check_held(p);
}

/* The nodes may be there. */
static void a_refusal_whose_answer_is_not_certain_is_none(void) {
    fake_refuse(zk, FAKE_SET, B, ZOPERATIONTIMEOUT, 1);
    fake_caller *p = all(one);
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "DLDLDL");
    fake_settle(one);
    fake_wait(zk, 1);
    fake_settle(one);
    check_held(p);
    CHECK_INT(nodes(), 3);
}

static void another_failure_that_names_no_part_is_none_of_the_writes(void) {
    fake_refuse(zk, FAKE_TRANSACT, A, ZINVALIDACL, 0);
    fake_caller *p = all(one);
    fake_answer(one);
    CHECK_FAILED(p, zkl_status_of(ZINVALIDACL));
    CHECK_INT(one->counts[FAKE_TRANSACT], 1);
}

static void a_refused_node_fails_it_at_once(void) {
    fake_refuse(zk, FAKE_CREATE, B, ZNOAUTH, 0);
    fake_caller *p = all(one);
    fake_answer(one);
    CHECK_FAILED(p, ZKL_ACCESS_DENIED);
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_TRANSACT], 1);
    CHECK_CLEAN();
}

/* ---- what fits into one request ---- */

/* So many locks with as much data for each node as leaves room for `left` bytes besides creates and
 * mark; or for one more, if that is shared evenly. */
static void check_room(size_t count, size_t left, const char *sent, const char *ops) {
    static char identifier[ZKL_WIRE_MOST];
    const size_t name = strlen("/_c_01234567-0123-4123-8123-0123456789ab-lock-");
    const zkl_acl acl = one->context.acl;
    size_t room = ZKL_WIRE_MOST - zkl_wire_batch(strlen(A) + name, acl) - left;
    for (size_t i = 0; i < count; i++)
        room -= zkl_wire_create(strlen(abc[i]) + name, 0, acl);
    memset(identifier, 'i', room / count);
    identifier[room / count] = '\0';
    one->context.identifier = identifier;
    fake_caller *p = fake_join_all(one, abc, count, 1e12);
    CHECK_TEXT(fake_batch(one), sent);
    CHECK_TEXT(fake_ops(one), ops);
    fake_settle(one);
    check_held(p);
    release(p);
}

static void a_write_for_which_there_is_no_room_is_left_out(void) {
    const zkl_op op = zkl_batch_write(A);
    const size_t write = zkl_wire_op(&op, true);
    check_room(1, write, "T", "CS");
    check_room(1, write - 1, "TL", "CCSD");
    check_room(2, write, "TL", "CCS");
    check_room(2, 2 * write, "T", "CCSS");
}

static void a_directory_that_is_not_written_to_needs_no_room(void) {
    const zkl_op op = zkl_batch_write(B);
    fake_refuse(zk, FAKE_SET, A, ZNOAUTH, 0);
    fake_caller *p = all(one);
    fake_settle(one);
    release(p);
    check_room(2, zkl_wire_op(&op, true), "TL", "CCS");
    CHECK_INT(fake_find(zk, A, FAKE_LATEST)->version, 0);
}

/* ---- servers that are no ZooKeeper ---- */

/* Their answers are not believed: each part is listed, and read. */
static void on_another_server_nothing_is_written(void) {
    one->context.extras.keeper = true;
    fake_caller *p = all(one);
    CHECK_TEXT(fake_batch(one), "TLLL");
    CHECK_TEXT(fake_ops(one), "CCC");
    fake_answer(one);
    CHECK(fake_waits(p));
    fake_settle(one);
    CHECK(fake_held(p));
    release(p);
}

static const check_case cases[] = {
    {"free locks cost one request in all", all_free_locks_cost_one_request},
    {"so do those of five paths", five_free_locks_cost_one_request_in_all},
    {"a single try costs one request", a_single_try_costs_one_request},
    {"deletes of its lines go first", deletes_of_its_lines_go_first},
    {"a part that is not alone lists", a_part_that_is_not_alone_lists},
    {"a single try lists before it fails", a_single_try_lists_before_it_fails},
    {"a line of others is listed with the transaction",
     a_line_of_others_is_listed_with_the_transaction},
    {"behind one of ours it lists that line", behind_one_of_ours_it_lists_that_line},
    {"data of one directory is not erased", data_of_one_directory_is_not_erased},
    {"a number at the end of a counter is not granted",
     a_number_at_the_end_of_a_counter_is_not_granted},
    {"a lost answer is searched for by lists", a_lost_answer_is_searched_for_by_lists},
    {"while a lost node is searched for it lists", while_a_lost_node_is_searched_for_it_lists},
    {"one that gives up before the answer leaves nothing",
     one_that_gives_up_before_the_answer_leaves_nothing},
    {"a throttled one goes again as a whole", a_throttled_one_goes_again_as_a_whole},
    {"the lines of a throttled one come back together",
     the_lines_of_a_throttled_one_come_back_together},
    {"a directory that is gone is made again", a_directory_that_is_gone_is_made_again},
    {"a refused write is no refusal of the creates", a_refused_write_is_no_refusal_of_the_creates},
    {"a refusal is that of the directory that was written to",
     a_refusal_is_that_of_the_directory_that_was_written_to},
    {"a second refusal counts for all directories", a_second_refusal_counts_for_all},
    {"a refusal that names no part counts for all directories",
     a_refusal_that_names_no_part_counts_for_all},
    {"a refusal whose answer is not certain is none",
     a_refusal_whose_answer_is_not_certain_is_none},
    {"another failure that names no part is none of the writes",
     another_failure_that_names_no_part_is_none_of_the_writes},
    {"a refused node fails it at once", a_refused_node_fails_it_at_once},
    {"a write for which there is no room is left out",
     a_write_for_which_there_is_no_room_is_left_out},
    {"a directory that is not written to needs no room",
     a_directory_that_is_not_written_to_needs_no_room},
    {"on another server nothing is written", on_another_server_nothing_is_written},
};

int main(int argc, char **argv) {
    return check_run(CHECK_CASES(cases), argc, argv, begin, fake_world_end);
}
