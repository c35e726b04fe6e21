/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "recipe/verdict.h"

#include <stdlib.h>
#include <string.h>

/* A line of children as the sorted snapshot has them: garbage never gets that far. */
typedef struct line {
    const char *what;
    zkl_child children[6];
    size_t count, own;
    zkl_outcome outcome;
    size_t blocker;
} line;

#define L(n)                                                                                       \
    { .name = (char *)"x", .sequence = (n), .kind = ZKL_KIND_LOCK }

#define R(n)                                                                                       \
    { .name = (char *)"x", .sequence = (n), .kind = ZKL_KIND_READ }
#define W(n)                                                                                       \
    { .name = (char *)"x", .sequence = (n), .kind = ZKL_KIND_WRITE }

/* A lease that has strayed into another directory. */
#define S(n)                                                                                       \
    { .name = (char *)"x", .sequence = (n), .kind = ZKL_KIND_LEASE }

static const line shared[] = {
    {"a writer behind a lease", {S(0), W(1)}, 2, 1, ZKL_VERDICT_GRANTED, 0},
    {"a writer behind a reader and a lease", {R(0), S(1), W(2)}, 3, 2, ZKL_VERDICT_WAIT, 0},
    {"a reader behind a lease", {S(0), R(1)}, 2, 1, ZKL_VERDICT_GRANTED, 0},
    {"a reader alone", {R(0)}, 1, 0, ZKL_VERDICT_GRANTED, 0},
    {"a reader behind readers", {R(0), R(1), R(2)}, 3, 2, ZKL_VERDICT_GRANTED, 0},
    {"a reader behind a writer", {R(0), W(1), R(2)}, 3, 2, ZKL_VERDICT_WAIT, 1},
    {"a reader behind the nearest writer", {W(0), W(1), R(2), R(3)}, 4, 3, ZKL_VERDICT_WAIT, 1},
    {"a reader before a writer", {R(0), W(1)}, 2, 0, ZKL_VERDICT_GRANTED, 0},
    {"a writer behind a reader", {W(0), R(1), W(2)}, 3, 2, ZKL_VERDICT_WAIT, 1},
    {"a writer first", {W(0), R(1), W(2)}, 3, 0, ZKL_VERDICT_GRANTED, 0},
    {"a read under its write", {R(4), W(4), W(5)}, 3, 0, ZKL_VERDICT_GRANTED, 0},
    {"a read under its write, sorted the other way", {W(4), R(4)}, 2, 1, ZKL_VERDICT_GRANTED, 0},
    {"a writer behind both of one sequence", {R(4), W(4), W(5)}, 3, 2, ZKL_VERDICT_WAIT, 1},
    {"a read of two writers' sequence", {W(1), W(4), W(4), R(4)}, 4, 3, ZKL_VERDICT_WAIT, 0},
    {"a reader at the end of the counter", {R(INT32_MAX), W(INT32_MAX)}, 2, 0, ZKL_VERDICT_TIED, 0},
    {"two writers of one sequence", {W(4), W(4)}, 2, 1, ZKL_VERDICT_TIED, 0},
    {"a mutex and a read of its sequence", {R(4), L(4)}, 2, 1, ZKL_VERDICT_GRANTED, 0},
    {"a read and a mutex of its sequence", {L(4), R(4)}, 2, 1, ZKL_VERDICT_GRANTED, 0},
    {"a mutex and a writer of its sequence", {L(4), W(4)}, 2, 1, ZKL_VERDICT_GRANTED, 0},
    {"a waiting writer and a read of its sequence", {R(4), W(4)}, 2, 1, ZKL_VERDICT_TIED, 0},
};

