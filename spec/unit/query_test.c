/* Questions that are answered once: who is in line, is the hold still good, is there a session. */
#include "fake_world.h"

#include <string.h>

static zkl_query *query;
static bool of_leases; /* what the next one lists */

static void end(void) {
    of_leases = false;
    if (query)
        zkl_query_free(query);
    query = NULL;
    fake_world_end();
}

static void ask(zkl_query_kind asked, double seconds) {
    query = zkl_query_new(&one->queries, asked, 0);
    CHECK(query != NULL);
    query->listing.names = asked == ZKL_QUERY_REVOKE;
    if (asked == ZKL_QUERY_PARTICIPANTS || asked == ZKL_QUERY_REVOKE)
        CHECK(zkl_listing_init(&query->listing, &one->context, LINE, of_leases));
    zkl_query_start(query, zkl_clock_after(fake_now, seconds));
}

static void check_answered(zkl_status status) {
    CHECK(!query->pending);
    CHECK_INT(query->answer.kind, ZKL_EVENT_ANSWER);
    CHECK_TEXT(zkl_status_text(query->answer.status), zkl_status_text(status));
}

static void tells_who_is_in_line_in_order(void) {
    fake_holder(two);
    fake_waiter(one);
    fake_stranger(zk, LINE, "%s0123456789abcdef01234567__lock__");
    fake_make(zk, LINE "/garbage", "", ZKL_PERSISTENT, 0, NULL);
    ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_leave(one);
    CHECK_TEXT(fake_batch(one), "L");
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "GGG");
    fake_settle(one);
    check_answered(ZKL_OK);
    zkl_participant who;
    CHECK(zkl_listing_at(&query->listing, 0, &who));
    CHECK(who.holder && !who.mine && who.session == two->context.session && who.sequence == 0);
    CHECK(who.identifier_length == 2 && memcmp(who.identifier, "me", 2) == 0);
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
    ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_leave(one);
    fake_settle(one);
    check_answered(ZKL_OK);
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
    CHECK_INT(fake_make(zk, LINE "/x-__READ__0000000001", "", ZKL_PERSISTENT, 0, NULL), ZOK);
    ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_leave(one);
    fake_settle(one);
    check_answered(ZKL_OK);
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
        of_leases = leases;
        ask(ZKL_QUERY_PARTICIPANTS, 5);
        fake_leave(one);
        fake_settle(one);
        check_answered(ZKL_OK);
        const size_t count = leases ? 2 : 1;
        CHECK_INT(one->counts[FAKE_GET] - before, count);
        for (size_t i = 0; i < count; i++)
            CHECK(zkl_listing_at(&query->listing, i, &who) && who.holder &&
                  (who.kind == ZKL_KIND_LEASE) == leases);
        CHECK(!zkl_listing_at(&query->listing, count, &who));
        zkl_query_free(query);
    }
    of_leases = false;
    ask(ZKL_QUERY_REVOKE, 5);
    fake_leave(one);
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "W");
    CHECK_INT(fake_pending(one, FAKE_SET, lock), 1);
    fake_settle(one);
    CHECK_INT(query->revocation.asked, 1);
}

static void leaves_out_who_left_meanwhile(void) {
    fake_caller *p = fake_holder(two);
    fake_waiter(one);
    ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_leave(one);
    fake_answer(one);
    fake_remove(zk, fake_node_of(p));
    fake_settle(one);
    check_answered(ZKL_OK);
    zkl_participant who;
    CHECK(zkl_listing_at(&query->listing, 0, &who));
    CHECK(who.holder && who.mine);
    CHECK(!zkl_listing_at(&query->listing, 1, &who));
}

static void nobody_is_in_a_line_that_is_not_there(void) {
    fake_remove(zk, LINE);
    ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_leave(one);
    fake_settle(one);
    check_answered(ZKL_OK);
    zkl_participant who;
    CHECK(!zkl_listing_at(&query->listing, 0, &who));
}

