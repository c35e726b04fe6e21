/* A place: callers of one client who take turns on one node (fair = false). */
#include "fake_world.h"
#include "queue/place.h"

#include <stdio.h>
#include <string.h>

static unsigned asked(const fake_client *client) {
    unsigned n = 0;
    for (size_t op = 0; op < FAKE_OPS; op++)
        n += client->counts[op];
    return n;
}

static void forget_counts(fake_client *client) {
    memset(client->counts, 0, sizeof client->counts);
}

static fake_caller *share(fake_client *client) {
    return fake_share(client, LINE, 1e12);
}

/* Joins, and everything is answered. */
static fake_caller *settled(fake_client *client) {
    fake_caller *caller = share(client);
    fake_settle_all(zk);
    return caller;
}

static fake_caller *sharer(fake_client *client) {
    fake_caller *caller = settled(client);
    CHECK(fake_held(caller));
    return caller;
}

static void free_up(fake_caller *caller) {
    CHECK_INT(fake_release(caller), ZKL_OK);
}

/* Holds once more, without traffic. */
static fake_caller *handed(fake_client *client) {
    const unsigned before = asked(client);
    fake_caller *caller = share(client);
    CHECK(fake_held(caller));
    CHECK_INT(asked(client), before);
    return caller;
}

static uint64_t turn(const fake_caller *caller) {
    return caller->contender->turn;
}

static size_t nodes(void) {
    return fake_children(zk, LINE);
}

/* ---- turns ---- */

static void those_here_take_turns_without_traffic(void) {
    fake_caller *callers[5] = {sharer(one)};
    for (size_t i = 1; i < 5; i++)
        callers[i] = share(one);
    fake_settle_all(zk);
    forget_counts(one);
    for (size_t i = 0; i < 5; i++) {
        CHECK(fake_held(callers[i]));
        CHECK_INT(turn(callers[i]), i + 1);
        CHECK_INT(callers[i]->token, callers[0]->token);
        free_up(callers[i]);
    }
    fake_settle_all(zk);
    CHECK_INT(asked(one), 0);
    CHECK_INT(nodes(), 1);
    CHECK_INT(one->context.counters.handed, 4);
    CHECK_INT(one->context.counters.acquired, 5);
}

static void an_idle_place_is_taken_without_traffic(void) {
    fake_caller *first = sharer(one);
    free_up(first);
    fake_caller *second = handed(one);
    CHECK_INT(turn(second), 2);
    CHECK_INT(second->token, first->token);
}

static void a_new_place_has_a_larger_token_and_new_turns(void) {
    fake_caller *first = sharer(one);
    CHECK_INT(fake_give_up(first), ZKL_OK);
    fake_caller *second = sharer(one);
    CHECK(second->token > first->token);
    CHECK_INT(turn(second), 1);
}

static void a_fair_hold_has_no_turn(void) {
    CHECK_INT(turn(fake_holder(one)), 0);
}

/* The first list goes out with a watch, so no other one is needed; the own node is watched at
 * once. */
static void alone_it_takes_four_requests(void) {
    fake_caller *p = sharer(one);
    CHECK_INT(one->counts[FAKE_CREATE], 1);
    CHECK_INT(one->counts[FAKE_LIST], 1);
    CHECK_INT(one->counts[FAKE_GET], 1);
    free_up(p);
    fake_wait(zk, 1.01);
    fake_settle_all(zk);
    CHECK_INT(asked(one), 4);
    CHECK_CLEAN();
}

static void each_waits_until_his_own_deadline(void) {
    fake_caller *holder = sharer(one);
    fake_caller *late = fake_share(one, LINE, 9), *soon = fake_share(one, LINE, 5);
    fake_caller *last = share(one);
    fake_wait(zk, 6);
    CHECK_FAILED(soon, ZKL_TIMEOUT);
    CHECK(fake_waits(late));
    fake_wait(zk, 4);
    CHECK_FAILED(late, ZKL_TIMEOUT);
    free_up(holder);
    CHECK(fake_held(last));
}

static void the_last_who_gives_up_takes_a_queueing_place_along(void) {
    fake_caller *theirs = fake_holder(two);
    fake_caller *first = fake_share(one, LINE, 5), *second = fake_share(one, LINE, 7);
    fake_settle_all(zk);
    CHECK_INT(nodes(), 2);
    fake_wait(zk, 6);
    fake_settle_all(zk);
    CHECK_INT(nodes(), 2);
    CHECK_FAILED(first, ZKL_TIMEOUT);
    fake_wait(zk, 2);
    fake_settle_all(zk);
    CHECK_FAILED(second, ZKL_TIMEOUT);
    CHECK_INT(nodes(), 1);
    CHECK(fake_held(theirs));
}

