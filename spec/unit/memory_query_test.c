/* SPDX-License-Identifier: MIT */
/* Nodes, watches and questions without memory. */
#include "memory_world.h"

/* ---- nodes ---- */

#define NODE "/locks/x"

static void run_node_request(const zkl_wish *wish) {
    zkl_node_request *request = zkl_node_request_new(&one->nodes, wish, memory.node_request_count);
    one->answered[memory.node_request_count] = 0;
    memory.requests[memory.node_request_count++] = request;
    if (request)
        zkl_ask_start(zkl_ask_of_request(request), ZKL_NEVER);
    fake_leave(one);
}

static void nodes_are_read_and_written(void) {
    fake_caller *p = fake_join(one, LINE, MEMORY_LATER);
    fake_settle_all(zk);
    zkl_op ops[] = {
        {.kind = ZKL_OP_CREATE, .path = "/locks/p/q", .data = "1", .length = 1, .parents = true},
        {.kind = ZKL_OP_CREATE, .path = NODE, .data = "1", .length = 1},
        {.kind = ZKL_OP_SET, .path = NODE, .data = "2", .length = 1, .version = -1},
        {.kind = ZKL_OP_GET, .path = NODE},
        {.kind = ZKL_OP_CHILDREN, .path = "/locks"},
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        run_node_request(&(zkl_wish){.ops = &ops[i], .count = 1});
    run_node_request(&(zkl_wish){.count = 0});
    fake_settle_all(zk);
    if (p)
        run_node_request(
            &(zkl_wish){.ops = &ops[2], .count = 1, .several = true, .guard = p->contender});
    fake_settle_all(zk);
    memory_release(p);
    fake_settle_all(zk);
}

/* The last content that it is told is the node's, once there is memory. */
static void a_node_is_looked_at(void) {
    if (zkl_node_watch_open(&one->nodes, NODE, false, 1, &memory.view) != ZKL_OK)
        memory.view = NULL;
    fake_leave(one);
    fake_settle_all(zk);
    CHECK_INT(fake_make(zk, NODE, "1", FAKE_PERSISTENT, 0, NULL), ZOK);
    fake_settle_all(zk);
    fake_cut(one);
    fake_connect(one);
    fake_settle_all(zk);
}

/* ---- questions ---- */

static int64_t memory_token; /* of which an audit is */

static void ask(zkl_query_kind asked) {
    memory.query = zkl_query_new(&one->queries, asked, 0);
    if (!memory.query)
        return;
    if (asked != ZKL_QUERY_FLUSH &&
        !zkl_listing_init(&memory.query->listing, &one->context, LINE, false)) {
        zkl_ask_free(&memory.query->ask);
        memory.query = NULL;
        return;
    }
    if (asked == ZKL_QUERY_CHECK &&
        !zkl_audit_init(&memory.query->audit, &one->lines.common, LINE, memory_token, false)) {
        memory.query->audit.status = ZKL_NO_MEMORY;
        memory.query->audit.done = true;
    }
    memory.query->departures = one->lines.common.departures;
    zkl_ask_start(&memory.query->ask, ZKL_NEVER);
    fake_leave(one);
}

/* Answered at once, with the only error there can be. */
static void check_query(void) {
    fake_settle_all(zk);
    if (!memory.query)
        return;
    CHECK(memory.query->ask.stage == ZKL_ASK_DONE);
    CHECK(memory.query->ask.answer.status == ZKL_OK ||
          memory.query->ask.answer.status == ZKL_NO_MEMORY);
    zkl_participant who;
    size_t count = 0;
    for (; zkl_listing_at(&memory.query->listing, count, &who); count++)
        CHECK(who.session != 0 && who.identifier && who.identifier_length > 0);
    CHECK_INT(count, memory.query->ask.answer.status == ZKL_OK ? 4 : 0);
}

static void somebody_asks_who_is_there(void) {
    for (unsigned i = 0; i < 4; i++)
        fake_stranger(zk, LINE, NULL);
    ask(ZKL_QUERY_PARTICIPANTS);
    check_query();
}

static void somebody_asks_and_the_link_goes(void) {
    for (unsigned i = 0; i < 4; i++)
        fake_stranger(zk, LINE, NULL);
    ask(ZKL_QUERY_PARTICIPANTS);
    fake_answer(one);
    fake_answer(one);
    fake_cut(one);
    fake_connect(one);
    check_query();
}

static void somebody_asks_for_it(void) {
    const char *strangers[3];
    for (size_t i = 0; i < 3; i++)
        strangers[i] = fake_stranger(zk, LINE, "_c_%s-__READ__");
    ask(ZKL_QUERY_REVOKE);
    fake_settle_all(zk);
    if (!memory.query)
        return;
    CHECK(memory.query->ask.stage == ZKL_ASK_DONE);
    CHECK(memory.query->ask.answer.status == ZKL_OK ||
          memory.query->ask.answer.status == ZKL_NO_MEMORY);
    const bool good = memory.query->ask.answer.status == ZKL_OK;
    CHECK_INT(memory.query->revocation.asked, good ? 3 : 0);
    for (size_t i = 0; good && i < 3; i++)
        CHECK_TEXT(fake_find(zk, strangers[i], FAKE_LATEST)->data, "__REVOKE__");
}

static void somebody_asks_for_a_hold(void) {
    fake_stranger(zk, LINE, "_c_%s-__READ__");
    const char *second = fake_stranger(zk, LINE, "_c_%s-__READ__");
    memory_token = fake_find(zk, second, FAKE_LATEST)->czxid;
    ask(ZKL_QUERY_CHECK);
    fake_answer(one);
    fake_cut(one);
    fake_connect(one);
    fake_settle_all(zk);
    if (!memory.query)
        return;
    CHECK(memory.query->ask.stage == ZKL_ASK_DONE);
    CHECK(memory.query->ask.answer.status == ZKL_OK ||
          memory.query->ask.answer.status == ZKL_NO_MEMORY);
}

static void somebody_waits_for_releases(void) {
    fake_caller *p = fake_join(one, LINE, MEMORY_LATER);
    fake_settle_all(zk);
    memory_release(p);
    ask(ZKL_QUERY_FLUSH);
    fake_settle_all(zk);
}

/* ---- the mark ---- */

#define MARK LINE "/" ZKL_ONCE_NODE
#define MARK_TAG (FAKE_NODE_REQUESTS - 1)

/* Answered once; what it says is so. */
static void mark_it(fake_caller *holder) {
    const zkl_once_terms terms = {.task = ZKL_ONCE_ASK_AND_MARK,
                                  .held = holder->contender,
                                  .seconds = 60,
                                  .tag = MARK_TAG,
                                  .deadline = ZKL_NEVER};
    zkl_once *once = zkl_once_new(&one->onces, &terms);
    one->answered[MARK_TAG] = 0;
    if (!once)
        return;
    zkl_ask_start(zkl_ask_of_once(once), ZKL_NEVER);
    fake_leave(one);
    fake_settle_all(zk);
    CHECK_INT(one->answered[MARK_TAG], 1);
    const bool good = one->answers[MARK_TAG] == ZKL_OK;
    CHECK(good || one->answers[MARK_TAG] == ZKL_NO_MEMORY);
    CHECK(!good || fake_find(zk, MARK, FAKE_LATEST));
    zkl_ask_free(zkl_ask_of_once(once));
}

static void the_mark_is_written(void) {
    fake_caller *p = fake_join(one, LINE, MEMORY_LATER);
    fake_settle_all(zk);
    if (p && fake_held(p)) {
        mark_it(p);
        mark_it(p);
    }
    if (fake_find(zk, MARK, FAKE_LATEST))
        CHECK_INT(fake_remove(zk, MARK), ZOK);
    memory_release(p);
    fake_settle_all(zk);
}

SCENARIO(the_mark_is_written)
SCENARIO(somebody_asks_who_is_there)
SCENARIO(somebody_asks_and_the_link_goes)
SCENARIO(somebody_asks_for_it)
SCENARIO(somebody_asks_for_a_hold)
SCENARIO(somebody_waits_for_releases)
SCENARIO(nodes_are_read_and_written)
SCENARIO(a_node_is_looked_at)

int main(int argc, char **argv) {
    static const check_case cases[] = {
        CASES("somebody asks who is there", somebody_asks_who_is_there),
        CASES("somebody asks and the link goes", somebody_asks_and_the_link_goes),
        CASES("somebody asks for it", somebody_asks_for_it),
        CASES("somebody asks for a hold", somebody_asks_for_a_hold),
        CASES("somebody waits for releases", somebody_waits_for_releases),
        CASES("nodes are read and written", nodes_are_read_and_written),
        CASES("a node is looked at", a_node_is_looked_at),
        CASES("the mark is written", the_mark_is_written),
    };
    return check_run(CHECK_CASES(cases), argc, argv, memory_begin, memory_end);
}
