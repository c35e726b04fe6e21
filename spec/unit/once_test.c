/* SPDX-License-Identifier: MIT */
/* The mark of a mutex on a fake link: when something is due, what the servers have then, and what
 * the host is told wherever the link is cut. */
#include "fake_world.h"
#include "recipe/znode.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK LINE "/" ZKL_ONCE_NODE
#define LATER 1e12
#define HOUR 3600.0

static zkl_once *onces[FAKE_NODE_REQUESTS];
static size_t count;
static fake_caller *holder;

static void begin(void) {
    count = 0;
    fake_world_begin();
    holder = fake_holder(one);
}

static void end(void) {
    for (size_t i = 0; i < count; i++)
        zkl_ask_free(zkl_ask_of_once(onces[i]));
    fake_world_end();
}

/* ---- the host ---- */

static size_t start(zkl_once_task task, double seconds, double timeout) {
    const zkl_once_terms terms = {.task = task,
                                  .held = holder->contender,
                                  .seconds = seconds,
                                  .tag = count,
                                  .deadline = zkl_clock_after(fake_now, timeout)};
    onces[count] = zkl_once_new(&one->onces, &terms);
    CHECK(onces[count] != NULL);
    one->answered[count] = 0;
    zkl_ask_start(zkl_ask_of_once(onces[count]), ZKL_NEVER);
    fake_leave(one);
    return count++;
}

static size_t ask_and_mark(double seconds) {
    return start(ZKL_ONCE_ASK_AND_MARK, seconds, LATER);
}

static void check_told_at(const char *file, int line, size_t i, zkl_status status) {
    check_int(file, line, "answers", one->answered[i], 1);
    check_text(file, line, "status", zkl_status_text(one->answers[i]), zkl_status_text(status));
}

static void check_left_at(const char *file, int line, size_t i, double left) {
    check_told_at(file, line, i, ZKL_OK);
    check_int(file, line, "milliseconds left", (int64_t)(zkl_once_seconds_left(onces[i]) * 1000),
              (int64_t)(left * 1000));
}

#define CHECK_WAITS(i) check_int(__FILE__, __LINE__, "answers", one->answered[i], 0)
#define CHECK_TOLD(i, status) check_told_at(__FILE__, __LINE__, (i), (status))
#define CHECK_LEFT(i, left) check_left_at(__FILE__, __LINE__, (i), (left))

static void settled(size_t i, double left) {
    fake_settle(one);
    CHECK_LEFT(i, left);
}

/* ---- the servers ---- */

static const char *mark(void) {
    const fake_node *node = fake_find(zk, MARK, FAKE_LATEST);
    return node ? node->data : NULL;
}

static void make(const char *path, const char *data) {
    CHECK_INT(fake_make(zk, path, data, FAKE_PERSISTENT, 0, NULL), ZOK);
}

static void pass(double seconds) {
    const double milliseconds = seconds * 1000; /* i386 rounds here, and not before */
    zk->wall += (int64_t)milliseconds;
}

static void check_token(void) {
    char token[32];
    snprintf(token, sizeof token, "%" PRId64, holder->token);
    CHECK_TEXT(mark(), token);
}

/* Nothing but the lock's node, and the mark if there is one. */
static void check_no_scratch(void) {
    CHECK_INT(fake_children(zk, LINE), mark() ? 2 : 1);
}

/* The mark is about to be written: its request is sent, and not carried out. */
static size_t about_to_write(void) {
    const size_t i = ask_and_mark(HOUR);
    while (strcmp(fake_batch(one), "T") != 0)
        CHECK(fake_answer(one));
    CHECK_TEXT(fake_batch(one), "T");
    return i;
}

/* ---- due or not ---- */

static void without_a_mark_it_is_due_and_the_mark_has_the_token(void) {
    const size_t i = ask_and_mark(HOUR);
    CHECK_TEXT(fake_batch(one), "TSDGEE"); /* one flight */
    settled(i, 0);
    check_token();
    check_no_scratch();
}

