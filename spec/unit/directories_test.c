/* SPDX-License-Identifier: MIT */
/* The directories in which this client has made nodes of late. */
#include "check.h"
#include "paths/directories.h"

#include <stdio.h>

static zkl_directories directories;

static void end(void) {
    zkl_directories_clear(&directories);
}

static const char *path_of(unsigned i) {
    static char path[32];
    snprintf(path, sizeof path, "/shop/item-%u", i);
    return path;
}

static void what_was_found_is_known_until_it_is_gone(void) {
    CHECK(!zkl_directories_known(&directories, "/a"));
    zkl_directories_gone(&directories, "/a");
    zkl_directories_found(&directories, "/a");
    zkl_directories_found(&directories, "/b");
    CHECK(zkl_directories_known(&directories, "/a"));
    zkl_directories_gone(&directories, "/a");
    CHECK(!zkl_directories_known(&directories, "/a"));
    CHECK(zkl_directories_known(&directories, "/b"));
}

static void a_directory_takes_a_mark_until_it_refuses_one(void) {
    CHECK(!zkl_directories_allow_mark(&directories, "/a"));
    zkl_directories_refuse_mark(&directories, "/a");
    zkl_directories_found(&directories, "/a");
    CHECK(zkl_directories_allow_mark(&directories, "/a"));
    zkl_directories_refuse_mark(&directories, "/a");
    CHECK(zkl_directories_known(&directories, "/a"));
    CHECK(!zkl_directories_allow_mark(&directories, "/a"));
    zkl_directories_found(&directories, "/a");
    CHECK(!zkl_directories_allow_mark(&directories, "/a"));
    zkl_directories_gone(&directories, "/a"); /* the next one may have another ACL */
    zkl_directories_found(&directories, "/a");
    CHECK(zkl_directories_allow_mark(&directories, "/a"));
}

static void what_refuses_a_node_is_not_known_until_one_is_made(void) {
    zkl_directories_refuse_node(&directories, "/a");
    CHECK(!zkl_directories_known(&directories, "/a"));
    zkl_directories_found(&directories, "/a");
    zkl_directories_refuse_mark(&directories, "/a");
    zkl_directories_refuse_node(&directories, "/a");
    CHECK(!zkl_directories_known(&directories, "/a"));
    zkl_directories_found(&directories, "/a");
    CHECK(zkl_directories_known(&directories, "/a"));
    CHECK(!zkl_directories_allow_mark(&directories, "/a"));
}

static const zkl_stat empty = {.czxid = 7, .children = 1};

static bool counts(int64_t session, zkl_nanos now) {
    return zkl_directories_counts(&directories, "/a", session, now);
}

static void a_look_counts_in_its_session_and_for_a_minute(void) {
    zkl_directories_counted(&directories, "/a", &empty);
    zkl_directories_listed(&directories, "/a", 1, &empty, 10);
    CHECK(!counts(1, 10)); /* no node of ours was made there */
    zkl_directories_found(&directories, "/a");
    CHECK(!counts(1, 10));
    zkl_directories_listed(&directories, "/a", 1, &empty, 10);
    CHECK(counts(1, 10) && counts(1, 9 + 60 * ZKL_SECOND));
    CHECK(!counts(1, 10 + 60 * ZKL_SECOND));
    CHECK(!counts(2, 10));
    zkl_directories_found_safe(&directories, "/a", 2, (zkl_edition){7, 0});
    CHECK(!counts(1, 10) && !counts(2, 10));
}

static void what_refuses_a_node_is_not_written_to(void) {
    zkl_directories_found(&directories, "/a");
    zkl_directories_listed(&directories, "/a", 1, &empty, 10);
    zkl_directories_refuse_node(&directories, "/a");
    CHECK(!counts(1, 10));
    zkl_directories_found(&directories, "/a");
    CHECK(counts(1, 10));
    zkl_directories_gone(&directories, "/a");
    zkl_directories_found(&directories, "/a");
    CHECK(!counts(1, 10));
}

static void a_thousand_are_remembered(void) {
    unsigned known = 0;
    for (unsigned i = 0; i < 1000; i++)
        zkl_directories_found(&directories, path_of(i));
    for (unsigned i = 0; i < 1000; i++)
        known += zkl_directories_known(&directories, path_of(i));
    CHECK(known > 980);
}

static void of_very_many_the_latest_are_remembered(void) {
    for (unsigned i = 0; i < 100000; i++) {
        zkl_directories_found(&directories, path_of(i));
        zkl_directories_found(&directories, "/often");
        CHECK(zkl_directories_known(&directories, path_of(i)));
    }
    CHECK(zkl_directories_known(&directories, "/often"));
    CHECK(!zkl_directories_known(&directories, path_of(0)));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"what was found is known until it is gone", what_was_found_is_known_until_it_is_gone},
        {"a directory takes a mark until it refuses one",
         a_directory_takes_a_mark_until_it_refuses_one},
        {"what refuses a node is not known until one is made",
         what_refuses_a_node_is_not_known_until_one_is_made},
        {"a look counts in its session and for a minute",
         a_look_counts_in_its_session_and_for_a_minute},
        {"what refuses a node is not written to", what_refuses_a_node_is_not_written_to},
        {"a thousand are remembered", a_thousand_are_remembered},
        {"of very many the latest are remembered", of_very_many_the_latest_are_remembered},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, end);
}
