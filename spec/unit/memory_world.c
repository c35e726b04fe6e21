/* SPDX-License-Identifier: MIT */
#include "memory_world.h"

#include "scarce.h"

#include <stdio.h>

#define ROUNDS_MOST 100

memory_scenario memory;

void memory_begin(void) {
    memory.node_request_count = 0;
    memory.view = NULL;
    memory.upset = memory.several = false;
    memory.asked_for[0] = memory.asked_for[1] = NULL;
    fake_world_begin();
}

void memory_end(void) {
    scarce_plan(0, 0);
    if (memory.query)
        zkl_ask_free(&memory.query->ask);
    memory.query = NULL;
    if (memory.view)
        zkl_node_watch_quit(memory.view);
    for (size_t i = 0; i < memory.node_request_count; i++)
        if (memory.requests[i])
            zkl_ask_free(zkl_ask_of_request(memory.requests[i]));
    memory.node_request_count = 0;
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
        if (!zkl_context_is_linked(&c->context))
            fake_connect(c);
        fake_catch_up(c);
    }
    pass_time();
    if (!anybody() && !memory.view)
        CHECK_INT(fake_watched(one) + fake_watched(two), 0); /* nobody wants to know */
    fake_end_session(zk, 0xdead);                            /* strangers do not stay for ever */
    pass_time();
}

static void release_all(void) {
    for (fake_client *c = zk->clients; c; c = c->next)
        for (fake_caller *p = c->callers; p; p = p->next)
            if (fake_held(p))
                CHECK_INT(fake_release(p),
                          c->context.valid_until > fake_now ? ZKL_OK : ZKL_UNKNOWN);
}

static void check_answers(void) {
    for (fake_client *c = zk->clients; c; c = c->next) {
        for (fake_caller *p = c->callers; p; p = p->next) {
            CHECK_INT(p->answers, 1);
            CHECK(p->losses == 0 || memory.upset);
            if (p->status == ZKL_NO_MEMORY)
                CHECK(memory.several);
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
    CHECK(zkl_node_watch_hand_out(memory.view, &status, &content) && content);
    CHECK_TEXT(content->data, data);
    zkl_content_free(content);
    zkl_node_watch_quit(memory.view);
}

static void check_rest(void) {
    heal();
    for (size_t i = 0; i < 2; i++)
        if (memory.asked_for[i])
            CHECK_INT(memory.asked_for[i]->revocations, memory.asked_for[i]->granted);
    for (unsigned i = 0; anybody(); i++) {
        CHECK(i < ROUNDS_MOST);
        release_all();
        pass_time();
    }
    check_answers();
    for (fake_client *c = zk->clients; c; c = c->next)
        while (c->callers)
            fake_drop(c->callers);
    for (size_t i = 0; i < memory.node_request_count; i++) {
        CHECK_INT(one->answered[i], memory.requests[i] != NULL);
        if (memory.requests[i])
            zkl_ask_free(zkl_ask_of_request(memory.requests[i]));
    }
    memory.node_request_count = 0;
    if (memory.view)
        check_seen("1");
    memory.view = NULL;
    fake_leave(one);
    if (memory.query) {
        CHECK(memory.query->ask.stage == ZKL_ASK_DONE);
        zkl_ask_free(&memory.query->ask);
        memory.query = NULL;
    }
    pass_time();
    check_no_nodes();
    CHECK_CLEAN();
    CHECK_INT(fake_watched(one) + fake_watched(two), 0);
}

void memory_release(fake_caller *caller) {
    if (caller && fake_held(caller))
        fake_release(caller);
}

void memory_cancel(fake_caller *caller) {
    if (caller)
        fake_cancel(caller);
}

void memory_drop(fake_caller *caller) {
    if (caller)
        fake_drop(caller);
}

const char *memory_node_of(fake_caller *caller) {
    return caller ? fake_node_of(caller) : NULL;
}

/* ---- each allocation in turn ---- */

void memory_nothing(void) {
}

void memory_sweep(void (*before)(void), void (*scenario)(void), unsigned count) {
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
        memory_end();
        memory_begin();
    }
}
