/* SPDX-License-Identifier: MIT */
/* A line whose allocations fail. */
#include "memory_world.h"

#include <zookeeper/zookeeper.h>

static void acquires_and_releases(void) {
    fake_caller *p = fake_join(one, LINE, MEMORY_LATER);
    fake_settle_all(zk);
    fake_wait(zk, 0.1); /* a hold that lasts watches its node */
    fake_settle_all(zk);
    memory_release(p);
    fake_settle_all(zk);
    memory_drop(p);
}

static void waits_and_is_granted(void) {
    fake_caller *p = fake_join(one, LINE, MEMORY_LATER);
    fake_settle_all(zk);
    fake_caller *q = fake_join(two, LINE, MEMORY_LATER), *r = fake_join(two, LINE, MEMORY_LATER);
    fake_settle_all(zk);
    memory_release(p);
    fake_settle_all(zk);
    memory_release(q);
    fake_settle_all(zk);
    memory_release(r);
    fake_settle_all(zk);
}

static void answers_come_late(void) {
    fake_caller *p = fake_join(one, LINE, MEMORY_LATER), *q = fake_join(two, LINE, MEMORY_LATER);
    fake_wait(zk, 2);
    for (unsigned i = 0; i < 40; i++) {
        fake_wait(zk, 0.3);
        fake_carry(i % 2 ? one : two);
        fake_deliver(i % 2 ? one : two);
    }
    memory_release(p);
    memory_release(q);
}

static void a_hold_is_over(void) {
    memory.upset = true;
    fake_caller *p = fake_join_for(one, LINE, 5);
    fake_settle_all(zk);
    fake_caller *q = fake_join(two, LINE, MEMORY_LATER);
    fake_settle_all(zk);
    fake_wait(zk, 6);
    fake_settle_all(zk);
    memory_drop(p);
    memory_release(q);
}

static void waiters_give_up(void) {
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, MEMORY_LATER), *q = fake_join(one, LINE, MEMORY_LATER);
    memory_cancel(p); /* with its create on the way */
    fake_settle_all(zk);
    memory_cancel(q);
    fake_caller *r = fake_join(one, LINE, 5), *s = fake_join(two, LINE, MEMORY_LATER);
    fake_settle_all(zk);
    fake_wait(zk, 6);
    memory_drop(s);
    fake_settle_all(zk);
    memory_drop(r);
}

static void tries_once(void) {
    fake_caller *p = fake_try(one, LINE);
    fake_settle_all(zk);
    fake_caller *q = fake_try(two, LINE);
    fake_settle_all(zk);
    fake_caller *r = fake_try(one, LINE);
    fake_settle_all(zk);
    memory_release(p);
    memory_release(q);
    memory_release(r);
}

static void makes_the_parents(void) {
    fake_caller *p = fake_join(one, "/new/way/down", MEMORY_LATER);
    fake_settle_all(zk);
    zk->old = true;
    fake_caller *q = fake_join(two, "/new/way/up", MEMORY_LATER);
    fake_settle_all(zk);
    memory_release(p);
    memory_release(q);
}

/* The line makes the parents again when it resumes. */
static void the_servers_throttle_the_parents(void) {
    fake_caller *p = fake_join(one, "/new/way", MEMORY_LATER);
    fake_answer(one); /* its create finds no parents */
    fake_refuse(zk, FAKE_CREATE, "/new", ZTHROTTLEDOP, 1);
    for (unsigned i = 0; i < 4; i++) {
        fake_settle_all(zk);
        fake_wait(zk, 0.5);
    }
    memory_release(p);
}

static void the_link_goes_at(unsigned requests) {
    fake_caller *p = fake_join(two, LINE, MEMORY_LATER);
    fake_settle_all(zk);
    fake_caller *q = fake_join(one, LINE, MEMORY_LATER), *r = fake_join(one, LINE, MEMORY_LATER);
    for (unsigned i = 0; i < requests; i++)
        fake_answer(one);
    fake_cut(one);
    memory_release(p);
    fake_settle_all(zk);
    fake_connect(one);
    fake_settle_all(zk);
    memory_release(q);
    fake_cut(one);
    fake_connect(one);
    fake_settle_all(zk);
    memory_release(r);
}

static void the_link_goes_early(void) {
    the_link_goes_at(0);
}

static void the_link_goes_late(void) {
    the_link_goes_at(4);
}

