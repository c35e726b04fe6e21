/* SPDX-License-Identifier: MIT */
/* Reads and writes of nodes on a fake link: what the host is told of each, wherever the link is
 * cut, and what the servers have of it then. */
#include "fake_world.h"

#include <stdlib.h>
#include <string.h>

#define NODE "/locks/x"
#define LATER 1e12

static zkl_node_request *requests[FAKE_NODE_REQUESTS];
static size_t count;

static void begin(void) {
    count = 0;
    fake_world_begin();
}

static void end(void) {
    for (size_t i = 0; i < count; i++)
        if (requests[i])
            zkl_ask_free(zkl_ask_of_request(requests[i]));
    fake_world_end();
}

/* ---- the host ---- */

static size_t start(const zkl_wish *wish, double seconds) {
    CHECK(count < FAKE_NODE_REQUESTS);
    zkl_node_request *request = zkl_node_request_new(&one->nodes, wish, count);
    CHECK(request != NULL);
    requests[count] = request;
    one->answered[count] = 0;
    zkl_ask_start(zkl_ask_of_request(request), zkl_clock_after(fake_now, seconds));
    fake_leave(one);
    return count++;
}

static zkl_op op(zkl_op_kind kind, const char *path, const char *data) {
    return (zkl_op){.kind = kind,
                    .path = path,
                    .data = data ? data : "",
                    .length = data ? strlen(data) : 0,
                    .version = -1};
}

static size_t ask_for(zkl_op_kind kind, const char *path, const char *data, double seconds) {
    const zkl_op own = op(kind, path, data);
    return start(&(zkl_wish){.ops = &own, .count = 1}, seconds);
}

static size_t ask(zkl_op_kind kind, const char *path, const char *data) {
    return ask_for(kind, path, data, LATER);
}

static size_t ask_once(zkl_op_kind kind, const char *path, const char *data) {
    const zkl_op own = op(kind, path, data);
    return start(&(zkl_wish){.ops = &own, .count = 1, .once = true}, LATER);
}

static size_t ask_guarded(zkl_contender *guard, const char *path, const char *data) {
    const zkl_op own = op(ZKL_OP_SET, path, data);
    return start(&(zkl_wish){.ops = &own, .count = 1, .several = true, .guard = guard}, LATER);
}

static void check_waits_at(const char *file, int line, size_t i) {
    check_int(file, line, "answers", one->answered[i], 0);
}

static void check_told_at(const char *file, int line, size_t i, zkl_status status) {
    check_int(file, line, "answers", one->answered[i], 1);
    check_text(file, line, "status", zkl_status_text(one->answers[i]), zkl_status_text(status));
}

#define CHECK_WAITS(i) check_waits_at(__FILE__, __LINE__, (i))
#define CHECK_TOLD(i, status) check_told_at(__FILE__, __LINE__, (i), (status))

static const char *data_at(const char *path) {
    const fake_node *node = fake_find(zk, path, FAKE_LATEST);
    return node ? node->data : NULL;
}

static void check_data(size_t i, const char *data) {
    CHECK_TOLD(i, ZKL_OK);
    CHECK_TEXT(zkl_node_request_content(requests[i], 0)->data, data);
}

static void make(const char *path, const char *data) {
    CHECK_INT(fake_make(zk, path, data, FAKE_PERSISTENT, 0, NULL), ZOK);
}

/* Another node with this data; that of before is what a server that lags shows. */
static void make_anew(const char *data) {
    CHECK_INT(fake_remove(zk, NODE), ZOK);
    make(NODE, data);
}

/* Something was read on this handle. */
static void warm_up(void) {
    ask(ZKL_OP_EXISTS, "/locks", NULL);
    fake_settle(one);
}

/* ---- reads ---- */

static void the_first_read_of_a_handle_is_behind_a_sync_and_a_write(void) {
    make(NODE, "1");
    const size_t first = ask(ZKL_OP_GET, NODE, NULL);
    CHECK_TEXT(fake_batch(one), "SDG"); /* in one flight */
    fake_settle(one);
    check_data(first, "1");
    const size_t next = ask(ZKL_OP_GET, NODE, NULL);
    CHECK_TEXT(fake_batch(one), "G");
    fake_settle(one);
    check_data(next, "1");
}

