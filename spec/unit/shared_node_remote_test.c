/* SPDX-License-Identifier: MIT */
/* How long the waiters behind a shared node wait. */
#include "shared_node_world.h"

/* Takes turns until it is given up, most often `most` times; how often it was granted. */
static unsigned take_turns(fake_caller *holder, unsigned most) {
    for (unsigned grants = 0;; grants++) {
        fake_caller *next = shared_join(one);
        shared_release(holder);
        if (!fake_held(next) || grants == most)
            return grants;
        holder = next;
    }
}

/* Takes turns of a tenth of a second each until the node is given up; how long that took. */
static zkl_nanos turns_took(fake_caller *holder) {
    const zkl_nanos begun = fake_now;
    for (unsigned grants = 0; fake_held(holder) && grants < 100; grants++) {
        fake_caller *next = shared_join(one);
        fake_wait(zk, 0.1);
        shared_release(holder);
        holder = next;
    }
    return fake_now - begun;
}

static fake_caller *mutex_elsewhere(void) {
    return fake_join(two, LINE, 1e12);
}

static fake_caller *mutex_here(void) {
    return fake_join(one, LINE, 1e12);
}

static const char *const both[] = {LINE, "/locks/b"};

static fake_caller *multilock_elsewhere(void) {
    return fake_join_all(two, both, 2, 1e12);
}

static fake_caller *multilock_here(void) {
    return fake_join_all(one, both, 2, 1e12);
}

static fake_caller *place_elsewhere(void) {
    return shared_join(two);
}

/* Callers come without a pause. Half a stint after the place was granted the other one comes. */
static void whoever_is_behind_waits_for_a_stint_and_a_hold(void) {
    static fake_caller *(*const others[])(void) = {mutex_elsewhere, mutex_here, multilock_elsewhere,
                                                   multilock_here, place_elsewhere};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        check_note("other %zu", i);
        fake_share_as(2, 1);
        fake_caller *mine = shared_holder(one);
        fake_wait(zk, 1);
        fake_caller *theirs = others[i]();
        fake_settle_all(zk);
        CHECK(fake_waits(theirs));
        const zkl_nanos took = turns_took(mine);
        CHECK(took >= 2 * ZKL_SECOND && took <= 2.2 * ZKL_SECOND);
        fake_settle_all(zk);
        CHECK(fake_held(theirs));
        fake_world_end();
        fake_world_begin();
    }
}

