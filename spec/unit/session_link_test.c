/* SPDX-License-Identifier: MIT */
/* How a session goes from one link to the next, and what it does without a server. */
#include "session_world.h"

#include <string.h>

/* ---- the first ---- */

static void a_first_session_is_read_at_once(void) {
    world_work();
    CHECK_INT(world.made, 1);
    CHECK_INT(world.links[0].carried, 0);
    CHECK_INT(world.session.state, ZKL_STATE_CONNECTING);
    world_connect(7);
    CHECK_TEXT(world_news(), "R");
    CHECK(world.context.port == &world.links[0].port);
    CHECK_INT(world.session.state, ZKL_STATE_CONNECTED);
    CHECK_INT(world.context.session, 7);
    CHECK_INT(world.context.counters.sessions, 1);
    CHECK_INT(world.session.timeout, world.granted);
}

static void the_same_session_is_read_at_once_after_a_cut(void) {
    world_come_up();
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    CHECK(!zkl_context_is_linked(&world.context));
    CHECK_INT(world.session.state, ZKL_STATE_SUSPENDED);
    world_connect(7);
    CHECK_TEXT(world_news(), "SR");
    CHECK(world.context.port == &world.links[0].port);
    CHECK_INT(world.context.counters.sessions, 1);
    CHECK_INT(world.made, 1);
}

/* When it fails, whoever is found later has taken the session later. */
static void a_link_is_asked_before_it_has_a_server(void) {
    world_work();
    CHECK_TEXT(world.beats, "S");
    world_pass(30);
    CHECK_TEXT(world.beats, "S"); /* one at a time */
    world_connect(7);
    world_answer(ZKL_PROOF_LEADER);
    CHECK_TEXT(world_news(), "R");
}

static void a_cut_takes_no_trust_and_the_end_does(void) {
    world_come_up();
    world_answer(ZKL_PROOF_QUORUM);
    const zkl_nanos trusted = world.context.valid_until;
    CHECK(trusted > world.now);
    world_pass(1);
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    CHECK_INT(world.context.valid_until, trusted);
    world_connect(7);
    CHECK_INT(world.context.valid_until, trusted);
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    CHECK(world.context.valid_until <= world.now);
}

/* ---- carried on ---- */

static void what_carries_a_session_on_is_read_behind_a_write(void) {
    world_come_up();
    world_move_on();
    CHECK_INT(world_link()->carried, 7);
    CHECK(world.links[0].is_parted && world.links[0].is_closed);
    world.beats[0] = '\0';
    world_connect(7);
    CHECK_TEXT(world_news(), "");
    /* its server may lag, and a new handle does not know how far we were */
    CHECK(!zkl_context_is_linked(&world.context));
    CHECK_INT(world.session.state, ZKL_STATE_SUSPENDED);
    world_answer(ZKL_PROOF_LEADER); /* a sync that was handed over before there was a server */
    CHECK_TEXT(world_news(), "");
    CHECK_TEXT(world.beats, "D");
    world_answer(ZKL_PROOF_QUORUM);
    CHECK(strchr(world_news(), 'R') != NULL);
    CHECK(world.context.port == &world_link()->port);
    CHECK_INT(world.session.state, ZKL_STATE_CONNECTED);
    CHECK_INT(world.context.counters.sessions, 1);
}

static void once_it_has_been_answered_it_is_read_at_once_again(void) {
    world_come_up();
    world_move_on();
    world_connect(7);
    world_answer(ZKL_PROOF_QUORUM);
    world_news();
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    world_connect(7);
    CHECK_TEXT(world_news(), "SR");
}

static void a_cut_before_the_answer_keeps_it_from_being_read(void) {
    world_come_up();
    world_move_on();
    world_connect(7);
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    CHECK_TEXT(world_news(), ""); /* it is suspended as it was */
    world_connect(7);
    CHECK_TEXT(world_news(), "");
    CHECK(!zkl_context_is_linked(&world.context));
    world_answer(ZKL_PROOF_QUORUM);
    CHECK(strchr(world_news(), 'R') != NULL);
}

static void a_session_that_could_not_be_carried_on_has_expired(void) {
    world_come_up();
    world_move_on();
    world_connect(8);
    CHECK_TEXT(world_news(), "XR");
    CHECK_INT(world.context.session, 8);
    CHECK_INT(world.context.counters.sessions, 2);
    CHECK(world.context.port ==
          &world_link()->port); /* there is nothing of a new one that could be missed */
}

