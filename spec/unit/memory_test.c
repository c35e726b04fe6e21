/* A line whose allocations fail: in every scenario each one in turn, alone and with all that come
 * after it. Whatever that does: who joined is answered, who waits is served when there is memory
 * again, and nothing is left. A failure prints the allocation. */
#include "fake_world.h"
#include "scarce.h"

#include <stdio.h>

#define LATER 1e12
#define DRY 1000000 /* in a row: all */
#define ROUNDS_MOST 100

static bool upset;   /* the scenario takes holds away */
static bool several; /* places that are one: one that cannot be entered later ends them all */
static const fake_caller *asked_for[2];
static zkl_query *query;
static zkl_errand *errands[FAKE_ERRANDS]; /* of one, by tag; NULL: it had no memory */
static size_t errand_count;
static zkl_view *view;

static void begin(void) {
    errand_count = 0;
    view = NULL;
    upset = several = false;
    asked_for[0] = asked_for[1] = NULL;
    fake_world_begin();
}

static void end(void) {
    scarce_plan(0, 0);
    if (query)
        zkl_query_free(query);
    query = NULL;
    if (view)
        zkl_view_quit(view);
    for (size_t i = 0; i < errand_count; i++)
        if (errands[i])
            zkl_errand_free(errands[i]);
    errand_count = 0;
    fake_world_end();
}

/* ---- there is memory again ---- */

static void pass_time(void) {
    fake_settle_all(zk);
    fake_wait(zk, 6); /* what could not be sent is sent again */
    fake_settle_all(zk);
}

static bool anybody(void) {
    return one->context.counters.waiting + two->context.counters.waiting +
               one->context.counters.held + two->context.counters.held >
           0;
}

static void heal(void) {
    for (fake_client *c = zk->clients; c; c = c->next) {
        if (!c->alive && c->context.session)
            fake_expire(c);
        if (!c->context.port)
            fake_connect(c);
        fake_catch_up(c);
    }
    pass_time();
    if (!anybody() && !view)
        CHECK_INT(fake_watched(one) + fake_watched(two), 0); /* nobody wants to know */
    fake_end_session(zk, 0xdead);                            /* strangers do not stay for ever */
    pass_time();
}

static void release_all(void) {
    for (fake_client *c = zk->clients; c; c = c->next)
        for (fake_caller *p = c->callers; p; p = p->next)
            if (fake_held(p))
                CHECK_INT(fake_release(p), ZKL_OK);
}

static void check_answers(void) {
    for (fake_client *c = zk->clients; c; c = c->next) {
        for (fake_caller *p = c->callers; p; p = p->next) {
            CHECK_INT(p->answers, 1);
            CHECK(p->losses == 0 || upset);
            if (p->status == ZKL_NO_MEMORY)
                CHECK(several);
            else if (p->status == ZKL_TIMEOUT)
                CHECK(p->contender->terms.once || p->deadline <= fake_now);
            else if (p->status == ZKL_DISCONNECTED)
                CHECK(p->contender->terms.once);
            else
                CHECK(p->granted || p->status == ZKL_CANCELLED);
        }
    }
}

/* Nothing that a session of ours made. */
static void check_no_nodes(void) {
    for (size_t i = 0; i < zk->count; i++)
        if (zk->nodes[i]->owner && !zk->nodes[i]->dzxid)
            check_fail(__FILE__, __LINE__, "left: %s", zk->nodes[i]->path);
}

/* The view was told so last. */
static void check_seen(const char *data) {
    zkl_status status;
    zkl_content *content = NULL;
    CHECK(zkl_view_given(view, &status, &content) && content);
    CHECK_TEXT(content->data, data);
    zkl_content_free(content);
    zkl_view_quit(view);
}