static void asks_again_after_a_cut(void) {
    fake_holder(two);
    ask(ZKL_QUERY_PARTICIPANTS, 5);
    for (unsigned carried = 0; carried < 3; carried++) {
        fake_leave(one);
        for (unsigned i = 0; i < carried; i++)
            fake_answer(one);
        if (!query->pending)
            break;
        fake_cut(one);
        CHECK(query->pending);
        fake_connect(one);
    }
    fake_settle(one);
    check_answered(ZKL_OK);
    zkl_participant who;
    CHECK(zkl_listing_at(&query->listing, 0, &who));
    CHECK(!zkl_listing_at(&query->listing, 1, &who));
}

/* What a former link was asked is not heard of any more. */
static void of_the_next_link_all_is_asked_anew(void) {
    static const zkl_query_kind questions[] = {ZKL_QUERY_PARTICIPANTS, ZKL_QUERY_REVOKE};
    fake_holder(two);
    for (unsigned i = 0; i < 8; i++) {
        ask(questions[i % 2], 5);
        fake_leave(one);
        if (i / 2 % 2)
            fake_answer(one); /* the list: the nodes have been asked for */
        if (i / 4) {
            fake_expire(one);
        } else {
            fake_cut_quietly(one);
            fake_relink(one);
        }
        CHECK(query->pending);
        fake_connect(one);
        fake_settle(one);
        check_answered(ZKL_OK);
        zkl_query_free(query);
        query = NULL;
    }
}

static void asked_once_it_ends_with_the_link(void) {
    ask(ZKL_QUERY_PARTICIPANTS, 1e12);
    query->listing.once = true;
    fake_leave(one);
    CHECK(query->pending);
    fake_cut(one);
    check_answered(ZKL_DISCONNECTED);
}

static void a_refusal_is_told(void) {
    fake_refuse(zk, FAKE_LIST, LINE, ZNOAUTH, 0);
    ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_leave(one);
    fake_settle(one);
    check_answered(ZKL_ACCESS_DENIED);
}

static void a_deadline_ends_it(void) {
    ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_leave(one);
    fake_wait(zk, 5);
    check_answered(ZKL_TIMEOUT);
    fake_settle(one); /* late answers find nobody */
    zkl_query_free(query);
    fake_cut(one);
    ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_leave(one);
    fake_wait(zk, 5);
    check_answered(ZKL_DISCONNECTED);
}

static void stop_asking(void) {
    zkl_query_free(query);
    query = NULL;
}

static void refused_credentials_end_what_asks_the_servers(void) {
    static const zkl_query_kind questions[] = {ZKL_QUERY_SESSION, ZKL_QUERY_PARTICIPANTS,
                                               ZKL_QUERY_REVOKE};
    fake_cut(one);
    for (size_t i = 0; i < 3; i++) {
        one->state = ZKL_STATE_SUSPENDED;
        ask(questions[i], 5);
        fake_leave(one);
        CHECK(query->pending);
        one->state = ZKL_STATE_AUTH_FAILED;
        fake_leave(one);
        check_answered(ZKL_AUTH_FAILED);
        stop_asking();
    }
}

/* Asks; the port says that to the list, or to what comes after the list. */
static void ask_deaf(zkl_query_kind kind, bool listed, int rc) {
    one->deaf = listed ? ZOK : rc;
    ask(kind, 5);
    fake_leave(one);
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
        CHECK(query->pending);
        fake_wait(zk, 0.1);
        fake_settle(one);
        check_answered(ZKL_OK);
        stop_asking();
        ask_deaf(questions[i % 2], i / 2 != 0, ZMARSHALLINGERROR);
        check_answered(ZKL_NO_MEMORY);
        stop_asking();
        ask_deaf(questions[i % 2], i / 2 != 0, ZBADARGUMENTS);
        check_answered(ZBADARGUMENTS);
        stop_asking();
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
        ask(requests[i].kind, 5);
        fake_leave(one);
        fake_settle(one);
        CHECK(query->pending);
        fake_wait(zk, 0.1);
        fake_settle(one);
        check_answered(ZKL_OK);
        CHECK_INT(one->counts[requests[i].op] - before, 2);
        stop_asking();
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
        ask(requests[i].kind, 1e12);
        query->listing.once = true;
        fake_leave(one);
        fake_settle(one);
        check_answered(requests[i].status);
        CHECK_INT(one->counts[requests[i].op] - before, 1);
        fake_allow(zk);
        stop_asking();
    }
}