static const line lines[] = {
    {"alone", {L(0)}, 1, 0, ZKL_VERDICT_GRANTED, 0},
    {"first of three", {L(3), L(4), L(5)}, 3, 0, ZKL_VERDICT_GRANTED, 0},
    {"behind a lease", {S(3), L(4)}, 2, 1, ZKL_VERDICT_GRANTED, 0},
    {"behind another one and a lease", {L(3), S(4), L(5)}, 3, 2, ZKL_VERDICT_WAIT, 0},
    {"in the middle", {L(3), L(4), L(5)}, 3, 1, ZKL_VERDICT_WAIT, 0},
    {"last", {L(3), L(4), L(5)}, 3, 2, ZKL_VERDICT_WAIT, 1},
    {"after a gap", {L(3), L(700)}, 2, 1, ZKL_VERDICT_WAIT, 0},
    {"with the last number that is one", {L(5), L(INT32_MAX - 1)}, 2, 1, ZKL_VERDICT_WAIT, 0},
    {"before the end of the counter",
     {L(INT32_MAX - 1), L(INT32_MAX)},
     2,
     0,
     ZKL_VERDICT_GRANTED,
     0},
    {"at the end of the counter", {L(INT32_MAX - 1), L(INT32_MAX)}, 2, 1, ZKL_VERDICT_TIED, 0},
    {"at its end and alone", {L(INT32_MAX)}, 1, 0, ZKL_VERDICT_TIED, 0},
    {"at its end while one past it holds", {L(INT32_MAX), L(INT32_MIN)}, 2, 0, ZKL_VERDICT_TIED, 0},
    {"past its end", {L(INT32_MAX), L(INT32_MIN)}, 2, 1, ZKL_VERDICT_TIED, 0},
    {"far past its end", {L(-1)}, 1, 0, ZKL_VERDICT_TIED, 0},
    {"tied with the next", {L(3), L(4), L(4), L(5)}, 4, 1, ZKL_VERDICT_TIED, 0},
    {"tied with the one before", {L(3), L(4), L(4), L(5)}, 4, 2, ZKL_VERDICT_TIED, 0},
    {"tied and first", {L(3), L(3)}, 2, 0, ZKL_VERDICT_TIED, 0},
    {"tied and last", {L(3), L(3)}, 2, 1, ZKL_VERDICT_TIED, 0},
    {"tied three times", {L(3), L(3), L(3)}, 3, 1, ZKL_VERDICT_TIED, 0},
    {"behind a tie of others", {L(3), L(3), L(4)}, 3, 2, ZKL_VERDICT_WAIT, 1},
    {"before a tie of others", {L(2), L(3), L(3)}, 3, 0, ZKL_VERDICT_GRANTED, 0},
};

static zkl_verdict verdict_of(const line *l, size_t own) {
    zkl_child children[sizeof l->children / sizeof *l->children];
    memcpy(children, l->children, sizeof children);
    zkl_verdict_prepare(children, l->count);
    return zkl_verdict_of(children, l->count, own, 0);
}

static void agree(const line *table, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const line *l = &table[i];
        check_note("%s", l->what);
        const zkl_verdict v = verdict_of(l, l->own);
        CHECK_INT(v.outcome, l->outcome);
        if (v.outcome == ZKL_VERDICT_WAIT)
            CHECK_INT(v.blocker, l->blocker);
    }
}

static void agrees_with_the_table(void) {
    agree(lines, sizeof lines / sizeof *lines);
}

static void shares_as_the_table_says(void) {
    agree(shared, sizeof shared / sizeof *shared);
}

static void at_most_one_is_granted(void) {
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const line *l = &lines[i];
        unsigned granted = 0;
        for (size_t own = 0; own < l->count; own++)
            granted += verdict_of(l, own).outcome == ZKL_VERDICT_GRANTED;
        check_note("%s", l->what);
        CHECK(granted <= 1);
    }
}

/* Whoever is there, in whatever order: it counts how many leases there are. */
static void as_many_leases_hold_as_there_are_permits(void) {
    zkl_child children[7] = {L(0), R(1), W(2)};
    for (size_t i = 3; i < 7; i++)
        children[i] =
            (zkl_child){.name = (char *)"x", .sequence = INT32_MAX, .kind = ZKL_KIND_LEASE};
    for (size_t leases = 1; leases <= 3; leases++) {
        for (size_t permits = 0; permits < 5; permits++) {
            const zkl_verdict v = zkl_verdict_of(children, 3 + leases, 3, permits);
            CHECK_INT(v.outcome, leases <= permits ? ZKL_VERDICT_GRANTED : ZKL_VERDICT_FULL);
            CHECK(v.second == ZKL_NOBODY);
        }
    }
    CHECK_INT(zkl_verdict_of(children + 3, 1, 0, 0).outcome, ZKL_VERDICT_FULL);
    CHECK_INT(zkl_verdict_of(children + 3, 1, 0, 1).outcome, ZKL_VERDICT_GRANTED);
}

