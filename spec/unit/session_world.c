/* SPDX-License-Identifier: MIT */
#include "session_world.h"

#include <string.h>

static void tell(void *ctx, zkl_session_news n) {
    CHECK(ctx == &world.session && world.is_locked);
    const char letter[] = {"RSLXDF"[n], '\0'};
    strncat(world.news, letter, sizeof world.news - strlen(world.news) - 1);
}

const char *world_news(void) {
    static char text[sizeof world.news];
    memcpy(text, world.news, sizeof text);
    world.news[0] = '\0';
    return text;
}

static void enter(void *ctx) {
    CHECK(ctx == &world.session && !world.is_locked);
    world.is_locked = true;
}

/* Whatever it waits for may never come: then a timer, or the worker, goes on. */
static void check_goes_on(void) {
    const bool works = world.at_work || world.job_count > 0,
               tended = world.session.heart.beating || world.session.heart.timer.at;
    switch (world.session.stage) {
    case ZKL_STAGE_OPENING:
        CHECK(works && !world.session.link);
        break;
    case ZKL_STAGE_RESTING:
        CHECK(world.session.reopen.at && !world.session.link);
        break;
    case ZKL_STAGE_SEEKING:
        CHECK((world.session.look.at || works) && world.session.link &&
              !world.session.heart.linked);
        break;
    case ZKL_STAGE_PROVING:
        CHECK(tended && world.session.heart.linked && !zkl_context_is_linked(&world.context));
        break;
    case ZKL_STAGE_LINKED:
        CHECK(tended && world.session.heart.linked &&
              world.context.port == zkl_link_port(world.session.link));
        break;
    case ZKL_STAGE_ENDED:
        CHECK(!world.session.link && zkl_timers_next(&world.context.timers) == ZKL_NEVER);
        break;
    }
}

static void leave(void *ctx) {
    CHECK(ctx == &world.session && world.is_locked);
    zkl_session_step(&world.session);
    zkl_heart_advance(&world.session.heart);
    if (!world.session.ending)
        check_goes_on();
    world.is_locked = false;
}

void world_enter(void) {
    enter(&world.session);
}

void world_leave(void) {
    leave(&world.session);
}

static void answered(void *ctx, const zkl_return *back, const zkl_reply *reply) {
    CHECK(ctx == &world.session && world.is_locked);
    zkl_receiver *receiver = zkl_receiver_find(&world.context.receivers, back->receiver);
    if (receiver)
        receiver->answer(receiver, back, reply);
}

static void watched(void *ctx, const char *path, zkl_change change) {
    CHECK(ctx == &world.session && world.is_locked);
    CHECK(change == ZKL_CHANGE_OTHER);
    strncat(world.news, path, sizeof world.news - strlen(world.news) - 1);
}

void world_pass(double seconds) {
    world.now += zkl_clock_duration(seconds);
    world_enter();
    zkl_timers_run(&world.context.timers, world.now);
    world_leave();
}

double world_pause(void) {
    const zkl_nanos next = zkl_timers_next(&world.context.timers);
    return next == ZKL_NEVER ? -1 : zkl_clock_seconds(next - world.now);
}

static void set_up(const zkl_config *config) {
    memset(&world.session, 0, sizeof world.session);
    memset(&world.context, 0, sizeof world.context);
    memset(&world.said, 0, sizeof world.said);
    CHECK(zkl_events_init(&world.context.events) && zkl_receivers_init(&world.context.receivers));
    world.context.clock = &world_clock;
    world.session.context = &world.context;
    world.session.enter = enter;
    world.session.leave = leave;
    world.session.tell = tell;
    world.session.answered = answered;
    world.session.watched = watched;
    world.session.ctx = &world.session;
    world.session.log = &world.said;
    zkl_log_open(&world.said, &world.context.events, &world_clock, true);
    CHECK_INT(zkl_session_init(&world.session, config), ZKL_OK);
    world_enter();
    zkl_session_start(&world.session);
    world_leave();
}

void world_begin(void) {
    world.now = 1000 * ZKL_SECOND;
    world.granted = 6 * ZKL_SECOND;
    world.starts = world.parts = world.has_memory = true;
    world.expires_in_drain = world.expires_in_part = world.ends_in_start = false;
    world.in_start = -1;
    world.is_locked = world.at_work = world.is_keeper = false;
    world.addresses = "";
    world.made = world.job_count = 0;
    world.news[0] = world.beats[0] = '\0';
    set_up(
        &(zkl_config){.hosts = "10.0.0.1:2181,10.0.0.2:2181", .session_timeout = SESSION_TIMEOUT});
}

void world_end(void) {
    world.is_locked = false;
    world_enter();
    zkl_session_ending(&world.session);
    world_leave();
    zkl_session_end(&world.session, world.now + ZKL_SECOND);
    CHECK(!zkl_context_is_linked(&world.context));
    world_work();
    check_goes_on();
    CHECK_INT(world.session.stage, ZKL_STAGE_ENDED);
    for (int i = 0; i < world.made; i++)
        CHECK(world.links[i].is_closed);
    zkl_log_close(&world.said);
    zkl_session_destroy(&world.session);
    zkl_receivers_destroy(&world.context.receivers);
    zkl_events_destroy(&world.context.events);
}

void world_start_anew(const zkl_config *config) {
    world_end();
    world.made = world.job_count = 0;
    world.news[0] = world.beats[0] = '\0';
    set_up(config);
}

void world_come_up(void) {
    world_work();
    world_connect(7);
    CHECK_TEXT(world_news(), "R");
}

void world_move_on(void) {
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    CHECK_TEXT(world_news(), "S");
    for (int before = world.made; world.made == before;) {
        CHECK(world_pause() > 0 && world_pause() <= 6);
        world_pass(world_pause());
        world_work();
    }
    CHECK_TEXT(world_news(), "L");
}