static void it_is_due_again_when_the_seconds_have_passed(void) {
    settled(ask_and_mark(HOUR), 0);
    pass(HOUR - 1);
    settled(ask_and_mark(HOUR), 1);
    pass(0.999);
    settled(ask_and_mark(HOUR), 0.001);
    pass(0.001);
    const int64_t mtime = fake_find(zk, MARK, FAKE_LATEST)->mtime;
    settled(ask_and_mark(HOUR), 0);
    CHECK_INT(fake_find(zk, MARK, FAKE_LATEST)->mtime, mtime + (int64_t)(HOUR * 1000));
    settled(ask_and_mark(HOUR), HOUR);
}

static void the_mark_of_another_holder_counts(void) {
    make(MARK, "77");
    pass(10);
    settled(ask_and_mark(HOUR), HOUR - 10);
    CHECK_TEXT(mark(), "77");
    pass(HOUR);
    settled(ask_and_mark(HOUR), 0);
    check_token();
    check_no_scratch();
}

static void forever_is_never_due_again(void) {
    settled(ask_and_mark(INFINITY), 0);
    pass(1e9);
    const size_t i = ask_and_mark(INFINITY);
    fake_settle(one);
    CHECK_TOLD(i, ZKL_OK);
    CHECK(isinf(zkl_once_seconds_left(onces[i])));
}

static void a_question_alone_writes_nothing(void) {
    settled(start(ZKL_ONCE_ASK, HOUR, LATER), 0);
    CHECK(mark() == NULL);
    check_no_scratch();
}

static void the_mark_is_written_whenever_the_latest_one_was(void) {
    settled(start(ZKL_ONCE_MARK, 0, LATER), 0);
    check_token();
    pass(5);
    settled(start(ZKL_ONCE_MARK, 0, LATER), 0);
    settled(ask_and_mark(HOUR), HOUR);
}

static void a_mark_in_the_future_counts_from_now_on(void) {
    pass(2 * HOUR);
    make(MARK, "77");
    pass(-2 * HOUR);
    settled(ask_and_mark(60), 60);
    CHECK_TEXT(mark(), "77");
    pass(59);
    settled(ask_and_mark(60), 1);
    pass(1);
    settled(start(ZKL_ONCE_ASK, 60, LATER), 0);
}

static void a_mark_that_is_younger_than_the_answer_about_the_time_is_not_in_the_future(void) {
    const size_t i = ask_and_mark(HOUR);
    CHECK(fake_carry(one));
    pass(1);
    make(MARK, "77"); /* by another one of the same hold, before the mark is read */
    settled(i, HOUR);
    CHECK_INT(fake_find(zk, MARK, FAKE_LATEST)->version, 0);
}

/* ---- what nobody can ask ---- */

static void refuses(double seconds) {
    check_note("seconds: %f", seconds);
    const size_t asked = start(ZKL_ONCE_ASK, seconds, LATER),
                 marked = start(ZKL_ONCE_ASK_AND_MARK, seconds, LATER);
    CHECK_TOLD(asked, ZKL_BAD_ARGUMENT);
    CHECK_TOLD(marked, ZKL_BAD_ARGUMENT);
    CHECK_TEXT(fake_batch(one), "");
    CHECK(mark() == NULL);
}

static void a_number_of_seconds_is_above_0(void) {
    refuses(0);
    refuses(-0.0);
    refuses(-HOUR);
    refuses(-INFINITY);
    refuses(NAN);
    settled(start(ZKL_ONCE_ASK, 5e-324, LATER), 0);
    settled(start(ZKL_ONCE_ASK, 1e300, LATER), 0);
}

