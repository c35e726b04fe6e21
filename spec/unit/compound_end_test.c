/* SPDX-License-Identifier: MIT */
/* Several contenders that are one: how they fail, are given up and begin anew. */
#include "fake_world.h"

#include "port/wire.h"

#include <stdio.h>
#include <string.h>

#define A "/locks/a"
#define B "/locks/b"
#define POOL "/locks/pool"

static const char *const ab[] = {A, B}, *const bp[] = {B, POOL};

static fake_caller *settled(fake_caller *caller) {
    fake_settle_all(zk);
    return caller;
}

static void begin(void) {
    fake_world_begin();
    fake_directory(zk, B);
    fake_directory(zk, POOL "/locks");
    fake_directory(zk, POOL "/leases");
}

static fake_caller *both(fake_client *client, const char *const *paths) {
    return fake_join_all(client, paths, 2, 1e12);
}

/* ---- failures ---- */

static void refuse_line(zkl_line *line) {
    zkl_line_fail(line, ZKL_AUTH_FAILED, false);
}

/* The servers refuse the session: waiters are told so, and what was held is lost, in one step. */
static void refuse(fake_client *client) {
    fake_cut(client);
    zkl_lines_each(&client->lines, refuse_line);
    fake_expire(client);
}

static void a_refused_session_is_told_whichever_part_was_held(void) {
    settled(fake_join(two, B, 1e12));
    fake_caller *p = settled(both(one, ab)), *q = settled(both(one, bp));
    refuse(one);
    CHECK_FAILED(p, ZKL_AUTH_FAILED);
    CHECK_FAILED(q, ZKL_AUTH_FAILED);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
}

static void a_refused_session_is_told_while_the_nodes_are_made(void) {
    fake_caller *p = both(one, ab);
    fake_cut_quietly(one); /* the transaction's answer does not come */
    zkl_lines_each(&one->lines, refuse_line);
    fake_expire(one);
    CHECK_FAILED(p, ZKL_AUTH_FAILED);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
}

static void a_refused_session_is_told_at_an_open_gate(void) {
    settled(fake_lease(two, POOL, 1, 1));
    fake_caller *p = settled(fake_lease(one, POOL, 1, 1));
    refuse(one);
    CHECK_FAILED(p, ZKL_AUTH_FAILED);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
}

static void close_line(zkl_line *line) {
    zkl_line_fail(line, ZKL_CLOSED, true);
}

/* A part that is held is released, which is no answer to whoever waits for the others. */
static void who_waits_when_the_client_closes_is_told_so(void) {
    settled(fake_join(two, B, 1e12));
    settled(fake_lease(two, POOL, 1, 1));
    fake_caller *p = settled(both(one, ab)), *q = settled(fake_lease(one, POOL, 1, 1));
    zkl_lines_each(&one->lines, close_line);
    fake_leave(one);
    CHECK_FAILED(p, ZKL_CLOSED);
    CHECK_FAILED(q, ZKL_CLOSED);
    settled(p);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
}

/* Its nodes were deleted so often that it pauses, and is in no line meanwhile. */
static fake_caller *pausing(void) {
    settled(fake_join(two, B, 1e12));
    fake_caller *p = settled(both(one, ab));
    char path[256];
    for (int i = 0; i <= ZKL_AT_ONCE; i++) {
        CHECK_INT((int64_t)fake_children(zk, B), 2);
        snprintf(path, sizeof path, "%s/%s", B, p->contender->call->part(p->contender, 1)->name);
        CHECK_INT(fake_remove(zk, path), ZOK);
        fake_settle_all(zk);
        CHECK(fake_waits(p));
    }
    CHECK_INT((int64_t)fake_children(zk, A), 0);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
    return p;
}

static void a_pause_ends(void) {
    fake_caller *p = pausing();
    fake_wait(zk, 1);
    fake_settle_all(zk);
    CHECK(fake_waits(p));
    CHECK_INT((int64_t)fake_children(zk, A), 1);
    fake_cancel(p);
    fake_settle_all(zk);
}

