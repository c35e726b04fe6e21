/* SPDX-License-Identifier: MIT */
/* How holds on a shared node end. */
#include "shared_node_world.h"

#include <stdio.h>

/* ---- how a hold ends ---- */

static void what_was_dropped_is_handed_to_nobody(void) {
    fake_caller *first = shared_holder(one), *second = shared_settled(one);
    const int64_t token = first->token;
    fake_drop(first);
    CHECK(fake_waits(second));
    fake_settle_all(zk);
    CHECK(fake_held(second) && second->token > token);
}

/* A program that polls the descriptor would wake for nothing. */
static void what_was_dropped_posts_nothing(void) {
    shared_holder(two);
    fake_caller *p = shared_settled(one);
    CHECK(fake_waits(p));
    const uint64_t before = one->context.events.serial;
    fake_drop(p);
    CHECK_INT((int64_t)one->context.events.serial, (int64_t)before);
}

static void the_end_of_max_hold_ends_the_shared_node(void) {
    fake_caller *first = fake_share_for(one, LINE, 5);
    fake_settle_all(zk);
    fake_caller *second = shared_settled(one);
    fake_wait(zk, 5.1);
    CHECK_INT(first->losses, 1);
    CHECK(fake_waits(second));
    fake_settle_all(zk);
    CHECK(fake_held(second) && second->token > first->token);
    CHECK_INT(fake_release(first), ZKL_LOST);
}

/* As zkl_extend ends. */
static void another_end_belongs_to_one_hold(void) {
    fake_caller *first = fake_share_for(one, LINE, 5);
    fake_settle_all(zk);
    fake_caller *second = fake_share_for(one, LINE, 5);
    fake_wait(zk, 4);
    zkl_contender_extend(first->contender, 3 * ZKL_SECOND);
    fake_wait(zk, 2.9);
    CHECK(fake_held(first));
    shared_release(first);
    CHECK(fake_held(second));
    fake_wait(zk, 4.9);
    CHECK(fake_held(second));
    fake_wait(zk, 0.1);
    CHECK_INT(second->losses, 1);
}

static void a_deleted_node_is_a_loss(void) {
    fake_caller *first = shared_holder(one), *second = shared_settled(one);
    fake_remove(zk, fake_node_of(first));
    fake_settle_all(zk);
    CHECK_INT(first->losses, 1);
    CHECK(fake_held(second) && second->token > first->token);
    CHECK_INT(second->losses, 0);
    CHECK_INT(shared_turn(second), 1);
}

/* Without room for watches one list tells of both. */
static void a_loss_is_told_before_another_one_here_holds(void) {
    one->lines.common.watch_budget.most = 1;
    fake_caller *mine = shared_holder(one), *fair = fake_waiter(one);
    const char *node = fake_node_of(mine);
    fake_cut(one);
    fake_remove(zk, node);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK_INT(mine->losses, 1);
    CHECK(fake_held(fair));
    CHECK(mine->lost_at < fair->answered_at);
}

static void the_end_of_the_session_is_a_loss(void) {
    fake_caller *first = shared_holder(one), *second = shared_settled(one);
    fake_cut(one);
    fake_bury(one);
    fake_expire(one);
    CHECK_INT(first->losses, 1);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_held(second) && second->token > first->token);
}

static void who_waits_queues_anew_after_an_expiry(void) {
    fake_caller *theirs = fake_holder(two), *first = shared_settled(one),
                *second = shared_settled(one);
    fake_cut(one);
    fake_bury(one);
    fake_expire(one);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_waits(first) && fake_waits(second));
    CHECK_INT(shared_nodes(), 2);
    shared_release(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(first));
}

static void a_shared_node_that_was_lost_while_idle_is_told_to_nobody(void) {
    fake_caller *mine = shared_holder(one);
    char node[256];
    snprintf(node, sizeof node, "%s", fake_node_of(mine));
    shared_release(mine);
    fake_remove(zk, node);
    fake_settle_all(zk);
    CHECK_INT(mine->losses, 0);
    CHECK_CLEAN();
}

/* ---- revocations ---- */

