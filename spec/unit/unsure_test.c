/* SPDX-License-Identifier: MIT */
/* A client whose answers come too late to show that its session is alive: whoever stands first
 * leaves, and lets others have the lock. The session timeout is 30 seconds. */
#include "fake_world.h"
#include "shared_node_world.h"

#include "line/line.h"

#define T 30

/* So long no answer has shown anything, although answers came. */
static void unsure(double seconds) {
    one->context.unsure += zkl_clock_duration(seconds);
    zkl_lines_each(&one->lines, zkl_line_unsure);
    fake_leave(one);
}

static void doubt(fake_client *client) {
    fake_wait(zk, T + 1);
    client->context.valid_until = 0;
}

/* It could hold, if anything were believed of the session. */
static fake_caller *first(void) {
    doubt(one);
    fake_caller *c = fake_join(one, LINE, ZKL_NEVER);
    fake_settle(one);
    one->context.valid_until = 0;
    CHECK(fake_waits(c) && c->contender->queue.position == ZKL_POSITION_FIRST);
    return c;
}

static void who_is_first_leaves_after_a_session_timeout(void) {
    fake_caller *c = first();
    unsure(1); /* it is seen for the first time */
    unsure(T - 1);
    CHECK(fake_waits(c));
    unsure(1);
    CHECK_FAILED(c, ZKL_DISCONNECTED);
    CHECK_INT(one->context.given_up, 1);
    fake_settle(one);
    CHECK_CLEAN();
}

static void the_next_one_behind_it_is_granted(void) {
    fake_caller *c = first();
    fake_caller *next = fake_join(two, LINE, ZKL_NEVER);
    fake_settle_all(zk);
    one->context.valid_until = 0;
    CHECK(fake_waits(c) && fake_waits(next));
    two->context.valid_until = ZKL_NEVER - 1;
    unsure(1);
    unsure(T);
    fake_settle_all(zk);
    CHECK_FAILED(c, ZKL_DISCONNECTED);
    CHECK(fake_held(next));
}

static void who_stands_behind_somebody_stays(void) {
    fake_caller *other = fake_holder(two);
    fake_caller *c = fake_waiter(one);
    doubt(one);
    for (int i = 0; i < 10; i++)
        unsure(T);
    CHECK(fake_waits(c));
    fake_release(other);
    fake_settle_all(zk);
    one->context.valid_until = 0;
    CHECK(fake_waits(c) && c->contender->queue.position == ZKL_POSITION_FIRST);
    unsure(1); /* it is counted from when it has become first */
    unsure(T - 1);
    CHECK(fake_waits(c));
    unsure(1);
    CHECK_FAILED(c, ZKL_DISCONNECTED);
}

static void after_a_moment_of_trust_it_is_counted_anew(void) {
    zkl_nanos since = 0;
    zkl_context *context = &one->context;
    context->valid_until = fake_now;
    CHECK(!zkl_context_lose_patience(context, &since));
    context->unsure += (T - 1) * ZKL_SECOND;
    CHECK(!zkl_context_lose_patience(context, &since));
    context->valid_until = fake_now + 1;
    CHECK(!zkl_context_lose_patience(context, &since));
    context->valid_until = fake_now;
    CHECK(!zkl_context_lose_patience(context, &since));
    context->unsure += T * ZKL_SECOND - 1;
    CHECK(!zkl_context_lose_patience(context, &since));
    context->unsure += 1;
    CHECK(zkl_context_lose_patience(context, &since));
}

