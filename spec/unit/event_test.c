/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "base/event.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static zkl_events events;
static zkl_notice pool[64];

static void begin(void) {
    memset(pool, 0, sizeof pool);
    for (size_t i = 0; i < sizeof pool / sizeof *pool; i++)
        pool[i].tag = i;
    CHECK(zkl_events_init(&events));
}

static void end(void) {
    zkl_events_destroy(&events);
}

static bool take(zkl_event *event) {
    const bool any = zkl_events_peek(&events, event);
    if (any)
        zkl_events_forget(&events, event->serial);
    return any;
}

static bool readable(void) {
    struct pollfd p = {.fd = events.fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void takes_in_order_of_posting(void) {
    zkl_event event;
    CHECK(!take(&event));
    for (int i = 0; i < 5; i++)
        zkl_events_post(&events, &pool[i], i, 100 + i);
    for (int i = 0; i < 5; i++) {
        CHECK(take(&event));
        CHECK_INT(event.tag, i);
        CHECK_INT(event.status, i);
        CHECK_INT(event.token, 100 + i);
    }
    CHECK(!take(&event));
}

static void readable_while_something_is_queued(void) {
    zkl_event event;
    CHECK(!readable());
    zkl_events_post(&events, &pool[0], 0, 0);
    zkl_events_post(&events, &pool[1], 0, 0);
    CHECK(readable());
    CHECK(take(&event));
    CHECK(readable());
    CHECK(take(&event));
    CHECK(!take(&event)); /* the empty peek quiets it */
    CHECK(!readable());
    zkl_events_post(&events, &pool[0], 0, 0);
    CHECK(readable());
}

static void quiet_after_a_drop_and_an_empty_take(void) {
    zkl_event event;
    zkl_events_post(&events, &pool[0], 0, 0);
    zkl_events_drop(&events, &pool[0]);
    CHECK(!take(&event));
    CHECK(!readable());
}

static void drops_from_anywhere(void) {
    zkl_event event;
    for (int i = 0; i < 5; i++)
        zkl_events_post(&events, &pool[i], 0, 0);
    zkl_events_drop(&events, &pool[2]);
    zkl_events_drop(&events, &pool[0]);
    zkl_events_drop(&events, &pool[4]);
    zkl_events_drop(&events, &pool[4]); /* not queued any more: fine */
    zkl_events_post(&events, &pool[5], 0, 0);
    static const uint64_t left[] = {1, 3, 5};
    for (size_t i = 0; i < 3; i++) {
        CHECK(take(&event));
        CHECK_INT(event.tag, left[i]);
    }
    CHECK(!take(&event));
}

static void posting_again_changes_it_in_place(void) {
    zkl_event event;
    zkl_events_post(&events, &pool[0], 1, 10);
    zkl_events_post(&events, &pool[1], 2, 20);
    zkl_events_post(&events, &pool[0], 3, 30);
    CHECK(take(&event));
    CHECK(event.tag == 0 && event.status == 3 && event.token == 30);
    CHECK(take(&event));
    CHECK_INT(event.tag, 1);
    CHECK(!take(&event));
}

static void may_be_posted_again_once_taken(void) {
    zkl_event event;
    for (int i = 0; i < 3; i++) {
        zkl_events_post(&events, &pool[0], i, 0);
        CHECK(take(&event));
        CHECK_INT(event.status, i);
    }
}

static void stays_until_it_is_forgotten(void) {
    zkl_event event;
    zkl_events_post(&events, &pool[0], 1, 0);
    zkl_events_post(&events, &pool[1], 2, 0);
    for (int i = 0; i < 2; i++) {
        CHECK(zkl_events_peek(&events, &event));
        CHECK_INT(event.status, 1);
        CHECK(readable());
    }
    zkl_events_forget(&events, event.serial);
    zkl_events_forget(&events, event.serial); /* twice is fine */
    CHECK(take(&event));
    CHECK_INT(event.status, 2);
    CHECK(!take(&event));
}

static void looked_at_in_between_leaves_the_descriptor_readable(void) {
    zkl_event event;
    zkl_events_post(&events, &pool[0], 1, 0);
    CHECK(zkl_events_look(&events, &event));
    CHECK_INT(event.status, 1);
    zkl_events_forget(&events, event.serial);
    CHECK(!zkl_events_look(&events, &event));
    CHECK(readable()); /* whoever has been called comes */
    CHECK(!zkl_events_peek(&events, &event));
    CHECK(!readable());
    CHECK(!zkl_events_look(&events, &event));
    CHECK(!readable());
}

static void who_has_time_is_told_in_the_turn_that_the_descriptor_calls_for(void) {
    zkl_event event;
    pool[0].unhurried = true;
    zkl_events_post(&events, &pool[0], 1, 0);
    zkl_events_post(&events, &pool[1], 2, 0);
    CHECK(!zkl_events_look(&events, &event)); /* nobody overtakes it */
    CHECK(readable());
    CHECK(take(&event));
    CHECK_INT(event.status, 1);
    CHECK(zkl_events_look(&events, &event));
    CHECK_INT(event.status, 2);
    pool[0].unhurried = false;
}

static void posted_while_muted_needs_no_turn_if_it_is_taken(void) {
    zkl_event event;
    zkl_events_mute(&events);
    zkl_events_post(&events, &pool[0], 1, 0);
    CHECK(!readable());
    CHECK(zkl_events_look(&events, &event));
    zkl_events_forget(&events, event.serial);
    CHECK(!zkl_events_look(&events, &event));
    zkl_events_unmute(&events);
    CHECK(!readable());
    zkl_events_post(&events, &pool[0], 2, 0);
    CHECK(readable());
}

static void posted_while_muted_and_not_taken_gets_its_turn(void) {
    zkl_event event;
    zkl_events_mute(&events);
    zkl_events_mute(&events);
    zkl_events_post(&events, &pool[0], 1, 0);
    zkl_events_unmute(&events);
    CHECK(!readable());
    zkl_events_unmute(&events);
    CHECK(readable());
    CHECK(take(&event));
    CHECK_INT(event.status, 1);
}

static void stays_if_it_is_posted_again_or_replaced(void) {
    zkl_event event;
    zkl_events_post(&events, &pool[0], 1, 0);
    CHECK(zkl_events_peek(&events, &event));
    zkl_events_post(&events, &pool[0], 2, 0);
    zkl_events_forget(&events, event.serial);
    CHECK(zkl_events_peek(&events, &event));
    CHECK_INT(event.status, 2);
    zkl_events_drop(&events, &pool[0]);
    zkl_events_post(&events, &pool[1], 3, 0);
    zkl_events_forget(&events, event.serial);
    CHECK(take(&event));
    CHECK_INT(event.status, 3);
}

static void wakes_without_an_event(void) {
    zkl_event event;
    zkl_events_wake(&events);
    zkl_events_wake(&events);
    CHECK(readable());
    CHECK(!take(&event));
    CHECK(!readable());
}

#define EACH 50000 /* by each of two threads */

typedef struct poster {
    pthread_t thread;
    zkl_notice *events;
    uint64_t base;
} poster;

static void *post_all(void *ctx) {
    poster *p = ctx;
    for (uint64_t i = 0; i < EACH; i++) {
        p->events[i].tag = p->base + i;
        zkl_events_post(&events, &p->events[i], 0, (int64_t)i);
    }
    return NULL;
}

static void none_is_lost_between_threads(void) {
    poster posters[2];
    for (size_t i = 0; i < 2; i++) {
        posters[i].events = calloc(EACH, sizeof(zkl_notice));
        posters[i].base = i * EACH;
        CHECK(posters[i].events != NULL);
        CHECK(pthread_create(&posters[i].thread, NULL, post_all, &posters[i]) == 0);
    }
    uint64_t taken = 0, next[2] = {0, 0};
    while (taken < UINT64_C(2) * EACH) {
        struct pollfd p = {.fd = events.fd, .events = POLLIN};
        CHECK(poll(&p, 1, 30000) == 1); /* a lost wake-up would end here */
        zkl_event event;
        while (take(&event)) {
            const size_t who = event.tag / EACH;
            CHECK_INT(event.tag % EACH, next[who]);
            next[who]++;
            taken++;
        }
    }
    for (size_t i = 0; i < 2; i++) {
        pthread_join(posters[i].thread, NULL);
        free(posters[i].events);
    }
    CHECK(!readable());
}

static atomic_bool dropping;

static void *drop_and_post(void *ctx) {
    (void)ctx;
    for (unsigned i = 0; i < 20000; i++) {
        zkl_notice *event = &pool[i % 8];
        if (i % 3)
            zkl_events_post(&events, event, (int)i, 0);
        else
            zkl_events_drop(&events, event);
    }
    for (size_t i = 0; i < 8; i++)
        zkl_events_drop(&events, &pool[i]);
    atomic_store(&dropping, false);
    return NULL;
}

static void drops_race_with_takes(void) {
    pthread_t thread;
    zkl_event event;
    atomic_store(&dropping, true);
    CHECK(pthread_create(&thread, NULL, drop_and_post, NULL) == 0);
    while (atomic_load(&dropping))
        if (take(&event))
            CHECK(event.tag < 8);
    pthread_join(thread, NULL);
    CHECK(!take(&event));
}

static size_t rung(int end) {
    char bytes[64];
    const ssize_t got = recv(end, bytes, sizeof bytes, MSG_DONTWAIT);
    return got > 0 ? (size_t)got : 0;
}

static void rings_once_for_each_batch(void) {
    int ends[2];
    zkl_event event;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    zkl_events_post(&events, &pool[0], 0, 0);
    zkl_events_notify_at(&events, ends[0]);
    CHECK_INT(rung(ends[1]), 1); /* for what was there before */
    zkl_events_post(&events, &pool[1], 0, 0);
    CHECK_INT(rung(ends[1]), 0); /* the same batch */
    while (take(&event))
        continue;
    CHECK_INT(rung(ends[1]), 0);
    zkl_events_post(&events, &pool[0], 0, 0);
    zkl_events_post(&events, &pool[1], 0, 0);
    CHECK_INT(rung(ends[1]), 1);
    while (take(&event))
        continue;
    zkl_events_wake(&events);
    CHECK_INT(rung(ends[1]), 1);
    while (take(&event))
        continue;
    zkl_events_notify_no_more(&events, ends[1]); /* not the one that is rung */
    zkl_events_post(&events, &pool[0], 0, 0);
    CHECK_INT(rung(ends[1]), 1);
    zkl_events_notify_no_more(&events, ends[0]);
    while (take(&event))
        continue;
    zkl_events_post(&events, &pool[0], 0, 0);
    CHECK_INT(rung(ends[1]), 0);
    zkl_events_notify_at(&events, ends[0]);
    close(ends[1]); /* nobody there: no signal, no harm */
    zkl_events_post(&events, &pool[0], 0, 0);
    CHECK(take(&event));
    CHECK(!take(&event));
    zkl_events_notify_at(&events, -1);
    close(ends[0]);
}

/* A walk there from the first one would not arrive. */
static void drops_without_walking_there(void) {
    zkl_event event;
    for (int i = 0; i < 4; i++)
        zkl_events_post(&events, &pool[i], i, 0);
    zkl_list_item *const second = pool[0].item.next;
    pool[0].item.next = NULL;
    zkl_events_drop(&events, &pool[2]);
    zkl_events_drop(&events, &pool[3]);
    pool[0].item.next = second;
    for (int i = 0; i < 2; i++) {
        CHECK(take(&event));
        CHECK_INT(event.tag, i);
    }
    CHECK(!take(&event));
}

/* ---- to wait for one subject ---- */

static zkl_nanos moment;

static zkl_nanos read_moment(void) {
    return moment;
}

static const zkl_clock still = {read_moment};
static atomic_bool over;

static void waits_for_one_subject_and_leaves_the_others_in_their_order(void) {
    zkl_event event;
    const int order[] = {3, 1, 2, 3, 4};
    for (int i = 0; i < 4; i++)
        zkl_events_post(&events, &pool[order[i]], order[i], 0);
    pool[4].kind = ZKL_EVENT_STATE; /* of no subject, whatever its tag */
    zkl_events_post(&events, &pool[4], ZKL_STATE_CONNECTED, 0);
    CHECK_INT(zkl_events_await(&events, &still, &over, 2, 0, &event), ZKL_OK);
    CHECK_INT(event.tag, 2);
    CHECK_INT(zkl_events_await(&events, &still, &over, 2, 0, &event), ZKL_TIMEOUT);
    CHECK_INT(zkl_events_await(&events, &still, &over, 4, 0, &event), ZKL_TIMEOUT);
    CHECK(readable());
    const uint64_t left[] = {3, 1, 4};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        CHECK(take(&event));
        CHECK_INT(event.tag, left[i]);
    }
    CHECK_INT(event.state, ZKL_STATE_CONNECTED);
    CHECK_INT(event.status, ZKL_OK);
    CHECK(!take(&event));
}

static void *post_two(void *nothing) {
    (void)nothing;
    zkl_events_post(&events, &pool[1], 1, 0);
    zkl_events_post(&events, &pool[2], 2, 0);
    return NULL;
}

static atomic_bool returned;

/* Posts once somebody waits. */
static void *post_to_a_wait(void *nothing) {
    bool awaited = false;
    while (!awaited && !atomic_load(&returned)) {
        sched_yield();
        pthread_mutex_lock(&events.mutex);
        awaited = events.awaited;
        pthread_mutex_unlock(&events.mutex);
    }
    if (awaited)
        zkl_events_post(&events, &pool[2], 2, 0);
    return nothing;
}

static void waits_for_nothing_after_the_least_deadline(void) {
    pthread_t thread;
    zkl_event event;
    moment = ZKL_SECOND;
    CHECK_INT(pthread_create(&thread, NULL, post_to_a_wait, NULL), 0);
    CHECK_INT(zkl_events_await(&events, &still, &over, 2, INT64_MIN, &event), ZKL_TIMEOUT);
    atomic_store(&returned, true);
    pthread_join(thread, NULL);
}

static void *end_all(void *nothing) {
    atomic_store(&over, true);
    zkl_events_post(&events, &pool[1], 1, 0);
    return nothing;
}

static void wakes_for_its_subject_and_at_the_end_of_all(void) {
    pthread_t thread;
    zkl_event event;
    CHECK_INT(pthread_create(&thread, NULL, post_two, NULL), 0);
    CHECK_INT(zkl_events_await(&events, &zkl_clock_boot, &over, 2, ZKL_NEVER, &event), ZKL_OK);
    CHECK_INT(event.status, 2);
    pthread_join(thread, NULL);
    CHECK_INT(pthread_create(&thread, NULL, end_all, NULL), 0);
    CHECK_INT(zkl_events_await(&events, &zkl_clock_boot, &over, 2, ZKL_NEVER, &event), ZKL_CLOSED);
    pthread_join(thread, NULL);
    CHECK_INT(zkl_events_await(&events, &zkl_clock_boot, &over, 1, ZKL_NEVER, &event), ZKL_OK);
    atomic_store(&over, false);
    while (take(&event))
        continue;
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"waits for one subject, and leaves the others in their order",
         waits_for_one_subject_and_leaves_the_others_in_their_order},
        {"waits for nothing after the least deadline", waits_for_nothing_after_the_least_deadline},
        {"wakes for its subject, and at the end of all",
         wakes_for_its_subject_and_at_the_end_of_all},
        {"events are taken in the order they were posted", takes_in_order_of_posting},
        {"the descriptor is readable while something is queued",
         readable_while_something_is_queued},
        {"the descriptor is quiet once the last event was dropped",
         quiet_after_a_drop_and_an_empty_take},
        {"an event can be dropped from anywhere in the queue", drops_from_anywhere},
        {"an event is dropped without a walk through the queue, however long that is",
         drops_without_walking_there},
        {"posting a queued event changes it in its place", posting_again_changes_it_in_place},
        {"a taken event can be posted again", may_be_posted_again_once_taken},
        {"an event stays until it is forgotten", stays_until_it_is_forgotten},
        {"an event looked at in between leaves the descriptor readable",
         looked_at_in_between_leaves_the_descriptor_readable},
        {"an unhurried event comes in the turn that the descriptor asks for",
         who_has_time_is_told_in_the_turn_that_the_descriptor_calls_for},
        {"an event that is taken while they are muted needs no turn",
         posted_while_muted_needs_no_turn_if_it_is_taken},
        {"an event that is left when they are muted no more gets its turn",
         posted_while_muted_and_not_taken_gets_its_turn},
        {"what is posted again, or comes in its place, is not forgotten with it",
         stays_if_it_is_posted_again_or_replaced},
        {"a wake makes the descriptor readable until the next empty peek", wakes_without_an_event},
        {"a notifier tells once of each batch, and hung up on without harm",
         rings_once_for_each_batch},
        {"two threads post a hundred thousand events and none is lost or out of order",
         none_is_lost_between_threads},
        {"dropping and taking at the same time do no harm", drops_race_with_takes},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
