/* SPDX-License-Identifier: MIT */
/* Does a node with this token hold? */
#include "query_world.h"

static int64_t token_of(const char *node) {
    return fake_find(zk, node, FAKE_LATEST)->czxid;
}

static void ask(int64_t token) {
    query_token = token;
    query_ask(ZKL_QUERY_CHECK, 5);
}

static void ask_once(int64_t token) {
    query_token = token;
    query_ask_once(ZKL_QUERY_CHECK);
}

/* Asks, and looks at the answer. */
static void check_of(int64_t token, zkl_status status) {
    ask(token);
    fake_settle(one);
    query_check_answered(status);
    query_stop();
}

static void the_first_of_a_mutex_holds(void) {
    fake_caller *holder = fake_holder(two), *waiter = fake_waiter(two);
    const int64_t token = token_of(fake_node_of(holder));
    ask(token);
    CHECK_TEXT(fake_batch(one), "SDLL");
    for (unsigned i = 0; i < 4; i++)
        fake_answer(one);
    CHECK_TEXT(fake_batch(one), "E");
    CHECK_INT(fake_pending(one, FAKE_EXISTS, fake_node_of(holder)), 1);
    fake_settle(one);
    query_check_answered(ZKL_OK);
    query_stop();
    check_of(token_of(fake_node_of(waiter)), ZKL_NOT_OWNER);
    check_of(token + 1000, ZKL_NOT_OWNER);
    check_of(0, ZKL_NOT_OWNER);
}

static void nobody_holds_at_a_path_that_is_not_there(void) {
    fake_remove(zk, LINE);
    check_of(17, ZKL_NOT_OWNER);
}

static void all_readers_in_front_hold(void) {
    int64_t tokens[4];
    for (size_t i = 0; i < 4; i++)
        tokens[i] = token_of(fake_stranger(zk, LINE, i == 2 ? "_c_%s-__WRIT__" : "_c_%s-__READ__"));
    for (size_t i = 0; i < 4; i++)
        check_of(tokens[i], i < 2 ? ZKL_OK : ZKL_NOT_OWNER);
}

static void a_write_under_which_a_read_was_taken_holds(void) {
    fake_caller *write = fake_write_lock(two, LINE);
    fake_settle_all(zk);
    const int64_t token = token_of(fake_node_of(write));
    fake_caller *read = fake_read_under(write, LINE);
    fake_settle_all(zk);
    CHECK(fake_held(read));
    check_of(token, ZKL_OK);
    fake_release(write);
    fake_settle_all(zk);
    CHECK_INT(read->contender->token, token);
    check_of(token, ZKL_NOT_OWNER);
}

/* The read has the token of the write, which this client still has. */
static void a_write_holds_whose_read_this_client_gives_back(void) {
    fake_caller *write = fake_write_lock(one, LINE);
    fake_settle_all(zk);
    fake_caller *read = fake_read_under(write, LINE);
    fake_settle_all(zk);
    fake_refuse(zk, FAKE_ERASE, fake_node_of(read), ZTHROTTLEDOP, 0);
    fake_release(read);
    fake_settle(one);
    check_of(write->token, ZKL_OK);
}

static void each_lease_of_a_semaphore_holds(void) {
    fake_directory(zk, LINE "/leases");
    const char *first = fake_stranger(zk, LINE "/leases", "_c_%s-lease-");
    const char *second = fake_stranger(zk, LINE "/leases", "_c_%s-lease-");
    const int64_t gone = token_of(second) + 1;
    check_of(token_of(first), ZKL_OK);
    check_of(token_of(second), ZKL_OK);
    check_of(gone, ZKL_NOT_OWNER);
    fake_remove(zk, second);
    check_of(token_of(first), ZKL_OK);
}

/* A lease among the nodes of another lock counts for nothing, and neither does a lock among
 * leases. */
static void what_is_in_the_wrong_directory_does_not_hold(void) {
    fake_directory(zk, LINE "/leases");
    const char *lease = fake_stranger(zk, LINE, "_c_%s-lease-");
    const char *lock = fake_stranger(zk, LINE "/leases", NULL);
    check_of(token_of(lease), ZKL_NOT_OWNER);
    check_of(token_of(lock), ZKL_NOT_OWNER);
}

/* Its server shows what was before. */
static void a_server_that_lags_is_not_believed(void) {
    fake_caller *p = fake_holder(two);
    const int64_t token = p->token;
    fake_lag(one, fake_find(zk, fake_node_of(p), FAKE_LATEST)->czxid);
    fake_release(p);
    fake_settle(two);
    check_of(token, ZKL_NOT_OWNER);
}

