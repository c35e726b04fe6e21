/* SPDX-License-Identifier: MIT */
/* A question to the servers: who is in the line. */
#include "query_world.h"

#include <string.h>

static void tells_who_is_in_line_in_order(void) {
    fake_caller *holder = fake_holder(two);
    fake_waiter(one);
    fake_stranger(zk, LINE, "%s0123456789abcdef01234567__lock__");
    fake_make(zk, LINE "/garbage", "", FAKE_PERSISTENT, 0, NULL);
    query_ask(ZKL_QUERY_PARTICIPANTS, 5);
    CHECK_TEXT(fake_batch(one), "L");
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "GGG");
    fake_settle(one);
    query_check_answered(ZKL_OK);
    zkl_participant who;
    CHECK(zkl_listing_at(&query->listing, 0, &who));
    CHECK(who.holder && !who.mine && who.session == two->context.session && who.sequence == 0);
    CHECK(who.identifier_length == 2 && memcmp(who.identifier, "me", 2) == 0);
    CHECK_INT(who.token, fake_find(zk, fake_node_of(holder), FAKE_LATEST)->czxid);
    CHECK(zkl_listing_at(&query->listing, 1, &who));
    CHECK(!who.holder && who.mine && who.created == 1.0);
    CHECK(zkl_listing_at(&query->listing, 2, &who));
    CHECK(!who.holder && !who.mine && who.identifier_length == strlen("stranger"));
    CHECK(!zkl_listing_at(&query->listing, 3, &who));
}

static void who_writes_and_reads_holds_twice(void) {
    fake_caller *write = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    fake_read_under(write, LINE);
    fake_settle_all(zk);
    fake_read(one, LINE);
    fake_settle_all(zk);
    query_ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_settle(one);
    query_check_answered(ZKL_OK);
    unsigned holders = 0;
    zkl_participant who;
    for (size_t i = 0; i < 3; i++) {
        CHECK(zkl_listing_at(&query->listing, i, &who));
        holders += who.holder;
        CHECK(who.holder == !who.mine);
    }
    CHECK_INT(holders, 2);
}

/* The write that it is under is not the first node of its directory. */
static void also_when_others_were_there_before(void) {
    fake_remove(zk, fake_stranger(zk, LINE, NULL));
    who_writes_and_reads_holds_twice();
}

/* A read that bears its write's number waits with it for those before. */
static void a_read_under_a_write_that_waits_does_not_hold(void) {
    zkl_participant who;
    fake_stranger(zk, LINE, "_c_%s-__WRIT__");
    fake_stranger(zk, LINE, "_c_%s-__WRIT__");
    CHECK_INT(fake_make(zk, LINE "/x-__READ__0000000001", "", FAKE_PERSISTENT, 0, NULL), ZOK);
    query_ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_settle(one);
    query_check_answered(ZKL_OK);
    for (size_t i = 0; i < 3; i++)
        CHECK(zkl_listing_at(&query->listing, i, &who) && who.holder == (i == 0));
}

static void leases_and_locks_are_listed_apart(void) {
    zkl_participant who;
    const char *lock = fake_stranger(zk, LINE, NULL);
    fake_stranger(zk, LINE, "_c_%s-lease-");
    fake_stranger(zk, LINE, "_c_%s-lease-");
    for (unsigned leases = 0; leases < 2; leases++) {
        const unsigned before = one->counts[FAKE_GET];
        query_of_leases = leases;
        query_ask(ZKL_QUERY_PARTICIPANTS, 5);
        fake_settle(one);
        query_check_answered(ZKL_OK);
        const size_t count = leases ? 2 : 1;
        CHECK_INT(one->counts[FAKE_GET] - before, count);
        for (size_t i = 0; i < count; i++)
            CHECK(zkl_listing_at(&query->listing, i, &who) && who.holder &&
                  (who.kind == ZKL_KIND_LEASE) == leases);
        CHECK(!zkl_listing_at(&query->listing, count, &who));
        zkl_ask_free(&query->ask);
    }
    query_of_leases = false;
    query_ask(ZKL_QUERY_REVOKE, 5);
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "W");
    CHECK_INT(fake_pending(one, FAKE_SET, lock), 1);
    fake_settle(one);
    CHECK_INT(query->revocation.asked, 1);
}

