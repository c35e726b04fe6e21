/* SPDX-License-Identifier: MIT */
/* A line in whose directory a stranger creates nodes with our GUIDs. The stranger may create and
 * read, but not delete. */
#include "fake_world.h"
#include "scarce.h"

#include <stdio.h>
#include <string.h>

#define THEIRS 0xbad /* the attacker's session */

/* Its name is our node's but for the sequence, which is the attacker's choice, or below 0: the
 * servers'. */
static const char *forge(const fake_caller *caller, int32_t sequence) {
    const zkl_contender *c = caller->contender;
    char path[256];
    fake_node *node = NULL;
    strcpy(path, LINE "/");
    char *name = path + strlen(path);
    zkl_znode_make(name, (zkl_guid){c->context->guid, c->receiver.id}, c->terms.kind);
    if (sequence >= 0)
        zkl_znode_append(name, sequence);
    CHECK_INT(fake_make(zk, path, "me", sequence < 0 ? FAKE_EPHEMERAL_SEQUENCE : FAKE_EPHEMERAL,
                        THEIRS, &node),
              ZOK);
    return node->path;
}

static void settle(void) {
    for (unsigned i = 0; i < 5; i++) {
        fake_settle_all(zk);
        fake_wait(zk, 0.5);
    }
}

static unsigned made_by(int64_t session) {
    unsigned n = 0;
    for (size_t i = 0;; i++) {
        const char *name = fake_child(zk, LINE, i, FAKE_LATEST);
        char path[256];
        if (!name)
            return n;
        snprintf(path, sizeof path, "%s/%s", LINE, name);
        n += fake_find(zk, path, FAKE_LATEST)->owner == session;
    }
}

static void a_guess_that_comes_true_is_waited_for(void) {
    fake_caller *p = fake_join(one, LINE, 1e12);
    const char *forged = forge(p, -1);
    settle();
    CHECK(fake_waits(p) && fake_node_of(p));
    fake_remove(zk, forged);
    settle();
    CHECK(fake_held(p));
}

/* The list was asked for before, and is answered first: the forged name is all that it has. */
static void a_guess_that_is_listed_before_our_own_is_made_is_nobodys(void) {
    fake_caller *first = fake_join(one, LINE, 1e12), *p = fake_join(one, LINE, 1e12);
    CHECK(fake_carry(one)); /* the first one's create */
    const char *forged = forge(p, -1);
    CHECK(fake_carry(one)); /* and the list */
    CHECK(fake_deliver(one) && fake_deliver(one));
    CHECK(p->contender->node == ZKL_NODE_CREATE_SENT && !p->contender->name);
    settle();
    CHECK(fake_held(first) && fake_waits(p));
    fake_release(first);
    fake_remove(zk, forged);
    settle();
    CHECK(fake_held(p));
}

/* The servers refuse the create of our own. */
static void a_guess_with_the_very_number_costs_only_a_name(void) {
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, 1e12);
    forge(p, 2); /* the number that the next one gets */
    settle();
    CHECK(fake_waits(p) && fake_node_of(p));
    CHECK_INT(one->counts[FAKE_CREATE], 2);
    fake_end_session(zk, 0xdead);
    fake_end_session(zk, THEIRS);
    settle();
    CHECK(fake_held(p));
}

/* An operator deletes our node before it is watched, and a stranger makes one with its name. */
static void a_node_in_the_place_of_ours_is_not_granted(void) {
    const char *blocker = fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, 1e12);
    int32_t sequence;
    while (!p->contender->name)
        CHECK(fake_answer(one));
    const char *ours = fake_node_of(p);
    while (!fake_pending(one, FAKE_GET, ours))
        CHECK(fake_answer(one));
    CHECK(zkl_znode_parse(p->contender->name, &sequence));
    fake_remove(zk, ours);
    forge(p, sequence);
    fake_remove(zk, blocker);
    settle();
    CHECK_INT(made_by(one->context.session), 1);
    fake_end_session(zk, THEIRS);
    settle();
    CHECK(fake_held(p));
    CHECK_INT(fake_find(zk, fake_node_of(p), FAKE_LATEST)->owner, one->context.session);
}

/* Whatever servers claim, the client does not ask for ever. */
static void a_name_that_is_always_taken_is_an_error(void) {
    fake_refuse(zk, FAKE_CREATE, LINE, ZNODEEXISTS, 0);
    fake_caller *p = fake_join(one, LINE, 1e12);
    settle();
    CHECK_FAILED(p, (zkl_status)ZNODEEXISTS);
    CHECK_INT(one->counts[FAKE_CREATE], 1 + ZKL_AT_ONCE);
}

