/* SPDX-License-Identifier: MIT */
/* When a client asks the servers whether its session lives, and what it asks. The session timeout
 * is 30 seconds. */
#include "fake_world.h"

#include "base/timer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void begin(void) {
    fake_world_begin();
    fake_beat(one, 0);
}

/* The heartbeats of so many seconds, in which each is answered at once: "S" a sync, "D" a write. */
static const char *beats_of(double seconds) {
    static char text[64];
    size_t n = 0;
    for (double passed = 0; passed < seconds; passed += 0.5) {
        fake_wait(zk, 0.5);
        for (const char *b = fake_batch(one); *b && n + 1 < sizeof text; b++)
            if (*b == 'S' || *b == 'D')
                text[n++] = *b;
        fake_settle(one);
    }
    text[n] = '\0';
    return text;
}

static zkl_nanos trusted(void) {
    return one->context.valid_until - fake_now;
}

static void at_rest_a_sync_every_third_of_the_timeout(void) {
    CHECK_TEXT(beats_of(60), "SSSSSS");
}

static void while_somebody_is_there_a_write_and_a_sync_in_turns(void) {
    fake_holder(one);
    CHECK_TEXT(beats_of(60), "SDSDSDSDSDSD");
}

/* Milliseconds from a heartbeat to the next. */
static int64_t pause_of(const fake_client *client) {
    CHECK(!client->heart.beating);
    return (client->heart.timer.at - client->heart.beaten) / (ZKL_SECOND / 1000);
}

static void at_rest_a_third_of_the_timeout_passes_between_two(void) {
    beats_of(60);
    CHECK_INT(pause_of(one), 10000);
}

static void with_somebody_there_a_sixth(void) {
    fake_holder(one);
    beats_of(60);
    CHECK_INT(pause_of(one), 5000);
    fake_wait(zk, 0.5);
    fake_settle(one);
    CHECK_INT(pause_of(one), 5000);
}

static void without_trust_a_twelfth(void) {
    fake_holder(one);
    beats_of(60);
    fake_wait(zk, 45);
    fake_settle(one);
    CHECK(trusted() < 0);
    CHECK_INT(pause_of(one), 2500);
    fake_now = one->context.valid_until; /* at that moment there is none any more */
    fake_leave(one);
    one->heart.timer.at = 0;
    fake_leave(one);
    CHECK_INT(pause_of(one), 2500);
}

/* Whoever waits, holds, or keeps a shared node, however many of each. */
static void each_of_them_is_somebody(void) {
    zkl_context *context = &one->context;
    beats_of(60);
    for (unsigned n = 0; n < 27; n++) {
        context->counters.waiting = n % 3;
        context->counters.held = n / 3 % 3;
        context->idle_shared_nodes = n / 9;
        zkl_timer_clear(&context->timers, &one->heart.timer);
        zkl_heart_advance(&one->heart);
        CHECK((pause_of(one) == 10000) == (n == 0));
    }
    context->counters.waiting = context->counters.held = context->idle_shared_nodes = 0;
}

static unsigned refreshes;

static void count_refresh(zkl_heart *heart) {
    CHECK(heart == &one->heart);
    refreshes++;
}

/* Trust that has just run out is none. */
static void it_is_told_when_trust_is_there_again(void) {
    fake_holder(one);
    void (*const usual)(zkl_heart *) = one->heart.refreshed;
    one->heart.refreshed = count_refresh;
    refreshes = 0;
    fake_now = one->context.valid_until;
    zkl_heart_answered(&one->heart, ZKL_PROOF_NONE, fake_now);
    CHECK_INT(refreshes, 0);
    zkl_heart_answered(&one->heart, ZKL_PROOF_LEADER, fake_now - ZKL_SECOND);
    CHECK_INT(refreshes, 0);
    one->heart.validity.until = fake_now + 1; /* as if that had proven it */
    zkl_heart_answered(&one->heart, ZKL_PROOF_NONE, fake_now);
    CHECK_INT(refreshes, 1);
    zkl_heart_answered(&one->heart, ZKL_PROOF_NONE, fake_now);
    CHECK_INT(refreshes, 1);
    one->heart.refreshed = usual;
}