static void leaves_out_who_left_meanwhile(void) {
    fake_caller *p = fake_holder(two);
    fake_waiter(one);
    query_ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_answer(one);
    fake_remove(zk, fake_node_of(p));
    fake_settle(one);
    query_check_answered(ZKL_OK);
    zkl_participant who;
    CHECK(zkl_listing_at(&query->listing, 0, &who));
    CHECK(who.holder && who.mine);
    CHECK(!zkl_listing_at(&query->listing, 1, &who));
}

static void nobody_is_in_a_line_that_is_not_there(void) {
    fake_remove(zk, LINE);
    query_ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_settle(one);
    query_check_answered(ZKL_OK);
    zkl_participant who;
    CHECK(!zkl_listing_at(&query->listing, 0, &who));
}

static void asks_again_after_a_cut(void) {
    fake_holder(two);
    query_ask(ZKL_QUERY_PARTICIPANTS, 5);
    for (unsigned carried = 0; carried < 3; carried++) {
        fake_leave(one);
        for (unsigned i = 0; i < carried; i++)
            fake_answer(one);
        if (query->ask.stage == ZKL_ASK_DONE)
            break;
        fake_cut(one);
        CHECK(query->ask.stage != ZKL_ASK_DONE);
        fake_connect(one);
    }
    fake_settle(one);
    query_check_answered(ZKL_OK);
    zkl_participant who;
    CHECK(zkl_listing_at(&query->listing, 0, &who));
    CHECK(!zkl_listing_at(&query->listing, 1, &who));
}

/* The answers of a former link are not heard any more. */
static void of_the_next_link_all_is_asked_anew(void) {
    static const zkl_query_kind questions[] = {ZKL_QUERY_PARTICIPANTS, ZKL_QUERY_REVOKE};
    fake_holder(two);
    for (unsigned i = 0; i < 8; i++) {
        query_ask(questions[i % 2], 5);
        if (i / 2 % 2)
            fake_answer(one); /* the list: the nodes have been asked for */
        if (i / 4) {
            fake_expire(one);
        } else {
            fake_cut_quietly(one);
            fake_relink(one);
        }
        CHECK(query->ask.stage != ZKL_ASK_DONE);
        fake_connect(one);
        fake_settle(one);
        query_check_answered(ZKL_OK);
        zkl_ask_free(&query->ask);
        query = NULL;
    }
}

static void asked_once_it_ends_with_the_link(void) {
    query_ask_once(ZKL_QUERY_PARTICIPANTS);
    CHECK(query->ask.stage != ZKL_ASK_DONE);
    fake_cut(one);
    query_check_answered(ZKL_DISCONNECTED);
}

static void a_refusal_is_told(void) {
    fake_refuse(zk, FAKE_LIST, LINE, ZNOAUTH, 0);
    query_ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_settle(one);
    query_check_answered(ZKL_ACCESS_DENIED);
}

static void a_deadline_ends_it(void) {
    query_ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_wait(zk, 5);
    query_check_answered(ZKL_TIMEOUT);
    fake_settle(one); /* late answers find nobody */
    zkl_ask_free(&query->ask);
    fake_cut(one);
    query_ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_wait(zk, 5);
    query_check_answered(ZKL_DISCONNECTED);
}

static void refused_credentials_end_what_asks_the_servers(void) {
    static const zkl_query_kind questions[] = {ZKL_QUERY_SESSION, ZKL_QUERY_PARTICIPANTS,
                                               ZKL_QUERY_REVOKE};
    fake_cut(one);
    for (size_t i = 0; i < 3; i++) {
        one->state = ZKL_STATE_SUSPENDED;
        query_ask(questions[i], 5);
        CHECK(query->ask.stage != ZKL_ASK_DONE);
        one->state = ZKL_STATE_AUTH_FAILED;
        fake_leave(one);
        query_check_answered(ZKL_AUTH_FAILED);
        query_stop();
    }
}

/* Asks; the port says that to the list, or to what comes after the list. */
static void ask_deaf(zkl_query_kind kind, bool listed, int rc) {
    one->deaf = listed ? ZOK : rc;
    query_ask(kind, 5);
    if (listed) {
        CHECK(fake_carry(one));
        one->deaf = rc;
        CHECK(fake_deliver(one));
    }
    one->deaf = ZOK;
}

