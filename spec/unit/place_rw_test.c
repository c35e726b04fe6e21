/* Places of readers and writers: callers of one client who read together on one node, or write in
 * turn on another one. */
#include "place_world.h"

static fake_caller *reads(fake_client *client) {
    return fake_share_kind(client, LINE, ZKL_KIND_READ, 1e12);
}

static fake_caller *writes(fake_client *client) {
    return fake_share_kind(client, LINE, ZKL_KIND_WRITE, 1e12);
}

static fake_caller *try_to(fake_client *client, zkl_kind kind) {
    return fake_share_kind(client, LINE, kind, 0);
}

static fake_caller *settled(fake_caller *caller) {
    fake_settle_all(zk);
    return caller;
}

static fake_caller *reader(fake_client *client) {
    fake_caller *caller = settled(reads(client));
    CHECK(fake_held(caller));
    return caller;
}

static fake_caller *writer(fake_client *client) {
    fake_caller *caller = settled(writes(client));
    CHECK(fake_held(caller));
    return caller;
}

/* ---- readers ---- */

static void readers_here_share_one_node(void) {
    fake_caller *all[5] = {reader(one)};
    const unsigned before = place_asked(one);
    for (uint64_t i = 1; i < 5; i++) {
        all[i] = reads(one);
        CHECK(fake_held(all[i]));
        CHECK_INT(all[i]->token, all[0]->token);
        CHECK_INT(place_turn(all[i]), i + 1);
    }
    CHECK_INT(place_asked(one), before);
    CHECK_INT(place_nodes(), 1);
    CHECK_INT(one->context.counters.handed, 4);
    for (size_t i = 0; i < 5; i++)
        place_release(all[i]);
    fake_wait(zk, 1.1);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void those_who_waited_together_get_in_together(void) {
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    fake_caller *first = settled(reads(one)), *second = settled(reads(one));
    CHECK(fake_waits(first) && fake_waits(second));
    CHECK_INT(place_nodes(), 2);
    place_release(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(first) && fake_held(second));
    CHECK_INT(place_nodes(), 1);
}

static void while_somebody_reads_others_who_come_and_go_cost_nothing(void) {
    reader(one);
    fake_settle_all(zk);
    const unsigned before = place_asked(one);
    for (unsigned i = 0; i < 10; i++) {
        fake_caller *theirs = fake_read(two, LINE);
        fake_settle_all(zk);
        CHECK(fake_held(theirs));
        place_release(theirs);
        fake_settle_all(zk);
    }
    CHECK_INT(place_asked(one), before);
}

static void about_twice_in_a_stint_they_ask_who_is_behind(void) {
    fake_share_as(64, 2, 1);
    reader(one);
    fake_settle_all(zk);
    const unsigned before = one->counts[FAKE_LIST];
    for (unsigned i = 0; i < 100; i++) {
        fake_wait(zk, 0.2);
        place_release(reads(one)); /* also when readers come all the time */
        fake_settle_all(zk);
    }
    const unsigned lists = one->counts[FAKE_LIST] - before;
    check_note("%u lists", lists);
    CHECK(lists >= 20 && lists <= 27);
    CHECK_INT(zkl_lines_find(&one->lines, LINE)->directory_watch, ZKL_WATCH_NONE);
}

/* It is found when they ask; from then on a few get in, and no more. */
static void a_writer_behind_waits_for_so_many_readers(void) {
    fake_share_as(3, 40, 1);
    fake_caller *first = reader(one), *last = first;
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    for (unsigned i = 0; i < 10; i++)
        place_release(reads(one)); /* not known yet */
    fake_wait(zk, 20.1);
    fake_settle_all(zk);
    for (unsigned i = 0; i < 3; i++) {
        last = reads(one);
        CHECK(fake_held(last));
        if (i < 2)
            place_release(last);
    }
    fake_caller *late = reads(one);
    CHECK(fake_waits(late));
    place_release(first);
    CHECK_INT(fake_pending(one, FAKE_ERASE, NULL), 0);
    place_release(last);
    fake_settle_all(zk);
    CHECK(fake_held(theirs) && fake_waits(late));
    place_release(theirs);
    fake_settle_all(zk);
    CHECK(fake_held(late) && late->token > first->token);
}

static void a_writer_behind_waits_for_a_stint(void) {
    fake_share_as(64, 1, 1);
    fake_caller *first = reader(one);
    fake_caller *mine = settled(writes(one)); /* its list shows it */
    fake_wait(zk, 0.9);
    fake_caller *second = reads(one);
    CHECK(fake_held(second));
    fake_wait(zk, 0.2);
    fake_caller *late = reads(one);
    CHECK(fake_waits(late) && fake_waits(mine));
    place_release(first);
    place_release(second);
    fake_settle_all(zk);
    CHECK(fake_held(mine) && fake_waits(late));
    place_release(mine);
    fake_settle_all(zk);
    CHECK(fake_held(late));
}

/* Reads for so many seconds while somebody else here does, each for half a second; until when he
 * holds, at most so many times. */
static zkl_nanos read_on_until(fake_caller *theirs, unsigned most) {
    fake_caller *holder = reads(one);
    for (unsigned i = 0; i < most && !fake_held(theirs); i++) {
        fake_wait(zk, 0.25);
        fake_settle_all(zk);
        fake_caller *next = fake_held(holder) ? reads(one) : NULL;
        fake_wait(zk, 0.25);
        if (fake_held(holder))
            place_release(holder);
        fake_settle_all(zk);
        holder = next ? next : holder;
    }
    CHECK(fake_held(theirs));
    return fake_now;
}

/* Whenever he comes: just after they have asked, or just before. */
static void behind_readers_who_never_pause_a_writer_waits_for_a_stint_and_a_hold(void) {
    fake_share_as(1000000, 4, 1);
    for (unsigned i = 0; i < 12; i++) {
        fake_caller *first = reader(one);
        for (unsigned j = 0; j < 20 + i; j++) {
            fake_caller *next = reads(one);
            CHECK(fake_held(next));
            place_release(first);
            fake_wait(zk, 0.17);
            fake_settle_all(zk);
            first = next;
        }
        fake_caller *theirs = fake_write_lock(two, LINE);
        fake_settle_all(zk);
        const zkl_nanos came = fake_now;
        CHECK(fake_waits(theirs) && fake_held(reads(one)));
        fake_wait(zk, 0.17);
        place_release(first);
        first = one->callers;
        place_release(first);
        CHECK(read_on_until(theirs, 100) - came <= zkl_clock_after(0, 4.5));
        place_release(theirs);
        fake_world_end();
        fake_world_begin();
        fake_share_as(1000000, 4, 1);
    }
}

/* The servers are slow: a writer may have come since they last said that there is none. */
static void who_reads_waits_for_an_answer_that_is_late(void) {
    fake_share_as(64, 2, 1);
    fake_caller *first = reader(one);
    fake_wait(zk, 1.1);
    CHECK_INT(fake_pending(one, FAKE_LIST, NULL), 1);
    fake_caller *second = reads(one);
    CHECK(fake_held(second));
    fake_wait(zk, 1);
    fake_caller *third = reads(one);
    CHECK(fake_held(first) && fake_waits(third));
    fake_settle_all(zk);
    CHECK(fake_held(third)); /* nobody was there */
    CHECK_INT(third->token, first->token);
}

static void a_late_answer_that_shows_a_writer_lets_nobody_in(void) {
    fake_share_as(64, 2, 1);
    fake_caller *first = reader(one);
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_settle(two);
    fake_wait(zk, 2.1);
    fake_caller *late = reads(one);
    CHECK(fake_waits(late));
    fake_settle_all(zk);
    CHECK(fake_waits(late));
    place_release(first);
    fake_settle_all(zk);
    CHECK(fake_held(theirs) && fake_waits(late));
}

static void a_list_from_an_older_server_does_not_let_more_in(void) {
    fake_share_as(2, 1000, 1);
    fake_caller *first = reader(one);
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    const int64_t before = one->seen;
    fake_cut(one);
    fake_lag(one, before);
    fake_connect(one);
    fake_settle(one);
    unsigned grants = 0;
    while (grants < 10 && fake_held(reads(one)))
        grants++;
    CHECK_INT(grants, 2);
    CHECK(fake_held(first) && fake_waits(theirs));
}

static void idle_it_goes_when_a_writer_stands_behind_it(void) {
    fake_share_as(64, 1, 100);
    place_release(reader(one));
    fake_settle_all(zk);
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

static void idle_it_stays_when_others_read(void) {
    fake_share_as(64, 1, 100);
    fake_caller *mine = reader(one);
    place_release(mine);
    fake_settle_all(zk);
    fake_caller *theirs = fake_read(two, LINE);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
    CHECK_INT(place_nodes(), 2);
    fake_caller *again = reads(one);
    CHECK(fake_held(again));
    CHECK_INT(again->token, mine->token);
}

/* ---- writers ---- */

static void writers_here_take_turns(void) {
    fake_caller *first = writer(one), *second = settled(writes(one));
    const unsigned before = place_asked(one);
    place_release(first);
    CHECK(fake_held(second));
    CHECK_INT(place_turn(second), 2);
    CHECK_INT(second->token, first->token);
    CHECK_INT(place_asked(one), before);
}

static void readers_here_wait_for_so_many_writers(void) {
    fake_share_as(3, 1000, 1);
    fake_caller *held = writer(one), *mine = settled(reads(one));
    CHECK_INT(place_nodes(), 2);
    unsigned grants = 0;
    for (;; grants++) {
        fake_caller *next = writes(one);
        place_release(held);
        held = next;
        if (!fake_held(next) || grants == 10)
            break;
    }
    CHECK_INT(grants, 3);
    fake_settle_all(zk);
    CHECK(fake_held(mine) && fake_waits(held));
    place_release(mine);
    fake_settle_all(zk);
    CHECK(fake_held(held));
}

static void an_idle_place_of_the_other_kind_makes_way(void) {
    fake_share_as(64, 1, 100);
    place_release(reader(one));
    fake_settle_all(zk);
    fake_caller *write = settled(try_to(one, ZKL_KIND_WRITE));
    CHECK(fake_held(write));
    place_release(write);
    fake_caller *read = settled(try_to(one, ZKL_KIND_READ));
    CHECK(fake_held(read));
    CHECK_INT(place_nodes(), 1);
}

/* ---- a read under a write ---- */

static void a_read_under_a_write_has_its_token_and_turn(void) {
    fake_caller *first = writer(one);
    place_release(first);
    fake_caller *write = writes(one), *read = settled(fake_share_under(write, LINE));
    CHECK(fake_held(write) && fake_held(read));
    CHECK_INT(read->token, write->token);
    CHECK_INT(place_turn(read), place_turn(write));
    CHECK_INT(place_turn(read), 2);
}

static void a_write_that_goes_on_as_a_read_is_handed_to_nobody(void) {
    fake_caller *write = writer(one), *read = settled(fake_share_under(write, LINE));
    fake_caller *next = settled(writes(one));
    place_release(write);
    CHECK(fake_waits(next));
    fake_settle_all(zk);
    CHECK(fake_waits(next) && fake_held(read));
    fake_caller *beside = settled(reads(two));
    CHECK(fake_waits(beside)); /* a writer came before it */
    place_release(read);
    fake_settle_all(zk);
    CHECK(fake_held(next) && next->token > write->token);
    place_release(next);
    fake_settle_all(zk);
    CHECK(fake_held(beside));
}

static void two_reads_under_one_write_have_its_turn(void) {
    fake_caller *write = writer(one);
    fake_caller *first = settled(fake_share_under(write, LINE));
    fake_caller *second = settled(fake_share_under(write, LINE));
    CHECK(fake_held(first) && fake_held(second));
    CHECK_INT(place_turn(second), place_turn(write));
    CHECK_INT(place_nodes(), 2);
}

/* However many wait behind: the write would wait for itself. */
static void who_writes_reads_as_often_as_he_likes(void) {
    fake_share_as(1, 0, 1);
    fake_caller *write = writer(one);
    fake_write_lock(two, LINE);
    fake_settle_all(zk);
    for (unsigned i = 0; i < 4; i++)
        CHECK(fake_held(settled(fake_share_under(write, LINE))));
}

/* The write that the read was taken under is nobody who waits behind it. */
static void after_a_downgrade_readers_who_are_alone_are_not_counted(void) {
    fake_share_as(1, 1000, 1);
    fake_caller *write = writer(one);
    settled(fake_read(two, LINE));
    settled(fake_read(two, LINE)); /* no watch tells of more */
    CHECK(!zkl_lines_find(&one->lines, LINE)->current);
    fake_caller *read = settled(fake_share_under(write, LINE));
    place_release(write);
    for (unsigned i = 0; i < 4; i++)
        CHECK(fake_held(reads(one)));
    CHECK(fake_held(read));
}

static void while_the_write_is_held_nobody_else_reads(void) {
    fake_caller *write = writer(one), *read = settled(fake_share_under(write, LINE));
    fake_caller *beside = settled(reads(one));
    CHECK(fake_held(read) && fake_waits(beside));
    place_release(read);
    fake_settle_all(zk);
    CHECK(fake_held(write) && fake_waits(beside));
    CHECK_INT(place_nodes(), 2); /* none is kept for a read that is over */
    place_release(write);
    fake_settle_all(zk);
    CHECK(fake_held(beside) && beside->token > write->token);
}

/* Its node is the place of all who read here: those who waited, and those who come. */
static void after_a_downgrade_all_here_read_on_its_node(void) {
    fake_caller *write = writer(one), *read = settled(fake_share_under(write, LINE));
    fake_caller *waiter = settled(reads(one));
    CHECK(fake_waits(waiter));
    CHECK_INT(place_nodes(), 3);
    place_release(write);
    CHECK(fake_held(waiter));
    fake_settle_all(zk);
    CHECK_INT(place_nodes(), 1);
    const unsigned before = place_asked(one);
    fake_caller *next = reads(one);
    CHECK(fake_held(next));
    CHECK_INT(place_asked(one), before);
    CHECK_INT(next->token, write->token);
    CHECK_INT(place_turn(read), 1);
    CHECK_INT(place_turn(waiter), 2);
    CHECK_INT(place_turn(next), 3);
    place_release(read);
    fake_settle_all(zk);
    CHECK(fake_held(waiter) && fake_held(next));
    place_release(waiter);
    place_release(next);
    fake_wait(zk, 1.1);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void after_a_downgrade_a_writer_behind_waits_for_so_many(void) {
    fake_share_as(2, 1000, 1);
    fake_caller *write = writer(one), *theirs = fake_write_lock(two, LINE);
    fake_caller *read = settled(fake_share_under(write, LINE));
    place_release(write);
    fake_settle_all(zk);
    unsigned grants = 0;
    while (grants < 10 && fake_held(reads(one)))
        grants++;
    CHECK_INT(grants, 2);
    CHECK(fake_held(read) && fake_waits(theirs));
}

/* They have queued before a writer of somebody else's. The node of the read lets nobody in: they
 * stay where they stand. */
static void after_a_downgrade_that_took_long_who_waits_to_read_keeps_his_place(void) {
    fake_share_as(64, 1, 1);
    fake_caller *write = writer(one), *first = settled(reads(one)), *second = settled(reads(one));
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_caller *read = settled(fake_share_under(write, LINE));
    fake_wait(zk, 2);
    place_release(write);
    fake_settle_all(zk);
    CHECK(fake_held(first) && fake_held(second));
    place_release(read);
    fake_settle_all(zk);
    CHECK(fake_waits(theirs));
    place_release(first);
    place_release(second);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

static void after_a_downgrade_without_a_link_who_waits_to_read_keeps_his_place(void) {
    fake_share_as(64, 1, 1);
    fake_caller *write = writer(one), *waiter = settled(reads(one));
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_caller *read = settled(fake_share_under(write, LINE));
    fake_cut(one);
    place_release(write);
    fake_wait(zk, 2);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_held(waiter));
    place_release(read);
    fake_settle_all(zk);
    CHECK(fake_waits(theirs));
    place_release(waiter);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

static void after_a_downgrade_of_a_revoked_read_others_keep_their_place(void) {
    fake_caller *write = writer(one), *read = settled(fake_share_under(write, LINE));
    fake_caller *waiter = settled(reads(one)), *theirs = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    fake_write(zk, fake_node_of(read), "__REVOKE__");
    fake_settle_all(zk);
    CHECK_INT(read->revocations, 1);
    place_release(write);
    fake_settle_all(zk);
    place_release(read);
    fake_settle_all(zk);
    CHECK(fake_waits(theirs) && fake_held(waiter));
}

/* What was written may still be under way: who reads next has a larger token. */
static void after_a_write_that_was_not_released_nobody_reads_beside(void) {
    fake_caller *write = writer(one), *read = settled(fake_share_under(write, LINE));
    CHECK_INT(fake_give_up(write), ZKL_OK);
    fake_settle_all(zk);
    fake_caller *late = settled(reads(one));
    CHECK(fake_held(read) && fake_waits(late));
    place_release(read);
    fake_settle_all(zk);
    CHECK(fake_held(late) && late->token > write->token);
}

/* They have queued for a place that is open. */
static void after_such_a_write_who_waits_to_read_gets_in_behind_it(void) {
    fake_caller *write = writer(one), *read = settled(fake_share_under(write, LINE));
    fake_caller *waiter = settled(reads(one));
    CHECK_INT(fake_give_up(write), ZKL_OK);
    fake_settle_all(zk);
    CHECK(fake_held(read) && fake_held(waiter) && waiter->token > write->token);
    fake_caller *next = reads(one);
    CHECK(fake_held(next));
    CHECK_INT(next->token, waiter->token);
}

static void a_read_under_a_write_is_lost_with_its_node(void) {
    fake_caller *write = writer(one), *read = settled(fake_share_under(write, LINE));
    fake_remove(zk, fake_node_of(read));
    fake_settle_all(zk);
    CHECK_INT(read->losses, 1);
    CHECK(fake_held(write));
    place_release(write);
    fake_wait(zk, 1.1);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

/* ---- how holds end ---- */

static void a_reader_that_is_dropped_ends_his_hold_only(void) {
    fake_caller *first = reader(one), *second = reads(one);
    const int64_t token = first->token;
    fake_drop(first);
    fake_caller *third = reads(one);
    CHECK(fake_held(second) && fake_held(third));
    CHECK_INT(third->token, token);
}

static void the_end_of_max_hold_seals_the_place(void) {
    fake_caller *first = reader(one);
    fake_caller *bounded = fake_share_read_for(one, LINE, 5);
    CHECK(fake_held(bounded));
    fake_wait(zk, 5.1);
    CHECK_INT(bounded->losses, 1);
    CHECK(fake_held(first));
    fake_caller *late = reads(one);
    CHECK(fake_waits(late));
    place_release(first);
    fake_settle_all(zk);
    CHECK(fake_held(late) && late->token > first->token);
}

static void a_loss_is_told_to_all_of_them_once(void) {
    fake_caller *first = reader(one), *second = reads(one);
    fake_remove(zk, fake_node_of(first));
    fake_settle_all(zk);
    CHECK_INT(first->losses, 1);
    CHECK_INT(second->losses, 1);
    CHECK_CLEAN();
}

static void a_revocation_is_told_to_all_of_them_once(void) {
    fake_caller *first = reader(one), *second = reads(one);
    fake_write(zk, fake_node_of(first), "__REVOKE__");
    fake_settle_all(zk);
    CHECK_INT(first->revocations, 1);
    CHECK_INT(second->revocations, 1);
    fake_caller *late = reads(one);
    CHECK(fake_waits(late));
    place_release(first);
    place_release(second);
    fake_settle_all(zk);
    CHECK(fake_held(late));
    CHECK_INT(late->revocations, 0);
}

/* ---- a single try, and one too many ---- */

static void a_try_gets_in_beside_readers(void) {
    reader(one);
    const unsigned before = place_asked(one);
    CHECK(fake_held(try_to(one, ZKL_KIND_READ)));
    CHECK_FAILED(try_to(one, ZKL_KIND_WRITE), ZKL_TIMEOUT);
    CHECK(place_asked(one) <= before);
}

static void a_try_does_not_wait_for_the_next_place(void) {
    fake_share_as(1, 1000, 1);
    fake_caller *first = reader(one);
    settled(writes(one));
    CHECK(fake_held(reads(one)));
    CHECK_FAILED(try_to(one, ZKL_KIND_READ), ZKL_TIMEOUT);
    CHECK_FAILED(try_to(one, ZKL_KIND_READ), ZKL_TIMEOUT);
    CHECK(fake_held(first));
}

/* It waits for an answer of the servers, which does not come any more. */
static void a_try_beside_readers_ends_with_the_link(void) {
    fake_caller *first = reads(one);
    while (!fake_held(first))
        CHECK(fake_answer(one));
    fake_caller *tried = try_to(one, ZKL_KIND_READ);
    CHECK(fake_waits(tried)); /* the watch on the node is not armed yet */
    fake_cut(one);
    CHECK_FAILED(tried, ZKL_DISCONNECTED);
    CHECK(fake_held(first));
}

static void readers_that_are_let_in_are_never_too_many(void) {
    fake_share_as(2, 1000, 1);
    fake_caller *first = settled(fake_share_read_crowd(one, LINE, 0));
    CHECK(fake_held(first));
    CHECK(fake_held(fake_share_read_crowd(one, LINE, 0)));
    settled(writes(one));
    CHECK(fake_held(fake_share_read_crowd(one, LINE, 0)));
    CHECK(fake_held(fake_share_read_crowd(one, LINE, 0)));
    CHECK_FAILED(fake_share_read_crowd(one, LINE, 0), ZKL_BUSY);
    CHECK_FAILED(fake_share_read_crowd(one, LINE, 0), ZKL_BUSY);
}

/* The write is held through the cut, and the read would need the servers. */
static void a_single_try_under_a_write_does_not_wait_for_a_link(void) {
    fake_caller *write = writer(one);
    fake_cut(one);
    fake_caller *read = fake_try_under(write, LINE);
    CHECK_FAILED(read, ZKL_DISCONNECTED);
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_held(write));
    place_release(write);
    fake_settle(one);
    CHECK_CLEAN();
}

/* The write it asks for is over: it queues like every other. */
static void a_read_under_a_write_that_is_over_queues(void) {
    fake_caller *write = writer(one);
    place_release(write);
    fake_caller *read = settled(fake_share_under(write, LINE));
    CHECK(fake_held(read));
    CHECK(read->token > write->token);
    place_release(read);
}

/* Who goes on reading is not alone: somebody of this client waits behind him, too. */
static void who_goes_on_as_a_reader_sees_those_of_his_own(void) {
    fake_share_as(2, 1000, 1);
    fake_caller *write = writer(one), *read = settled(fake_share_under(write, LINE));
    fake_caller *behind = settled(fake_write_lock(one, LINE));
    CHECK(fake_held(read) && fake_waits(behind));
    place_release(write);
    fake_settle_all(zk);
    unsigned more = 0;
    for (unsigned i = 0; i < 10; i++)
        more += fake_held(settled(reads(one)));
    CHECK(more <= 2);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"readers here share one node", readers_here_share_one_node},
        {"those who waited together get in together", those_who_waited_together_get_in_together},
        {"while somebody reads, others who come and go cost nothing",
         while_somebody_reads_others_who_come_and_go_cost_nothing},
        {"about twice in a stint they ask who is behind",
         about_twice_in_a_stint_they_ask_who_is_behind},
        {"a writer behind waits for so many readers", a_writer_behind_waits_for_so_many_readers},
        {"a writer behind waits for a stint", a_writer_behind_waits_for_a_stint},
        {"behind readers who never pause a writer waits for a stint and a hold",
         behind_readers_who_never_pause_a_writer_waits_for_a_stint_and_a_hold},
        {"who reads waits for an answer that is late", who_reads_waits_for_an_answer_that_is_late},
        {"a late answer that shows a writer lets nobody in",
         a_late_answer_that_shows_a_writer_lets_nobody_in},
        {"a list from an older server does not let more in",
         a_list_from_an_older_server_does_not_let_more_in},
        {"idle it goes when a writer stands behind it",
         idle_it_goes_when_a_writer_stands_behind_it},
        {"idle it stays when others read", idle_it_stays_when_others_read},
        {"writers here take turns", writers_here_take_turns},
        {"readers here wait for so many writers", readers_here_wait_for_so_many_writers},
        {"an idle place of the other kind makes way", an_idle_place_of_the_other_kind_makes_way},
        {"a read under a write has its token and turn",
         a_read_under_a_write_has_its_token_and_turn},
        {"two reads under one write have its turn", two_reads_under_one_write_have_its_turn},
        {"who writes reads as often as he likes", who_writes_reads_as_often_as_he_likes},
        {"after a downgrade readers who are alone are not counted",
         after_a_downgrade_readers_who_are_alone_are_not_counted},
        {"while the write is held nobody else reads", while_the_write_is_held_nobody_else_reads},
        {"after a downgrade all here read on its node",
         after_a_downgrade_all_here_read_on_its_node},
        {"after a downgrade a writer behind waits for so many",
         after_a_downgrade_a_writer_behind_waits_for_so_many},
        {"after a write that was not released nobody reads beside",
         after_a_write_that_was_not_released_nobody_reads_beside},
        {"after such a write who waits to read gets in behind it",
         after_such_a_write_who_waits_to_read_gets_in_behind_it},
        {"a read under a write is lost with its node", a_read_under_a_write_is_lost_with_its_node},
        {"a write that goes on as a read is handed to nobody",
         a_write_that_goes_on_as_a_read_is_handed_to_nobody},
        {"a reader that is dropped ends his hold only",
         a_reader_that_is_dropped_ends_his_hold_only},
        {"the end of max_hold seals the place", the_end_of_max_hold_seals_the_place},
        {"a loss is told to all of them once", a_loss_is_told_to_all_of_them_once},
        {"a revocation is told to all of them once", a_revocation_is_told_to_all_of_them_once},
        {"a try gets in beside readers", a_try_gets_in_beside_readers},
        {"a try does not wait for the next place", a_try_does_not_wait_for_the_next_place},
        {"a try beside readers ends with the link", a_try_beside_readers_ends_with_the_link},
        {"after a downgrade that took long, who waits to read keeps his place",
         after_a_downgrade_that_took_long_who_waits_to_read_keeps_his_place},
        {"after a downgrade without a link, who waits to read keeps his place",
         after_a_downgrade_without_a_link_who_waits_to_read_keeps_his_place},
        {"after a downgrade of a revoked read others keep their place",
         after_a_downgrade_of_a_revoked_read_others_keep_their_place},
        {"readers that are let in are never too many", readers_that_are_let_in_are_never_too_many},
        {"a single try under a write does not wait for a link",
         a_single_try_under_a_write_does_not_wait_for_a_link},
        {"a read under a write that is over queues", a_read_under_a_write_that_is_over_queues},
        {"who goes on as a reader sees those of his own",
         who_goes_on_as_a_reader_sees_those_of_his_own},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
