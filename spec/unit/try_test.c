/* SPDX-License-Identifier: MIT */
/* A caller that tries once (timeout 0), and servers that throttle: its call ends with the first
 * such answer, and leaves nothing behind. */
#include "fake_world.h"

#include <string.h>

#define SEMAPHORE "/semaphore"
#define GATE SEMAPHORE "/locks"
#define LEASES SEMAPHORE "/leases"
#define OTHER "/locks/b"

static const char *const both[] = {LINE, OTHER};

static fake_caller *try_it(void) {
    return fake_try(one, LINE);
}

static fake_caller *try_both(void) {
    return fake_join_all(one, both, 2, 0);
}

static fake_caller *try_leases(void) {
    return fake_lease_within(one, SEMAPHORE, 2, 2, 0);
}

static fake_caller *try_shared(void) {
    return fake_share(one, LINE, 0);
}

/* The next call gets what it asks for. */
static void check_next(fake_caller *(*try)(void)) {
    fake_caller *next = try();
    fake_beat(one, 60);
    fake_still(one);
    CHECK(fake_held(next));
    fake_release(next);
    fake_settle(one);
    fake_wait(zk, 10);
    fake_settle(one);
}

/* The servers throttle the requests of that kind below `path` until the call has ended. It leaves
 * nothing behind. */
static void check_throttled(fake_caller *(*try)(void), fake_op op, const char *path) {
    fake_refuse(zk, op, path, ZTHROTTLEDOP, 0);
    fake_caller *p = try();
    fake_settle(one);
    CHECK_FAILED(p, ZTHROTTLEDOP);
    CHECK(one->counts[op] > 0);
    fake_allow(zk);
    fake_beat(one, 10);
    fake_still(one);
    CHECK_CLEAN();
    memset(one->counts, 0, sizeof one->counts);
}

static void a_try_ends_when_a_server_throttles_it(void) {
    static const fake_op ops[] = {FAKE_CREATE, FAKE_LIST};
    for (size_t i = 0; i < 2; i++) {
        check_throttled(try_it, ops[i], LINE);
        check_next(try_it);
        check_throttled(try_shared, ops[i], LINE);
        check_next(try_shared);
    }
}

static void a_try_ends_when_the_acl_is_throttled(void) {
    one->context.acl = ZKL_ACL_CREATOR;
    check_throttled(try_it, FAKE_ACL, LINE);
    check_throttled(try_shared, FAKE_ACL, LINE);
}

static fake_caller *try_deep(void) {
    return fake_try(one, "/x/y/lock");
}

static fake_caller *try_both_deep(void) {
    static const char *const paths[] = {"/x/y/lock", "/x/z/lock"};
    return fake_join_all(one, paths, 2, 0);
}

static void a_try_ends_when_the_creates_below_a_directory_are_throttled(void) {
    check_throttled(try_deep, FAKE_CREATE, "/x");
    check_next(try_deep);
}

/* Each try asks for the directories again. */
static void a_try_ends_when_the_acls_of_directories_are_throttled(void) {
    one->context.acl = ZKL_ACL_CREATOR;
    for (unsigned i = 1; i <= 20; i++) {
        fake_refuse(zk, FAKE_ACL, "/", ZTHROTTLEDOP, 0);
        fake_caller *p = try_deep();
        fake_settle(one);
        CHECK_FAILED(p, ZTHROTTLEDOP);
        CHECK(one->counts[FAKE_ACL] >= i);
        fake_allow(zk);
    }
    check_throttled(try_deep, FAKE_ACL, "/");
    check_next(try_deep);
}

static void a_try_of_a_multilock_ends_when_the_acls_of_directories_are_throttled(void) {
    one->context.acl = ZKL_ACL_CREATOR;
    check_throttled(try_both_deep, FAKE_ACL, "/");
    check_next(try_both_deep);
}

static void a_try_of_a_multilock_ends_when_a_server_throttles_it(void) {
    fake_directory(zk, OTHER);
    check_throttled(try_both, FAKE_TRANSACT, LINE);
    check_throttled(try_both, FAKE_LIST, OTHER);
    check_next(try_both);
}

/* That the mark is denied says nothing of the nodes: the client asks again without it, at once. */
static void a_try_of_a_multilock_goes_on_without_the_mark(void) {
    fake_directory(zk, OTHER);
    fake_refuse(zk, FAKE_TRANSACT, LINE, ZNOAUTH, 1);
    fake_caller *p = try_both();
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(one->counts[FAKE_TRANSACT], 2);
}

static void a_try_of_leases_ends_when_its_gate_is_throttled(void) {
    fake_directory(zk, GATE);
    check_throttled(try_leases, FAKE_CREATE, GATE);
    check_throttled(try_leases, FAKE_LIST, GATE);
    check_next(try_leases);
}

static void a_try_of_leases_ends_when_the_creates_of_leases_are_throttled(void) {
    fake_directory(zk, LEASES);
    check_throttled(try_leases, FAKE_CREATE, LEASES);
    check_next(try_leases);
}