static void fail_in_vain(unsigned times) {
    for (unsigned i = 0; i < times; i++) {
        world_connect(7);
        world_happens(world_link(), ZKL_LINK_SUSPENDED);
        world_work();
    }
}

/* Its watches may be more than the servers take in one packet. */
static void a_link_that_connects_in_vain_is_given_up(void) {
    world_come_up();
    world_answer(ZKL_PROOF_QUORUM);
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    fail_in_vain(3);
    CHECK_INT(world.made, 1);
    fail_in_vain(1);
    CHECK_INT(world.made, 2);
    CHECK_INT(world_link()->carried, 7);
    CHECK(world.links[0].is_parted && world.links[0].is_closed);
    fail_in_vain(11); /* that did not help: the next one follows later */
    CHECK_INT(world.made, 2);
    fail_in_vain(1);
    CHECK_INT(world.made, 3);
    fail_in_vain(47);
    CHECK_INT(world.made, 3);
    world_connect(7);
    world_answer(ZKL_PROOF_QUORUM);
    CHECK_INT(world.session.state, ZKL_STATE_CONNECTED);
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    fail_in_vain(3);
    CHECK_INT(world.made, 3);
    fail_in_vain(1);
    CHECK_INT(world.made, 4);
    CHECK_INT(world.context.counters.sessions, 1);
}

static void a_sync_that_is_answered_is_not_in_vain(void) {
    world_come_up();
    for (unsigned i = 0; i < 12; i++) {
        world_answer(ZKL_PROOF_LEADER);
        world_happens(world_link(), ZKL_LINK_SUSPENDED);
        world_work();
        world_connect(7);
    }
    CHECK_INT(world.made, 1);
}

static void a_read_that_is_answered_proves_nothing(void) {
    world_come_up();
    for (unsigned i = 0; i < 4; i++) {
        world_answer(ZKL_PROOF_NONE);
        world_happens(world_link(), ZKL_LINK_SUSPENDED);
        world_work();
        if (i < 3)
            world_connect(7);
    }
    CHECK_INT(world.made, 2);
}

static bool log_says(const char *what) {
    char text[ZKL_LOG_LINE];
    const char *level;
    bool own, said = false;
    while (zkl_log_take_next(&world.said, &level, &own, text, sizeof text))
        said = said || strncmp(text, what, strlen(what)) == 0;
    return said;
}

static void nobody_carries_on_what_found_a_server_at_the_last_moment(void) {
    world_come_up();
    world.parts = false;
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    while (world.made == 1) {
        world_pass(world_pause());
        world_work();
    }
    CHECK_TEXT(world_news(), "SLX");
    CHECK_INT(world.session.state, ZKL_STATE_EXPIRED);
    CHECK(log_says("session expired"));
    CHECK_INT(world_link()->carried, 0);
    CHECK_INT(world.context.session, 0);
    world_connect(9);
    CHECK_TEXT(world_news(), "R");
    CHECK_INT(world.context.counters.sessions, 2);
}

static void a_former_link_is_not_heard(void) {
    world_come_up();
    world_move_on();
    world_connect(7);
    world_answer(ZKL_PROOF_QUORUM);
    world_news();
    world_happens(&world.links[0], ZKL_LINK_EXPIRED);
    world_answer_by(&world.links[0], ZSESSIONEXPIRED, ZKL_PROOF_BROKEN);
    world.links[0].owner.watched(world.links[0].owner.ctx, &world.links[0], "/old",
                                 ZKL_CHANGE_OTHER);
    CHECK_TEXT(world_news(), "");
    CHECK_INT(world.session.state, ZKL_STATE_CONNECTED);
    world_link()->owner.watched(world_link()->owner.ctx, world_link(), "/new", ZKL_CHANGE_OTHER);
    CHECK_TEXT(world_news(), "/new");
}

/* The server that it had proves nothing of the one that the next link has. */
static void nor_what_it_proves(void) {
    world_come_up();
    world_move_on();
    world_connect(7);
    world_answer_by(&world.links[0], ZNONODE, ZKL_PROOF_QUORUM);
    CHECK_TEXT(world_news(), "");
    CHECK_INT(world.session.stage, ZKL_STAGE_PROVING);
    CHECK(world.context.valid_until <= world.now);
}