static void a_write_that_is_owed_is_one_though_nobody_is_there_any_more(void) {
    fake_caller *p = fake_holder(one);
    fake_cut(one);
    fake_wait(zk, 5); /* a sync is handed over */
    const unsigned before = one->counts[FAKE_ERASE];
    fake_connect(one);
    fake_drop(p);
    one->context.counters.waiting = one->context.counters.held = 0;
    fake_settle(one);
    CHECK(one->counts[FAKE_ERASE] > before);
    CHECK(!one->heart.owes_write);
    CHECK_INT(strlen(beats_of(60)), 6);
}

static void also_before_a_link_has_proven_itself(void) {
    fake_cut(one);
    fake_relink(one);
    fake_refuse(zk, FAKE_ERASE, one->heart.nothing, ZTHROTTLEDOP, 1);
    fake_connect(one);
    fake_settle(one);
    CHECK(one->heart.linked && !zkl_context_is_linked(&one->context));
    CHECK_INT(pause_of(one), 2500);
}

static void without_a_server_a_sixth(void) {
    fake_holder(one);
    beats_of(60);
    fake_cut(one);
    fake_wait(zk, 6);
    fake_fail(one);
    CHECK_INT(pause_of(one), 5000);
}

static void before_the_first_session_a_second(void) {
    fake_client *three = fake_client_new(zk);
    three->beats = true;
    fake_leave(three);
    CHECK_TEXT(fake_batch(three), "S");
    fake_fail(three);
    CHECK_INT(pause_of(three), 1000);
    fake_client_free(three);
}

/* A node that somebody else made there would end what the heart proves. */
static void the_path_of_its_writes_is_nobody_elses(void) {
    uint64_t first, second;
    CHECK_INT(
        sscanf(one->heart.nothing, "/zklock-%16" SCNx64 "%16" SCNx64 "/none", &first, &second), 2);
    CHECK(first != 0);
    CHECK_INT(second, 0); /* the fake's numbers are small */
    CHECK_INT(strlen(one->heart.nothing), strlen("/zklock-/none") + 32);
    CHECK(strcmp(one->heart.nothing, two->heart.nothing) != 0);
    CHECK(one->context.nothing == one->heart.nothing);
}

static void one_at_a_time(void) {
    fake_holder(one);
    fake_wait(zk, 300);
    CHECK_INT(fake_pending(one, FAKE_SYNC, NULL) + fake_pending(one, FAKE_ERASE, NULL), 1);
}

static void other_writes_do_as_well(void) {
    fake_caller *p = fake_holder(one);
    unsigned beats = 0;
    for (unsigned i = 0; i < 20; i++) {
        fake_release(p);
        p = fake_join(one, LINE, 5);
        beats += one->heart.beating;
        fake_settle(one);
        fake_wait(zk, 2);
    }
    CHECK_INT(beats, 0);
    CHECK(trusted() > 10 * ZKL_SECOND);
}

static void a_hold_is_trusted_for_a_third_at_least(void) {
    fake_holder(one);
    beats_of(30);
    for (unsigned i = 0; i < 200; i++) {
        beats_of(0.5);
        CHECK(trusted() > 9 * ZKL_SECOND);
        CHECK(trusted() < 20 * ZKL_SECOND);
    }
}

static void after_a_long_rest_an_acquire_is_trusted_at_once(void) {
    for (unsigned i = 0; i < 40; i++) {
        beats_of(61 + i);
        fake_caller *p = fake_join(one, LINE, 5);
        fake_settle(one);
        CHECK(fake_held(p));
        CHECK(trusted() > 5 * ZKL_SECOND);
        fake_release(p);
        fake_settle(one);
    }
}

/* Each answer takes a fifteenth of the timeout. If a beat at rest came a third of the timeout after
 * the beat before, and not after its answer, two of them would be too close for a chain. */
static void after_a_rest_with_slow_answers_too(void) {
    for (unsigned i = 0; i < 40; i++) {
        unsigned late = 0;
        for (unsigned passed = 0; passed < 122 + i; passed++) {
            fake_wait(zk, 0.5);
            late = one->heart.beating ? late + 1 : 0;
            if (late == 4)
                fake_settle(one);
        }
        fake_settle(one);
        fake_caller *p = fake_join(one, LINE, 5);
        fake_settle(one);
        CHECK(fake_held(p));
        CHECK(trusted() > ZKL_SECOND);
        fake_release(p);
        fake_settle(one);
    }
}

static void after_a_stop_trust_comes_back_soon(void) {
    fake_holder(one);
    beats_of(60);
    fake_wait(zk, 29);
    CHECK(trusted() < 0);
    beats_of(20);
    CHECK(trusted() > 10 * ZKL_SECOND);
}