static void who_waits_for_a_shared_node_leaves_with_it(void) {
    fake_caller *held = shared_holder(one), *c = shared_settled(one), *d = shared_settled(one);
    doubt(one);
    for (int i = 0; i < 3; i++)
        unsure(T);
    CHECK(fake_held(held) || held->losses == 0);
    CHECK(fake_waits(c)); /* a holder is there, who does not know better */
    one->context.valid_until = 0;
    fake_release_in_doubt(held);
    CHECK(fake_waits(c));
    unsure(T - 1);
    CHECK(fake_waits(c));
    unsure(1);
    CHECK_FAILED(c, ZKL_DISCONNECTED);
    CHECK_FAILED(d, ZKL_DISCONNECTED);
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_shared_node_that_is_still_to_be_held_leaves_too(void) {
    doubt(one);
    fake_caller *c = shared_settled(one);
    one->context.valid_until = 0;
    CHECK(fake_waits(c));
    unsure(1);
    unsure(T);
    CHECK_FAILED(c, ZKL_DISCONNECTED);
    fake_settle(one);
    CHECK_CLEAN();
}

/* The one before it has left, when it had almost waited for so long. */
static void the_next_one_has_as_much_patience(zkl_kind kind) {
    fake_share_as(1, 100);
    fake_caller *held = fake_share_kind(one, LINE, kind, 1e12);
    fake_settle(one);
    CHECK(fake_held(held));
    one->context.valid_until = 0;
    fake_release_in_doubt(held);
    fake_caller *c = fake_share_kind(one, LINE, kind, 1e12);
    unsure(T - 1);
    CHECK(fake_waits(c));
    fake_cancel(c);
    c = fake_share_kind(one, LINE, kind, 1e12);
    unsure(T - 1);
    CHECK(fake_waits(c));
    unsure(1);
    CHECK_FAILED(c, ZKL_DISCONNECTED);
    fake_settle(one);
    CHECK_CLEAN();
}

static void each_caller_at_a_shared_node_has_as_much_patience(void) {
    the_next_one_has_as_much_patience(ZKL_KIND_LOCK);
    fake_world_end();
    fake_world_begin();
    the_next_one_has_as_much_patience(ZKL_KIND_READ);
}

/* ---- what the heart counts ---- */

static unsigned told;

static void count_unsure(zkl_heart *heart) {
    (void)heart;
    told++;
}

static void answer(double took, zkl_proof proof) {
    fake_now += zkl_clock_duration(took);
    zkl_heart_answered(&one->heart, proof, fake_now - zkl_clock_duration(took));
}

static int64_t counted(void) {
    return (one->context.unsure - 1) / (ZKL_SECOND / 1000);
}

static void time_counts_that_ends_with_an_answer(void) {
    void (*const usual)(zkl_heart *) = one->heart.unsure;
    one->heart.unsure = count_unsure;
    told = 0;
    one->heart.validity.until = 0;
    answer(0, ZKL_PROOF_LEADER);
    one->context.unsure = 1;
    one->heart.due = 0;
    one->context.counters.waiting = 1;
    answer(3, ZKL_PROOF_LEADER);
    CHECK_INT(counted(), 3000);
    CHECK_INT(told, 1);
    answer(4, ZKL_PROOF_NONE); /* as a cut is: that is no answer */
    CHECK_INT(counted(), 3000);
    answer(4, ZKL_PROOF_BROKEN);
    CHECK_INT(counted(), 11000);
    one->context.counters.waiting = 0; /* nobody wants anything */
    answer(5, ZKL_PROOF_LEADER);
    CHECK_INT(counted(), 11000);
    one->context.counters.waiting = 1;
    one->heart.validity.until = fake_now + 2 * ZKL_SECOND; /* believed for half of the time */
    answer(1, ZKL_PROOF_LEADER);
    CHECK_INT(counted(), 11000);
    answer(3, ZKL_PROOF_LEADER);
    CHECK_INT(counted(), 13000);
    zkl_heart_unlinked(&one->heart);
    fake_now += 100 * ZKL_SECOND;
    zkl_heart_linked(&one->heart, &(zkl_grant){fake_now, T * ZKL_SECOND, T * ZKL_SECOND, false},
                     false);
    one->heart.validity.until = 0;
    answer(1, ZKL_PROOF_LEADER);
    CHECK_INT(counted(), 14000);
    one->context.counters.waiting = 0;
    one->heart.unsure = usual;
}

/* ---- answers that are too slow for any chain ---- */

/* (0.98 - 0.3 - 1/12) / 3 of 30 seconds are 5.97. */
#define TOO_SLOW 5.98
#define IN_TIME 5.96

static zkl_nanos patience(void) {
    return one->context.patience / ZKL_SECOND;
}

static void after_three_answers_that_are_too_slow_nobody_waits(void) {
    answer(TOO_SLOW, ZKL_PROOF_LEADER);
    answer(TOO_SLOW, ZKL_PROOF_QUORUM);
    CHECK_INT(patience(), T);
    answer(IN_TIME, ZKL_PROOF_LEADER);
    answer(TOO_SLOW, ZKL_PROOF_LEADER);
    answer(TOO_SLOW, ZKL_PROOF_LEADER);
    CHECK_INT(patience(), T);
    answer(TOO_SLOW, ZKL_PROOF_LEADER);
    CHECK_INT(patience(), 0);
    answer(TOO_SLOW, ZKL_PROOF_LEADER);
    CHECK_INT(patience(), 0);
    answer(0, ZKL_PROOF_NONE); /* a read, which a server answers alone */
    CHECK_INT(patience(), 0);
    answer(IN_TIME, ZKL_PROOF_QUORUM);
    CHECK_INT(patience(), T);
}

static void answers_that_one_pause_held_back_are_one(void) {
    const zkl_nanos asked = fake_now;
    fake_now += 7 * ZKL_SECOND;
    for (int i = 0; i < 5; i++)
        zkl_heart_answered(&one->heart, ZKL_PROOF_QUORUM, asked + i);
    answer(TOO_SLOW, ZKL_PROOF_LEADER);
    CHECK_INT(patience(), T);
    answer(TOO_SLOW, ZKL_PROOF_LEADER);
    CHECK_INT(patience(), 0);
}

/* The second pause holds back what was handed over before the first one ended. */
static void a_pause_behind_a_quick_answer_is_another_one(void) {
    const zkl_nanos asked = fake_now;
    fake_now += 7 * ZKL_SECOND;
    zkl_heart_answered(&one->heart, ZKL_PROOF_QUORUM, asked);
    zkl_heart_answered(&one->heart, ZKL_PROOF_QUORUM, fake_now - ZKL_SECOND);
    fake_now += 6 * ZKL_SECOND;
    zkl_heart_answered(&one->heart, ZKL_PROOF_QUORUM, fake_now - 7 * ZKL_SECOND);
    answer(TOO_SLOW, ZKL_PROOF_LEADER);
    CHECK_INT(patience(), T);
    answer(TOO_SLOW, ZKL_PROOF_LEADER);
    CHECK_INT(patience(), 0);
}

static void a_new_connection_does_not_make_a_slow_link_quick(void) {
    void (*const usual)(zkl_heart *) = one->heart.unsure;
    for (int i = 0; i < 3; i++)
        answer(TOO_SLOW, ZKL_PROOF_LEADER);
    zkl_heart_unlinked(&one->heart);
    zkl_heart_linked(&one->heart, &(zkl_grant){fake_now, T * ZKL_SECOND, T * ZKL_SECOND, false},
                     false);
    CHECK_INT(patience(), T); /* the first answer decides, and tells all that wait */
    one->heart.unsure = count_unsure;
    told = 0;
    one->context.counters.waiting = 1;
    one->heart.due = one->context.unsure + ZKL_SECOND;
    one->heart.validity.until = fake_now + (TOO_SLOW - 0.5) * ZKL_SECOND;
    answer(TOO_SLOW, ZKL_PROOF_LEADER);
    CHECK_INT(patience(), 0);
    CHECK_INT(told, 1);
    answer(0.1, ZKL_PROOF_LEADER);
    CHECK_INT(patience(), T);
    one->context.counters.waiting = 0;
    one->heart.unsure = usual;
}

/* An answer that takes so long since the link has its server, to what was handed over before. */
static void early_answer(double took) {
    const zkl_nanos handed = one->heart.met - 9 * ZKL_SECOND;
    fake_now = one->heart.met + zkl_clock_duration(took);
    zkl_heart_answered(&one->heart, ZKL_PROOF_LEADER, handed);
}

static void what_was_handed_over_before_the_connection_counts_from_then_on(void) {
    one->heart.met = fake_now;
    early_answer(IN_TIME);
    answer(TOO_SLOW, ZKL_PROOF_LEADER);
    answer(TOO_SLOW, ZKL_PROOF_LEADER);
    CHECK_INT(patience(), T); /* the first may have been quick, two were not */
    answer(IN_TIME, ZKL_PROOF_LEADER);
    one->heart.met = fake_now;
    early_answer(TOO_SLOW);
    answer(TOO_SLOW, ZKL_PROOF_LEADER);
    CHECK_INT(patience(), T);
    answer(TOO_SLOW, ZKL_PROOF_LEADER);
    CHECK_INT(patience(), 0);
    one->heart.met = fake_now;
    early_answer(IN_TIME); /* it may have taken longer than that */
    CHECK_INT(patience(), 0);
}

static void with_the_third_slow_answer_callers_leave_at_once(void) {
    fake_caller *c = first();
    one->heart.validity.until = 0;
    answer(0, ZKL_PROOF_LEADER);
    answer(TOO_SLOW, ZKL_PROOF_LEADER);
    answer(TOO_SLOW, ZKL_PROOF_LEADER);
    fake_now += TOO_SLOW * ZKL_SECOND;
    const zkl_nanos handed = fake_now - TOO_SLOW * ZKL_SECOND;
    zkl_heart_answered(&one->heart, ZKL_PROOF_LEADER, handed - 1); /* 0.1 s sooner: all are asked */
    fake_leave(one);
    CHECK(fake_waits(c));
    fake_now += ZKL_SECOND / 10;
    zkl_heart_answered(&one->heart, ZKL_PROOF_LEADER, handed);
    fake_leave(one);
    CHECK_FAILED(c, ZKL_DISCONNECTED);
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_caller_that_is_first_leaves_with_the_next_answer(void) {
    fake_caller *c = first();
    one->context.patience = 0;
    unsure(1);
    CHECK_FAILED(c, ZKL_DISCONNECTED);
    fake_settle(one);
    CHECK_CLEAN();
}

/* It waits for a shared node that no caller holds, and whose link was too slow; another link has
 * just come. */
static fake_caller *waits_on_a_new_link(void) {
    fake_caller *held = shared_holder(one), *c = shared_settled(one);
    doubt(one);
    for (int i = 0; i < 3; i++)
        answer(TOO_SLOW, ZKL_PROOF_LEADER);
    one->settled = fake_now - zkl_clock_duration(TOO_SLOW);
    fake_cut(one);
    fake_release_in_doubt(held);
    one->beats = true;
    fake_connect(one);
    return c;
}

static void on_a_new_link_they_leave_with_the_first_slow_answer(void) {
    fake_caller *c = waits_on_a_new_link();
    CHECK(fake_waits(c));
    answer(TOO_SLOW, ZKL_PROOF_LEADER);
    fake_leave(one);
    CHECK_FAILED(c, ZKL_DISCONNECTED);
    fake_still(one);
    fake_settle(one);
    CHECK_CLEAN();
}

static void on_a_new_link_the_first_answer_may_show_enough(void) {
    fake_caller *c = waits_on_a_new_link();
    fake_settle(one);
    CHECK(fake_held(c));
}

/* Milliseconds. */
static int64_t latency(void) {
    return one->heart.latency / (ZKL_SECOND / 1000);
}

static void latency_is_smoothed_and_slow_answers_weigh_more(void) {
    one->heart.latency = 0;
    answer(0.08, ZKL_PROOF_LEADER);
    CHECK_INT(latency(), 80); /* the first */
    answer(0.16, ZKL_PROOF_QUORUM);
    CHECK_INT(latency(), 90); /* an eighth */
    answer(0, ZKL_PROOF_NONE);
    answer(9, ZKL_PROOF_BROKEN);
    CHECK_INT(latency(), 90); /* a server has refused it */
    answer(10, ZKL_PROOF_LEADER);
    CHECK_INT(latency(), 10000); /* longer than a quarter of the timeout */
    answer(0, ZKL_PROOF_LEADER);
    CHECK_INT(latency(), 8750);
    one->heart.met = fake_now;
    zkl_heart_answered(&one->heart, ZKL_PROOF_LEADER, fake_now - 9 * ZKL_SECOND);
    CHECK_INT(latency(), 8750); /* it was handed over when there was no server */
}

/* The timeout of a first session whose number is 0, which a forger may grant. */
static void without_a_timeout_the_latest_answer_counts(void) {
    one->heart.validity.timeout = 0;
    one->heart.latency = 0;
    answer(0.08, ZKL_PROOF_LEADER);
    CHECK_INT(latency(), 80);
    answer(0.16, ZKL_PROOF_LEADER);
    CHECK_INT(latency(), 160);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a caller that is first leaves after a session timeout",
         who_is_first_leaves_after_a_session_timeout},
        {"the caller of another client behind it is granted", the_next_one_behind_it_is_granted},
        {"a caller that stands behind another one stays", who_stands_behind_somebody_stays},
        {"after a moment of trust it is counted anew", after_a_moment_of_trust_it_is_counted_anew},
        {"callers that wait for a shared node leave with it",
         who_waits_for_a_shared_node_leaves_with_it},
        {"a shared node that waits to be held leaves, too",
         a_shared_node_that_is_still_to_be_held_leaves_too},
        {"each caller at a shared node has as much patience",
         each_caller_at_a_shared_node_has_as_much_patience},
        {"time counts that ends with an answer", time_counts_that_ends_with_an_answer},
        {"after three answers that are too slow for a chain nobody waits",
         after_three_answers_that_are_too_slow_nobody_waits},
        {"answers that one pause has held back are one", answers_that_one_pause_held_back_are_one},
        {"a pause behind a quick answer is another one",
         a_pause_behind_a_quick_answer_is_another_one},
        {"a new connection does not make a slow link quick",
         a_new_connection_does_not_make_a_slow_link_quick},
        {"what was handed over before the connection counts from then on",
         what_was_handed_over_before_the_connection_counts_from_then_on},
        {"with the third slow answer callers leave at once",
         with_the_third_slow_answer_callers_leave_at_once},
        {"a caller that is first leaves with the next answer",
         a_caller_that_is_first_leaves_with_the_next_answer},
        {"on a new link callers leave with the first slow answer",
         on_a_new_link_they_leave_with_the_first_slow_answer},
        {"on a new link the first answer may show enough",
         on_a_new_link_the_first_answer_may_show_enough},
        {"latency is smoothed, and slow answers weigh more",
         latency_is_smoothed_and_slow_answers_weigh_more},
        {"without a timeout the latest answer counts", without_a_timeout_the_latest_answer_counts},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
