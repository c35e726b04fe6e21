/* What a step costs does not grow with how many others wait, hold or have lines. Not time is
 * counted, but how many pieces of code the engine runs through (-fsanitize-coverage=trace-pc): a
 * loop over all others is seen at once, on any machine. A search in a sorted list may grow a
 * little. */
#include "fake_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 32, MANY = 512 };

/* A deadline for each would be sorted in when the first one goes. */
#define FOR_EVER 1e12

static uint64_t blocks;

/* What the engine's code calls, as the compiler lays it out. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
    blocks++;
}

/* What is legal is for the other tests to look at: it looks at everybody. */
void zkl_lines_check(const zkl_lines *lines);
void zkl_lines_check(const zkl_lines *lines) {
    (void)lines;
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

static void a_hand_over(void) {
    check_flat(&(course){queue_up, hand_over});
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
    CHECK(!flush->pending);
    const uint64_t cost = blocks - before;
    zkl_query_free(flush);
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
    CHECK(sizeof(zkl_contender) + sizeof(zkl_child) <= 616);
    CHECK(sizeof(zkl_line) <= 448);
}

static const check_case cases[] = {
    {"a hand-over costs the same among many waiters", a_hand_over},
    {"so does leaving from the middle", leaving_from_the_middle},
    {"so does coming", coming},
    {"so does a try in vain", a_vain_try},
    {"so does a revocation", a_revocation},
    {"so does a hand-over from another client", a_hand_over_from_another_client},
    {"so does a hand-over among strangers", a_hand_over_among_strangers},
    {"so does a reader that leaves", a_reader_that_leaves},
    {"each of many readers that are let in costs the same", readers_that_are_let_in},
    {"each of many who leave together costs the same, also while a flush waits for them",
     leaving_together},
    {"a lock costs the same among many lines", a_line_among_others},
    {"a waiter and a line take no more room than they are known to need", what_one_takes},
};

int main(int argc, char **argv) {
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