static void a_name_that_is_taken_is_nothing_to_a_caller_that_has_left(void) {
    fake_refuse(zk, FAKE_CREATE, LINE, ZNODEEXISTS, 1);
    fake_caller *p = fake_join(one, LINE, 1e12);
    fake_cancel(p);
    settle();
    CHECK_INT(one->counts[FAKE_CREATE], 1);
    CHECK_CLEAN();
}

static void a_twin_below_does_not_take_the_hold_away(void) {
    fake_caller *p = fake_holder(one);
    fake_settle_all(zk);
    fake_directory(zk, LINE);
    const char *twin = forge(p, INT32_MAX - 5);
    fake_caller *next = fake_join(two, LINE, 1e12), *ours = fake_join(one, LINE, 1e12);
    settle();
    CHECK(fake_held(p) && fake_waits(next) && fake_waits(ours));
    fake_release(p);
    settle();
    CHECK(fake_held(next));
    fake_release(next);
    settle();
    CHECK(fake_held(ours));
    CHECK_INT(p->losses + next->losses + ours->losses, 0);
    (void)twin;
}

/* The node was created, but the answer is lost, and before the client is back there are twins on
 * both sides. */
static fake_caller *lost_among_twins(void) {
    fake_stranger(zk, LINE, NULL);
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, 1e12);
    fake_carry(one);
    fake_cut(one);
    forge(p, 0);
    forge(p, 1);
    forge(p, -1);
    return p;
}

static void our_own_among_twins_is_the_one_that_our_session_made(void) {
    fake_caller *p = lost_among_twins();
    fake_connect(one);
    settle();
    CHECK(fake_waits(p));
    CHECK_INT(fake_find(zk, fake_node_of(p), FAKE_LATEST)->owner, one->context.session);
    CHECK_INT(one->counts[FAKE_CREATE], 1); /* it has kept its place */
    CHECK_INT(made_by(THEIRS), 3);
    fake_end_session(zk, 0xdead);
    settle();
    CHECK(fake_waits(p));
    fake_end_session(zk, THEIRS);
    settle();
    CHECK(fake_held(p));
    CHECK(p->token == fake_find(zk, fake_node_of(p), FAKE_LATEST)->czxid);
}

/* The line asks about no child with another name. */
static void only_twins_are_asked_about(void) {
    for (unsigned i = 0; i < 3; i++)
        fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, 1e12);
    fake_carry(one);
    fake_cut(one);
    forge(p, 0);
    fake_connect(one);
    settle();
    CHECK(fake_waits(p) && fake_node_of(p));
    CHECK_INT(one->counts[FAKE_GET], 2 + 3); /* and the watches */
}

static void our_own_is_found_right_behind_a_twin(void) {
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, 1e12);
    fake_carry(one);
    fake_cut(one);
    forge(p, 0); /* our own has 1 */
    fake_connect(one);
    settle();
    CHECK(fake_waits(p) && fake_node_of(p));
    CHECK_INT(one->counts[FAKE_CREATE], 1);
}

static void one_that_gave_up_leaves_none_of_its_own_among_twins(void) {
    fake_caller *p = lost_among_twins();
    fake_cancel(p);
    fake_connect(one);
    settle();
    CHECK_INT(made_by(one->context.session), 0);
    CHECK_INT(made_by(THEIRS), 3);
    CHECK_INT(zkl_lines_count(&one->lines), 0);
}

static void one_whose_create_was_never_made_is_not_fooled_by_twins(void) {
    fake_caller *p = fake_join(one, LINE, 1e12);
    fake_cut(one);
    forge(p, -1);
    forge(p, -1);
    fake_connect(one);
    settle();
    CHECK(fake_held(p)); /* no contender has the twins any more, so they were deleted */
    CHECK_INT(made_by(one->context.session), 1);
    CHECK_INT(fake_children(zk, LINE), 1);
}

static void a_cut_between_two_looks_begins_them_anew(void) {
    fake_caller *p = lost_among_twins();
    for (unsigned answered = 1; answered < 5; answered++) {
        fake_connect(one);
        for (unsigned i = 0; i < answered; i++)
            fake_answer(one);
        fake_cut(one);
    }
    fake_relink(one);
    fake_connect(one);
    settle();
    CHECK_INT(fake_find(zk, fake_node_of(p), FAKE_LATEST)->owner, one->context.session);
    CHECK_INT(one->counts[FAKE_CREATE], 1);
    fake_end_session(zk, 0xdead);
    fake_end_session(zk, THEIRS);
    settle();
    CHECK(fake_held(p));
}

/* Its create was lost, and its server lags: the list shows twins, and not its node. The servers had
 * refused the write that was to prevent that. */