/* The servers have committed nothing: the lists may be old, so they are asked for again. */
static void lists_count_only_behind_the_write(void) {
    fake_caller *p = fake_holder(two);
    fake_refuse(zk, FAKE_ERASE, one->heart.nothing, ZTHROTTLEDOP, 1);
    ask(p->token);
    fake_settle(one);
    CHECK(query->ask.stage != ZKL_ASK_DONE);
    fake_release(p);
    fake_settle(two);
    fake_wait(zk, 0.2);
    CHECK_TEXT(fake_batch(one), "SDLL");
    fake_settle(one);
    query_check_answered(ZKL_NOT_OWNER);
}

static void asks_again_after_a_cut(void) {
    fake_caller *p = fake_holder(two);
    for (unsigned carried = 0; carried < 5; carried++) {
        ask(p->token);
        for (unsigned i = 0; i < carried; i++)
            fake_answer(one);
        CHECK(query->ask.stage != ZKL_ASK_DONE);
        if (carried % 2) {
            fake_cut(one);
        } else {
            fake_cut_quietly(one);
            fake_relink(one);
        }
        CHECK(query->ask.stage != ZKL_ASK_DONE);
        fake_connect(one);
        fake_settle(one);
        query_check_answered(ZKL_OK);
        query_stop();
    }
}

/* The first link has shown the line, the second one shows the leases: the line counts anew. */
static void of_the_next_link_both_lists_are_asked_for(void) {
    fake_caller *p = fake_holder(two), *q = fake_waiter(two);
    fake_refuse(zk, FAKE_LIST, LINE "/leases", ZTHROTTLEDOP, 1);
    ask(token_of(fake_node_of(q)));
    fake_settle(one);
    CHECK(query->ask.stage != ZKL_ASK_DONE); /* the leases are not known */
    fake_cut(one);
    fake_release(p);
    fake_settle(two);
    CHECK(fake_held(q));
    fake_connect(one);
    fake_settle(one);
    query_check_answered(ZKL_OK);
}

static void one_try_ends_with_the_servers_first_answer(void) {
    static const struct {
        fake_op op;
        const char *path;
        int rc;
        zkl_status status;
    } refused[] = {
        {FAKE_ERASE, NULL, ZTHROTTLEDOP, ZTHROTTLEDOP},
        {FAKE_LIST, LINE, ZTHROTTLEDOP, ZTHROTTLEDOP},
        {FAKE_LIST, LINE, ZCONNECTIONLOSS, ZKL_DISCONNECTED},
        {FAKE_EXISTS, LINE, ZTHROTTLEDOP, ZTHROTTLEDOP},
    };
    fake_caller *p = fake_holder(two);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *path = refused[i].path ? refused[i].path : one->heart.nothing;
        check_note("%zu", i);
        fake_refuse(zk, refused[i].op, path, refused[i].rc, 0);
        ask_once(p->token);
        fake_settle(one);
        query_check_answered(refused[i].status);
        fake_allow(zk);
        query_stop();
    }
    ask_once(p->token);
    fake_settle(one);
    query_check_answered(ZKL_OK);
    query_stop();
    ask_once(p->token);
    fake_cut(one);
    query_check_answered(ZKL_DISCONNECTED);
}

static void a_refusal_is_told(void) {
    static const struct {
        fake_op op;
        const char *path;
    } refused[] = {{FAKE_LIST, LINE}, {FAKE_LIST, LINE "/leases"}, {FAKE_EXISTS, LINE}};
    fake_caller *p = fake_holder(two);
    for (size_t i = 0; i < 3; i++) {
        check_note("%zu", i);
        fake_refuse(zk, refused[i].op, refused[i].path, ZNOAUTH, 0);
        check_of(p->token, ZKL_ACCESS_DENIED);
        fake_allow(zk);
    }
}

static void a_deadline_ends_it(void) {
    ask(17);
    fake_wait(zk, 5);
    query_check_answered(ZKL_TIMEOUT);
    fake_settle(one);
    query_stop();
    fake_cut(one);
    ask(17);
    fake_wait(zk, 5);
    query_check_answered(ZKL_DISCONNECTED);
}

