/* SPDX-License-Identifier: MIT */
/* How a session ends, and what comes behind it. */
#include "session_world.h"

#include <string.h>

/* ---- by the servers ---- */

static void after_the_end_of_a_session_comes_a_new_one(void) {
    world_come_up();
    world_pass(5);
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    CHECK_TEXT(world_news(), "SX");
    CHECK_INT(world.session.state, ZKL_STATE_EXPIRED);
    CHECK_INT(world.context.session, 0);
    CHECK(!zkl_context_is_linked(&world.context));
    world_work();
    CHECK_INT(world.made, 2);
    CHECK(world.links[0].is_closed);
    CHECK_INT(world_link()->carried, 0);
    world_connect(8);
    CHECK_TEXT(world_news(), "R");
}

/* Its link was never told to be there. */
static void one_may_end_before_its_credentials_were_taken(void) {
    world_work();
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    CHECK_TEXT(world_news(), "X");
    CHECK_INT(world.session.state, ZKL_STATE_EXPIRED);
    world_work();
    CHECK_INT(world.made, 2);
    world_connect(8);
    CHECK_TEXT(world_news(), "R");
}

static void or_after_they_were_refused(void) {
    world_work();
    world_happens(world_link(), ZKL_LINK_AUTH_FAILED);
    world_pass(5);
    world_work();
    CHECK_INT(world.made, 2);
    CHECK_TEXT(world_news(), "D");
    CHECK_INT(world.session.state, ZKL_STATE_AUTH_FAILED);
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    CHECK_TEXT(world_news(), "X");
    CHECK_INT(world.session.state, ZKL_STATE_EXPIRED);
    world_work();
    world_connect(8);
    CHECK_TEXT(world_news(), "R");
}

static void a_new_one_may_be_refused(void) {
    world_come_up();
    world_pass(5);
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    world_work();
    world_happens(world_link(), ZKL_LINK_AUTH_FAILED);
    CHECK_TEXT(world_news(), "SXD");
    CHECK_INT(world.session.state, ZKL_STATE_AUTH_FAILED);
    world_pass(5);
    world_work();
    world_connect(8);
    CHECK_TEXT(world_news(), "R");
}

static void one_that_is_carried_on_may_end_before_the_answer(void) {
    world_come_up();
    world_move_on();
    world_connect(7);
    world_pass(5);
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    CHECK(strchr(world_news(), 'X') != NULL);
    world_work();
    world_connect(8);
    CHECK_TEXT(world_news(), "R"); /* there is nothing of a new one that could be missed */
}

static void or_be_refused(void) {
    world_come_up();
    world_move_on();
    world_connect(7);
    world_happens(world_link(), ZKL_LINK_AUTH_FAILED);
    CHECK(strchr(world_news(), 'D') != NULL);
    CHECK_INT(world.session.state, ZKL_STATE_AUTH_FAILED);
    world_pass(5);
    world_work();
    world_connect(8);
    CHECK_TEXT(world_news(), "R");
}

/* The server may go on with the link as if nothing were, and answer pings: the library waits. */
static void an_answer_tells_of_the_end_as_well(void) {
    world_come_up();
    world_pass(5);
    world_answer_by(world_link(), ZSESSIONEXPIRED, ZKL_PROOF_BROKEN);
    CHECK(strchr(world_news(), 'X') != NULL);
    CHECK_INT(world.session.state, ZKL_STATE_EXPIRED);
    CHECK(!zkl_context_is_linked(&world.context));
    world_work();
    CHECK_INT(world.made, 2);
    CHECK(world.links[0].is_closed);
    CHECK_INT(world_link()->carried, 0);
    world_connect(8);
    CHECK_TEXT(world_news(), "R");
    world_answer_by(&world.links[0], ZSESSIONEXPIRED, ZKL_PROOF_BROKEN); /* of the former one */
    CHECK_TEXT(world_news(), "");
    CHECK_INT(world.session.state, ZKL_STATE_CONNECTED);
}

static void also_before_a_session_that_is_carried_on_is_believed(void) {
    world_come_up();
    world_move_on();
    world_connect(7);
    world_pass(5);
    world_answer_by(world_link(), ZSESSIONEXPIRED, ZKL_PROOF_BROKEN);
    CHECK(strchr(world_news(), 'X') != NULL);
    world_work();
    world_connect(8);
    CHECK_TEXT(world_news(), "R");
}

/* On the former link, which is not heard any more: the next one is told the same. */
static void one_may_end_while_it_goes_to_the_next_link(void) {
    world_come_up();
    world.expires_in_part = true;
    world_move_on();
    CHECK_INT(world_link()->carried, 7);
    CHECK_INT(world.session.state, ZKL_STATE_SUSPENDED);
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    CHECK_TEXT(world_news(), "X");
    world_work();
    CHECK_INT(world_link()->carried, 0);
    world_connect(8);
    CHECK_TEXT(world_news(), "R");
}

/* A server that gives sessions and does not know them takes no thousand of them a second. */
static void after_a_brief_one_it_takes_a_moment(void) {
    world_come_up();
    world_pass(0.5);
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    world_work();
    CHECK_INT(world.made, 1);
    CHECK(world.links[0].is_closed);
    world_pass(0.19);
    world_work();
    CHECK_INT(world.made, 1);
    world_pass(0.02);
    world_work();
    CHECK_INT(world.made, 2);
}

static void after_a_longer_one_it_does_not(void) {
    world_come_up();
    world_pass(1);
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    world_work();
    CHECK_INT(world.made, 2);
}

/* ---- by its client ---- */

