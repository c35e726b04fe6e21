/* SPDX-License-Identifier: MIT */
/* Readers and writers in one line: which of them hold together, and a writer that goes on as a
 * reader. */
#include "fake_world.h"
#include "line/line.h"

#include <stdio.h>
#include <string.h>

static fake_caller *writer(fake_client *client) {
    fake_caller *p = fake_write_lock(client, LINE);
    fake_settle_all(zk);
    return p;
}

static fake_caller *reader(fake_client *client) {
    fake_caller *p = fake_read(client, LINE);
    fake_settle_all(zk);
    return p;
}

static void release(fake_caller *caller) {
    CHECK_INT(fake_release(caller), ZKL_OK);
    fake_settle_all(zk);
}

static int32_t sequence_of(const fake_caller *caller) {
    int32_t sequence = 0;
    CHECK(zkl_znode_parse(strrchr(fake_node_of(caller), '/') + 1, &sequence));
    return sequence;
}

static void readers_hold_together(void) {
    fake_caller *a = reader(one), *b = reader(two), *c = reader(one);
    CHECK(fake_held(a) && fake_held(b) && fake_held(c));
    CHECK(strstr(fake_node_of(a), "-__READ__") != NULL);
    CHECK(a->token < b->token && b->token < c->token);
}

static void a_writer_holds_alone(void) {
    fake_caller *a = reader(one), *w = writer(two);
    CHECK(strstr(fake_node_of(w), "-__WRIT__") != NULL);
    CHECK(fake_waits(w));
    release(a);
    CHECK(fake_held(w));
    fake_caller *second = writer(one), *late = reader(two);
    CHECK(fake_waits(second) && fake_waits(late));
    release(w);
    CHECK(fake_held(second) && fake_waits(late));
    release(second);
    CHECK(fake_held(late));
}

static void a_reader_does_not_pass_a_writer(void) {
    fake_caller *a = reader(one), *w = writer(two), *b = reader(one);
    CHECK(fake_held(a) && fake_waits(w) && fake_waits(b));
}

static void readers_behind_a_writer_come_in_together(void) {
    fake_caller *w = writer(two), *a = reader(one), *b = reader(one), *c = reader(two);
    CHECK(fake_waits(a) && fake_waits(b) && fake_waits(c));
    release(w);
    CHECK(fake_held(a) && fake_held(b) && fake_held(c));
}

static void a_reader_watches_the_nearest_writer(void) {
    fake_stranger(zk, LINE, "_c_%s-__WRIT__");
    const char *nearest = fake_stranger(zk, LINE, "_c_%s-__WRIT__");
    const char *between = fake_stranger(zk, LINE, "_c_%s-__READ__");
    fake_read(one, LINE);
    fake_carry(one);
    fake_answer(one);
    CHECK_INT(fake_pending(one, FAKE_GET, nearest), 1);
    CHECK_INT(fake_pending(one, FAKE_GET, between), 0);
}

static void a_writer_goes_on_as_a_reader(void) {
    fake_caller *w = writer(one), *queued = writer(two), *behind = reader(two);
    fake_caller *r = fake_read_under(w, LINE);
    fake_settle_all(zk);
    CHECK(fake_held(r));
    CHECK_INT(r->token, w->token);
    CHECK_INT(sequence_of(r), sequence_of(w));
    release(w);
    CHECK(fake_held(r) && fake_waits(queued) && fake_waits(behind));
    release(r);
    CHECK(fake_held(queued));
    release(queued);
    CHECK(fake_held(behind));
}

