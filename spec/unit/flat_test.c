/* SPDX-License-Identifier: MIT */
/* The cost of a step does not grow with how many others wait, hold or have lines. Not time is
 * counted, but how many pieces of code the engine runs through (-fsanitize-coverage=trace-pc): a
 * loop over all others is seen at once, on any machine. A search in a sorted list may grow a
 * little. */
#include "fake_world.h"

#include "invariants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 32, MANY = 512 };

/* A deadline for each would be sorted in when the first one goes. */
#define FOR_EVER 1e12

static uint64_t blocks;

/* The compiler makes each piece of the engine's code call this. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
    blocks++;
}

/* The other tests check the invariants: the check looks at everybody. */
void zkl_invariants_check(const zkl_lines *lines, const zkl_nodes *nodes) {
    (void)lines;
    (void)nodes;
}

/* The engine's part of what a test does costs so much, with so many others. */
typedef struct course {
    void (*prepare)(size_t others);
    void (*run)(void);
} course;

static fake_caller *first, *middle, *last;

static uint64_t cost_of(const course *c, size_t others) {
    fake_world_begin();
    c->prepare(others);
    const uint64_t before = blocks;
    c->run();
    const uint64_t cost = blocks - before;
    fake_world_end();
    return cost;
}

/* Twice as many steps of a search by halves are allowed for sixteen times as many others, and no
 * more. */
static void check_flat(const course *c) {
    const uint64_t few = cost_of(c, FEW), many = cost_of(c, MANY);
    check_note("%llu among few, %llu among many", (unsigned long long)few,
               (unsigned long long)many);
    CHECK(few > 0);
    CHECK(many <= few + few / 2 + 50);
}

/* ---- one lock, many waiters ---- */

/* One holds; so many wait behind, all of this client. */
static void queue_up(size_t others) {
    first = fake_join(one, LINE, FOR_EVER);
    fake_settle_all(zk);
    for (size_t i = 0; i < others; i++) {
        last = fake_join(one, LINE, FOR_EVER);
        if (i == others / 2)
            middle = last;
    }
    fake_settle_all(zk);
    CHECK(fake_held(first) && fake_waits(middle) && fake_waits(last));
}

static void hand_over(void) {
    CHECK_INT(fake_release(first), ZKL_OK);
    fake_settle_all(zk);
}

/* Any of them might have gone on as a reader. */
static void queue_up_writers(size_t others) {
    first = fake_write_lock(one, LINE);
    fake_settle_all(zk);
    for (size_t i = 0; i < others; i++)
        last = fake_write_lock(one, LINE);
    fake_settle_all(zk);
    CHECK(fake_held(first) && fake_waits(last));
}

static void a_hand_over(void) {
    check_flat(&(course){queue_up, hand_over});
    check_flat(&(course){queue_up_writers, hand_over});
}

static void leave_middle(void) {
    fake_cancel(middle);
    fake_settle_all(zk);
}

static void leaving_from_the_middle(void) {
    check_flat(&(course){queue_up, leave_middle});
}

static void come(void) {
    fake_join(one, LINE, FOR_EVER); /* the list that follows shows all */
}

static void coming(void) {
    check_flat(&(course){queue_up, come});
}

static void try_once(void) {
    CHECK_INT(fake_try(one, LINE)->status, ZKL_TIMEOUT);
}

static void a_vain_try(void) {
    check_flat(&(course){queue_up, try_once});
}

static void written_to(void) {
    fake_write(zk, fake_node_of(last), ZKL_REVOKE);
    fake_settle_all(zk);
}

static void a_revocation(void) {
    check_flat(&(course){queue_up, written_to});
}

/* ---- behind somebody else ---- */

static void queue_behind_another(size_t others) {
    first = fake_join(two, LINE, FOR_EVER);
    fake_settle_all(zk);
    for (size_t i = 0; i < others; i++)
        last = fake_join(one, LINE, FOR_EVER);
    fake_settle_all(zk);
    CHECK(fake_held(first) && fake_waits(last));
}

static void a_hand_over_from_another_client(void) {
    check_flat(&(course){queue_behind_another, hand_over});
}

/* Strangers wait between ours: each hand-over sets watches on them, and hears of them. */
static void queue_up_in_turns(size_t others) {
    first = fake_join(two, LINE, FOR_EVER);
    fake_settle_all(zk);
    for (size_t i = 0; i < others; i++)
        last = fake_join(i % 2 ? one : two, LINE, FOR_EVER);
    fake_settle_all(zk);
}

