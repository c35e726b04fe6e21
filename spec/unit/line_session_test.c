/* SPDX-License-Identifier: MIT */
/* Events that end or prevent a hold: sessions that expire, operators that delete, validity that has
 * run out; single tries. */
#include "fake_world.h"

#include <string.h>

/* ---- the session ends ---- */

static void a_holder_has_lost_once(void) {
    fake_caller *p = fake_holder(one);
    fake_cut(one);
    fake_bury(one);
    CHECK(fake_held(p)); /* no watch has fired */
    fake_expire(one);
    CHECK_INT(p->losses, 1);
    CHECK(!fake_held(p));
    CHECK_INT(fake_release(p), ZKL_LOST);
    CHECK_INT(fake_release(p), ZKL_LOST);
    fake_connect(one);
    fake_settle(one);
    CHECK_INT(p->losses, 1);
    CHECK_INT(one->context.counters.lost, 1);
    CHECK_CLEAN();
}

static void a_waiter_queues_anew_with_a_new_guid(void) {
    fake_caller *holder = fake_holder(two), *p = fake_waiter(one);
    zkl_guid before, after;
    CHECK(zkl_znode_guid(strrchr(fake_node_of(p), '/') + 1, &before));
    fake_cut(one);
    fake_bury(one);
    fake_expire(one);
    CHECK(fake_waits(p) && !fake_node_of(p));
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_waits(p));
    CHECK(zkl_znode_guid(strrchr(fake_node_of(p), '/') + 1, &after));
    CHECK(before.number != after.number);
    fake_release(holder);
    fake_settle_all(zk);
    CHECK(fake_held(p));
}

/* The servers answer this way to requests that were under way when they ended the session; then the
 * client hears of the end. */
static void what_met_the_end_of_the_session_fails_nobody(void) {
    static const fake_op ops[] = {FAKE_CREATE, FAKE_LIST, FAKE_GET};
    fake_caller *holder = fake_holder(two);
    for (size_t i = 0; i < 3; i++) {
        fake_refuse(zk, ops[i], LINE, ZKL_SERVER_UNKNOWN_SESSION, 1);
        fake_caller *p = fake_join(one, LINE, 60);
        fake_settle_all(zk);
        CHECK(fake_waits(p));
        fake_expire(one);
        fake_connect(one);
        fake_settle_all(zk);
        CHECK(fake_waits(p));
        fake_release(holder);
        fake_settle_all(zk);
        CHECK(fake_held(p));
        fake_release(p);
        fake_settle_all(zk);
        holder = fake_holder(two);
    }
    fake_release(holder);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void the_old_deadline_stands(void) {
    fake_holder(two);
    fake_caller *p = fake_join(one, LINE, 10);
    fake_settle_all(zk);
    fake_wait(zk, 6);
    fake_expire(one);
    fake_connect(one);
    fake_settle_all(zk);
    fake_wait(zk, 3.9);
    CHECK(fake_waits(p));
    fake_wait(zk, 0.2);
    CHECK_FAILED(p, ZKL_TIMEOUT);
    fake_settle_all(zk);
    CHECK_INT(fake_children(zk, LINE), 1);
}

static void what_was_to_be_deleted_went_with_the_session(void) {
    fake_caller *p = fake_holder(one);
    fake_release(p);
    fake_expire(one);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
    CHECK_INT(p->losses, 0);
    CHECK_CLEAN();
}

static void late_answers_of_the_old_session_change_nothing(void) {
    fake_caller *p = fake_join(one, LINE, 60);
    fake_carry(one);
    fake_cut_quietly(one);
    struct fake_item *late = one->late;
    one->late = NULL;
    fake_expire(one);
    fake_connect(one);
    one->late = late; /* all it can do is not to be found */
    fake_deliver_late(one);
    CHECK(fake_waits(p));
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(fake_children(zk, LINE), 1);
}

/* A node with the GUID that is looked for, but of another session: `name` is ours, the owner is
 * not. */
static const char *stale_twin(fake_client *client, uint64_t number) {
    char path[256];
    fake_node *node = NULL;
    strcpy(path, LINE "/");
    zkl_znode_make(path + strlen(path), (zkl_guid){client->context.guid, number}, ZKL_KIND_LOCK);
    CHECK_INT(fake_make(zk, path, "me", FAKE_EPHEMERAL_SEQUENCE, 0xbad, &node), ZOK);
    return node->path;
}

static void a_node_of_an_older_session_is_deleted_and_not_adopted(void) {
    fake_caller *p = fake_join(one, LINE, 60);
    fake_cut(one); /* the create never happened */
    const char *twin = stale_twin(one, p->contender->receiver.id);
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK(!fake_find(zk, twin, FAKE_LATEST));
    CHECK_INT(fake_children(zk, LINE), 1);
    CHECK(p->token == fake_find(zk, fake_node_of(p), FAKE_LATEST)->czxid);
}

static void a_node_of_ours_that_nobody_waits_for_is_deleted(void) {
    const char *twin = stale_twin(one, 999999);
    fake_caller *p = fake_join(one, LINE, 60);
    fake_settle(one);
    CHECK(!fake_find(zk, twin, FAKE_LATEST));
    CHECK(fake_held(p));
}

/* ---- an operator deletes ---- */

static void a_hold_whose_node_is_deleted_is_lost_once(void) {
    fake_caller *p = fake_holder(one);
    fake_wait(zk, 1); /* short holds do not watch their node */
    CHECK_TEXT(fake_batch(one), "G");
    fake_settle(one);
    fake_remove(zk, fake_node_of(p));
    fake_settle(one);
    CHECK_INT(p->losses, 1);
    CHECK_INT(fake_release(p), ZKL_LOST);
    CHECK_CLEAN();
}

static void a_hold_that_comes_from_waiting_is_watched_already(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_remove(zk, stranger);
    fake_settle(one);
    CHECK(fake_held(p));
    fake_remove(zk, fake_node_of(p));
    fake_settle(one);
    CHECK_INT(p->losses, 1);
}

static void a_deletion_before_the_watch_is_noticed_by_it(void) {
    fake_caller *p = fake_holder(one);
    fake_remove(zk, fake_node_of(p));
    fake_wait(zk, 1);
    fake_settle(one);
    CHECK_INT(p->losses, 1);
}

static void the_next_of_ours_gets_in_when_the_holder_lost_its_node(void) {
    fake_caller *p = fake_holder(one), *q = fake_waiter(one);
    fake_wait(zk, 1);
    fake_settle(one);
    fake_remove(zk, fake_node_of(p));
    fake_settle(one);
    CHECK_INT(p->losses, 1);
    CHECK(fake_held(q));
}

static void the_next_of_ours_gets_in_even_if_the_watch_came_too_late(void) {
    fake_caller *p = fake_holder(one), *q = fake_waiter(one);
    fake_remove(zk, fake_node_of(p)); /* not watched yet */
    fake_wait(zk, 1);
    fake_settle(one);
    CHECK_INT(p->losses, 1);
    CHECK(fake_held(q));
}

static void a_waiter_whose_node_is_deleted_queues_anew(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one), *q = fake_waiter(one);
    const uint64_t number = p->contender->receiver.id;
    fake_remove(zk, fake_node_of(p));
    fake_settle(one);
    CHECK(fake_waits(p) && fake_node_of(p));
    CHECK(p->contender->receiver.id != number); /* and so the GUID is new */
    CHECK_INT(one->counts[FAKE_CREATE], 3);
    fake_remove(zk, stranger);
    fake_settle(one);
    CHECK(fake_held(q) && fake_waits(p));
    fake_release(q);
    CHECK(fake_held(p));
}

