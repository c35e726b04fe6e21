/* SPDX-License-Identifier: MIT */
/* A session on servers that are no ZooKeeper of today. */
#include "session_world.h"

#include <string.h>

static int warnings;

/* Lines of the log at the end of a step. */
static void step(void) {
    char text[ZKL_LOG_LINE];
    const char *level;
    bool own;
    world_enter();
    zkl_session_step(&world.session);
    world_leave();
    while (zkl_log_take_next(&world.said, &level, &own, text, sizeof text))
        warnings += strstr(text, "plain nodes") != NULL;
}

static void begin(void) {
    warnings = 0;
    world_begin();
}

static void keeper_is_known_by_its_password(void) {
    world.is_keeper = true;
    world_come_up();
    CHECK(!zkl_context_knows(&world.context, ZKL_EXTRA_CREATE2));
    CHECK(!zkl_context_believes(&world.context));
    step();
    world.now += 3600 * ZKL_SECOND; /* the log holds back what repeats within a minute */
    step();
    CHECK_INT(warnings, 1);
}

static void a_zookeeper_is_asked_for_everything(void) {
    world_come_up();
    CHECK(zkl_context_knows(&world.context, ZKL_EXTRA_CREATE2));
    CHECK(zkl_context_believes(&world.context));
    step();
    CHECK_INT(warnings, 0);
}

/* It begins to count at one again when it is set up anew. */
static void keeper_carries_no_session_on(void) {
    world.is_keeper = true;
    world_come_up();
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    world_connect(7);
    CHECK_TEXT(world_news(), "SXR");
}

/* It has no leader, and hangs up. */
static void a_server_that_gives_no_session_is_none(void) {
    world.is_keeper = true;
    world_work();
    world_connect(0);
    CHECK_TEXT(world_news(), "");
    CHECK_INT(world.session.state, ZKL_STATE_CONNECTING);
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    world_connect(7);
    CHECK_TEXT(world_news(), "R");
}

static int told;

static void take(zkl_receiver *receiver, const zkl_return *back, const zkl_reply *reply) {
    (void)receiver;
    (void)back;
    told = reply->rc;
}

/* The caller asks again, as after any cut: the server hangs up now. */
static void a_create_that_the_server_does_not_know_is_lost(void) {
    zkl_receiver receiver = {.answer = take};
    const zkl_reply unknown = {.rc = ZUNIMPLEMENTED, .extra = ZKL_EXTRA_CREATE2};
    world_come_up();
    world_enter();
    zkl_receiver_enter(&world.context.receivers, &receiver);
    world_leave();
    zkl_link *link = world_link();
    const zkl_return back = {receiver.id, 0, 0};
    link->owner.answered(link->owner.ctx, link, &back, &unknown, world.now, ZKL_PROOF_NONE);
    CHECK_INT(told, ZCONNECTIONLOSS);
    CHECK(!zkl_context_knows(&world.context, ZKL_EXTRA_CREATE2));
    world_enter();
    zkl_receiver_leave(&world.context.receivers, &receiver);
    world_leave();
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"Keeper is known by its password", keeper_is_known_by_its_password},
        {"a ZooKeeper is asked for everything", a_zookeeper_is_asked_for_everything},
        {"Keeper carries no session on", keeper_carries_no_session_on},
        {"a server that gives no session is none", a_server_that_gives_no_session_is_none},
        {"a create that the server does not know is lost",
         a_create_that_the_server_does_not_know_is_lost},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, world_end);
}
