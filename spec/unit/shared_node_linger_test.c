/* SPDX-License-Identifier: MIT */
/* How long the client keeps a shared node that none of its callers wants. */
#include "shared/node.h"
#include "shared_node_world.h"

static void it_lingers_for_so_long(void) {
    fake_share_as(1, 3);
    shared_release(shared_holder(one));
    fake_wait(zk, 2.9);
    fake_settle_all(zk);
    CHECK_INT(shared_nodes(), 1);
    shared_release(shared_handed(one));
    fake_wait(zk, 2.9); /* counted from the start */
    fake_settle_all(zk);
    CHECK_INT(shared_nodes(), 1);
    fake_wait(zk, 0.2);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void it_need_not_linger(void) {
    fake_share_as(1, 0);
    shared_release(shared_holder(one));
    CHECK_TEXT(fake_batch(one), "D");
}

/* The timer fires when a caller has just come: it gets the node, which stays. */
static void who_comes_when_it_is_to_go_keeps_it(void) {
    shared_release(shared_holder(one));
    fake_wait(zk, 0.999);
    fake_caller *late = shared_handed(one);
    fake_wait(zk, 5);
    CHECK(fake_held(late));
    CHECK_INT(shared_nodes(), 1);
    shared_release(late);
    fake_wait(zk, 1.01);
    fake_caller *later = shared_join(one);
    CHECK(fake_waits(later)); /* too late: it is on its way out */
    fake_settle_all(zk);
    CHECK(fake_held(later) && later->token > late->token);
}

static void idle_it_goes_when_somebody_stands_behind_it(void) {
    shared_release(shared_holder(one));
    fake_caller *theirs = fake_join(two, LINE, 1e12);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
    CHECK_INT(shared_nodes(), 1);
}

static void it_goes_at_once_if_somebody_is_known_to_be_behind(void) {
    fake_caller *mine = shared_holder(one), *theirs = fake_waiter(two);
    fake_settle_all(zk);
    shared_release(mine);
    CHECK_TEXT(fake_batch(one), "D");
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

static void idle_it_makes_way_for_a_multilock_here(void) {
    static const char *const paths[] = {LINE, "/locks/b"};
    fake_directory(zk, paths[1]);
    shared_release(shared_holder(one));
    fake_caller *both = fake_join_all(one, paths, 2, 0);
    fake_settle_all(zk);
    CHECK(fake_held(both));
    CHECK_INT(shared_nodes(), 1);
}

static void a_multilock_here_that_waits_behind_it_gets_in(void) {
    static const char *const paths[] = {LINE, "/locks/b"};
    fake_directory(zk, paths[1]);
    fake_caller *mine = shared_holder(one), *both = fake_join_all(one, paths, 2, 1e12);
    fake_settle_all(zk);
    CHECK(fake_waits(both));
    shared_release(mine);
    fake_settle_all(zk);
    CHECK(fake_held(both));
}

static void idle_it_makes_way_for_a_fair_lock_here(void) {
    shared_release(shared_holder(one));
    fake_caller *fair = fake_try(one, LINE);
    fake_settle_all(zk);
    CHECK(fake_held(fair));
    CHECK_INT(shared_turn(fair), 0);
}

static void idle_it_goes_when_the_link_is_cut(void) {
    fake_share_as(1, 100);
    shared_release(shared_holder(one));
    fake_cut(one);
    fake_connect(one);
    CHECK_INT(fake_pending(one, FAKE_ERASE, NULL), 1);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void a_flush_takes_it_along_and_waits_for_it(void) {
    fake_share_as(1, 100);
    shared_release(shared_holder(one));
    zkl_query *query = fake_flush(one);
    CHECK(query->ask.stage != ZKL_ASK_DONE);
    CHECK_TEXT(fake_batch(one), "D");
    fake_settle_all(zk);
    CHECK(query->ask.stage == ZKL_ASK_DONE);
    CHECK_INT(shared_nodes(), 0);
    zkl_ask_free(&query->ask);
    CHECK_CLEAN();
}

static void a_flush_leaves_those_who_hold_alone(void) {
    fake_caller *holder = shared_holder(one), *next = shared_settled(one);
    zkl_query *query = fake_flush(one);
    CHECK(query->ask.stage == ZKL_ASK_DONE);
    shared_release(holder);
    CHECK(fake_held(next));
    zkl_ask_free(&query->ask);
}

static void a_worker_that_leaves_keeps_none(void) {
    fake_share_as(1, 100);
    shared_release(shared_holder(one));
    zkl_shared_nodes_hurry(&one->lines);
    fake_leave(one);
    fake_settle_all(zk);
    CHECK_CLEAN();
    shared_release(shared_holder(one));
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void other_options_begin_a_new_shared_node(void) {
    static const zkl_sharing others[] = {
        {.stint = 2 * ZKL_SECOND, .linger = 100 * ZKL_SECOND},
        {.stint = 2 * ZKL_SECOND, .linger = 200 * ZKL_SECOND},
    };
    fake_share_as(1, 100);
    fake_caller *first = shared_holder(one);
    shared_release(first);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        fake_sharing = others[i];
        fake_caller *second = shared_holder(one);
        CHECK(second->token > first->token);
        shared_release(second);
        first = second;
    }
    CHECK_INT(shared_handed(one)->token, first->token);
}

static void without_room_for_the_watch_it_does_not_linger(void) {
    one->lines.common.watch_budget.most = 1;
    fake_caller *mine = shared_holder(one);
    shared_release(mine);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

/* Also at the moments when readers would have asked for remote waiters. */
static void readers_leave_it_when_its_time_is_over(void) {
    fake_share_as(1000, 1);
    fake_caller *p = fake_share_kind(one, LINE, ZKL_KIND_READ, 1e12);
    fake_settle_all(zk);
    CHECK(fake_held(p));
    shared_release(p);
    CHECK_INT(shared_nodes(), 1);
    fake_wait(zk, 1.1);
    fake_settle_all(zk);
    CHECK_INT(shared_nodes(), 0);
    CHECK_CLEAN();
}

static void whoever_comes_by_meanwhile_does_not_make_it_longer(void) {
    fake_share_as(1000, 1);
    fake_caller *p = fake_share_kind(one, LINE, ZKL_KIND_READ, 1e12);
    fake_settle_all(zk);
    shared_release(p);
    fake_wait(zk, 0.6);
    fake_caller *theirs = fake_read(two, LINE);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
    CHECK_INT(shared_nodes(), 2);
    fake_wait(zk, 0.5);
    fake_settle_all(zk);
    CHECK_INT(shared_nodes(), 1);
}

/* Fair callers of this client still wait for the servers: no other takes their node. */
static void one_that_nobody_holds_yet_and_somebody_waits_for_stays(void) {
    fake_share_as(1000, 1);
    fake_caller *first = shared_holder(one), *second = shared_settled(one);
    fake_wait(zk, 31);
    fake_release_in_doubt(first);
    CHECK(fake_waits(second)); /* for trust */
    fake_caller *fair = fake_join(one, LINE, 1e12);
    zkl_ask_free(&fake_flush(one)->ask);
    fake_beat(one, 20);
    fake_still(one);
    CHECK(fake_held(second) && fake_waits(fair));
    CHECK_INT(second->token, first->token);
}

/* By the options of the new callers, not of the former ones. */
static void it_lingers_as_the_latest_have_asked(void) {
    fake_share_as(1, 100);
    shared_release(shared_holder(one));
    fake_share_as(1, 2);
    shared_release(shared_holder(one));
    fake_wait(zk, 1.9);
    fake_settle_all(zk);
    CHECK_INT(shared_nodes(), 1);
    fake_wait(zk, 0.2);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"it lingers for so long", it_lingers_for_so_long},
        {"it need not linger", it_need_not_linger},
        {"a caller that comes when the node has to go keeps it",
         who_comes_when_it_is_to_go_keeps_it},
        {"an idle node goes when a remote waiter comes",
         idle_it_goes_when_somebody_stands_behind_it},
        {"a node goes at once if a remote waiter is known",
         it_goes_at_once_if_somebody_is_known_to_be_behind},
        {"an idle node makes way for a multilock of this client",
         idle_it_makes_way_for_a_multilock_here},
        {"a multilock of this client that waits behind the node gets in",
         a_multilock_here_that_waits_behind_it_gets_in},
        {"an idle node makes way for a fair lock of this client",
         idle_it_makes_way_for_a_fair_lock_here},
        {"idle it goes when the link is cut", idle_it_goes_when_the_link_is_cut},
        {"a flush takes it along, and waits for it", a_flush_takes_it_along_and_waits_for_it},
        {"a flush leaves holders alone", a_flush_leaves_those_who_hold_alone},
        {"a worker that leaves keeps none", a_worker_that_leaves_keeps_none},
        {"other options begin a new shared node", other_options_begin_a_new_shared_node},
        {"without room for the watch it does not linger",
         without_room_for_the_watch_it_does_not_linger},
        {"readers leave it when its time is over", readers_leave_it_when_its_time_is_over},
        {"whoever comes by meanwhile does not make it longer",
         whoever_comes_by_meanwhile_does_not_make_it_longer},
        {"a free node that a caller waits for stays",
         one_that_nobody_holds_yet_and_somebody_waits_for_stays},
        {"it lingers as the latest have asked", it_lingers_as_the_latest_have_asked},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
