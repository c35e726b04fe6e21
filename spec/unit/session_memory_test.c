/* SPDX-License-Identifier: MIT */
/* A session that looks for a server without memory: it keeps what it has, and looks again. */
#include "scarce.h"
#include "session_world.h"

#include <string.h>

static void begin(void) {
    world_begin();
    world.addresses = "10.0.0.7";
    world_start_anew(&(zkl_config){.hosts = "zk:2182", .session_timeout = SESSION_TIMEOUT});
}

static void end(void) {
    scarce_plan(0, 0);
    world_end();
}

/* The next lookup of names, in which the nth allocation fails. How many there were. */
static unsigned look_without(unsigned nth) {
    world_pass(world_pause());
    CHECK_INT(world.job_count, 1);
    scarce_plan(nth, 1);
    world_work();
    const unsigned asked = scarce_asked();
    scarce_plan(0, 0);
    return asked;
}

static void without_memory_for_the_addresses_the_link_is_kept(void) {
    world_come_up();
    world_happens(world_link(), ZKL_LINK_SUSPENDED);
    for (unsigned nth = 1; nth <= 2; nth++) {
        CHECK(look_without(nth) >= nth);
        CHECK_INT(world.made, 1);
        CHECK(!world.links[0].is_closed);
        CHECK(world.session.look.at > world.now);
    }
    world.addresses = "10.0.0.8";
    look_without(0);
    CHECK_INT(world.made, 2);
    CHECK_TEXT(world_link()->addresses, "10.0.0.8:2182");
    CHECK_INT(world_link()->carried, 7);
}

static void without_memory_for_the_first_addresses_it_tries_again(void) {
    for (unsigned nth = 1; nth <= 2; nth++) {
        scarce_plan(nth, 1);
        world_work();
        CHECK(scarce_asked() >= nth);
        scarce_plan(0, 0);
        CHECK_INT(world.made, 0);
        world_pass(world_pause());
    }
    world_come_up();
    CHECK_INT(world.made, 1);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"without memory for the addresses the link is kept",
         without_memory_for_the_addresses_the_link_is_kept},
        {"without memory for the first addresses it tries again",
         without_memory_for_the_first_addresses_it_tries_again},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