static void a_new_handle_shows_nothing_older_than_was_read_before(void) {
    make(NODE, "1");
    const int64_t old = zk->zxid;
    make_anew("2");
    warm_up();
    const size_t before = ask(ZKL_OP_GET, NODE, NULL);
    fake_settle(one);
    check_data(before, "2");
    fake_cut(one);
    fake_relink(one);
    fake_lag(one, old);
    const size_t again = ask(ZKL_OP_GET, NODE, NULL);
    fake_connect(one);
    fake_settle(one);
    check_data(again, "2");
    fake_expire(one);
    fake_lag(one, old);
    fake_connect(one);
    const size_t anew = ask(ZKL_OP_GET, NODE, NULL);
    fake_settle(one);
    check_data(anew, "2");
}

static void a_read_whose_barrier_was_refused_does_not_count(void) {
    make(NODE, "1");
    const int64_t old = zk->zxid;
    make_anew("2");
    fake_lag(one, old);
    fake_refuse(zk, FAKE_SYNC, "/", ZTHROTTLEDOP, 1);
    fake_refuse(zk, FAKE_ERASE, one->context.nothing, ZTHROTTLEDOP, 1);
    const size_t i = ask(ZKL_OP_GET, NODE, NULL);
    fake_settle(one);
    CHECK_WAITS(i);
    fake_wait(zk, 3);
    fake_settle(one);
    check_data(i, "2");
}

static void a_read_is_repeated_until_it_is_answered(void) {
    make(NODE, "1");
    const size_t i = ask(ZKL_OP_GET, NODE, NULL);
    for (unsigned carried = 0; carried < 4; carried++) {
        for (unsigned n = 0; n < carried; n++)
            fake_carry(one);
        fake_cut(one);
        CHECK_WAITS(i);
        fake_connect(one);
    }
    fake_settle(one);
    check_data(i, "1");
}

static void a_read_ends_at_its_deadline(void) {
    const size_t i = ask_for(ZKL_OP_GET, NODE, NULL, 5);
    fake_wait(zk, 6);
    CHECK_TOLD(i, ZKL_TIMEOUT);
    fake_settle(one);
    CHECK_TOLD(i, ZKL_TIMEOUT);
    fake_cut(one);
    const size_t without_link = ask_for(ZKL_OP_GET, NODE, NULL, 5);
    fake_wait(zk, 6);
    CHECK_TOLD(without_link, ZKL_DISCONNECTED);
}

static void one_try_is_over_with_the_link(void) {
    make(NODE, "1");
    const size_t i = ask_once(ZKL_OP_GET, NODE, NULL);
    fake_cut(one);
    CHECK_TOLD(i, ZKL_DISCONNECTED);
    const size_t without_link = ask_once(ZKL_OP_GET, NODE, NULL);
    CHECK_TOLD(without_link, ZKL_DISCONNECTED);
    fake_connect(one);
    const size_t late = ask_once(ZKL_OP_GET, NODE, NULL);
    fake_cut_quietly(one);
    CHECK_WAITS(late);
    fake_connect(one);
    fake_deliver_late(one); /* what it hears of the cut, when there is a link again */
    CHECK_TOLD(late, ZKL_DISCONNECTED);
}

static void one_try_ends_when_a_server_refuses_it_for_now(void) {
    make(NODE, "1");
    warm_up();
    fake_refuse(zk, FAKE_GET, NODE, ZTHROTTLEDOP, 1);
    const size_t read = ask_once(ZKL_OP_GET, NODE, NULL);
    fake_settle(one);
    CHECK_TOLD(read, ZTHROTTLEDOP);
    fake_refuse(zk, FAKE_ERASE, one->context.nothing, ZTHROTTLEDOP, 1);
    const size_t sync = start(&(zkl_wish){.once = true}, LATER);
    fake_settle(one);
    CHECK_TOLD(sync, ZTHROTTLEDOP);
    fake_refuse(zk, FAKE_CREATE, "/x", ZTHROTTLEDOP, 0);
    zkl_op make_deep = op(ZKL_OP_CREATE, "/x/y", "1");
    make_deep.parents = true;
    const size_t write = start(&(zkl_wish){.ops = &make_deep, .count = 1, .once = true}, LATER);
    fake_settle(one);
    CHECK_TOLD(write, ZTHROTTLEDOP);
}