/* The read is on its way when the write is given back: our own next writer must know of it. */
/* Whatever the client knows of the read when the write is released. */
static void a_queued_writer_does_not_slip_in_between(void) {
    for (unsigned answered = 0; answered < 4; answered++) {
        fake_caller *w = writer(one), *queued = writer(one);
        fake_caller *r = fake_read_under(w, LINE);
        for (unsigned i = 0; i < answered; i++)
            fake_answer(one);
        CHECK(!fake_node_of(r) || sequence_of(r) == sequence_of(w));
        CHECK_INT(fake_release(w), ZKL_OK);
        while (fake_answer(one))
            CHECK(!(fake_held(queued) && (!r->answers || fake_held(r))));
        CHECK(fake_held(r) != fake_held(queued));
        fake_drop(queued);
        fake_drop(r);
        fake_settle(one);
        CHECK_CLEAN();
    }
}

static void a_writer_behind_a_reader_gets_in_without_a_list(void) {
    const char *theirs = fake_stranger(zk, LINE, "_c_%s-__READ__");
    fake_caller *w = writer(one);
    CHECK(fake_waits(w));
    memset(one->counts, 0, sizeof one->counts);
    fake_remove(zk, theirs);
    fake_settle_all(zk);
    CHECK(fake_held(w));
    CHECK_INT(one->counts[FAKE_LIST], 0);
}

/* The read stands in the list: there is nothing to be asked. */
static void who_waits_behind_one_that_goes_on_as_a_reader_asks_nothing(void) {
    fake_caller *w = writer(one), *r = fake_read_under(w, LINE);
    fake_settle_all(zk);
    fake_caller *queued = writer(one);
    memset(one->counts, 0, sizeof one->counts);
    release(w);
    CHECK(fake_held(r) && fake_waits(queued));
    CHECK_INT(one->counts[FAKE_LIST], 0);
    release(r);
    CHECK(fake_held(queued));
    CHECK_INT(one->counts[FAKE_LIST], 0);
}

/* One after another; each is the next one's blocker, and the second before the one after that. */
static void of_our_own_writers_nothing_has_to_be_asked(void) {
    fake_caller *callers[6];
    for (size_t i = 0; i < 6; i++)
        callers[i] = writer(one);
    memset(one->counts, 0, sizeof one->counts);
    for (size_t i = 0; i < 5; i++) {
        release(callers[i]);
        CHECK(fake_held(callers[i + 1]));
    }
    CHECK_INT(one->counts[FAKE_LIST], 0);
    CHECK_INT(one->counts[FAKE_GET], 0);
}

static void nor_when_others_go_on_as_readers(void) {
    const char *theirs = fake_stranger(zk, LINE, "_c_%s-__WRIT__");
    char write[256], path[256];
    int32_t sequence;
    fake_node *node;
    snprintf(write, sizeof write, "%s", theirs);
    fake_caller *r = reader(one), *w = writer(one);
    CHECK(fake_waits(r) && fake_waits(w));
    CHECK(zkl_znode_parse(strrchr(write, '/') + 1, &sequence));
    snprintf(path, sizeof path, "%s/_c_other-__READ__%010d", LINE, sequence);
    CHECK_INT(fake_make(zk, path, "", FAKE_EPHEMERAL, 0xdead, &node), ZOK);
    fake_remove(zk, write);
    fake_settle_all(zk);
    CHECK(fake_held(r));
    release(r); /* no child before the writer was seen since */
    CHECK(fake_waits(w));
    fake_remove(zk, path);
    fake_settle_all(zk);
    CHECK(fake_held(w));
}

/* The write was gone when the read was made, and another writer may hold since: the read must
 * not. */
static void a_read_whose_write_was_deleted_queues_anew(void) {
    fake_caller *w = writer(one), *next = writer(two);
    fake_caller *r = fake_read_under(w, LINE);
    fake_remove(zk, fake_node_of(w));
    fake_settle(two);
    CHECK(fake_held(next));
    fake_settle_all(zk);
    CHECK_INT(w->losses, 1);
    CHECK(fake_waits(r));
    CHECK(sequence_of(next) < sequence_of(r));
    release(next);
    CHECK(fake_held(r));
    CHECK(r->token > next->token);
}

