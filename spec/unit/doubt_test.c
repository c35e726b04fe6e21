/* SPDX-License-Identifier: MIT */
/* A release with validity 0: it gives back, answers ZKL_UNKNOWN, and one more event tells what
 * became of the hold. */
#include "shared_node_world.h"

#define B "/locks/b"
#define POOL "/pool"

static void begin(void) {
    fake_world_begin();
    fake_directory(zk, B);
    fake_directory(zk, POOL "/locks");
    fake_directory(zk, POOL "/leases");
}

static const char *const ab[] = {LINE, B};

/* ---- each kind of hold ---- */

static fake_caller *mutex(void) {
    return fake_granted(fake_join(one, LINE, 1e12));
}

static fake_caller *reader(void) {
    return fake_granted(fake_read(one, LINE));
}

static fake_caller *reader_under_write(void) {
    return fake_granted(fake_read_under(fake_granted(fake_write_lock(one, LINE)), LINE));
}

static fake_caller *multilock(void) {
    return fake_granted(fake_join_all(one, ab, 2, 1e12));
}

static fake_caller *leases(void) {
    return fake_granted(fake_lease(one, POOL, 2, 3));
}

static fake_caller *turn(void) {
    return shared_holder(one);
}

static fake_caller *shared_read(void) {
    return shared_reader(one);
}

static fake_caller *(*const kinds[])(void) = {mutex,  reader, reader_under_write, multilock,
                                              leases, turn,   shared_read};
#define KINDS (sizeof kinds / sizeof *kinds)

static void doubt_all_kinds(void) {
    one->context.valid_until = fake_now;
}

/* Each kind is tried, and the client begins anew after each. */
static void each_kind(void (*play)(fake_caller *caller)) {
    for (size_t i = 0; i < KINDS; i++) {
        fake_caller *caller = kinds[i]();
        check_note("kind %zu", i);
        doubt_all_kinds();
        play(caller);
        fake_world_end();
        begin();
    }
}

/* ---- what the release answers ---- */

static void gives_back(fake_caller *p) {
    fake_release_in_doubt(p);
    CHECK_INT(fake_release(p), ZKL_NOT_OWNER);
    zkl_ask_free(&fake_flush(one)->ask);
    fake_settle_all(zk);
    CHECK(!fake_node_of(p));
    CHECK_INT((int64_t)one->context.counters.released, 1);
}

static void with_validity_0_it_is_given_back_and_unknown(void) {
    each_kind(gives_back);
}

static void was_held(fake_caller *p) {
    fake_release_in_doubt(p);
    one->context.valid_until = fake_now + ZKL_SECOND;
    zkl_lines_each(&one->lines, zkl_line_refreshed);
    fake_leave(one);
    fake_settle_all(zk);
    CHECK_INT(p->rests, 1);
    CHECK_INT(p->losses, 0);
    CHECK_INT((int64_t)one->context.counters.lost, 0);
}

static void the_host_hears_when_the_servers_confirm_it(void) {
    each_kind(was_held);
}

static void had_lost(fake_caller *p) {
    fake_cut(one);
    fake_release_in_doubt(p);
    CHECK_INT(p->losses, 0);
    fake_bury(one);
    fake_expire(one);
    CHECK_INT(p->losses, 1);
    CHECK_INT(p->rests, 0);
    CHECK_INT((int64_t)one->context.counters.released, 1);
    CHECK_INT(fake_release(p), ZKL_LOST);
}

static void a_session_that_had_ended_is_told_as_a_loss(void) {
    each_kind(had_lost);
}

static void let_go(fake_caller *p) {
    fake_cut(one);
    fake_release_in_doubt(p);
    fake_drop(p);
    const uint64_t others = one->context.counters.held;
    fake_bury(one);
    fake_expire(one); /* fake_client.c fails where one that was dropped hears something */
    CHECK_INT((int64_t)one->context.counters.lost, (int64_t)others);
}

static void nothing_is_told_when_the_host_has_let_go(void) {
    each_kind(let_go);
}

static void close_line(zkl_line *line) {
    zkl_line_fail(line, ZKL_CLOSED, true);
}

static void closed(fake_caller *p) {
    fake_cut(one);
    fake_release_in_doubt(p);
    zkl_lines_each(&one->lines, close_line);
    fake_bury(one);
    fake_expire(one);
    CHECK_INT(p->losses + p->rests, 0);
}

static void nothing_is_told_after_the_client_closed(void) {
    each_kind(closed);
}

static void closing(fake_caller *p) {
    zkl_lines_each(&one->lines, close_line);
    fake_leave(one);
    fake_settle_all(zk);
    CHECK(!fake_held(p));
    CHECK_INT(p->losses + p->rests, 0);
    CHECK_INT((int64_t)one->context.counters.lost, 0);
}