static void one_try_has_no_deadline(void) {
    make(NODE, "1");
    const zkl_op own = op(ZKL_OP_GET, NODE, NULL);
    const size_t i = start(&(zkl_wish){.ops = &own, .count = 1, .once = true}, 5);
    fake_wait(zk, 6);
    CHECK_WAITS(i);
    fake_settle(one);
    check_data(i, "1");
}

static void one_try_ends_when_its_barrier_is_refused(void) {
    static const struct {
        int rc;
        zkl_status status;
    } answers[] = {
        {ZTHROTTLEDOP, ZTHROTTLEDOP},
        {ZCONNECTIONLOSS, ZKL_DISCONNECTED},
        {ZNOAUTH, ZKL_ACCESS_DENIED},
    };
    make(NODE, "1");
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        fake_refuse(zk, FAKE_ERASE, one->context.nothing, answers[i].rc, 1);
        const size_t read = ask_once(ZKL_OP_GET, NODE, NULL);
        fake_settle(one);
        CHECK_TOLD(read, answers[i].status);
    }
    const size_t read = ask_once(ZKL_OP_GET, NODE, NULL);
    fake_settle(one);
    check_data(read, "1");
}

static void what_is_missing_is_told(void) {
    const size_t get = ask(ZKL_OP_GET, NODE, NULL), exists = ask(ZKL_OP_EXISTS, NODE, NULL),
                 children = ask(ZKL_OP_CHILDREN, NODE, NULL);
    fake_settle(one);
    CHECK_TOLD(get, ZKL_NO_NODE);
    CHECK_TOLD(exists, ZKL_OK);
    CHECK(!zkl_node_request_found(requests[exists]));
    CHECK_TOLD(children, ZKL_NO_NODE);
}

static void children_are_sorted(void) {
    make("/locks/b", "");
    make("/locks/c", "");
    const size_t i = ask(ZKL_OP_CHILDREN, "/locks", NULL);
    fake_settle(one);
    CHECK_TOLD(i, ZKL_OK);
    const zkl_content *content = zkl_node_request_content(requests[i], 0);
    CHECK_INT(content->count, 3);
    CHECK_TEXT(content->names[0], "a");
    CHECK_TEXT(content->names[2], "c");
}

static void an_acl_is_read_behind_a_barrier(void) {
    make(NODE, "1");
    for (unsigned closed = 0; closed < 2; closed++) {
        fake_find(zk, NODE, FAKE_LATEST)->closed = closed;
        const size_t i = ask(ZKL_OP_ACL, NODE, NULL);
        CHECK_TEXT(fake_batch(one), closed ? "A" : "SDA");
        fake_settle(one);
        check_data(i, closed ? "digest:me:x:rwcda\n" : "world:anyone:rwcda\n");
        CHECK_INT(zkl_node_request_content(requests[i], 0)->exposed, !closed);
    }
}

static void the_acl_of_no_node_is_missing(void) {
    const size_t i = ask(ZKL_OP_ACL, NODE, NULL);
    fake_settle(one);
    CHECK_TOLD(i, ZKL_NO_NODE);
}

/* ---- writes ---- */

static void a_write_that_was_cut_off_is_unknown_and_not_repeated(void) {
    for (unsigned carried = 0; carried < 2; carried++) {
        make(NODE, "1");
        const size_t i = ask(ZKL_OP_SET, NODE, "2");
        for (unsigned n = 0; n < carried; n++)
            fake_carry(one);
        fake_cut(one);
        CHECK_TOLD(i, ZKL_UNKNOWN);
        CHECK_TEXT(data_at(NODE), carried ? "2" : "1");
        fake_write(zk, NODE, "3");
        fake_connect(one);
        fake_settle(one);
        CHECK_TEXT(data_at(NODE), "3");
        CHECK_INT(fake_remove(zk, NODE), ZOK);
    }
}

static void a_write_waits_for_a_link(void) {
    make(NODE, "1");
    fake_cut(one);
    const size_t i = ask(ZKL_OP_SET, NODE, "2"), late = ask_for(ZKL_OP_SET, NODE, "late", 5);
    fake_wait(zk, 6);
    CHECK_WAITS(i);
    CHECK_TOLD(late, ZKL_DISCONNECTED);
    fake_connect(one);
    fake_settle(one);
    CHECK_TOLD(i, ZKL_OK);
    CHECK_TEXT(data_at(NODE), "2");
}

