/* SPDX-License-Identifier: MIT */
/* Shared nodes of readers and writers: a writer goes on as a reader, on the same node. */
#include "shared_node_world.h"

#include <stdio.h>

static void a_read_under_a_write_has_its_token_and_turn(void) {
    fake_caller *first = shared_writer(one);
    shared_release(first);
    fake_caller *write = shared_writes(one), *read = shared_answered(fake_share_under(write, LINE));
    CHECK(fake_held(write) && fake_held(read));
    CHECK_INT(read->token, write->token);
    CHECK_INT(shared_turn(read), shared_turn(write));
    CHECK_INT(shared_turn(read), 2);
}

static void a_write_that_goes_on_as_a_read_is_handed_to_nobody(void) {
    fake_caller *write = shared_writer(one), *read = shared_answered(fake_share_under(write, LINE));
    fake_caller *next = shared_answered(shared_writes(one));
    shared_release(write);
    CHECK(fake_waits(next));
    fake_settle_all(zk);
    CHECK(fake_waits(next) && fake_held(read));
    fake_caller *beside = shared_answered(shared_reads(two));
    CHECK(fake_waits(beside)); /* a writer came before it */
    shared_release(read);
    fake_settle_all(zk);
    CHECK(fake_held(next) && next->token > write->token);
    shared_release(next);
    fake_settle_all(zk);
    CHECK(fake_held(beside));
}

static void two_reads_under_one_write_have_its_turn(void) {
    fake_caller *write = shared_writer(one);
    fake_caller *first = shared_answered(fake_share_under(write, LINE));
    fake_caller *second = shared_answered(fake_share_under(write, LINE));
    CHECK(fake_held(first) && fake_held(second));
    CHECK_INT(shared_turn(second), shared_turn(write));
    CHECK_INT(shared_nodes(), 2);
}

/* A caller that waits behind the write: the write would wait for itself. */
static void who_writes_reads_as_often_as_he_likes(void) {
    fake_share_as(0, 1);
    fake_caller *write = shared_writer(one);
    fake_write_lock(two, LINE);
    fake_settle_all(zk);
    for (unsigned i = 0; i < 4; i++)
        CHECK(fake_held(shared_answered(fake_share_under(write, LINE))));
}

/* The write under which the read was taken does not count as a waiter behind it. */
static void after_a_downgrade_readers_who_are_alone_have_no_bound(void) {
    fake_share_as(1, 1);
    fake_caller *write = shared_writer(one);
    shared_answered(fake_read(two, LINE));
    shared_answered(fake_read(two, LINE)); /* no watch tells of more */
    CHECK(!zkl_lines_find(&one->lines, LINE)->freshness.current);
    fake_caller *read = shared_answered(fake_share_under(write, LINE));
    for (unsigned i = 0; i < 8; i++) {
        fake_wait(zk, 0.25);
        fake_settle_all(zk);
    }
    shared_release(write);
    for (unsigned i = 0; i < 4; i++)
        CHECK(fake_held(shared_reads(one)));
    CHECK(fake_held(read));
}

static void while_the_write_is_held_nobody_else_reads(void) {
    fake_caller *write = shared_writer(one), *read = shared_answered(fake_share_under(write, LINE));
    fake_caller *beside = shared_answered(shared_reads(one));
    CHECK(fake_held(read) && fake_waits(beside));
    shared_release(read);
    fake_settle_all(zk);
    CHECK(fake_held(write) && fake_waits(beside));
    CHECK_INT(shared_nodes(), 2); /* none is kept for a read that is over */
    shared_release(write);
    fake_settle_all(zk);
    CHECK(fake_held(beside) && beside->token > write->token);
}

/* Its node is the shared node of all readers of this client: those that waited, and those that
 * come. */