static void what_no_link_takes_is_asked_again_and_no_memory_is_told(void) {
    static const zkl_query_kind questions[] = {ZKL_QUERY_PARTICIPANTS, ZKL_QUERY_REVOKE};
    fake_holder(two);
    for (size_t i = 0; i < 4; i++) {
        ask_deaf(questions[i % 2], i / 2 != 0, ZINVALIDSTATE);
        CHECK(query->ask.stage != ZKL_ASK_DONE);
        fake_wait(zk, 0.1);
        fake_settle(one);
        query_check_answered(ZKL_OK);
        query_stop();
        ask_deaf(questions[i % 2], i / 2 != 0, ZMARSHALLINGERROR);
        query_check_answered(ZKL_NO_MEMORY);
        query_stop();
        ask_deaf(questions[i % 2], i / 2 != 0, ZBADARGUMENTS);
        query_check_answered(ZBADARGUMENTS);
        query_stop();
    }
}

static void what_is_refused_for_now_is_asked_again(void) {
    static const struct {
        zkl_query_kind kind;
        fake_op op;
    } requests[] = {
        {ZKL_QUERY_PARTICIPANTS, FAKE_LIST},
        {ZKL_QUERY_PARTICIPANTS, FAKE_GET},
        {ZKL_QUERY_REVOKE, FAKE_SET},
    };
    fake_caller *holder = fake_holder(two);
    fake_wait(zk, 0.1); /* it watches its node */
    fake_settle(two);
    for (size_t i = 0; i < 3; i++) {
        const unsigned before = one->counts[requests[i].op];
        fake_refuse(zk, requests[i].op, LINE, ZTHROTTLEDOP, 1);
        query_ask(requests[i].kind, 5);
        fake_settle(one);
        CHECK(query->ask.stage != ZKL_ASK_DONE);
        fake_wait(zk, 0.1);
        fake_settle(one);
        query_check_answered(ZKL_OK);
        CHECK_INT(one->counts[requests[i].op] - before, 2);
        query_stop();
    }
    fake_settle(two);
    CHECK_INT(holder->revocations, 1);
}

static void one_try_ends_when_a_server_refuses_it_for_now(void) {
    static const struct {
        zkl_query_kind kind;
        fake_op op;
        int rc;
        zkl_status status;
    } requests[] = {
        {ZKL_QUERY_PARTICIPANTS, FAKE_LIST, ZTHROTTLEDOP, ZTHROTTLEDOP},
        {ZKL_QUERY_PARTICIPANTS, FAKE_GET, ZTHROTTLEDOP, ZTHROTTLEDOP},
        {ZKL_QUERY_REVOKE, FAKE_LIST, ZTHROTTLEDOP, ZTHROTTLEDOP},
        {ZKL_QUERY_REVOKE, FAKE_SET, ZTHROTTLEDOP, ZTHROTTLEDOP},
        {ZKL_QUERY_PARTICIPANTS, FAKE_LIST, ZCONNECTIONLOSS, ZKL_DISCONNECTED},
        {ZKL_QUERY_REVOKE, FAKE_SET, ZCONNECTIONLOSS, ZKL_DISCONNECTED},
    };
    fake_holder(two);
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        const unsigned before = one->counts[requests[i].op];
        fake_refuse(zk, requests[i].op, LINE, requests[i].rc, 0);
        query_ask_once(requests[i].kind);
        fake_settle(one);
        query_check_answered(requests[i].status);
        CHECK_INT(one->counts[requests[i].op] - before, 1);
        fake_allow(zk);
        query_stop();
    }
}

/* ---- many ---- */

static void asks_some_at_a_time(void) {
    zkl_participant who;
    query_fill(500, NULL);
    query_ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_answer(one);
    while (query->ask.stage != ZKL_ASK_DONE) {
        CHECK(!zkl_listing_at(&query->listing, 0, &who));
        CHECK(fake_pending(one, FAKE_GET, NULL) <= ZKL_LISTING_WINDOW);
        CHECK(fake_answer(one));
    }
    query_check_answered(ZKL_OK);
    for (size_t i = 0; i < 500; i++)
        CHECK(zkl_listing_at(&query->listing, i, &who) && who.holder == (i == 0));
    CHECK(!zkl_listing_at(&query->listing, 500, &who));
}

static void a_deadline_ends_it_in_the_midst_of_many(void) {
    query_fill(500, NULL);
    query_ask(ZKL_QUERY_PARTICIPANTS, 5);
    for (unsigned i = 0; i < 100; i++)
        fake_answer(one);
    fake_wait(zk, 5);
    query_check_answered(ZKL_TIMEOUT);
    fake_settle(one); /* late answers find nobody, and nothing more is asked */
    CHECK(one->counts[FAKE_GET] <= 100 + ZKL_LISTING_WINDOW);
}