static fake_caller *lost_behind_a_lag(const char **first, bool another) {
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, 1e12);
    *first = forge(p, 0);
    if (another)
        forge(p, 1000);
    const int64_t before = zk->zxid;
    fake_carry(one); /* the create */
    fake_cut(one);
    fake_lag(one, before);
    fake_refuse(zk, FAKE_ERASE, one->context.nothing, ZTHROTTLEDOP, 1);
    fake_connect(one);
    while (!fake_pending(one, FAKE_GET, NULL))
        CHECK(fake_answer(one));
    return p;
}

static void check_found(fake_caller *p, const fake_caller *q) {
    settle();
    CHECK(fake_waits(p) && fake_waits(q));
    CHECK_INT(one->counts[FAKE_CREATE], 2);
    CHECK_INT(made_by(one->context.session), 2);
    fake_catch_up(one);
    fake_end_session(zk, 0xdead);
    fake_end_session(zk, THEIRS);
    settle();
    CHECK(fake_held(p) && fake_waits(q));
}

/* A list behind a barrier is on its way when the twin turns out to be foreign. */
static void nothing_is_concluded_while_a_later_list_is_on_its_way(void) {
    const char *first;
    fake_caller *p = lost_behind_a_lag(&first, false);
    fake_caller *q = fake_join(one, LINE, 1e12);
    CHECK_INT(fake_pending(one, FAKE_LIST, LINE), 1);
    check_found(p, q);
}

/* There was no memory for that list, and the one before it is not behind the barrier. */
static void nothing_is_concluded_from_a_list_that_could_not_be_sent(void) {
    const char *first;
    fake_caller *p = lost_behind_a_lag(&first, false);
    scarce_plan(3, 1); /* behind a create and the barrier */
    fake_caller *q = fake_join(one, LINE, 1e12);
    scarce_plan(0, 0);
    CHECK_TEXT(fake_batch(one), "GCD");
    check_found(p, q);
}

/* It comes while the servers are asked about a twin behind our own, and our own is its first. */
static void a_newer_list_is_searched_from_its_beginning(void) {
    const char *first;
    fake_caller *p = lost_behind_a_lag(&first, true);
    fake_caller *q = fake_join(one, LINE, 1e12);
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "CDLG");
    fake_remove(zk, first);
    check_found(p, q);
}

/* Its request was lost with the handle. */
static void another_handle_asks_about_a_twin_again(void) {
    fake_caller *p = lost_among_twins();
    fake_connect(one);
    while (!fake_pending(one, FAKE_GET, NULL))
        CHECK(fake_answer(one));
    fake_cut_quietly(one);
    fake_relink(one);
    fake_connect(one);
    settle();
    CHECK(fake_waits(p) && fake_node_of(p));
    CHECK_INT(one->counts[FAKE_CREATE], 1);
}

/* A list that comes meanwhile does not make it ask again. */
static void one_twin_is_asked_about_at_a_time(void) {
    fake_caller *p = lost_among_twins();
    fake_connect(one);
    while (!fake_pending(one, FAKE_GET, NULL))
        CHECK(fake_answer(one));
    fake_caller *q = fake_join(one, LINE, 1e12);
    CHECK_TEXT(fake_batch(one), "GCDL");
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "CDLG"); /* about the next one, behind the list */
    for (unsigned i = 0; i < 3; i++)
        fake_answer(one);
    CHECK_TEXT(fake_batch(one), "GGGG"); /* and the watches of q */
    settle();
    CHECK(fake_waits(q) && fake_node_of(p));
    CHECK_INT(one->counts[FAKE_CREATE], 2);
}

/* A read is granted beside the write that its owner holds, not beside one that bears that write's
 * number. */
static void a_read_does_not_stand_beside_a_forged_write(void) {
    fake_caller *write = fake_write_lock(one, LINE);
    fake_settle_all(zk);
    CHECK(fake_held(write));
    fake_caller *other = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    fake_caller *read = fake_read_under(write, LINE);
    char name[ZKL_ZNODE_SIZE], path[256];
    zkl_znode_make(name, (zkl_guid){one->context.guid, 424242}, ZKL_KIND_WRITE);
    zkl_znode_append(name, 0);
    snprintf(path, sizeof path, "%s/%s", LINE, name);
    fake_remove(zk, fake_node_of(write));
    fake_settle(two);
    CHECK(fake_held(other));
    CHECK_INT(fake_make(zk, path, "", FAKE_EPHEMERAL, THEIRS, NULL), ZOK);
    while (fake_answer(one))
        CHECK(!fake_held(read));
    fake_release(other);
    settle();
    CHECK(fake_held(read));
}

