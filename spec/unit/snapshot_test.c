/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "recipe/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static zkl_snapshot snapshot;

static void begin(void) {
    snapshot = (zkl_snapshot){0};
}

static void end(void) {
    zkl_snapshot_clear(&snapshot);
}

#define TAKE(...)                                                                                  \
    do {                                                                                           \
        static const char *const taken[] = {__VA_ARGS__};                                          \
        CHECK(zkl_snapshot_take(&snapshot, taken, sizeof taken / sizeof *taken));                  \
    } while (0)

static void sorts_by_sequence_whatever_the_name(void) {
    TAKE("a-lock-0000000009", "z-lock-0000000001", "m__lock__0000000005");
    CHECK_INT(snapshot.count, 3);
    CHECK_TEXT(snapshot.children[0].name, "z-lock-0000000001");
    CHECK_TEXT(snapshot.children[1].name, "m__lock__0000000005");
    CHECK_TEXT(snapshot.children[2].name, "a-lock-0000000009");
}

/* Anybody may make a node of any number. As they go around the end, no two of these three had an
 * order with the third. */
static void sorts_stray_numbers_alike_in_every_list(void) {
    static const char *const nodes[] = {"stray-lock--2147483647", "a-lock-0000000000",
                                        "b-lock-0000000002"};
    for (size_t turn = 0; turn < 6; turn++) {
        const size_t first = turn % 3, step = 1 + turn / 3;
        const char *list[] = {nodes[first], nodes[(first + step) % 3],
                              nodes[(first + 2 * step) % 3]};
        CHECK(zkl_snapshot_take(&snapshot, list, 3));
        for (size_t i = 0; i < 3; i++) {
            CHECK_TEXT(snapshot.children[i].name, nodes[i]);
            CHECK_INT(zkl_snapshot_find(&snapshot, nodes[i]), i);
        }
    }
}

static void sorts_the_ends_as_numbers(void) {
    TAKE("a-lock--2147483648", "b-lock-2147483647", "c-lock--000000001", "d-lock-2147483646");
    CHECK_TEXT(snapshot.children[0].name, "a-lock--2147483648");
    CHECK_TEXT(snapshot.children[1].name, "c-lock--000000001");
    CHECK_TEXT(snapshot.children[2].name, "d-lock-2147483646");
    CHECK_TEXT(snapshot.children[3].name, "b-lock-2147483647");
}

static void leaves_out_what_is_no_lock(void) {
    TAKE("config", "a-lock-0000000001", "b-leash-0000000002", "", "b-__READ__0000000003");
    CHECK_INT(snapshot.count, 2);
    CHECK_INT(snapshot.children[0].kind, ZKL_KIND_LOCK);
    CHECK_INT(snapshot.children[1].kind, ZKL_KIND_READ);
}

static void keeps_the_watches_of_what_stays(void) {
    TAKE("a-lock-0000000001", "b-lock-0000000002", "c-lock-0000000003", "d-lock-0000000003");
    snapshot.children[0].watch = ZKL_WATCH_ARMED;
    snapshot.children[1].watch = ZKL_WATCH_ASKED;
    snapshot.children[3].watch = ZKL_WATCH_ARMED;
    for (int i = 0; i < 4; i++)
        snapshot.children[i].request = 10 + i;
    snapshot.children[0].mine = (struct zkl_contender *)&snapshot;
    TAKE("e-lock-0000000004", "d-lock-0000000003", "x-lock-0000000001", "b-lock-0000000002",
         "c-lock-0000000003");
    CHECK_INT(snapshot.count, 5);
    CHECK_TEXT(snapshot.children[0].name, "x-lock-0000000001");
    CHECK_INT(snapshot.children[0].watch, ZKL_WATCH_NONE); /* the same sequence, another node */
    CHECK(snapshot.children[0].mine == NULL);
    CHECK_INT(snapshot.children[1].watch, ZKL_WATCH_ASKED);
    CHECK_INT(snapshot.children[2].watch, ZKL_WATCH_NONE);
    CHECK_INT(snapshot.children[3].watch, ZKL_WATCH_ARMED);
    CHECK_INT(snapshot.children[4].watch, ZKL_WATCH_NONE);
    static const int requests[] = {0, 11, 0, 13, 0}; /* of what has no watch it tells nothing */
    for (size_t i = 0; i < 5; i++)
        CHECK_INT(snapshot.children[i].request, requests[i]);
}