static void a_waiter_is_not_granted_a_node_that_was_deleted(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_remove(zk, fake_node_of(p)); /* told before the blocker's */
    fake_remove(zk, stranger);
    CHECK(fake_deliver(one) && fake_deliver(one));
    CHECK(fake_waits(p));
    fake_settle(one);
    CHECK(fake_held(p) && fake_node_of(p));
}

static void a_waiter_deleted_before_its_watch_is_not_granted_by_a_hand_over(void) {
    fake_caller *p = fake_holder(one), *q = fake_join(one, LINE, 60);
    fake_answer(one);
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "G");
    fake_remove(zk, fake_node_of(q));
    fake_release(p);
    CHECK(fake_waits(q));
    fake_settle(one);
    CHECK(fake_held(q) && fake_node_of(q));
}

/* The first to come need not be the first in the line: its create was cut off, and sent again
 * behind the holder's. */
static void the_loser_hears_of_it_before_the_next_holder(void) {
    fake_caller *next = fake_join(one, LINE, 60);
    fake_cut(one);
    fake_caller *holder = fake_join(one, LINE, 60);
    fake_connect(one);
    while (fake_waits(holder))
        CHECK(fake_answer(one));
    CHECK_TEXT(fake_batch(one), "CL"); /* of the other */
    fake_remove(zk, fake_node_of(holder));
    fake_settle(one);
    CHECK_INT(holder->losses, 1);
    CHECK(fake_held(next));
    CHECK(holder->lost_at < next->answered_at);
}