/* ---- many ---- */

static void fill(size_t count, const char *form) {
    for (size_t i = 0; i < count; i++)
        fake_stranger(zk, LINE, form);
}

static void asks_some_at_a_time(void) {
    zkl_participant who;
    fill(500, NULL);
    ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_leave(one);
    fake_answer(one);
    while (query->pending) {
        CHECK(!zkl_listing_at(&query->listing, 0, &who));
        CHECK(fake_pending(one, FAKE_GET, NULL) <= ZKL_LISTING_WINDOW);
        CHECK(fake_answer(one));
    }
    check_answered(ZKL_OK);
    for (size_t i = 0; i < 500; i++)
        CHECK(zkl_listing_at(&query->listing, i, &who) && who.holder == (i == 0));
    CHECK(!zkl_listing_at(&query->listing, 500, &who));
}

static void a_deadline_ends_it_in_the_midst_of_many(void) {
    fill(500, NULL);
    ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_leave(one);
    for (unsigned i = 0; i < 100; i++)
        fake_answer(one);
    fake_wait(zk, 5);
    check_answered(ZKL_TIMEOUT);
    fake_settle(one); /* late answers find nobody, and nothing more is asked */
    CHECK(one->counts[FAKE_GET] <= 100 + ZKL_LISTING_WINDOW);
}

/* Whatever else is on its way. */
static void a_refusal_ends_it_in_the_midst_of_many(void) {
    zkl_participant who;
    fill(500, NULL);
    fake_refuse(zk, FAKE_GET, LINE, ZNOAUTH, 1);
    ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_leave(one);
    fake_settle(one);
    check_answered(ZKL_ACCESS_DENIED);
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
        ask(questions[i % 2], 5);
        fake_leave(one);
        query->listing.receiver.answer(&query->listing.receiver, &(zkl_return){.what = 0},
                                       &(zkl_reply){.names = names, .count = count});
        fake_leave(one);
        check_answered(count > ZKL_LISTING_MOST ? ZKL_TOO_MANY : ZKL_OK);
        fake_settle(one);
        CHECK_INT(one->counts[FAKE_GET] + one->counts[FAKE_SET], 0);
        zkl_query_free(query);
        query = NULL;
    }
}

static void keeps_so_much_of_what_is_in_a_node(void) {
    static char data[5 * ZKL_LISTING_DATA_MOST];
    memset(data, 'x', sizeof data - 1);
    fake_write(zk, fake_stranger(zk, LINE, NULL), data);
    ask(ZKL_QUERY_PARTICIPANTS, 5);
    fake_leave(one);
    fake_settle(one);
    check_answered(ZKL_OK);
    zkl_participant who;
    CHECK(zkl_listing_at(&query->listing, 0, &who));
    CHECK_INT(who.identifier_length, ZKL_LISTING_DATA_MOST);
}

/* There was no memory for what it needs to begin. */
static void one_that_is_over_asks_for_nothing(void) {
    ask(ZKL_QUERY_PARTICIPANTS, 5);
    query->listing.done = true;
    query->listing.status = ZKL_NO_MEMORY;
    fake_leave(one);
    check_answered(ZKL_NO_MEMORY);
    CHECK_INT(one->counts[FAKE_LIST], 0);
}

/* ---- asking for it back ---- */

static void a_holder_that_leaves_just_then_is_not_taken_for_nobody(void) {
    fake_caller *p = fake_holder(two), *q = fake_waiter(two);
    fake_stranger(zk, LINE, NULL);
    ask(ZKL_QUERY_REVOKE, 5);
    fake_leave(one);
    fake_answer(one);
    CHECK_INT(fake_pending(one, FAKE_SET, fake_node_of(p)), 1);
    fake_release(p);
    fake_settle(two);
    CHECK(fake_held(q));
    fake_settle(one);
    check_answered(ZKL_OK);
    CHECK_INT(query->revocation.asked, 1);
    fake_settle(two);
    CHECK_INT(q->revocations, 1);
}

