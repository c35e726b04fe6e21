/* SPDX-License-Identifier: MIT */
/* Questions about the client: is a hold still valid, is everything given back, is there a session.
 * And what becomes of a question that somebody drops. */
#include "query_world.h"

static void ask_validity(const fake_caller *p) {
    query_ask_about(p, ZKL_QUERY_VALIDITY, 60);
}

static void validity_is_answered_at_once_while_it_lasts(void) {
    ask_validity(fake_holder(one));
    query_check_answered(ZKL_OK);
    CHECK_TEXT(fake_batch(one), "");
}

/* With nothing left it is none. */
static void validity_lasts_until_its_end_and_not_longer(void) {
    fake_caller *p = fake_holder(one);
    fake_settle(one);
    fake_now = one->context.valid_until - 1;
    ask_validity(p);
    query_check_answered(ZKL_OK);
    zkl_ask_free(&query->ask);
    fake_now++;
    ask_validity(p);
    CHECK(query->ask.stage != ZKL_ASK_DONE);
}

static void validity_that_ran_out_asks_the_servers(void) {
    fake_caller *p = fake_holder(one);
    fake_wait(zk, 30);
    fake_settle(one);
    ask_validity(p);
    CHECK(query->ask.stage != ZKL_ASK_DONE);
    fake_beat(one, 15);
    query_check_answered(ZKL_OK);
}

static void validity_of_what_was_lost_says_so(void) {
    fake_caller *p = fake_holder(one);
    fake_wait(zk, 30);
    fake_settle(one);
    ask_validity(p);
    fake_expire(one);
    query_check_answered(ZKL_LOST);
}

static void validity_of_what_was_dropped_says_so(void) {
    fake_caller *p = fake_holder(one);
    fake_wait(zk, 30);
    fake_settle(one);
    ask_validity(p);
    fake_drop(p);
    query_check_answered(ZKL_LOST);
}

/* Of two the other one is still there. */
static void what_is_dropped_is_lost_to_those_who_asked_for_it(void) {
    fake_directory(zk, "/locks/other");
    fake_caller *p = fake_holder(one), *q = fake_join(one, "/locks/other", 60);
    fake_settle(one);
    fake_wait(zk, 30);
    fake_settle(one);
    ask_validity(p);
    zkl_query *of_p = query;
    ask_validity(q);
    fake_drop(p);
    CHECK(query->ask.stage != ZKL_ASK_DONE);
    CHECK(of_p->ask.stage == ZKL_ASK_DONE);
    CHECK_INT(of_p->ask.answer.status, ZKL_LOST);
    zkl_ask_free(&of_p->ask);
    fake_beat(one, 15);
    query_check_answered(ZKL_OK);
}

static void all_are_answered_when_the_client_closes(void) {
    zkl_query *asked[3];
    fake_cut(one);
    for (unsigned i = 0; i < 3; i++) {
        query_ask(i == 1 ? ZKL_QUERY_SESSION : ZKL_QUERY_PARTICIPANTS, 5);
        asked[i] = query;
    }
    zkl_asks_give_up(&one->queries.asks, ZKL_CLOSED);
    for (unsigned i = 0; i < 3; i++) {
        query = asked[i];
        query_check_answered(ZKL_CLOSED);
        query_stop();
    }
}

/* Its answer goes with it. */
static void what_is_dropped_before_its_answer_is_heard_is_not_heard_of(void) {
    one->busy = true; /* the host does not poll */
    query_ask(ZKL_QUERY_SESSION, 5);
    zkl_query *other = query;
    query_ask(ZKL_QUERY_SESSION, 5);
    query_check_answered(ZKL_OK);
    query_stop();
    zkl_event event;
    CHECK(zkl_events_peek(&one->context.events, &event));
    CHECK_INT(event.kind, ZKL_EVENT_ANSWER);
    zkl_events_forget(&one->context.events, event.serial);
    CHECK(!zkl_events_peek(&one->context.events, &event));
    one->busy = false;
    query = other;
}

/* The one that had departed before is on its way out; the node of one that departed later cannot be
 * deleted. */
