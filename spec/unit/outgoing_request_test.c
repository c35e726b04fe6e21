/* SPDX-License-Identifier: MIT */
/* Which path a server may claim to have made. */
#include "check.h"
#include "recipe/znode.h"
#include "zookeeper/outgoing_request.h"

#include <string.h>

#define ASKED "/line/_c_0-lock-"

static bool is_made(const char *number) {
    char made[sizeof ASKED + ZKL_ZNODE_SIZE] = ASKED;
    strcat(made, number);
    return zkl_outgoing_request_is_made(made, ASKED, true);
}

static void every_number_as_the_servers_print_it(void) {
    static const int32_t numbers[] = {0,  1,   9,          1000000000,  INT32_MAX,
                                      -1, -42, -999999999, -1000000000, INT32_MIN};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char number[ZKL_ZNODE_SIZE] = "";
        zkl_znode_append(number, numbers[i]);
        check_note("%s", number);
        CHECK(is_made(number));
    }
}

static void no_other_text(void) {
    static const char *const texts[] = {
        "",           "-",           "1",           "000000000",    "00000000001",
        "2147483648", "4294967297",  "-00000001",   "-000000000",   "-0000000000",
        "-000000000", "-0000000001", "-2147483649", "-01000000000", "-00000000000000001",
        "+000000001", " 000000001",  "000000001x",  "-00000001x",   "0000000001/a",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_note("%s", texts[i]);
        CHECK(!is_made(texts[i]));
    }
}

static void the_path_that_was_asked_for(void) {
    CHECK(zkl_outgoing_request_is_made("/a/b", "/a/b", false));
    CHECK(!zkl_outgoing_request_is_made("/a/b0000000000", "/a/b", false));
    CHECK(!zkl_outgoing_request_is_made("/a/c0000000000", "/a/b", true));
    CHECK(!zkl_outgoing_request_is_made("/a", "/a/b", false));
    CHECK(!zkl_outgoing_request_is_made(NULL, "/a/b", false));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a made path may end with any number as the servers print it",
         every_number_as_the_servers_print_it},
        {"it ends with nothing else", no_other_text},
        {"it begins with the path that was asked for", the_path_that_was_asked_for},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