static void a_place_that_was_waited_for_grants_in_order_of_arrival(void) {
    fake_caller *theirs = fake_holder(two), *first = settled(one), *second = settled(one);
    CHECK_INT(nodes(), 2);
    free_up(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(first) && fake_waits(second));
    free_up(first);
    CHECK(fake_held(second));
}

static void its_delete_goes_out_before_the_next_create(void) {
    fake_caller *first = sharer(one), *second = settled(one);
    CHECK_INT(fake_give_up(first), ZKL_OK);
    CHECK(fake_waits(second));
    CHECK_TEXT(fake_batch(one), "DCL");
    fake_settle_all(zk);
    CHECK(fake_held(second));
    CHECK_INT(nodes(), 1);
}

/* ---- what a grant without traffic needs ---- */

static void nobody_is_granted_without_the_watch_on_the_own_node(void) {
    one->lines.queue.watches.most = 1;
    fake_caller *first = sharer(one), *second = settled(one);
    free_up(first);
    CHECK(fake_waits(second)); /* it asks for a node of its own */
    CHECK_TEXT(fake_batch(one), "DCL");
    fake_settle_all(zk);
    CHECK(fake_held(second) && second->token > first->token);
}

/* An operator has taken the node, and nobody here has heard yet. */
static void who_waits_for_the_own_watch_is_not_granted_sooner(void) {
    fake_caller *first = share(one), *second = share(one);
    CHECK(fake_answer(one) && fake_answer(one)); /* created, listed */
    CHECK(fake_held(first));
    fake_remove(zk, fake_node_of(first));
    free_up(first);
    CHECK(fake_waits(second));
    fake_settle_all(zk);
    CHECK(fake_held(second));
    CHECK(second->token > first->token);
}

static void nobody_is_granted_while_the_link_is_cut(void) {
    fake_caller *first = sharer(one), *second = settled(one);
    fake_cut(one);
    free_up(first);
    CHECK(fake_waits(second));
    fake_connect(one);
    CHECK(fake_waits(second)); /* what has happened meanwhile comes first */
    fake_settle_all(zk);
    CHECK(fake_held(second));
    CHECK_INT(second->token, first->token);
}

static void a_node_that_went_during_the_cut_grants_nobody(void) {
    fake_caller *first = sharer(one), *second = settled(one);
    const char *node = fake_node_of(first);
    fake_cut(one);
    free_up(first);
    fake_remove(zk, node);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_held(second));
    CHECK(second->token > first->token);
}

/* Somebody may have made the directory anew, with an ACL of his own. */
static void nobody_is_granted_in_another_directory(void) {
    one->context.acl = ZKL_ACL_CREATOR;
    fake_find(zk, LINE, FAKE_LATEST)->closed = true;
    fake_caller *first = sharer(one), *second = settled(one);
    fake_find(zk, LINE, FAKE_LATEST)->aversion++;
    fake_stranger(zk, LINE, NULL);
    fake_settle_all(zk); /* it is listed */
    free_up(first);
    CHECK(fake_waits(second));
    CHECK_TEXT(fake_batch(one), "DCL");
}

static void nobody_is_granted_without_validity(void) {
    fake_caller *first = sharer(one), *second = settled(one);
    fake_wait(zk, 31);
    CHECK(one->context.trusted_until <= fake_now);
    free_up(first);
    CHECK(fake_waits(second));
    fake_beat(one, 20);
    CHECK(fake_held(second));
    CHECK_INT(second->token, first->token);
}

/* ---- how long it is kept ---- */

