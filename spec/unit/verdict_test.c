#include "check.h"
#include "recipe/verdict.h"

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

static const line shared[] = {
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
    {"a waiting writer and a read of its sequence", {R(4), W(4)}, 2, 1, ZKL_VERDICT_TIED, 0},
};

static const line lines[] = {
    {"alone", {L(0)}, 1, 0, ZKL_VERDICT_GRANTED, 0},
    {"first of three", {L(3), L(4), L(5)}, 3, 0, ZKL_VERDICT_GRANTED, 0},
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

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"the first holds, everybody else waits for the one before, a tie is told",
         agrees_with_the_table},
        {"readers share, writers do not", shares_as_the_table_says},
        {"no line has two that are granted", at_most_one_is_granted},
        {"a read-write node below a mutex is seen", another_kind_is_seen},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