static void check_rest(void) {
    heal();
    for (size_t i = 0; i < 2; i++)
        if (asked_for[i])
            CHECK_INT(asked_for[i]->revocations, asked_for[i]->granted);
    for (unsigned i = 0; anybody(); i++) {
        CHECK(i < ROUNDS_MOST);
        release_all();
        pass_time();
    }
    check_answers();
    for (fake_client *c = zk->clients; c; c = c->next)
        while (c->callers)
            fake_drop(c->callers);
    for (size_t i = 0; i < errand_count; i++) {
        CHECK_INT(one->answered[i], errands[i] != NULL);
        if (errands[i])
            zkl_errand_free(errands[i]);
    }
    errand_count = 0;
    if (view)
        check_seen("1");
    view = NULL;
    fake_leave(one);
    if (query) {
        CHECK(!query->pending);
        zkl_query_free(query);
        query = NULL;
    }
    pass_time();
    check_no_nodes();
    CHECK_CLEAN();
    CHECK_INT(fake_watched(one) + fake_watched(two), 0);
}

/* ---- what may happen to whom ---- */

static void release(fake_caller *caller) {
    if (caller && fake_held(caller))
        fake_release(caller);
}

static void cancel(fake_caller *caller) {
    if (caller)
        fake_cancel(caller);
}

static void drop(fake_caller *caller) {
    if (caller)
        fake_drop(caller);
}

static const char *node_of(fake_caller *caller) {
    return caller ? fake_node_of(caller) : NULL;
}

static void acquires_and_releases(void) {
    fake_caller *p = fake_join(one, LINE, LATER);
    fake_settle_all(zk);
    fake_wait(zk, 0.1); /* a hold that lasts watches its node */
    fake_settle_all(zk);
    release(p);
    fake_settle_all(zk);
    drop(p);
}

static void waits_and_is_granted(void) {
    fake_caller *p = fake_join(one, LINE, LATER);
    fake_settle_all(zk);
    fake_caller *q = fake_join(two, LINE, LATER), *r = fake_join(two, LINE, LATER);
    fake_settle_all(zk);
    release(p);
    fake_settle_all(zk);
    release(q);
    fake_settle_all(zk);
    release(r);
    fake_settle_all(zk);
}

static void answers_come_late(void) {
    fake_caller *p = fake_join(one, LINE, LATER), *q = fake_join(two, LINE, LATER);
    fake_wait(zk, 2);
    for (unsigned i = 0; i < 40; i++) {
        fake_wait(zk, 0.3);
        fake_carry(i % 2 ? one : two);
        fake_deliver(i % 2 ? one : two);
    }
    release(p);
    release(q);
}

static void a_hold_is_over(void) {
    upset = true;
    fake_caller *p = fake_join_for(one, LINE, 5);
    fake_settle_all(zk);
    fake_caller *q = fake_join(two, LINE, LATER);
    fake_settle_all(zk);
    fake_wait(zk, 6);
    fake_settle_all(zk);
    drop(p);
    release(q);
}

static void waiters_give_up(void) {
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, LATER), *q = fake_join(one, LINE, LATER);
    cancel(p); /* with its create on the way */
    fake_settle_all(zk);
    cancel(q);
    fake_caller *r = fake_join(one, LINE, 5), *s = fake_join(two, LINE, LATER);
    fake_settle_all(zk);
    fake_wait(zk, 6);
    drop(s);
    fake_settle_all(zk);
    drop(r);
}

static void tries_once(void) {
    fake_caller *p = fake_try(one, LINE);
    fake_settle_all(zk);
    fake_caller *q = fake_try(two, LINE);
    fake_settle_all(zk);
    fake_caller *r = fake_try(one, LINE);
    fake_settle_all(zk);
    release(p);
    release(q);
    release(r);
}

static void makes_the_parents(void) {
    fake_caller *p = fake_join(one, "/new/way/down", LATER);
    fake_settle_all(zk);
    zk->old = true;
    fake_caller *q = fake_join(two, "/new/way/up", LATER);
    fake_settle_all(zk);
    release(p);
    release(q);
}

static void the_link_goes_at(unsigned requests) {
    fake_caller *p = fake_join(two, LINE, LATER);
    fake_settle_all(zk);
    fake_caller *q = fake_join(one, LINE, LATER), *r = fake_join(one, LINE, LATER);
    for (unsigned i = 0; i < requests; i++)
        fake_answer(one);
    fake_cut(one);
    release(p);
    fake_settle_all(zk);
    fake_connect(one);
    fake_settle_all(zk);
    release(q);
    fake_cut(one);
    fake_connect(one);
    fake_settle_all(zk);
    release(r);
}