static void it_lingers_for_so_long(void) {
    fake_share_as(64, 1, 3);
    free_up(sharer(one));
    fake_wait(zk, 2.9);
    fake_settle_all(zk);
    CHECK_INT(nodes(), 1);
    free_up(handed(one));
    fake_wait(zk, 2.9); /* counted anew */
    fake_settle_all(zk);
    CHECK_INT(nodes(), 1);
    fake_wait(zk, 0.2);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void it_need_not_linger(void) {
    fake_share_as(64, 1, 0);
    free_up(sharer(one));
    CHECK_TEXT(fake_batch(one), "D");
}

/* The timer fires when somebody has just come: his is a place that stays. */
static void who_comes_when_it_is_to_go_keeps_it(void) {
    free_up(sharer(one));
    fake_wait(zk, 0.999);
    fake_caller *late = handed(one);
    fake_wait(zk, 5);
    CHECK(fake_held(late));
    CHECK_INT(nodes(), 1);
    free_up(late);
    fake_wait(zk, 1.01);
    fake_caller *later = share(one);
    CHECK(fake_waits(later)); /* too late: it is on its way out */
    fake_settle_all(zk);
    CHECK(fake_held(later) && later->token > late->token);
}

static void idle_it_goes_when_somebody_stands_behind_it(void) {
    free_up(sharer(one));
    fake_caller *theirs = fake_join(two, LINE, 1e12);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
    CHECK_INT(nodes(), 1);
}

static void it_goes_at_once_if_somebody_is_known_to_be_behind(void) {
    fake_caller *mine = sharer(one), *theirs = fake_waiter(two);
    fake_settle_all(zk);
    free_up(mine);
    CHECK_TEXT(fake_batch(one), "D");
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

static void idle_it_makes_way_for_a_multilock_here(void) {
    static const char *const paths[] = {LINE, "/locks/b"};
    fake_directory(zk, paths[1]);
    free_up(sharer(one));
    fake_caller *both = fake_join_all(one, paths, 2, 0);
    fake_settle_all(zk);
    CHECK(fake_held(both));
    CHECK_INT(nodes(), 1);
}

static void a_multilock_here_that_waits_behind_it_gets_in(void) {
    static const char *const paths[] = {LINE, "/locks/b"};
    fake_directory(zk, paths[1]);
    fake_caller *mine = sharer(one), *both = fake_join_all(one, paths, 2, 1e12);
    fake_settle_all(zk);
    CHECK(fake_waits(both));
    free_up(mine);
    fake_settle_all(zk);
    CHECK(fake_held(both));
}

static void idle_it_makes_way_for_a_fair_lock_here(void) {
    free_up(sharer(one));
    fake_caller *fair = fake_try(one, LINE);
    fake_settle_all(zk);
    CHECK(fake_held(fair));
    CHECK_INT(turn(fair), 0);
}

static void idle_it_goes_when_the_link_is_cut(void) {
    fake_share_as(64, 1, 100);
    free_up(sharer(one));
    fake_cut(one);
    fake_connect(one);
    CHECK_INT(fake_pending(one, FAKE_ERASE, NULL), 1);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void a_flush_takes_it_along_and_waits_for_it(void) {
    fake_share_as(64, 1, 100);
    free_up(sharer(one));
    zkl_query *query = fake_flush(one);
    CHECK(query->pending);
    CHECK_TEXT(fake_batch(one), "D");
    fake_settle_all(zk);
    CHECK(!query->pending);
    CHECK_INT(nodes(), 0);
    zkl_query_free(query);
    CHECK_CLEAN();
}

static void a_flush_leaves_those_who_hold_alone(void) {
    fake_caller *holder = sharer(one), *next = settled(one);
    zkl_query *query = fake_flush(one);
    CHECK(!query->pending);
    free_up(holder);
    CHECK(fake_held(next));
    zkl_query_free(query);
}

static void a_worker_that_leaves_keeps_none(void) {
    fake_share_as(64, 1, 100);
    free_up(sharer(one));
    zkl_places_hurry(&one->lines);
    fake_leave(one);
    fake_settle_all(zk);
    CHECK_CLEAN();
    free_up(sharer(one));
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void other_options_begin_a_new_place(void) {
    fake_share_as(64, 1, 100);
    fake_caller *first = sharer(one);
    free_up(first);
    fake_share_as(3, 1, 100);
    fake_caller *second = sharer(one);
    CHECK(second->token > first->token);
}

static void without_room_for_the_watch_it_does_not_linger(void) {
    one->lines.queue.watches.most = 1;
    fake_caller *mine = sharer(one);
    free_up(mine);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

/* ---- how long those behind it wait ---- */

/* Takes turns until it is given up, most often `most` times; how often it was granted. */
static unsigned take_turns(fake_caller *holder, unsigned most) {
    for (unsigned grants = 0;; grants++) {
        fake_caller *next = share(one);
        free_up(holder);
        if (!fake_held(next) || grants == most)
            return grants;
        holder = next;
    }
}

static void those_behind_wait_for_so_many_grants(void) {
    fake_share_as(5, 1000, 1);
    fake_caller *mine = sharer(one), *theirs = fake_join(two, LINE, 1e12);
    fake_settle_all(zk);
    CHECK_INT(take_turns(mine, 100), 5);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

/* From when this client was told on, and not from when the list has said who it is. */
static void grants_count_before_the_list_has_come(void) {
    fake_share_as(5, 1000, 1);
    fake_caller *mine = sharer(one), *theirs = fake_join(two, LINE, 1e12);
    fake_settle(two);
    CHECK(fake_deliver(one)); /* the watch has told */
    CHECK_INT(fake_pending(one, FAKE_LIST, NULL), 1);
    for (unsigned i = 0; i < 3; i++) {
        fake_caller *next = share(one);
        free_up(mine);
        CHECK(fake_held(next));
        mine = next;
    }
    fake_settle(one);
    CHECK_INT(take_turns(mine, 100), 2);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

static void with_the_list_on_its_way_those_here_wait_for_it(void) {
    fake_share_as(2, 1000, 1);
    fake_caller *mine = sharer(one), *theirs = fake_join(two, LINE, 1e12);
    fake_settle(two);
    CHECK(fake_deliver(one));
    for (unsigned i = 0; i < 2; i++) {
        fake_caller *next = share(one);
        free_up(mine);
        CHECK(fake_held(next));
        mine = next;
    }
    fake_caller *waiter = share(one);
    free_up(mine);
    CHECK(fake_waits(waiter));
    CHECK_INT(fake_pending(one, FAKE_ERASE, NULL), 0);
    fake_cancel(theirs);
    fake_settle(two); /* it is gone when the list is made */
    fake_settle(one);
    CHECK(fake_held(waiter));
    CHECK_INT(waiter->token, mine->token);
}

static void who_goes_again_ends_the_count(void) {
    fake_share_as(5, 1000, 1);
    fake_caller *mine = sharer(one), *theirs = fake_waiter(two);
    fake_caller *next = share(one);
    free_up(mine);
    fake_cancel(theirs);
    fake_settle_all(zk);
    free_up(next);
    fake_settle_all(zk); /* it was given up: somebody had been there */
    mine = sharer(one);
    CHECK_INT(take_turns(mine, 100), 100);
}

/* A server that is behind the former one shows nobody, though this client was told of somebody. */
static void a_list_from_an_older_server_does_not_end_the_count(void) {
    fake_share_as(5, 1000, 1);
    fake_caller *mine = sharer(one);
    const int64_t before = zk->zxid;
    fake_caller *theirs = fake_join(two, LINE, 1e12), *next = share(one);
    fake_settle(two);
    CHECK(fake_deliver(one)); /* the watch has told; no answer has come since */
    free_up(mine);
    CHECK(fake_held(next));
    fake_cut(one);
    fake_lag(one, before);
    fake_connect(one);
    fake_settle(one);
    CHECK_INT(take_turns(next, 100), 4);
    fake_catch_up(one);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

static void those_behind_wait_for_a_stint_at_most(void) {
    fake_share_as(64, 1, 1);
    fake_caller *mine = sharer(one), *theirs = fake_waiter(two);
    fake_wait(zk, 0.9);
    fake_caller *next = share(one);
    free_up(mine);
    CHECK(fake_held(next));
    fake_wait(zk, 0.9); /* one hold more */
    mine = share(one);
    free_up(next);
    CHECK(fake_waits(mine));
    fake_settle_all(zk);
    CHECK(fake_held(theirs) && fake_waits(mine));
}

static void a_stint_begins_when_somebody_comes(void) {
    fake_share_as(64, 1, 1);
    fake_caller *mine = sharer(one);
    fake_wait(zk, 20);
    fake_caller *next = share(one);
    free_up(mine);
    CHECK(fake_held(next));
    fake_waiter(two);
    CHECK_INT(take_turns(next, 3), 3);
}

static void without_a_bound_only_handoffs_count(void) {
    fake_share_as(3, 1e300, 1);
    fake_caller *mine = sharer(one), *theirs = fake_waiter(two);
    fake_wait(zk, 20);
    CHECK_INT(take_turns(mine, 100), 3);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

/* What it waited for is not taken away before anybody had it. */
static void a_place_that_was_waited_for_gives_one_grant(void) {
    fake_share_as(1, 0, 0);
    fake_caller *theirs = fake_holder(two), *mine = settled(one), *next = settled(one);
    fake_caller *last = fake_waiter(two);
    free_up(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(mine));
    free_up(mine);
    fake_settle_all(zk);
    CHECK(fake_held(last) && fake_waits(next));
    free_up(last);
    fake_settle_all(zk);
    CHECK(fake_held(next));
}

/* The first one was granted before the other client was there. */
static void two_clients_take_turns_of_turns(void) {
    fake_share_as(4, 1000, 1);
    fake_caller *all[2][12];
    for (size_t i = 0; i < 12; i++)
        all[0][i] = settled(one);
    for (size_t i = 0; i < 12; i++)
        all[1][i] = settled(two);
    char order[25] = "";
    for (size_t n = 0; n < 24; n++) {
        fake_settle_all(zk);
        for (size_t k = 0; k < 24; k++) {
            fake_caller *p = all[k % 2][k / 2];
            if (!fake_held(p))
                continue;
            order[n] = p->client == one ? '1' : '2';
            free_up(p);
            break;
        }
    }
    CHECK_TEXT(order, "111112222111122221112222");
}

/* ---- how a hold ends ---- */

static void what_was_dropped_is_handed_to_nobody(void) {
    fake_caller *first = sharer(one), *second = settled(one);
    const int64_t token = first->token;
    fake_drop(first);
    CHECK(fake_waits(second));
    fake_settle_all(zk);
    CHECK(fake_held(second) && second->token > token);
}

static void the_end_of_max_hold_ends_the_place(void) {
    fake_caller *first = fake_share_for(one, LINE, 5);
    fake_settle_all(zk);
    fake_caller *second = settled(one);
    fake_wait(zk, 5.1);
    CHECK_INT(first->losses, 1);
    CHECK(fake_waits(second));
    fake_settle_all(zk);
    CHECK(fake_held(second) && second->token > first->token);
    CHECK_INT(fake_release(first), ZKL_LOST);
}

static void a_deleted_node_is_a_loss(void) {
    fake_caller *first = sharer(one), *second = settled(one);
    fake_remove(zk, fake_node_of(first));
    fake_settle_all(zk);
    CHECK_INT(first->losses, 1);
    CHECK(fake_held(second) && second->token > first->token);
    CHECK_INT(second->losses, 0);
    CHECK_INT(turn(second), 1);
}

/* Without room for watches one list tells of both. */
static void a_loss_is_told_before_another_one_here_holds(void) {
    one->lines.queue.watches.most = 1;
    fake_caller *mine = sharer(one), *fair = fake_waiter(one);
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
    fake_caller *first = sharer(one), *second = settled(one);
    fake_cut(one);
    fake_bury(one);
    fake_expire(one);
    CHECK_INT(first->losses, 1);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_held(second) && second->token > first->token);
}

static void who_waits_queues_anew_after_an_expiry(void) {
    fake_caller *theirs = fake_holder(two), *first = settled(one), *second = settled(one);
    fake_cut(one);
    fake_bury(one);
    fake_expire(one);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_waits(first) && fake_waits(second));
    CHECK_INT(nodes(), 2);
    free_up(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(first));
}

static void a_place_that_was_lost_while_idle_is_told_to_nobody(void) {
    fake_caller *mine = sharer(one);
    char node[256];
    snprintf(node, sizeof node, "%s", fake_node_of(mine));
    free_up(mine);
    fake_remove(zk, node);
    fake_settle_all(zk);
    CHECK_INT(mine->losses, 0);
    CHECK_CLEAN();
}

/* ---- a single try ---- */

static void a_try_gets_an_idle_place(void) {
    free_up(sharer(one));
    const unsigned before = asked(one);
    fake_caller *tried = fake_share(one, LINE, 0);
    CHECK(fake_held(tried));
    CHECK_INT(asked(one), before);
}

static void a_try_fails_at_once_behind_one_of_ours(void) {
    fake_caller *holder = sharer(one);
    forget_counts(one);
    CHECK_FAILED(fake_share(one, LINE, 0), ZKL_TIMEOUT);
    CHECK(fake_held(holder));
    fake_caller *other = share(one), *tried;
    free_up(holder);
    CHECK(fake_held(other));
    tried = fake_share(one, LINE, 0);
    CHECK_FAILED(tried, ZKL_TIMEOUT);
    CHECK_INT(asked(one), 0);
}

static void a_try_fails_when_others_hold(void) {
    fake_holder(two);
    fake_caller *tried = fake_share(one, LINE, 0);
    fake_settle_all(zk);
    CHECK_FAILED(tried, ZKL_TIMEOUT);
    CHECK_INT(nodes(), 1);
}

static void a_try_does_not_end_the_wait_of_who_came_after_it(void) {
    fake_caller *theirs = fake_holder(two);
    fake_caller *tried = fake_share(one, LINE, 0), *patient = share(one);
    fake_settle_all(zk);
    CHECK_FAILED(tried, ZKL_TIMEOUT);
    CHECK(fake_waits(patient));
    free_up(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(patient));
}

static void a_try_without_a_link_fails_at_once(void) {
    fake_cut(one);
    CHECK_FAILED(fake_share(one, LINE, 0), ZKL_DISCONNECTED);
}

static void a_try_that_is_cut_off_fails(void) {
    fake_caller *tried = fake_share(one, LINE, 0), *patient = share(one);
    fake_cut(one);
    CHECK_FAILED(tried, ZKL_DISCONNECTED);
    CHECK(fake_waits(patient));
}

/* It is idle, and not known to be valid: that is asked by a new node. */
static void a_try_of_a_place_without_validity_asks_anew(void) {
    fake_share_as(64, 1, 100);
    fake_caller *first = sharer(one);
    free_up(first);
    fake_wait(zk, 31);
    fake_caller *tried = fake_share(one, LINE, 0);
    CHECK(fake_waits(tried));
    fake_beat(one, 20);
    CHECK(fake_held(tried) && tried->token > first->token);
}

/* ---- revocations ---- */

static void a_revocation_is_told_to_who_holds_and_ends_the_place(void) {
    fake_caller *first = sharer(one), *second = settled(one);
    fake_write(zk, fake_node_of(first), "__REVOKE__");
    fake_settle_all(zk);
    CHECK_INT(first->revocations, 1);
    CHECK_INT(second->revocations, 0);
    free_up(first);
    CHECK(fake_waits(second));
    fake_settle_all(zk);
    CHECK(fake_held(second) && second->token > first->token);
    CHECK_INT(second->revocations, 0);
}

static void idle_it_goes_at_a_revocation(void) {
    fake_caller *mine = sharer(one);
    char node[256];
    snprintf(node, sizeof node, "%s", fake_node_of(mine));
    free_up(mine);
    fake_write(zk, node, "__REVOKE__");
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void who_is_granted_a_revoked_place_hears_of_it(void) {
    fake_caller *theirs = fake_holder(two), *first = settled(one), *second = settled(one);
    fake_write(zk, fake_node_of(first), "__REVOKE__");
    fake_settle_all(zk);
    free_up(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(first));
    CHECK_INT(first->revocations, 1);
    free_up(first);
    CHECK(fake_waits(second));
    fake_settle_all(zk);
    CHECK(fake_held(second));
    CHECK_INT(second->revocations, 0);
}

/* ---- failures ---- */

static void all_fail_with_their_node(void) {
    fake_stranger(zk, LINE, "_c_%s-__READ__");
    fake_caller *first = share(one), *second = share(one);
    fake_settle_all(zk);
    CHECK_FAILED(first, ZKL_WRONG_KIND);
    CHECK_FAILED(second, ZKL_WRONG_KIND);
}

static void dismiss(zkl_line *line) {
    zkl_line_dismiss(line, ZKL_CLOSED, true);
}

static void at_the_close_all_are_answered(void) {
    fake_caller *holder = sharer(one), *waiter = settled(one);
    zkl_lines_each(&one->lines, dismiss);
    fake_leave(one);
    CHECK_FAILED(waiter, ZKL_CLOSED);
    CHECK_INT(holder->losses, 0);
    CHECK(!fake_held(holder));
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void at_the_close_an_idle_place_goes(void) {
    free_up(sharer(one));
    zkl_lines_each(&one->lines, dismiss);
    fake_leave(one);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

/* ---- one too many ---- */

static fake_caller *crowd(size_t most) {
    fake_caller *caller = fake_share_crowd(one, LINE, most);
    fake_settle_all(zk);
    return caller;
}

static void one_too_many_is_refused(void) {
    fake_caller *holder = crowd(1), *waiter = crowd(1);
    CHECK(fake_held(holder) && fake_waits(waiter));
    CHECK_FAILED(crowd(1), ZKL_BUSY);
    free_up(holder);
    CHECK(fake_held(waiter));
    CHECK(fake_waits(crowd(1)));
}

static void of_none_an_idle_place_is_free(void) {
    fake_caller *first = crowd(0);
    CHECK_FAILED(crowd(0), ZKL_BUSY);
    free_up(first);
    CHECK(fake_held(crowd(0)));
}

static void behind_others_the_last_to_come_go(void) {
    fake_holder(two);
    fake_caller *first = fake_share_crowd(one, LINE, 1), *second = fake_share_crowd(one, LINE, 1);
    CHECK(fake_waits(second)); /* the first one does not count yet */
    fake_settle_all(zk);
    CHECK(fake_waits(first));
    CHECK_FAILED(second, ZKL_BUSY);
}

static void a_new_place_refuses_nobody_who_had_waited(void) {
    fake_caller *holder = crowd(2), *first = crowd(2), *second = crowd(2);
    fake_caller *theirs = fake_join(two, LINE, 1e12);
    fake_settle_all(zk);
    CHECK_INT(fake_give_up(holder), ZKL_OK);
    fake_settle_all(zk);
    CHECK(fake_held(theirs) && fake_waits(first) && fake_waits(second));
}

/* ---- the short way ---- */

static void who_takes_it_again_the_short_way_has_the_next_turn(void) {
    fake_caller *mine = sharer(one);
    forget_counts(one);
    for (unsigned i = 2; i < 10; i++) {
        CHECK(fake_rest(mine));
        CHECK(!fake_held(mine) && !fake_rest(mine));
        CHECK_INT(one->context.counters.held, 0);
        CHECK(fake_take_again(mine));
        CHECK(fake_held(mine) && !fake_take_again(mine));
        CHECK_INT(turn(mine), i);
        CHECK_INT(mine->contender->token, mine->token);
    }
    CHECK_INT(asked(one), 0);
    CHECK_INT(one->context.counters.held, 1);
    CHECK_INT(one->context.counters.acquired, 9);
    CHECK_INT(one->context.counters.released, 8);
    CHECK_INT(one->context.counters.handed, 8);
    free_up(mine);
}

static void what_is_granted_at_once_is_told_once(void) {
    free_up(sharer(one));
    fake_at_once = true;
    fake_caller *first = share(one);
    CHECK(first->granted &&
          fake_held(first)); /* and no event has come, or it would be the second */
    CHECK(first->token > 0);
    fake_caller *second = share(one);
    CHECK(fake_waits(second));
    free_up(first);
    CHECK(second->granted && fake_held(second));
}

static void the_short_way_is_closed_when_others_are_concerned(void) {
    fake_caller *mine = sharer(one), *next = settled(one);
    CHECK(!fake_rest(mine)); /* somebody here waits */
    fake_cancel(next);
    fake_caller *theirs = fake_join(two, LINE, 1e12);
    fake_settle(two);
    CHECK(fake_deliver(one));
    CHECK(!fake_rest(mine)); /* somebody may be behind */
    fake_settle_all(zk);
    CHECK(!fake_rest(mine)); /* somebody is */
    free_up(mine);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

static void nor_is_it_taken_again_then(void) {
    fake_share_as(64, 1, 100);
    fake_caller *mine = sharer(one);
    CHECK(fake_rest(mine));
    fake_caller *other = handed(one);
    CHECK(!fake_take_again(mine));
    free_up(other);
    CHECK(fake_take_again(mine));
    CHECK_INT(turn(mine), 3);
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

static void what_rests_is_taken_away_with_the_place(void) {
    fake_caller *mine = sharer(one), *other = settled(one);
    free_up(mine);
    CHECK(fake_rest(other));
    zkl_query_free(fake_flush(one));
    CHECK_INT(other->rests, 1);
    CHECK_INT(mine->rests, 0);
    CHECK(!fake_take_again(other));
    fake_settle_all(zk);
    fake_caller *last = sharer(one);
    CHECK(!fake_take_again(other));
    free_up(last);
}

static void without_validity_the_short_way_is_closed(void) {
    fake_share_as(64, 1, 1000);
    fake_caller *mine = sharer(one);
    CHECK(fake_rest(mine));
    fake_wait(zk, 31);
    CHECK(!fake_take_again(mine));
    CHECK_INT(nodes(), 1);
}

static void what_rests_lingers_for_so_long(void) {
    fake_caller *mine = sharer(one);
    for (unsigned i = 0; i < 5; i++) {
        CHECK(fake_rest(mine));
        fake_wait(zk, 0.7);
        fake_settle_all(zk);
        CHECK(fake_take_again(mine));
        fake_wait(zk, 0.7);
        fake_settle_all(zk);
        CHECK_INT(nodes(), 1);
    }
    CHECK(fake_rest(mine));
    fake_wait(zk, 0.95);
    CHECK_INT(mine->rests, 0);
    fake_wait(zk, 0.1);
    CHECK_INT(mine->rests, 1);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void one_who_rests_may_be_dropped(void) {
    fake_share_as(64, 1, 100);
    fake_caller *mine = sharer(one), *other = settled(one);
    free_up(mine);
    CHECK(fake_rest(other));
    fake_drop(other);
    CHECK_INT(one->context.counters.abandoned, 0);
    free_up(handed(one));
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

static void while_a_place_is_idle_the_heart_beats_for_it(void) {
    fake_share_as(64, 1, 1000);
    fake_caller *mine = sharer(one);
    CHECK(fake_rest(mine));
    fake_beat(one, 100);
    CHECK(fake_take_again(mine));
    CHECK(one->context.trusted_until - fake_now > 8 * ZKL_SECOND);
    fake_still(one);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"those here take turns without traffic", those_here_take_turns_without_traffic},
        {"an idle place is taken without traffic", an_idle_place_is_taken_without_traffic},
        {"a new place has a larger token, and new turns",
         a_new_place_has_a_larger_token_and_new_turns},
        {"a fair hold has no turn", a_fair_hold_has_no_turn},
        {"alone it takes four requests", alone_it_takes_four_requests},
        {"each waits until his own deadline", each_waits_until_his_own_deadline},
        {"the last who gives up takes a queueing place along",
         the_last_who_gives_up_takes_a_queueing_place_along},
        {"a place that was waited for grants in order of arrival",
         a_place_that_was_waited_for_grants_in_order_of_arrival},
        {"its delete goes out before the next create", its_delete_goes_out_before_the_next_create},
        {"nobody is granted without the watch on the own node",
         nobody_is_granted_without_the_watch_on_the_own_node},
        {"who waits for the own watch is not granted sooner",
         who_waits_for_the_own_watch_is_not_granted_sooner},
        {"nobody is granted while the link is cut", nobody_is_granted_while_the_link_is_cut},
        {"a node that went during the cut grants nobody",
         a_node_that_went_during_the_cut_grants_nobody},
        {"nobody is granted in another directory", nobody_is_granted_in_another_directory},
        {"nobody is granted without validity", nobody_is_granted_without_validity},
        {"it lingers for so long", it_lingers_for_so_long},
        {"it need not linger", it_need_not_linger},
        {"who comes when it is to go keeps it", who_comes_when_it_is_to_go_keeps_it},
        {"idle it goes when somebody stands behind it",
         idle_it_goes_when_somebody_stands_behind_it},
        {"it goes at once if somebody is known to be behind",
         it_goes_at_once_if_somebody_is_known_to_be_behind},
        {"idle it makes way for a multilock here", idle_it_makes_way_for_a_multilock_here},
        {"a multilock here that waits behind it gets in",
         a_multilock_here_that_waits_behind_it_gets_in},
        {"idle it makes way for a fair lock here", idle_it_makes_way_for_a_fair_lock_here},
        {"idle it goes when the link is cut", idle_it_goes_when_the_link_is_cut},
        {"a flush takes it along, and waits for it", a_flush_takes_it_along_and_waits_for_it},
        {"a flush leaves those who hold alone", a_flush_leaves_those_who_hold_alone},
        {"a worker that leaves keeps none", a_worker_that_leaves_keeps_none},
        {"other options begin a new place", other_options_begin_a_new_place},
        {"without room for the watch it does not linger",
         without_room_for_the_watch_it_does_not_linger},
        {"those behind wait for so many grants", those_behind_wait_for_so_many_grants},
        {"grants count before the list has come", grants_count_before_the_list_has_come},
        {"with the list on its way those here wait for it",
         with_the_list_on_its_way_those_here_wait_for_it},
        {"who goes again ends the count", who_goes_again_ends_the_count},
        {"a list from an older server does not end the count",
         a_list_from_an_older_server_does_not_end_the_count},
        {"those behind wait for a stint at most", those_behind_wait_for_a_stint_at_most},
        {"a stint begins when somebody comes", a_stint_begins_when_somebody_comes},
        {"without a bound only handoffs count", without_a_bound_only_handoffs_count},
        {"a place that was waited for gives one grant",
         a_place_that_was_waited_for_gives_one_grant},
        {"two clients take turns of turns", two_clients_take_turns_of_turns},
        {"what was dropped is handed to nobody", what_was_dropped_is_handed_to_nobody},
        {"the end of max_hold ends the place", the_end_of_max_hold_ends_the_place},
        {"a deleted node is a loss", a_deleted_node_is_a_loss},
        {"a loss is told before another one here holds",
         a_loss_is_told_before_another_one_here_holds},
        {"the end of the session is a loss", the_end_of_the_session_is_a_loss},
        {"who waits queues anew after an expiry", who_waits_queues_anew_after_an_expiry},
        {"a place that was lost while idle is told to nobody",
         a_place_that_was_lost_while_idle_is_told_to_nobody},
        {"a try gets an idle place", a_try_gets_an_idle_place},
        {"a try fails at once behind one of ours", a_try_fails_at_once_behind_one_of_ours},
        {"a try fails when others hold", a_try_fails_when_others_hold},
        {"a try does not end the wait of who came after it",
         a_try_does_not_end_the_wait_of_who_came_after_it},
        {"a try without a link fails at once", a_try_without_a_link_fails_at_once},
        {"a try that is cut off fails", a_try_that_is_cut_off_fails},
        {"a try of a place without validity asks anew",
         a_try_of_a_place_without_validity_asks_anew},
        {"a revocation is told to who holds, and ends the place",
         a_revocation_is_told_to_who_holds_and_ends_the_place},
        {"idle it goes at a revocation", idle_it_goes_at_a_revocation},
        {"who is granted a revoked place hears of it", who_is_granted_a_revoked_place_hears_of_it},
        {"all fail with their node", all_fail_with_their_node},
        {"at the close all are answered", at_the_close_all_are_answered},
        {"at the close an idle place goes", at_the_close_an_idle_place_goes},
        {"who takes it again the short way has the next turn",
         who_takes_it_again_the_short_way_has_the_next_turn},
        {"what is granted at once is told once", what_is_granted_at_once_is_told_once},
        {"the short way is closed when others are concerned",
         the_short_way_is_closed_when_others_are_concerned},
        {"nor is it taken again then", nor_is_it_taken_again_then},
        {"what rests is taken away with the place", what_rests_is_taken_away_with_the_place},
        {"without validity the short way is closed", without_validity_the_short_way_is_closed},
        {"what rests lingers for so long", what_rests_lingers_for_so_long},
        {"one who rests may be dropped", one_who_rests_may_be_dropped},
        {"max_hold counts from when it was taken again",
         max_hold_counts_from_when_it_was_taken_again},
        {"while a place is idle the heart beats for it",
         while_a_place_is_idle_the_heart_beats_for_it},
        {"one too many is refused", one_too_many_is_refused},
        {"of none an idle place is free", of_none_an_idle_place_is_free},
        {"behind others the last to come go", behind_others_the_last_to_come_go},
        {"a new place refuses nobody who had waited", a_new_place_refuses_nobody_who_had_waited},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