static void what_the_closing_gives_back_is_in_no_doubt(void) {
    each_kind(closing);
}

/* ---- the delete ---- */

static void the_only_delete_that_finds_no_node_tells_of_a_loss(void) {
    fake_caller *p = mutex();
    doubt_all_kinds();
    fake_remove(zk, fake_node_of(p));
    fake_release_in_doubt(p); /* before the watch tells */
    fake_settle_all(zk);
    CHECK_INT(p->losses, 1);
    CHECK_INT(p->rests, 0);
    CHECK_INT((int64_t)one->context.counters.lost, 1);
}

static void one_node_of_several_is_enough(void) {
    fake_caller *p = multilock();
    doubt_all_kinds();
    CHECK_INT(fake_children(zk, B), 1);
    char path[256];
    snprintf(path, sizeof path, "%s/%s", B, fake_child(zk, B, 0, FAKE_LATEST));
    fake_remove(zk, path);
    fake_release_in_doubt(p);
    fake_settle_all(zk);
    CHECK_INT(p->losses, 1);
    CHECK_INT(p->rests, 0);
    CHECK_INT((int64_t)one->context.counters.lost, 1);
}

/* The first delete was carried out, and its answer was lost. */
static void a_second_delete_that_finds_no_node_tells_of_none(void) {
    fake_caller *p = mutex();
    doubt_all_kinds();
    fake_release_in_doubt(p);
    CHECK(fake_carry(one));
    fake_cut(one);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK_INT(p->losses, 0);
    CHECK_INT(p->rests, 1);
}

static void a_node_that_was_gone_before_any_delete_was_sent_tells_of_a_loss(void) {
    fake_caller *p = mutex();
    fake_wait(zk, 29); /* its own node is watched by then */
    fake_settle_all(zk);
    fake_cut(one);
    doubt_all_kinds();
    fake_release_in_doubt(p);
    fake_remove(zk, fake_node_of(p));
    fake_connect(one);
    fake_settle_all(zk);
    CHECK_INT(p->losses, 1);
}

/* The look at its own node is answered first, and says less. */
static void a_look_that_finds_no_node_waits_for_the_delete(void) {
    fake_caller *p = mutex();
    fake_wait(zk, 29);
    CHECK_INT(fake_pending(one, FAKE_GET, NULL), 1);
    doubt_all_kinds();
    fake_remove(zk, fake_node_of(p));
    fake_release_in_doubt(p);
    fake_settle_all(zk);
    CHECK_INT(p->losses, 1);
    CHECK_INT(p->rests, 0);
}

/* To refuse it the servers have looked whether the session lives. */
static void a_delete_that_is_refused_tells_of_none(void) {
    fake_caller *p = mutex();
    doubt_all_kinds();
    fake_refuse(zk, FAKE_ERASE, LINE, ZNOAUTH, 1);
    fake_release_in_doubt(p);
    fake_settle_all(zk);
    CHECK_INT(p->rests, 1);
    fake_bury(one);
    fake_expire(one);
    CHECK_INT(p->losses, 0);
}

static void one_that_the_servers_put_off_tells_nothing_yet(void) {
    fake_caller *p = mutex();
    doubt_all_kinds();
    fake_refuse(zk, FAKE_ERASE, LINE, ZTHROTTLEDOP, 1);
    fake_release_in_doubt(p);
    fake_settle_all(zk);
    CHECK_INT(p->rests + p->losses, 0);
    fake_wait(zk, 10);
    fake_settle_all(zk);
    CHECK_INT(p->rests, 1);
}

/* The servers never carried a delete out: somebody else deleted it, or the session's end did. */
static void a_node_that_goes_while_its_delete_is_put_off_tells_of_a_loss(void) {
    fake_caller *p = mutex();
    doubt_all_kinds();
    fake_refuse(zk, FAKE_ERASE, LINE, ZTHROTTLEDOP, 1);
    fake_release_in_doubt(p);
    fake_settle_all(zk);
    fake_remove(zk, fake_node_of(p));
    fake_wait(zk, 10);
    fake_settle_all(zk);
    CHECK_INT(p->rests, 0);
    CHECK_INT(p->losses, 1);
}

/* ---- shared nodes ---- */

static void the_node_stays_with_those_who_wait_here(void) {
    fake_caller *first = shared_holder(one), *second = shared_settled(one);
    doubt_all_kinds();
    fake_release_in_doubt(first);
    CHECK(fake_waits(second) && shared_nodes() == 1);
    CHECK_INT(first->rests, 0);
    fake_beat(one, 20);
    CHECK(fake_held(second));
    CHECK_INT(second->token, first->token);
    CHECK_INT(first->rests, 1);
}

