/* SPDX-License-Identifier: MIT */
/* Tables, and what is kept in them, when memory runs out. */
#include "base/list.h"
#include "base/table.h"
#include "check.h"
#include "paths/directories.h"
#include "paths/watch_budget.h"
#include "scarce.h"

#include <string.h>

enum { MANY = 300, DRY = 1000000 };

typedef struct thing {
    zkl_table_item item;
    uint64_t number;
} thing;

static thing things[MANY];
static zkl_table table;
static zkl_watch_budget budget;
static zkl_directories directories;

static uint64_t number_of(const zkl_table *of, const zkl_table_item *item) {
    (void)of;
    return ZKL_CONTAINER_OF(item, const thing, item)->number;
}

static void begin(void) {
    table = (zkl_table){.key_of = number_of};
    for (unsigned i = 0; i < MANY; i++)
        things[i].number = i;
    zkl_watch_budget_init(&budget, 1000);
}

static void end(void) {
    scarce_plan(0, 0);
    zkl_table_clear(&table);
    zkl_watch_budget_lost(&budget);
    zkl_directories_clear(&directories);
}

static bool is_found(const thing *t) {
    const zkl_table_item *item = zkl_table_chain(&table, t->number);
    while (item && item != &t->item)
        item = item->next;
    return item != NULL;
}

static void a_table_without_buckets_takes_nothing(void) {
    scarce_plan(1, DRY);
    CHECK(!zkl_table_reserve(&table));
    CHECK(!zkl_table_add(&table, &things[0].item));
    CHECK(!is_found(&things[0]));
    CHECK_INT(table.count, 0);
    scarce_plan(0, 0);
    CHECK(zkl_table_add(&table, &things[0].item));
    CHECK(is_found(&things[0]));
}

static void directories_are_not_remembered_without_memory(void) {
    for (unsigned left = 0; left < 2; left++) {
        scarce_plan(left + 1, DRY);
        zkl_directories_found(&directories, "/a");
        zkl_directories_found_safe(&directories, "/a", 1, (zkl_edition){2, 3});
        CHECK(!zkl_directories_known(&directories, "/a"));
        CHECK_INT(zkl_directories_safe(&directories, "/a", 1).czxid, 0);
    }
    scarce_plan(0, 0);
    zkl_directories_found(&directories, "/a");
    CHECK(zkl_directories_known(&directories, "/a"));
}

static void without_more_buckets_all_are_found(void) {
    CHECK(zkl_table_reserve(&table));
    const size_t size = table.size;
    scarce_plan(1, DRY);
    for (unsigned i = 0; i < MANY; i++)
        CHECK(zkl_table_add(&table, &things[i].item));
    CHECK_INT(table.size, size);
    CHECK_INT(table.count, MANY);
    for (unsigned i = 0; i < MANY; i += 2)
        zkl_table_remove(&table, &things[i].item);
    for (unsigned i = 0; i < MANY; i++)
        CHECK(is_found(&things[i]) == (i % 2 != 0));
}

/* The library may still have the watch: to forget it would let the packet that sets all watches
 * again grow too long. */
static void a_watch_that_cannot_be_remembered_counts_until_the_handle_goes(void) {
    const size_t size = zkl_watch_budget_size(strlen("/locks/node"));
    unsigned failures = 0;
    for (unsigned nth = 1;; nth++) {
        scarce_plan(nth, 1);
        zkl_watch_budget_leave(&budget, "/locks", "node", false);
        const bool failed = scarce_asked() >= nth;
        scarce_plan(0, 0);
        CHECK_INT(budget.bytes, size);
        zkl_watch_budget_told(&budget, "/locks/node", false);
        CHECK_INT(budget.bytes, failed ? size : 0);
        zkl_watch_budget_lost(&budget);
        CHECK_INT(budget.bytes, 0);
        CHECK_INT(budget.left, 0);
        if (!failed)
            break;
        failures++;
    }
    CHECK(failures >= 3); /* its path, itself, the buckets */
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a table without memory for its first buckets takes nothing",
         a_table_without_buckets_takes_nothing},
        {"directories are not remembered without memory",
         directories_are_not_remembered_without_memory},
        {"a table without memory for more buckets finds all items",
         without_more_buckets_all_are_found},
        {"a watch that cannot be remembered counts until the handle goes",
         a_watch_that_cannot_be_remembered_counts_until_the_handle_goes},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