static void a_hand_over_among_strangers(void) {
    check_flat(&(course){queue_up_in_turns, hand_over});
}

/* ---- a shared node (fair = false) ---- */

static void share_with(size_t others, fake_caller *(*wait)(void)) {
    fake_share_as(3600, 1);
    first = fake_share(one, LINE, FOR_EVER);
    fake_settle_all(zk);
    for (size_t i = 0; i < others; i++) {
        last = wait();
        if (i == others / 2)
            middle = last;
    }
    fake_settle_all(zk);
    CHECK(fake_held(first) && fake_waits(middle) && fake_waits(last));
}

static fake_caller *wait_here(void) {
    return fake_share(one, LINE, FOR_EVER);
}

static fake_caller *wait_among(void) {
    return fake_share_among(one, LINE, 2 * MANY);
}

static void share(size_t others) {
    share_with(others, wait_here);
}

static void share_among(size_t others) {
    share_with(others, wait_among);
}

static void come_to_a_shared_node(void) {
    CHECK(fake_waits(wait_here()));
    CHECK(fake_waits(wait_among()));
}

static void try_a_shared_node(void) {
    CHECK_INT(fake_share(one, LINE, 0)->status, ZKL_TIMEOUT);
}

static void revoke_a_shared_node(void) {
    fake_write(zk, fake_node_of(first), ZKL_REVOKE);
    fake_settle_all(zk);
}

/* Others come and go behind it. */
static void be_passed(void) {
    fake_caller *theirs = fake_join(two, LINE, FOR_EVER);
    fake_settle_all(zk);
    fake_cancel(theirs);
    fake_settle_all(zk);
}

static void a_shared_node_with_many(void (*prepare)(size_t others)) {
    check_flat(&(course){prepare, hand_over});
    check_flat(&(course){prepare, leave_middle});
    check_flat(&(course){prepare, come_to_a_shared_node});
    check_flat(&(course){prepare, try_a_shared_node});
    check_flat(&(course){prepare, revoke_a_shared_node});
    check_flat(&(course){prepare, be_passed});
}

static void a_shared_node(void) {
    a_shared_node_with_many(share);
}

static void a_shared_node_among_so_many(void) {
    a_shared_node_with_many(share_among);
}

/* Their node waits for another client's. */
static void share_behind(size_t others, fake_caller *(*wait)(void)) {
    fake_caller *theirs = fake_join(two, LINE, FOR_EVER);
    fake_settle_all(zk);
    for (size_t i = 0; i < others; i++)
        middle = last = wait();
    fake_settle_all(zk);
    CHECK(fake_waits(last));
    first = theirs;
}

static void queue_here(size_t others) {
    share_behind(others, wait_here);
}

static void queue_among(size_t others) {
    share_behind(others, wait_among);
}

static void a_shared_node_that_queues(void) {
    check_flat(&(course){queue_here, come_to_a_shared_node});
    check_flat(&(course){queue_here, leave_middle});
    check_flat(&(course){queue_here, hand_over});
    check_flat(&(course){queue_among, come_to_a_shared_node});
    check_flat(&(course){queue_among, leave_middle});
    check_flat(&(course){queue_among, hand_over});
}

/* So many read here, or another client's do. */
static fake_caller *read_here(void) {
    return fake_share_kind(one, LINE, ZKL_KIND_READ, FOR_EVER);
}

static void read_together(size_t others) {
    fake_share_as(3600, 1);
    for (size_t i = 0; i <= others; i++) {
        first = read_here();
        fake_settle_all(zk);
        CHECK(fake_held(first));
    }
}

static void read_beside(size_t others) {
    for (size_t i = 0; i < others; i++)
        fake_read(two, LINE);
    read_together(0);
    CHECK_INT(fake_release(first), ZKL_OK);
    fake_settle_all(zk);
}

static void read_once_more(void) {
    fake_caller *reader = read_here();
    CHECK(fake_held(reader));
    CHECK_INT(fake_release(reader), ZKL_OK);
    fake_settle_all(zk);
}

static void a_shared_node_of_readers(void) {
    check_flat(&(course){read_together, read_once_more});
    check_flat(&(course){read_together, hand_over});
    check_flat(&(course){read_beside, read_once_more});
}

/* ---- readers ---- */