/* It refuses servers whose data is older than what it has seen, which a new one would take. */
static void a_link_that_never_had_a_server_is_kept(void) {
    world_work();
    for (int i = 0; i < 20; i++) {
        CHECK(world_pause() > 0);
        world_pass(world_pause());
        world_work();
    }
    CHECK_INT(world.made, 1);
    CHECK_TEXT(world_news(), "");
}

static void the_next_link_begins_with_another_server(void) {
    world_come_up();
    world_move_on();
    CHECK_INT(world.made, 2);
    CHECK(strncmp(world.links[0].addresses, world.links[1].addresses, strlen("10.0.0.1:2181")) !=
          0);
}

/* ---- a session timeout that is not believed ---- */

static void a_spoiled_link_is_replaced_and_the_next_begins_elsewhere(void) {
    world_work();
    world_happens(world_link(), ZKL_LINK_SPOILED);
    world_work();
    CHECK(world.links[0].is_closed && !world.links[0].is_parted); /* there is no session to keep */
    double expected = 0.05;
    for (int i = 1; i < 8; i++) { /* less and less often */
        CHECK_INT(world.made, i);
        CHECK_INT(world_pause() * 1000 + 0.5, expected * 1000);
        world_pass(world_pause());
        world_work();
        CHECK_INT(world_link()->carried, 0);
        CHECK(strncmp(world.links[i - 1].addresses, world.links[i].addresses,
                      strlen("10.0.0.1:2181")) != 0);
        world_happens(world_link(), ZKL_LINK_SPOILED);
        world_work();
        expected = expected < 1 ? 2 * expected : 2;
    }
    world_pass(world_pause());
    world_news();
    world_come_up();
    CHECK_INT(world.context.counters.sessions, 1);
}

/* With the password that the last good connection confirmed: the other one may be forged. */
static void a_session_survives_a_spoiled_link(void) {
    world_come_up();
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    world_link()->session = 666;
    world_happens(world_link(), ZKL_LINK_SPOILED);
    world_work();
    CHECK(world.links[0].is_parted && world.links[0].is_closed);
    world_pass(world_pause());
    world_work();
    CHECK_INT(world_link()->carried, 7);
    world_connect(7);
    world_answer(ZKL_PROOF_QUORUM);
    CHECK_INT(world.session.state, ZKL_STATE_CONNECTED);
    CHECK_INT(world.context.counters.sessions, 1);
}

/* The servers still have the session: its locks would be lost for want of a thread here. */
static void a_session_survives_a_link_that_cannot_be_started(bool spoiled) {
    world_come_up();
    if (spoiled) {
        world_happens(world_link(), ZKL_LINK_SPOILED);
        world_work();
        world.starts = false;
        world_pass(world_pause());
        world_work();
    } else {
        world.starts = false;
        world_move_on();
    }
    CHECK_INT(world.made, 2);
    CHECK(world.links[1].is_closed);
    world.has_memory = false; /* nor is there memory for the next one */
    world_pass(world_pause());
    world_work();
    CHECK_INT(world.made, 2);
    world.starts = world.has_memory = true;
    world_pass(world_pause());
    world_work();
    CHECK_INT(world.made, 3);
    CHECK_INT(world_link()->carried, 7);
    world_connect(7);
    world_answer(ZKL_PROOF_QUORUM);
    CHECK_INT(world.session.state, ZKL_STATE_CONNECTED);
    CHECK_INT(world.context.counters.sessions, 1);
}

static void a_session_survives_a_move_to_a_link_that_cannot_be_started(void) {
    a_session_survives_a_link_that_cannot_be_started(false);
}

static void a_session_survives_a_spoiled_link_whose_heir_cannot_be_started(void) {
    a_session_survives_a_link_that_cannot_be_started(true);
}

/* The library connects with it again and again until it is closed, and names may take seconds. */
static void a_spoiled_link_is_closed_before_names_are_looked_up(void) {
    world_work();
    const int lookups = world.lookups;
    world_happens(world_link(), ZKL_LINK_SPOILED);
    world_work();
    CHECK(world.links[0].is_closed);
    CHECK_INT(world.lookups, lookups);
    world_pass(world_pause());
    world_work();
    CHECK(world.lookups > lookups);
}

static void a_link_that_is_spoiled_while_it_is_used_is_suspended(void) {
    world_come_up();
    world_happens(world_link(), ZKL_LINK_SPOILED);
    CHECK_TEXT(world_news(), "S");
    world_work();
    CHECK(world.links[0].is_closed);
}