/* The hold of a caller that is no mutex. */
static void refuses_hold(fake_caller *caller) {
    fake_settle(one);
    CHECK(caller->granted);
    holder = caller;
    const size_t asked = start(ZKL_ONCE_ASK, HOUR, LATER), due = ask_and_mark(HOUR),
                 marked = start(ZKL_ONCE_MARK, 0, LATER);
    CHECK_TOLD(asked, ZKL_BAD_ARGUMENT);
    CHECK_TOLD(due, ZKL_BAD_ARGUMENT);
    CHECK_TOLD(marked, ZKL_BAD_ARGUMENT);
    CHECK_TEXT(fake_batch(one), "");
    CHECK_INT(fake_release(caller), ZKL_OK);
    fake_settle(one);
}

static void only_a_mutex_has_a_mark(void) {
    const char *const paths[] = {"/many/a", "/many/b"};
    refuses_hold(fake_read(one, "/rw"));
    refuses_hold(fake_write_lock(one, "/rw"));
    refuses_hold(fake_lease(one, "/pool", 1, 2));
    refuses_hold(fake_join_all(one, paths, 2, LATER));
    fake_share_as(1, 1);
    refuses_hold(fake_share_kind(one, "/rw", ZKL_KIND_WRITE, LATER));
}

static void a_mutex_of_a_list_of_one_path_has_a_mark(void) {
    const char *const path = "/alone";
    holder = fake_join_all(one, &path, 1, LATER);
    fake_settle(one);
    settled(ask_and_mark(HOUR), 0);
    CHECK(fake_find(zk, "/alone/" ZKL_ONCE_NODE, FAKE_LATEST) != NULL);
}

static void a_mutex_that_takes_turns_has_a_mark(void) {
    fake_share_as(1, 1);
    holder = fake_share(one, "/turns", LATER);
    fake_settle(one);
    settled(ask_and_mark(HOUR), 0);
    CHECK(fake_find(zk, "/turns/" ZKL_ONCE_NODE, FAKE_LATEST) != NULL);
}

/* ---- what is no mark ---- */

/* Curator's Revoker writes it to the path that it gets. */
static void a_mark_that_was_asked_for_the_lock_stays_a_mark(void) {
    make(MARK, ZKL_REVOKE);
    pass(10);
    settled(ask_and_mark(HOUR), HOUR - 10);
    CHECK_TEXT(mark(), ZKL_REVOKE);
    pass(HOUR);
    settled(ask_and_mark(HOUR), 0);
    check_token();
    CHECK_INT(fake_remove(zk, MARK), ZOK);
    make(MARK, ZKL_REVOKE "!");
    const size_t asked = ask_and_mark(HOUR);
    fake_settle(one);
    CHECK_TOLD(asked, ZKL_WRONG_KIND);
}

static void data_that_is_no_token_is_of_the_wrong_kind(void) {
    static const char *const no_tokens[] = {
        "",    "x",
        "0",   "-1",
        "+5",  "05",
        " 5",  "5 ",
        "5x",  "9223372036854775808",
        "1e3", "123456789012345678901234567890",
    };
    for (size_t i = 0; i < sizeof no_tokens / sizeof *no_tokens; i++) {
        check_note("data '%s'", no_tokens[i]);
        make(MARK, no_tokens[i]);
        const size_t asked = ask_and_mark(HOUR), marked = start(ZKL_ONCE_MARK, 0, LATER);
        fake_settle(one);
        CHECK_TOLD(asked, ZKL_WRONG_KIND);
        CHECK_TOLD(marked, ZKL_WRONG_KIND);
        CHECK_TEXT(mark(), no_tokens[i]);
        CHECK_INT(fake_find(zk, MARK, FAKE_LATEST)->version, 0);
        CHECK_INT(fake_remove(zk, MARK), ZOK);
    }
    make(MARK, "9223372036854775807");
    settled(ask_and_mark(HOUR), HOUR);
}

static void the_path_of_a_semaphore_is_of_the_wrong_kind(void) {
    static const char *const children[] = {LINE "/locks", LINE "/leases"};
    for (size_t i = 0; i < 2; i++) {
        make(children[i], "");
        const size_t asked = ask_and_mark(HOUR);
        fake_settle(one);
        CHECK_TOLD(asked, ZKL_WRONG_KIND);
        CHECK(mark() == NULL);
        CHECK_INT(fake_remove(zk, children[i]), ZOK);
    }
    settled(ask_and_mark(HOUR), 0);
}