static void who_pauses_when_the_client_closes_is_told_so(void) {
    fake_caller *p = pausing();
    zkl_compounds_fail(&one->lines.common, ZKL_CLOSED);
    fake_leave(one);
    CHECK_FAILED(p, ZKL_CLOSED);
    fake_wait(zk, 1);
    fake_settle_all(zk);
    CHECK_INT((int64_t)fake_children(zk, A), 0);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
}

static void who_ends_without_a_pause_ends_no_other_pause(void) {
    fake_caller *p = pausing(), *q = settled(both(one, bp));
    fake_cancel(q);
    fake_settle_all(zk);
    zkl_compounds_fail(&one->lines.common, ZKL_CLOSED);
    fake_leave(one);
    CHECK_FAILED(p, ZKL_CLOSED);
}

static void who_pauses_when_the_session_is_refused_is_told_so(void) {
    fake_caller *p = pausing();
    zkl_compounds_fail(&one->lines.common, ZKL_AUTH_FAILED);
    refuse(one);
    CHECK_FAILED(p, ZKL_AUTH_FAILED);
}

static void a_single_try_has_no_deadline(void) {
    fake_caller *p = fake_join_all(one, ab, 2, 0), *q = fake_lease_within(one, POOL, 1, 1, 0);
    fake_wait(zk, 1);
    CHECK(fake_waits(p) && fake_waits(q));
    settled(p);
    CHECK(fake_held(p) && fake_held(q));
}

static void what_waits_cannot_be_released(void) {
    settled(fake_join(two, B, 1e12));
    fake_caller *p = settled(both(one, ab));
    CHECK_INT(fake_release(p), ZKL_NOT_OWNER);
    CHECK(fake_waits(p));
    fake_cancel(p);
    CHECK_INT(fake_release(p), ZKL_NOT_OWNER);
    settled(p);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
}

/* As those see them who guard what they write by all that is held. */
static void what_is_held_has_so_many_parts(void) {
    static const char *const paths[] = {A, B, POOL};
    fake_caller *p = settled(fake_join_all(one, paths, 3, 1e12));
    zkl_contender *head = p->contender;
    for (size_t i = 0; i < 3; i++)
        CHECK_TEXT(head->call->part(head, i)->line->path, paths[i]);
    CHECK(!head->call->part(head, 3));
    const zkl_contender *part = head->call->part(head, 1);
    CHECK(part->call->part(part, 0) == part && !part->call->part(part, 1));
}

/* ---- the gate of a semaphore ---- */

static size_t leases(void) {
    return fake_children(zk, POOL "/leases");
}

static void release(fake_caller *caller) {
    CHECK_INT(fake_release(caller), ZKL_OK);
    fake_settle_all(zk);
}

static void remove_oldest_gate(void) {
    char path[256];
    const size_t last = fake_children(zk, POOL "/locks") - 1; /* the latest comes first */
    fake_wait(zk, 0.1);                                       /* the watches on the own nodes */
    fake_settle_all(zk);
    snprintf(path, sizeof path, POOL "/locks/%s", fake_child(zk, POOL "/locks", last, FAKE_LATEST));
    CHECK_INT(fake_remove(zk, path), ZOK);
    fake_settle_all(zk);
}

/* Two of three leases are taken, so a waiter for two holds its first one. Without its gate it
 * creates no leases: the next waiter has the gate, and counts on being alone. */
static void a_waiter_that_lost_its_gate_creates_no_leases(void) {
    fake_caller *holder = settled(fake_lease(two, POOL, 2, 3));
    fake_caller *a = settled(fake_lease(one, POOL, 2, 3)),
                *b = settled(fake_lease(two, POOL, 2, 3));
    CHECK_INT(leases(), 4);
    remove_oldest_gate();
    CHECK_INT(leases(), 4); /* those of the holder and of b */
    release(holder);
    CHECK(fake_waits(a) && fake_held(b));
    release(b);
    CHECK(fake_held(a));
    release(a);
    CHECK_INT(leases(), 0);
}