static void a_revocation_is_told_to_who_holds_and_ends_the_shared_node(void) {
    fake_caller *first = shared_holder(one), *second = shared_settled(one);
    fake_write(zk, fake_node_of(first), "__REVOKE__");
    fake_settle_all(zk);
    CHECK_INT(first->revocations, 1);
    CHECK_INT(second->revocations, 0);
    shared_release(first);
    CHECK(fake_waits(second));
    fake_settle_all(zk);
    CHECK(fake_held(second) && second->token > first->token);
    CHECK_INT(second->revocations, 0);
}

static void idle_it_goes_at_a_revocation(void) {
    fake_caller *mine = shared_holder(one);
    char node[256];
    snprintf(node, sizeof node, "%s", fake_node_of(mine));
    shared_release(mine);
    fake_write(zk, node, "__REVOKE__");
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void who_is_granted_a_revoked_shared_node_hears_of_it(void) {
    fake_caller *theirs = fake_holder(two), *first = shared_settled(one),
                *second = shared_settled(one);
    fake_write(zk, fake_node_of(first), "__REVOKE__");
    fake_settle_all(zk);
    shared_release(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(first));
    CHECK_INT(first->revocations, 1);
    shared_release(first);
    CHECK(fake_waits(second));
    fake_settle_all(zk);
    CHECK(fake_held(second));
    CHECK_INT(second->revocations, 0);
}

/* The answer to its create was lost, and no caller wants the node any more when it is found. */
static void nobody_is_asked_for_a_shared_node_that_was_given_up(void) {
    fake_caller *p = shared_join(one);
    fake_carry(one);
    fake_cut(one);
    fake_cancel(p);
    char path[256];
    snprintf(path, sizeof path, "%s/%s", LINE, fake_child(zk, LINE, 0, FAKE_LATEST));
    fake_write(zk, path, "__REVOKE__");
    fake_connect(one);
    fake_settle_all(zk);
    CHECK_FAILED(p, ZKL_CANCELLED);
    CHECK_INT(one->context.counters.revoked, 0);
    CHECK_CLEAN();
}

static void who_has_given_it_back_owns_nothing(void) {
    fake_caller *p = shared_holder(one), *q = shared_settled(one);
    CHECK_INT(fake_release(p), ZKL_OK);
    CHECK_INT(fake_release(p), ZKL_NOT_OWNER);
    fake_drop(p);
    fake_caller *r = shared_settled(one);
    CHECK(fake_held(q) && fake_waits(r));
    shared_release(q);
    CHECK(fake_held(r));
    shared_release(r);
    fake_wait(zk, 1.1);
    fake_settle(one);
    CHECK_CLEAN();
}

static void who_gives_up_without_a_bound_leaves_the_others_theirs(void) {
    fake_caller *holder = shared_holder(one), *first = fake_share_among(one, LINE, 5),
                *second = shared_settled(one), *third = fake_share_among(one, LINE, 5);
    fake_cancel(second);
    CHECK(fake_waits(first) && fake_waits(third));
    fake_cancel(first);
    CHECK(fake_waits(third));
    shared_release(holder);
    CHECK(fake_held(third));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a dropped hold is handed to no caller", what_was_dropped_is_handed_to_nobody},
        {"what was dropped posts nothing", what_was_dropped_posts_nothing},
        {"the end of max_hold ends the shared node", the_end_of_max_hold_ends_the_shared_node},
        {"another end belongs to one hold", another_end_belongs_to_one_hold},
        {"a deleted node is a loss", a_deleted_node_is_a_loss},
        {"the host hears of a loss before another caller here holds",
         a_loss_is_told_before_another_one_here_holds},
        {"the end of the session is a loss", the_end_of_the_session_is_a_loss},
        {"a waiter queues again after an expiry", who_waits_queues_anew_after_an_expiry},
        {"no caller hears of a shared node that was lost while idle",
         a_shared_node_that_was_lost_while_idle_is_told_to_nobody},
        {"a revocation reaches the holder, and ends the shared node",
         a_revocation_is_told_to_who_holds_and_ends_the_shared_node},
        {"idle it goes at a revocation", idle_it_goes_at_a_revocation},
        {"a caller that is granted a revoked shared node hears of the revocation",
         who_is_granted_a_revoked_shared_node_hears_of_it},
        {"no caller is asked for a shared node that has ended",
         nobody_is_asked_for_a_shared_node_that_was_given_up},
        {"a caller that has released owns nothing", who_has_given_it_back_owns_nothing},
        {"a caller without a bound that gives up leaves the others their bounds",
         who_gives_up_without_a_bound_leaves_the_others_theirs},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
