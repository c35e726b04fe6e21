/* SPDX-License-Identifier: MIT */
/* How the link of a session is started, and what happens meanwhile. */
#include "session_world.h"

#include <errno.h>
#include <string.h>

/* ---- what happens while it starts ---- */

static void a_link_may_have_a_server_before_it_has_started(void) {
    world.in_start = ZKL_LINK_CONNECTED;
    world_work();
    CHECK_TEXT(world_news(), "R");
    CHECK_INT(world.made, 1);
    CHECK_TEXT(world.beats, "S");
}

static void or_be_at_its_end(void) {
    world.in_start = ZKL_LINK_EXPIRED;
    world_work();
    CHECK_TEXT(world_news(), "X");
    CHECK_INT(world.made, 2);
    CHECK(world.links[0].is_closed);
    world_connect(8);
    CHECK_TEXT(world_news(), "R");
    CHECK_TEXT(world.beats, "S"); /* of the second */
}

static void or_have_been_refused(void) {
    world.in_start = ZKL_LINK_AUTH_FAILED;
    world_work();
    CHECK_TEXT(world_news(), "D");
    CHECK_INT(world.made, 1);
    CHECK(world.links[0].is_closed);
    world_pass(4.01);
    world_work();
    CHECK_INT(world.made, 2);
    world_connect(8);
    CHECK_TEXT(world_news(), "R");
}

/* ---- what cannot be started ---- */

static void a_link_that_does_not_start_is_tried_again(void) {
    world.starts = false;
    world_work();
    CHECK_INT(world.made, 1);
    CHECK(world.links[0].is_closed);
    double expected = 0.05;
    for (int i = 1; i < 8; i++) {
        world_pass(expected - 0.001);
        world_work();
        CHECK_INT(world.made, i);
        world_pass(0.001);
        world_work();
        CHECK_INT(world.made, i + 1);
        expected = expected < 1 ? 2 * expected : 2;
    }
    world.starts = true;
    world_pass(2);
    world_work();
    world_connect(7);
    CHECK_TEXT(world_news(), "R");
}

static void so_is_one_for_which_there_is_no_memory(void) {
    world.has_memory = false;
    world_work();
    CHECK_INT(world.made, 0);
    CHECK(world_pause() > 0 && world_pause() < 1);
    world.has_memory = true;
    world_pass(world_pause());
    world_work();
    world_connect(7);
    CHECK_TEXT(world_news(), "R");
}

static void tells_the_host_why_it_does_not_start(void) {
    world.starts = false;
    world_work();
    CHECK(strstr(world.session.hindrance, "cannot start a ZooKeeper handle: ") != NULL);
    CHECK(strstr(world.session.hindrance, strerror(EAGAIN)) != NULL);
    world.starts = true;
    world_pass(world_pause());
    world_work();
    CHECK_TEXT(world.session.hindrance, "");
}

static void says_so_once_for_each_that_does_not_start(void) {
    const char *level;
    bool own;
    char text[ZKL_LOG_LINE];
    world_work();
    CHECK(!zkl_log_take_next(&world.said, &level, &own, text, sizeof text));
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    CHECK(zkl_log_take_next(&world.said, &level, &own, text,
                            sizeof text)); /* of the end of the session */
    world.starts = false;
    world_pass(1);
    world_work();
    CHECK(zkl_log_take_next(&world.said, &level, &own, text, sizeof text));
    CHECK(strstr(text, "cannot start a ZooKeeper handle: ") != NULL);
    CHECK(strstr(text, strerror(EAGAIN)) != NULL);
    CHECK(!zkl_log_take_next(&world.said, &level, &own, text, sizeof text));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a link may have a server before it has started",
         a_link_may_have_a_server_before_it_has_started},
        {"or be at its end", or_be_at_its_end},
        {"or have been refused", or_have_been_refused},
        {"a link that does not start is tried again", a_link_that_does_not_start_is_tried_again},
        {"so is one for which there is no memory", so_is_one_for_which_there_is_no_memory},
        {"it tells the host why it does not start", tells_the_host_why_it_does_not_start},
        {"it says so once for each that does not start", says_so_once_for_each_that_does_not_start},
    };
    return check_run(CHECK_CASES(cases), argc, argv, world_begin, world_end);
}