static void a_write_without_an_answer_at_its_deadline_is_unknown(void) {
    make(NODE, "1");
    const size_t i = ask_for(ZKL_OP_SET, NODE, "2", 5);
    fake_wait(zk, 6);
    CHECK_TOLD(i, ZKL_UNKNOWN);
    fake_settle(one);
    CHECK_TOLD(i, ZKL_UNKNOWN);
    CHECK_TEXT(data_at(NODE), "2");
}

static void a_write_is_unknown_when_its_handle_is_gone(void) {
    make(NODE, "1");
    const size_t before = ask(ZKL_OP_SET, NODE, "2");
    fake_cut_quietly(one); /* its answer does not come */
    CHECK_WAITS(before);
    fake_relink(one);
    CHECK_TOLD(before, ZKL_UNKNOWN);
    fake_connect(one);
    fake_settle(one);
    const size_t after = ask(ZKL_OP_SET, NODE, "3");
    fake_expire(one);
    CHECK_TOLD(after, ZKL_UNKNOWN);
}

static void what_became_of_a_write_is_read_from_no_server_that_lags(void) {
    ask(ZKL_OP_GET, NODE, NULL); /* the handle has its barrier behind it */
    fake_settle(one);
    const int64_t old = zk->zxid;
    const size_t i = ask(ZKL_OP_CREATE, NODE, "2");
    fake_carry(one);
    fake_cut(one);
    CHECK_TOLD(i, ZKL_UNKNOWN);
    fake_lag(one, old);
    fake_connect(one);
    const size_t after = ask(ZKL_OP_GET, NODE, NULL);
    fake_settle(one);
    check_data(after, "2");
}

/* The host drops it: a signal or coroutine.close has ended the call. */
static void interrupt(size_t i) {
    zkl_ask_free(zkl_ask_of_request(requests[i]));
    requests[i] = NULL;
    fake_leave(one);
}

static void what_became_of_an_interrupted_write_is_read_from_no_server_that_lags(void) {
    for (unsigned several = 0; several < 2; several++) {
        const char *data = several ? "3" : "2";
        fake_remove(zk, NODE);
        warm_up();
        const int64_t old = zk->zxid;
        const zkl_op own = op(ZKL_OP_CREATE, NODE, data);
        const size_t i = start(&(zkl_wish){.ops = &own, .count = 1, .several = several}, LATER);
        fake_carry(one);
        interrupt(i);
        fake_cut(one);
        fake_lag(one, old);
        fake_connect(one);
        const size_t after = ask(ZKL_OP_GET, NODE, NULL);
        fake_settle(one);
        check_data(after, data);
    }
}

static void an_interrupted_read_costs_no_barrier(void) {
    make(NODE, "1");
    warm_up();
    interrupt(ask(ZKL_OP_GET, NODE, NULL));
    fake_settle(one);
    const size_t after = ask(ZKL_OP_GET, NODE, NULL);
    CHECK_TEXT(fake_batch(one), "G");
    fake_settle(one);
    check_data(after, "1");
}

static void closing_tells_what_was_handed_over_and_what_was_not(void) {
    make(NODE, "1");
    const size_t handed = ask(ZKL_OP_SET, NODE, "2"), read = ask(ZKL_OP_GET, NODE, NULL);
    fake_cut_quietly(one);
    const size_t waiting = ask(ZKL_OP_SET, NODE, "3");
    zkl_asks_give_up(&one->nodes.asks, ZKL_CLOSED);
    fake_leave(one);
    CHECK_TOLD(handed, ZKL_UNKNOWN);
    CHECK_TOLD(read, ZKL_CLOSED);
    CHECK_TOLD(waiting, ZKL_CLOSED);
}

static void what_was_dropped_is_never_handed_over(void) {
    make(NODE, "1");
    fake_cut(one);
    const size_t i = ask(ZKL_OP_SET, NODE, "2");
    zkl_ask_free(zkl_ask_of_request(requests[i]));
    requests[i] = NULL;
    fake_connect(one);
    fake_settle(one);
    CHECK_TEXT(data_at(NODE), "1");
}