static void no_lease_is_granted_while_its_semaphore_gives_up(void) {
    settled(fake_lease(two, POOL, 2, 3));
    fake_caller *a = settled(fake_lease(one, POOL, 2, 3));
    const zkl_contender *head = a->contender, *first = head->call->part(head, 0),
                        *second = head->call->part(head, 1);
    CHECK_INT(first->phase, ZKL_HELD);
    CHECK_INT(second->phase, ZKL_WAITING);
    fake_cancel(a);
    CHECK_INT(first->outcome, ZKL_OK);
    CHECK_INT(second->outcome, ZKL_CANCELLED);
    fake_settle_all(zk);
    CHECK_INT(leases(), 2);
}

static void what_is_held_cannot_be_cancelled(void) {
    fake_caller *p = settled(both(one, ab));
    fake_cancel(p);
    CHECK(fake_held(p));
    CHECK_INT(p->losses, 0);
}

/* The outcome of the create is known for one part after the other, and the last that is found
 * stands behind somebody: nothing is told of it that would be a cause to go on. */
static void all_are_made_again_when_what_is_found_has_to_wait(void) {
    for (size_t i = 0; i < 2; i++) {
        fake_caller *first = settled(fake_join(two, ab[1 - i], 1e12));
        fake_caller *p = both(one, ab);
        fake_carry(one);
        fake_cut(one);
        char path[256];
        snprintf(path, sizeof path, "%s/%s", ab[i], fake_child(zk, ab[i], 0, FAKE_LATEST));
        CHECK_INT(fake_remove(zk, path), ZOK);
        fake_connect(one);
        fake_settle(one);
        CHECK(fake_waits(p));
        CHECK_INT((int64_t)fake_children(zk, ab[i]), 1);
        CHECK_INT((int64_t)fake_children(zk, ab[1 - i]), 2);
        fake_release(first);
        fake_settle_all(zk);
        CHECK(fake_held(p));
        fake_release(p);
        fake_settle_all(zk);
    }
}

static size_t lists_for(zkl_change change) {
    const unsigned before = one->counts[FAKE_LIST];
    zkl_lines_watch(&one->lines, POOL "/leases", change, false);
    fake_leave(one);
    return one->counts[FAKE_LIST] - before;
}

/* The host may watch the same directory, which tells of a write to it. */
static void a_write_to_the_directory_of_leases_is_no_change_of_them(void) {
    settled(fake_lease(two, POOL, 1, 1));
    settled(fake_lease(one, POOL, 1, 1));
    CHECK_INT((int64_t)lists_for(ZKL_CHANGE_OTHER), 0);
    CHECK_INT((int64_t)lists_for(ZKL_CHANGE_CHILDREN), 1);
}

/* ---- what it costs ---- */

/* Nothing but the create and its delete: the answer finds who has asked for it. */
static void a_lease_that_is_given_up_while_it_is_made_is_not_searched_for(void) {
    fake_caller *p = fake_lease(one, POOL, 1, 1);
    while (!fake_pending(one, FAKE_CREATE, NULL) || !fake_children(zk, POOL "/locks"))
        CHECK(fake_answer(one));
    fake_cancel(p);
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_CREATE], 2);
    CHECK_INT(one->counts[FAKE_ERASE], 2);
    CHECK_INT(one->counts[FAKE_GET], 0);
    CHECK_CLEAN();
}

static void a_new_session_is_entered_in_one_round_trip(void) {
    fake_caller *p = both(one, ab);
    fake_cut(one); /* what became of it is to be looked for */
    fake_expire(one);
    fake_connect(one);
    CHECK_TEXT(fake_batch(one), "TLL");
    CHECK(fake_held(settled(p)));
}

static void nobody_is_looked_at_without_a_cause(void) {
    settled(fake_join(two, B, 1e12));
    settled(fake_lease(two, POOL, 1, 1));
    settled(both(one, ab));
    settled(fake_lease(one, POOL, 1, 1));
    fake_leave(one);
    CHECK(!one->lines.common.dirty_compounds.first);
    CHECK(!two->lines.common.dirty_compounds.first);
    fake_caller *p = fake_join_all(two, (const char *const[]){POOL}, 1, 1e12);
    while (!fake_held(p))
        CHECK(fake_deliver(two) || fake_carry(two));
    CHECK(!two->lines.common.dirty_compounds.first); /* nor once it holds */
}

