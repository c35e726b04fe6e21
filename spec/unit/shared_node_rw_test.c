/* SPDX-License-Identifier: MIT */
/* Shared nodes of readers and writers: callers of one client that read together on one node, or
 * write in turn on another one. */
#include "shared_node_world.h"

/* ---- readers ---- */

static void readers_here_share_one_node(void) {
    fake_caller *all[5] = {shared_reader(one)};
    const unsigned before = fake_asked(one);
    for (uint64_t i = 1; i < 5; i++) {
        all[i] = shared_reads(one);
        CHECK(fake_held(all[i]));
        CHECK_INT(all[i]->token, all[0]->token);
        CHECK_INT(shared_turn(all[i]), i + 1);
    }
    CHECK_INT(fake_asked(one), before);
    CHECK_INT(shared_nodes(), 1);
    CHECK_INT(one->context.counters.handed, 4);
    for (size_t i = 0; i < 5; i++)
        shared_release(all[i]);
    fake_wait(zk, 1.1);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void those_who_waited_together_get_in_together(void) {
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    fake_caller *first = shared_answered(shared_reads(one)),
                *second = shared_answered(shared_reads(one));
    CHECK(fake_waits(first) && fake_waits(second));
    CHECK_INT(shared_nodes(), 2);
    shared_release(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(first) && fake_held(second));
    CHECK_INT(shared_nodes(), 1);
}

static void while_somebody_reads_others_who_come_and_go_cost_nothing(void) {
    shared_reader(one);
    fake_settle_all(zk);
    const unsigned before = fake_asked(one);
    for (unsigned i = 0; i < 10; i++) {
        fake_caller *theirs = fake_read(two, LINE);
        fake_settle_all(zk);
        CHECK(fake_held(theirs));
        shared_release(theirs);
        fake_settle_all(zk);
    }
    CHECK_INT(fake_asked(one), before);
}

static void about_twice_in_a_stint_they_ask_who_is_behind(void) {
    fake_share_as(2, 1);
    shared_reader(one);
    fake_settle_all(zk);
    const unsigned before = one->counts[FAKE_LIST];
    for (unsigned i = 0; i < 100; i++) {
        fake_wait(zk, 0.2);
        shared_release(shared_reads(one)); /* also when readers come all the time */
        fake_settle_all(zk);
    }
    const unsigned lists = one->counts[FAKE_LIST] - before;
    check_note("%u lists", lists);
    CHECK(lists >= 20 && lists <= 27);
    CHECK_INT(zkl_lines_find(&one->lines, LINE)->directory_watch, ZKL_WATCH_NONE);
}

/* It is found when they ask, half a stint after it came. */
static void a_writer_elsewhere_waits_for_a_stint(void) {
    fake_share_as(10, 1);
    fake_caller *first = shared_reader(one), *last = first;
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    for (unsigned i = 0; i < 10; i++)
        shared_release(shared_reads(one)); /* not known yet */
    fake_wait(zk, 5);
    fake_settle_all(zk); /* they have asked */
    fake_wait(zk, 4.9);
    last = shared_reads(one);
    CHECK(fake_held(last));
    fake_wait(zk, 0.1);
    fake_caller *late = shared_reads(one);
    CHECK(fake_waits(late));
    shared_release(first);
    CHECK_INT(fake_pending(one, FAKE_ERASE, NULL), 0);
    shared_release(last);
    fake_settle_all(zk);
    CHECK(fake_held(theirs) && fake_waits(late));
    shared_release(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(late) && late->token > first->token);
}

static void a_writer_behind_waits_for_a_stint(void) {
    fake_share_as(1, 1);
    fake_caller *first = shared_reader(one);
    fake_caller *mine = shared_answered(shared_writes(one)); /* its list shows it */
    fake_wait(zk, 0.9);
    fake_caller *second = shared_reads(one);
    CHECK(fake_held(second));
    fake_wait(zk, 0.2);
    fake_caller *late = shared_reads(one);
    CHECK(fake_waits(late) && fake_waits(mine));
    shared_release(first);
    shared_release(second);
    fake_settle_all(zk);
    CHECK(fake_held(mine) && fake_waits(late));
    shared_release(mine);
    fake_settle_all(zk);
    CHECK(fake_held(late));
}

/* Reads for so many seconds while another caller reads, each for half a second; until the writer
 * holds, at most so many times. */
static zkl_nanos read_on_until(fake_caller *theirs, unsigned most) {
    fake_caller *holder = shared_reads(one);
    for (unsigned i = 0; i < most && !fake_held(theirs); i++) {
        fake_wait(zk, 0.25);
        fake_settle_all(zk);
        fake_caller *next = fake_held(holder) ? shared_reads(one) : NULL;
        fake_wait(zk, 0.25);
        if (fake_held(holder))
            shared_release(holder);
        fake_settle_all(zk);
        holder = next ? next : holder;
    }
    CHECK(fake_held(theirs));
    return fake_now;
}

/* Whenever the writer comes: just after they have asked, or just before. */
static void behind_readers_who_never_pause_a_writer_waits_for_a_stint_and_a_hold(void) {
    fake_share_as(4, 1);
    for (unsigned i = 0; i < 12; i++) {
        fake_caller *first = shared_reader(one);
        for (unsigned j = 0; j < 20 + i; j++) {
            fake_caller *next = shared_reads(one);
            CHECK(fake_held(next));
            shared_release(first);
            fake_wait(zk, 0.17);
            fake_settle_all(zk);
            first = next;
        }
        fake_caller *theirs = fake_write_lock(two, LINE);
        fake_settle_all(zk);
        const zkl_nanos came = fake_now;
        CHECK(fake_waits(theirs) && fake_held(shared_reads(one)));
        fake_wait(zk, 0.17);
        shared_release(first);
        first = one->callers;
        shared_release(first);
        CHECK(read_on_until(theirs, 100) - came <= zkl_clock_after(0, 4.5));
        shared_release(theirs);
        fake_world_end();
        fake_world_begin();
        fake_share_as(4, 1);
    }
}

/* The servers are slow: a writer may have come since they last said that there is none. */
static void who_reads_waits_for_an_answer_that_is_late(void) {
    fake_share_as(2, 1);
    fake_caller *first = shared_reader(one);
    fake_wait(zk, 1.1);
    CHECK_INT(fake_pending(one, FAKE_LIST, NULL), 1);
    fake_caller *second = shared_reads(one);
    CHECK(fake_held(second));
    fake_wait(zk, 1);
    fake_caller *third = shared_reads(one);
    CHECK(fake_held(first) && fake_waits(third));
    fake_settle_all(zk);
    CHECK(fake_held(third)); /* no remote waiter was there */
    CHECK_INT(third->token, first->token);
}

static void a_late_answer_that_shows_a_writer_lets_nobody_in(void) {
    fake_share_as(2, 1);
    fake_caller *first = shared_reader(one);
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_settle(two);
    fake_wait(zk, 2.1);
    fake_caller *late = shared_reads(one);
    CHECK(fake_waits(late));
    fake_settle_all(zk);
    CHECK(fake_waits(late));
    shared_release(first);
    fake_settle_all(zk);
    CHECK(fake_held(theirs) && fake_waits(late));
}

static void a_list_from_an_older_server_does_not_let_more_in(void) {
    fake_share_as(4, 1);
    fake_caller *first = shared_reader(one);
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    const int64_t before = one->seen;
    fake_wait(zk, 1.9);
    fake_cut(one);
    fake_lag(one, before);
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_held(shared_reads(one)));
    fake_wait(zk, 2.1);
    fake_settle(one);
    CHECK(fake_waits(shared_reads(one)));
    CHECK(fake_held(first) && fake_waits(theirs));
}

