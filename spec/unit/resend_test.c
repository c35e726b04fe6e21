/* SPDX-License-Identifier: MIT */
/* No request is repeated without a pause: whatever a client asks, and with whichever code the
 * servers answer each kind of request, it sends few requests a second while the link is up. A
 * server that throttles answers so, and one that lies may. */
#include "base/status.h"
#include "fake_world.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

#define NODE LINE "/x"

/* An answer takes that long: a client that repeats at once sends a thousand requests a second. */
#define ROUND_TRIP 0.001
#define SECONDS 4
/* Fifty rounds of all parents, or some requests ten times a second. */
#define REQUESTS_MOST 1000

#define CODE_FIRST (-130)

static fake_caller *caller;
static zkl_node_request *request;
static zkl_node_watch *view;
static zkl_query *query;

/* ---- what a client does ---- */

static void do_lock(void) {
    fake_join(one, LINE, 60);
}

static void do_lock_below(void) {
    fake_join(one, LINE "/b/c", 60);
}

static void do_try(void) {
    fake_try(one, LINE);
}

static void do_wait(void) {
    fake_stranger(zk, LINE, NULL);
    fake_join(one, LINE, 60);
}

static void do_wait_behind_two(void) {
    fake_stranger(zk, LINE, NULL);
    fake_stranger(zk, LINE, NULL);
    fake_join(one, LINE, 60);
    fake_join(one, LINE, 60);
}

static void held(void) {
    caller = fake_holder(one);
}

static void do_release(void) {
    fake_release(caller);
}

static void do_hold(void) {
}

static void do_read(void) {
    fake_stranger(zk, LINE, "_c_%s-__WRIT__");
    fake_read(one, LINE);
    fake_write_lock(one, LINE);
}

static void written(void) {
    caller = fake_write_lock(one, LINE);
    fake_settle(one);
}

static void do_read_under_write(void) {
    fake_read_under(caller, LINE);
}

static void do_multilock(void) {
    fake_stranger(zk, "/locks/b", NULL);
    fake_join_all(one, (const char *const[]){LINE, "/locks/b"}, 2, 60);
    fake_join_all(one, (const char *const[]){LINE, "/locks/c/d"}, 2, 60);
}

static void do_lease(void) {
    fake_stranger(zk, LINE "/leases", "_c_%s-lease-");
    fake_lease(one, LINE, 2, 3);
    fake_lease(one, LINE, 1, 3);
}

static void do_shared_node(void) {
    fake_share(one, LINE, 60);
    fake_share(one, LINE, 60);
    fake_share_kind(one, LINE, ZKL_KIND_READ, 60);
}

static void do_op(zkl_op_kind kind, const char *path, bool parents, bool several) {
    const zkl_op op = {.kind = kind, .path = path, .data = "", .version = -1, .parents = parents};
    request = zkl_node_request_new(&one->nodes,
                                   &(zkl_wish){.ops = &op, .count = 1, .several = several}, 0);
    must(request != NULL);
    zkl_ask_start(zkl_ask_of_request(request), zkl_clock_after(fake_now, 60));
    fake_leave(one);
}

static void do_get(void) {
    do_op(ZKL_OP_GET, NODE, false, false);
}

static void do_exists(void) {
    do_op(ZKL_OP_EXISTS, NODE, false, false);
}

static void do_children(void) {
    do_op(ZKL_OP_CHILDREN, NODE, false, false);
}

static void do_set(void) {
    do_op(ZKL_OP_SET, NODE, false, false);
}

static void do_delete(void) {
    do_op(ZKL_OP_DELETE, NODE, false, false);
}

static void do_create(void) {
    do_op(ZKL_OP_CREATE, NODE "/a/b/c", true, false);
}

static void do_several(void) {
    do_op(ZKL_OP_SET, NODE, false, true);
}

static void do_sync(void) {
    request = zkl_node_request_new(&one->nodes, &(zkl_wish){.count = 0}, 0);
    must(request != NULL);
    zkl_ask_start(zkl_ask_of_request(request), zkl_clock_after(fake_now, 60));
    fake_leave(one);
}

static void look_at(const char *path, bool children) {
    CHECK_INT(zkl_node_watch_open(&one->nodes, path, children, 0, &view), ZKL_OK);
    fake_leave(one);
}

static void do_watch(void) {
    look_at(NODE, false);
}

static void do_watch_children(void) {
    look_at(NODE, true);
}

static void do_watch_missing(void) {
    look_at(NODE "/none", true);
}

static void watched(void) {
    look_at(NODE, false);
    fake_settle(one);
}

static void do_unwatch(void) {
    zkl_node_watch_quit(view);
    view = NULL;
    fake_leave(one);
}

static void ask(zkl_query_kind kind) {
    fake_stranger(zk, LINE, NULL);
    fake_stranger(zk, LINE, NULL);
    query = zkl_query_new(&one->queries, kind, 0);
    must(query != NULL);
    query->listing.scope = kind == ZKL_QUERY_REVOKE ? ZKL_LISTING_NAMES : ZKL_LISTING_NODES;
    CHECK(zkl_listing_init(&query->listing, &one->context, LINE, false));
    if (kind == ZKL_QUERY_CHECK)
        CHECK(zkl_audit_init(&query->audit, &one->lines.common, LINE, 17, false));
    zkl_ask_start(&query->ask, zkl_clock_after(fake_now, 60));
    fake_leave(one);
}

static void do_participants(void) {
    ask(ZKL_QUERY_PARTICIPANTS);
}

