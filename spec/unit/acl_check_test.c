/* SPDX-License-Identifier: MIT */
/* Nothing is granted where strangers may meddle, unless our own ACL is OPEN; and what we make they
 * cannot make anew. */
#include "fake_world.h"

#define DEEP "/x/y/z"

static fake_node *node_at(const char *path) {
    return fake_find(zk, path, FAKE_LATEST);
}

static void begin(void) {
    fake_world_begin();
    one->context.acl = ZKL_ACL_CREATOR;
}

static void an_exposed_directory_is_refused(void) {
    fake_caller *p = fake_join(one, LINE, 60);
    CHECK_TEXT(fake_batch(one), "CAL"); /* no round trip more */
    fake_settle(one);
    CHECK_FAILED(p, ZKL_ACCESS_DENIED);
    CHECK_INT(fake_children(zk, LINE), 0);
    CHECK_CLEAN();
}

static void open_asks_for_no_acl(void) {
    one->context.acl = ZKL_ACL_OPEN;
    fake_holder(one);
    CHECK_INT(one->counts[FAKE_ACL], 0);
}

static void a_closed_directory_is_asked_once(void) {
    node_at(LINE)->closed = true;
    for (unsigned i = 0; i < 5; i++) {
        fake_caller *p = fake_holder(one);
        fake_release(p);
        fake_settle(one);
    }
    CHECK_INT(one->counts[FAKE_ACL], 1);
    CHECK_INT(one->counts[FAKE_LIST], 1); /* and what is asked with the creates is enough */
}

static void a_new_session_asks_again(void) {
    node_at(LINE)->closed = true;
    fake_release(fake_holder(one));
    fake_settle(one);
    fake_expire(one);
    fake_connect(one);
    fake_holder(one);
    CHECK_INT(one->counts[FAKE_ACL], 2);
}

static void an_acl_that_may_not_be_read_is_refused(void) {
    node_at(LINE)->closed = true;
    fake_refuse(zk, FAKE_ACL, LINE, ZNOAUTH, 0);
    fake_caller *p = fake_join(one, LINE, 60);
    fake_settle(one);
    CHECK_FAILED(p, ZKL_ACCESS_DENIED);
    CHECK_CLEAN();
}

static void a_directory_that_a_stranger_made_anew_is_refused(void) {
    node_at(LINE)->closed = true;
    fake_release(fake_holder(one));
    fake_settle(one);
    fake_remove(zk, LINE);
    fake_directory(zk, LINE);
    fake_caller *p = fake_join(one, LINE, 60);
    fake_settle(one);
    CHECK_FAILED(p, ZKL_ACCESS_DENIED);
    CHECK_INT(fake_children(zk, LINE), 0);
    node_at(LINE)->closed = true; /* its maker thought better of it */
    fake_holder(one);
}

static void a_new_acl_is_read(void) {
    node_at(LINE)->closed = true;
    fake_release(fake_holder(one));
    fake_settle(one);
    node_at(LINE)->aversion = 1;
    fake_holder(one);
    CHECK_INT(one->counts[FAKE_ACL], 2);
    CHECK_INT(one->counts[FAKE_LIST], 1);
}

/* Two are first at once, and one question serves both. */
static void several_ask_once(void) {
    node_at(LINE)->closed = true;
    fake_caller *write = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    fake_caller *p = fake_read(one, LINE), *q = fake_read(one, LINE);
    fake_settle_all(zk);
    fake_cut(one);
    fake_release(write);
    fake_settle(two);
    node_at(LINE)->aversion = 1;
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_held(p) && fake_held(q));
    CHECK_INT(one->counts[FAKE_ACL], 2);
}

static void what_the_port_does_not_take_is_asked_later(void) {
    node_at(LINE)->closed = true;
    fake_release(fake_holder(one));
    fake_settle(one);
    node_at(LINE)->aversion = 1;
    fake_caller *p = fake_join(one, LINE, 60);
    while (fake_carry(one))
        continue;
    one->deaf = ZMARSHALLINGERROR;
    while (fake_deliver(one))
        CHECK(!fake_held(p));
    one->deaf = ZOK;
    CHECK_TEXT(fake_batch(one), "");
    fake_wait(zk, 1);
    fake_settle(one);
    CHECK(fake_held(p));
}