static void a_connection_begins_with_a_beat(void) {
    fake_holder(one);
    fake_cut(one);
    fake_connect(one);
    CHECK_INT(one->heart.beating, 1);
    const char *batch = fake_batch(one);
    CHECK(strchr(batch, 'S') || strchr(batch, 'D'));
}

static void at_rest_too(void) {
    beats_of(60);
    fake_cut(one);
    fake_wait(zk, 1);
    fake_connect(one);
    CHECK_TEXT(fake_batch(one), "S");
}

/* Whoever waits is not trusted before a write. */
static void behind_what_was_handed_over_before_it_comes_a_write(void) {
    fake_holder(one);
    fake_cut(one);
    fake_wait(zk, 5);
    fake_connect(one);
    CHECK_INT(fake_pending(one, FAKE_SYNC, NULL), 1);
    CHECK_INT(fake_pending(one, FAKE_ERASE, NULL), 0);
    fake_answer(one);
    CHECK_INT(fake_pending(one, FAKE_ERASE, NULL), 1);
}

/* The later the last thing that failed was handed over, the longer the connection that comes after
 * it is believed in. */
static void without_a_server_one_is_handed_over_now_and_then(void) {
    fake_caller *p = fake_holder(one);
    fake_cut(one);
    for (unsigned i = 0; i < 4; i++) {
        fake_wait(zk, 5);
        CHECK_INT(fake_pending(one, FAKE_SYNC, NULL), 1);
        fake_fail(one);
    }
    fake_connect(one);
    fake_beat(one, 6);
    CHECK(fake_held(p));
    CHECK(trusted() > (29 - 6 - 2) * ZKL_SECOND);
}

/* A request wakes the library out of its pause between tries. */
static void without_a_server_it_pauses(void) {
    fake_holder(one);
    fake_cut(one);
    const unsigned before = one->counts[FAKE_SYNC];
    for (unsigned i = 0; i < 1000; i++) {
        fake_fail(one);
        fake_wait(zk, 0.01);
    }
    CHECK_INT(one->counts[FAKE_SYNC] - before, 2); /* in 10 seconds, a sixth of 30 each */
}

/* Whatever a server grants. */
static void a_session_of_no_time_is_no_flood(void) {
    fake_cut(one);
    fake_bury(one);
    fake_expire(one);
    one->timeout = 1;
    fake_connect(one);
    fake_join(one, LINE, 5);
    const unsigned before = one->counts[FAKE_SYNC] + one->counts[FAKE_ERASE];
    for (unsigned i = 0; i < 1000; i++) {
        fake_settle(one);
        fake_wait(zk, 0.001);
    }
    CHECK(one->counts[FAKE_SYNC] + one->counts[FAKE_ERASE] - before <= 51);
    CHECK(trusted() < 0);
}

static void what_is_answered_on_a_connection_is_not_before_it(void) {
    fake_holder(one);
    fake_cut(one);
    fake_wait(zk, 5); /* at this moment one is handed over */
    fake_take(one);   /* ... and the servers take the session */
    fake_wait(zk, 10);
    fake_connect(one);
    fake_settle(one);
    CHECK(trusted() <= 20 * ZKL_SECOND);
}

/* With credentials a connection is told of when they were taken; what was answered by then is of
 * it, not of the former. */
static void what_is_answered_before_it_is_heard_of_proves_nothing(void) {
    fake_holder(one);
    beats_of(30);
    fake_cut(one);
    const zkl_nanos before = one->context.valid_until;
    fake_wait(zk, 12);
    zkl_heart_answered(&one->heart, ZKL_PROOF_LEADER, fake_now);
    fake_wait(zk, 3);
    zkl_heart_answered(&one->heart, ZKL_PROOF_QUORUM, fake_now);
    CHECK_INT(one->context.valid_until, before);
}

static void a_link_that_is_given_up_is_not_trusted(void) {
    fake_caller *p = fake_holder(one);
    fake_cut(one);
    CHECK(trusted() > 0);
    fake_relink(one);
    CHECK(trusted() < 0);
    fake_connect(one);
    /* nothing is asked before the servers have committed something */
    CHECK(!zkl_context_is_linked(&one->context));
    CHECK_TEXT(fake_batch(one), "S"); /* handed over while there was no server */
    fake_answer(one);
    CHECK(!zkl_context_is_linked(&one->context));
    CHECK_TEXT(fake_batch(one), "D");
    fake_settle(one);
    CHECK(zkl_context_is_linked(&one->context));
    CHECK(fake_held(p) && trusted() > 0);
}