static void an_answer_is_lost(void) {
    fake_caller *p = fake_join(one, LINE, MEMORY_LATER), *q = fake_join(one, LINE, MEMORY_LATER);
    fake_carry(one);
    fake_carry(one);
    fake_carry(one);
    fake_cut(one);
    memory_cancel(q);
    fake_connect(one);
    fake_settle_all(zk);
    memory_release(p);
}

static void another_link_takes_over(void) {
    fake_caller *p = fake_join(one, LINE, MEMORY_LATER), *q = fake_join(one, LINE, MEMORY_LATER);
    fake_settle_all(zk);
    fake_cut_quietly(one);
    fake_relink(one);
    fake_connect(one);
    fake_settle_all(zk);
    memory_release(p);
    memory_release(q);
}

static void the_session_ends(void) {
    memory.upset = true;
    fake_caller *p = fake_join(one, LINE, MEMORY_LATER), *q = fake_join(one, LINE, MEMORY_LATER),
                *r = fake_join(two, LINE, MEMORY_LATER);
    fake_settle_all(zk);
    fake_expire(one);
    fake_connect(one);
    fake_settle_all(zk);
    memory_release(p);
    memory_release(q);
    memory_release(r);
}

static void operators_delete(void) {
    memory.upset = true;
    fake_caller *p = fake_join(one, LINE, MEMORY_LATER), *q = fake_join(two, LINE, MEMORY_LATER),
                *r = fake_join(two, LINE, MEMORY_LATER);
    fake_settle_all(zk);
    fake_wait(zk, 0.1);
    fake_settle_all(zk);
    if (memory_node_of(q))
        fake_remove(zk, memory_node_of(q));
    if (memory_node_of(p))
        fake_remove(zk, memory_node_of(p));
    fake_settle_all(zk);
    memory_release(r);
}

static void servers_refuse(void) {
    fake_refuse(zk, FAKE_ERASE, LINE, ZTHROTTLEDOP, 1);
    fake_refuse(zk, FAKE_GET, LINE, ZTHROTTLEDOP, 2);
    fake_refuse(zk, FAKE_LIST, LINE, ZTHROTTLEDOP, 1);
    waits_and_is_granted();
}

static void strangers_come_and_go(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, 5);
    fake_settle_all(zk);
    fake_remove(zk, stranger);
    fake_settle_all(zk);
    fake_wait(zk, 6); /* it gives up, and takes its watch back */
    fake_settle_all(zk);
    memory_drop(p);
}

/* The last one leaves before a list that failed is repeated, while the stranger stays. */
static void a_watch_is_taken_back(void) {
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, MEMORY_LATER);
    fake_settle_all(zk);
    fake_caller *q = fake_join(one, LINE, MEMORY_LATER);
    fake_settle_all(zk);
    memory_cancel(p);
    memory_cancel(q);
    fake_settle_all(zk);
}

SCENARIO(acquires_and_releases)
SCENARIO(waits_and_is_granted)
SCENARIO(answers_come_late)
SCENARIO(a_hold_is_over)
SCENARIO(waiters_give_up)
SCENARIO(tries_once)
SCENARIO(makes_the_parents)
SCENARIO(the_servers_throttle_the_parents)
SCENARIO(the_link_goes_early)
SCENARIO(the_link_goes_late)
SCENARIO(an_answer_is_lost)
SCENARIO(another_link_takes_over)
SCENARIO(the_session_ends)
SCENARIO(operators_delete)
SCENARIO(servers_refuse)
SCENARIO(strangers_come_and_go)
SCENARIO(a_watch_is_taken_back)

int main(int argc, char **argv) {
    static const check_case cases[] = {
        CASES("acquires and releases", acquires_and_releases),
        CASES("waits and is granted", waits_and_is_granted),
        CASES("answers come late", answers_come_late),
        CASES("a hold is over", a_hold_is_over),
        CASES("waiters give up", waiters_give_up),
        CASES("tries once", tries_once),
        CASES("makes the parents", makes_the_parents),
        CASES("the servers throttle the parents", the_servers_throttle_the_parents),
        CASES("the link goes early", the_link_goes_early),
        CASES("the link goes late", the_link_goes_late),
        CASES("an answer is lost", an_answer_is_lost),
        CASES("another link takes over", another_link_takes_over),
        CASES("the session ends", the_session_ends),
        CASES("operators delete", operators_delete),
        CASES("servers refuse", servers_refuse),
        CASES("strangers come and go", strangers_come_and_go),
        CASES("a watch is taken back", a_watch_is_taken_back),
    };
    return check_run(CHECK_CASES(cases), argc, argv, memory_begin, memory_end);
}