static void another_identity_is_denied(void) {
    make(MARK, "77");
    pass(HOUR);
    fake_refuse(zk, FAKE_GET, MARK, ZNOAUTH, 1);
    const size_t read = ask_and_mark(60);
    fake_settle(one);
    CHECK_TOLD(read, ZKL_ACCESS_DENIED);
    fake_refuse(zk, FAKE_TRANSACT, MARK, ZNOAUTH, 1);
    const size_t write = ask_and_mark(60);
    fake_settle(one);
    CHECK_TOLD(write, ZKL_ACCESS_DENIED);
    CHECK_TEXT(mark(), "77");
}

/* ---- the lock ---- */

static void a_holder_that_has_lost_writes_nothing(void) {
    const size_t i = about_to_write();
    CHECK_INT(fake_remove(zk, fake_node_of(holder)), ZOK); /* before it arrives */
    fake_settle(one);
    CHECK_TOLD(i, ZKL_LOST);
    CHECK(mark() == NULL);
    const size_t late = ask_and_mark(HOUR);
    CHECK_TOLD(late, ZKL_LOST);
}

static void a_holder_that_is_dropped_meanwhile_writes_nothing(void) {
    const size_t i = ask_and_mark(HOUR);
    fake_drop(holder);
    fake_settle(one);
    CHECK_TOLD(i, ZKL_LOST);
    CHECK(mark() == NULL);
}

static void a_holder_that_is_dropped_in_a_pause_writes_nothing(void) {
    fake_refuse(zk, FAKE_TRANSACT, LINE, ZTHROTTLEDOP, 1);
    const size_t i = ask_and_mark(HOUR);
    fake_settle(one);
    CHECK_WAITS(i);
    fake_drop(holder);
    fake_settle(one);
    fake_wait(zk, 3);
    fake_settle(one);
    CHECK_TOLD(i, ZKL_LOST);
    CHECK(mark() == NULL);
}

static void a_mark_that_is_written_as_the_hold_is_lost_lets_nobody_work(void) {
    const size_t i = about_to_write();
    CHECK(fake_carry(one));
    fake_expire(one); /* it hears of that first */
    fake_connect(one);
    fake_settle(one);
    CHECK_TOLD(i, ZKL_LOST);
    check_token();
}

static void the_child_is_no_member_of_the_line(void) {
    settled(ask_and_mark(HOUR), 0);
    fake_caller *next = fake_waiter(two);
    CHECK_INT(fake_release(holder), ZKL_OK);
    fake_settle_all(zk);
    CHECK(fake_held(next));
    int32_t sequence;
    CHECK(zkl_znode_parse(ZKL_ONCE_NODE, &sequence) == ZKL_KIND_NONE);
}

/* ---- faults ---- */

static void a_mark_whose_write_is_unknown_is_read_back_behind_a_sync(void) {
    const size_t i = about_to_write();
    CHECK(fake_carry(one));
    fake_cut(one);
    CHECK_WAITS(i);
    check_token();
    pass(5); /* a second write would show */
    fake_connect(one);
    CHECK_TEXT(fake_batch(one) + strspn(fake_batch(one), "LGW"), "TSDGEE");
    settled(i, 0);
    CHECK_INT(fake_find(zk, MARK, FAKE_LATEST)->version, 0);
    settled(ask_and_mark(HOUR), HOUR - 5);
}

static void a_mark_whose_write_did_not_arrive_is_written_again(void) {
    const size_t i = about_to_write();
    fake_cut(one);
    CHECK(mark() == NULL);
    fake_connect(one);
    settled(i, 0);
    check_token();
}

