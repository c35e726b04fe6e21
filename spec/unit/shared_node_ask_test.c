/* SPDX-License-Identifier: MIT */
/* When callers that share a node ask for remote waiters, and from which moment they count a
 * waiter's time. */
#include "shared_node_world.h"

static fake_caller *reads(void) {
    return fake_share_kind(one, LINE, ZKL_KIND_READ, 1e12);
}

static fake_caller *reader(void) {
    return fake_granted(reads());
}

static unsigned lists(void) {
    return one->counts[FAKE_LIST];
}

/* Time passes, in small pieces of which each is answered; how many lists were asked for. */
static unsigned asked_within(double seconds, double piece) {
    const unsigned before = lists();
    for (double passed = 0; passed < seconds; passed += piece) {
        fake_wait(zk, piece);
        fake_settle_all(zk);
    }
    return lists() - before;
}

/* ---- readers ---- */

static void with_no_time_at_all_they_ask_now_and_then(void) {
    fake_share_as(0, 1);
    reader();
    const unsigned asked = asked_within(2, 0.02);
    check_note("%u lists", asked);
    CHECK(asked >= 28 && asked <= 54);
}

/* With less time than a tenth of a second they have that. */
static void who_comes_soon_after_they_have_asked_gets_in(void) {
    static const struct {
        double stint, within, after;
    } times[] = {{0, 0.09, 0.11}, {0.07, 0.09, 0.11}, {0.12, 0.11, 0.13}, {2, 1.9, 2.1}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        check_note("a stint of %g s", times[i].stint);
        fake_share_as(times[i].stint, 1);
        reader();
        fake_wait(zk, times[i].within); /* they ask, and no answer comes */
        CHECK_INT(fake_pending(one, FAKE_LIST, NULL), 1);
        CHECK(fake_held(reads()));
        fake_wait(zk, times[i].after - times[i].within);
        fake_caller *late = reads();
        CHECK(fake_waits(late));
        fake_settle_all(zk);
        CHECK(fake_held(late));
        fake_world_end();
        fake_world_begin();
    }
}

static void however_much_time_they_have_they_do_ask(void) {
    fake_share_as(3600, 1);
    reader();
    CHECK_INT(asked_within(1300, 100), 0);
    CHECK_INT(asked_within(510, 10), 1);
}

/* It was set while no caller read there. */
static void while_a_watch_would_tell_they_do_not_ask(void) {
    fake_share_as(2, 100);
    shared_release(reader());
    fake_settle_all(zk);
    CHECK(zkl_lines_find(&one->lines, LINE)->freshness.current);
    fake_caller *mine = reads();
    CHECK(fake_held(mine));
    CHECK_INT(asked_within(20, 0.5), 0);
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    CHECK(!zkl_lines_find(&one->lines, LINE)->freshness.current);
    CHECK(asked_within(2, 0.1) > 0);
    CHECK(fake_held(mine) && fake_waits(theirs));
}

/* How long the shared node was to be kept has nothing to do with it. */
static void when_the_watch_has_told_they_ask_within_half_their_time(void) {
    fake_share_as(2, 100);
    shared_release(reader());
    fake_settle_all(zk);
    reads();
    fake_settle(two);
    fake_caller *theirs = fake_read(two, LINE);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
    CHECK(asked_within(1.1, 0.1) > 0);
}

/* The writer came just after they had asked. They find it when they ask again: it has waited
 * since. */
static void a_writer_has_waited_since_they_last_asked_in_vain(void) {
    fake_share_as(4, 1);
    reader();
    const unsigned before = lists();
    while (lists() == before)
        asked_within(0.01, 0.01);
    const zkl_nanos came = fake_now;
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    while (fake_now - came < zkl_clock_after(0, 3.9)) {
        asked_within(0.1, 0.1);
        CHECK(fake_held(reads()));
    }
    asked_within(0.2, 0.1);
    CHECK(fake_waits(reads()) && fake_waits(theirs));
}

/* ---- callers that take turns ---- */

/* No caller did anything for long, and none waited. */
static void a_stint_does_not_begin_before_somebody_comes(void) {
    fake_share_as(1, 1);
    fake_caller *mine = shared_holder(one);
    fake_wait(zk, 20);
    fake_waiter(two);
    fake_caller *next = shared_join(one);
    shared_release(mine);
    CHECK(fake_held(next));
    fake_wait(zk, 1.1);
    fake_caller *late = shared_join(one);
    shared_release(next);
    CHECK(fake_waits(late));
}