static void a_try_of_leases_ends_when_the_lists_of_leases_are_throttled(void) {
    fake_directory(zk, LEASES);
    check_throttled(try_leases, FAKE_LIST, LEASES);
    check_next(try_leases);
}

/* Both have their nodes in one line, or on one: only the one that tries once hears of it. */
static fake_caller *join_within(fake_client *client, const char *path, double seconds) {
    return seconds == 0 ? fake_try(client, path) : fake_join(client, path, seconds);
}

static void check_beside(fake_caller *(*join)(fake_client *, const char *, double), fake_op op) {
    fake_refuse(zk, op, LINE, ZTHROTTLEDOP, 1);
    fake_caller *impatient = join(one, LINE, 0), *patient = join(one, LINE, 60);
    fake_settle(one);
    CHECK_FAILED(impatient, ZTHROTTLEDOP);
    CHECK(!patient->answers || patient->granted);
    fake_beat(one, 10);
    fake_still(one);
    CHECK(fake_held(patient));
    fake_release(patient);
    fake_settle(one);
    fake_wait(zk, 10);
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_try_ends_beside_a_caller_that_waits(void) {
    fake_write(zk, LINE, "data"); /* so that there is always a list (count_test) */
    check_beside(join_within, FAKE_CREATE);
    check_beside(join_within, FAKE_LIST);
}

static void a_try_on_a_shared_node_ends_beside_a_caller_that_waits(void) {
    check_beside(fake_share, FAKE_CREATE);
    check_beside(fake_share, FAKE_LIST);
}

/* A request of another contender says nothing about this one. */
static void a_try_goes_on_when_another_request_is_throttled(void) {
    fake_caller *holder = fake_holder(one);
    fake_refuse(zk, FAKE_ERASE, LINE, ZTHROTTLEDOP, 1);
    fake_release(holder);
    fake_caller *p = try_it();
    fake_answer(one);
    CHECK(fake_waits(p) || fake_held(p) || p->status == ZKL_TIMEOUT);
}

/* Each has a node of its own in the line. */
static void a_try_on_a_shared_node_goes_on_when_another_node_is_throttled(void) {
    fake_refuse(zk, FAKE_CREATE, LINE, ZTHROTTLEDOP, 1);
    fake_caller *reader = fake_share_kind(one, LINE, ZKL_KIND_READ, 60);
    fake_caller *writer = fake_share_kind(one, LINE, ZKL_KIND_WRITE, 0);
    fake_settle(one);
    CHECK(writer->status != ZTHROTTLEDOP);
    CHECK(fake_held(writer) || writer->status == ZKL_TIMEOUT);
    CHECK(fake_waits(reader) || fake_held(reader));
}

/* The answer to a create was lost: only a list behind a write shows whether there is a node. */
static void a_try_ends_when_the_write_before_its_list_is_throttled(void) {
    fake_caller *waiter = fake_join(one, LINE, 60);
    fake_cut_quietly(one);
    fake_relink(one);
    fake_connect(one);
    fake_refuse(zk, FAKE_ERASE, one->context.nothing, ZTHROTTLEDOP, 0);
    fake_caller *p = try_it();
    fake_settle(one);
    CHECK(waiter->answers == 0 || waiter->granted);
    CHECK_FAILED(p, ZTHROTTLEDOP);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a try ends when a server throttles it", a_try_ends_when_a_server_throttles_it},
        {"a try ends when the read of the ACL is throttled", a_try_ends_when_the_acl_is_throttled},
        {"a try ends when the creates below a directory are throttled",
         a_try_ends_when_the_creates_below_a_directory_are_throttled},
        {"a try ends when the reads of the directories' ACLs are throttled",
         a_try_ends_when_the_acls_of_directories_are_throttled},
        {"a try of a multilock ends when the reads of the directories' ACLs are throttled",
         a_try_of_a_multilock_ends_when_the_acls_of_directories_are_throttled},
        {"a try of a multilock ends when a server throttles it",
         a_try_of_a_multilock_ends_when_a_server_throttles_it},
        {"a try of a multilock goes on without the mark",
         a_try_of_a_multilock_goes_on_without_the_mark},
        {"a try of leases ends when its gate is throttled",
         a_try_of_leases_ends_when_its_gate_is_throttled},
        {"a try of leases ends when the creates of leases are throttled",
         a_try_of_leases_ends_when_the_creates_of_leases_are_throttled},
        {"a try of leases ends when the lists of leases are throttled",
         a_try_of_leases_ends_when_the_lists_of_leases_are_throttled},
        {"a try ends beside a caller that waits", a_try_ends_beside_a_caller_that_waits},
        {"a try on a shared node ends beside a caller that waits",
         a_try_on_a_shared_node_ends_beside_a_caller_that_waits},
        {"a try on a shared node goes on when another node is throttled",
         a_try_on_a_shared_node_goes_on_when_another_node_is_throttled},
        {"a try ends when the write before its list is throttled",
         a_try_ends_when_the_write_before_its_list_is_throttled},
        {"a try goes on when the request of another contender is throttled",
         a_try_goes_on_when_another_request_is_throttled},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
