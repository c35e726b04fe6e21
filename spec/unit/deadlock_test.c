/* SPDX-License-Identifier: MIT */
/* Owners of one client that would wait for each other for ever. */
#include "client/deadlock.h"
#include "fake_world.h"
#include "line/contender.h"

#define A "/locks/a"
#define B "/locks/b"
#define C "/locks/c"

static const char *const ab[] = {A, B};

/* Gives the caller, which has just joined, this owner, as the host's terms would have. */
static fake_caller *of(uint32_t owner, fake_caller *caller) {
    zkl_contender *c = caller->contender;
    const zkl_contender *part;
    c->context->owners[c->receiver.owner % ZKL_OWNER_SLOTS] -= c->phase == ZKL_HELD;
    c->context->owners[owner % ZKL_OWNER_SLOTS] += c->phase == ZKL_HELD;
    for (size_t i = 0; !c->call->seal && (part = c->call->part(c, i)); i++) /* no shared node */
        ((zkl_contender *)part)->receiver.owner = owner;
    c->receiver.owner = owner;
    fake_settle_all(zk);
    return caller;
}

static bool closes_as(zkl_kind kind, const char *path, uint32_t owner) {
    const zkl_terms terms = {.kind = kind, .deadline = ZKL_NEVER, .owner = owner};
    return zkl_deadlock_closes(&one->lines, &path, 1, &terms);
}

static bool closes(const char *path, uint32_t owner) {
    return closes_as(ZKL_KIND_LOCK, path, owner);
}

static fake_caller *take(const char *path, uint32_t owner) {
    fake_caller *caller = of(owner, fake_join(one, path, 1e12));
    CHECK(fake_held(caller));
    return caller;
}

static fake_caller *wait_at(const char *path, uint32_t owner) {
    fake_caller *caller = of(owner, fake_join(one, path, 1e12));
    CHECK(fake_waits(caller));
    return caller;
}

static void two_owners_wait_for_each_other(void) {
    take(A, 1);
    take(B, 2);
    CHECK(!closes(B, 1));
    fake_caller *waits = wait_at(A, 2);
    CHECK(closes(B, 1));
    CHECK(!closes(B, 3));
    CHECK(!closes(B, 0));
    CHECK(!closes(C, 1));
    fake_cancel(waits);
    fake_settle_all(zk);
    CHECK(!closes(B, 1));
}

static void three_do(void) {
    take(A, 1);
    take(B, 2);
    take(C, 3);
    wait_at(B, 1);
    wait_at(C, 2);
    CHECK(closes(A, 3));
    CHECK(!closes(A, 4));
}

static void a_wait_with_a_deadline_breaks_it(void) {
    take(A, 1);
    take(B, 2);
    fake_caller *caller = of(2, fake_join(one, A, 5));
    CHECK(fake_waits(caller));
    CHECK(!closes(B, 1));
    fake_cancel(caller);
    wait_at(A, 2);
    CHECK(closes(B, 1));
    const char *path = B;
    zkl_terms terms = {.kind = ZKL_KIND_LOCK, .deadline = fake_now + ZKL_SECOND, .owner = 1};
    CHECK(!zkl_deadlock_closes(&one->lines, &path, 1, &terms));
    terms.deadline = ZKL_NEVER;
    terms.once = true;
    CHECK(!zkl_deadlock_closes(&one->lines, &path, 1, &terms));
}

static void a_hold_with_an_end_breaks_it(void) {
    CHECK(fake_held(of(1, fake_join_for(one, A, 60))));
    take(B, 2);
    wait_at(A, 2);
    CHECK(!closes(B, 1));
}

static void other_clients_are_not_judged(void) {
    fake_join(two, B, 1e12);
    fake_settle_all(zk);
    take(A, 1);
    wait_at(A, 2);
    CHECK(!closes(B, 1));
}

static void a_multilock_is_in_it_by_any_of_its_parts(void) {
    take(B, 2);
    fake_caller *both = of(1, fake_join_all(one, ab, 2, 1e12));
    CHECK(fake_waits(both));
    CHECK(closes(A, 2)); /* its node at A is first */
    CHECK(!closes(A, 3));
    const zkl_terms terms = {.kind = ZKL_KIND_LOCK, .deadline = ZKL_NEVER, .owner = 3};
    take(C, 3);
    wait_at(C, 2);
    CHECK(zkl_deadlock_closes(&one->lines, ab, 2, &terms));
}

/* Does a wait for C close a circle? Owner 3 asks for these paths, and then owner 2, which holds C,
 * for A; owner 1 holds B. */
static bool closes_behind(const char *const *paths, size_t count) {
    fake_caller *all = fake_join_all(one, paths, count, 1e12), *later = fake_join(one, A, 1e12);
    of(2, later);
    of(3, all);
    const bool is_one = closes(C, 1);
    fake_cancel(all);
    fake_cancel(later);
    fake_settle_all(zk);
    return is_one;
}

/* The transaction finds no directory for the third node, so its nodes come after a later one. */
static void waiters_stand_in_the_order_of_their_nodes(void) {
    static const char *const with_new[] = {A, B, "/locks/new"};
    fake_join(two, A, 1e12);
    fake_settle_all(zk);
    take(B, 1);
    take(C, 2);
    CHECK(closes_behind(ab, 2));
    CHECK(!closes_behind(with_new, 3));
    CHECK(closes_behind(with_new, 3));
}

static void readers_wait_for_writers_only(void) {
    of(1, fake_read(one, A));
    CHECK(closes_as(ZKL_KIND_WRITE, A, 1)); /* for itself */
    take(B, 2);
    wait_at(B, 1);
    CHECK(closes_as(ZKL_KIND_WRITE, A, 2));
    CHECK(!closes_as(ZKL_KIND_READ, A, 2));
    of(3, fake_write_lock(one, A));
    CHECK(closes_as(ZKL_KIND_READ, A, 2)); /* behind the writer, which waits for the reader */
}

static void callers_on_a_place_are_in_it_until_it_rests(void) {
    fake_caller *first = of(1, fake_share(one, A, 1e12));
    CHECK(fake_held(first));
    take(B, 2);
    of(2, fake_share(one, A, 1e12));
    CHECK(closes(B, 1));
    CHECK(!closes(B, 3));
}

static void a_hold_that_has_rested_may_be_another_owner_s(void) {
    fake_caller *first = of(1, fake_share(one, A, 1e12));
    CHECK(fake_held(first));
    CHECK(fake_rest(first) && fake_take_again(first));
    take(B, 2);
    of(2, fake_share(one, A, 1e12));
    CHECK(!closes(B, 1));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"two owners that wait for each other are a deadlock", two_owners_wait_for_each_other},
        {"so are three", three_do},
        {"a wait with a deadline breaks it", a_wait_with_a_deadline_breaks_it},
        {"a hold with an end breaks it", a_hold_with_an_end_breaks_it},
        {"other clients are not judged", other_clients_are_not_judged},
        {"a multilock is in it by any of its parts", a_multilock_is_in_it_by_any_of_its_parts},
        {"waiters stand in the order of their nodes", waiters_stand_in_the_order_of_their_nodes},
        {"a reader waits for writers only", readers_wait_for_writers_only},
        {"callers on a place are in it", callers_on_a_place_are_in_it_until_it_rests},
        {"a hold that has rested may be another owner's",
         a_hold_that_has_rested_may_be_another_owner_s},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