static void one_that_ends_opens_no_link_any_more(void) {
    world_come_up();
    world_pass(60); /* after a brief one the next link would come later anyway */
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    zkl_session_ending(&world.session);
    CHECK_INT(world.session.state, ZKL_STATE_CLOSED);
    world_work();
    CHECK_INT(world.made, 1);
    CHECK_INT(zkl_timers_next(&world.context.timers), ZKL_NEVER);
}

static void nor_tries_again_what_did_not_start(void) {
    world.starts = false;
    world.ends_in_start = true;
    world_work();
    CHECK_INT(world.made, 1);
    CHECK(world.links[0].is_closed);
    CHECK_INT(zkl_timers_next(&world.context.timers), ZKL_NEVER);
    world_pass(100);
    CHECK_INT(world.job_count, 0);
}

static void nor_looks_for_another_server(void) {
    world_come_up();
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    zkl_session_ending(&world.session);
    CHECK_INT(zkl_timers_next(&world.context.timers), ZKL_NEVER);
    world_pass(100);
    CHECK_INT(world.job_count, 0);
    world_connect(7);
    CHECK_INT(world.session.state, ZKL_STATE_CLOSED);
}

static void nor_does_one_that_rests(void) {
    world_come_up();
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    CHECK_INT(world.session.stage, ZKL_STAGE_RESTING);
    world_work();
    world_enter();
    zkl_session_ending(&world.session);
    world_leave();
    CHECK_INT(zkl_timers_next(&world.context.timers), ZKL_NEVER);
    CHECK_INT(world.job_count, 0);
}

static void nor_asks_what_has_started_meanwhile(void) {
    world.ends_in_start = true;
    world_work();
    CHECK_INT(world.made, 1);
    CHECK_TEXT(world.beats, "");
    world_connect(7);
    CHECK_TEXT(world.beats, "");
    CHECK_INT(world.session.state, ZKL_STATE_CLOSED);
}

/* Names are not looked up either: that may take long, and whoever closes waits for it. */
static void nor_is_one_looked_for_that_goes_meanwhile(void) {
    world_come_up();
    world_enter();
    zkl_session_ending(&world.session);
    world_leave();
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    world_pass(100);
    CHECK_INT(world.job_count, 0);
    CHECK_INT(world.made, 1);
    zkl_session_end(&world.session, world.now + ZKL_SECOND);
    CHECK(!world.links[0].is_drained); /* no answer would come */
}

static void one_with_a_server_waits_for_its_answers(void) {
    world_come_up();
    world_enter();
    zkl_session_ending(&world.session);
    world_leave();
    zkl_session_end(&world.session, world.now + ZKL_SECOND);
    CHECK(world.links[0].is_drained && world.links[0].is_closed);
    CHECK_INT(zkl_timers_next(&world.context.timers), ZKL_NEVER);
}

/* The server is silent: creates that are due would otherwise be sent later, to nobody. */
static void one_that_ends_with_a_server_suspends_its_client(void) {
    world_come_up();
    world_enter();
    zkl_session_ending(&world.session);
    world_leave();
    zkl_session_end(&world.session, world.now + ZKL_SECOND);
    CHECK_TEXT(world_news(), "S");
    zkl_port *port = world.context.port;
    const zkl_op op = {.kind = ZKL_OP_DELETE, .path = "/a", .version = -1};
    CHECK_INT(port->call->transact(port, &op, 1, (zkl_return){0}), ZINVALIDSTATE);
    CHECK_INT(port->call->perform(port, &op, false, (zkl_return){0}), ZINVALIDSTATE);
}

/* Its nodes are gone before they could be deleted; every link is closed all the same (end). */
static void one_may_expire_while_it_ends(void) {
    world_come_up();
    world.expires_in_drain = true;
}

/* It has not been closed yet: it is, all the same (end). */
static void one_may_expire_just_before_it_ends(void) {
    world_come_up();
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    CHECK(!world.links[0].is_closed);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"after the end of a session comes a new one", after_the_end_of_a_session_comes_a_new_one},
        {"one may end before its credentials were taken",
         one_may_end_before_its_credentials_were_taken},
        {"or after they were refused", or_after_they_were_refused},
        {"a new one may be refused", a_new_one_may_be_refused},
        {"one that is carried on may end before the answer",
         one_that_is_carried_on_may_end_before_the_answer},
        {"or be refused", or_be_refused},
        {"an answer tells of the end as well", an_answer_tells_of_the_end_as_well},
        {"also before a session that is carried on is believed",
         also_before_a_session_that_is_carried_on_is_believed},
        {"one may end while it goes to the next link", one_may_end_while_it_goes_to_the_next_link},
        {"after a brief one it takes a moment", after_a_brief_one_it_takes_a_moment},
        {"after a longer one it does not", after_a_longer_one_it_does_not},
        {"one that ends opens no link any more", one_that_ends_opens_no_link_any_more},
        {"nor tries again what did not start", nor_tries_again_what_did_not_start},
        {"nor looks for another server", nor_looks_for_another_server},
        {"nor does one that rests", nor_does_one_that_rests},
        {"nor asks what has started meanwhile", nor_asks_what_has_started_meanwhile},
        {"nor is one looked for that goes meanwhile", nor_is_one_looked_for_that_goes_meanwhile},
        {"one with a server waits for its answers", one_with_a_server_waits_for_its_answers},
        {"one that ends with a server suspends its client",
         one_that_ends_with_a_server_suspends_its_client},
        {"one may expire while it ends", one_may_expire_while_it_ends},
        {"one may expire just before it ends", one_may_expire_just_before_it_ends},
    };
    return check_run(CHECK_CASES(cases), argc, argv, world_begin, world_end);
}
