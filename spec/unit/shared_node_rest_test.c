/* SPDX-License-Identifier: MIT */
/* The short way of a caller that takes a shared node again and again. */
#include "shared/node.h"
#include "shared_node_world.h"

static void who_takes_it_again_the_short_way_has_the_next_turn(void) {
    fake_caller *mine = shared_holder(one);
    fake_forget_counts(one);
    for (unsigned i = 2; i < 10; i++) {
        CHECK(fake_rest(mine));
        CHECK(!fake_held(mine) && !fake_rest(mine));
        CHECK_INT(one->context.counters.held, 0);
        CHECK(fake_take_again(mine));
        CHECK(fake_held(mine) && !fake_take_again(mine));
        CHECK_INT(shared_turn(mine), i);
        CHECK_INT(mine->contender->token, mine->token);
    }
    CHECK_INT(fake_asked(one), 0);
    CHECK_INT(one->context.counters.held, 1);
    CHECK_INT(one->context.counters.acquired, 9);
    CHECK_INT(one->context.counters.released, 8);
    CHECK_INT(one->context.counters.handed, 8);
    shared_release(mine);
}

static void what_is_granted_at_once_is_told_once(void) {
    shared_release(shared_holder(one));
    fake_at_once = one->busy = true; /* the host does not poll: no event reports it */
    fake_caller *first = shared_join(one);
    CHECK(first->granted && fake_held(first));
    one->busy = false; /* nor does one now, or it would be the second */
    CHECK(first->token > 0);
    fake_caller *second = shared_join(one);
    CHECK(fake_waits(second));
    shared_release(first);
    CHECK(second->granted && fake_held(second));
}

