/* SPDX-License-Identifier: MIT */
/* The line of text about a wait that nobody is in front of. */
#include "base/process.h"
#include "client/client_state.h"
#include "fake_world.h"
#include "line/contender.h"

#include <string.h>

#define A "/locks/a"

/* The fake client has no session; this one has, with answers that take 2 s, and the rest of its
 * context. */
static zkl_client client;

static const char *why(fake_caller *caller) {
    static char text[ZKL_WHY_TEXT];
    zkl_context *context = caller->contender->context;
    client = (zkl_client){.generation = zkl_process_generation(), .context = *context};
    client.session.state = ZKL_STATE_CONNECTED;
    client.session.heart.latency = 2 * ZKL_SECOND;
    pthread_mutex_init(&client.mutex, NULL);
    caller->contender->context = &client.context;
    const bool waits = zkl_why(caller->contender, text, sizeof text);
    caller->contender->context = context;
    pthread_mutex_destroy(&client.mutex);
    return waits ? text : NULL;
}

/* It is first, and the servers may have ended its session. */
static fake_caller *first(void) {
    fake_wait(zk, 31);
    one->context.valid_until = 0;
    fake_caller *caller = fake_join(one, A, 1e12);
    fake_settle(one);
    one->context.valid_until = 0;
    CHECK(fake_waits(caller) && caller->contender->queue.position == ZKL_POSITION_FIRST);
    return caller;
}

static void first_but_the_answers_take_long(void) {
    fake_caller *caller = first();
    fake_now += 3 * ZKL_SECOND;
    CHECK_TEXT(why(caller), "first of 1, but the session is not certain: the answers take 2.0 s; "
                            "it has waited for 3.0 s");
}

static void behind_another_client_the_answers_do_not_matter(void) {
    fake_caller *holder = fake_join(two, A, 1e12);
    fake_settle_all(zk);
    CHECK(fake_held(holder));
    fake_caller *caller = fake_join(one, A, 1e12);
    fake_settle_all(zk);
    one->context.valid_until = 0;
    CHECK(strncmp(why(caller), "second of 2, behind ", 20) == 0);
    CHECK(why(holder) == NULL);
}

static void behind_a_caller_of_this_client(void) {
    fake_caller *holder = fake_join(one, A, 1e12);
    fake_settle_all(zk);
    CHECK(fake_held(holder));
    fake_caller *caller = fake_join(one, A, 1e12);
    fake_settle_all(zk);
    CHECK(strncmp(why(caller), "second of 2, behind a caller of this client, which has held for 0",
                  65) == 0);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"first, but the answers take 2 s", first_but_the_answers_take_long},
        {"behind another client the answers do not matter",
         behind_another_client_the_answers_do_not_matter},
        {"behind a caller of this client", behind_a_caller_of_this_client},
    };
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
