/* SPDX-License-Identifier: MIT */
/* The end of a client's step: what the parts of the client do before the mutex is free. */
#include "check.h"
#include "client/client_state.h"
#include "nodes/node_request.h"
#include "nodes/node_watch.h"

#include <string.h>

static zkl_nanos read_moment(void) {
    return ZKL_SECOND;
}

static const zkl_clock fake_clock = {read_moment};

static zkl_client client;

/* A client that was never connected, and of which nobody wants anything. */
static void begin(void) {
    memset(&client, 0, sizeof client);
    pthread_mutex_init(&client.mutex, NULL);
    client.context.clock = &fake_clock;
    CHECK(zkl_lines_init(&client.lines, &client.context, 0));
    zkl_node_requests_init(&client.nodes, &client.context, &client.session.state);
    zkl_node_watches_init(&client.nodes, &client.lines);
    client.session.context = client.session.heart.context = &client.context;
    client.session.timeout = 6 * ZKL_SECOND;
}

static void end(void) {
    zkl_lines_destroy(&client.lines);
    pthread_mutex_destroy(&client.mutex);
}

static void a_step_that_gives_up_a_place_says_why(void) {
    zkl_client_enter(&client);
    client.context.given_up++;
    zkl_client_leave(&client);
    CHECK_TEXT(client.session.doubt,
               "answers come, but none shows that the session of 6 s is alive");
}

static void a_step_that_gives_up_none_says_nothing(void) {
    zkl_client_enter(&client);
    zkl_client_leave(&client);
    CHECK_TEXT(client.session.doubt, "");
}

static const check_case cases[] = {
    {"a step that gives up a place says why", a_step_that_gives_up_a_place_says_why},
    {"a step that gives up none says nothing", a_step_that_gives_up_none_says_nothing},
};

int main(int argc, char **argv) {
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
