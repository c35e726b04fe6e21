/* SPDX-License-Identifier: MIT */
/* Several contenders that are one, kinds that share one, and many: without memory. */
#include "memory_world.h"

#include <stdio.h>

static void a_writer_goes_on_as_a_reader(void) {
    fake_caller *w = fake_write_lock(one, LINE);
    fake_settle_all(zk);
    fake_caller *r = w ? fake_read_under(w, LINE) : NULL, *q = fake_write_lock(two, LINE),
                *s = fake_read(two, LINE);
    fake_settle_all(zk);
    memory_release(w);
    fake_settle_all(zk);
    memory_release(r);
    fake_settle_all(zk);
    memory_release(q);
    fake_settle_all(zk);
    memory_release(s);
}

static const char *const both[] = {"/both/a", "/both/b"};

static void several_paths_together(void) {
    memory.several = true;
    fake_caller *p = fake_join_all(one, both, 2, MEMORY_LATER);
    fake_settle_all(zk);
    fake_caller *q = fake_join_all(two, both, 2, MEMORY_LATER), *r = fake_join_all(one, both, 2, 5);
    fake_settle_all(zk);
    fake_wait(zk, 6);
    fake_settle_all(zk);
    memory_release(p);
    fake_settle_all(zk);
    memory_release(q);
    memory_drop(r);
}

static void several_paths_and_the_link_goes(void) {
    memory.several = true;
    fake_caller *p = fake_join_all(one, both, 2, MEMORY_LATER);
    fake_carry(one);
    fake_carry(one);
    fake_cut(one);
    fake_connect(one);
    fake_settle_all(zk);
    memory_release(p);
}

static void several_paths_and_the_session_ends(void) {
    memory.several = true;
    memory.upset = true;
    fake_caller *p = fake_join_all(one, both, 2, MEMORY_LATER),
                *q = fake_join_all(one, both, 2, MEMORY_LATER);
    fake_settle_all(zk);
    fake_expire(one);
    fake_connect(one);
    fake_settle_all(zk);
    memory_release(p);
    memory_release(q);
}

static void several_leases(void) {
    memory.several = true;
    fake_caller *p = fake_lease(one, "/pool", 2, 3);
    fake_settle_all(zk);
    fake_caller *q = fake_lease(two, "/pool", 2, 3), *r = fake_lease(one, "/pool", 1, 3);
    fake_settle_all(zk);
    memory_release(p);
    fake_settle_all(zk);
    memory_cancel(q);
    fake_settle_all(zk);
    memory_release(r);
}

static void several_leases_and_the_link_goes(void) {
    memory.several = true;
    fake_caller *p = fake_lease(one, "/pool", 2, 2);
    for (unsigned i = 0; i < 6; i++)
        fake_answer(one);
    fake_cut(one);
    fake_connect(one);
    fake_settle_all(zk);
    memory_release(p);
}

/* A shared node that is given up queues anew with others: if it cannot, those who wait for it hear
 * so. */
static void callers_take_turns(void) {
    memory.several = true;
    fake_share_as(0.1, 1);
    fake_caller *all[6];
    for (size_t i = 0; i < 6; i++) {
        all[i] = fake_share(i % 2 ? two : one, LINE, MEMORY_LATER);
        fake_settle_all(zk);
    }
    for (size_t i = 0; i < 6; i++) {
        fake_wait(zk, 0.06);
        memory_release(all[i]);
        fake_settle_all(zk);
    }
    fake_caller *p = fake_share(one, LINE, MEMORY_LATER), *q = fake_share(one, LINE, 0);
    fake_settle_all(zk);
    memory_drop(p);
    memory_release(q);
}

static void callers_take_turns_and_the_link_goes(void) {
    memory.several = true;
    fake_caller *p = fake_share(one, LINE, MEMORY_LATER), *q = fake_share(one, LINE, MEMORY_LATER);
    fake_caller *r = fake_share(two, LINE, MEMORY_LATER);
    for (unsigned i = 0; i < 3; i++)
        fake_answer(one);
    fake_cut(one);
    memory_release(p);
    fake_connect(one);
    fake_settle_all(zk);
    memory_release(q);
    fake_settle_all(zk);
    memory_release(r);
}

static fake_caller *share_under(fake_caller *write) {
    return write && fake_held(write) ? fake_share_under(write, LINE) : NULL;
}