static void parents_are_made_where_they_are_missing(void) {
    zkl_op own = op(ZKL_OP_CREATE, "/locks/p/q/x", "1");
    own.parents = true;
    const size_t i = start(&(zkl_wish){.ops = &own, .count = 1}, LATER);
    fake_settle(one);
    CHECK_TOLD(i, ZKL_OK);
    CHECK_TEXT(zkl_node_request_content(requests[i], 0)->data, "/locks/p/q/x");
    CHECK_INT(fake_find(zk, "/locks/p", FAKE_LATEST)->mode, FAKE_CONTAINER);
    const size_t without = ask(ZKL_OP_CREATE, "/locks/r/x", "1");
    fake_settle(one);
    CHECK_TOLD(without, ZKL_NO_NODE);
}

static void parents_that_may_not_be_made_are_told(void) {
    zkl_op own = op(ZKL_OP_CREATE, "/locks/p/x", "1");
    own.parents = true;
    fake_refuse(zk, FAKE_CREATE, "/locks/p", ZNOAUTH, 0);
    const size_t i = start(&(zkl_wish){.ops = &own, .count = 1}, LATER);
    fake_settle(one);
    CHECK_TOLD(i, ZKL_ACCESS_DENIED);
    CHECK(one->counts[FAKE_CREATE] <= 2); /* and not again and again */
}

static void each_content_has_the_size_of_the_struct(void) {
    const zkl_op ops[] = {op(ZKL_OP_CREATE, NODE, "1"), op(ZKL_OP_SET, NODE, "2")};
    size_t asked[] = {start(&(zkl_wish){.ops = ops, .count = 2, .several = true}, LATER),
                      ask(ZKL_OP_GET, NODE, NULL), ask(ZKL_OP_CREATE, "/locks/y", "y"),
                      ask(ZKL_OP_EXISTS, "/locks/none", NULL)};
    fake_settle(one);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        CHECK_TOLD(asked[i], ZKL_OK);
        CHECK_INT(zkl_node_request_content(requests[asked[i]], 0)->size, sizeof(zkl_content));
    }
    CHECK_INT(zkl_node_request_content(requests[asked[0]], 1)->size, sizeof(zkl_content));
}

static void what_is_too_big_is_never_sent(void) {
    char *big = malloc(1000001);
    memset(big, 'x', 1000000);
    big[1000000] = '\0';
    make(NODE, "1");
    const size_t i = ask(ZKL_OP_SET, NODE, big);
    free(big);
    CHECK_TOLD(i, ZKL_TOO_BIG);
    CHECK_TEXT(fake_batch(one), "");
}

/* ---- several ---- */

static void all_or_none_of_several_are_done(void) {
    make(NODE, "1");
    zkl_op ops[] = {op(ZKL_OP_SET, NODE, "2"), op(ZKL_OP_CREATE, "/locks/y", "y"),
                    op(ZKL_OP_CHECK, NODE, NULL)};
    ops[2].version = 7;
    const size_t none = start(&(zkl_wish){.ops = ops, .count = 3, .several = true}, LATER);
    fake_settle(one);
    CHECK_TOLD(none, ZKL_BAD_VERSION);
    CHECK_INT(zkl_node_request_failed(requests[none]), 3);
    CHECK_TEXT(data_at(NODE), "1");
    const size_t all = start(&(zkl_wish){.ops = ops, .count = 2, .several = true}, LATER);
    fake_settle(one);
    CHECK_TOLD(all, ZKL_OK);
    CHECK_TEXT(zkl_node_request_content(requests[all], 1)->data, "/locks/y");
    CHECK_INT(zkl_node_request_content(requests[all], 0)->stat.version, 1);
    CHECK_TEXT(data_at(NODE), "2");
}

/* ---- guarded ---- */

static void a_guarded_write_is_done_while_it_holds(void) {
    make(NODE, "1");
    fake_caller *holder = fake_holder(one);
    const size_t i = ask_guarded(holder->contender, NODE, "2");
    fake_settle(one);
    CHECK_TOLD(i, ZKL_OK);
    CHECK_TEXT(data_at(NODE), "2");
    CHECK_INT(zkl_node_request_content(requests[i], 0)->stat.version, 1);
    CHECK(fake_held(holder));
}