static void all_who_gave_it_back_in_doubt_have_lost(void) {
    fake_caller *first = shared_reader(one), *second = shared_answered(shared_reads(one));
    doubt_all_kinds();
    fake_release_in_doubt(first);
    fake_release_in_doubt(second);
    fake_cut(one);
    fake_bury(one);
    fake_expire(one);
    CHECK_INT(first->losses, 1);
    CHECK_INT(second->losses, 1);
}

static void an_operator_who_takes_the_node_of_a_shared_node_tells_of_a_loss(void) {
    fake_caller *first = shared_holder(one), *second = shared_settled(one);
    doubt_all_kinds();
    fake_release_in_doubt(first);
    fake_remove(zk, fake_node_of(second));
    fake_settle_all(zk);
    CHECK_INT(first->losses, 1);
}

/* Not the short way. */
static void it_does_not_rest_without_validity(void) {
    fake_caller *p = shared_holder(one);
    doubt_all_kinds();
    CHECK(!fake_rest(p));
    CHECK(fake_held(p));
    one->context.valid_until = fake_now + 1;
    CHECK(fake_rest(p));
}

/* ---- what is known ---- */

static void a_max_hold_that_is_over_is_lost_and_not_unknown(void) {
    fake_caller *all[] = {fake_granted(fake_join_for(one, LINE, 2)), NULL, NULL};
    all[1] = fake_granted(fake_join_all_for(one, (const char *const[]){B, "/locks/c"}, 2, 2));
    all[2] = fake_granted(fake_share_for(one, "/locks/d", 2));
    fake_now += 3 * ZKL_SECOND; /* stopped: no timer ran */
    doubt_all_kinds();
    for (size_t i = 0; i < 3; i++) {
        CHECK(fake_held(all[i]));
        CHECK_INT(fake_release(all[i]), ZKL_LOST);
        CHECK_INT(all[i]->losses, 1);
        CHECK_INT(fake_release(all[i]), ZKL_LOST);
    }
    CHECK_INT((int64_t)one->context.counters.lost, 3);
    CHECK_INT((int64_t)one->context.counters.released, 0);
}

static void validity_that_is_back_answers_ok(void) {
    fake_caller *p = mutex();
    doubt_all_kinds();
    one->context.valid_until = fake_now + 1;
    CHECK_INT(fake_release(p), ZKL_OK);
    fake_cut(one);
    fake_bury(one);
    fake_expire(one);
    CHECK_INT(p->losses, 0);
    CHECK_INT(p->rests, 1);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"with validity 0 it gives back, and answers unknown",
         with_validity_0_it_is_given_back_and_unknown},
        {"the host hears when the servers confirm it", the_host_hears_when_the_servers_confirm_it},
        {"a session that had ended is reported as a loss",
         a_session_that_had_ended_is_told_as_a_loss},
        {"nothing is reported after the host has dropped the contender",
         nothing_is_told_when_the_host_has_let_go},
        {"nothing is reported after the client closed", nothing_is_told_after_the_client_closed},
        {"a release by the closing is in no doubt", what_the_closing_gives_back_is_in_no_doubt},
        {"the only delete that finds no node tells of a loss",
         the_only_delete_that_finds_no_node_tells_of_a_loss},
        {"the end of one node of several is enough", one_node_of_several_is_enough},
        {"a second delete that finds no node tells of none",
         a_second_delete_that_finds_no_node_tells_of_none},
        {"a node that was gone before any delete was sent tells of a loss",
         a_node_that_was_gone_before_any_delete_was_sent_tells_of_a_loss},
        {"a look that finds no node waits for the delete",
         a_look_that_finds_no_node_waits_for_the_delete},
        {"a delete that is refused tells of none", a_delete_that_is_refused_tells_of_none},
        {"a delete that the servers put off tells nothing yet",
         one_that_the_servers_put_off_tells_nothing_yet},
        {"a node that goes while the servers put its delete off tells of a loss",
         a_node_that_goes_while_its_delete_is_put_off_tells_of_a_loss},
        {"the node stays for the waiters of this client", the_node_stays_with_those_who_wait_here},
        {"all callers that released a shared node in doubt have lost",
         all_who_gave_it_back_in_doubt_have_lost},
        {"an operator's delete of a shared node reports a loss",
         an_operator_who_takes_the_node_of_a_shared_node_tells_of_a_loss},
        {"a shared node does not rest without validity", it_does_not_rest_without_validity},
        {"a max_hold that is over is lost, and not unknown",
         a_max_hold_that_is_over_is_lost_and_not_unknown},
        {"validity that is back answers ok", validity_that_is_back_answers_ok},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, fake_world_end);
}