/* Whoever cannot be taken in has not come; nobody else is the worse for that. */
static void a_writer_here_goes_on_as_a_reader(void) {
    memory.several = true;
    fake_caller *w = fake_share_kind(one, LINE, ZKL_KIND_WRITE, MEMORY_LATER);
    fake_settle_all(zk);
    fake_caller *r = share_under(w), *again = share_under(w);
    fake_settle_all(zk);
    fake_caller *beside = fake_share_kind(one, LINE, ZKL_KIND_READ, MEMORY_LATER),
                *theirs = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    memory_release(w);
    fake_settle_all(zk);
    memory_release(r);
    memory_release(again);
    fake_settle_all(zk);
    memory_release(beside);
    fake_settle_all(zk);
    memory_release(theirs);
}

/* Whatever is not remembered of a directory that nobody else may write to is asked for again. */
static void only_we_may_write(void) {
    memory.several = true;
    one->context.acl = ZKL_ACL_CREATOR;
    for (unsigned i = 0; i < 2; i++) {
        fake_find(zk, LINE, FAKE_LATEST)->closed = true;
        fake_caller *p = fake_share(one, LINE, MEMORY_LATER);
        fake_settle_all(zk);
        memory_release(p);
        fake_wait(zk, 2); /* it does not stay */
        fake_settle_all(zk);
    }
}

/* They hear of it when there is memory again. */
static void it_is_asked_for(void) {
    memory.several = true;
    fake_caller *p = fake_join(one, LINE, MEMORY_LATER),
                *q = fake_join_all(one, both, 2, MEMORY_LATER);
    fake_settle_all(zk);
    fake_wait(zk, 0.1);
    fake_settle_all(zk);
    if (memory_node_of(p)) {
        memory.asked_for[0] = p;
        fake_write(zk, memory_node_of(p), "__REVOKE__");
    }
    if (fake_children(zk, both[1]) > 0) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", both[1], fake_child(zk, both[1], 0, FAKE_LATEST));
        memory.asked_for[1] = q;
        fake_write(zk, path, "__REVOKE__");
    }
    fake_settle_all(zk);
}

static fake_caller *join_another(void) {
    char path[32];
    snprintf(path, sizeof path, "/many/%u", (unsigned)one->tags);
    fake_directory(zk, path);
    return fake_join(one, path, MEMORY_LATER);
}

/* The tables hold 64 and as many again; a line is three receivers. */
static void receivers_are_at_the_brim(void) {
    while (one->context.receivers.table.count + 3 <= 64)
        join_another();
    fake_settle_all(zk);
}

static void lines_are_at_the_brim(void) {
    while (zkl_lines_count(&one->lines) < 64)
        join_another();
    fake_settle_all(zk);
}

static void more_come(void) {
    fake_caller *p = join_another(), *q = join_another();
    fake_settle_all(zk);
    memory_release(p);
    memory_release(q);
    fake_settle_all(zk);
}

static void there_are_many_receivers(void) {
    more_come();
}

static void there_are_many_lines(void) {
    more_come();
}

SCENARIO(a_writer_goes_on_as_a_reader)
SCENARIO(several_paths_together)
SCENARIO(several_paths_and_the_link_goes)
SCENARIO(several_paths_and_the_session_ends)
SCENARIO(several_leases)
SCENARIO(several_leases_and_the_link_goes)
SCENARIO(callers_take_turns)
SCENARIO(callers_take_turns_and_the_link_goes)
SCENARIO(a_writer_here_goes_on_as_a_reader)
SCENARIO(only_we_may_write)
SCENARIO(it_is_asked_for)
SCENARIO_WHEN(receivers_are_at_the_brim, there_are_many_receivers)
SCENARIO_WHEN(lines_are_at_the_brim, there_are_many_lines)

int main(int argc, char **argv) {
    static const check_case cases[] = {
        CASES("a writer goes on as a reader", a_writer_goes_on_as_a_reader),
        CASES("several paths together", several_paths_together),
        CASES("several paths, and the link goes", several_paths_and_the_link_goes),
        CASES("several paths, and the session ends", several_paths_and_the_session_ends),
        CASES("several leases", several_leases),
        CASES("several leases, and the link goes", several_leases_and_the_link_goes),
        CASES("callers take turns", callers_take_turns),
        CASES("callers take turns, and the link goes", callers_take_turns_and_the_link_goes),
        CASES("a writer here goes on as a reader", a_writer_here_goes_on_as_a_reader),
        CASES("only we may write", only_we_may_write),
        CASES("it is asked for", it_is_asked_for),
        CASES("there are many subjects", there_are_many_receivers),
        CASES("there are many lines", there_are_many_lines),
    };
    return check_run(CHECK_CASES(cases), argc, argv, memory_begin, memory_end);
}
