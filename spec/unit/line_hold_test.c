/* SPDX-License-Identifier: MIT */
/* How long a hold may last: max_hold ends it, whatever the host does. */
#include "fake_world.h"

#include <signal.h>
#include <sys/mman.h>

static fake_caller *hold_for(double seconds) {
    fake_caller *p = fake_join_for(one, LINE, seconds);
    fake_settle(one);
    CHECK(fake_held(p));
    return p;
}

static zkl_nanos validity(const fake_caller *p) {
    return zkl_contender_valid_until(p->contender) - fake_now;
}

static void it_is_lost_when_the_time_is_over(void) {
    fake_caller *p = hold_for(2);
    fake_caller *next = fake_waiter(two);
    fake_wait(zk, 1.9);
    CHECK(fake_held(p));
    fake_wait(zk, 0.1);
    CHECK(!fake_held(p));
    CHECK_INT(p->losses, 1);
    CHECK_INT(fake_release(p), ZKL_LOST);
    fake_settle_all(zk);
    CHECK(fake_held(next));
    CHECK_INT(one->context.counters.lost, 1);
    CHECK_INT(one->context.counters.released, 0);
}

static void it_does_not_wait_for_the_host(void) {
    fake_caller *p = hold_for(2);
    fake_caller *next = fake_waiter(two);
    one->busy = true;
    fake_wait(zk, 2);
    fake_settle_all(zk);
    CHECK(fake_held(next));
    CHECK_INT(p->losses, 0);
    one->busy = false;
    fake_hear(one);
    CHECK_INT(p->losses, 1);
}

/* A lost hold cannot be released. One event reports both, and the host has room for one. */
static void asked_for_it_and_lost_before_the_host_hears_it_is_lost(void) {
    fake_caller *p = hold_for(2);
    one->busy = true;
    fake_wait(zk, 1); /* its own node is watched by then */
    fake_write(zk, fake_node_of(p), "__REVOKE__");
    fake_settle_all(zk);
    CHECK_INT(one->context.counters.revoked, 1);
    fake_wait(zk, 1);
    one->busy = false;
    fake_hear(one);
    CHECK_INT(p->revocations, 0);
    CHECK_INT(p->losses, 1);
}

static void asked_for_it_and_lost_the_host_hears_both(void) {
    fake_caller *p = hold_for(2);
    fake_wait(zk, 1);
    fake_write(zk, fake_node_of(p), "__REVOKE__");
    fake_settle_all(zk);
    CHECK_INT(p->revocations, 1);
    fake_wait(zk, 1);
    CHECK_INT(p->losses, 1);
    CHECK_INT(p->revocations, 1);
}

static void validity_is_never_more_than_what_is_left(void) {
    fake_caller *p = hold_for(2);
    CHECK_INT(validity(p), 2 * ZKL_SECOND);
    fake_wait(zk, 1.5);
    fake_settle(one);
    CHECK_INT(validity(p), ZKL_SECOND / 2);
    fake_now += ZKL_SECOND; /* stopped: no timer ran */
    CHECK(fake_held(p));
    CHECK(validity(p) < 0);
}

static void nor_more_than_the_servers_vouch_for(void) {
    fake_caller *p = hold_for(1000);
    CHECK_INT(validity(p), one->context.valid_until - fake_now);
}

static zkl_contender read_late;
static zkl_context *vouching; /* in a page of its own */

static void another_session_begins(int signal) {
    (void)signal;
    mprotect(vouching, sizeof *vouching, PROT_READ | PROT_WRITE);
    read_late.hold_until = 0;
    vouching->valid_until = 2;
}

