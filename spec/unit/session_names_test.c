/* SPDX-License-Identifier: MIT */
/* A session's use of names: those that have no address, and those that come to mean
 * others. */
#include "session_world.h"

#include <string.h>

static void begin(void) {
    world_begin();
    world.addresses = "10.0.0.7";
    world_start_anew(&(zkl_config){.hosts = "zk:2182", .session_timeout = SESSION_TIMEOUT});
}

static const char *warning(void) {
    static char text[ZKL_LOG_LINE];
    const char *level;
    bool own;
    return zkl_log_take_next(&world.said, &level, &own, text, sizeof text) ? text : "";
}

static void cut(void) {
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    CHECK_TEXT(world_news(), "S");
}

/* The next time that names are looked up. */
static void look(void) {
    world_pass(world_pause());
    CHECK_INT(world.job_count, 1);
    world_work();
}

static void a_name_is_looked_up_before_there_is_a_link(void) {
    world_work();
    CHECK_TEXT(world_link()->addresses, "10.0.0.7:2182");
    CHECK_TEXT(world.session.hindrance, "");
    CHECK_TEXT(warning(), "");
}

static void one_without_an_address_is_told_and_looked_up_again(void) {
    world.addresses = "";
    world_work();
    CHECK_INT(world.made, 0);
    CHECK_TEXT(world.session.hindrance, "no such host: zk");
    CHECK(world.session.tried == NULL);
    CHECK_TEXT(warning(), "no such host: zk");
    CHECK_TEXT(warning(), ""); /* nothing of a handle, which there was none of */
    double expected = 0.05;
    for (int i = 0; i < 7; i++) {
        CHECK_INT(world_pause() * 1000 + 0.5, expected * 1000);
        world_pass(world_pause());
        world_work();
        expected = expected < 1 ? 2 * expected : 2;
    }
    CHECK_INT(world.made, 0);
    world.addresses = "10.0.0.7";
    world_pass(world_pause());
    world_come_up();
    CHECK_TEXT(world.session.hindrance, "");
}

static void after_a_session_timeout_the_log_says_why_no_server_was_reached(void) {
    world.addresses = "";
    world_work();
    CHECK_TEXT(warning(), "no such host: zk");
    world_pass(SESSION_TIMEOUT);
    CHECK_TEXT(warning(), "no server was reached for 10 s: no such host: zk");
    CHECK_TEXT(warning(), "");
}

/* The server was tried, and has lost its name since. */
static void the_log_says_rather_what_a_server_did(void) {
    world_work();
    zkl_trouble_note("Socket 10.0.0.7:2182 zk retcode=-4, errno=111(Connection refused): server "
                     "refused to accept the client",
                     NULL);
    world.addresses = "";
    look();
    CHECK_TEXT(warning(), "no such host: zk");
    world_pass(SESSION_TIMEOUT);
    CHECK_TEXT(warning(), "no server was reached for 10 s: connection refused: 10.0.0.7:2182");
}

static void the_trouble_is_told_as_long_as_there_is_one(void) {
    char text[ZKL_TROUBLE_TEXT] = "";
    world.addresses = "";
    world_work();
    CHECK(zkl_session_trouble(&world.session, text, sizeof text));
    CHECK_TEXT(text, "no such host: zk");
    world.addresses = "10.0.0.9";
    world_pass(world_pause());
    world_come_up();
    CHECK(!zkl_session_trouble(&world.session, text, sizeof text));
}

/* A server that was there makes the pauses short again. */
static void what_cannot_be_started_then_is_tried_again_soon(void) {
    world.addresses = "";
    for (int i = 0; i < 6; i++) {
        world_work();
        world_pass(world_pause());
    }
    world.addresses = "10.0.0.7";
    world_come_up();
    world_pass(5);
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    world.addresses = ""; /* the former one does as well */
    world.starts = false;
    world_work();
    CHECK_INT(world.made, 2);
    CHECK_INT(world_pause() * 1000 + 0.5, 50);
}