/* With so little room that the watch would take the part reserved for a waiter whose turn comes. */
static void without_room_for_the_watch_they_do_not_ask(void) {
    fake_caller *mine = shared_holder(one);
    zkl_watch_budget *watches = &one->lines.common.watch_budget;
    const size_t most = watches->most;
    watches->most = watches->bytes;
    fake_forget_counts(one);
    fake_caller *theirs = fake_waiter(two);
    CHECK_INT(lists(), 0);
    watches->most = most;
    shared_release(mine);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

/* ---- others of the same writer ---- */

/* Both read under one write, and one of them does not wait for a link. */
static void who_is_patient_waits_on_when_a_try_beside_him_ends(void) {
    fake_caller *write = fake_share_kind(one, LINE, ZKL_KIND_WRITE, 1e12);
    fake_settle_all(zk);
    CHECK(fake_held(write));
    fake_caller *patient = fake_share_under(write, LINE), *tried = fake_try_under(write, LINE);
    CHECK(fake_waits(patient) && fake_waits(tried));
    fake_cut(one);
    CHECK_FAILED(tried, ZKL_DISCONNECTED);
    CHECK(fake_waits(patient));
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_held(patient));
    CHECK_INT(patient->token, write->token);
}

static void a_try_under_a_write_is_granted(void) {
    fake_caller *write = fake_share_kind(one, LINE, ZKL_KIND_WRITE, 1e12);
    fake_settle_all(zk);
    fake_caller *tried = fake_try_under(write, LINE);
    CHECK(fake_waits(tried));
    fake_settle_all(zk);
    CHECK(fake_held(tried));
}

/* It waits for a link as it waits for everything else. */
static void a_read_under_a_write_waits_for_a_link(void) {
    fake_caller *write = fake_share_kind(one, LINE, ZKL_KIND_WRITE, 1e12);
    fake_settle_all(zk);
    fake_cut(one);
    fake_caller *read = fake_share_under(write, LINE);
    CHECK(fake_waits(read));
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_held(read));
}

/* However few are to wait; also when the write ends before it could ask, and it has to queue. */
static void a_read_under_a_write_is_not_one_too_many(void) {
    fake_caller *write = fake_share_kind(one, LINE, ZKL_KIND_WRITE, 1e12);
    fake_settle_all(zk);
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    fake_cut(one);
    fake_caller *read = fake_share_among_under(write, LINE, 0);
    CHECK(fake_waits(read));
    shared_release(write);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_held(theirs) && fake_waits(read));
    shared_release(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(read));
}

/* A revocation came while the node waited: the caller that gets it hears of that, and no later
 * one. */
static void who_is_let_in_where_it_is_wanted_back_hears_so(void) {
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    fake_caller *first = reads(), *second = reads();
    fake_settle_all(zk);
    fake_write(zk, fake_node_of(first), "__REVOKE__");
    fake_settle_all(zk);
    shared_release(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(first) && fake_waits(second));
    CHECK_INT(first->revocations, 1);
    shared_release(first);
    fake_settle_all(zk);
    CHECK(fake_held(second));
    CHECK_INT(second->revocations, 0);
}

/* They read here already, and the other one's options do not matter before all have gone. */
static void other_options_do_not_end_a_hold(void) {
    fake_share_as(1000, 1);
    fake_caller *first = reader();
    fake_share_as(3, 1);
    fake_caller *second = reads();
    CHECK(fake_held(first) && fake_held(second));
    CHECK_INT(second->token, first->token);
}

/* They have queued before a writer of another client. The servers are slow, so nobody here has
 * heard of the writer: whether it has waited long enough is not known. */
static void after_a_downgrade_that_nobody_answered_who_waits_to_read_keeps_his_shared_node(void) {
    fake_share_as(1, 1);
    fake_caller *write = fake_share_kind(one, LINE, ZKL_KIND_WRITE, 1e12);
    fake_settle_all(zk);
    fake_caller *waiter = reads();
    fake_settle_all(zk);
    for (unsigned i = 0; i < 2; i++) {
        fake_read(two, LINE); /* the watch has told of one */
        fake_settle_all(zk);
    }
    fake_caller *read = fake_share_under(write, LINE);
    fake_settle_all(zk);
    CHECK(fake_held(read) && fake_waits(waiter));
    CHECK(!zkl_lines_find(&one->lines, LINE)->freshness.current);
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_settle(two);
    fake_wait(zk, 2);
    shared_release(write);
    CHECK(fake_held(waiter) && waiter->token > write->token); /* by its own node */
    fake_settle_all(zk);
    CHECK(fake_held(waiter) && fake_waits(theirs));
    shared_release(read);
    fake_settle_all(zk);
    CHECK(fake_waits(theirs));
    shared_release(waiter);
    fake_settle_all(zk);
    CHECK_INT(waiter->losses + read->losses, 0);
}

/* At the moment itself it is over. */
static void who_comes_when_their_time_is_over_waits_for_the_answer(void) {
    fake_share_as(2, 1);
    reader();
    const zkl_nanos known = zkl_lines_find(&one->lines, LINE)->known;
    fake_wait(zk, 2);
    CHECK_INT(fake_now - known, 2 * ZKL_SECOND);
    CHECK(fake_waits(reads()));
}

/* The watch that the node has is enough, whatever budget others have used since. */
static void who_is_behind_is_asked_under_the_watch_that_there_is(void) {
    fake_share_as(1, 100);
    fake_caller *mine = shared_holder(one);
    one->lines.common.watch_budget.most = one->lines.common.watch_budget.bytes;
    fake_cut(one);
    fake_connect(one);
    fake_settle_all(zk);
    shared_release(mine);
    CHECK_INT(shared_nodes(), 1);
    CHECK_INT(shared_handed(one)->token, mine->token);
}

