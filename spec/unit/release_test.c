/* SPDX-License-Identifier: MIT */
/* A release that answers ZKL_OK, though somebody has deleted the node: only the delete's answer
 * shows it. */
#include "shared/sharer.h"
#include "shared_node_world.h"

#define B "/locks/b"
#define C "/locks/c"
#define D "/locks/d"
#define POOL "/pool"

static void begin(void) {
    fake_world_begin();
    fake_directory(zk, B);
    fake_directory(zk, C);
    fake_directory(zk, D);
    fake_directory(zk, POOL "/locks");
    fake_directory(zk, POOL "/leases");
}

/* ---- each kind of hold ---- */

static fake_caller *mutex(void) {
    return fake_granted(fake_join(one, LINE, 1e12));
}

static fake_caller *reader(void) {
    return fake_granted(fake_read(one, LINE));
}

static fake_caller *writer(void) {
    return fake_granted(fake_write_lock(one, LINE));
}

static fake_caller *reader_under_write(void) {
    return fake_granted(fake_read_under(writer(), LINE));
}

static fake_caller *multilock(void) {
    static const char *const both[] = {LINE, B};
    return fake_granted(fake_join_all(one, both, 2, 1e12));
}

static fake_caller *leases(void) {
    return fake_granted(fake_lease(one, POOL, 2, 3));
}

/* Its own watch has not been answered yet. */
static fake_caller *of_shared_node(fake_caller *caller) {
    while (!fake_held(caller))
        CHECK(fake_answer(one));
    return caller;
}

static fake_caller *place(void) {
    return of_shared_node(fake_share(one, LINE, 1e12));
}

static fake_caller *shared_read(void) {
    return of_shared_node(fake_share_kind(one, LINE, ZKL_KIND_READ, 1e12));
}

static fake_caller *shared_write(void) {
    return of_shared_node(fake_share_kind(one, LINE, ZKL_KIND_WRITE, 1e12));
}

static fake_caller *(*const kinds[])(void) = {
    mutex, reader, writer, reader_under_write, multilock, leases, place, shared_read, shared_write,
};
#define KINDS (sizeof kinds / sizeof *kinds)

static void each_kind(void (*play)(fake_caller *caller)) {
    for (size_t linger = 0; linger < 2; linger++)
        for (size_t i = 0; i < KINDS; i++) {
            fake_share_as(1, (double)linger);
            fake_caller *caller = kinds[i]();
            check_note("kind %zu", i);
            play(caller);
            fake_world_end();
            begin();
        }
}

/* Of several nodes the last one. */
static void rob(const fake_caller *p) {
    const zkl_contender *head = p->contender;
    const zkl_contender *second = head->call->heard && !zkl_sharer_turn(p->contender)
                                      ? head->call->part(p->contender, 1)
                                      : NULL;
    char node[256];
    snprintf(node, sizeof node, "%s/%s", second ? second->line->path : "",
             second ? second->name : "");
    CHECK_INT(fake_remove(zk, second ? node : fake_node_of(p)), ZOK);
}

static void check_missed(const fake_caller *p, int64_t all) {
    CHECK_INT(p->losses, 1);
    CHECK_INT(p->rests, 0);
    CHECK_INT((int64_t)one->context.counters.lost, all);
}

static void check_lost(const fake_caller *p) {
    check_missed(p, 1);
    CHECK_INT((int64_t)one->context.counters.released, 1);
}

static void robbed(fake_caller *p) {
    rob(p);
    CHECK_INT(fake_release(p), ZKL_OK); /* before the watch reports anything */
    CHECK_INT(p->losses + p->rests, 0);
    zkl_ask_free(&fake_flush(one)->ask);
    fake_settle_all(zk);
    check_lost(p);
    CHECK_INT(fake_release(p), ZKL_LOST);
}

static void the_only_delete_that_finds_no_node_reports_a_loss(void) {
    each_kind(robbed);
}

static void confirmed(fake_caller *p) {
    CHECK_INT(fake_release(p), ZKL_OK);
    zkl_ask_free(&fake_flush(one)->ask);
    fake_settle_all(zk);
    CHECK_INT(p->losses, 0);
    CHECK_INT(p->rests, 1);
    CHECK_INT((int64_t)one->context.counters.lost, 0);
}

static void the_host_hears_when_the_servers_confirm_it(void) {
    each_kind(confirmed);
}

/* The first delete was carried out, perhaps after somebody else's. */
static void repeated(fake_caller *p) {
    CHECK_INT(fake_release(p), ZKL_OK);
    zkl_ask_free(&fake_flush(one)->ask);
    while (fake_carry(one))
        continue;
    fake_cut(one);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK_INT(p->losses, 0);
    CHECK_INT(p->rests, 1);
}

static void after_a_second_delete_nothing_is_concluded(void) {
    each_kind(repeated);
}

/* Its validity reached beyond the release, so the session ended later. */
static void expired(fake_caller *p) {
    fake_cut(one);
    CHECK_INT(fake_release(p), ZKL_OK);
    const uint64_t lost = one->context.counters.lost, held = one->context.counters.held;
    fake_bury(one);
    fake_expire(one);
    CHECK_INT(p->losses, 0);
    CHECK_INT(p->rests, 1);
    CHECK_INT((int64_t)(one->context.counters.lost - lost), (int64_t)held);
}

static void the_sessions_end_is_no_loss(void) {
    each_kind(expired);
}