/* The host reads without the mutex. Until the page may be read, its thread stands still there. */
static void nor_does_a_later_session_vouch_for_it(void) {
    const struct sigaction meanwhile = {.sa_handler = another_session_begins};
    struct sigaction before;
    vouching =
        mmap(NULL, sizeof *vouching, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(vouching != MAP_FAILED);
    read_late.context = vouching;
    read_late.hold_until = ZKL_NEVER;
    vouching->valid_until = 1;
    sigaction(SIGSEGV, &meanwhile, &before);
    mprotect(vouching, sizeof *vouching, PROT_NONE);
    CHECK_INT(zkl_contender_valid_until(&read_late), 0);
    sigaction(SIGSEGV, &before, NULL);
    munmap(vouching, sizeof *vouching);
}

static void a_hold_shorter_than_the_watch_is_over_in_time(void) {
    fake_caller *p = hold_for(0.01);
    fake_wait(zk, 0.01);
    CHECK_INT(p->losses, 1);
    fake_settle(one);
    CHECK_CLEAN();
}

static void the_time_is_counted_from_the_grant(void) {
    fake_caller *holder = fake_holder(two);
    fake_caller *p = fake_join_for(one, LINE, 2);
    fake_settle(one);
    fake_wait(zk, 5);
    CHECK(fake_waits(p));
    fake_release(holder);
    fake_settle_all(zk);
    CHECK(fake_held(p));
    fake_wait(zk, 1.9);
    CHECK(fake_held(p));
    fake_wait(zk, 0.1);
    CHECK_INT(p->losses, 1);
}

static void one_that_was_released_is_not_lost_later(void) {
    fake_caller *p = hold_for(2);
    CHECK_INT(fake_release(p), ZKL_OK);
    fake_settle(one);
    fake_wait(zk, 5);
    CHECK_INT(p->losses, 0);
    CHECK_CLEAN();
}

static void without_a_link_the_node_goes_with_the_next_one(void) {
    fake_caller *p = hold_for(2);
    fake_cut(one);
    fake_wait(zk, 2);
    CHECK_INT(p->losses, 1);
    CHECK_INT(fake_children(zk, LINE), 1);
    fake_connect(one);
    fake_settle(one);
    CHECK_CLEAN();
}

/* Once its node is watched, there is nothing to look at before the end. */
static void a_hold_that_is_watched_has_one_timer(void) {
    fake_caller *p = hold_for(5);
    fake_wait(zk, 0.1);
    fake_settle(one);
    CHECK_INT(p->contender->watch, ZKL_WATCH_ARMED);
    CHECK_INT(zkl_timers_next(&one->context.timers), p->contender->hold_until);
    fake_caller *q = fake_join(two, "/locks/other", 60);
    fake_settle(two);
    fake_wait(zk, 0.1);
    fake_settle(two);
    CHECK(fake_held(q));
    CHECK_INT(zkl_timers_next(&two->context.timers), ZKL_NEVER);
}

/* Grants the lock behind a link whose round trip takes so many seconds. */
static fake_caller *hold_after(double trip) {
    fake_caller *p = fake_join(one, LINE, 60);
    while (fake_carry(one))
        ;
    fake_wait(zk, trip);
    fake_settle(one);
    CHECK(fake_held(p));
    return p;
}

static bool is_watched_after(fake_caller *p, double seconds) {
    fake_wait(zk, seconds);
    fake_settle(one);
    return p->contender->watch == ZKL_WATCH_ARMED;
}

static void near_servers_watch_it_after_a_twentieth_of_a_second(void) {
    fake_caller *p = hold_after(0.001);
    CHECK(!is_watched_after(p, 0.049));
    CHECK(is_watched_after(p, 0.002));
}

static void distant_servers_watch_it_after_ten_round_trips(void) {
    fake_caller *p = hold_after(0.02);
    CHECK(!is_watched_after(p, 0.199));
    CHECK(is_watched_after(p, 0.002));
}

static void slow_servers_watch_it_after_half_a_second(void) {
    fake_caller *p = hold_after(1);
    CHECK(!is_watched_after(p, 0.499));
    CHECK(is_watched_after(p, 0.002));
}

static void one_for_ever_and_a_day_lasts(void) {
    fake_caller *p = hold_for(9.2e9);
    fake_wait(zk, 100);
    fake_settle(one);
    CHECK(fake_held(p));
}

/* ---- another end, while it holds ---- */

/* As zkl_extend ends. */
static void extend(fake_caller *p, double seconds) {
    zkl_contender_extend(p->contender, (zkl_nanos)(seconds * ZKL_SECOND));
}

static void check_lost_after(fake_caller *p, double seconds) {
    fake_wait(zk, seconds - 0.1);
    fake_settle(one);
    CHECK(fake_held(p));
    fake_wait(zk, 0.1);
    CHECK_INT(p->losses, 1);
}

static void another_end_may_be_nearer(void) {
    fake_caller *p = hold_for(20);
    fake_wait(zk, 5); /* its own node is watched by then */
    extend(p, 2);
    CHECK_INT(validity(p), 2 * ZKL_SECOND);
    check_lost_after(p, 2);
}

static void another_end_may_be_farther(void) {
    fake_caller *p = hold_for(2);
    fake_wait(zk, 1);
    extend(p, 5);
    check_lost_after(p, 5);
}

static void a_hold_without_an_end_gets_one(void) {
    fake_caller *p = hold_for(0);
    fake_wait(zk, 3);
    extend(p, 2);
    check_lost_after(p, 2);
}

static void a_hold_may_lose_its_end(void) {
    fake_caller *p = hold_for(2);
    extend(p, 0);
    fake_wait(zk, 100);
    fake_settle(one);
    CHECK(fake_held(p));
}

/* The delay of its watch runs since the grant. */
static void another_end_does_not_delay_the_watch(void) {
    fake_caller *p = hold_after(0.001);
    fake_wait(zk, 0.03);
    extend(p, 20);
    CHECK(is_watched_after(p, 0.021));
    check_lost_after(p, 19.99);
}

static void another_end_before_the_watch_is_in_time(void) {
    fake_caller *p = hold_for(20);
    extend(p, 0.01);
    fake_wait(zk, 0.01);
    CHECK_INT(p->losses, 1);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a hold is lost when max_hold ends", it_is_lost_when_the_time_is_over},
        {"a hold is lost even if the host does nothing", it_does_not_wait_for_the_host},
        {"of a revocation and a loss that the host has not taken, it gets the loss",
         asked_for_it_and_lost_before_the_host_hears_it_is_lost},
        {"the host gets a revocation and then a loss", asked_for_it_and_lost_the_host_hears_both},
        {"validity is at most the rest of max_hold", validity_is_never_more_than_what_is_left},
        {"validity is at most what the servers vouch for", nor_more_than_the_servers_vouch_for},
        {"a later session gives a lost hold no validity", nor_does_a_later_session_vouch_for_it},
        {"a hold shorter than the delay of its watch ends in time",
         a_hold_shorter_than_the_watch_is_over_in_time},
        {"max_hold counts from the grant", the_time_is_counted_from_the_grant},
        {"a released hold is not lost later", one_that_was_released_is_not_lost_later},
        {"without a link, the next link deletes the node",
         without_a_link_the_node_goes_with_the_next_one},
        {"a hold that is watched has one timer", a_hold_that_is_watched_has_one_timer},
        {"near servers watch a hold after 50 ms",
         near_servers_watch_it_after_a_twentieth_of_a_second},
        {"distant servers watch a hold after ten round trips",
         distant_servers_watch_it_after_ten_round_trips},
        {"slow servers watch a hold after half a second",
         slow_servers_watch_it_after_half_a_second},
        {"a hold with a huge max_hold lasts", one_for_ever_and_a_day_lasts},
        {"another end may be nearer", another_end_may_be_nearer},
        {"... or farther", another_end_may_be_farther},
        {"a hold without an end gets one", a_hold_without_an_end_gets_one},
        {"a hold may lose its end", a_hold_may_lose_its_end},
        {"another end does not delay the watch", another_end_does_not_delay_the_watch},
        {"another end before the watch is in time", another_end_before_the_watch_is_in_time},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