static void a_waiter_hears_of_a_directory_that_was_opened(void) {
    node_at(LINE)->closed = true;
    fake_caller *first = fake_holder(one), *second = fake_waiter(one);
    node_at(LINE)->aversion = 1;
    node_at(LINE)->closed = false;
    fake_cut(one);
    fake_connect(one);
    fake_settle(one);
    fake_release(first);
    fake_settle(one);
    CHECK_FAILED(second, ZKL_ACCESS_DENIED);
}

/* The answer is lost at any moment: nobody is granted without it, and it is asked for again. */
static void a_cut_loses_no_answer_for_good(void) {
    node_at(LINE)->closed = true;
    for (unsigned carried = 0; carried < 4; carried++) {
        zkl_directories_clear(&one->lines.common.directories);
        fake_caller *p = fake_join(one, LINE, 60);
        for (unsigned i = 0; i < carried; i++)
            fake_carry(one);
        fake_cut(one);
        fake_connect(one);
        fake_settle(one);
        CHECK(fake_held(p));
        CHECK(one->counts[FAKE_ACL] > 0);
        fake_release(p);
        fake_settle(one);
    }
}

static void the_list_does_not_grant_what_the_acl_has_not(void) {
    node_at(LINE)->closed = true;
    fake_refuse(zk, FAKE_ACL, LINE, ZOPERATIONTIMEOUT, 1);
    fake_caller *p = fake_join(one, LINE, 60);
    fake_answer(one);
    fake_answer(one);
    fake_answer(one);
    CHECK(fake_waits(p));
    fake_settle(one);
    fake_wait(zk, 1);
    fake_settle(one);
    CHECK(fake_held(p));
}

static void the_topmost_level_below_what_is_everybodys_stays(void) {
    fake_caller *p = fake_join(one, DEEP, 60);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(node_at("/x")->mode, FAKE_PERSISTENT);
    CHECK_INT(node_at("/x/y")->mode, FAKE_CONTAINER);
    CHECK_INT(node_at(DEEP)->mode, FAKE_CONTAINER);
    CHECK(node_at("/x")->closed);
}

static void the_topmost_level_below_one_that_is_everybodys_stays(void) {
    fake_directory(zk, "/x");
    fake_caller *p = fake_join(one, DEEP "/w", 60);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(node_at("/x/y")->mode, FAKE_PERSISTENT);
    CHECK_INT(node_at(DEEP)->mode, FAKE_CONTAINER);
    CHECK_INT(node_at(DEEP "/w")->mode, FAKE_CONTAINER);
}

static void below_what_is_ours_all_are_containers(void) {
    fake_directory(zk, "/x");
    node_at("/x")->closed = true;
    fake_caller *p = fake_join(one, DEEP, 60);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(node_at("/x/y")->mode, FAKE_CONTAINER);
    CHECK_INT(node_at(DEEP)->mode, FAKE_CONTAINER);
}

static void below_what_we_may_not_look_at_one_stays(void) {
    fake_directory(zk, "/x/y");
    fake_caller *p = fake_join(one, DEEP, 60);
    fake_answer(one);
    fake_answer(one); /* what the line itself asked for DEEP's */
    CHECK_INT(fake_pending(one, FAKE_ACL, "/x/y"), 1);
    node_at("/x")->closed = node_at("/x/y")->closed = true; /* which nobody tells us */
    fake_refuse(zk, FAKE_ACL, "/x", ZNOAUTH, 2);            /* /x and /x/y */
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(node_at(DEEP)->mode, FAKE_PERSISTENT);
}

static void a_level_that_comes_to_be_meanwhile_is_left_alone(void) {
    fake_caller *p = fake_join(one, DEEP, 60);
    fake_answer(one);
    fake_answer(one);
    fake_directory(zk, "/x");
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(node_at(DEEP)->mode, FAKE_CONTAINER);
}