static void a_write_that_is_refused_is_tried_again(void) {
    fake_cut(one);
    fake_relink(one);
    fake_refuse(zk, FAKE_ERASE, one->heart.nothing, ZTHROTTLEDOP, 2);
    fake_connect(one);
    fake_settle(one);
    CHECK(!zkl_context_is_linked(&one->context));
    fake_beat(one, 8);
    CHECK(zkl_context_is_linked(&one->context));
}

static void nobody_trusts_a_session_that_has_ended(void) {
    fake_holder(one);
    fake_expire(one);
    CHECK_INT(one->context.valid_until, 0);
}

static void no_memory_for_a_beat_is_made_up_for_by_the_next(void) {
    fake_caller *p = fake_holder(one);
    one->deaf = ZINVALIDSTATE;
    fake_wait(zk, 8);
    one->deaf = ZOK;
    beats_of(20);
    CHECK(fake_held(p) && trusted() > 9 * ZKL_SECOND);
}

static void a_shorter_timeout_counts_as_soon_as_there_is_a_server(void) {
    fake_holder(one);
    beats_of(30);
    CHECK(trusted() > 6 * ZKL_SECOND);
    fake_cut(one);
    one->timeout = 6 * ZKL_SECOND;
    fake_connect(one);
    CHECK(trusted() < 6 * ZKL_SECOND);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"at rest a sync every third of the timeout", at_rest_a_sync_every_third_of_the_timeout},
        {"while a caller holds or waits, the heart sends a write and a sync in turn",
         while_somebody_is_there_a_write_and_a_sync_in_turns},
        {"at rest a third of the timeout passes between two",
         at_rest_a_third_of_the_timeout_passes_between_two},
        {"with a caller the pause is a sixth of the timeout", with_somebody_there_a_sixth},
        {"without validity the pause is a twelfth of the timeout", without_trust_a_twelfth},
        {"each of them is somebody", each_of_them_is_somebody},
        {"the heart reports when validity is back", it_is_told_when_trust_is_there_again},
        {"an owed write goes out although no caller is left",
         a_write_that_is_owed_is_one_though_nobody_is_there_any_more},
        {"also before a link has proven itself", also_before_a_link_has_proven_itself},
        {"without a server a sixth", without_a_server_a_sixth},
        {"before the first session a second", before_the_first_session_a_second},
        {"no other client knows the path of its writes", the_path_of_its_writes_is_nobody_elses},
        {"one heartbeat is on its way at a time", one_at_a_time},
        {"other writes do as well", other_writes_do_as_well},
        {"a hold is trusted for a third at least", a_hold_is_trusted_for_a_third_at_least},
        {"after a long rest an acquire is trusted at once",
         after_a_long_rest_an_acquire_is_trusted_at_once},
        {"after a rest with slow answers, too", after_a_rest_with_slow_answers_too},
        {"after a stop validity comes back soon", after_a_stop_trust_comes_back_soon},
        {"a connection begins with a beat", a_connection_begins_with_a_beat},
        {"at rest, too", at_rest_too},
        {"behind what was handed over before it comes a write",
         behind_what_was_handed_over_before_it_comes_a_write},
        {"without a server one is handed over now and then",
         without_a_server_one_is_handed_over_now_and_then},
        {"without a server it pauses between tries", without_a_server_it_pauses},
        {"a session of no time is no flood", a_session_of_no_time_is_no_flood},
        {"what is answered on a connection was not before it",
         what_is_answered_on_a_connection_is_not_before_it},
        {"an answer that comes before its request is known proves nothing",
         what_is_answered_before_it_is_heard_of_proves_nothing},
        {"a link that was given up gives no validity", a_link_that_is_given_up_is_not_trusted},
        {"a write that is refused is tried again", a_write_that_is_refused_is_tried_again},
        {"a session that has ended gives no validity", nobody_trusts_a_session_that_has_ended},
        {"no memory for a beat is made up for by the next",
         no_memory_for_a_beat_is_made_up_for_by_the_next},
        {"a shorter timeout counts as soon as there is a server",
         a_shorter_timeout_counts_as_soon_as_there_is_a_server},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, fake_world_end);
}