/* The gate of a semaphore is a mutex, on which callers of another client take turns. */
static void so_does_a_semaphore_whose_gate_it_is(void) {
    fake_share_as(2, 1);
    fake_caller *mine = fake_share(one, "/pool/locks", 1e12);
    fake_settle_all(zk);
    fake_caller *theirs = fake_lease(two, "/pool", 1, 1);
    fake_settle_all(zk);
    CHECK(fake_held(mine) && fake_waits(theirs));
    fake_wait(zk, 2);
    fake_caller *late = fake_share(one, "/pool/locks", 1e12);
    shared_release(mine);
    CHECK(fake_waits(late));
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

/* From the moment at which the watch has fired, not from the list that shows who has come. */
static void a_stint_begins_before_the_list_has_come(void) {
    fake_share_as(1, 1);
    fake_caller *mine = shared_holder(one), *theirs = fake_join(two, LINE, 1e12);
    fake_settle(two);
    CHECK(fake_deliver(one)); /* the watch has told */
    CHECK_INT(fake_pending(one, FAKE_LIST, NULL), 1);
    fake_wait(zk, 0.6);
    CHECK_INT(take_turns(mine, 3), 3);
    mine = one->callers;
    fake_settle(one);
    fake_wait(zk, 0.4);
    CHECK(fake_held(mine));
    CHECK_INT(take_turns(mine, 3), 0);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

static void with_the_list_on_its_way_those_here_wait_for_it(void) {
    fake_share_as(1, 1);
    fake_caller *mine = shared_holder(one), *theirs = fake_join(two, LINE, 1e12);
    fake_settle(two);
    CHECK(fake_deliver(one));
    fake_wait(zk, 1);
    fake_caller *waiter = shared_join(one);
    shared_release(mine);
    CHECK(fake_waits(waiter));
    CHECK_INT(fake_pending(one, FAKE_ERASE, NULL), 0);
    fake_cancel(theirs);
    fake_settle(two); /* it is gone when the list is made */
    fake_settle(one);
    CHECK(fake_held(waiter));
    CHECK_INT(waiter->token, mine->token);
}

static void who_goes_again_ends_the_stint(void) {
    fake_share_as(1, 1);
    fake_caller *mine = shared_holder(one), *theirs = fake_waiter(two);
    fake_caller *next = shared_join(one);
    shared_release(mine);
    fake_cancel(theirs);
    fake_settle_all(zk);
    shared_release(next);
    fake_settle_all(zk); /* it has ended: a remote waiter had been there */
    mine = shared_holder(one);
    fake_wait(zk, 2);
    CHECK_INT(take_turns(mine, 100), 100);
}

/* A server that is behind the former one shows no remote waiter, although this client has heard of
 * one. */
static void a_list_from_an_older_server_does_not_end_the_stint(void) {
    fake_share_as(1, 1);
    fake_caller *mine = shared_holder(one);
    const int64_t before = zk->zxid;
    fake_caller *theirs = fake_join(two, LINE, 1e12), *next = shared_join(one);
    fake_settle(two);
    CHECK(fake_deliver(one)); /* the watch has told; no answer has come since */
    shared_release(mine);
    CHECK(fake_held(next));
    fake_wait(zk, 0.6);
    fake_cut(one);
    fake_lag(one, before);
    fake_connect(one);
    fake_settle(one);
    fake_wait(zk, 0.4);
    CHECK_INT(take_turns(next, 100), 0);
    fake_catch_up(one);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

static void those_behind_wait_for_a_stint_at_most(void) {
    fake_share_as(1, 1);
    fake_caller *mine = shared_holder(one), *theirs = fake_waiter(two);
    fake_wait(zk, 0.9);
    fake_caller *next = shared_join(one);
    shared_release(mine);
    CHECK(fake_held(next));
    fake_wait(zk, 0.9); /* one hold more */
    mine = shared_join(one);
    shared_release(next);
    CHECK(fake_waits(mine));
    fake_settle_all(zk);
    CHECK(fake_held(theirs) && fake_waits(mine));
}

static void a_stint_begins_when_somebody_comes(void) {
    fake_share_as(1, 1);
    fake_caller *mine = shared_holder(one);
    fake_wait(zk, 20);
    fake_caller *next = shared_join(one);
    shared_release(mine);
    CHECK(fake_held(next));
    fake_waiter(two);
    CHECK_INT(take_turns(next, 3), 3);
}

/* The node that it waited for is not taken away before a caller had it. */
static void a_shared_node_that_was_waited_for_gives_one_grant(void) {
    fake_share_as(0, 0);
    fake_caller *theirs = fake_holder(two), *mine = shared_settled(one),
                *next = shared_settled(one);
    fake_caller *last = fake_waiter(two);
    shared_release(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(mine));
    shared_release(mine);
    fake_settle_all(zk);
    CHECK(fake_held(last) && fake_waits(next));
    shared_release(last);
    fake_settle_all(zk);
    CHECK(fake_held(next));
}

/* It waits for the list that shows whether the remote waiters have gone. The link breaks before the
 * list is known to be lost. */
static void a_try_that_waits_for_a_list_ends_with_the_link(void) {
    fake_share_as(0, 100);
    fake_caller *mine = shared_holder(one), *theirs = fake_join(two, LINE, 1e12);
    fake_settle(two);
    CHECK(fake_deliver(one));
    CHECK_INT(fake_pending(one, FAKE_LIST, NULL), 1);
    shared_release(mine);
    fake_caller *tried = fake_share(one, LINE, 0);
    CHECK(fake_waits(tried) && fake_waits(theirs));
    fake_cut_quietly(one);
    CHECK_FAILED(tried, ZKL_DISCONNECTED);
    fake_deliver_late(one);
}

/* Does the release tell the next one before the host's own turn? */
static bool tells_at_once(fake_caller *holder) {
    fake_client *client = holder->client;
    zkl_event event;
    client->busy = true;
    shared_release(holder);
    bool told = zkl_events_look(&client->context.events, &event);
    if (told && event.tag == holder->tag) { /* its own release is confirmed */
        zkl_events_forget(&client->context.events, event.serial);
        told = zkl_events_look(&client->context.events, &event);
    }
    client->busy = false;
    fake_hear(client);
    return told;
}

/* Its end would help no remote waiter before the callers that come just now are heard. */
static void the_last_one_here_is_told_in_the_hosts_next_turn(zkl_kind kind) {
    fake_share_as(1000, 1);
    fake_caller *mine[5];
    for (size_t i = 0; i < 2; i++) {
        mine[i] = fake_share_kind(one, LINE, kind, 1e12);
        fake_settle_all(zk);
    }
    CHECK(tells_at_once(mine[0])); /* no other client waits behind it */
    fake_caller *theirs = kind == ZKL_KIND_LOCK ? fake_waiter(two) : fake_write_lock(two, LINE);
    fake_settle_all(zk);
    for (size_t i = 2; i < 4; i++)
        mine[i] = fake_share_kind(one, LINE, kind, 1e12);
    CHECK(tells_at_once(mine[1]));
    CHECK(!tells_at_once(mine[2]) && fake_held(mine[3]));
    shared_release(mine[3]);
    fake_share_as(0, 1); /* its only grant: then it goes anyway */
    mine[4] = fake_share_kind(one, LINE, kind, 1e12);
    fake_settle_all(zk);
    CHECK(fake_held(theirs) && fake_waits(mine[4]));
    shared_release(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(mine[4]) && !mine[4]->contender->answer.unhurried);
}

static void the_last_lock_here_is_told_in_the_hosts_next_turn(void) {
    the_last_one_here_is_told_in_the_hosts_next_turn(ZKL_KIND_LOCK);
}

static void so_is_the_last_writer(void) {
    the_last_one_here_is_told_in_the_hosts_next_turn(ZKL_KIND_WRITE);
}

/* A caller that holds for a while need not wait for the answer at its end. */
static void who_is_behind_is_asked_when_the_first_is_granted(void) {
    fake_share_as(1000, 1);
    fake_caller *theirs = fake_holder(two), *mine = shared_settled(one);
    fake_forget_counts(one);
    shared_release(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(mine));
    CHECK_INT(one->counts[FAKE_LIST], 1);
    fake_forget_counts(one);
    shared_release(mine);
    shared_handed(one); /* the answer has come: no remote waiter */
}

/* Each holds for three tenths of a stint. */
static void two_clients_take_turns_of_turns(void) {
    fake_share_as(1, 1);
    fake_caller *all[2][12];
    for (size_t i = 0; i < 12; i++)
        all[0][i] = shared_settled(one);
    for (size_t i = 0; i < 12; i++)
        all[1][i] = shared_settled(two);
    char order[25] = "";
    for (size_t n = 0; n < 24; n++) {
        fake_settle_all(zk);
        for (size_t k = 0; k < 24; k++) {
            fake_caller *p = all[k % 2][k / 2];
            if (!fake_held(p))
                continue;
            order[n] = p->client == one ? '1' : '2';
            fake_wait(zk, 0.3);
            shared_release(p);
            break;
        }
    }
    CHECK_TEXT(order, "111122221111222211112222");
}

/* Half a stint after the last time: no newcomer gets in sooner. */
static void readers_with_much_time_ask_seldom(void) {
    fake_share_as(1000, 1);
    fake_caller *p = fake_share_kind(one, LINE, ZKL_KIND_READ, 1e12);
    fake_settle_all(zk);
    CHECK(fake_held(p));
    const unsigned before = one->counts[FAKE_LIST];
    for (unsigned i = 0; i < 100; i++) {
        fake_wait(zk, 1);
        fake_settle_all(zk);
    }
    CHECK(one->counts[FAKE_LIST] <= before + 1);
    for (unsigned i = 0; i < 6; i++) {
        fake_wait(zk, 100);
        fake_settle_all(zk);
    }
    CHECK(one->counts[FAKE_LIST] > before);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"whoever is behind waits for a stint and a hold",
         whoever_is_behind_waits_for_a_stint_and_a_hold},
        {"so does a semaphore whose gate it is", so_does_a_semaphore_whose_gate_it_is},
        {"a stint begins before the list has come", a_stint_begins_before_the_list_has_come},
        {"callers wait for a list that is on its way",
         with_the_list_on_its_way_those_here_wait_for_it},
        {"a remote waiter that goes ends the stint", who_goes_again_ends_the_stint},
        {"a list from an older server does not end the stint",
         a_list_from_an_older_server_does_not_end_the_stint},
        {"remote waiters wait for at most a stint", those_behind_wait_for_a_stint_at_most},
        {"a stint begins when a remote waiter comes", a_stint_begins_when_somebody_comes},
        {"with a stint of 0 a node with a remote waiter behind gives one grant",
         a_shared_node_that_was_waited_for_gives_one_grant},
        {"a try that waits for a list ends with the link",
         a_try_that_waits_for_a_list_ends_with_the_link},
        {"the last caller here hears of its grant in the host's next turn",
         the_last_lock_here_is_told_in_the_hosts_next_turn},
        {"so is the last writer", so_is_the_last_writer},
        {"the client asks for remote waiters when the first caller is granted",
         who_is_behind_is_asked_when_the_first_is_granted},
        {"two clients take turns of turns", two_clients_take_turns_of_turns},
        {"readers with much time ask seldom", readers_with_much_time_ask_seldom},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