static void a_former_mark_with_the_same_token_is_not_taken_for_it(void) {
    settled(ask_and_mark(60), 0);
    pass(60);
    const size_t i = ask_and_mark(60);
    while (strcmp(fake_batch(one), "T") != 0)
        CHECK(fake_answer(one));
    fake_cut(one);
    fake_connect(one);
    settled(i, 0);
    CHECK_INT(fake_find(zk, MARK, FAKE_LATEST)->version, 1);
}

static void of_two_of_one_hold_one_has_written_the_mark(void) {
    const size_t first = ask_and_mark(HOUR), second = ask_and_mark(HOUR);
    while (fake_batch(one)[strspn(fake_batch(one), "T")] != '\0')
        CHECK(fake_answer(one));
    while (fake_carry(one))
        ;
    fake_cut(one);
    CHECK_WAITS(first);
    CHECK_WAITS(second);
    fake_connect(one);
    fake_settle(one);
    fake_wait(zk, 1);
    fake_settle(one);
    CHECK_TOLD(first, ZKL_OK);
    CHECK_TOLD(second, ZKL_OK);
    CHECK((zkl_once_seconds_left(onces[first]) == 0) !=
          (zkl_once_seconds_left(onces[second]) == 0));
    CHECK_INT(fake_find(zk, MARK, FAKE_LATEST)->version, 0);
}

/* One read of the first is refused for now, twice, and the second writes the mark meanwhile. */
static void a_mark_that_another_of_the_hold_wrote_is_not_taken_for_its_own(void) {
    const size_t first = ask_and_mark(HOUR), second = ask_and_mark(HOUR);
    fake_refuse(zk, FAKE_EXISTS, LINE "/locks", ZTHROTTLEDOP, 1);
    fake_settle(one);
    fake_refuse(zk, FAKE_EXISTS, LINE "/locks", ZTHROTTLEDOP, 1);
    fake_wait(zk, 0.06);
    fake_settle(one);
    CHECK_LEFT(second, 0);
    CHECK_WAITS(first);
    fake_wait(zk, 0.2);
    while (strcmp(fake_batch(one), "T") != 0 && fake_answer(one))
        ;
    fake_cut(one);
    fake_connect(one);
    fake_settle(one);
    fake_wait(zk, 1);
    fake_settle(one);
    CHECK_LEFT(first, HOUR);
    CHECK_INT(fake_find(zk, MARK, FAKE_LATEST)->version, 0);
}

static void a_mark_that_cannot_be_read_back_is_unknown(void) {
    const size_t i = start(ZKL_ONCE_ASK_AND_MARK, HOUR, 5);
    while (strcmp(fake_batch(one), "T") != 0)
        CHECK(fake_answer(one));
    CHECK(fake_carry(one));
    fake_cut(one);
    CHECK_WAITS(i);
    fake_wait(zk, 6);
    CHECK_TOLD(i, ZKL_UNKNOWN);
}

/* The hold is lost, and the next holder, or an operator, changes the mark before the client reads
 * it back. */
static void a_mark_that_somebody_else_changes_before_it_is_read_back_is_unknown(void) {
    for (int deleted = 0; deleted < 2; deleted++) {
        const size_t i = start(ZKL_ONCE_MARK, 0, LATER);
        while (strcmp(fake_batch(one), "T") != 0)
            CHECK(fake_answer(one));
        CHECK(fake_carry(one));
        fake_cut(one);
        check_token();
        if (deleted)
            CHECK_INT(fake_remove(zk, MARK), ZOK);
        else
            fake_write(zk, MARK, "78");
        CHECK_INT(fake_remove(zk, fake_node_of(holder)), ZOK);
        fake_connect(one);
        fake_settle(one);
        CHECK_TOLD(i, ZKL_UNKNOWN);
        holder = fake_holder(one);
    }
}

