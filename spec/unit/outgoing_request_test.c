/* SPDX-License-Identifier: MIT */
/* Which path a server may claim to have made, and which lost request is the oldest. */
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

static int oldest, lost;
static zkl_extra asked;

static void answered(void *ctx, zkl_link *link, const zkl_return *back, const zkl_reply *reply,
                     zkl_nanos handed, zkl_proof proof) {
    (void)ctx, (void)link, (void)back, (void)handed, (void)proof;
    lost++;
    if (reply->oldest) {
        oldest = lost;
        asked = reply->extra;
    }
}

static void answer(zkl_link *link, zkl_extra extra, int rc) {
    const zkl_return nobody = {0, 0, 0};
    zkl_outgoing_request *r = zkl_outgoing_request_new(link, nobody, ZKL_REACH_QUORUM, 0);
    CHECK(r);
    r->extra = extra;
    zkl_outgoing_request_answer(r, &(zkl_reply){.rc = rc});
}

/* So one break counts once, however many requests it leaves behind. */
static void one_of_those_that_a_link_loses(void) {
    zkl_link link = {.owner = {.answered = answered}, .clock = &zkl_clock_boot};
    pthread_mutex_init(&link.mutex, NULL);
    zkl_clock_cond_init(&link.idle);
    answer(&link, ZKL_EXTRA_UNWATCH, ZOK);
    answer(&link, ZKL_EXTRA_UNWATCH, ZCLOSING);
    CHECK_INT(oldest, 0);
    answer(&link, ZKL_EXTRA_CONTAINER, ZCONNECTIONLOSS);
    answer(&link, ZKL_EXTRA_CREATE2, ZCONNECTIONLOSS);
    answer(&link, ZKL_EXTRA_NONE, ZOK);
    answer(&link, ZKL_EXTRA_CREATE2, ZCONNECTIONLOSS);
    CHECK_INT(lost, 6);
    CHECK_INT(oldest, 3);
    CHECK_INT(asked, ZKL_EXTRA_CONTAINER);
    pthread_cond_destroy(&link.idle);
    pthread_mutex_destroy(&link.mutex);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a made path may end with any number as the servers print it",
         every_number_as_the_servers_print_it},
        {"it ends with nothing else", no_other_text},
        {"it begins with the path that was asked for", the_path_that_was_asked_for},
        {"of those that a link loses the first is the oldest", one_of_those_that_a_link_loses},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