/* ... until it has a server again, or the client ends. */
static void a_spoiled_link_is_not_replaced_while_the_client_ends(void) {
    world_come_up();
    world_happens(world_link(), ZKL_LINK_SPOILED);
    world_enter();
    zkl_session_ending(&world.session);
    world_leave();
    world_work();
    CHECK_INT(world.made, 1);
}

static void a_timeout_is_believed_up_to_a_minute_or_what_was_asked(void) {
    static const struct {
        zkl_nanos granted, believed;
    } table[] = {{ZKL_SECOND / 1000, ZKL_SECOND / 1000},
                 {59 * ZKL_SECOND, 59 * ZKL_SECOND},
                 {60 * ZKL_SECOND, 60 * ZKL_SECOND},
                 {61 * ZKL_SECOND, 60 * ZKL_SECOND},
                 {979999 * ZKL_SECOND, 60 * ZKL_SECOND}};
    world_work();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        world.granted = table[i].granted;
        world_connect(7 + (int64_t)i);
        CHECK_INT(world.session.timeout, table[i].believed);
        CHECK_INT(world.session.heart.validity.timeout, table[i].believed);
        CHECK_INT(world.session.heart.validity.granted, table[i].granted);
        CHECK_INT(world.session.misled, table[i].believed < table[i].granted);
        if (!world.session.misled)
            world_happens(world_link(), ZKL_LINK_SUSPENDED);
        else
            break;
    }
}

/* The library would rest for a sixtieth of the timeout, and wait two thirds of it for an answer. */
static void a_link_with_such_a_timeout_is_replaced_when_it_is_cut(void) {
    world.granted = 1200 * ZKL_SECOND;
    world_work();
    world_connect(7);
    world_pass(5);
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    world_work();
    CHECK(world.links[0].is_closed);
    world_pass(world_pause());
    world_work();
    CHECK_INT(world_link()->carried, 7);
}

static void a_mute_server_with_such_a_timeout_is_left(void) {
    world.granted = 1200 * ZKL_SECOND;
    world_work();
    world_connect(7);
    CHECK_TEXT(world_news(), "R");
    world_answer(ZKL_PROOF_LEADER);
    for (int i = 0; i < 4; i++) { /* it has two thirds of a minute for each answer */
        world_pass(20);
        world_pass(39);
        world_answer(ZKL_PROOF_LEADER);
    }
    CHECK_TEXT(world_news(), "");
    for (int i = 0; i < 20 && world.made == 1; i++) {
        world_pass(world_pause());
        world_work();
    }
    CHECK_TEXT(world_news(), "SX");
    CHECK_INT(world.made, 2);
    CHECK_INT(world_link()->carried, 0);
    CHECK(world.links[0].is_closed);
}

static void it_has_as_long_for_what_was_sent_before_it_was_found(void) {
    world.granted = 1200 * ZKL_SECOND;
    world_work();
    world_pass(25);
    world_work();
    world_connect(7);
    CHECK_TEXT(world.beats, "S"); /* its answer is awaited */
    world_pass(20);
    world_pass(19);
    CHECK_TEXT(world_news(), "R");
    world_pass(1);
    CHECK_TEXT(world_news(), "SX");
}

/* ---- without a server ---- */

/* The first time while the session can still be carried to another address; then less and less
 * often, and no less often than each timeout. */
static void names_are_looked_up_again(void) {
    world.granted = 60 * ZKL_SECOND;
    world_come_up();
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    const double expected[] = {10, 20, 30};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        CHECK_INT(world_pause() * 1000, expected[i] * 1000);
        world_pass(world_pause());
        CHECK_INT(world.job_count, 1);
        world_work();
    }
    CHECK_INT(world.made, 2); /* a timeout has passed */
}

static void short_timeouts_do_not_have_names_looked_up_all_the_time(void) {
    world.granted = ZKL_SECOND / 2;
    world_work();
    world_connect(7);
    world_happens(world_link(), ZKL_LINK_EXPIRED);
    world_pass(1);
    world_work();
    world.granted = ZKL_SECOND / 2;
    double last = 0;
    for (int i = 0; i < 10; i++) {
        last = world_pause();
        world_pass(last);
        world_work();
    }
    CHECK_INT(last * 1000, 2000);
}

static void with_a_server_nothing_is_looked_up(void) {
    world_come_up();
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    world_connect(7);
    CHECK(!world.session.look.at);
    world_pass(5);
    CHECK_INT(world.job_count, 0);
    CHECK_INT(world.made, 1);
}