/* It has no deadline: it would wait for the next link. */
static void a_single_revocation_ends_with_the_link(void) {
    fake_caller *p = fake_holder(two);
    ask(ZKL_QUERY_REVOKE, 1e12);
    query->listing.once = true;
    fake_leave(one);
    fake_answer(one);
    CHECK_INT(fake_pending(one, FAKE_SET, fake_node_of(p)), 1);
    fake_cut(one);
    check_answered(ZKL_DISCONNECTED);
}

/* Those that were there have been asked: it does not begin anew for one that was not. */
static void of_several_one_may_leave_just_then(void) {
    fill(1, "_c_%s-__READ__");
    const char *stranger = fake_stranger(zk, LINE, "_c_%s-__READ__");
    fill(1, "_c_%s-__READ__");
    ask(ZKL_QUERY_REVOKE, 5);
    fake_leave(one);
    fake_answer(one);
    fake_remove(zk, stranger);
    fake_settle(one);
    check_answered(ZKL_OK);
    CHECK_INT(query->revocation.asked, 2);
    CHECK_INT(one->counts[FAKE_SET], 3);
    CHECK_INT(one->counts[FAKE_LIST], 1);
}

static void where_the_last_holder_leaves_just_then_nobody_holds(void) {
    fake_caller *p = fake_holder(two);
    ask(ZKL_QUERY_REVOKE, 5);
    fake_leave(one);
    fake_answer(one);
    fake_release(p);
    fake_settle(two);
    CHECK(query->pending);
    fake_settle(one);
    check_answered(ZKL_OK);
    CHECK_INT(query->revocation.asked, 0);
}

static void holders_that_never_stay_are_looked_for_until_the_deadline(void) {
    ask(ZKL_QUERY_REVOKE, 5);
    for (unsigned i = 0; i < 50; i++) {
        const char *stranger = fake_stranger(zk, LINE, NULL);
        fake_wait(zk, i > 1 ? 0.06 : 0); /* the first time it lists again at once */
        fake_leave(one);
        CHECK(fake_answer(one)); /* the list */
        fake_remove(zk, stranger);
        fake_stranger(zk, LINE, NULL);
        fake_remove(zk, fake_stranger(zk, LINE, NULL));
        CHECK(query->pending);
        fake_end_session(zk, 0xdead);
        CHECK(fake_carry(one)); /* the write finds nobody */
        fake_stranger(zk, LINE, NULL);
        CHECK(fake_deliver(one));
        fake_end_session(zk, 0xdead);
    }
    fake_wait(zk, 5);
    check_answered(ZKL_TIMEOUT);
}

/* The first refusal is the answer; those on their way find nobody. */
static void a_holder_that_may_not_be_asked_is_told_of(void) {
    fill(3, "_c_%s-__READ__");
    fake_refuse(zk, FAKE_SET, LINE, ZNOAUTH, 1);
    ask(ZKL_QUERY_REVOKE, 5);
    fake_leave(one);
    fake_answer(one);
    CHECK_TEXT(fake_batch(one), "WWW");
    fake_settle(one);
    check_answered(ZKL_ACCESS_DENIED);
    CHECK_INT(one->counts[FAKE_SET], 3);
}

/* No more are asked then. */
static void also_in_the_midst_of_many(void) {
    fill(300, "_c_%s-__READ__");
    fake_refuse(zk, FAKE_SET, LINE, ZNOAUTH, 1);
    ask(ZKL_QUERY_REVOKE, 5);
    fake_leave(one);
    fake_settle(one);
    check_answered(ZKL_ACCESS_DENIED);
    CHECK_INT(one->counts[FAKE_SET], ZKL_LISTING_WINDOW);
}