static void a_flush_is_not_told_what_becomes_of_those_who_came_later(void) {
    fake_directory(zk, "/locks/other");
    fake_caller *p = fake_holder(one), *q = fake_join(one, "/locks/other", 60);
    fake_settle(one);
    fake_refuse(zk, FAKE_ERASE, LINE, ZTHROTTLEDOP, 1);
    fake_refuse(zk, FAKE_ERASE, "/locks/other", ZNOAUTH, 0);
    fake_release(p);
    query = fake_flush(one);
    fake_release(q);
    fake_settle(one);
    CHECK_INT(one->lines.common.refusals, 1);
    CHECK(query->ask.stage != ZKL_ASK_DONE);
    fake_wait(zk, 1);
    fake_settle(one);
    query_check_answered(ZKL_OK);
    query_stop();
    query = fake_flush(one);
    fake_settle(one);
    query_check_answered(ZKL_ACCESS_DENIED);
}

static void whoever_drops_one_that_is_answered_takes_none_from_others(void) {
    zkl_query *asked[4];
    fake_holder(two);
    fake_cut(one);
    for (unsigned i = 0; i < 4; i++) {
        query_ask(i == 1 ? ZKL_QUERY_SESSION : ZKL_QUERY_PARTICIPANTS, 5);
        asked[i] = query;
    }
    fake_connect(one);
    fake_leave(one);
    query = asked[1];
    query_check_answered(ZKL_OK);
    query_stop();
    zkl_ask_free(&asked[2]->ask); /* nor does one that is not */
    fake_settle(one);
    query = asked[0];
    query_check_answered(ZKL_OK);
    query_stop();
    query = asked[3];
    query_check_answered(ZKL_OK);
}

/* Whoever departed before it is still on its way out. */
static void the_first_refusal_answers_a_flush(void) {
    fake_directory(zk, "/locks/other");
    fake_caller *p = fake_holder(one), *q = fake_join(one, "/locks/other", 60);
    fake_settle(one);
    fake_refuse(zk, FAKE_ERASE, LINE, ZTHROTTLEDOP, 1);
    fake_refuse(zk, FAKE_ERASE, "/locks/other", ZNOAUTH, 0);
    fake_release(p);
    fake_release(q);
    query = fake_flush(one);
    CHECK(query->ask.stage != ZKL_ASK_DONE);
    fake_settle(one);
    CHECK(one->lines.common.departing.first != NULL);
    query_check_answered(ZKL_ACCESS_DENIED);
}

static void a_flush_is_answered_when_nobody_is_leaving(void) {
    query = fake_flush(one);
    query_check_answered(ZKL_OK);
    query_stop();
    fake_caller *p = fake_holder(one);
    fake_release(p);
    query = fake_flush(one);
    CHECK(query->ask.stage != ZKL_ASK_DONE);
    fake_settle(one);
    query_check_answered(ZKL_OK);
}

static void an_answer_tells_which_question_it_is_of(void) {
    query = zkl_query_new(&one->queries, ZKL_QUERY_SESSION, 77);
    CHECK_INT(query->ask.answer.tag, 77);
}

static void a_session_is_waited_for(void) {
    fake_cut(one);
    query_ask(ZKL_QUERY_SESSION, 5);
    CHECK(query->ask.stage != ZKL_ASK_DONE);
    fake_connect(one);
    query_check_answered(ZKL_OK);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"what is dropped is lost to those who asked for it",
         what_is_dropped_is_lost_to_those_who_asked_for_it},
        {"all are answered when the client closes", all_are_answered_when_the_client_closes},
        {"what is dropped before its answer is heard is not heard of",
         what_is_dropped_before_its_answer_is_heard_is_not_heard_of},
        {"a flush is not told what becomes of those who came later",
         a_flush_is_not_told_what_becomes_of_those_who_came_later},
        {"validity is answered at once while it lasts",
         validity_is_answered_at_once_while_it_lasts},
        {"validity lasts until its end, and not longer",
         validity_lasts_until_its_end_and_not_longer},
        {"validity that ran out asks the servers", validity_that_ran_out_asks_the_servers},
        {"validity of what was lost says so", validity_of_what_was_lost_says_so},
        {"validity of what was dropped says so", validity_of_what_was_dropped_says_so},
        {"whoever drops one that is answered takes none from others",
         whoever_drops_one_that_is_answered_takes_none_from_others},
        {"the first refusal answers a flush", the_first_refusal_answers_a_flush},
        {"a flush is answered when nobody is leaving", a_flush_is_answered_when_nobody_is_leaving},
        {"an answer tells which question it is of", an_answer_tells_which_question_it_is_of},
        {"a session is waited for", a_session_is_waited_for},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, query_end);
}