static void a_guarded_write_of_who_has_lost_is_not_done_and_ends_the_hold(void) {
    make(NODE, "1");
    fake_caller *holder = fake_holder(one);
    const size_t i = ask_guarded(holder->contender, NODE, "2");
    CHECK_INT(fake_remove(zk, fake_node_of(holder)), ZOK); /* before it arrives */
    fake_carry(one);
    fake_settle(one);
    CHECK_TOLD(i, ZKL_LOST);
    CHECK_TEXT(data_at(NODE), "1");
    CHECK(!fake_held(holder));
    CHECK_INT(holder->losses, 1);
    CHECK_INT(fake_release(holder), ZKL_LOST);
}

static void the_guard_itself_ends_a_hold_of_which_no_watch_tells(void) {
    make(NODE, "1");
    fake_caller *holder = fake_holder(one);
    fake_lag(one, zk->zxid); /* watches tell nothing */
    CHECK_INT(fake_remove(zk, fake_node_of(holder)), ZOK);
    CHECK(fake_held(holder));
    const size_t i = ask_guarded(holder->contender, NODE, "2");
    fake_carry(one);
    while (!one->answered[i])
        CHECK(fake_deliver(one));
    CHECK_TOLD(i, ZKL_LOST);
    CHECK(!fake_held(holder));
    fake_settle(one);
    CHECK_INT(holder->losses, 1);
}

static void what_was_not_handed_over_when_the_hold_ends_never_is(void) {
    make(NODE, "1");
    fake_caller *holder = fake_holder(one);
    fake_cut(one);
    const size_t i = ask_guarded(holder->contender, NODE, "2");
    CHECK_WAITS(i);
    fake_expire(one);
    CHECK_TOLD(i, ZKL_LOST);
    fake_connect(one);
    fake_settle(one);
    CHECK_TEXT(data_at(NODE), "1");
}

static void a_guarded_write_that_waits_when_its_holder_releases_is_lost(void) {
    make(NODE, "1");
    fake_caller *holder = fake_holder(one);
    fake_cut(one);
    const size_t released = ask_guarded(holder->contender, NODE, "2");
    CHECK_INT(fake_release(holder), ZKL_OK);
    CHECK_TOLD(released, ZKL_LOST);
    fake_connect(one);
    fake_settle(one);
    fake_caller *other = fake_holder(one);
    fake_cut(one);
    const size_t dropped = ask_guarded(other->contender, NODE, "3");
    fake_drop(other);
    CHECK_TOLD(dropped, ZKL_LOST);
    fake_connect(one);
    fake_settle(one);
    CHECK_TEXT(data_at(NODE), "1");
}

static void all_nodes_of_a_multilock_are_its_guard(void) {
    const char *const paths[] = {"/locks/m1", "/locks/m2"};
    make(NODE, "1");
    fake_caller *holder = fake_join_all(one, paths, 2, LATER);
    fake_settle(one);
    CHECK(fake_held(holder));
    const size_t good = ask_guarded(holder->contender, NODE, "2");
    fake_settle(one);
    CHECK_TOLD(good, ZKL_OK);
    const zkl_contender *second = holder->contender->call->part(holder->contender, 1);
    char path[256];
    snprintf(path, sizeof path, "%s/%s", second->line->path, second->name);
    const size_t bad = ask_guarded(holder->contender, NODE, "3");
    CHECK_INT(fake_remove(zk, path), ZOK);
    fake_carry(one);
    fake_settle(one);
    CHECK_TOLD(bad, ZKL_LOST);
    CHECK_TEXT(data_at(NODE), "2");
    CHECK_INT(holder->losses, 1);
}

/* The end of the step checks that nothing is left to be looked at (invariants.h). */
static void a_guarded_write_ends_the_shared_node_that_callers_share(void) {
    make(NODE, "1");
    fake_caller *first = fake_share(one, LINE, LATER), *second = fake_share(one, LINE, LATER);
    fake_settle(one);
    CHECK(fake_held(first) && fake_waits(second));
    const size_t i = ask_guarded(first->contender, NODE, "2");
    fake_settle(one);
    CHECK_TOLD(i, ZKL_OK);
    CHECK_INT(fake_release(first), ZKL_OK);
    CHECK(!fake_held(second)); /* not on the same node */
    fake_settle(one);
    CHECK(fake_held(second));
    CHECK(second->token > first->token);
}