static void a_cut_while_parents_are_looked_at_does_not_matter(void) {
    for (unsigned carried = 0; carried < 9; carried++) {
        fake_caller *p = fake_join(one, DEEP, 60);
        fake_answer(one);
        fake_answer(one);
        fake_answer(one);
        for (unsigned i = 0; i < carried; i++)
            fake_carry(one);
        fake_cut(one);
        fake_connect(one);
        fake_settle(one);
        fake_wait(zk, 1);
        fake_settle(one);
        CHECK(fake_held(p));
        CHECK_INT(node_at("/x")->mode, FAKE_PERSISTENT);
        fake_release(p);
        fake_settle(one);
        fake_remove(zk, DEEP);
        fake_remove(zk, "/x/y");
        fake_remove(zk, "/x");
    }
}

static void a_new_session_of_a_waiter_asks_again(void) {
    node_at(LINE)->closed = true;
    fake_caller *holder = fake_join(two, LINE, 60);
    fake_settle_all(zk);
    fake_caller *p = fake_waiter(one);
    CHECK_INT(one->counts[FAKE_ACL], 1);
    fake_expire(one);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK_INT(one->counts[FAKE_ACL], 2);
    fake_release(holder);
    fake_settle_all(zk);
    CHECK(fake_held(p));
}

/* Nothing is made before the levels have been looked at. */
static void levels_that_could_not_be_looked_at_are_looked_at_later(void) {
    fake_caller *p = fake_join(one, DEEP, 60);
    while (fake_carry(one))
        continue;
    one->deaf = ZMARSHALLINGERROR;
    while (fake_deliver(one))
        continue;
    one->deaf = ZOK;
    for (unsigned i = 0; i < 3; i++) {
        fake_wait(zk, 1);
        fake_settle(one);
    }
    CHECK(fake_held(p));
    CHECK_INT(node_at("/x")->mode, FAKE_PERSISTENT);
    CHECK_INT(node_at("/x/y")->mode, FAKE_CONTAINER);
}

/* The answer went with the handle that had asked. */
static void another_link_asks_again(void) {
    node_at(LINE)->closed = true;
    fake_caller *p = fake_join(one, LINE, 60);
    CHECK_INT(fake_pending(one, FAKE_ACL, LINE), 1);
    fake_cut_quietly(one);
    fake_relink(one);
    fake_connect(one);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(one->counts[FAKE_ACL], 2);
}

/* A question over a link that has gone is answered late, or not at all. */
static void look_over_two_links(void (*other)(fake_client *client)) {
    fake_caller *p = fake_join(one, DEEP, 60);
    while (!fake_pending(one, FAKE_ACL, "/x"))
        CHECK(fake_answer(one));
    fake_cut_quietly(one);
    other(one);
    fake_connect(one);
    while (fake_answer(one))
        continue;
    fake_deliver_late(one);
    fake_settle(one);
    fake_wait(zk, 1);
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(node_at("/x")->mode, FAKE_PERSISTENT);
}

static void nothing(fake_client *client) {
    (void)client;
}

static void levels_are_looked_at_again_over_the_next_link(void) {
    look_over_two_links(nothing);
}

static void levels_are_looked_at_again_by_another_handle(void) {
    look_over_two_links(fake_relink);
}

static void levels_are_looked_at_again_in_the_next_session(void) {
    look_over_two_links(fake_expire);
}

static void what_is_known_of_one_directory_is_not_anothers(void) {
    static const char *const paths[] = {LINE, "/locks/b"};
    fake_directory(zk, paths[1]);
    for (unsigned i = 0; i < 6; i++) {
        node_at(paths[i % 2])->closed = true;
        fake_caller *p = fake_join(one, paths[i % 2], 60);
        fake_settle(one);
        CHECK(fake_held(p));
        fake_release(p);
        fake_settle(one);
    }
    CHECK_INT(one->counts[FAKE_ACL], 2);
}