static void dropped(fake_caller *p) {
    rob(p);
    CHECK_INT(fake_release(p), ZKL_OK);
    fake_drop(p); /* fake_client.c fails if a dropped contender gets an event */
    zkl_ask_free(&fake_flush(one)->ask);
    fake_settle_all(zk);
    CHECK_INT((int64_t)one->context.counters.lost, 0);
}

static void nothing_is_reported_after_the_host_has_dropped_it(void) {
    each_kind(dropped);
}

/* A flush is answered last: a host that waits for it knows. */
static void the_loss_comes_before_the_answer_of_a_flush(void) {
    fake_caller *p = mutex();
    rob(p);
    CHECK_INT(fake_release(p), ZKL_OK);
    zkl_query *query = fake_flush(one);
    one->busy = true; /* the host reads nothing yet */
    fake_settle_all(zk);
    one->busy = false;
    zkl_event event;
    CHECK(zkl_events_peek(&one->context.events, &event));
    CHECK_INT(event.kind, ZKL_EVENT_LOST);
    CHECK_INT((int64_t)event.tag, (int64_t)p->tag);
    fake_hear(one);
    zkl_ask_free(&query->ask);
}

/* ---- batches ---- */

/* Both deletes go in one batch, because another write is on its way. */
static void release_together(fake_caller *p[2]) {
    static const char *const paths[] = {C, D};
    for (size_t i = 0; i < 2; i++) {
        p[i] = fake_join(one, paths[i], 1e12);
        fake_wait(zk, 0.1); /* a round trip, which the client measures */
        fake_granted(p[i]);
    }
    fake_join(one, B, 1e12);
    for (size_t i = 0; i < 2; i++)
        CHECK_INT(fake_release(p[i]), ZKL_OK);
    fake_wait(zk, 0.0101);
    CHECK_TEXT(fake_batch(one), "CLT");
}

static void a_batch_that_fails_for_a_missing_node_reports_the_loss_of_that_one(void) {
    fake_caller *p[2];
    release_together(p);
    rob(p[1]);
    fake_settle_all(zk);
    CHECK_INT(p[0]->losses, 0);
    CHECK_INT(p[0]->rests, 1);
    check_missed(p[1], 1);
}

/* The first batch did nothing, so the next delete is the only one. */
static void a_delete_that_was_rolled_back_does_not_count(void) {
    fake_caller *p[2];
    release_together(p);
    rob(p[0]);
    rob(p[1]);
    fake_settle_all(zk);
    check_missed(p[0], 2);
    check_missed(p[1], 2);
}

/* ---- places ---- */

/* Its own watch is armed, and has not reported it yet. */
static void a_place_that_is_given_up_with_a_missing_node_was_lost(void) {
    fake_share_as(1, 0);
    fake_caller *p = shared_holder(one);
    rob(p);
    shared_release(p);
    CHECK_INT(p->losses + p->rests, 0);
    fake_settle_all(zk);
    check_lost(p);
}

static void a_hold_that_rests_on_a_missing_node_was_lost(void) {
    fake_share_as(1, 1);
    fake_caller *p = shared_holder(one);
    rob(p);
    CHECK(fake_rest(p)); /* before the watch reports it */
    fake_settle_all(zk);
    check_lost(p);
    CHECK(!fake_take_again(p));
}

static void so_was_one_whose_node_is_given_up_then(void) {
    fake_share_as(1, 1);
    fake_caller *p = shared_holder(one);
    rob(p);
    CHECK(fake_rest(p));
    zkl_ask_free(&fake_flush(one)->ask);
    fake_settle_all(zk);
    check_lost(p);
}

/* When the next caller got it the node was there. */
static void one_that_rested_before_anothers_grant_was_held(void) {
    fake_share_as(1, 1);
    fake_caller *first = shared_holder(one);
    CHECK(fake_rest(first));
    fake_caller *second = shared_holder(one);
    rob(second);
    fake_settle_all(zk);
    CHECK_INT(second->losses, 1);
    CHECK_INT(first->losses, 0);
    CHECK_INT(first->rests, 1);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"the only delete that finds no node reports a loss",
         the_only_delete_that_finds_no_node_reports_a_loss},
        {"the host hears when the servers confirm the release",
         the_host_hears_when_the_servers_confirm_it},
        {"after a second delete nothing is concluded", after_a_second_delete_nothing_is_concluded},
        {"the session's end is no loss of what was released before", the_sessions_end_is_no_loss},
        {"nothing is reported after the host has dropped the contender",
         nothing_is_reported_after_the_host_has_dropped_it},
        {"the loss comes before the answer of a flush",
         the_loss_comes_before_the_answer_of_a_flush},
        {"a batch that fails for a missing node reports the loss of that one",
         a_batch_that_fails_for_a_missing_node_reports_the_loss_of_that_one},
        {"a delete that was rolled back does not count",
         a_delete_that_was_rolled_back_does_not_count},
        {"a place that is given up with a missing node was lost",
         a_place_that_is_given_up_with_a_missing_node_was_lost},
        {"a hold that rests on a missing node was lost",
         a_hold_that_rests_on_a_missing_node_was_lost},
        {"so was one whose node is given up then", so_was_one_whose_node_is_given_up_then},
        {"a hold that rested before another caller's grant was held",
         one_that_rested_before_anothers_grant_was_held},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, fake_world_end);
}
