/* SPDX-License-Identifier: MIT */
/* Why servers were not reached, as libzookeeper's log lines tell it. */
#include "check.h"
#include "zookeeper/trouble.h"

#include <string.h>

#define LINE(address, error)                                                                       \
    "2026-01-01 00:00:00,000:1(0x7f):ZOO_ERROR@handle_socket_error_msg@2474: Socket " address      \
    " zk retcode=-4, errno=" error ": server refused to accept the client"

static char text[ZKL_TROUBLE_TEXT];

static bool known(const char *addresses, zkl_nanos since) {
    text[0] = '\0';
    return zkl_trouble_of(addresses, since, text, sizeof text);
}

static void is_told_by_address(void) {
    CHECK(!known("10.0.0.1:2181", 0));
    zkl_trouble_note(LINE("10.0.0.1:2181", "111(Connection refused)"), NULL);
    zkl_trouble_note(LINE("[10.0.0.2:2181]", "110(Connection timed out)"), NULL);
    CHECK(known("10.0.0.1:2181", 0));
    CHECK_TEXT(text, "connection refused: 10.0.0.1:2181");
    CHECK(known("10.0.0.9:2181,10.0.0.2:2181", 0));
    CHECK_TEXT(text, "connection timed out: 10.0.0.2:2181");
    CHECK(known("10.0.0.1:2181,10.0.0.2:2181", 0)); /* the latest */
    CHECK_TEXT(text, "connection timed out: 10.0.0.2:2181");
}

static void of_part_of_an_address_is_not_told(void) {
    zkl_trouble_note(LINE("10.0.0.3:2181", "111(Connection refused)"), NULL);
    CHECK(!known("110.0.0.3:2181", 0));
    CHECK(!known("10.0.0.3:21811,0.0.3:2181", 0));
    CHECK(!known(NULL, 0));
    CHECK(known("110.0.0.3:2181,10.0.0.3:2181", 0));
}

static void of_before_is_not_told(void) {
    zkl_trouble_note(LINE("10.0.0.4:2181", "111(Connection refused)"), NULL);
    CHECK(known("10.0.0.4:2181", 0));
    CHECK(!known("10.0.0.4:2181", zkl_clock_boot.now() + ZKL_SECOND));
}

static void of_many_the_latest_are_kept(void) {
    zkl_trouble_note(LINE("10.0.0.5:2181", "111(Connection refused)"), NULL);
    for (int i = 0; i < 100; i++)
        zkl_trouble_note(LINE("10.0.0.6:2181", "104(Connection reset by peer)"), NULL);
    CHECK(!known("10.0.0.5:2181", 0));
    CHECK(known("10.0.0.6:2181", 0));
}

static void other_lines_are_passed_over(void) {
    char longest[600];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    const char *const lines[] = {"",
                                 "Socket ",
                                 "Socket  zk retcode=",
                                 "Socket 10.0.0.7:2181 zk retcode=-4",
                                 "errno=111(Connection refused)",
                                 longest};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        zkl_trouble_note(lines[i], NULL);
    CHECK(!known("10.0.0.7:2181", 0));
    zkl_trouble_note("Socket 10.0.0.7:2181 zk retcode=-7, errno=0(Success): nothing came", NULL);
    CHECK(known("10.0.0.7:2181", 0));
    CHECK_TEXT(text, "no answer: 10.0.0.7:2181");
}

static void of_an_expired_session_there_is_none(void) {
    zkl_trouble_note("Socket 10.0.0.9:2181 zk retcode=-4, errno=112(Host is down): failed while "
                     "receiving a server response",
                     NULL);
    zkl_trouble_note("Socket 10.0.0.9:2181 zk retcode=-112, errno=116(Stale file handle): "
                     "sessionId=0x1 has expired.",
                     NULL);
    CHECK(known("10.0.0.9:2181", 0));
    CHECK_TEXT(text, "the server closed the connection: 10.0.0.9:2181");
}

static void is_the_one_that_openssl_gives(void) {
    zkl_trouble_note("Socket 10.0.0.8:2281 zk retcode=-118, errno=0(Success): error in ssl connect",
                     "certificate verify failed");
    CHECK(known("10.0.0.8:2281", 0));
    CHECK_TEXT(text, "certificate verify failed: 10.0.0.8:2281");
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"is the one that OpenSSL gives", is_the_one_that_openssl_gives},
        {"is told by address", is_told_by_address},
        {"of a part of an address is not told", of_part_of_an_address_is_not_told},
        {"of an expired session there is none", of_an_expired_session_there_is_none},
        {"of before is not told", of_before_is_not_told},
        {"of many, the latest are kept", of_many_the_latest_are_kept},
        {"other lines are passed over", other_lines_are_passed_over},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