static void idle_it_goes_when_a_writer_stands_behind_it(void) {
    fake_share_as(1, 100);
    shared_release(shared_reader(one));
    fake_settle_all(zk);
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

static void idle_it_stays_when_others_read(void) {
    fake_share_as(1, 100);
    fake_caller *mine = shared_reader(one);
    shared_release(mine);
    fake_settle_all(zk);
    fake_caller *theirs = fake_read(two, LINE);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
    CHECK_INT(shared_nodes(), 2);
    fake_caller *again = shared_reads(one);
    CHECK(fake_held(again));
    CHECK_INT(again->token, mine->token);
}

/* ---- writers ---- */

static void writers_here_take_turns(void) {
    fake_caller *first = shared_writer(one), *second = shared_answered(shared_writes(one));
    const unsigned before = fake_asked(one);
    shared_release(first);
    CHECK(fake_held(second));
    CHECK_INT(shared_turn(second), 2);
    CHECK_INT(second->token, first->token);
    CHECK_INT(fake_asked(one), before);
}

static void readers_here_wait_for_writers_for_a_stint(void) {
    fake_share_as(1, 1);
    fake_caller *held = shared_writer(one), *mine = shared_answered(shared_reads(one));
    CHECK_INT(shared_nodes(), 2);
    unsigned grants = 0;
    for (;; grants++) {
        fake_caller *next = shared_writes(one);
        fake_wait(zk, 0.3);
        shared_release(held);
        held = next;
        if (!fake_held(next) || grants == 10)
            break;
    }
    CHECK_INT(grants, 3);
    fake_settle_all(zk);
    CHECK(fake_held(mine) && fake_waits(held));
    shared_release(mine);
    fake_settle_all(zk);
    CHECK(fake_held(held));
}

/* The host is to have time to hear of more callers before the shared node goes; readers do not keep
 * each other out. */
static void the_last_writer_is_told_in_the_next_turn_and_a_reader_at_once(void) {
    fake_share_as(1000, 1);
    fake_caller *held = shared_writer(one), *read = shared_answered(shared_reads(one));
    fake_caller *last = shared_writes(one);
    shared_release(held);
    CHECK(fake_held(last) && last->contender->answer.unhurried);
    shared_release(last);
    fake_settle_all(zk);
    CHECK(fake_held(read));
    shared_answered(shared_writes(one)); /* stands behind the readers */
    fake_caller *more = shared_reads(one);
    CHECK(fake_held(more) && !more->contender->answer.unhurried);
}

static void an_idle_shared_node_of_the_other_kind_makes_way(void) {
    fake_share_as(1, 100);
    shared_release(shared_reader(one));
    fake_settle_all(zk);
    fake_caller *write = shared_answered(shared_try(one, ZKL_KIND_WRITE));
    CHECK(fake_held(write));
    shared_release(write);
    fake_caller *read = shared_answered(shared_try(one, ZKL_KIND_READ));
    CHECK(fake_held(read));
    CHECK_INT(shared_nodes(), 1);
}

/* ---- how holds end ---- */

static void a_reader_that_is_dropped_ends_his_hold_only(void) {
    fake_caller *first = shared_reader(one), *second = shared_reads(one);
    const int64_t token = first->token;
    fake_drop(first);
    fake_caller *third = shared_reads(one);
    CHECK(fake_held(second) && fake_held(third));
    CHECK_INT(third->token, token);
}

static void the_end_of_max_hold_seals_the_shared_node(void) {
    fake_caller *first = shared_reader(one);
    fake_caller *bounded = fake_share_read_for(one, LINE, 5);
    CHECK(fake_held(bounded));
    fake_wait(zk, 5.1);
    CHECK_INT(bounded->losses, 1);
    CHECK(fake_held(first));
    fake_caller *late = shared_reads(one);
    CHECK(fake_waits(late));
    shared_release(first);
    fake_settle_all(zk);
    CHECK(fake_held(late) && late->token > first->token);
}

static void a_loss_is_told_to_all_of_them_once(void) {
    fake_caller *first = shared_reader(one), *second = shared_reads(one);
    fake_remove(zk, fake_node_of(first));
    fake_settle_all(zk);
    CHECK_INT(first->losses, 1);
    CHECK_INT(second->losses, 1);
    CHECK_CLEAN();
}

static void a_revocation_is_told_to_all_of_them_once(void) {
    fake_caller *first = shared_reader(one), *second = shared_reads(one);
    fake_write(zk, fake_node_of(first), "__REVOKE__");
    fake_settle_all(zk);
    CHECK_INT(first->revocations, 1);
    CHECK_INT(second->revocations, 1);
    fake_caller *late = shared_reads(one);
    CHECK(fake_waits(late));
    shared_release(first);
    shared_release(second);
    fake_settle_all(zk);
    CHECK(fake_held(late));
    CHECK_INT(late->revocations, 0);
}

/* ---- a single try, and one too many ---- */

static void a_try_gets_in_beside_readers(void) {
    shared_reader(one);
    const unsigned before = fake_asked(one);
    CHECK(fake_held(shared_try(one, ZKL_KIND_READ)));
    CHECK_FAILED(shared_try(one, ZKL_KIND_WRITE), ZKL_TIMEOUT);
    CHECK(fake_asked(one) <= before);
}

static void a_try_does_not_wait_for_the_next_shared_node(void) {
    fake_share_as(1, 1);
    fake_caller *first = shared_reader(one);
    shared_answered(shared_writes(one));
    CHECK(fake_held(shared_reads(one)));
    fake_wait(zk, 1.1);
    CHECK_FAILED(shared_try(one, ZKL_KIND_READ), ZKL_TIMEOUT);
    CHECK_FAILED(shared_try(one, ZKL_KIND_READ), ZKL_TIMEOUT);
    CHECK(fake_held(first));
}

/* It waits for an answer of the servers, which does not come any more. */
static void a_try_beside_readers_ends_with_the_link(void) {
    fake_caller *first = shared_reads(one);
    while (!fake_held(first))
        CHECK(fake_answer(one));
    fake_caller *tried = shared_try(one, ZKL_KIND_READ);
    CHECK(fake_waits(tried)); /* the watch on the node is not armed yet */
    fake_cut(one);
    CHECK_FAILED(tried, ZKL_DISCONNECTED);
    CHECK(fake_held(first));
}

static void readers_that_are_let_in_are_never_too_many(void) {
    fake_share_as(1, 1);
    fake_caller *first = shared_answered(fake_share_read_among(one, LINE, 0));
    CHECK(fake_held(first));
    CHECK(fake_held(fake_share_read_among(one, LINE, 0)));
    shared_answered(shared_writes(one));
    CHECK(fake_held(fake_share_read_among(one, LINE, 0)));
    CHECK(fake_held(fake_share_read_among(one, LINE, 0)));
    fake_wait(zk, 1.1);
    CHECK_FAILED(fake_share_read_among(one, LINE, 0), ZKL_BUSY);
    CHECK_FAILED(fake_share_read_among(one, LINE, 0), ZKL_BUSY);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"the client's readers share one node", readers_here_share_one_node},
        {"readers that waited together get in together", those_who_waited_together_get_in_together},
        {"while a reader holds, other readers come and go without traffic",
         while_somebody_reads_others_who_come_and_go_cost_nothing},
        {"readers ask about twice in a stint for waiters behind them",
         about_twice_in_a_stint_they_ask_who_is_behind},
        {"a writer elsewhere waits for a stint", a_writer_elsewhere_waits_for_a_stint},
        {"a writer behind waits for a stint", a_writer_behind_waits_for_a_stint},
        {"a writer behind readers that never pause waits for a stint and a hold",
         behind_readers_who_never_pause_a_writer_waits_for_a_stint_and_a_hold},
        {"a reader waits for a late answer", who_reads_waits_for_an_answer_that_is_late},
        {"a late answer that shows a writer lets no reader in",
         a_late_answer_that_shows_a_writer_lets_nobody_in},
        {"a list from an older server does not let more in",
         a_list_from_an_older_server_does_not_let_more_in},
        {"idle it goes when a writer stands behind it",
         idle_it_goes_when_a_writer_stands_behind_it},
        {"idle it stays when others read", idle_it_stays_when_others_read},
        {"the client's writers take turns", writers_here_take_turns},
        {"readers wait for writers for at most a stint", readers_here_wait_for_writers_for_a_stint},
        {"the last writer hears of its grant in the next turn, and a reader at once",
         the_last_writer_is_told_in_the_next_turn_and_a_reader_at_once},
        {"an idle shared node of the other kind makes way",
         an_idle_shared_node_of_the_other_kind_makes_way},
        {"a reader that is dropped ends his hold only",
         a_reader_that_is_dropped_ends_his_hold_only},
        {"the end of max_hold seals the shared node", the_end_of_max_hold_seals_the_shared_node},
        {"each reader hears of a loss once", a_loss_is_told_to_all_of_them_once},
        {"each reader hears of a revocation once", a_revocation_is_told_to_all_of_them_once},
        {"a try gets in beside readers", a_try_gets_in_beside_readers},
        {"a try does not wait for the next shared node",
         a_try_does_not_wait_for_the_next_shared_node},
        {"a try beside readers ends with the link", a_try_beside_readers_ends_with_the_link},
        {"readers that are let in are never too many", readers_that_are_let_in_are_never_too_many},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