static void the_link_goes_early(void) {
    the_link_goes_at(0);
}

static void the_link_goes_late(void) {
    the_link_goes_at(4);
}

static void an_answer_is_lost(void) {
    fake_caller *p = fake_join(one, LINE, LATER), *q = fake_join(one, LINE, LATER);
    fake_carry(one);
    fake_carry(one);
    fake_carry(one);
    fake_cut(one);
    cancel(q);
    fake_connect(one);
    fake_settle_all(zk);
    release(p);
}

static void another_link_takes_over(void) {
    fake_caller *p = fake_join(one, LINE, LATER), *q = fake_join(one, LINE, LATER);
    fake_settle_all(zk);
    fake_cut_quietly(one);
    fake_relink(one);
    fake_connect(one);
    fake_settle_all(zk);
    release(p);
    release(q);
}

static void the_session_ends(void) {
    upset = true;
    fake_caller *p = fake_join(one, LINE, LATER), *q = fake_join(one, LINE, LATER),
                *r = fake_join(two, LINE, LATER);
    fake_settle_all(zk);
    fake_expire(one);
    fake_connect(one);
    fake_settle_all(zk);
    release(p);
    release(q);
    release(r);
}

static void operators_delete(void) {
    upset = true;
    fake_caller *p = fake_join(one, LINE, LATER), *q = fake_join(two, LINE, LATER),
                *r = fake_join(two, LINE, LATER);
    fake_settle_all(zk);
    fake_wait(zk, 0.1);
    fake_settle_all(zk);
    if (node_of(q))
        fake_remove(zk, node_of(q));
    if (node_of(p))
        fake_remove(zk, node_of(p));
    fake_settle_all(zk);
    release(r);
}

static void servers_refuse(void) {
    fake_refuse(zk, FAKE_ERASE, LINE, ZTHROTTLEDOP, 1);
    fake_refuse(zk, FAKE_GET, LINE, ZTHROTTLEDOP, 2);
    fake_refuse(zk, FAKE_LIST, LINE, ZTHROTTLEDOP, 1);
    waits_and_is_granted();
}

static void strangers_come_and_go(void) {
    const char *stranger = fake_stranger(zk, LINE, NULL);
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, 5);
    fake_settle_all(zk);
    fake_remove(zk, stranger);
    fake_settle_all(zk);
    fake_wait(zk, 6); /* it gives up, and takes its watch back */
    fake_settle_all(zk);
    drop(p);
}

/* The last one leaves before a list that failed is repeated, while the stranger stays. */
static void a_watch_is_taken_back(void) {
    fake_stranger(zk, LINE, NULL);
    fake_caller *p = fake_join(one, LINE, LATER);
    fake_settle_all(zk);
    fake_caller *q = fake_join(one, LINE, LATER);
    fake_settle_all(zk);
    cancel(p);
    cancel(q);
    fake_settle_all(zk);
}

static fake_caller *join_another(void) {
    char path[32];
    snprintf(path, sizeof path, "/many/%u", (unsigned)one->tags);
    fake_directory(zk, path);
    return fake_join(one, path, LATER);
}

/* ---- several contenders that are one, and two kinds that share one ---- */

static void a_writer_goes_on_as_a_reader(void) {
    fake_caller *w = fake_write_lock(one, LINE);
    fake_settle_all(zk);
    fake_caller *r = w ? fake_read_under(w, LINE) : NULL, *q = fake_write_lock(two, LINE),
                *s = fake_read(two, LINE);
    fake_settle_all(zk);
    release(w);
    fake_settle_all(zk);
    release(r);
    fake_settle_all(zk);
    release(q);
    fake_settle_all(zk);
    release(s);
}

static const char *const both[] = {"/both/a", "/both/b"};

static void several_paths_together(void) {
    several = true;
    fake_caller *p = fake_join_all(one, both, 2, LATER);
    fake_settle_all(zk);
    fake_caller *q = fake_join_all(two, both, 2, LATER), *r = fake_join_all(one, both, 2, 5);
    fake_settle_all(zk);
    fake_wait(zk, 6);
    fake_settle_all(zk);
    release(p);
    fake_settle_all(zk);
    release(q);
    drop(r);
}