static void a_mark_that_nobody_has_changed_is_not_written_and_the_hold_is_lost(void) {
    settled(start(ZKL_ONCE_MARK, 0, LATER), 0);
    const size_t i = start(ZKL_ONCE_MARK, 0, LATER);
    while (strcmp(fake_batch(one), "T") != 0)
        CHECK(fake_answer(one));
    fake_cut(one);
    CHECK_INT(fake_remove(zk, fake_node_of(holder)), ZOK);
    fake_connect(one);
    fake_settle(one);
    CHECK_TOLD(i, ZKL_LOST);
}

static void the_end_of_the_client_is_unknown_to_a_write_on_its_way(void) {
    const size_t written = about_to_write();
    zkl_asks_give_up(&one->nodes.asks, ZKL_CLOSED);
    zkl_asks_give_up(&one->onces.asks, ZKL_CLOSED);
    fake_leave(one);
    CHECK_TOLD(written, ZKL_UNKNOWN);
    const size_t asked = ask_and_mark(HOUR);
    zkl_asks_give_up(&one->nodes.asks, ZKL_CLOSED);
    zkl_asks_give_up(&one->onces.asks, ZKL_CLOSED);
    fake_leave(one);
    CHECK_TOLD(asked, ZKL_CLOSED);
}

static void the_time_is_asked_for_again_wherever_the_link_is_cut(void) {
    for (unsigned carried = 0; carried < 7; carried++) {
        const size_t i = ask_and_mark(HOUR);
        for (unsigned n = 0; n < carried; n++)
            fake_carry(one);
        fake_cut(one);
        CHECK_WAITS(i);
        fake_connect(one);
        settled(i, carried ? HOUR : 0);
        check_no_scratch();
    }
}

static void without_a_server_it_ends_at_the_deadline(void) {
    fake_cut(one);
    const size_t i = start(ZKL_ONCE_ASK_AND_MARK, HOUR, 5);
    fake_wait(zk, 6);
    CHECK_TOLD(i, ZKL_DISCONNECTED);
    fake_connect(one);
    const size_t late = start(ZKL_ONCE_ASK_AND_MARK, HOUR, 5);
    fake_wait(zk, 6);
    CHECK_TOLD(late, ZKL_TIMEOUT);
    fake_settle(one);
    CHECK(mark() == NULL);
}

static void what_servers_refuse_for_now_is_asked_again_after_a_pause(void) {
    fake_refuse(zk, FAKE_TRANSACT, LINE, ZTHROTTLEDOP, 1);
    const size_t i = ask_and_mark(HOUR);
    fake_settle(one);
    CHECK_WAITS(i);
    fake_wait(zk, 3);
    while (strcmp(fake_batch(one), "T") != 0)
        CHECK(fake_answer(one));
    fake_refuse(zk, FAKE_TRANSACT, MARK, ZTHROTTLEDOP, 1);
    fake_settle(one);
    CHECK_WAITS(i);
    fake_wait(zk, 3);
    settled(i, 0);
    check_token();
}

static void a_mark_that_changes_meanwhile_is_read_again(void) {
    const size_t i = about_to_write();
    make(MARK, "77"); /* by a client that does not hold */
    settled(i, HOUR);
    CHECK_TEXT(mark(), "77");
    pass(HOUR);
    const size_t again = about_to_write();
    fake_write(zk, MARK, "78");
    settled(again, HOUR);
    CHECK_TEXT(mark(), "78");
}

static void a_mark_that_always_changes_is_given_up(void) {
    fake_refuse(zk, FAKE_TRANSACT, MARK, ZBADVERSION, 0);
    const size_t i = ask_and_mark(HOUR);
    fake_settle(one);
    CHECK_TOLD(i, ZKL_BAD_VERSION);
    CHECK_INT(one->counts[FAKE_TRANSACT], 100);
}