/* The delete has been refused, and goes out again later. */
static void what_this_client_has_given_back_does_not_hold(void) {
    fake_caller *p = fake_holder(one);
    const int64_t token = p->token;
    check_of(token, ZKL_OK);
    fake_refuse(zk, FAKE_ERASE, LINE, ZTHROTTLEDOP, 0);
    fake_release(p);
    fake_settle(one);
    CHECK_INT(fake_find(zk, LINE, FAKE_LATEST)->child_count, 1);
    check_of(token, ZKL_NOT_OWNER);
}

/* The servers carry the delete out before they show the leases. */
static void what_this_client_has_given_back_never_holds(void) {
    fake_caller *p = fake_holder(one);
    const int64_t token = p->token;
    fake_refuse(zk, FAKE_ERASE, LINE, ZTHROTTLEDOP, 1);
    fake_release(p);
    fake_settle(one);
    fake_refuse(zk, FAKE_LIST, LINE "/leases", ZTHROTTLEDOP, 0);
    ask(token);
    fake_settle(one);
    fake_wait(zk, 1); /* the delete goes out again */
    fake_settle(one);
    CHECK_INT(fake_find(zk, LINE, FAKE_LATEST)->child_count, 0);
    fake_allow(zk);
    fake_wait(zk, 1);
    fake_settle(one);
    query_check_answered(ZKL_NOT_OWNER);
}

/* A holder that has left since the list is not taken for the one that is asked about. */
static void a_holder_may_leave_just_then(void) {
    fake_caller *p = fake_holder(two);
    fake_waiter(two);
    ask(p->token);
    for (unsigned i = 0; i < 4; i++)
        fake_answer(one);
    CHECK_TEXT(fake_batch(one), "E");
    fake_release(p);
    fake_settle(two);
    fake_settle(one);
    query_check_answered(ZKL_NOT_OWNER);
}

/* It reads no more nodes than it needs, and not the waiters. */
static void many_are_asked_about_some_at_a_time(void) {
    const char *first = fake_stranger(zk, LINE, "_c_%s-__READ__");
    query_fill(300, "_c_%s-__READ__");
    const char *last = fake_stranger(zk, LINE, "_c_%s-__READ__");
    query_fill(300, "_c_%s-__WRIT__");
    check_of(token_of(last), ZKL_OK);
    CHECK_INT(one->counts[FAKE_EXISTS], 302);
    check_of(token_of(first), ZKL_OK);
    CHECK(one->counts[FAKE_EXISTS] <= 302 + ZKL_LISTING_WINDOW);
}

static void no_memory_is_told_and_what_no_link_takes_is_asked_again(void) {
    static const int rcs[] = {ZMARSHALLINGERROR, ZBADARGUMENTS, ZINVALIDSTATE};
    static const zkl_status statuses[] = {ZKL_NO_MEMORY, ZBADARGUMENTS, ZKL_OK};
    fake_caller *p = fake_holder(two);
    for (size_t i = 0; i < 3; i++) {
        one->deaf = rcs[i];
        ask(p->token);
        one->deaf = ZOK;
        fake_wait(zk, 0.2);
        fake_settle(one);
        query_check_answered(statuses[i]);
        query_stop();
    }
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"the first of a mutex holds", the_first_of_a_mutex_holds},
        {"nobody holds at a path that is not there", nobody_holds_at_a_path_that_is_not_there},
        {"all readers in front hold", all_readers_in_front_hold},
        {"a write under which a read was taken holds", a_write_under_which_a_read_was_taken_holds},
        {"a write holds whose read this client gives back",
         a_write_holds_whose_read_this_client_gives_back},
        {"each lease of a semaphore holds", each_lease_of_a_semaphore_holds},
        {"what is in the wrong directory does not hold",
         what_is_in_the_wrong_directory_does_not_hold},
        {"a server that lags is not believed", a_server_that_lags_is_not_believed},
        {"lists count only behind the write", lists_count_only_behind_the_write},
        {"asks again after a cut", asks_again_after_a_cut},
        {"of the next link both lists are asked for", of_the_next_link_both_lists_are_asked_for},
        {"one try ends with the servers' first answer", one_try_ends_with_the_servers_first_answer},
        {"a refusal is told", a_refusal_is_told},
        {"a deadline ends it", a_deadline_ends_it},
        {"what this client has given back does not hold",
         what_this_client_has_given_back_does_not_hold},
        {"what this client has given back never holds",
         what_this_client_has_given_back_never_holds},
        {"a holder may leave just then", a_holder_may_leave_just_then},
        {"many are asked about some at a time", many_are_asked_about_some_at_a_time},
        {"no memory is told, and what no link takes is asked again",
         no_memory_is_told_and_what_no_link_takes_is_asked_again},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, query_end);
}