static void finds_by_name(void) {
    TAKE("a-lock-0000000001", "b-lock-0000000002", "c-lock-0000000002", "d-lock-0000000003");
    CHECK_INT(zkl_snapshot_find(&snapshot, "a-lock-0000000001"), 0);
    CHECK_INT(zkl_snapshot_find(&snapshot, "b-lock-0000000002"), 1);
    CHECK_INT(zkl_snapshot_find(&snapshot, "c-lock-0000000002"), 2);
    CHECK_INT(zkl_snapshot_find(&snapshot, "d-lock-0000000003"), 3);
    CHECK(zkl_snapshot_find(&snapshot, "x-lock-0000000002") == ZKL_NOT_FOUND);
    CHECK(zkl_snapshot_find(&snapshot, "garbage") == ZKL_NOT_FOUND);
}

static void finds_where_a_sequence_begins(void) {
    TAKE("a-lock--000000001", "b-lock-0000000002", "c-lock-0000000002", "d-lock-2147483647");
    static const int64_t from[] = {INT32_MIN, -1, 0, 2, 3, INT32_MAX, INT64_C(2147483648)};
    static const size_t found[] = {0, 0, 1, 1, 3, 3, 4};
    for (size_t i = 0; i < sizeof from / sizeof *from; i++)
        CHECK_INT(zkl_snapshot_from(&snapshot, from[i]), found[i]);
}

static void an_empty_one_has_nobody(void) {
    CHECK_INT(zkl_snapshot_from(&snapshot, 0), 0);
    CHECK(zkl_snapshot_find(&snapshot, "a-lock-0000000001") == ZKL_NOT_FOUND);
    CHECK(zkl_snapshot_take(&snapshot, NULL, 0));
    CHECK_INT(snapshot.count, 0);
    CHECK(zkl_snapshot_find(&snapshot, "a-lock-0000000001") == ZKL_NOT_FOUND);
    TAKE("garbage");
    CHECK_INT(snapshot.count, 0);
    TAKE("a-lock-0000000001");
    CHECK(zkl_snapshot_take(&snapshot, NULL, 0)); /* of those that were there nobody is */
    CHECK_INT(snapshot.count, 0);
}

static void removes_from_anywhere(void) {
    TAKE("a-lock-0000000001", "b-lock-0000000002", "c-lock-0000000003");
    zkl_snapshot_remove(&snapshot, 1);
    CHECK_INT(snapshot.count, 2);
    CHECK_TEXT(snapshot.children[1].name, "c-lock-0000000003");
    zkl_snapshot_remove(&snapshot, 1);
    zkl_snapshot_remove(&snapshot, 0);
    CHECK_INT(snapshot.count, 0);
}

/* One of each two, from both ends of a row, of all, of none. */
static void removes_all_of_ours(void) {
    struct zkl_contender *us = (struct zkl_contender *)&snapshot;
    for (unsigned ours = 0; ours < 16; ours++) {
        TAKE("a-lock-0000000001", "b-lock-0000000002", "c-lock-0000000003", "d-lock-0000000004");
        for (size_t i = 0; i < 4; i++)
            snapshot.children[i].mine = ours >> i & 1 ? us : NULL;
        zkl_snapshot_remove_mine(&snapshot);
        size_t left = 0;
        for (int i = 0; i < 4; i++) {
            if (ours >> i & 1)
                continue;
            CHECK(left < snapshot.count);
            CHECK_INT(snapshot.children[left].sequence, i + 1);
            CHECK_INT(snapshot.children[left++].name[0], "abcd"[i]);
        }
        CHECK_INT(snapshot.count, left);
    }
}

/* ... in any order, until nobody is left. */
static void removes_in_any_order(void) {
    for (unsigned order = 0; order < 5 * 4 * 3 * 2; order++) {
        TAKE("a-lock-0000000001", "b-lock-0000000002", "c-lock-0000000003", "d-lock-0000000004",
             "e-lock-0000000005");
        bool gone[5] = {false};
        unsigned choice = order;
        for (unsigned left = 5; left > 0; left--) {
            const size_t index = choice % left;
            choice /= left;
            gone[snapshot.children[index].sequence - 1] = true;
            zkl_snapshot_remove(&snapshot, index);
            CHECK_INT(snapshot.count, left - 1);
            size_t at = 0;
            for (int i = 0; i < 5; i++)
                if (!gone[i]) {
                    CHECK_INT(snapshot.children[at].name[0], "abcde"[i]);
                    CHECK_INT(snapshot.children[at++].sequence, i + 1);
                }
        }
    }
}

#define MANY 10000