static void one_that_is_given_up_tells_nothing(void) {
    const size_t i = about_to_write();
    zkl_ask_free(zkl_ask_of_once(onces[i]));
    count--;
    fake_settle(one);
    CHECK_WAITS(i);
    CHECK_INT(fake_release(holder), ZKL_OK);
    fake_settle(one);
    CHECK_INT(fake_remove(zk, MARK), ZOK); /* it was on its way */
    CHECK_CLEAN();
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"without a mark it is due, and the mark has the token",
         without_a_mark_it_is_due_and_the_mark_has_the_token},
        {"it is due again when the seconds have passed",
         it_is_due_again_when_the_seconds_have_passed},
        {"the mark of another holder counts", the_mark_of_another_holder_counts},
        {"for ever is never due again", forever_is_never_due_again},
        {"a question alone writes nothing", a_question_alone_writes_nothing},
        {"the mark is written, whenever the latest one was",
         the_mark_is_written_whenever_the_latest_one_was},
        {"a mark in the future counts from now on", a_mark_in_the_future_counts_from_now_on},
        {"a mark that is younger than the answer about the time is not in the future",
         a_mark_that_is_younger_than_the_answer_about_the_time_is_not_in_the_future},
        {"a number of seconds is above 0", a_number_of_seconds_is_above_0},
        {"only a mutex has a mark", only_a_mutex_has_a_mark},
        {"a mutex of a list of one path has a mark", a_mutex_of_a_list_of_one_path_has_a_mark},
        {"a mutex that takes turns has a mark", a_mutex_that_takes_turns_has_a_mark},
        {"a mark that was asked for the lock stays a mark",
         a_mark_that_was_asked_for_the_lock_stays_a_mark},
        {"data that is no token is of the wrong kind", data_that_is_no_token_is_of_the_wrong_kind},
        {"the path of a semaphore is of the wrong kind",
         the_path_of_a_semaphore_is_of_the_wrong_kind},
        {"another identity is denied", another_identity_is_denied},
        {"a holder that has lost writes nothing", a_holder_that_has_lost_writes_nothing},
        {"a holder that is dropped meanwhile writes nothing",
         a_holder_that_is_dropped_meanwhile_writes_nothing},
        {"a holder that is dropped in a pause writes nothing",
         a_holder_that_is_dropped_in_a_pause_writes_nothing},
        {"a mark that is written as the hold is lost lets nobody work",
         a_mark_that_is_written_as_the_hold_is_lost_lets_nobody_work},
        {"the child is no member of the line", the_child_is_no_member_of_the_line},
        {"a mark whose write is unknown is read back behind a sync",
         a_mark_whose_write_is_unknown_is_read_back_behind_a_sync},
        {"a mark whose write did not arrive is written again",
         a_mark_whose_write_did_not_arrive_is_written_again},
        {"a former mark with the same token is not taken for it",
         a_former_mark_with_the_same_token_is_not_taken_for_it},
        {"of two of one hold one has written the mark",
         of_two_of_one_hold_one_has_written_the_mark},
        {"a mark that another call of the hold wrote is not taken for its own",
         a_mark_that_another_of_the_hold_wrote_is_not_taken_for_its_own},
        {"a mark that cannot be read back is unknown", a_mark_that_cannot_be_read_back_is_unknown},
        {"a mark that somebody else changes before it is read back is unknown",
         a_mark_that_somebody_else_changes_before_it_is_read_back_is_unknown},
        {"a mark that nobody has changed is not written, and the hold is lost",
         a_mark_that_nobody_has_changed_is_not_written_and_the_hold_is_lost},
        {"the end of the client is unknown to a write on its way",
         the_end_of_the_client_is_unknown_to_a_write_on_its_way},
        {"the time is asked for again wherever the link is cut",
         the_time_is_asked_for_again_wherever_the_link_is_cut},
        {"without a server it ends at the deadline", without_a_server_it_ends_at_the_deadline},
        {"what servers refuse for now is asked again after a pause",
         what_servers_refuse_for_now_is_asked_again_after_a_pause},
        {"a mark that changes meanwhile is read again",
         a_mark_that_changes_meanwhile_is_read_again},
        {"a mark that always changes is given up", a_mark_that_always_changes_is_given_up},
        {"one that is given up tells nothing", one_that_is_given_up_tells_nothing},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