static void a_watch_that_fired_for_a_write_is_set_again(void) {
    fake_caller *p = fake_holder(one);
    fake_wait(zk, 1);
    fake_settle(one);
    for (unsigned i = 0; i < 3; i++) {
        fake_write(zk, fake_node_of(p), "__REVOKE__");
        fake_settle(one);
        CHECK(fake_held(p));
        CHECK_INT(p->revocations, 1);
    }
    CHECK_INT(one->context.counters.revoked, 1);
    fake_remove(zk, fake_node_of(p));
    fake_settle(one);
    CHECK_INT(p->losses, 1);
}

static void a_deletion_during_a_cut_is_noticed(void) {
    fake_caller *p = fake_holder(one);
    fake_cut(one);
    fake_remove(zk, fake_node_of(p));
    fake_connect(one);
    fake_settle(one);
    CHECK_INT(p->losses, 1);
}

/* ---- trust ---- */

static void nothing_is_granted_while_trust_has_run_out(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_wait(zk, 30);
    fake_remove(zk, stranger);
    while (fake_deliver(one))
        continue;
    CHECK(fake_waits(p));
    fake_beat(one, 15);
    CHECK(fake_held(p));
}

static void a_list_that_slept_grants_nothing(void) {
    fake_caller *p = fake_join(one, LINE, 60);
    fake_answer(one);
    fake_wait(zk, 30);
    fake_carry(one);
    CHECK(fake_deliver(one));
    CHECK(fake_waits(p));
    fake_beat(one, 15);
    CHECK(fake_held(p));
}

static void a_hand_over_without_trust_waits_for_it(void) {
    fake_caller *p = fake_holder(one), *q = fake_waiter(one);
    fake_wait(zk, 30);
    fake_release_in_doubt(p);
    CHECK(fake_waits(q));
    fake_settle(one); /* that the delete is answered proves nothing of the leader's clock */
    CHECK(fake_waits(q));
    fake_beat(one, 15);
    CHECK(fake_held(q));
}

static void trust_that_comes_after_the_end_grants_nothing(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_waiter(one);
    fake_wait(zk, 30);
    fake_remove(zk, stranger);
    while (fake_deliver(one))
        continue;
    fake_remove(zk, fake_node_of(p));
    fake_beat(one, 15);
    CHECK(fake_held(p) && fake_node_of(p)); /* by a new node */
    CHECK_INT(one->counts[FAKE_CREATE], 2);
}

/* ---- a single try ---- */

static void a_try_is_granted_when_it_is_free(void) {
    fake_caller *p = fake_try(one, LINE);
    CHECK(fake_waits(p));
    fake_settle(one);
    CHECK(fake_held(p));
}

static void a_try_fails_when_it_is_held_elsewhere(void) {
    fake_holder(two);
    fake_caller *p = fake_try(one, LINE);
    fake_settle(one);
    CHECK_FAILED(p, ZKL_TIMEOUT);
    CHECK_INT(one->counts[FAKE_GET], 0); /* it waits for nothing */
    CHECK_INT(fake_children(zk, LINE), 1);
}

static void a_try_fails_at_once_when_it_is_held_here(void) {
    fake_holder(one);
    const unsigned creates = one->counts[FAKE_CREATE];
    fake_caller *p = fake_try(one, LINE);
    CHECK_FAILED(p, ZKL_TIMEOUT);
    CHECK_INT(one->counts[FAKE_CREATE], creates);
}

static void a_try_waits_for_the_answer_however_long(void) {
    fake_caller *p = fake_try(one, LINE);
    fake_wait(zk, 15);
    CHECK(fake_waits(p));
    fake_settle(one);
    CHECK(fake_held(p));
}

static void a_try_ends_with_the_link(void) {
    fake_caller *p = fake_try(one, LINE);
    fake_carry(one);
    fake_cut(one);
    CHECK_FAILED(p, ZKL_DISCONNECTED);
    fake_caller *q = fake_try(one, LINE);
    CHECK_FAILED(q, ZKL_DISCONNECTED);
    fake_connect(one);
    fake_settle(one);
    CHECK_CLEAN();
}

static void a_try_gets_what_was_just_released_here(void) {
    fake_caller *p = fake_holder(one);
    fake_release(p);
    fake_caller *q = fake_try(one, LINE);
    fake_settle(one);
    CHECK(fake_held(q));
}

/* ---- the client closes ---- */

static void close_line(zkl_line *line) {
    zkl_line_fail(line, ZKL_CLOSED, true);
}

static void closing_answers_and_gives_back(void) {
    fake_caller *p = fake_holder(one), *q = fake_waiter(one), *r = fake_join(one, LINE, 60);
    zkl_lines_each(&one->lines, close_line);
    fake_leave(one);
    CHECK_FAILED(q, ZKL_CLOSED);
    CHECK_FAILED(r, ZKL_CLOSED);
    CHECK(!fake_held(p));
    CHECK_INT(p->losses, 0);
    fake_settle(one);
    CHECK_CLEAN();
}