static void the_short_way_is_closed_when_others_are_concerned(void) {
    fake_caller *mine = shared_holder(one), *next = shared_settled(one);
    CHECK(!fake_rest(mine)); /* another caller here waits */
    fake_cancel(next);
    fake_caller *theirs = fake_join(two, LINE, 1e12);
    fake_settle(two);
    CHECK(fake_deliver(one));
    CHECK(!fake_rest(mine)); /* there may be a remote waiter */
    fake_settle_all(zk);
    CHECK(!fake_rest(mine)); /* there is one */
    shared_release(mine);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

/* It has sent a write on its turn, which may come late. */
static void the_short_way_is_closed_when_no_other_caller_may_have_the_node(void) {
    fake_caller *mine = shared_holder(one);
    mine->contender->call->seal(mine->contender);
    CHECK(!fake_rest(mine));
    shared_release(mine);
    fake_settle_all(zk);
    CHECK_INT(shared_nodes(), 0);
}

static void nor_is_it_taken_again_then(void) {
    fake_share_as(1, 100);
    fake_caller *mine = shared_holder(one);
    CHECK(fake_rest(mine));
    fake_caller *other = shared_handed(one);
    CHECK(!fake_take_again(mine));
    shared_release(other);
    CHECK(fake_take_again(mine));
    CHECK_INT(shared_turn(mine), 3);
    CHECK(fake_rest(mine));
    fake_caller *theirs = fake_join(two, LINE, 1e12);
    fake_settle(two);
    CHECK(fake_deliver(one));
    CHECK(!fake_take_again(mine));
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
    CHECK(!fake_take_again(mine));
    CHECK_INT(mine->rests, 1);
}

static void what_rests_is_taken_away_with_the_shared_node(void) {
    fake_caller *mine = shared_holder(one), *other = shared_settled(one);
    shared_release(mine);
    CHECK(fake_rest(other));
    zkl_ask_free(&fake_flush(one)->ask);
    CHECK(!fake_take_again(other));
    CHECK_INT(other->rests, 0); /* before the servers answer the delete */
    fake_settle_all(zk);
    CHECK_INT(other->rests, 1);
    fake_caller *last = shared_holder(one);
    CHECK(!fake_take_again(other));
    shared_release(last);
}

static void without_validity_the_short_way_is_closed(void) {
    fake_share_as(1, 1000);
    fake_caller *mine = shared_holder(one);
    CHECK(fake_rest(mine));
    fake_wait(zk, 31);
    CHECK(!fake_take_again(mine));
    CHECK_INT(shared_nodes(), 1);
}

static void what_rests_lingers_for_so_long(void) {
    fake_caller *mine = shared_holder(one);
    for (unsigned i = 0; i < 5; i++) {
        CHECK(fake_rest(mine));
        fake_wait(zk, 0.7);
        fake_settle_all(zk);
        CHECK(fake_take_again(mine));
        fake_wait(zk, 0.7);
        fake_settle_all(zk);
        CHECK_INT(shared_nodes(), 1);
    }
    CHECK(fake_rest(mine));
    fake_wait(zk, 0.95);
    CHECK_INT(mine->rests, 0);
    fake_wait(zk, 0.1);
    fake_settle_all(zk);
    CHECK_INT(mine->rests, 1);
    CHECK_CLEAN();
}

static void one_who_rests_may_be_dropped(void) {
    fake_share_as(1, 100);
    fake_caller *mine = shared_holder(one), *other = shared_settled(one);
    shared_release(mine);
    CHECK(fake_rest(other));
    fake_drop(other);
    CHECK_INT(one->context.counters.abandoned, 0);
    shared_release(shared_handed(one));
}

static void max_hold_counts_from_when_it_was_taken_again(void) {
    fake_caller *mine = fake_share_for(one, LINE, 5);
    fake_settle_all(zk);
    fake_wait(zk, 3);
    CHECK(fake_rest(mine));
    CHECK(fake_take_again(mine));
    fake_wait(zk, 3);
    CHECK(fake_held(mine));
    fake_wait(zk, 2.1);
    CHECK_INT(mine->losses, 1);
}

static void while_a_shared_node_is_idle_the_heart_beats_for_it(void) {
    fake_share_as(1, 1000);
    fake_caller *mine = shared_holder(one);
    CHECK(fake_rest(mine));
    fake_beat(one, 100);
    CHECK(fake_take_again(mine));
    CHECK(one->context.valid_until - fake_now > 8 * ZKL_SECOND);
    fake_still(one);
}

static void without_lingering_the_short_way_is_closed(void) {
    fake_share_as(1, 0);
    fake_caller *mine = shared_holder(one);
    CHECK(!fake_rest(mine));
    shared_release(mine);
}

static void a_fair_hold_has_no_short_way(void) {
    fake_caller *p = fake_holder(one);
    CHECK(!fake_rest(p) && !fake_take_again(p));
    CHECK_INT(fake_release(p), ZKL_OK);
    CHECK(!fake_take_again(p));
}

/* The heart beats for it as long as it is there. */
static void a_shared_node_that_has_gone_is_idle_no_more(void) {
    fake_caller *mine = shared_holder(one);
    CHECK_INT(one->context.idle_shared_nodes, 0);
    CHECK(fake_rest(mine));
    CHECK_INT(one->context.idle_shared_nodes, 1);
    CHECK(fake_take_again(mine));
    CHECK_INT(one->context.idle_shared_nodes, 0);
    shared_release(mine);
    CHECK_INT(one->context.idle_shared_nodes, 1);
    fake_wait(zk, 1.1);
    fake_settle(one);
    CHECK_INT(one->context.idle_shared_nodes, 0);
    CHECK_CLEAN();
}

/* They hold together, and each comes and goes for himself. */
static void readers_have_no_short_way(void) {
    fake_caller *p = fake_share_kind(one, LINE, ZKL_KIND_READ, 1e12);
    fake_settle_all(zk);
    CHECK(fake_held(p) && !fake_rest(p));
    shared_release(p);
}

static void what_was_dropped_while_it_was_held_is_counted(void) {
    fake_drop(shared_holder(one));
    CHECK_INT(one->context.counters.abandoned, 1);
    fake_settle(one);
    fake_caller *p = shared_holder(one);
    shared_release(p);
    fake_drop(p);
    CHECK_INT(one->context.counters.abandoned, 1);
}

static void it_may_linger_for_ever_and_a_day(void) {
    fake_share_as(1, 9.2e9);
    shared_release(shared_holder(one));
    fake_wait(zk, 100);
    fake_settle(one);
    CHECK_INT(shared_nodes(), 1);
}

/* Its node has gone, and others have another one on the same shared node. */
static void what_has_rested_on_a_former_node_is_not_taken_again(void) {
    fake_share_as(1, 100);
    fake_caller *mine = shared_holder(one);
    CHECK(fake_rest(mine));
    fake_share_as(2, 100);
    fake_caller *other = shared_holder(one);
    CHECK_INT(mine->rests, 1);
    shared_release(other);
    CHECK(!fake_take_again(mine));
    shared_release(shared_handed(one));
}

static void when_its_client_leaves_the_short_way_is_closed(void) {
    fake_share_as(1, 100);
    zkl_shared_nodes_hurry(&one->lines);
    fake_caller *mine = shared_holder(one);
    CHECK(!fake_rest(mine));
    shared_release(mine);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

/* Nor when the link has come back and the servers have not shown yet who is there. */
static void without_a_link_the_short_way_is_closed(void) {
    fake_share_as(1000, 1000);
    fake_caller *mine = shared_holder(one);
    fake_cut(one);
    CHECK(!fake_rest(mine));
    fake_connect(one);
    CHECK(!fake_rest(mine));
    fake_settle_all(zk);
    CHECK(fake_rest(mine));
    fake_cut(one);
    CHECK(!fake_take_again(mine));
    fake_connect(one);
    CHECK(!fake_take_again(mine));
    fake_settle_all(zk);
    CHECK_INT(mine->rests, 1);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a caller that takes it again the short way has the next turn",
         who_takes_it_again_the_short_way_has_the_next_turn},
        {"a grant at once is reported once", what_is_granted_at_once_is_told_once},
        {"the short way is closed when other callers are concerned",
         the_short_way_is_closed_when_others_are_concerned},
        {"the short way is closed when no other caller may have the node",
         the_short_way_is_closed_when_no_other_caller_may_have_the_node},
        {"a caller does not take it again when other callers are concerned",
         nor_is_it_taken_again_then},
        {"a resting hold ends with the shared node", what_rests_is_taken_away_with_the_shared_node},
        {"without validity the short way is closed", without_validity_the_short_way_is_closed},
        {"a resting hold lingers for the time of `linger`", what_rests_lingers_for_so_long},
        {"the host may drop a resting contender", one_who_rests_may_be_dropped},
        {"max_hold counts from the latest acquire", max_hold_counts_from_when_it_was_taken_again},
        {"while a shared node is idle the heart beats for it",
         while_a_shared_node_is_idle_the_heart_beats_for_it},
        {"without lingering the short way is closed", without_lingering_the_short_way_is_closed},
        {"a fair hold has no short way", a_fair_hold_has_no_short_way},
        {"a shared node that has gone is idle no more",
         a_shared_node_that_has_gone_is_idle_no_more},
        {"readers have no short way", readers_have_no_short_way},
        {"a contender that is dropped while it holds counts as abandoned",
         what_was_dropped_while_it_was_held_is_counted},
        {"it may linger for ever and a day", it_may_linger_for_ever_and_a_day},
        {"a hold that rested on a former node is not taken again",
         what_has_rested_on_a_former_node_is_not_taken_again},
        {"the short way is closed when the client leaves",
         when_its_client_leaves_the_short_way_is_closed},
        {"without a link the short way is closed", without_a_link_the_short_way_is_closed},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