static void a_read_whose_session_ended_queues_anew(void) {
    fake_caller *w = writer(one);
    fake_caller *r = fake_read_under(w, LINE);
    fake_cut(one);
    fake_bury(one);
    fake_expire(one);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK_INT(w->losses, 1);
    CHECK(fake_held(r));
    CHECK(r->token != w->token);
}

/* It has deleted the node that was made too late, and waits for the answer. */
static fake_caller *too_late(fake_caller *write) {
    fake_caller *read = fake_read_under(write, LINE);
    fake_remove(zk, fake_node_of(write));
    while (fake_member(read)->node != ZKL_NODE_DELETE_SENT)
        CHECK(fake_answer(one));
    return read;
}

static void nor_does_the_end_of_the_session_keep_it_from_that(void) {
    fake_caller *w = writer(one), *r = too_late(w);
    fake_bury(one);
    fake_expire(one);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK_INT(w->losses, 1);
    CHECK(fake_held(r));
    CHECK_INT(fake_children(zk, LINE), 1);
}

/* Or else it would wait for the end of its pause in the place of its deadline. */
static void nor_does_a_refused_delete(void) {
    fake_caller *w = writer(one), *r = too_late(w);
    fake_refuse(zk, FAKE_ERASE, LINE, ZNOAUTH, 1);
    fake_settle_all(zk);
    fake_wait(zk, 10);
    fake_settle_all(zk);
    CHECK_INT(w->losses, 1);
    CHECK(fake_held(r));
    CHECK_INT(fake_children(zk, LINE), 1);
}

static void one_that_gives_up_meanwhile_leaves_nothing(void) {
    fake_caller *w = writer(one), *r = too_late(w);
    fake_cancel(r);
    fake_settle_all(zk);
    CHECK_FAILED(r, ZKL_CANCELLED);
    CHECK_CLEAN();
}

static void a_read_whose_answer_was_lost_is_found(void) {
    fake_caller *w = writer(one);
    fake_caller *r = fake_read_under(w, LINE);
    fake_carry(one);
    fake_cut(one);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK(fake_held(w) && fake_held(r));
    CHECK_INT(r->token, w->token);
    CHECK_INT(fake_children(zk, LINE), 2);
}

static void a_try_knows_what_is_held_here(void) {
    fake_caller *r = reader(one);
    const unsigned before = one->counts[FAKE_CREATE];
    fake_caller *w = fake_try_kind(one, LINE, ZKL_KIND_WRITE);
    CHECK_FAILED(w, ZKL_TIMEOUT);
    CHECK_INT(one->counts[FAKE_CREATE], before);
    fake_caller *second = fake_try_kind(one, LINE, ZKL_KIND_READ);
    fake_settle_all(zk);
    CHECK(fake_held(r) && fake_held(second));
}

static void a_mutex_and_readers_do_not_share_a_path(void) {
    fake_caller *r = reader(one);
    fake_caller *m = fake_join(two, LINE, 60);
    fake_settle_all(zk);
    CHECK_FAILED(m, ZKL_WRONG_KIND);
    CHECK(fake_held(r));
    release(r);
    m = fake_join(two, LINE, 60);
    fake_settle_all(zk);
    CHECK(fake_held(m));
    CHECK_FAILED(reader(one), ZKL_WRONG_KIND);
    CHECK_FAILED(writer(one), ZKL_WRONG_KIND);
}

static void nothing_is_left(void) {
    fake_caller *w = writer(one);
    fake_caller *r = fake_read_under(w, LINE), *b = writer(two);
    fake_settle_all(zk);
    fake_cancel(b);
    release(w);
    release(r);
    CHECK_CLEAN();
}

/* This hold would refuse any other try at once. */
static void a_try_under_a_write_is_not_refused_for_that(void) {
    fake_caller *write = writer(one);
    CHECK_FAILED(fake_try_kind(one, LINE, ZKL_KIND_READ), ZKL_TIMEOUT);
    fake_caller *read = fake_try_read_under(write, LINE);
    CHECK(fake_waits(read));
    fake_settle(one);
    CHECK(fake_held(read));
    release(write);
    CHECK_FAILED(fake_try_kind(one, LINE, ZKL_KIND_WRITE), ZKL_TIMEOUT);
}

