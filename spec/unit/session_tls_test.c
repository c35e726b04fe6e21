/* SPDX-License-Identifier: MIT */
/* A session with TLS, whose link may wait for one server for minutes and try no other meanwhile. */
#include "session_world.h"

#include <string.h>

static void begin(void) {
    world_begin();
    world_start_anew(&(zkl_config){.hosts = "10.0.0.1:2181,10.0.0.2:2181",
                                   .session_timeout = SESSION_TIMEOUT,
                                   .tls = "ca,cert,key,pass"});
}

/* Seconds until the link is given up for another one. */
static double patience(void) {
    const int before = world.made;
    const zkl_nanos since = world.now;
    while (world.made == before) {
        CHECK(world_pause() > 0 && world.now - since < 100 * ZKL_SECOND);
        world_pass(world_pause());
        world_work();
    }
    return zkl_clock_seconds(world.now - since);
}

static bool begins_as(const zkl_link *link, const zkl_link *other) {
    return strncmp(link->addresses, other->addresses, strlen("10.0.0.1:2181")) == 0;
}

static void the_first_link_has_half_the_time(void) {
    world_work();
    for (int i = 1; i < 5; i++) {
        CHECK_INT(patience() * 1000, SESSION_TIMEOUT * 1000 / 2);
        CHECK(!begins_as(&world.links[i], &world.links[i - 1]));
        CHECK_INT(world_link()->carried, 0);
    }
}

static void one_that_had_a_server_has_the_timeout(void) {
    world_come_up();
    for (int i = 1; i < 5; i++) {
        world_happens(world_link(), ZKL_LINK_SUSPENDED);
        CHECK_INT(patience() * 1000, 6000);
        CHECK(!begins_as(&world.links[i], &world.links[i - 1]));
        CHECK_INT(world_link()->carried, 7);
        world_link()->session = 7;
    }
}

/* So is the next one, which has had none, but carries the session on. */
static void one_that_carries_a_session_on_has_it_too(void) {
    world_come_up();
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    for (int i = 1; i < 5; i++) {
        CHECK_INT(patience() * 1000, 6000);
        world_link()->session = 7;
    }
}

/* So that a watchdog may come before. */
static void a_short_timeout_is_no_hurry(void) {
    world.granted = ZKL_SECOND;
    world_come_up();
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    CHECK_INT(patience() * 1000, 4000);
    world_start_anew(&(zkl_config){.hosts = "10.0.0.1:2181,10.0.0.2:2181",
                                   .session_timeout = SESSION_TIMEOUT,
                                   .tls = "ca,cert,key,pass"});
    world.session.timeout = 2 * ZKL_SECOND;
    world_work();
    CHECK_INT(patience() * 1000, 4000);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"the first link has half the time", the_first_link_has_half_the_time},
        {"one that had a server has the timeout", one_that_had_a_server_has_the_timeout},
        {"one that carries a session on has it, too", one_that_carries_a_session_on_has_it_too},
        {"a short timeout is no hurry", a_short_timeout_is_no_hurry},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, world_end);
}
