/* SPDX-License-Identifier: MIT */
/* The news of a session, and its credentials. */
#include "session_world.h"

#include <string.h>

/* ---- states ---- */

static void each_change_of_the_state_is_told_once(void) {
    zkl_event event;
    world.session.log = NULL; /* its lines are events, too */
    world_come_up();
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    world_connect(7);
    CHECK_TEXT(world_news(), "SR");
    world_happens(world_link(), ZKL_LINK_CONNECTED);
    CHECK_TEXT(world_news(), "");
    const int expected[] = {ZKL_STATE_CONNECTED, ZKL_STATE_SUSPENDED, ZKL_STATE_CONNECTED};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        CHECK(zkl_events_peek(&world.context.events, &event));
        CHECK_INT(event.kind, ZKL_EVENT_STATE);
        CHECK_INT(event.state, expected[i]);
        zkl_events_forget(&world.context.events, event.serial);
    }
    CHECK(!zkl_events_peek(&world.context.events, &event));
}

static void check_told(zkl_state expected) {
    zkl_event event;
    CHECK(zkl_events_peek(&world.context.events, &event));
    CHECK_INT(event.kind, ZKL_EVENT_STATE);
    CHECK_INT(event.state, expected);
    zkl_events_forget(&world.context.events, event.serial);
    CHECK(!zkl_events_peek(&world.context.events, &event));
}

/* However often it comes to that. */
static void a_state_that_stays_is_not_told_again(void) {
    world.session.log = NULL; /* its lines are events, too */
    world_work();
    for (int i = 0; i < 3; i++) {
        world_happens(world_link(), ZKL_LINK_AUTH_FAILED);
        CHECK_INT(world.session.state, ZKL_STATE_AUTH_FAILED);
        world_pass(60);
        world_work();
    }
    check_told(ZKL_STATE_AUTH_FAILED);
    for (int i = 0; i < 3; i++) {
        world_happens(world_link(), ZKL_LINK_EXPIRED);
        CHECK_INT(world.session.state, ZKL_STATE_EXPIRED);
        world_pass(60);
        world_work();
    }
    check_told(ZKL_STATE_EXPIRED);
}

/* The result of the next link is another matter: until then there is nobody to ask. */
static void while_it_rests_no_name_is_looked_up(void) {
    world_come_up();
    world_happens(world_link(), ZKL_LINK_AUTH_FAILED);
    world_work();
    for (int i = 0; i < 39; i++) {
        world_pass(0.1);
        CHECK_INT(world.job_count, 0);
    }
    CHECK_INT(world.session.stage, ZKL_STAGE_RESTING);
}

/* A host that does not poll. */
static void of_many_changes_the_latest_are_told(void) {
    zkl_event event;
    world.session.log = NULL;
    world_come_up();
    for (int i = 0; i < ZKL_STATES_KEPT; i++) {
        world_happens(world_link(), ZKL_LINK_SUSPENDED);
        world_connect(7);
    }
    int count = 0;
    zkl_state last = ZKL_STATE_FORKED;
    while (zkl_events_peek(&world.context.events, &event)) {
        CHECK(event.state != last);
        last = event.state;
        count++;
        zkl_events_forget(&world.context.events, event.serial);
    }
    CHECK_INT(count, ZKL_STATES_KEPT);
    CHECK_INT(last, ZKL_STATE_CONNECTED);
}

/* Somebody waits, and a write that is answered says that he need not any more. */
static void trust_that_is_new_is_told(void) {
    world.context.counters.waiting = 1;
    world_come_up();
    CHECK(world.context.valid_until <= world.now);
    world_pass(0);
    world_answer(ZKL_PROOF_QUORUM);
    CHECK(world.context.valid_until > world.now);
    CHECK_TEXT(world_news(), "F");
    world.context.counters.waiting = 0;
}

/* ---- credentials ---- */

static void without_credentials_the_heart_beats_before_there_is_a_server(void) {
    world.starts = false;
    world_work();
    CHECK_TEXT(world.beats, "");
    world.starts = true;
    world_pass(1);
    world_work();
    CHECK(world.beats[0] != '\0');
}