static void do_revoke(void) {
    ask(ZKL_QUERY_REVOKE);
}

static void do_check(void) {
    ask(ZKL_QUERY_CHECK);
}

/* ---- how many requests that costs ---- */

typedef struct script {
    const char *name;
    void (*prepares)(void); /* when nothing is refused yet; NULL: nothing */
    void (*does)(void);
} script;

/* The servers' answer to all requests of a kind. */
typedef struct refusal {
    fake_op op;
    int rc;
} refusal;

static void let_go(void) {
    if (request)
        zkl_ask_free(zkl_ask_of_request(request));
    if (query)
        zkl_ask_free(&query->ask);
    if (view)
        zkl_node_watch_quit(view);
    request = NULL;
    query = NULL;
    view = NULL;
}

static unsigned requests_in_time(void) {
    const unsigned before = fake_asked(one);
    for (double passed = 0; passed < SECONDS && fake_asked(one) - before <= REQUESTS_MOST;) {
        const double moment = fake_answer(one) || one->sent ? ROUND_TRIP : 20 * ROUND_TRIP;
        fake_wait(zk, moment);
        passed += moment;
    }
    return fake_asked(one) - before;
}

static void make_directories(zkl_acl acl) {
    static const char *const paths[] = {NODE, "/locks/b", LINE "/locks", LINE "/leases"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        fake_directory(zk, paths[i]);
    for (size_t i = 0; i < zk->count; i++)
        zk->nodes[i]->closed = acl != ZKL_ACL_OPEN;
}

static void check_one(const script *s, refusal refused, zkl_acl acl) {
    check_note("%s, requests %d answered with %d, acl %d", s->name, refused.op, refused.rc, acl);
    fake_world_begin();
    one->context.acl = acl;
    make_directories(acl);
    if (s->prepares)
        s->prepares();
    fake_refuse(zk, refused.op, "", refused.rc, 0);
    s->does();
    const unsigned sent = requests_in_time();
    let_go();
    fake_world_end();
    CHECK(sent <= REQUESTS_MOST);
}

/* One that is refused for good stays with the library, and the fake counts it. */
static bool is_tried(const script *s, refusal refused) {
    return s->does != do_unwatch || refused.op != FAKE_UNWATCH || zkl_status_passes(refused.rc);
}

static void check_script(const script *s) {
    static const zkl_acl acls[] = {ZKL_ACL_OPEN, ZKL_ACL_CREATOR};
    for (int op = 0; op < FAKE_OPS; op++)
        for (int rc = CODE_FIRST; rc < 0; rc++)
            for (size_t i = 0; i < 2; i++)
                if (is_tried(s, (refusal){(fake_op)op, rc}))
                    check_one(s, (refusal){(fake_op)op, rc}, acls[i]);
}

static const script scripts[] = {
    {"a lock", NULL, do_lock},
    {"a lock below directories that are missing", NULL, do_lock_below},
    {"a single try", NULL, do_try},
    {"a wait", NULL, do_wait},
    {"a wait behind two", NULL, do_wait_behind_two},
    {"a hold", held, do_hold},
    {"a release", held, do_release},
    {"a reader and a writer", NULL, do_read},
    {"a read under a write", written, do_read_under_write},
    {"multilocks", NULL, do_multilock},
    {"leases", NULL, do_lease},
    {"a node that callers share", NULL, do_shared_node},
    {"get", NULL, do_get},
    {"exists", NULL, do_exists},
    {"children", NULL, do_children},
    {"set", NULL, do_set},
    {"delete", NULL, do_delete},
    {"create", NULL, do_create},
    {"multi", NULL, do_several},
    {"sync", NULL, do_sync},
    {"a watch", NULL, do_watch},
    {"a watch on children", NULL, do_watch_children},
    {"a watch on a missing node", NULL, do_watch_missing},
    {"the end of a watch", watched, do_unwatch},
    {"participants", NULL, do_participants},
    {"revoke", NULL, do_revoke},
    {"check", NULL, do_check},
};

static void nothing_is_repeated_without_a_pause(void) {
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        check_script(&scripts[i]);
}

/* ---- answers that contradict each other ---- */

static void children_that_are_listed_and_not_there_are_listed_few_times(void) {
    fake_world_begin();
    for (unsigned i = 0; i < 3; i++)
        fake_refuse(zk, FAKE_GET, fake_stranger(zk, LINE, NULL), ZNONODE, 0);
    fake_caller *waiter = fake_join(one, LINE, 60);
    const unsigned sent = requests_in_time();
    CHECK(sent <= REQUESTS_MOST / 4 && fake_waits(waiter));
    fake_world_end();
}

static void a_node_that_is_made_and_never_listed_is_made_few_times(void) {
    fake_world_begin();
    fake_stranger(zk, LINE, NULL);
    fake_refuse(zk, FAKE_LIST, LINE, ZNONODE, 0);
    fake_caller *waiter = fake_join(one, LINE, 60);
    const unsigned sent = requests_in_time();
    CHECK(sent <= REQUESTS_MOST / 4 && fake_waits(waiter));
    fake_allow(zk);
    fake_wait(zk, 10);
    fake_settle(one);
    CHECK(fake_waits(waiter) && fake_node_of(waiter));
    fake_world_end();
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"nothing is repeated without a pause, whatever is asked and however it is answered",
         nothing_is_repeated_without_a_pause},
        {"children that are listed and not there are listed few times",
         children_that_are_listed_and_not_there_are_listed_few_times},
        {"a node that is made and never listed is made few times",
         a_node_that_is_made_and_never_listed_is_made_few_times},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