static void several_paths_and_the_link_goes(void) {
    several = true;
    fake_caller *p = fake_join_all(one, both, 2, LATER);
    fake_carry(one);
    fake_carry(one);
    fake_cut(one);
    fake_connect(one);
    fake_settle_all(zk);
    release(p);
}

static void several_paths_and_the_session_ends(void) {
    several = true;
    upset = true;
    fake_caller *p = fake_join_all(one, both, 2, LATER), *q = fake_join_all(one, both, 2, LATER);
    fake_settle_all(zk);
    fake_expire(one);
    fake_connect(one);
    fake_settle_all(zk);
    release(p);
    release(q);
}

static void several_leases(void) {
    several = true;
    fake_caller *p = fake_lease(one, "/pool", 2, 3);
    fake_settle_all(zk);
    fake_caller *q = fake_lease(two, "/pool", 2, 3), *r = fake_lease(one, "/pool", 1, 3);
    fake_settle_all(zk);
    release(p);
    fake_settle_all(zk);
    cancel(q);
    fake_settle_all(zk);
    release(r);
}

static void several_leases_and_the_link_goes(void) {
    several = true;
    fake_caller *p = fake_lease(one, "/pool", 2, 2);
    for (unsigned i = 0; i < 6; i++)
        fake_answer(one);
    fake_cut(one);
    fake_connect(one);
    fake_settle_all(zk);
    release(p);
}

/* A place that is given up queues anew with others: if it cannot, those who wait for it hear so. */
static void callers_take_turns(void) {
    several = true;
    fake_share_as(2, 1, 1);
    fake_caller *all[6];
    for (size_t i = 0; i < 6; i++) {
        all[i] = fake_share(i % 2 ? two : one, LINE, LATER);
        fake_settle_all(zk);
    }
    for (size_t i = 0; i < 6; i++) {
        release(all[i]);
        fake_settle_all(zk);
    }
    fake_caller *p = fake_share(one, LINE, LATER), *q = fake_share(one, LINE, 0);
    fake_settle_all(zk);
    drop(p);
    release(q);
}

static void callers_take_turns_and_the_link_goes(void) {
    several = true;
    fake_caller *p = fake_share(one, LINE, LATER), *q = fake_share(one, LINE, LATER);
    fake_caller *r = fake_share(two, LINE, LATER);
    for (unsigned i = 0; i < 3; i++)
        fake_answer(one);
    fake_cut(one);
    release(p);
    fake_connect(one);
    fake_settle_all(zk);
    release(q);
    fake_settle_all(zk);
    release(r);
}

/* They hear of it when there is memory again. */
static void it_is_asked_for(void) {
    several = true;
    fake_caller *p = fake_join(one, LINE, LATER), *q = fake_join_all(one, both, 2, LATER);
    fake_settle_all(zk);
    fake_wait(zk, 0.1);
    fake_settle_all(zk);
    if (node_of(p)) {
        asked_for[0] = p;
        fake_write(zk, node_of(p), "__REVOKE__");
    }
    if (fake_children(zk, both[1]) > 0) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", both[1], fake_child(zk, both[1], 0, FAKE_LATEST));
        asked_for[1] = q;
        fake_write(zk, path, "__REVOKE__");
    }
    fake_settle_all(zk);
}

/* The tables hold 64 and as many again; a line is three receivers. */
static void receivers_are_at_the_brim(void) {
    while (one->context.receivers.count + 3 <= 64)
        join_another();
    fake_settle_all(zk);
}

static void lines_are_at_the_brim(void) {
    while (one->lines.count < 64)
        join_another();
    fake_settle_all(zk);
}

static void more_come(void) {
    fake_caller *p = join_another(), *q = join_another();
    fake_settle_all(zk);
    release(p);
    release(q);
    fake_settle_all(zk);
}

#define NODE "/locks/x"

static void run_errand(const zkl_wish *wish) {
    zkl_errand *errand = zkl_errand_new(&one->nodes, wish, errand_count);
    one->answered[errand_count] = 0;
    errands[errand_count++] = errand;
    if (errand)
        zkl_errand_start(errand, ZKL_NEVER);
    fake_leave(one);
}