static void credentials_are_kept_and_go_before_everything_else(void) {
    char secret[] = "me:secret";
    const zkl_auth auths[] = {{"digest", secret}, {"a", "b"}, {"c", "d"}, {"e", "f"}};
    world_start_anew(&(zkl_config){.hosts = "10.0.0.1:2181",
                                   .session_timeout = SESSION_TIMEOUT,
                                   .auths = auths,
                                   .auth_count = 4});
    explicit_bzero(secret, sizeof secret);
    CHECK_INT(world.session.config.auth_count, 4);
    CHECK_TEXT(world.session.config.auths[0].scheme, "digest");
    CHECK_TEXT(world.session.config.auths[0].credential, "me:secret");
    CHECK_TEXT(world.session.config.auths[3].scheme, "e");
    CHECK_TEXT(world.session.config.auths[3].credential, "f");
    world_work();
    CHECK_TEXT(world.beats, "");
    world_connect(7);
    CHECK_TEXT(world_news(), "R");
    CHECK(world.beats[0] != '\0');
    zkl_session_end(&world.session, world.now + ZKL_SECOND);
    CHECK_INT(world.session.config.auth_count, 0);
}

/* Let in without a word about its credentials, by servers that do not know its session. */
static void one_may_expire_after_its_credentials_were_refused(void) {
    world_come_up();
    world_happens(world_link(), ZKL_LINK_AUTH_FAILED);
    CHECK_TEXT(world_news(), "SD");
    world_work();
    world_pass(4.01);
    world_work();
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    CHECK_TEXT(world_news(), "X");
    CHECK_INT(world.session.state, ZKL_STATE_EXPIRED);
}

static void refused_credentials_are_shown_again_later_and_later(void) {
    world_come_up();
    double expected = 4;
    for (int i = 0; i < 6; i++) {
        world_happens(world_link(), ZKL_LINK_AUTH_FAILED);
        CHECK(strchr(world_news(), 'D') != NULL);
        CHECK_INT(world.session.state, ZKL_STATE_AUTH_FAILED);
        world_work();
        const int before = world.made;
        world_pass(expected - 0.01);
        world_work();
        CHECK_INT(world.made, before);
        world_pass(0.02);
        world_work();
        CHECK_INT(world.made, before + 1);
        expected = expected < 30 ? 2 * expected : 60;
    }
    world_connect(9);
    CHECK_INT(world.session.state, ZKL_STATE_CONNECTED);
    world_happens(world_link(), ZKL_LINK_AUTH_FAILED);
    world_work();
    const int before = world.made;
    world_pass(4.01); /* whoever was let in is shown them soon */
    world_work();
    CHECK_INT(world.made, before + 1);
}

/* ---- the log ---- */

/* The oldest line; "": there is none. */
static const char *level; /* of the latest line */

static const char *line(void) {
    static char text[ZKL_LOG_LINE];
    bool own;
    return zkl_log_take_next(&world.said, &level, &own, text, sizeof text) ? text : "";
}

static void the_log_says_why_it_is_suspended_and_for_how_long(void) {
    world_come_up();
    CHECK_TEXT(line(), "");
    char first[sizeof "10.0.0.1:2181"], broken[256],
        expected[128]; /* which one it is, chance says */
    snprintf(first, sizeof first, "%.13s", world_link()->addresses);
    snprintf(broken, sizeof broken,
             "Socket %s zk retcode=-4, errno=112(Host is down): failed while receiving a server "
             "response",
             first);
    snprintf(expected, sizeof expected, "suspended: the server closed the connection: %s", first);
    world.session.met = 0; /* the trouble is noted by another clock */
    zkl_trouble_note(broken, NULL);
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    CHECK_TEXT(line(), expected);
    world_pass(2.5);
    world_connect(7);
    CHECK_TEXT(line(), "connected again after 2.5 s");
    CHECK_TEXT(line(), "");
}

