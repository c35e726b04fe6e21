/* SPDX-License-Identifier: MIT */
/* Where a waiter of each kind stands, and who holds while it waits. */
#include "query_world.h"

#include "line/front.h"
#include "recipe/verdict.h"

#include <string.h>

static const char *const both[] = {LINE, "/locks/b"};

static zkl_view view_of(const fake_caller *c) {
    return zkl_view_of(c->contender);
}

/* How many are in front, of how many; the nodes of the next one and of the holder, or NULL. */
static void check_view_at(const char *file, int line, const fake_caller *c, size_t ahead, size_t of,
                          const char *next, const char *holder) {
    const zkl_view view = view_of(c);
    check_int(file, line, "listed", view.listed, true);
    check_int(file, line, "ahead", (long)view.ahead.count, (long)ahead);
    check_int(file, line, "of", (long)view.ahead.of, (long)of);
    check_text(file, line, "next", view.next ? view.next->name : "",
               next ? strrchr(next, '/') + 1 : "");
    check_text(file, line, "holder", view.holder ? view.holder->name : "",
               holder ? strrchr(holder, '/') + 1 : "");
}

#define CHECK_VIEW(c, ahead, of, next, holder)                                                     \
    check_view_at(__FILE__, __LINE__, (c), (ahead), (of), (next), (holder))

/* ---- the view ---- */

static void of_a_mutex_all_that_came_before_are_in_front(void) {
    const fake_caller *holder = fake_holder(two), *second = fake_waiter(two),
                      *third = fake_waiter(one);
    fake_stranger(zk, LINE, "%s-lease-");
    const fake_caller *fourth = fake_waiter(one);
    CHECK_VIEW(third, 2, 4, fake_node_of(second), fake_node_of(holder));
    CHECK_VIEW(fourth, 3, 4, fake_node_of(third), fake_node_of(holder));
    CHECK(view_of(fourth).next->mine == third->contender);
    CHECK(!view_of(holder).listed && !view_of(holder).holder);
}

static void of_a_reader_only_writers_are_in_front_and_the_first_of_all_holds(void) {
    fake_directory(zk, LINE);
    const fake_caller *reader = fake_read(two, LINE), *writer = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    fake_read(two, LINE);
    fake_settle_all(zk);
    const fake_caller *late = fake_read(one, LINE);
    fake_settle_all(zk);
    CHECK_VIEW(late, 1, 4, fake_node_of(writer), fake_node_of(reader));
}

static void a_multilock_stands_in_the_line_where_it_waits(void) {
    fake_directory(zk, both[1]);
    const fake_caller *holder = fake_join(two, both[1], ZKL_NEVER);
    fake_settle_all(zk);
    fake_caller *c = fake_join_all(one, both, 2, 5);
    fake_settle_all(zk);
    CHECK_VIEW(c, 1, 2, fake_node_of(holder), fake_node_of(holder));
    CHECK_INT(view_of(c).waits.index, 1);
    fake_wait(zk, 5);
    CHECK_FAILED(c, ZKL_TIMEOUT);
    CHECK(view_of(c).listed);
    CHECK_INT(view_of(c).waits.index, 1);
}

static void a_multilock_that_times_out_says_whether_a_list_has_shown_where(void) {
    fake_directory(zk, both[1]);
    fake_join(two, both[1], ZKL_NEVER);
    fake_settle_all(zk);
    bool listed = false;
    for (int answers = 0; !listed; answers++) {
        const fake_caller *c = fake_join_all(one, both, 2, 5);
        for (int i = 0; i < answers; i++)
            CHECK(fake_answer(one));
        fake_wait(zk, 5);
        CHECK_FAILED(c, ZKL_TIMEOUT);
        listed = view_of(c).listed;
        CHECK(!listed || (answers > 0 && view_of(c).waits.index == 1));
        fake_settle_all(zk);
    }
}

static void a_multilock_that_tries_once_says_where_it_has_failed(void) {
    fake_directory(zk, both[1]);
    fake_join(two, both[1], ZKL_NEVER);
    fake_settle_all(zk);
    const fake_caller *c = fake_join_all(one, both, 2, 0);
    fake_settle_all(zk);
    CHECK_FAILED(c, ZKL_TIMEOUT);
    CHECK(view_of(c).listed);
    CHECK_INT(view_of(c).waits.index, 1);
}

static void of_leases_so_many_have_to_go_and_none_is_the_next(void) {
    fake_directory(zk, LINE "/locks");
    fake_directory(zk, LINE "/leases");
    fake_lease(two, LINE, 2, 3);
    fake_settle_all(zk);
    const fake_caller *first = fake_lease(one, LINE, 3, 3);
    fake_settle_all(zk);
    const fake_caller *second = fake_lease(one, LINE, 1, 3);
    fake_settle_all(zk);
    const zkl_view view = view_of(first);
    CHECK(view.listed && !view.next && view.holder && !view.holder->mine);
    CHECK_INT(view.holder->kind, ZKL_KIND_LEASE);
    CHECK_INT(view.ahead.count, 2);
    CHECK_INT(view.ahead.of, 5);
    /* it stands in the line of those that wait for leases; a lease is what it waits for */
    CHECK(view_of(second).listed && view_of(second).next->mine);
    CHECK_INT(view_of(second).ahead.count, 1);
    CHECK(view_of(second).holder == view.holder);
}

