/* SPDX-License-Identifier: MIT */
/* The table by number and the table by path: what is in them is found, whatever else comes and
 * goes. */
#include "base/path_table.h"

#include "base/list.h"
#include "base/table.h"
#include "check.h"

#include <stdio.h>
#include <string.h>

enum { MANY = 1000 };

typedef struct thing {
    zkl_table_item item;
    uint64_t number;
    char path[32];
} thing;

static thing things[MANY];
static zkl_table numbers;
static zkl_path_table paths;
/* Keys are multiples of this: 1 spreads them evenly, 16 makes chains of 16. */
static uint64_t stride;

static thing *thing_at(const zkl_table_item *item) {
    return item ? ZKL_CONTAINER_OF(item, thing, item) : NULL;
}

static uint64_t number_of(const zkl_table *table, const zkl_table_item *item) {
    (void)table;
    return thing_at(item)->number * stride;
}

static const char *path_of(const zkl_table_item *item) {
    return thing_at(item)->path;
}

static void begin(void) {
    memset(things, 0, sizeof things);
    for (unsigned i = 0; i < MANY; i++) {
        things[i].number = i;
        snprintf(things[i].path, sizeof things[i].path, "/locks/%u", i);
    }
    stride = 16;
    numbers = (zkl_table){.key_of = number_of};
    zkl_path_table_init(&paths, path_of);
}

static void end(void) {
    zkl_table_clear(&numbers);
    zkl_table_clear(&paths.table);
}

static thing *by_number(uint64_t number) {
    const zkl_table_item *item = zkl_table_chain(&numbers, number * stride);
    while (item && thing_at(item)->number != number)
        item = item->next;
    return thing_at(item);
}

static thing *by_path(const char *path) {
    return thing_at(zkl_path_table_find(&paths, path, strlen(path)));
}

static void add_number(thing *t) {
    CHECK(zkl_table_add(&numbers, &t->item));
}

static void add_path(thing *t) {
    CHECK(zkl_table_add(&paths.table, &t->item));
}

/* ---- by number ---- */

static void many_are_told_apart(void) {
    for (unsigned i = 0; i < MANY; i++)
        add_number(&things[i]);
    for (unsigned i = 0; i < MANY; i += 2)
        zkl_table_remove(&numbers, &things[i].item);
    CHECK_INT(numbers.count, MANY / 2);
    for (unsigned i = 0; i < MANY; i++)
        CHECK(by_number(i) == (i % 2 ? &things[i] : NULL));
}

static size_t longest_chain(void) {
    size_t longest = 0;
    for (size_t i = 0; i < numbers.size; i++) {
        size_t length = 0;
        for (const zkl_table_item *item = numbers.buckets[i]; item; item = item->next)
            length++;
        longest = length > longest ? length : longest;
    }
    return longest;
}

static void a_search_is_as_short_among_many(void) {
    stride = 1;
    for (unsigned i = 0; i < MANY; i++)
        add_number(&things[i]);
    CHECK(numbers.size >= numbers.count);
    CHECK_INT(longest_chain(), 1);
}

static void an_empty_table_has_nothing(void) {
    CHECK(by_number(0) == NULL);
    zkl_table_walk walk = {0};
    CHECK(zkl_table_walk_on(&numbers, &walk) == NULL);
    add_number(&things[0]);
    zkl_table_clear(&numbers);
    CHECK(by_number(0) == NULL);
    CHECK_INT(numbers.count, 0);
    add_number(&things[1]);
    CHECK(by_number(1) == &things[1]);
}

static void a_walk_meets_each_once(void) {
    unsigned met[MANY] = {0};
    for (unsigned i = 0; i < MANY; i++)
        add_number(&things[i]);
    zkl_table_walk walk = {0};
    for (thing *t; (t = thing_at(zkl_table_walk_on(&numbers, &walk)));) {
        met[t->number]++;
        zkl_table_remove(&numbers, &t->item);
    }
    for (unsigned i = 0; i < MANY; i++)
        CHECK_INT(met[i], 1);
    CHECK_INT(numbers.count, 0);
}

/* ---- by path ---- */

static void a_path_is_found_until_it_is_removed(void) {
    CHECK(by_path("/locks/7") == NULL);
    for (unsigned i = 0; i < MANY; i++)
        add_path(&things[i]);
    CHECK(by_path("/locks/7") == &things[7] && by_path("/locks/700") == &things[700]);
    CHECK(by_path("/locks/") == NULL && by_path("/locks/1000") == NULL && by_path("") == NULL);
    zkl_table_remove(&paths.table, &things[7].item);
    CHECK(by_path("/locks/7") == NULL && by_path("/locks/700") == &things[700]);
}

static void the_beginning_of_a_path_is_a_path(void) {
    const char *node = "/locks/70/node";
    add_path(&things[7]);
    add_path(&things[70]);
    CHECK(thing_at(zkl_path_table_find(&paths, node, strlen("/locks/70"))) == &things[70]);
    CHECK(thing_at(zkl_path_table_find(&paths, node, strlen("/locks/7"))) == &things[7]);
    CHECK(zkl_path_table_find(&paths, node, strlen("/locks/70/")) == NULL);
    CHECK(by_path(node) == NULL);
}

static void several_have_one_path(void) {
    for (unsigned i = 0; i < MANY; i++) {
        if (i % 100 == 0)
            strcpy(things[i].path, "/same");
        add_path(&things[i]);
    }
    const zkl_table_item *item = zkl_path_table_find(&paths, "/same", 5);
    unsigned met = 0;
    for (; item; item = zkl_path_table_next(&paths, item)) {
        CHECK_TEXT(thing_at(item)->path, "/same");
        met++;
    }
    CHECK_INT(met, MANY / 100);
}

static void the_latest_of_a_path_is_found_first(void) {
    strcpy(things[1].path, things[0].path);
    add_path(&things[0]);
    add_path(&things[1]);
    CHECK(by_path(things[0].path) == &things[1]);
    CHECK(zkl_path_table_next(&paths, &things[1].item) == &things[0].item);
    CHECK(zkl_path_table_next(&paths, &things[0].item) == NULL);
}

/* Paths that differ in their last digits only: with a hash whose low bits are poor, most of them
 * would be in a few buckets. */
static void paths_spread_evenly(void) {
    unsigned used[64] = {0}, most = 0;
    for (unsigned i = 0; i < MANY; i++) {
        const unsigned slot = zkl_path_hash(things[i].path, strlen(things[i].path)) % 64;
        most = ++used[slot] > most ? used[slot] : most;
    }
    CHECK(most < 3 * MANY / 64);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"an empty table finds nothing, and takes new items", an_empty_table_has_nothing},
        {"a thousand numbers are told apart", many_are_told_apart},
        {"a search takes as long among many as among few", a_search_is_as_short_among_many},
        {"a walk meets each item once, though the caller removes them", a_walk_meets_each_once},
        {"a path is found until it is removed", a_path_is_found_until_it_is_removed},
        {"a path is found by the beginning of a longer one", the_beginning_of_a_path_is_a_path},
        {"all items with one path are found", several_have_one_path},
        {"the latest item with a path is found first", the_latest_of_a_path_is_found_first},
        {"paths that differ in a digit spread over the buckets", paths_spread_evenly},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