static void an_op_that_fails_is_told_apart_from_the_guard(void) {
    fake_caller *holder = fake_holder(one);
    const size_t i = ask_guarded(holder->contender, NODE, "2");
    fake_settle(one);
    CHECK_TOLD(i, ZKL_NO_NODE);
    CHECK_INT(zkl_node_request_failed(requests[i]), 1);
    CHECK(fake_held(holder));
}

/* ---- syncs ---- */

static void a_sync_is_a_sync_and_a_write(void) {
    const size_t i = start(&(zkl_wish){.count = 0}, LATER);
    CHECK_TEXT(fake_batch(one), "SD");
    fake_cut(one);
    CHECK_WAITS(i);
    fake_connect(one);
    fake_settle(one);
    CHECK_TOLD(i, ZKL_OK);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"the first read of a handle is behind a sync and a write",
         the_first_read_of_a_handle_is_behind_a_sync_and_a_write},
        {"a new handle shows nothing older than was read before",
         a_new_handle_shows_nothing_older_than_was_read_before},
        {"a read whose barrier was refused does not count",
         a_read_whose_barrier_was_refused_does_not_count},
        {"a read is repeated until it is answered", a_read_is_repeated_until_it_is_answered},
        {"a read ends at its deadline", a_read_ends_at_its_deadline},
        {"a single try ends with the link", one_try_is_over_with_the_link},
        {"a single try ends when a server refuses it for now",
         one_try_ends_when_a_server_refuses_it_for_now},
        {"a single try has no deadline", one_try_has_no_deadline},
        {"a single try ends when its barrier is refused", one_try_ends_when_its_barrier_is_refused},
        {"a missing node is reported", what_is_missing_is_told},
        {"children are sorted", children_are_sorted},
        {"an ACL is read behind a barrier", an_acl_is_read_behind_a_barrier},
        {"the ACL of no node is missing", the_acl_of_no_node_is_missing},
        {"a write that was cut off is unknown and not repeated",
         a_write_that_was_cut_off_is_unknown_and_not_repeated},
        {"a write waits for a link", a_write_waits_for_a_link},
        {"a write without an answer at its deadline is unknown",
         a_write_without_an_answer_at_its_deadline_is_unknown},
        {"no lagging server shows the result of an unknown write",
         what_became_of_a_write_is_read_from_no_server_that_lags},
        {"no lagging server shows the result of an interrupted write",
         what_became_of_an_interrupted_write_is_read_from_no_server_that_lags},
        {"an interrupted read costs no barrier", an_interrupted_read_costs_no_barrier},
        {"a write is unknown when its handle is gone", a_write_is_unknown_when_its_handle_is_gone},
        {"closing reports which requests were handed over",
         closing_tells_what_was_handed_over_and_what_was_not},
        {"a dropped request is never handed over", what_was_dropped_is_never_handed_over},
        {"parents are made where they are missing", parents_are_made_where_they_are_missing},
        {"parents that may not be created fail the request", parents_that_may_not_be_made_are_told},
        {"each content has the size of the struct", each_content_has_the_size_of_the_struct},
        {"a request that is too big is never sent", what_is_too_big_is_never_sent},
        {"all or none of several are done", all_or_none_of_several_are_done},
        {"a guarded write is done while it holds", a_guarded_write_is_done_while_it_holds},
        {"a guarded write after a loss is not done, and ends the hold",
         a_guarded_write_of_who_has_lost_is_not_done_and_ends_the_hold},
        {"the guard itself ends a hold of which no watch tells",
         the_guard_itself_ends_a_hold_of_which_no_watch_tells},
        {"a guarded write that waits when its hold ends is never handed over",
         what_was_not_handed_over_when_the_hold_ends_never_is},
        {"a guarded write that waits when its holder releases is lost",
         a_guarded_write_that_waits_when_its_holder_releases_is_lost},
        {"all nodes of a multilock are its guard", all_nodes_of_a_multilock_are_its_guard},
        {"a guarded write ends the node that callers share",
         a_guarded_write_ends_the_shared_node_that_callers_share},
        {"an op that fails is told apart from the guard",
         an_op_that_fails_is_told_apart_from_the_guard},
        {"a sync is a sync and a write", a_sync_is_a_sync_and_a_write},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