static void nodes_are_read_and_written(void) {
    fake_caller *p = fake_join(one, LINE, LATER);
    fake_settle_all(zk);
    zkl_op ops[] = {
        {.kind = ZKL_OP_CREATE, .path = "/locks/p/q", .data = "1", .length = 1, .parents = true},
        {.kind = ZKL_OP_CREATE, .path = NODE, .data = "1", .length = 1},
        {.kind = ZKL_OP_SET, .path = NODE, .data = "2", .length = 1, .version = -1},
        {.kind = ZKL_OP_GET, .path = NODE},
        {.kind = ZKL_OP_CHILDREN, .path = "/locks"},
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        run_errand(&(zkl_wish){.ops = &ops[i], .count = 1});
    run_errand(&(zkl_wish){.count = 0});
    fake_settle_all(zk);
    if (p)
        run_errand(&(zkl_wish){.ops = &ops[2], .count = 1, .several = true, .guard = p->contender});
    fake_settle_all(zk);
    release(p);
    fake_settle_all(zk);
}

/* What it is told last is what there is, once there is memory. */
static void a_node_is_looked_at(void) {
    if (zkl_view_open(&one->nodes, NODE, false, 1, &view) != ZKL_OK)
        view = NULL;
    fake_leave(one);
    fake_settle_all(zk);
    CHECK_INT(fake_make(zk, NODE, "1", ZKL_PERSISTENT, 0, NULL), ZOK);
    fake_settle_all(zk);
    fake_cut(one);
    fake_connect(one);
    fake_settle_all(zk);
}

static void there_are_many_receivers(void) {
    more_come();
}

static void there_are_many_lines(void) {
    more_come();
}

/* ---- questions ---- */

static void ask(zkl_query_kind asked) {
    query = zkl_query_new(&one->queries, asked, 0);
    if (!query)
        return;
    if (asked != ZKL_QUERY_FLUSH &&
        !zkl_listing_init(&query->listing, &one->context, LINE, false)) {
        zkl_query_free(query);
        query = NULL;
        return;
    }
    query->departures = one->lines.queue.departures;
    zkl_query_start(query, ZKL_NEVER);
    fake_leave(one);
}

/* Answered at once, with the only error there can be. */
static void check_query(void) {
    fake_settle_all(zk);
    if (!query)
        return;
    CHECK(!query->pending);
    CHECK(query->answer.status == ZKL_OK || query->answer.status == ZKL_NO_MEMORY);
    zkl_participant who;
    size_t count = 0;
    while (zkl_listing_at(&query->listing, count, &who))
        count++;
    CHECK_INT(count, query->answer.status == ZKL_OK ? 4 : 0);
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
    const char *stranger = fake_stranger(zk, LINE, NULL);
    ask(ZKL_QUERY_REVOKE);
    fake_settle_all(zk);
    if (!query)
        return;
    CHECK(!query->pending);
    CHECK(query->answer.status == ZKL_OK || query->answer.status == ZKL_NO_MEMORY);
    CHECK_INT(query->revocation.asked, query->answer.status == ZKL_OK);
    if (query->answer.status == ZKL_OK)
        CHECK_TEXT(fake_find(zk, stranger, FAKE_LATEST)->data, "__REVOKE__");
}

static void somebody_waits_for_releases(void) {
    fake_caller *p = fake_join(one, LINE, LATER);
    fake_settle_all(zk);
    release(p);
    ask(ZKL_QUERY_FLUSH);
    fake_settle_all(zk);
}

/* ---- each allocation in turn ---- */

static void nothing(void) {
}

static void sweep(void (*before)(void), void (*scenario)(void), unsigned count) {
    bool through = false;
    for (unsigned nth = 1; !through; nth++) {
        check_note("%u allocations fail from number %u on", count, nth);
        before();
        scarce_plan(nth, count);
        scenario();
        through = scarce_asked() < nth;
        CHECK(!through || nth > 4); /* else it has asked for next to nothing */
        scarce_plan(0, 0);
        check_rest();
        end();
        begin();
    }
}

#define SCENARIO(name) SCENARIO_WHEN(nothing, name)
#define SCENARIO_WHEN(before, name)                                                                \
    static void name##_but_for_one(void) {                                                         \
        sweep(before, name, 1);                                                                    \
    }                                                                                              \
    static void name##_with_none_left(void) {                                                      \
        sweep(before, name, DRY);                                                                  \
    }