/* As much data for each node as one request takes, and `more`. */
static fake_caller *join_filled(size_t count, size_t more) {
    static char identifier[ZKL_WIRE_MOST];
    static const char *const paths[] = {A, POOL "/locks", B};
    const size_t name = strlen("/_c_01234567-0123-4123-8123-0123456789ab-lock-");
    const zkl_acl acl = one->context.acl;
    size_t bytes = zkl_wire_batch(strlen(paths[0]) + name, acl);
    for (size_t i = 0; i < count; i++)
        bytes += zkl_wire_create(strlen(paths[i]) + name, 0, acl);
    const size_t most = (ZKL_WIRE_MOST - bytes) / count + more;
    memset(identifier, 'i', most);
    identifier[most] = '\0';
    one->context.identifier = identifier;
    return fake_join_all(one, paths, count, 1e12);
}

static void what_just_fits_into_a_request_is_asked_for(void) {
    for (size_t count = 1; count <= 3; count++) {
        CHECK_FAILED(join_filled(count, 1), ZKL_TOO_BIG);
        fake_caller *p = settled(join_filled(count, 0));
        CHECK(fake_held(p));
        CHECK_INT(fake_release(p), ZKL_OK);
        settled(p);
    }
}

/* ---- what it is counted as ---- */

static void what_is_over_is_not_abandoned(void) {
    fake_caller *p = settled(both(one, ab));
    fake_release(p);
    fake_drop(p);
    CHECK_INT(one->context.counters.abandoned, 0);
    p = settled(both(one, ab));
    fake_drop(p);
    CHECK_INT(one->context.counters.abandoned, 1);
    p = both(one, ab);
    fake_drop(p);
    CHECK_INT(one->context.counters.abandoned, 2);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a refused session fails a multilock, whichever part was held",
         a_refused_session_is_told_whichever_part_was_held},
        {"... while the nodes are made", a_refused_session_is_told_while_the_nodes_are_made},
        {"a refused session fails a semaphore at an open gate",
         a_refused_session_is_told_at_an_open_gate},
        {"a waiter hears that the client closes", who_waits_when_the_client_closes_is_told_so},
        {"a multilock that has lost its nodes too often enters again after a pause", a_pause_ends},
        {"a pausing multilock hears that the client closes",
         who_pauses_when_the_client_closes_is_told_so},
        {"the end of another multilock ends no pause",
         who_ends_without_a_pause_ends_no_other_pause},
        {"a pausing multilock hears that the session is refused",
         who_pauses_when_the_session_is_refused_is_told_so},
        {"a single try has no deadline", a_single_try_has_no_deadline},
        {"a waiting multilock cannot be released", what_waits_cannot_be_released},
        {"a held multilock has as many parts as paths", what_is_held_has_so_many_parts},
        {"a held multilock cannot be cancelled", what_is_held_cannot_be_cancelled},
        {"all nodes are created again if one that was found has to wait",
         all_are_made_again_when_what_is_found_has_to_wait},
        {"a write to the directory of leases is no change of them",
         a_write_to_the_directory_of_leases_is_no_change_of_them},
        {"the line does not search for a lease that was cancelled during its create",
         a_lease_that_is_given_up_while_it_is_made_is_not_searched_for},
        {"a multilock enters a new session in one round trip",
         a_new_session_is_entered_in_one_round_trip},
        {"no compound is checked without a cause", nobody_is_looked_at_without_a_cause},
        {"a multilock that just fits into a request is sent",
         what_just_fits_into_a_request_is_asked_for},
        {"a multilock that has ended does not count as abandoned", what_is_over_is_not_abandoned},
        {"a semaphore's waiter that lost its gate creates no leases",
         a_waiter_that_lost_its_gate_creates_no_leases},
        {"no lease is granted while its semaphore gives up",
         no_lease_is_granted_while_its_semaphore_gives_up},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, fake_world_end);
}