/* The list has come by then, and nothing else asks for it. */
static void an_acl_that_was_refused_for_now_is_asked_later(void) {
    node_at(LINE)->closed = true;
    fake_release(fake_holder(one));
    fake_settle(one);
    node_at(LINE)->aversion = 1;
    fake_refuse(zk, FAKE_ACL, LINE, ZTHROTTLEDOP, 1);
    fake_caller *p = fake_join(one, LINE, 60);
    fake_settle(one);
    CHECK(fake_waits(p));
    fake_wait(zk, 1);
    fake_settle(one);
    CHECK(fake_held(p));
}

/* It gets one ACL after the other: what was read is not what was listed. */
static void an_acl_that_changes_while_it_is_read_is_listed_again(void) {
    node_at(LINE)->closed = true;
    fake_release(fake_holder(one));
    fake_settle(one);
    node_at(LINE)->aversion = 1;
    fake_caller *p = fake_join(one, LINE, 60);
    while (!fake_pending(one, FAKE_ACL, LINE))
        CHECK(fake_answer(one));
    node_at(LINE)->aversion = 2;
    fake_settle(one);
    CHECK(fake_held(p));
    CHECK_INT(one->counts[FAKE_LIST], 2);
}

static void why_an_acl_is_not_read_is_told(void) {
    fake_refuse(zk, FAKE_ACL, LINE, ZUNIMPLEMENTED, 0);
    fake_caller *p = fake_join(one, LINE, 60);
    fake_settle(one);
    CHECK_FAILED(p, ZUNIMPLEMENTED);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a directory where anybody may create or delete is refused, in the same round trip",
         an_exposed_directory_is_refused},
        {"who makes open nodes asks for no ACL", open_asks_for_no_acl},
        {"the ACL of a directory is read once", a_closed_directory_is_asked_once},
        {"... and again in a new session", a_new_session_asks_again},
        {"a directory whose ACL may not be read is refused",
         an_acl_that_may_not_be_read_is_refused},
        {"a directory that a stranger has made anew is refused",
         a_directory_that_a_stranger_made_anew_is_refused},
        {"an ACL that has changed is read again", a_new_acl_is_read},
        {"several ask once", several_ask_once},
        {"what the port does not take is asked later", what_the_port_does_not_take_is_asked_later},
        {"a waiter hears of a directory that was opened meanwhile",
         a_waiter_hears_of_a_directory_that_was_opened},
        {"a cut loses the answer, but not for good", a_cut_loses_no_answer_for_good},
        {"a list does not grant what the ACL has not",
         the_list_does_not_grant_what_the_acl_has_not},
        {"the topmost level that is made where others may stays",
         the_topmost_level_below_what_is_everybodys_stays},
        {"... below one that is there already",
         the_topmost_level_below_one_that_is_everybodys_stays},
        {"below what is ours alone all levels are containers",
         below_what_is_ours_all_are_containers},
        {"below what we may not look at the topmost one stays",
         below_what_we_may_not_look_at_one_stays},
        {"a level that comes to be meanwhile is left alone",
         a_level_that_comes_to_be_meanwhile_is_left_alone},
        {"a cut while parents are looked at does not matter",
         a_cut_while_parents_are_looked_at_does_not_matter},
        {"a new session of a waiter asks again", a_new_session_of_a_waiter_asks_again},
        {"levels that could not be looked at are looked at later",
         levels_that_could_not_be_looked_at_are_looked_at_later},
        {"another link asks again", another_link_asks_again},
        {"levels whose look was cut off are looked at again over the next link",
         levels_are_looked_at_again_over_the_next_link},
        {"... by another handle", levels_are_looked_at_again_by_another_handle},
        {"... in the next session", levels_are_looked_at_again_in_the_next_session},
        {"what is known of one directory is not another's",
         what_is_known_of_one_directory_is_not_anothers},
        {"an ACL that was refused for now is asked for later",
         an_acl_that_was_refused_for_now_is_asked_later},
        {"an ACL that changes while it is read is listed again",
         an_acl_that_changes_while_it_is_read_is_listed_again},
        {"why an ACL is not read is told", why_an_acl_is_not_read_is_told},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, fake_world_end);
}