static void after_a_downgrade_all_here_read_on_its_node(void) {
    fake_caller *write = shared_writer(one), *read = shared_answered(fake_share_under(write, LINE));
    fake_caller *waiter = shared_answered(shared_reads(one));
    CHECK(fake_waits(waiter));
    CHECK_INT(shared_nodes(), 3);
    shared_release(write);
    CHECK(fake_held(waiter));
    fake_settle_all(zk);
    CHECK_INT(shared_nodes(), 1);
    const unsigned before = fake_asked(one);
    fake_caller *next = shared_reads(one);
    CHECK(fake_held(next));
    CHECK_INT(fake_asked(one), before);
    CHECK_INT(next->token, write->token);
    CHECK_INT(shared_turn(read), 1);
    CHECK_INT(shared_turn(waiter), 2);
    CHECK_INT(shared_turn(next), 3);
    shared_release(read);
    fake_settle_all(zk);
    CHECK(fake_held(waiter) && fake_held(next));
    shared_release(waiter);
    shared_release(next);
    fake_wait(zk, 1.1);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void after_a_downgrade_a_writer_behind_waits_for_a_stint(void) {
    fake_share_as(1, 1);
    fake_caller *write = shared_writer(one), *theirs = fake_write_lock(two, LINE);
    fake_caller *read = shared_answered(fake_share_under(write, LINE));
    shared_release(write);
    fake_settle_all(zk);
    CHECK(fake_held(shared_reads(one)));
    fake_wait(zk, 1.1);
    fake_settle_all(zk);
    CHECK(fake_waits(shared_reads(one)));
    CHECK(fake_held(read) && fake_waits(theirs));
}

/* They have queued before a writer of another client. The node of the read lets no caller in, so
 * they keep their positions. */
static void after_a_downgrade_that_took_long_who_waits_to_read_keeps_his_shared_node(void) {
    fake_share_as(1, 1);
    fake_caller *write = shared_writer(one), *first = shared_answered(shared_reads(one)),
                *second = shared_answered(shared_reads(one));
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_caller *read = shared_answered(fake_share_under(write, LINE));
    fake_wait(zk, 2);
    shared_release(write);
    fake_settle_all(zk);
    CHECK(fake_held(first) && fake_held(second));
    shared_release(read);
    fake_settle_all(zk);
    CHECK(fake_waits(theirs));
    shared_release(first);
    shared_release(second);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

static void after_a_downgrade_without_a_link_who_waits_to_read_keeps_his_shared_node(void) {
    fake_share_as(1, 1);
    fake_caller *write = shared_writer(one), *waiter = shared_answered(shared_reads(one));
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_caller *read = shared_answered(fake_share_under(write, LINE));
    fake_cut(one);
    shared_release(write);
    fake_wait(zk, 2);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_held(waiter));
    shared_release(read);
    fake_settle_all(zk);
    CHECK(fake_waits(theirs));
    shared_release(waiter);
    fake_settle_all(zk);
    CHECK(fake_held(theirs));
}

static void after_a_downgrade_of_a_revoked_read_others_keep_their_shared_node(void) {
    fake_caller *write = shared_writer(one), *read = shared_answered(fake_share_under(write, LINE));
    fake_caller *waiter = shared_answered(shared_reads(one)), *theirs = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    fake_write(zk, fake_node_of(read), "__REVOKE__");
    fake_settle_all(zk);
    CHECK_INT(read->revocations, 1);
    shared_release(write);
    fake_settle_all(zk);
    shared_release(read);
    fake_settle_all(zk);
    CHECK(fake_waits(theirs) && fake_held(waiter));
}

/* A stranger creates a write's node with a number that has already passed, so the read waits. A
 * list after the write makes it queue again, behind later nodes. */
static void after_a_downgrade_of_a_read_that_waits_others_keep_their_shared_node(void) {
    char path[256];
    fake_share_as(3600, 1);
    snprintf(path, sizeof path, "%s", fake_stranger(zk, LINE, "_c_%s-__WRIT__"));
    CHECK_INT(fake_remove(zk, path), ZOK);
    fake_caller *write = shared_writer(one), *waiter = shared_answered(shared_reads(one));
    fake_caller *theirs = fake_write_lock(two, LINE);
    fake_node *stranger;
    CHECK_INT(fake_make(zk, path, "", FAKE_EPHEMERAL, 0xbad, &stranger), ZOK);
    fake_caller *read = shared_answered(fake_share_under(write, LINE));
    CHECK(fake_waits(read) && fake_waits(waiter));
    shared_release(write);
    fake_settle_all(zk);
    fake_cut(one);
    fake_connect(one); /* with a list */
    fake_settle_all(zk);
    CHECK_INT(fake_remove(zk, path), ZOK);
    fake_settle_all(zk);
    CHECK(fake_held(waiter) && fake_waits(theirs));
    shared_release(waiter);
    fake_settle_all(zk);
    CHECK(fake_held(theirs) && fake_waits(read));
}

/* The writer's work may go on: the next reader has a larger token. */
static void after_a_write_that_was_not_released_nobody_reads_beside(void) {
    fake_caller *write = shared_writer(one), *read = shared_answered(fake_share_under(write, LINE));
    CHECK_INT(fake_give_up(write), ZKL_OK);
    fake_settle_all(zk);
    fake_caller *late = shared_answered(shared_reads(one));
    CHECK(fake_held(read) && fake_waits(late));
    shared_release(read);
    fake_settle_all(zk);
    CHECK(fake_held(late) && late->token > write->token);
}

/* They have queued for a shared node that is open. */
static void after_such_a_write_who_waits_to_read_gets_in_behind_it(void) {
    fake_caller *write = shared_writer(one), *read = shared_answered(fake_share_under(write, LINE));
    fake_caller *waiter = shared_answered(shared_reads(one));
    CHECK_INT(fake_give_up(write), ZKL_OK);
    fake_settle_all(zk);
    CHECK(fake_held(read) && fake_held(waiter) && waiter->token > write->token);
    fake_caller *next = shared_reads(one);
    CHECK(fake_held(next));
    CHECK_INT(next->token, waiter->token);
}

static void a_read_under_a_write_is_lost_with_its_node(void) {
    fake_caller *write = shared_writer(one), *read = shared_answered(fake_share_under(write, LINE));
    fake_remove(zk, fake_node_of(read));
    fake_settle_all(zk);
    CHECK_INT(read->losses, 1);
    CHECK(fake_held(write));
    shared_release(write);
    fake_wait(zk, 1.1);
    fake_settle_all(zk);
    CHECK_CLEAN();
}

/* The write is held through the cut, and the read would need the servers. */
static void a_single_try_under_a_write_does_not_wait_for_a_link(void) {
    fake_caller *write = shared_writer(one);
    fake_cut(one);
    fake_caller *read = fake_try_under(write, LINE);
    CHECK_FAILED(read, ZKL_DISCONNECTED);
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_held(write));
    shared_release(write);
    fake_settle(one);
    CHECK_CLEAN();
}