static void takes_ten_thousand(void) {
    char(*names)[32] = calloc(MANY, sizeof *names);
    const char **list = calloc(MANY, sizeof *list);
    CHECK(names && list);
    for (uint32_t i = 0; i < MANY; i++) {
        /* 7919 and 10000 have no common factor: every sequence once, out of order, some below
         * zero */
        const int32_t sequence = (int32_t)(i * UINT32_C(7919) % MANY) - 5000;
        snprintf(names[i], sizeof *names, "n%05" PRIu32 "-lock-%010" PRId32, i, sequence);
        list[i] = names[i];
    }
    CHECK(zkl_snapshot_take(&snapshot, list, MANY));
    CHECK_INT(snapshot.count, MANY);
    for (size_t i = 0; i < MANY; i++) {
        CHECK_INT(snapshot.children[i].sequence, (int32_t)i - 5000);
        const size_t found = zkl_snapshot_find(&snapshot, names[i]);
        CHECK(found != ZKL_NOT_FOUND);
        CHECK_TEXT(snapshot.children[found].name, names[i]);
        if (i % 3 == 0)
            snapshot.children[i].watch = ZKL_WATCH_ARMED;
    }
    CHECK(zkl_snapshot_take(&snapshot, list, MANY));
    for (size_t i = 0; i < MANY; i++)
        CHECK_INT(snapshot.children[i].watch, i % 3 == 0 ? ZKL_WATCH_ARMED : ZKL_WATCH_NONE);
    free(names);
    free(list);
}

/* Anybody may create many nodes with one number. Each name has a place of its own all the same, in
 * short lists and in long ones. */
static void sorts_twins_by_name(void) {
    static const int32_t numbers[] = {7, INT32_MIN, 1 << 16, -1, INT32_MAX, 255, -256};
    static char names[500][32];
    static const char *list[500];
    const size_t kinds = sizeof numbers / sizeof *numbers;
    for (size_t i = 0; i < 500; i++) {
        snprintf(names[i], sizeof *names, "n%03zu-lock-%010" PRId32, i * 77 % 500,
                 numbers[i % kinds]);
        list[i] = names[i];
    }
    for (size_t count = 55; count <= 500; count += count < 70 ? 1 : 43) {
        CHECK(zkl_snapshot_take(&snapshot, list, count));
        CHECK_INT(snapshot.count, count);
        for (size_t i = 0; i < count; i++)
            CHECK(zkl_snapshot_find(&snapshot, list[i]) != ZKL_NOT_FOUND);
        for (size_t i = 1; i < count; i++) {
            const zkl_child *a = &snapshot.children[i - 1], *b = &snapshot.children[i];
            CHECK(a->sequence < b->sequence ||
                  (a->sequence == b->sequence && strcmp(a->name, b->name) < 0));
        }
    }
}

/* All of them have the same byte in front, and differ in each other one. */
/* With some of these distances the numbers differ only in one half of a byte. */
static void sorts_a_long_line_of_distant_numbers(void) {
    static const int32_t distances[] = {1001, 1, 1 << 4, 1 << 12, 1 << 20};
    static char names[500][32];
    static const char *list[500];
    for (size_t d = 0; d < sizeof distances / sizeof *distances; d++) {
        for (int32_t i = 0; i < 500; i++) {
            snprintf(names[i], sizeof *names, "n-lock-%010" PRId32, i * 77 % 500 * distances[d]);
            list[i] = names[i];
        }
        CHECK(zkl_snapshot_take(&snapshot, list, 500));
        CHECK_INT(snapshot.count, 500);
        for (int32_t i = 0; i < 500; i++)
            CHECK_INT(snapshot.children[i].sequence, i * distances[d]);
    }
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"children are in order of their sequences, whatever their names",
         sorts_by_sequence_whatever_the_name},
        {"a node with a stray number has the same position in every list",
         sorts_stray_numbers_alike_in_every_list},
        {"the numbers at both ends are in order", sorts_the_ends_as_numbers},
        {"a child that is not a lock's node is left out", leaves_out_what_is_no_lock},
        {"a fresh list keeps the watches of the nodes that stay", keeps_the_watches_of_what_stays},
        {"a child is found by its name, twins of one sequence too", finds_by_name},
        {"where a sequence begins is found", finds_where_a_sequence_begins},
        {"nodes of one sequence are in order of their names", sorts_twins_by_name},
        {"a long line of distant numbers is in their order", sorts_a_long_line_of_distant_numbers},
        {"an empty snapshot has no child", an_empty_one_has_nobody},
        {"a child can be removed from anywhere", removes_from_anywhere},
        {"all that are ours can be removed", removes_all_of_ours},
        {"they can be removed in any order", removes_in_any_order},
        {"ten thousand children are sorted, found, and keep their watches", takes_ten_thousand},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