static void without_an_address_meanwhile_the_link_is_kept(void) {
    world_come_up();
    cut();
    world.addresses = "";
    for (int i = 0; i < 2; i++)
        look();
    CHECK_INT(world.made, 1); /* to those that were known */
    CHECK_TEXT(world.session.hindrance, "no such host: zk");
    world.addresses = "10.0.0.7";
    world_connect(7);
    CHECK_TEXT(world_news(), "R");
    CHECK_INT(world.session.look.at, 0);
}

static void another_address_is_tried_as_soon_as_it_is_known(void) {
    world_come_up();
    world_answer(ZKL_PROOF_QUORUM);
    CHECK_TEXT(world_news(), "F");
    cut();
    look();
    CHECK_INT(world.made, 1);
    CHECK(world.context.valid_until > world.now);
    world.addresses = "10.0.0.8";
    look();
    CHECK_INT(world.made, 2);
    CHECK_TEXT(world_news(), "L");
    CHECK(world.context.valid_until <= world.now); /* the former link may have ended it */
    CHECK_TEXT(world_link()->addresses, "10.0.0.8:2182");
    CHECK_TEXT(world.session.addresses, "10.0.0.8:2182");
    CHECK_INT(world_link()->carried, 7);
    CHECK(world.links[0].is_closed);
}

/* There is no session yet that could be carried. */
static void also_before_the_first_session(void) {
    world_work();
    world.addresses = "10.0.0.8 10.0.0.7";
    look();
    CHECK_INT(world.made, 2);
    CHECK_INT(world_link()->carried, 0);
    CHECK(!world.links[0].is_parted && world.links[0].is_closed);
    CHECK(strstr(world_link()->addresses, "10.0.0.8:2182") != NULL);
    world_connect(7);
    CHECK_TEXT(world_news(), "LR"); /* believed at once: there is nothing that it could miss */
    CHECK_INT(world.context.counters.sessions, 1);
}

/* Servers that are set up anew, at the same addresses: the link refuses them, for they know
 * less. */
static void the_same_address_is_tried_anew_after_a_timeout(void) {
    world_come_up();
    cut();
    const zkl_nanos since = world.now;
    while (world.made == 1)
        look();
    CHECK_INT(world.now - since, world.granted);
    CHECK_INT(world_link()->carried, 7);
    world_news();
    look(); /* the next link has had none, and waits for one as long as it takes */
    for (int i = 0; i < 20; i++)
        look();
    CHECK_INT(world.made, 2);
}

static void a_look_that_found_nothing_new_is_not_the_last(void) {
    world_come_up();
    cut();
    look();
    CHECK(world.session.look.at > world.now);
    CHECK_INT(world.made, 1);
}

/* The result of a look may come when there is a server again. */
static void what_comes_too_late_changes_nothing(void) {
    world_come_up();
    cut();
    world_pass(world_pause());
    world_connect(7);
    world.addresses = "10.0.0.8";
    world_work();
    CHECK_INT(world.made, 1);
    CHECK_TEXT(world_news(), "R");
    CHECK_INT(world.session.look.at, 0);
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    look();
    CHECK_INT(world.made, 2);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a name is looked up before there is a link", a_name_is_looked_up_before_there_is_a_link},
        {"one without an address is told, and looked up again",
         one_without_an_address_is_told_and_looked_up_again},
        {"after a session timeout the log says why no server was reached",
         after_a_session_timeout_the_log_says_why_no_server_was_reached},
        {"the log says rather what a server did", the_log_says_rather_what_a_server_did},
        {"the trouble is told as long as there is one",
         the_trouble_is_told_as_long_as_there_is_one},
        {"after an answer what cannot be started is tried again soon",
         what_cannot_be_started_then_is_tried_again_soon},
        {"without an address meanwhile the link is kept",
         without_an_address_meanwhile_the_link_is_kept},
        {"another address is tried as soon as it is known",
         another_address_is_tried_as_soon_as_it_is_known},
        {"also before the first session", also_before_the_first_session},
        {"the same address is tried anew after a timeout",
         the_same_address_is_tried_anew_after_a_timeout},
        {"a look that found nothing new is not the last",
         a_look_that_found_nothing_new_is_not_the_last},
        {"what comes too late changes nothing", what_comes_too_late_changes_nothing},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, world_end);
}