/* One of ours waited behind it, and watched it, before anybody knew whose it was. */
static void a_client_that_closes_counts_the_watches_on_its_own_nodes(void) {
    fake_caller *holder = fake_holder(two), *lost = fake_join(one, LINE, 1e12);
    fake_carry(one); /* created, but the answer is lost */
    fake_cut(one);
    fake_caller *behind = fake_join(one, LINE, 1e12);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_node_of(lost) && fake_node_of(behind));
    zkl_line *line = zkl_lines_find(&one->lines, LINE);
    size_t watched = 0;
    for (size_t i = 0; i < line->snapshot.count; i++)
        watched +=
            line->snapshot.children[i].mine && line->snapshot.children[i].watch == ZKL_WATCH_ARMED;
    CHECK_INT(watched, 1);
    zkl_line_fail(line, ZKL_CLOSED, true);
    size_t bytes = zkl_line_watched_bytes(line) + one->lines.common.watch_budget.left;
    ZKL_EACH (const zkl_contender, c, &line->members, member) {
        if (c->watch != ZKL_WATCH_NONE)
            bytes += 4 + strlen(LINE "/") + strlen(c->name);
    }
    CHECK_INT(bytes, one->lines.common.watch_budget.bytes);
    fake_leave(one);
    fake_release(holder);
    fake_settle_all(zk);
    CHECK_INT(one->lines.common.watch_budget.bytes, 0);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a client that closes counts the watches on its own nodes",
         a_client_that_closes_counts_the_watches_on_its_own_nodes},
        {"a holder whose session ended gets one loss", a_holder_has_lost_once},
        {"a waiter whose session ended queues again, with a new GUID",
         a_waiter_queues_anew_with_a_new_guid},
        {"a request that the session's end refuses fails no contender",
         what_met_the_end_of_the_session_fails_nobody},
        {"a waiter's deadline outlives the session", the_old_deadline_stands},
        {"a node that was to be deleted ended with its session",
         what_was_to_be_deleted_went_with_the_session},
        {"late answers of the old session change nothing",
         late_answers_of_the_old_session_change_nothing},
        {"a node with our GUID of another session is deleted and not adopted",
         a_node_of_an_older_session_is_deleted_and_not_adopted},
        {"a stray node of ours is deleted", a_node_of_ours_that_nobody_waits_for_is_deleted},
        {"a hold whose node is deleted is lost, once", a_hold_whose_node_is_deleted_is_lost_once},
        {"a hold that comes from waiting is watched from the start",
         a_hold_that_comes_from_waiting_is_watched_already},
        {"a hold whose node is deleted before it is watched is lost when it is",
         a_deletion_before_the_watch_is_noticed_by_it},
        {"the next of ours gets in when the holder's node is deleted",
         the_next_of_ours_gets_in_when_the_holder_lost_its_node},
        {"the next of ours gets in when the holder's node was deleted before it was watched",
         the_next_of_ours_gets_in_even_if_the_watch_came_too_late},
        {"a waiter whose node is deleted queues again", a_waiter_whose_node_is_deleted_queues_anew},
        {"a waiter is not granted a node that was deleted",
         a_waiter_is_not_granted_a_node_that_was_deleted},
        {"a waiter deleted before its watch is not granted by a hand-over",
         a_waiter_deleted_before_its_watch_is_not_granted_by_a_hand_over},
        {"the host hears of a loss before the next grant",
         the_loser_hears_of_it_before_the_next_holder},
        {"the own watch is set again after a write", a_watch_that_fired_for_a_write_is_set_again},
        {"a hold whose node is deleted during a cut is lost", a_deletion_during_a_cut_is_noticed},
        {"nothing is granted while validity is 0, and later it is",
         nothing_is_granted_while_trust_has_run_out},
        {"a late list grants nothing without validity", a_list_that_slept_grants_nothing},
        {"a hand-over waits for validity", a_hand_over_without_trust_waits_for_it},
        {"validity that comes back grants no node that has gone",
         trust_that_comes_after_the_end_grants_nothing},
        {"a single try is granted when it is free", a_try_is_granted_when_it_is_free},
        {"a single try fails when another client holds, and deletes its node",
         a_try_fails_when_it_is_held_elsewhere},
        {"a single try fails at once when it is held here",
         a_try_fails_at_once_when_it_is_held_here},
        {"a single try waits for the servers, however long",
         a_try_waits_for_the_answer_however_long},
        {"a single try ends with the link, and leaves nothing", a_try_ends_with_the_link},
        {"a single try gets what was just released here", a_try_gets_what_was_just_released_here},
        {"closing answers the waiters and releases the holders", closing_answers_and_gives_back},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