static void readers_wait(size_t others) {
    first = fake_write_lock(one, LINE);
    fake_settle_all(zk);
    for (size_t i = 0; i < others; i++)
        last = fake_read(one, LINE);
    fake_settle_all(zk);
    middle = fake_write_lock(one, LINE);
    fake_settle_all(zk);
    CHECK(fake_held(first) && fake_waits(last) && fake_waits(middle));
}

static void leave_last(void) {
    fake_cancel(last);
    fake_settle_all(zk);
}

static void a_reader_that_leaves(void) {
    check_flat(&(course){readers_wait, leave_last});
}

static uint64_t cost_of_letting_in(size_t others) {
    fake_world_begin();
    readers_wait(others);
    const uint64_t before = blocks;
    hand_over();
    CHECK(fake_held(last));
    const uint64_t cost = blocks - before;
    fake_world_end();
    return cost / others;
}

/* All of them are told, so all of it grows with how many they are; each costs the same. */
static void readers_that_are_let_in(void) {
    const uint64_t few = cost_of_letting_in(FEW), many = cost_of_letting_in(MANY);
    check_note("%llu each among few, %llu among many", (unsigned long long)few,
               (unsigned long long)many);
    CHECK(many <= few + few / 2);
}

/* ---- many who leave ---- */

static uint64_t cost_of_leaving(size_t others) {
    fake_world_begin();
    queue_up(others);
    const uint64_t before = blocks;
    fake_caller *next = NULL;
    for (fake_caller *p = one->callers; p; p = next) {
        next = p->next;
        if (fake_waits(p))
            fake_cancel(p);
    }
    zkl_query *flush = fake_flush(one);
    fake_settle_all(zk);
    CHECK(flush->ask.stage == ZKL_ASK_DONE);
    const uint64_t cost = blocks - before;
    zkl_ask_free(&flush->ask);
    fake_world_end();
    return cost / others;
}

static void leaving_together(void) {
    const uint64_t few = cost_of_leaving(FEW), many = cost_of_leaving(MANY);
    check_note("%llu each among few, %llu among many", (unsigned long long)few,
               (unsigned long long)many);
    CHECK(many <= few + few / 2);
}

/* ---- many lines ---- */

static void take_and_give(void) {
    first = fake_join(one, LINE, FOR_EVER);
    fake_settle_all(zk);
    CHECK(fake_held(first));
    hand_over();
}

static void have_lines(size_t others) {
    char path[64];
    for (size_t i = 0; i < others; i++) {
        snprintf(path, sizeof path, "/locks/%zu", i);
        fake_join(one, path, FOR_EVER);
    }
    fake_settle_all(zk);
    take_and_give(); /* the first of all makes the directory, and room for one more line */
}

static void a_line_among_others(void) {
    check_flat(&(course){have_lines, take_and_give});
}

/* ---- room ---- */

/* With 16 bytes that an allocator adds to each, and what libzookeeper has for the watch on its
 * node, that is a kilobyte for one who waits. */
static void what_one_takes(void) {
    CHECK(sizeof(zkl_contender) + sizeof(zkl_child) <= 640);
    CHECK(sizeof(zkl_line) <= 496);
}

/* There are as many of these as callers wait. */
static void who_waits_takes_little_memory(void) {
    CHECK(sizeof(zkl_contender) <= 512);
    CHECK(sizeof(zkl_child) <= 64);
}

static const check_case cases[] = {
    {"a waiter takes little memory", who_waits_takes_little_memory},
    {"a hand-over costs the same among many waiters", a_hand_over},
    {"so does leaving from the middle", leaving_from_the_middle},
    {"so does coming", coming},
    {"so does a try in vain", a_vain_try},
    {"so does a revocation", a_revocation},
    {"so does a hand-over from another client", a_hand_over_from_another_client},
    {"so does a hand-over among strangers", a_hand_over_among_strangers},
    {"a step of a shared node costs the same with many waiters", a_shared_node},
    {"a step of a shared node with max_waiting costs the same with many waiters",
     a_shared_node_among_so_many},
    {"a step of a queueing shared node costs the same with many waiters",
     a_shared_node_that_queues},
    {"a step of a shared node of readers costs the same with many waiters",
     a_shared_node_of_readers},
    {"so does a reader that leaves", a_reader_that_leaves},
    {"each of many readers that are let in costs the same", readers_that_are_let_in},
    {"the end of each of many contenders costs the same, also while a flush waits for them",
     leaving_together},
    {"a lock costs the same among many lines", a_line_among_others},
    {"a waiter and a line take no more room than they are known to need", what_one_takes},
};

int main(int argc, char **argv) {
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