/* No caller reads there, and one waits for validity. */
static void one_that_somebody_waits_to_read_on_stays(void) {
    fake_share_as(1000, 1);
    fake_caller *first = reader();
    fake_wait(zk, 31);
    fake_caller *second = reads();
    CHECK(fake_waits(second));
    fake_release_in_doubt(first);
    CHECK(fake_waits(second));
    fake_beat(one, 20);
    fake_still(one);
    CHECK(fake_held(second));
    CHECK_INT(second->token, first->token);
}

/* It lingers by the options of its reader, its only user. */
static void what_a_writer_has_read_on_lingers(void) {
    fake_share_as(1000, 1);
    fake_caller *write = fake_share_kind(one, LINE, ZKL_KIND_WRITE, 1e12);
    fake_settle_all(zk);
    fake_caller *read = fake_share_under(write, LINE);
    fake_settle_all(zk);
    shared_release(write);
    fake_settle_all(zk);
    shared_release(read);
    fake_settle_all(zk);
    CHECK_INT(shared_nodes(), 1);
    CHECK_INT(reader()->token, write->token);
}

/* At the moment of its turn it gives up: as if it had held. */
static void who_gives_up_when_his_turn_comes_leaves_it_free(void) {
    fake_caller *before = fake_join_for(one, LINE, 5);
    fake_settle_all(zk);
    CHECK(fake_held(before));
    fake_caller *p = fake_share(one, LINE, 5);
    fake_settle_all(zk);
    CHECK(fake_waits(p));
    fake_wait(zk, 5);
    CHECK_INT(before->losses, 1);
    CHECK_FAILED(p, ZKL_TIMEOUT);
    fake_settle_all(zk);
    fake_wait(zk, 1.1);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void a_wait_without_a_link_ends_at_its_deadline(void) {
    shared_holder(one);
    fake_caller *p = fake_share(one, LINE, 5);
    CHECK(fake_waits(p));
    fake_cut(one);
    fake_wait(zk, 4.9);
    CHECK(fake_waits(p));
    fake_wait(zk, 0.2);
    CHECK_FAILED(p, ZKL_DISCONNECTED);
}

/* A patient caller waits for validity, and does not ask again. */
static void who_waits_for_trust_gets_the_shared_node_that_is_there(void) {
    fake_share_as(1000, 100);
    fake_caller *first = shared_holder(one);
    shared_release(first);
    fake_wait(zk, 31);
    fake_caller *p = shared_join(one);
    CHECK(fake_waits(p));
    fake_beat(one, 20);
    fake_still(one);
    CHECK(fake_held(p));
    CHECK_INT(p->token, first->token);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"readers with a stint of 0 still ask from time to time",
         with_no_time_at_all_they_ask_now_and_then},
        {"a writer that comes soon after readers have asked gets in",
         who_comes_soon_after_they_have_asked_gets_in},
        {"however much time they have, they do ask", however_much_time_they_have_they_do_ask},
        {"while a watch would tell they do not ask", while_a_watch_would_tell_they_do_not_ask},
        {"readers ask within half a stint after the watch has fired",
         when_the_watch_has_told_they_ask_within_half_their_time},
        {"a writer has waited since they last asked in vain",
         a_writer_has_waited_since_they_last_asked_in_vain},
        {"a stint does not begin before a remote waiter comes",
         a_stint_does_not_begin_before_somebody_comes},
        {"without room for the watch they do not ask", without_room_for_the_watch_they_do_not_ask},
        {"a patient caller waits on when a single try ends",
         who_is_patient_waits_on_when_a_try_beside_him_ends},
        {"a try under a write is granted", a_try_under_a_write_is_granted},
        {"a read under a write waits for a link", a_read_under_a_write_waits_for_a_link},
        {"a read under a write is never one waiter too many",
         a_read_under_a_write_is_not_one_too_many},
        {"a reader that joins a revoked node hears of the revocation",
         who_is_let_in_where_it_is_wanted_back_hears_so},
        {"other options do not end a hold", other_options_do_not_end_a_hold},
        {"after a downgrade without an answer a waiting reader keeps its position",
         after_a_downgrade_that_nobody_answered_who_waits_to_read_keeps_his_shared_node},
        {"a reader that comes at the end of the stint waits for the answer",
         who_comes_when_their_time_is_over_waits_for_the_answer},
        {"the client asks for remote waiters under the existing watch",
         who_is_behind_is_asked_under_the_watch_that_there_is},
        {"a node with a waiting reader stays", one_that_somebody_waits_to_read_on_stays},
        {"a node on which a writer has read lingers", what_a_writer_has_read_on_lingers},
        {"a caller that gives up at its turn leaves the node free",
         who_gives_up_when_his_turn_comes_leaves_it_free},
        {"a wait without a link ends at its deadline", a_wait_without_a_link_ends_at_its_deadline},
        {"a caller that waits for validity gets the existing shared node",
         who_waits_for_trust_gets_the_shared_node_that_is_there},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
