/* SPDX-License-Identifier: MIT */
/* A session is made without memory: whichever allocation fails, that is said, and nothing is
 * left. */
#include "check.h"
#include "port/receiver.h"
#include "scarce.h"
#include "zookeeper/session.h"

#include <string.h>

static zkl_context context;
static zkl_session session;

static void begin(void) {
    memset(&context, 0, sizeof context);
    CHECK(zkl_events_init(&context.events) && zkl_receivers_init(&context.receivers));
}

static void end(void) {
    scarce_plan(0, 0);
    zkl_receivers_destroy(&context.receivers);
    zkl_events_destroy(&context.events);
}

/* The nth allocation fails, and so many more. How many there were. */
static unsigned make_without(const zkl_config *config, unsigned nth, unsigned count) {
    check_note("allocation %u fails", nth);
    memset(&session, 0, sizeof session);
    session.context = &context;
    scarce_plan(nth, count);
    const zkl_status status = zkl_session_init(&session, config);
    const unsigned asked = scarce_asked();
    scarce_plan(0, 0);
    CHECK_INT(status, asked < nth ? ZKL_OK : ZKL_NO_MEMORY);
    zkl_receiver_leave(&context.receivers, &session.heart.receiver);
    zkl_session_destroy(&session);
    return asked;
}

static void check_each(const zkl_config *config, unsigned least) {
    unsigned nth = 0, asked;
    do {
        asked = make_without(config, ++nth, 1);
        make_without(config, nth, 1000);
    } while (asked >= nth);
    CHECK(nth > least);
}

static const zkl_auth auths[] = {{"digest", "me:secret"}, {"ip", "10.0.0.1"}, {"x", "y"}};

static void each_allocation_may_fail(void) {
    check_each(&(zkl_config){.hosts = "a:2181,b/root",
                             .session_timeout = 10,
                             .auths = auths,
                             .auth_count = 3,
                             .identifier = "host 1",
                             .tls = "ca,cert,key,pass"},
               10);
}

static void also_without_credentials(void) {
    check_each(&(zkl_config){.hosts = "a", .session_timeout = 10}, 3);
}

/* That is no want of memory. */
static void what_is_no_connect_string_is_said_to_be_one(void) {
    session = (zkl_session){.context = &context};
    CHECK_INT(zkl_session_init(&session, &(zkl_config){.hosts = "a:b:c"}), ZKL_BAD_ARGUMENT);
    zkl_session_destroy(&session);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"each allocation may fail", each_allocation_may_fail},
        {"also without credentials", also_without_credentials},
        {"what is no connect string is said to be a bad argument",
         what_is_no_connect_string_is_said_to_be_one},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