static void all_who_hold_are_asked(void) {
    fill(300, "_c_%s-__READ__");
    fake_stranger(zk, LINE, "_c_%s-__WRIT__");
    fill(10, "_c_%s-__READ__");
    ask(ZKL_QUERY_REVOKE, 5);
    fake_leave(one);
    fake_answer(one);
    CHECK(fake_pending(one, FAKE_SET, NULL) <= ZKL_LISTING_WINDOW);
    fake_cut(one); /* all again */
    fake_connect(one);
    fake_leave(one);
    fake_settle(one);
    check_answered(ZKL_OK);
    CHECK_INT(one->counts[FAKE_LIST], 1);
    CHECK_INT(query->revocation.asked, 300);
    CHECK_INT(one->counts[FAKE_GET], 0);
}

/* What is still on its way finds nobody: nothing more is asked. */
static void a_deadline_ends_the_asking_of_many(void) {
    fill(300, "_c_%s-__READ__");
    ask(ZKL_QUERY_REVOKE, 5);
    fake_leave(one);
    fake_answer(one);
    const unsigned asked = fake_pending(one, FAKE_SET, NULL);
    CHECK(asked > 0 && asked < 300);
    fake_wait(zk, 5);
    check_answered(ZKL_TIMEOUT);
    fake_settle(one);
    CHECK_INT(one->counts[FAKE_SET], asked);
}

static void ask_validity(fake_caller *p) {
    query = zkl_query_new(&one->queries, ZKL_QUERY_VALIDITY, 0);
    CHECK(query != NULL);
    query->held = p->contender;
    zkl_query_start(query, zkl_clock_after(fake_now, 60));
    fake_leave(one);
}

static void validity_is_answered_at_once_while_it_lasts(void) {
    ask_validity(fake_holder(one));
    check_answered(ZKL_OK);
    CHECK_TEXT(fake_batch(one), "");
}

/* With nothing left it is none. */
static void validity_lasts_until_its_end_and_not_longer(void) {
    fake_caller *p = fake_holder(one);
    fake_settle(one);
    fake_now = one->context.valid_until - 1;
    ask_validity(p);
    check_answered(ZKL_OK);
    zkl_query_free(query);
    fake_now++;
    ask_validity(p);
    CHECK(query->pending);
}

static void validity_that_ran_out_asks_the_servers(void) {
    fake_caller *p = fake_holder(one);
    fake_wait(zk, 30);
    fake_settle(one);
    ask_validity(p);
    CHECK(query->pending);
    fake_beat(one, 15);
    check_answered(ZKL_OK);
}

static void validity_of_what_was_lost_says_so(void) {
    fake_caller *p = fake_holder(one);
    fake_wait(zk, 30);
    fake_settle(one);
    ask_validity(p);
    fake_expire(one);
    check_answered(ZKL_LOST);
}

static void validity_of_what_was_dropped_says_so(void) {
    fake_caller *p = fake_holder(one);
    fake_wait(zk, 30);
    fake_settle(one);
    ask_validity(p);
    fake_drop(p);
    check_answered(ZKL_LOST);
}

/* Of two the other one is still there. */
static void what_is_dropped_is_lost_to_those_who_asked_for_it(void) {
    fake_directory(zk, "/locks/other");
    fake_caller *p = fake_holder(one), *q = fake_join(one, "/locks/other", 60);
    fake_settle(one);
    fake_wait(zk, 30);
    fake_settle(one);
    ask_validity(p);
    zkl_query *of_p = query;
    ask_validity(q);
    fake_drop(p);
    CHECK(query->pending);
    CHECK(!of_p->pending);
    CHECK_INT(of_p->answer.status, ZKL_LOST);
    zkl_query_free(of_p);
    fake_beat(one, 15);
    check_answered(ZKL_OK);
}

/* ---- what becomes of all of them ---- */

static void all_are_answered_when_the_client_closes(void) {
    zkl_query *asked[3];
    fake_cut(one);
    for (unsigned i = 0; i < 3; i++) {
        ask(i == 1 ? ZKL_QUERY_SESSION : ZKL_QUERY_PARTICIPANTS, 5);
        asked[i] = query;
    }
    zkl_queries_dismiss(&one->queries, ZKL_CLOSED);
    for (unsigned i = 0; i < 3; i++) {
        query = asked[i];
        check_answered(ZKL_CLOSED);
        stop_asking();
    }
}