/* The child that is next to be waited for when the blocker goes. */
static void the_second_is_the_one_behind_the_blocker(void) {
    static const struct {
        zkl_child children[5];
        size_t own, blocker, second;
    } table[] = {
        {{L(1), L(2), L(3)}, 2, 1, 0},       {{L(1), L(2)}, 1, 0, ZKL_NOBODY},
        {{W(1), R(2), W(3), R(4)}, 3, 2, 0}, {{R(1), W(2), R(3)}, 2, 1, ZKL_NOBODY},
        {{R(1), R(2), W(3)}, 2, 1, 0},       {{W(1), W(2), R(2), R(5)}, 3, 1, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        check_note("row %zu", i);
        zkl_child children[5];
        memcpy(children, table[i].children, sizeof children);
        const size_t count = table[i].own + 1;
        zkl_verdict_prepare(children, count);
        const zkl_verdict v = zkl_verdict_of(children, count, table[i].own, 0);
        CHECK_INT(v.outcome, ZKL_VERDICT_WAIT);
        CHECK_INT(v.blocker, table[i].blocker);
        CHECK_INT(v.second, table[i].second);
    }
}

/* The rows wait for the columns, if those came before. */
static const bool waits_for[ZKL_KINDS][ZKL_KINDS] = {
    [ZKL_KIND_LOCK] = {[ZKL_KIND_LOCK] = true},
    [ZKL_KIND_READ] = {[ZKL_KIND_WRITE] = true},
    [ZKL_KIND_WRITE] = {[ZKL_KIND_READ] = true, [ZKL_KIND_WRITE] = true},
};

static void each_kind_waits_for_those(void) {
    for (zkl_kind kind = ZKL_KIND_LOCK; kind < ZKL_KINDS; kind++) {
        for (zkl_kind ahead = ZKL_KIND_LOCK; ahead < ZKL_KINDS; ahead++) {
            check_note("%d behind %d", (int)kind, (int)ahead);
            CHECK(zkl_verdict_blocks(&(zkl_child){.kind = ahead}, kind) == waits_for[kind][ahead]);
        }
    }
}

static zkl_verdict slow_verdict(const zkl_child *children, size_t own) {
    zkl_verdict v = {ZKL_VERDICT_GRANTED, ZKL_NOBODY, ZKL_NOBODY};
    for (size_t i = own; i-- > 0;) {
        if (children[i].sequence == children[own].sequence ||
            !waits_for[children[own].kind][children[i].kind])
            continue;
        if (v.outcome == ZKL_VERDICT_GRANTED) {
            v = (zkl_verdict){ZKL_VERDICT_WAIT, i, ZKL_NOBODY};
        } else if (children[i].sequence != children[v.blocker].sequence ||
                   children[own].kind != ZKL_KIND_READ) {
            v.second = i;
            break;
        }
    }
    return v;
}

static bool is_ahead(const zkl_child *children, size_t i, size_t own) {
    return children[i].sequence < children[own].sequence &&
           waits_for[children[own].kind][children[i].kind];
}

/* Twins of one sequence are one writer for a reader. */
static size_t count_ahead(const zkl_child *children, size_t own) {
    const zkl_child *latest = NULL;
    size_t n = 0;
    for (size_t i = 0; i < own; i++) {
        if (!is_ahead(children, i, own))
            continue;
        n += !latest || latest->sequence != children[i].sequence ||
             children[own].kind != ZKL_KIND_READ;
        latest = &children[i];
    }
    return n;
}

/* The nodes in front of each, and which of them hold. */
static void check_front(const zkl_child *children, size_t count, size_t own, zkl_walk *walk) {
    const zkl_ahead ahead = zkl_verdict_ahead(children, count, own, 1);
    bool holds = true;
    for (size_t i = 0; i < own; i++)
        holds = holds && !is_ahead(children, i, own);
    CHECK(zkl_verdict_walk(walk, &children[own]) == holds);
    CHECK(holds == (ahead.nearest == ZKL_NOBODY));
    CHECK_INT(ahead.count, count_ahead(children, own));
}

static bool is_tied(const zkl_child *children, size_t count, size_t own) {
    for (size_t i = 0; i < count; i++)
        if (i != own && children[i].sequence == children[own].sequence &&
            (children[i].kind == children[own].kind ||
             (children[own].kind == ZKL_KIND_WRITE && children[i].kind == ZKL_KIND_READ)))
            return true;
    return false;
}

/* Before and behind the children are such as a look too far takes for one of them. */
static void put_twins_around(zkl_child *children, size_t count) {
    children[-1] = children[0];
    children[count] = children[count - 1];
    children[count].has_writer = true;
    children[count].writer = -7;
}

/* It knows the nearest writer with a smaller number. */
static void check_writer(const zkl_child *children, size_t own) {
    const zkl_child *writer = NULL;
    for (size_t i = 0; i < own; i++)
        if (children[i].kind == ZKL_KIND_WRITE && children[i].sequence < children[own].sequence)
            writer = &children[i];
    CHECK(children[own].has_writer == (writer != NULL));
    CHECK(!writer || children[own].writer == writer->sequence);
}

/* Readers and writers in all orders, some with the number of the one before; then some are gone. */
static void agrees_with_a_look_at_each(void) {
    enum { MOST = 9 };
    srandom(5);
    unsigned waits = 0;
    for (unsigned round = 0; round < 20000; round++) {
        zkl_child room[MOST + 3] = {{.sequence = -1}}, *children = room + 2;
        const size_t all = 1 + (size_t)random() % MOST;
        int32_t sequence = 0;
        for (size_t i = 0; i < all; i++) {
            sequence += random() % 3 ? 1 + (int32_t)random() % 2 : 0;
            children[i] = (zkl_child){.name = (char *)"x",
                                      .sequence = sequence,
                                      .kind = random() % 2 ? ZKL_KIND_READ : ZKL_KIND_WRITE};
        }
        put_twins_around(children, all);
        zkl_verdict_prepare(children, all);
        CHECK(children[all].has_writer && children[all].writer == -7);
        for (size_t i = 0; i < all; i++)
            check_writer(children, i);
        size_t count = 0;
        for (size_t i = 0; i < all; i++)
            if (random() % 4)
                children[count++] = children[i];
        if (count > 0)
            put_twins_around(children, count);
        zkl_walk walk = {0};
        for (size_t own = 0; own < count; own++) {
            const zkl_verdict v = zkl_verdict_of(children, count, own, 0);
            check_note("round %u, the one at %zu", round, own);
            check_front(children, count, own, &walk);
            if (is_tied(children, count, own)) {
                CHECK_INT(v.outcome, ZKL_VERDICT_TIED);
                continue;
            }
            const zkl_verdict slow = slow_verdict(children, own);
            CHECK_INT(v.outcome, slow.outcome);
            CHECK_INT(v.blocker, slow.blocker);
            CHECK_INT(v.second, slow.second);
            waits += v.second != ZKL_NOBODY;
        }
    }
    CHECK(waits > 1000);
}

/* In a piece of memory that has not a byte before it. */
static void a_writer_that_has_gone_is_not_waited_for(void) {
    const zkl_child listed[] = {R(0), W(1), R(2)};
    zkl_child *children = malloc(sizeof listed);
    CHECK(children != NULL);
    memcpy(children, listed, sizeof listed);
    zkl_verdict_prepare(children, 3);
    children[1] = children[2];
    const zkl_verdict v = zkl_verdict_of(children, 2, 1, 0);
    free(children);
    CHECK_INT(v.outcome, ZKL_VERDICT_GRANTED);
}

static void another_kind_is_seen(void) {
    zkl_child children[3] = {L(1), L(2), L(3)};
    CHECK(!zkl_verdict_mixed(children, 0, ZKL_KIND_LOCK));
    CHECK(!zkl_verdict_mixed(children, 3, ZKL_KIND_LOCK));
    for (size_t i = 0; i < 3; i++) {
        children[i].kind = ZKL_KIND_READ;
        CHECK(zkl_verdict_mixed(children, 3, ZKL_KIND_LOCK));
        children[i].kind = ZKL_KIND_WRITE;
        CHECK(zkl_verdict_mixed(children, 3, ZKL_KIND_LOCK));
        children[i].kind = ZKL_KIND_LOCK;
    }
    CHECK(zkl_verdict_mixed(children, 1, ZKL_KIND_READ));
    CHECK(zkl_verdict_mixed(children, 1, ZKL_KIND_WRITE));
    CHECK(!zkl_verdict_mixed(children, 1, ZKL_KIND_LEASE));
    children[0].kind = ZKL_KIND_READ;
    CHECK(!zkl_verdict_mixed(children, 1, ZKL_KIND_WRITE));
    CHECK(!zkl_verdict_mixed(children, 1, ZKL_KIND_LEASE));
}

static void a_stray_lease_holds_nothing(void) {
    const zkl_child queue[] = {S(0), S(1), W(2), R(3)};
    CHECK_INT(zkl_verdict_holder(queue, 4, ZKL_KIND_READ), 2);
    CHECK(zkl_verdict_holder(queue, 2, ZKL_KIND_WRITE) == ZKL_NOBODY);
    CHECK(zkl_verdict_holder(queue, 0, ZKL_KIND_LOCK) == ZKL_NOBODY);
}

static void a_stray_lock_among_leases_holds_nothing(void) {
    const zkl_child leases[] = {L(3), S(4), S(5)};
    CHECK_INT(zkl_verdict_holder(leases, 3, ZKL_KIND_LEASE), 1);
    CHECK(zkl_verdict_holder(leases, 1, ZKL_KIND_LEASE) == ZKL_NOBODY);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"the first child holds, every other one waits for the one before, and a tie is reported",
         agrees_with_the_table},
        {"readers share, writers do not", shares_as_the_table_says},
        {"no line has two that are granted", at_most_one_is_granted},
        {"as many leases hold as there are permits", as_many_leases_hold_as_there_are_permits},
        {"the second is the child before the blocker", the_second_is_the_one_behind_the_blocker},
        {"each kind waits for the kinds in its rule", each_kind_waits_for_those},
        {"agrees with a look at each", agrees_with_a_look_at_each},
        {"a writer that has gone is not waited for", a_writer_that_has_gone_is_not_waited_for},
        {"a read-write node below a mutex is seen", another_kind_is_seen},
        {"a stray lease holds nothing", a_stray_lease_holds_nothing},
        {"a stray lock among leases holds nothing", a_stray_lock_among_leases_holds_nothing},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