#define CASES(text, name)                                                                          \
    {text ", and one allocation fails", name##_but_for_one}, {                                     \
        text ", and memory runs out", name##_with_none_left                                        \
    }

SCENARIO(acquires_and_releases)
SCENARIO(waits_and_is_granted)
SCENARIO(answers_come_late)
SCENARIO(a_hold_is_over)
SCENARIO(waiters_give_up)
SCENARIO(tries_once)
SCENARIO(makes_the_parents)
SCENARIO(the_link_goes_early)
SCENARIO(the_link_goes_late)
SCENARIO(an_answer_is_lost)
SCENARIO(another_link_takes_over)
SCENARIO(the_session_ends)
SCENARIO(operators_delete)
SCENARIO(servers_refuse)
SCENARIO(strangers_come_and_go)
SCENARIO(a_watch_is_taken_back)
SCENARIO(a_writer_goes_on_as_a_reader)
SCENARIO(several_paths_together)
SCENARIO(several_paths_and_the_link_goes)
SCENARIO(several_paths_and_the_session_ends)
SCENARIO(several_leases)
SCENARIO(several_leases_and_the_link_goes)
SCENARIO(callers_take_turns)
SCENARIO(callers_take_turns_and_the_link_goes)
SCENARIO(it_is_asked_for)
SCENARIO_WHEN(receivers_are_at_the_brim, there_are_many_receivers)
SCENARIO_WHEN(lines_are_at_the_brim, there_are_many_lines)
SCENARIO(somebody_asks_who_is_there)
SCENARIO(somebody_asks_and_the_link_goes)
SCENARIO(somebody_asks_for_it)
SCENARIO(somebody_waits_for_releases)
SCENARIO(nodes_are_read_and_written)
SCENARIO(a_node_is_looked_at)

int main(int argc, char **argv) {
    static const check_case cases[] = {
        CASES("acquires and releases", acquires_and_releases),
        CASES("waits and is granted", waits_and_is_granted),
        CASES("answers come late", answers_come_late),
        CASES("a hold is over", a_hold_is_over),
        CASES("waiters give up", waiters_give_up),
        CASES("tries once", tries_once),
        CASES("makes the parents", makes_the_parents),
        CASES("the link goes early", the_link_goes_early),
        CASES("the link goes late", the_link_goes_late),
        CASES("an answer is lost", an_answer_is_lost),
        CASES("another link takes over", another_link_takes_over),
        CASES("the session ends", the_session_ends),
        CASES("operators delete", operators_delete),
        CASES("servers refuse", servers_refuse),
        CASES("strangers come and go", strangers_come_and_go),
        CASES("a watch is taken back", a_watch_is_taken_back),
        CASES("a writer goes on as a reader", a_writer_goes_on_as_a_reader),
        CASES("several paths together", several_paths_together),
        CASES("several paths, and the link goes", several_paths_and_the_link_goes),
        CASES("several paths, and the session ends", several_paths_and_the_session_ends),
        CASES("several leases", several_leases),
        CASES("several leases, and the link goes", several_leases_and_the_link_goes),
        CASES("callers take turns", callers_take_turns),
        CASES("callers take turns, and the link goes", callers_take_turns_and_the_link_goes),
        CASES("it is asked for", it_is_asked_for),
        CASES("there are many subjects", there_are_many_receivers),
        CASES("there are many lines", there_are_many_lines),
        CASES("somebody asks who is there", somebody_asks_who_is_there),
        CASES("somebody asks and the link goes", somebody_asks_and_the_link_goes),
        CASES("somebody asks for it", somebody_asks_for_it),
        CASES("somebody waits for releases", somebody_waits_for_releases),
        CASES("nodes are read and written", nodes_are_read_and_written),
        CASES("a node is looked at", a_node_is_looked_at),
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