/* Its answer goes with it. */
static void what_is_dropped_before_its_answer_is_heard_is_not_heard_of(void) {
    ask(ZKL_QUERY_SESSION, 5);
    zkl_query *other = query;
    one->busy = true; /* the host does not poll */
    ask(ZKL_QUERY_SESSION, 5);
    fake_leave(one);
    check_answered(ZKL_OK);
    stop_asking();
    zkl_event event;
    CHECK(zkl_events_peek(&one->context.events, &event));
    CHECK_INT(event.kind, ZKL_EVENT_ANSWER);
    zkl_events_forget(&one->context.events, event.serial);
    CHECK(!zkl_events_peek(&one->context.events, &event));
    one->busy = false;
    query = other;
}

/* ---- what has departed ---- */

/* The one that had departed before is on its way out; the node of one that departed later cannot be
 * deleted. */
static void a_flush_is_not_told_what_becomes_of_those_who_came_later(void) {
    fake_directory(zk, "/locks/other");
    fake_caller *p = fake_holder(one), *q = fake_join(one, "/locks/other", 60);
    fake_settle(one);
    fake_refuse(zk, FAKE_ERASE, LINE, ZTHROTTLEDOP, 1);
    fake_refuse(zk, FAKE_ERASE, "/locks/other", ZNOAUTH, 0);
    fake_release(p);
    query = fake_flush(one);
    fake_release(q);
    fake_settle(one);
    CHECK_INT(one->lines.common.refusals, 1);
    CHECK(query->pending);
    fake_wait(zk, 1);
    fake_settle(one);
    check_answered(ZKL_OK);
    stop_asking();
    query = fake_flush(one);
    fake_settle(one);
    check_answered(ZKL_ACCESS_DENIED);
}

static void whoever_drops_one_that_is_answered_takes_none_from_others(void) {
    zkl_query *asked[4];
    fake_holder(two);
    fake_cut(one);
    for (unsigned i = 0; i < 4; i++) {
        ask(i == 1 ? ZKL_QUERY_SESSION : ZKL_QUERY_PARTICIPANTS, 5);
        asked[i] = query;
    }
    fake_connect(one);
    fake_leave(one);
    query = asked[1];
    check_answered(ZKL_OK);
    stop_asking();
    zkl_query_free(asked[2]); /* nor does one that is not */
    fake_settle(one);
    query = asked[0];
    check_answered(ZKL_OK);
    stop_asking();
    query = asked[3];
    check_answered(ZKL_OK);
}

/* Whoever departed before it is still on its way out. */
static void the_first_refusal_answers_a_flush(void) {
    fake_directory(zk, "/locks/other");
    fake_caller *p = fake_holder(one), *q = fake_join(one, "/locks/other", 60);
    fake_settle(one);
    fake_refuse(zk, FAKE_ERASE, LINE, ZTHROTTLEDOP, 1);
    fake_refuse(zk, FAKE_ERASE, "/locks/other", ZNOAUTH, 0);
    fake_release(p);
    fake_release(q);
    query = fake_flush(one);
    CHECK(query->pending);
    fake_settle(one);
    CHECK(one->lines.common.departing.first != NULL);
    check_answered(ZKL_ACCESS_DENIED);
}

static void a_flush_is_answered_when_nobody_is_leaving(void) {
    query = fake_flush(one);
    check_answered(ZKL_OK);
    stop_asking();
    fake_caller *p = fake_holder(one);
    fake_release(p);
    query = fake_flush(one);
    CHECK(query->pending);
    fake_settle(one);
    check_answered(ZKL_OK);
}

static void an_answer_tells_which_question_it_is_of(void) {
    query = zkl_query_new(&one->queries, ZKL_QUERY_SESSION, 77);
    CHECK_INT(query->answer.tag, 77);
}