/* The write it asks for is over: it queues like every other. */
static void a_read_under_a_write_that_is_over_queues(void) {
    fake_caller *write = shared_writer(one);
    shared_release(write);
    fake_caller *read = shared_answered(fake_share_under(write, LINE));
    CHECK(fake_held(read));
    CHECK(read->token > write->token);
    shared_release(read);
}

/* Besides the reader that goes on, another caller of this client waits behind it. */
static void who_goes_on_as_a_reader_sees_those_of_his_own(void) {
    fake_share_as(1, 1);
    fake_caller *write = shared_writer(one), *read = shared_answered(fake_share_under(write, LINE));
    fake_caller *behind = shared_answered(fake_write_lock(one, LINE));
    CHECK(fake_held(read) && fake_waits(behind));
    shared_release(write);
    fake_settle_all(zk);
    CHECK(fake_held(shared_answered(shared_reads(one))));
    fake_wait(zk, 1.1);
    fake_settle_all(zk);
    CHECK(fake_waits(shared_answered(shared_reads(one))));
}

/* The one elsewhere has waited for longer than a stint when the write goes on as a read. */
static void a_downgrade_begins_no_stint_anew(void) {
    fake_share_as(2, 1);
    fake_caller *write = shared_writer(one), *other = shared_answered(fake_write_lock(two, LINE));
    CHECK(fake_held(write) && fake_waits(other));
    fake_wait(zk, 10);
    fake_settle_all(zk);
    fake_caller *read = shared_answered(fake_share_under(write, LINE));
    shared_release(write);
    fake_settle_all(zk);
    CHECK(fake_held(read));
    fake_caller *late = shared_answered(shared_reads(one));
    CHECK(fake_waits(late));
    shared_release(read);
    fake_settle_all(zk);
    CHECK(fake_held(other));
    CHECK(fake_waits(late));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a read under a write has its token and turn",
         a_read_under_a_write_has_its_token_and_turn},
        {"two reads under one write have the write's turn",
         two_reads_under_one_write_have_its_turn},
        {"a writer takes read as often as it likes", who_writes_reads_as_often_as_he_likes},
        {"after a downgrade readers without remote waiters have no bound",
         after_a_downgrade_readers_who_are_alone_have_no_bound},
        {"while the write is held no other caller reads",
         while_the_write_is_held_nobody_else_reads},
        {"after a downgrade all readers of the client share its node",
         after_a_downgrade_all_here_read_on_its_node},
        {"after a downgrade a writer behind waits for a stint",
         after_a_downgrade_a_writer_behind_waits_for_a_stint},
        {"after a write that was not released no other caller reads",
         after_a_write_that_was_not_released_nobody_reads_beside},
        {"after such a write a waiting reader gets in behind it",
         after_such_a_write_who_waits_to_read_gets_in_behind_it},
        {"a read under a write is lost with its node", a_read_under_a_write_is_lost_with_its_node},
        {"a write that goes on as a read is handed to no caller",
         a_write_that_goes_on_as_a_read_is_handed_to_nobody},
        {"after a long downgrade a waiting reader keeps its position",
         after_a_downgrade_that_took_long_who_waits_to_read_keeps_his_shared_node},
        {"after a downgrade without a link a waiting reader keeps its position",
         after_a_downgrade_without_a_link_who_waits_to_read_keeps_his_shared_node},
        {"after a downgrade of a revoked read waiting readers keep their positions",
         after_a_downgrade_of_a_revoked_read_others_keep_their_shared_node},
        {"after a downgrade of a waiting read waiting readers keep their positions",
         after_a_downgrade_of_a_read_that_waits_others_keep_their_shared_node},
        {"a single try under a write does not wait for a link",
         a_single_try_under_a_write_does_not_wait_for_a_link},
        {"a read under a write that is over queues", a_read_under_a_write_that_is_over_queues},
        {"a writer that goes on as a reader lets readers in before a waiting writer for a stint",
         who_goes_on_as_a_reader_sees_those_of_his_own},
        {"a downgrade begins no stint anew", a_downgrade_begins_no_stint_anew},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
