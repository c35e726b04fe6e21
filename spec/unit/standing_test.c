/* SPDX-License-Identifier: MIT */
/* Questions that a host may ask as often as it likes: no lock is taken for them. */
#include "base/process.h"
#include "check.h"
#include "client/client_state.h"
#include "line/contender.h"

#include <string.h>
#include <unistd.h>

static zkl_nanos moment;

static zkl_nanos read_moment(void) {
    return moment;
}

static const zkl_clock fake_clock = {read_moment};

static zkl_client client;
static zkl_contender contender;

/* Somebody is in the middle of a step. A call that waits for the mutex would wait for ever. */
static void begin(void) {
    memset(&client, 0, sizeof client);
    memset(&contender, 0, sizeof contender);
    pthread_mutex_init(&client.mutex, NULL);
    client.generation = zkl_process_generation();
    client.context.clock = &fake_clock;
    contender.context = &client.context;
    contender.phase = ZKL_HELD;
    contender.hold_until = ZKL_NEVER;
    client.context.valid_until = 10 * ZKL_SECOND;
    client.session.state = ZKL_STATE_SUSPENDED;
    moment = 4 * ZKL_SECOND;
    pthread_mutex_lock(&client.mutex);
    alarm(10);
}

static void end(void) {
    alarm(0);
    pthread_mutex_unlock(&client.mutex);
    pthread_mutex_destroy(&client.mutex);
}

static void is_told_while_a_step_is_made(void) {
    CHECK(zkl_held(&contender));
    CHECK(zkl_validity(&contender) == 6);
    CHECK_INT(zkl_client_state(&client), ZKL_STATE_SUSPENDED);
}

static void validity_ends_with_the_trust_and_with_the_longest_hold(void) {
    contender.hold_until = 5 * ZKL_SECOND;
    CHECK(zkl_validity(&contender) == 1);
    moment = 5 * ZKL_SECOND;
    CHECK(zkl_validity(&contender) == 0);
    contender.hold_until = ZKL_NEVER;
    client.context.valid_until = 0;
    CHECK(zkl_validity(&contender) == 0);
    CHECK(zkl_held(&contender));
}

static void what_is_over_is_not_held(void) {
    contender.phase = ZKL_OVER;
    contender.hold_until = 0;
    CHECK(!zkl_held(&contender));
    CHECK(zkl_validity(&contender) == 0);
}

static void a_forked_child_holds_nothing(void) {
    client.generation++;
    CHECK(!zkl_held(&contender));
    CHECK(zkl_validity(&contender) == 0);
    CHECK_INT(zkl_client_state(&client), ZKL_STATE_FORKED);
}

static const check_case cases[] = {
    {"zkl_held, zkl_validity and the state answer during a step", is_told_while_a_step_is_made},
    {"validity ends with the session's, and with max_hold",
     validity_ends_with_the_trust_and_with_the_longest_hold},
    {"a contender that is over does not hold", what_is_over_is_not_held},
    {"a forked child holds nothing", a_forked_child_holds_nothing},
};

int main(int argc, char **argv) {
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
