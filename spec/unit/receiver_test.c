/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "port/receiver.h"
#include "recipe/znode.h"

#include <string.h>

static zkl_receivers receivers;
static zkl_receiver pool[1000];

static void begin(void) {
    memset(pool, 0, sizeof pool);
    CHECK(zkl_receivers_init(&receivers));
}

static void end(void) {
    zkl_receivers_destroy(&receivers);
}

static void is_found_until_it_leaves(void) {
    CHECK(zkl_receiver_find(&receivers, 0) == NULL);
    CHECK(zkl_receiver_find(&receivers, 1) == NULL);
    zkl_receiver_enter(&receivers, &pool[0]);
    const uint64_t id = pool[0].id;
    CHECK(id != 0);
    CHECK(zkl_receiver_find(&receivers, id) == &pool[0]);
    zkl_receiver_leave(&receivers, &pool[0]);
    CHECK_INT(pool[0].id, 0);
    CHECK(zkl_receiver_find(&receivers, id) == NULL);
    CHECK(zkl_receiver_find(&receivers, 0) == NULL);
}

static void entering_again_makes_the_old_number_stale(void) {
    zkl_receiver_enter(&receivers, &pool[0]);
    const uint64_t first = pool[0].id;
    zkl_receiver_enter(&receivers, &pool[0]);
    CHECK(pool[0].id != first);
    CHECK(zkl_receiver_find(&receivers, first) == NULL);
    CHECK(zkl_receiver_find(&receivers, pool[0].id) == &pool[0]);
    CHECK_INT(receivers.table.count, 1);
}

static void no_number_comes_twice(void) {
    uint64_t last = 0;
    for (unsigned i = 0; i < 10000; i++) {
        zkl_receiver_enter(&receivers, &pool[i % 3]);
        CHECK(pool[i % 3].id > last);
        last = pool[i % 3].id;
        if (i % 2)
            zkl_receiver_leave(&receivers, &pool[i % 3]);
    }
}

static void leaving_twice_is_fine(void) {
    zkl_receiver_leave(&receivers, &pool[0]);
    zkl_receiver_enter(&receivers, &pool[0]);
    zkl_receiver_leave(&receivers, &pool[0]);
    zkl_receiver_leave(&receivers, &pool[0]);
    CHECK_INT(receivers.table.count, 0);
}

/* Also beside one of the same owner, or of another one, that has the next number. */
static void a_node_s_number_shows_its_owner(void) {
    for (uint32_t i = 0; i < 100; i++) {
        pool[i].names_node = true;
        pool[i].owner = i % 3 ? 0xfffff - i % 3 : 0;
        zkl_receiver_enter(&receivers, &pool[i]);
        CHECK_INT(pool[i].id >> 40, pool[i].owner);
        CHECK((pool[i].id & ZKL_GUID_RANDOM) != 0);
        CHECK(zkl_receiver_find(&receivers, pool[i].id) == &pool[i]);
    }
}

static void many_are_told_apart(void) {
    static uint64_t gone[sizeof pool / sizeof *pool];
    const size_t many = sizeof pool / sizeof *pool;
    for (size_t i = 0; i < many; i++)
        zkl_receiver_enter(&receivers, &pool[i]);
    for (size_t i = 0; i < many; i++)
        gone[i] = pool[i].id;
    for (size_t i = 0; i < many; i += 2)
        zkl_receiver_leave(&receivers, &pool[i]);
    CHECK_INT(receivers.table.count, many / 2);
    for (size_t i = 1; i < many; i += 2)
        CHECK(zkl_receiver_find(&receivers, pool[i].id) == &pool[i]);
    for (size_t i = 0; i < many; i += 2)
        CHECK(zkl_receiver_find(&receivers, gone[i]) == NULL);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a subject is found by its number until it leaves", is_found_until_it_leaves},
        {"entering again makes the former number stale", entering_again_makes_the_old_number_stale},
        {"no receiver gets the number of another", no_number_comes_twice},
        {"leaving twice is fine", leaving_twice_is_fine},
        {"a node's number shows its owner", a_node_s_number_shows_its_owner},
        {"a thousand receivers are told apart", many_are_told_apart},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