/* Whatever else is on its way. */
static void a_refusal_ends_it_in_the_midst_of_many(void) {
    zkl_participant who;
    query_fill(500, NULL);
    fake_refuse(zk, FAKE_GET, LINE, ZNOAUTH, 1);
    query_ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_settle(one);
    query_check_answered(ZKL_ACCESS_DENIED);
    CHECK_INT(one->counts[FAKE_GET], ZKL_LISTING_WINDOW);
    CHECK_INT(query->listing.status, ZKL_ACCESS_DENIED);
    CHECK(!zkl_listing_at(&query->listing, 0, &who));
}

static void too_many_are_not_read(void) {
    static const zkl_query_kind questions[] = {ZKL_QUERY_PARTICIPANTS, ZKL_QUERY_REVOKE};
    static const char *names[ZKL_LISTING_MOST + 1];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        names[i] = "garbage";
    for (size_t i = 0; i < 4; i++) {
        const size_t count = ZKL_LISTING_MOST + i / 2;
        query_ask(questions[i % 2], 5);
        query->listing.receiver.answer(&query->listing.receiver, &(zkl_return){.what = 0},
                                       &(zkl_reply){.names = names, .count = count});
        fake_leave(one);
        query_check_answered(count > ZKL_LISTING_MOST ? ZKL_TOO_MANY : ZKL_OK);
        fake_settle(one);
        CHECK_INT(one->counts[FAKE_GET] + one->counts[FAKE_SET], 0);
        zkl_ask_free(&query->ask);
        query = NULL;
    }
}

static void keeps_so_much_of_what_is_in_a_node(void) {
    static char data[5 * ZKL_LISTING_DATA_MOST];
    memset(data, 'x', sizeof data - 1);
    fake_write(zk, fake_stranger(zk, LINE, NULL), data);
    query_ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_settle(one);
    query_check_answered(ZKL_OK);
    zkl_participant who;
    CHECK(zkl_listing_at(&query->listing, 0, &who));
    CHECK_INT(who.identifier_length, ZKL_LISTING_DATA_MOST);
}

/* There was no memory for what it needs to begin. */
static void one_that_is_over_asks_for_nothing(void) {
    query_make(ZKL_QUERY_PARTICIPANTS);
    query->listing.done = true;
    query->listing.status = ZKL_NO_MEMORY;
    query_start(5);
    query_check_answered(ZKL_NO_MEMORY);
    CHECK_INT(one->counts[FAKE_LIST], 0);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"lists the line in order", tells_who_is_in_line_in_order},
        {"an owner that writes and reads holds twice", who_writes_and_reads_holds_twice},
        {"also when others were there before", also_when_others_were_there_before},
        {"a read under a write that waits does not hold",
         a_read_under_a_write_that_waits_does_not_hold},
        {"leases and locks are listed apart", leases_and_locks_are_listed_apart},
        {"leaves out contenders that left meanwhile", leaves_out_who_left_meanwhile},
        {"a line that does not exist is empty", nobody_is_in_a_line_that_is_not_there},
        {"asks again after a cut", asks_again_after_a_cut},
        {"the next link sends all requests again", of_the_next_link_all_is_asked_anew},
        {"asked once, it ends with the link", asked_once_it_ends_with_the_link},
        {"a refusal fails the query", a_refusal_is_told},
        {"a deadline ends it", a_deadline_ends_it},
        {"refused credentials end what asks the servers",
         refused_credentials_end_what_asks_the_servers},
        {"what no link takes is asked again, and no memory is told",
         what_no_link_takes_is_asked_again_and_no_memory_is_told},
        {"a request that is refused for now is sent again", what_is_refused_for_now_is_asked_again},
        {"one try ends when a server refuses it for now",
         one_try_ends_when_a_server_refuses_it_for_now},
        {"nodes are read some at a time", asks_some_at_a_time},
        {"a deadline ends it in the midst of many", a_deadline_ends_it_in_the_midst_of_many},
        {"a refusal ends it in the midst of many", a_refusal_ends_it_in_the_midst_of_many},
        {"too many are not read", too_many_are_not_read},
        {"a participant's data is truncated", keeps_so_much_of_what_is_in_a_node},
        {"a query that has ended sends nothing", one_that_is_over_asks_for_nothing},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, query_end);
}