/* It tells of each server that it loses before it has had a word with it. */
static void that_there_is_still_none_changes_nothing(void) {
    world_come_up();
    world.now += 2 * ZKL_SECOND;
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    CHECK_TEXT(world_news(), "S");
    const double pause = world_pause();
    world.now += ZKL_SECOND / 2;
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    CHECK_TEXT(world_news(), "");
    CHECK(world_pause() < pause);
    CHECK_INT(world.session.seeking, world.now - ZKL_SECOND / 2);
}

/* The library has found one, and we have not heard of it yet. */
static void a_link_that_has_just_found_a_server_is_kept(void) {
    world_come_up();
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    world_link()->has_server = true;
    for (int i = 0; i < 10; i++) {
        CHECK(world_pause() >= 1); /* ... however long ago it should have been given up */
        world_pass(world_pause());
        world_work();
    }
    CHECK_INT(world.made, 1);
    world_connect(7);
    CHECK_TEXT(world_news(), "SR");
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a first session is read at once", a_first_session_is_read_at_once},
        {"the same session is read at once after a cut",
         the_same_session_is_read_at_once_after_a_cut},
        {"a link is asked before it has a server", a_link_is_asked_before_it_has_a_server},
        {"a cut takes no trust, and the end does", a_cut_takes_no_trust_and_the_end_does},
        {"what carries a session on is read behind a write",
         what_carries_a_session_on_is_read_behind_a_write},
        {"once that has been answered it is read at once again",
         once_it_has_been_answered_it_is_read_at_once_again},
        {"a cut before the answer keeps it from being read",
         a_cut_before_the_answer_keeps_it_from_being_read},
        {"a session that could not be carried on has expired",
         a_session_that_could_not_be_carried_on_has_expired},
        {"a link that connects in vain is given up", a_link_that_connects_in_vain_is_given_up},
        {"a sync that is answered is not in vain", a_sync_that_is_answered_is_not_in_vain},
        {"a read that is answered proves nothing", a_read_that_is_answered_proves_nothing},
        {"nobody carries on what found a server at the last moment",
         nobody_carries_on_what_found_a_server_at_the_last_moment},
        {"a former link is not heard", a_former_link_is_not_heard},
        {"nor what it proves", nor_what_it_proves},
        {"a link that never had a server is kept", a_link_that_never_had_a_server_is_kept},
        {"the next link begins with another server", the_next_link_begins_with_another_server},
        {"a spoiled link is replaced, and the next begins elsewhere",
         a_spoiled_link_is_replaced_and_the_next_begins_elsewhere},
        {"a session survives a spoiled link", a_session_survives_a_spoiled_link},
        {"a session survives a move to a link that cannot be started",
         a_session_survives_a_move_to_a_link_that_cannot_be_started},
        {"a session survives a spoiled link when the next one cannot be started",
         a_session_survives_a_spoiled_link_whose_heir_cannot_be_started},
        {"a spoiled link is closed before names are looked up",
         a_spoiled_link_is_closed_before_names_are_looked_up},
        {"a link that is spoiled while it is used is suspended",
         a_link_that_is_spoiled_while_it_is_used_is_suspended},
        {"a spoiled link is not replaced while the client ends",
         a_spoiled_link_is_not_replaced_while_the_client_ends},
        {"a timeout is believed up to a minute or what was asked",
         a_timeout_is_believed_up_to_a_minute_or_what_was_asked},
        {"a link with such a timeout is replaced when it is cut",
         a_link_with_such_a_timeout_is_replaced_when_it_is_cut},
        {"a mute server with such a timeout is left", a_mute_server_with_such_a_timeout_is_left},
        {"it has as long for what was sent before it was found",
         it_has_as_long_for_what_was_sent_before_it_was_found},
        {"names are looked up again", names_are_looked_up_again},
        {"short timeouts do not have names looked up all the time",
         short_timeouts_do_not_have_names_looked_up_all_the_time},
        {"with a server nothing is looked up", with_a_server_nothing_is_looked_up},
        {"that there is still none changes nothing", that_there_is_still_none_changes_nothing},
        {"a link that has just found a server is kept",
         a_link_that_has_just_found_a_server_is_kept},
    };
    return check_run(CHECK_CASES(cases), argc, argv, world_begin, world_end);
}