static void the_log_says_how_long_an_expired_session_had_no_answer(void) {
    world_come_up();
    world_answer(ZKL_PROOF_QUORUM);
    world_pass(1);
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    line();
    world_pass(11);
    world.context.counters.held = 3;
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    world.context.counters.held = 0;
    CHECK_TEXT(line(), "session expired after 12.0 s without an answer; locks held: 3");
    CHECK_TEXT(level, "error");
    CHECK_TEXT(line(), "");
    world_work();
    world_connect(8);
    CHECK_TEXT(line(), "connected again after 11.0 s");
}

/* Its timeout may be less than two ticks, which no server tells. */
static void the_log_says_that_a_session_ended_while_it_was_believed_in(void) {
    world_come_up();
    world_answer(ZKL_PROOF_QUORUM);
    world_pass(4);
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    CHECK_TEXT(line(), "session expired after 4.0 s without an answer; locks held: 0");
    CHECK_TEXT(level, "warn");
    CHECK_TEXT(line(), "the session was valid for another 1.9 s: its timeout of 6 s is less than "
                       "two ticks of the servers, or it was a local session "
                       "(localSessionsEnabled) and has changed its server, or somebody has ended "
                       "it");
}

static void the_log_says_once_that_no_server_was_ever_reached(void) {
    world_work();
    zkl_nanos until = world.now + SESSION_TIMEOUT * ZKL_SECOND;
    while (world.now < until - ZKL_SECOND)
        world_pass(0.5);
    CHECK_TEXT(line(), "");
    for (int i = 0; i < 100; i++)
        world_pass(0.5);
    const char *said = line();
    CHECK(strncmp(said, "no server was reached for 10 s: ", 32) == 0);
    CHECK_TEXT(line(), "");
}

static void give_up_one(void) {
    world_enter();
    world.context.given_up++;
    world_leave();
}

/* Also those who leave after everybody was asked: a place does at the end of the step. */
static void the_host_can_ask_why_a_place_was_given_up_and_the_log_says_so_once(void) {
    static const char why[] = "answers come, but none shows that the session of 6 s is alive";
    char warning[160];
    world_come_up();
    CHECK_TEXT(world.session.doubt, "");
    give_up_one();
    CHECK_TEXT(world.session.doubt, why);
    snprintf(warning, sizeof warning, "a lock was not granted: %s", why);
    CHECK_TEXT(line(), warning);
    give_up_one();
    CHECK_TEXT(line(), "");
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    CHECK_TEXT(world.session.doubt, "");
    world_connect(7);
    CHECK_TEXT(world.session.doubt, "");
    give_up_one();
    CHECK_TEXT(world.session.doubt, why);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"the log says why it is suspended, and for how long",
         the_log_says_why_it_is_suspended_and_for_how_long},
        {"the log says how long an expired session had no answer",
         the_log_says_how_long_an_expired_session_had_no_answer},
        {"the log says that a session ended while it was believed in",
         the_log_says_that_a_session_ended_while_it_was_believed_in},
        {"the log says once that no server was ever reached",
         the_log_says_once_that_no_server_was_ever_reached},
        {"the host can ask why a place was given up, and the log says so once",
         the_host_can_ask_why_a_place_was_given_up_and_the_log_says_so_once},
        {"refused credentials are shown again, later and later",
         refused_credentials_are_shown_again_later_and_later},
        {"each change of the state is told once", each_change_of_the_state_is_told_once},
        {"a state that stays is not told again", a_state_that_stays_is_not_told_again},
        {"while it rests no name is looked up", while_it_rests_no_name_is_looked_up},
        {"of many changes the latest are told", of_many_changes_the_latest_are_told},
        {"without credentials the heart beats before there is a server",
         without_credentials_the_heart_beats_before_there_is_a_server},
        {"credentials are kept, and go before everything else",
         credentials_are_kept_and_go_before_everything_else},
        {"trust that is new is told", trust_that_is_new_is_told},
        {"one may expire after its credentials were refused",
         one_may_expire_after_its_credentials_were_refused},
    };
    return check_run(CHECK_CASES(cases), argc, argv, world_begin, world_end);
}