static void a_session_is_waited_for(void) {
    fake_cut(one);
    ask(ZKL_QUERY_SESSION, 5);
    fake_leave(one);
    CHECK(query->pending);
    fake_connect(one);
    check_answered(ZKL_OK);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"tells who is in line, in order", tells_who_is_in_line_in_order},
        {"who writes and reads holds twice", who_writes_and_reads_holds_twice},
        {"also when others were there before", also_when_others_were_there_before},
        {"a read under a write that waits does not hold",
         a_read_under_a_write_that_waits_does_not_hold},
        {"leases and locks are listed apart", leases_and_locks_are_listed_apart},
        {"leaves out who left meanwhile", leaves_out_who_left_meanwhile},
        {"nobody is in a line that is not there", nobody_is_in_a_line_that_is_not_there},
        {"asks again after a cut", asks_again_after_a_cut},
        {"of the next link all is asked anew", of_the_next_link_all_is_asked_anew},
        {"asked once, it ends with the link", asked_once_it_ends_with_the_link},
        {"a single revocation ends with the link", a_single_revocation_ends_with_the_link},
        {"a refusal is told", a_refusal_is_told},
        {"a deadline ends it", a_deadline_ends_it},
        {"refused credentials end what asks the servers",
         refused_credentials_end_what_asks_the_servers},
        {"what no link takes is asked again, and no memory is told",
         what_no_link_takes_is_asked_again_and_no_memory_is_told},
        {"what is refused for now is asked again", what_is_refused_for_now_is_asked_again},
        {"one try ends when a server refuses it for now",
         one_try_ends_when_a_server_refuses_it_for_now},
        {"nodes are read some at a time", asks_some_at_a_time},
        {"a deadline ends it in the midst of many", a_deadline_ends_it_in_the_midst_of_many},
        {"a refusal ends it in the midst of many", a_refusal_ends_it_in_the_midst_of_many},
        {"too many are not read", too_many_are_not_read},
        {"so much is kept of what is in a node", keeps_so_much_of_what_is_in_a_node},
        {"one that is over asks for nothing", one_that_is_over_asks_for_nothing},
        {"a holder that leaves just when it is asked is not taken for nobody",
         a_holder_that_leaves_just_then_is_not_taken_for_nobody},
        {"of several one may leave just then", of_several_one_may_leave_just_then},
        {"where the last holder leaves just then nobody holds",
         where_the_last_holder_leaves_just_then_nobody_holds},
        {"holders that never stay are looked for until the deadline",
         holders_that_never_stay_are_looked_for_until_the_deadline},
        {"a holder that may not be asked is told of", a_holder_that_may_not_be_asked_is_told_of},
        {"also in the midst of many", also_in_the_midst_of_many},
        {"what is dropped is lost to those who asked for it",
         what_is_dropped_is_lost_to_those_who_asked_for_it},
        {"all are answered when the client closes", all_are_answered_when_the_client_closes},
        {"what is dropped before its answer is heard is not heard of",
         what_is_dropped_before_its_answer_is_heard_is_not_heard_of},
        {"all who hold are asked, some at a time", all_who_hold_are_asked},
        {"a flush is not told what becomes of those who came later",
         a_flush_is_not_told_what_becomes_of_those_who_came_later},
        {"a deadline ends the asking of many", a_deadline_ends_the_asking_of_many},
        {"validity is answered at once while it lasts",
         validity_is_answered_at_once_while_it_lasts},
        {"validity lasts until its end, and not longer",
         validity_lasts_until_its_end_and_not_longer},
        {"validity that ran out asks the servers", validity_that_ran_out_asks_the_servers},
        {"validity of what was lost says so", validity_of_what_was_lost_says_so},
        {"validity of what was dropped says so", validity_of_what_was_dropped_says_so},
        {"whoever drops one that is answered takes none from others",
         whoever_drops_one_that_is_answered_takes_none_from_others},
        {"the first refusal answers a flush", the_first_refusal_answers_a_flush},
        {"a flush is answered when nobody is leaving", a_flush_is_answered_when_nobody_is_leaving},
        {"an answer tells which question it is of", an_answer_tells_which_question_it_is_of},
        {"a session is waited for", a_session_is_waited_for},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, end);
}
