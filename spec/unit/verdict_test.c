#include "check.h"
#include "verdict.h"

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

static const line lines[] = {
    {"alone", {L(0)}, 1, 0, ZKL_VERDICT_GRANTED, 0},
    {"first of three", {L(3), L(4), L(5)}, 3, 0, ZKL_VERDICT_GRANTED, 0},
    {"in the middle", {L(3), L(4), L(5)}, 3, 1, ZKL_VERDICT_WAIT, 0},
    {"last", {L(3), L(4), L(5)}, 3, 2, ZKL_VERDICT_WAIT, 1},
    {"after a gap", {L(3), L(700)}, 2, 1, ZKL_VERDICT_WAIT, 0},
    {"just past the wrap", {L(INT32_MAX), L(INT32_MIN)}, 2, 1, ZKL_VERDICT_WAIT, 0},
    {"just before the wrap", {L(INT32_MAX), L(INT32_MIN)}, 2, 0, ZKL_VERDICT_GRANTED, 0},
    {"tied with the next", {L(3), L(4), L(4), L(5)}, 4, 1, ZKL_VERDICT_TIED, 0},
    {"tied with the one before", {L(3), L(4), L(4), L(5)}, 4, 2, ZKL_VERDICT_TIED, 0},
    {"tied and first", {L(3), L(3)}, 2, 0, ZKL_VERDICT_TIED, 0},
    {"tied and last", {L(3), L(3)}, 2, 1, ZKL_VERDICT_TIED, 0},
    {"tied three times", {L(3), L(3), L(3)}, 3, 1, ZKL_VERDICT_TIED, 0},
    {"behind a tie of others", {L(3), L(3), L(4)}, 3, 2, ZKL_VERDICT_WAIT, 1},
    {"before a tie of others", {L(2), L(3), L(3)}, 3, 0, ZKL_VERDICT_GRANTED, 0},
};

static void agrees_with_the_table(void) {
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const line *l = &lines[i];
        check_note("%s", l->what);
        const zkl_verdict v = zkl_verdict_of(l->children, l->count, l->own, ZKL_RULE_MUTEX);
        CHECK_INT(v.outcome, l->outcome);
        if (v.outcome == ZKL_VERDICT_WAIT)
            CHECK_INT(v.blocker, l->blocker);
    }
}

static void at_most_one_is_granted(void) {
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const line *l = &lines[i];
        unsigned granted = 0;
        for (size_t own = 0; own < l->count; own++)
            granted += zkl_verdict_of(l->children, l->count, own, ZKL_RULE_MUTEX).outcome ==
                       ZKL_VERDICT_GRANTED;
        check_note("%s", l->what);
        CHECK(granted <= 1);
    }
}

static void another_kind_is_seen(void) {
    zkl_child children[3] = {L(1), L(2), L(3)};
    CHECK(!zkl_verdict_mixed(children, 0, ZKL_RULE_MUTEX));
    CHECK(!zkl_verdict_mixed(children, 3, ZKL_RULE_MUTEX));
    for (size_t i = 0; i < 3; i++) {
        children[i].kind = ZKL_KIND_READ;
        CHECK(zkl_verdict_mixed(children, 3, ZKL_RULE_MUTEX));
        children[i].kind = ZKL_KIND_WRITE;
        CHECK(zkl_verdict_mixed(children, 3, ZKL_RULE_MUTEX));
        children[i].kind = ZKL_KIND_LOCK;
    }
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"the first holds, everybody else waits for the one before, a tie is told",
         agrees_with_the_table},
        {"no line has two that are granted", at_most_one_is_granted},
        {"a read-write node below a mutex is seen", another_kind_is_seen},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