static void a_caller_that_shares_a_node_stands_where_that_stands(void) {
    fake_caller *holder = fake_holder(two), *first = fake_share(one, LINE, 1e12),
                *second = fake_share(one, LINE, 1e12);
    fake_settle_all(zk);
    CHECK_VIEW(first, 1, 2, fake_node_of(holder), fake_node_of(holder));
    CHECK_VIEW(second, 1, 2, fake_node_of(holder), fake_node_of(holder));
    CHECK_INT(fake_release(holder), ZKL_OK);
    fake_settle_all(zk);
    CHECK(fake_held(first));
    const zkl_view view = view_of(second);
    CHECK(view.listed && view.next == view.holder && view.next->mine);
    CHECK_INT(view.ahead.count, 1);
}

/* ---- the question ---- */

static void ask_about(const fake_caller *c) {
    query_stop();
    query_ask_about(c, ZKL_QUERY_FRONT, 5);
}

static void it_lists_the_line_and_reads_the_holder_once(void) {
    fake_holder(two);
    const fake_caller *c = fake_waiter(one);
    for (unsigned i = 0; i < 3; i++) {
        fake_waiter(two);
        fake_wait(zk, 1.001);
        fake_forget_counts(one);
        ask_about(c);
        fake_settle_all(zk);
        query_check_answered(ZKL_OK);
        CHECK_INT(view_of(c).ahead.of, 3 + i);
        CHECK_TEXT(view_of(c).identifier, "db7:4242");
        CHECK_INT(one->counts[FAKE_LIST], 1);
        CHECK_INT(one->counts[FAKE_GET], i == 0);
    }
    fake_forget_counts(one);
    ask_about(c);
    query_check_answered(ZKL_OK);
    CHECK_INT(one->counts[FAKE_LIST], 0);
}

static void it_ends_with_the_wait(void) {
    fake_holder(two);
    fake_caller *c = fake_waiter(one);
    fake_wait(zk, 2);
    ask_about(c);
    fake_cancel(c);
    query_check_answered(ZKL_OK);
    fake_settle_all(zk);
    ask_about(c);
    query_check_answered(ZKL_OK);
}

static void it_may_be_dropped_while_it_is_open(void) {
    fake_holder(two);
    const fake_caller *c = fake_waiter(one);
    for (unsigned step = 0; step < 2; step++) {
        fake_wait(zk, 2);
        ask_about(c);
        CHECK(step == 0 || fake_answer(one));
        CHECK(query->look.in != NULL);
        query_stop();
        fake_settle_all(zk);
    }
    CHECK(fake_waits(c));
}

static void of_a_caller_that_does_not_wait_it_asks_for_nothing(void) {
    const fake_caller *c = fake_holder(one);
    fake_wait(zk, 2);
    fake_settle_all(zk);
    fake_forget_counts(one);
    ask_about(c);
    fake_settle_all(zk);
    query_check_answered(ZKL_OK);
    CHECK_INT(one->counts[FAKE_LIST], 0);
}

/* A multilock leaves a line to enter it again, and meanwhile the line may be freed. */
static void a_line_that_goes_ends_it(void) {
    fake_holder(two);
    const fake_caller *c = fake_waiter(one);
    fake_wait(zk, 2);
    ask_about(c);
    CHECK(fake_answer(one)); /* the list; now it waits for the holder's data */
    CHECK(query->look.in != NULL);
    zkl_front_forget(c->contender->line);
    CHECK(query->look.in == NULL);
    query_check_answered(ZKL_OK);
}

static void it_ends_at_its_deadline(void) {
    fake_holder(two);
    const fake_caller *c = fake_waiter(one);
    fake_wait(zk, 2);
    ask_about(c);
    fake_wait(zk, 5);
    query_check_answered(ZKL_TIMEOUT);
    CHECK(query->look.in == NULL);
    fake_settle_all(zk);
}

static void without_a_link_nothing_more_is_known(void) {
    fake_holder(two);
    const fake_caller *c = fake_waiter(one);
    fake_wait(zk, 2);
    fake_cut(one);
    ask_about(c);
    query_check_answered(ZKL_OK);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(!view_of(c).identifier);
}

static void begin(void) {
    fake_world_begin();
    two->context.identifier = "db7:4242";
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"of a mutex all that came before are in front",
         of_a_mutex_all_that_came_before_are_in_front},
        {"of a reader only writers are in front, and the first of all holds",
         of_a_reader_only_writers_are_in_front_and_the_first_of_all_holds},
        {"a multilock stands in the line where it waits",
         a_multilock_stands_in_the_line_where_it_waits},
        {"a multilock that times out says whether a list has shown where",
         a_multilock_that_times_out_says_whether_a_list_has_shown_where},
        {"a multilock that tries once says where it has failed",
         a_multilock_that_tries_once_says_where_it_has_failed},
        {"of leases so many have to go, and none is the next",
         of_leases_so_many_have_to_go_and_none_is_the_next},
        {"a caller that shares a node stands where that stands",
         a_caller_that_shares_a_node_stands_where_that_stands},
        {"the question lists the line, and reads the holder once",
         it_lists_the_line_and_reads_the_holder_once},
        {"the question ends with the wait", it_ends_with_the_wait},
        {"the question may be dropped while it is open", it_may_be_dropped_while_it_is_open},
        {"of a caller that does not wait the question asks for nothing",
         of_a_caller_that_does_not_wait_it_asks_for_nothing},
        {"a line that goes ends the question", a_line_that_goes_ends_it},
        {"the question ends at its deadline", it_ends_at_its_deadline},
        {"without a link nothing more is known", without_a_link_nothing_more_is_known},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, query_end);
}