static void nodes_with_our_guid_that_are_nobodys_do_not_make_a_flood(void) {
    fake_caller *p = fake_holder(one);
    for (uint64_t i = 0; i < 1000; i++) {
        char path[256];
        strcpy(path, LINE "/");
        zkl_znode_make(path + strlen(path), (zkl_guid){one->context.guid, 0x100000 + i},
                       ZKL_KIND_LOCK);
        CHECK_INT(fake_make(zk, path, "", FAKE_EPHEMERAL_SEQUENCE, THEIRS, NULL), ZOK);
    }
    fake_caller *q = fake_join(one, LINE, 1e12);
    fake_answer(one);
    fake_answer(one);
    CHECK(fake_waits(q));
    CHECK(fake_pending(one, FAKE_ERASE, NULL) <= 100);
    fake_release(p);
    settle();
    CHECK(fake_waits(q));
    fake_end_session(zk, THEIRS);
    settle();
    CHECK(fake_held(q));
}

/* It bears the number of the line, which names no node. */
static void a_number_that_is_no_contenders_is_nobodys(void) {
    fake_caller *p = fake_holder(one);
    const zkl_line *line = zkl_lines_find(&one->lines, LINE);
    char path[256];
    fake_node *node;
    strcpy(path, LINE "/");
    zkl_znode_make(path + strlen(path), (zkl_guid){one->context.guid, line->receiver.id},
                   ZKL_KIND_LOCK);
    CHECK_INT(fake_make(zk, path, "", FAKE_EPHEMERAL_SEQUENCE, THEIRS, &node), ZOK);
    fake_caller *q = fake_join(one, LINE, 1e12);
    settle();
    CHECK(!fake_find(zk, node->path, FAKE_LATEST));
    CHECK(fake_held(p) && fake_waits(q));
}

/* Somebody has read it, and makes one that is called the same where it means nothing. */
static void the_name_of_our_node_elsewhere_is_not_ours(void) {
    fake_directory(zk, "/locks/b");
    fake_caller *p = fake_holder(one);
    char path[256];
    fake_node *node = NULL;
    snprintf(path, sizeof path, "/locks/b/%s", p->contender->name);
    CHECK_INT(fake_make(zk, path, "me", FAKE_EPHEMERAL, THEIRS, &node), ZOK);
    fake_find(zk, "/locks/b", FAKE_LATEST)->next = 7;
    fake_caller *q = fake_join(one, "/locks/b", 1e12);
    settle();
    CHECK(fake_held(p) && fake_waits(q));
    fake_remove(zk, path);
    fake_settle_all(zk);
    CHECK(fake_held(p) && fake_held(q));
    CHECK_INT(p->losses, 0);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a contender waits for a foreign node with our GUID",
         a_guess_that_comes_true_is_waited_for},
        {"a foreign node with our GUID that is listed before our create is not mistaken for ours",
         a_guess_that_is_listed_before_our_own_is_made_is_nobodys},
        {"a foreign node with the very name of ours costs only a name",
         a_guess_with_the_very_number_costs_only_a_name},
        {"a node with the very name of ours, in its place, is not granted",
         a_node_in_the_place_of_ours_is_not_granted},
        {"a name that is always taken is an error", a_name_that_is_always_taken_is_an_error},
        {"a name that is taken is nothing to a caller that has left",
         a_name_that_is_taken_is_nothing_to_a_caller_that_has_left},
        {"a twin of a held node changes nothing", a_twin_below_does_not_take_the_hold_away},
        {"of several twins, ours is the one that our session created",
         our_own_among_twins_is_the_one_that_our_session_made},
        {"the line asks the servers only about twins", only_twins_are_asked_about},
        {"ours is found right behind a twin", our_own_is_found_right_behind_a_twin},
        {"a cancelled contender leaves nothing among twins",
         one_that_gave_up_leaves_none_of_its_own_among_twins},
        {"twins of a node that was never created are not mistaken for it",
         one_whose_create_was_never_made_is_not_fooled_by_twins},
        {"ours is found among twins although the link breaks meanwhile",
         a_cut_between_two_looks_begins_them_anew},
        {"a list proves nothing while a later list is on its way",
         nothing_is_concluded_while_a_later_list_is_on_its_way},
        {"a list proves nothing if a later one could not be sent",
         nothing_is_concluded_from_a_list_that_could_not_be_sent},
        {"a newer list is searched from its beginning",
         a_newer_list_is_searched_from_its_beginning},
        {"the line asks about a twin again over another handle",
         another_handle_asks_about_a_twin_again},
        {"the line asks about one twin at a time", one_twin_is_asked_about_at_a_time},
        {"a read does not stand beside a forged write",
         a_read_does_not_stand_beside_a_forged_write},
        {"stray nodes with our GUID do not cause a flood of deletes",
         nodes_with_our_guid_that_are_nobodys_do_not_make_a_flood},
        {"a number without a contender matches none", a_number_that_is_no_contenders_is_nobodys},
        {"the name of our node in another directory is not ours",
         the_name_of_our_node_elsewhere_is_not_ours},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