static void a_try_under_a_write_that_is_over_is_as_any_other(void) {
    fake_caller *write = writer(one);
    release(write);
    fake_caller *read = fake_try_read_under(write, LINE);
    CHECK(fake_waits(read));
    fake_settle(one);
    CHECK(fake_held(read));
}

static void refreshed(zkl_nanos valid_until) {
    one->context.valid_until = valid_until;
    zkl_lines_each(&one->lines, zkl_line_refreshed);
    fake_leave(one);
}

/* Its node stood beside its write's, and it waited for trust only; when that comes its write has
 * gone, and its node is on its way out. */
static void a_read_that_is_to_queue_anew_is_not_granted_meanwhile(void) {
    fake_caller *w = writer(one);
    fake_wait(zk, 31);
    fake_caller *r = fake_read_under(w, LINE);
    fake_settle(one);
    refreshed(fake_now + ZKL_SECOND);
    one->context.valid_until = 0;
    fake_settle(one);
    CHECK(fake_waits(r) && r->contender->queue.position == ZKL_POSITION_FIRST);
    CHECK_INT(r->contender->watch, ZKL_WATCH_ARMED);
    fake_remove(zk, fake_node_of(w));
    fake_read(one, LINE); /* with a list */
    while (r->contender->node != ZKL_NODE_DELETE_SENT)
        CHECK(fake_answer(one));
    refreshed(fake_now + ZKL_SECOND);
    CHECK(fake_waits(r));
    fake_beat(one, 20);
    fake_still(one);
    CHECK(fake_held(r));
    CHECK_INT(w->losses, 1);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"readers hold together, with tokens of their own", readers_hold_together},
        {"a writer holds alone", a_writer_holds_alone},
        {"a reader does not pass a writer", a_reader_does_not_pass_a_writer},
        {"readers behind one writer come in together", readers_behind_a_writer_come_in_together},
        {"a reader watches the nearest writer", a_reader_watches_the_nearest_writer},
        {"a writer goes on as a reader, with its token", a_writer_goes_on_as_a_reader},
        {"no writer of ours gets in between", a_queued_writer_does_not_slip_in_between},
        {"no writer of ours gets in between when others go on as readers",
         nor_when_others_go_on_as_readers},
        {"a writer behind a reader gets in without a list",
         a_writer_behind_a_reader_gets_in_without_a_list},
        {"a waiter behind a writer that goes on as a reader sends nothing",
         who_waits_behind_one_that_goes_on_as_a_reader_asks_nothing},
        {"the line needs no request about its own writers",
         of_our_own_writers_nothing_has_to_be_asked},
        {"a read whose write was deleted queues again", a_read_whose_write_was_deleted_queues_anew},
        {"a read whose session ended queues again", a_read_whose_session_ended_queues_anew},
        {"a read whose write was deleted queues again, also if the session ends meanwhile",
         nor_does_the_end_of_the_session_keep_it_from_that},
        {"a read whose write was deleted queues again, also if its delete is refused",
         nor_does_a_refused_delete},
        {"a read that is cancelled meanwhile leaves nothing",
         one_that_gives_up_meanwhile_leaves_nothing},
        {"a read whose create's answer was lost is found", a_read_whose_answer_was_lost_is_found},
        {"a single try fails at once if this client holds", a_try_knows_what_is_held_here},
        {"a mutex and readers do not share a path", a_mutex_and_readers_do_not_share_a_path},
        {"a line of readers and writers leaves nothing", nothing_is_left},
        {"a try under a write that has ended is like any other",
         a_try_under_a_write_that_is_over_is_as_any_other},
        {"a try under a write does not fail because of the write",
         a_try_under_a_write_is_not_refused_for_that},
        {"a read that has to queue again is not granted meanwhile",
         a_read_that_is_to_queue_anew_is_not_granted_meanwhile},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
