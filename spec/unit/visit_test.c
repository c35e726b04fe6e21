/* SPDX-License-Identifier: MIT */
/* The end of what a host serves: told once, by its cleanup or by the handler in its slot; and a
 * visit that stands for another one afterwards. */
#include "base/event.h"
#include "check.h"
#include "client/access.h"
#include "zklock_host.h"

#include <stdbool.h>

/* As much of a client as a visit needs. */
struct zkl_client {
    zkl_events events;
    unsigned users;
    bool forked;
};

static zkl_client client;

bool zkl_client_forked(const zkl_client *c) {
    return c->forked;
}

zkl_events *zkl_client_events(zkl_client *c) {
    return &c->events;
}

void zkl_client_use(zkl_client *c) {
    c->users++;
}

void zkl_client_unuse(zkl_client *c) {
    CHECK(c->users > 0);
    c->users--;
}

static zkl_visit_handler *slot;
static unsigned ended[4]; /* by tag: how often the host was told */

static void begin(void) {
    client = (zkl_client){.users = 0, .forked = false};
    CHECK(zkl_events_init(&client.events));
    slot = NULL;
    for (size_t i = 0; i < 4; i++)
        ended[i] = 0;
}

static void end(void) {
    CHECK_INT(client.users, 0);
    zkl_events_destroy(&client.events);
}

/* The host hears of what has ended. */
static void hear(void) {
    zkl_event event;
    while (zkl_events_peek(&client.events, &event)) {
        CHECK_INT(event.kind, ZKL_EVENT_ENDED);
        ended[event.tag]++;
        zkl_events_forget(&client.events, event.serial);
    }
}

/* One whose end will be told. */
static zkl_visit *lent(uint64_t tag) {
    zkl_visit *visit = zkl_visit_new(&client, tag);
    CHECK(visit != NULL);
    zkl_visit_lend(visit);
    return visit;
}

static void tells_its_end_once(void) {
    zkl_visit *visit = lent(1);
    CHECK(!zkl_visit_ended(visit));
    zkl_visit_end(visit);
    CHECK(zkl_visit_ended(visit));
    hear();
    CHECK_INT(ended[1], 1);
    zkl_visit_drop(visit);
    hear();
    CHECK_INT(ended[1], 1);
}

static void one_that_the_host_has_dropped_tells_nothing(void) {
    zkl_visit *visit = lent(1);
    zkl_visit_drop(visit);
    CHECK_INT(client.users, 1);
    zkl_visit_end(visit);
    hear();
    CHECK_INT(ended[1], 0);

    visit = lent(2);
    zkl_visit_end(visit);
    zkl_visit_drop(visit);
    hear();
    CHECK_INT(ended[2], 0);
}

static void tells_nothing_unless_it_is_announced(void) {
    zkl_visit *visit = lent(1);
    zkl_visit_announce(visit, false);
    zkl_visit_end(visit);
    CHECK(zkl_visit_ended(visit));
    hear();
    CHECK_INT(ended[1], 0);
    CHECK(zkl_visit_renew(visit)); /* there is nothing to hear first */
    zkl_visit_lend(visit);
    zkl_visit_announce(visit, true);
    zkl_visit_end(visit);
    hear();
    CHECK_INT(ended[1], 1);
    zkl_visit_drop(visit);
}

static void stands_for_another_one_once_its_end_was_heard(void) {
    zkl_visit *visit = lent(1);
    CHECK(!zkl_visit_renew(visit)); /* it has not ended */
    zkl_visit_end(visit);
    CHECK(!zkl_visit_renew(visit)); /* the host has not heard */
    for (unsigned i = 1; i <= 3; i++) {
        hear();
        CHECK_INT(ended[1], i);
        CHECK(zkl_visit_renew(visit));
        CHECK(!zkl_visit_ended(visit));
        CHECK(!zkl_visit_renew(visit));
        zkl_visit_lend(visit);
        zkl_visit_end(visit);
    }
    zkl_visit_drop(visit);
}

static void stands_for_no_other_one_while_somebody_has_it(void) {
    zkl_visit *visit = lent(1);
    zkl_visit_hook(visit, &slot);
    slot->call(NULL, slot->data, 0); /* it ends in its slot; its cleanup is still to come */
    hear();
    CHECK_INT(ended[1], 1);
    CHECK(!zkl_visit_renew(visit));
    zkl_visit_end(visit);
    client.forked = true;
    CHECK(!zkl_visit_renew(visit));
    client.forked = false;
    CHECK(zkl_visit_renew(visit));
    zkl_visit_drop(visit);
}

/* ---- in a slot ---- */

static intptr_t add(void *of, void *data, intptr_t result) {
    ++*(unsigned *)of;
    return result + *(int *)data;
}

static int seven = 7;
static zkl_visit_handler own = {add, &seven};

static void in_a_slot_calls_the_former_one(void) {
    unsigned called = 0;
    slot = &own;
    zkl_visit *visit = lent(1);
    zkl_visit_hook(visit, &slot);
    CHECK_INT(slot->call(&called, slot->data, 3), 10);
    CHECK_INT(slot->call(&called, slot->data, 3), 10);
    CHECK_INT(called, 2);
    hear();
    CHECK_INT(ended[1], 1);
    zkl_visit_end(visit);
    CHECK(slot == &own);
    zkl_visit_drop(visit);

    slot = NULL;
    visit = lent(2);
    zkl_visit_hook(visit, &slot);
    CHECK_INT(slot->call(NULL, slot->data, 3), 3);
    zkl_visit_end(visit);
    CHECK(slot == NULL);
    zkl_visit_drop(visit);
}

static void of_several_in_a_slot_all_tell(void) {
    unsigned called = 0;
    slot = &own;
    zkl_visit *visits[3];
    for (uint64_t i = 0; i < 3; i++) {
        visits[i] = lent(i);
        zkl_visit_hook(visits[i], &slot);
    }
    CHECK_INT(slot->call(&called, slot->data, 3), 10);
    CHECK_INT(called, 1);
    hear();
    for (size_t i = 0; i < 3; i++)
        CHECK_INT(ended[i], 1);
    for (size_t i = 0; i < 3; i++) {
        zkl_visit_end(visits[i]);
        zkl_visit_drop(visits[i]);
    }
    CHECK(slot == &own);
}

static void a_slot_that_is_spared_has_none_of_ours(void) {
    slot = &own;
    CHECK(!zkl_visit_unhook(&slot));
    zkl_visit *visits[2];
    for (uint64_t i = 0; i < 2; i++) {
        visits[i] = lent(i);
        zkl_visit_hook(visits[i], &slot);
    }
    zkl_visit *spared = zkl_visit_unhook(&slot);
    CHECK(slot == &own);
    zkl_visit_rehook(spared);
    unsigned called = 0;
    CHECK_INT(slot->call(&called, slot->data, 3), 10);
    CHECK_INT(called, 1);
    hear();
    CHECK_INT(ended[0] + ended[1], 2);
    for (size_t i = 2; i-- > 0;) {
        zkl_visit_end(visits[i]);
        zkl_visit_drop(visits[i]);
    }
    CHECK(slot == &own);
}

static void who_comes_or_ends_while_a_slot_is_spared_is_told(void) {
    unsigned called = 0;
    slot = &own;
    zkl_visit *first = lent(1), *second = lent(2);
    zkl_visit_hook(first, &slot);
    zkl_visit *spared = zkl_visit_unhook(&slot);
    zkl_visit_hook(second, &slot);
    zkl_visit_rehook(spared);
    CHECK_INT(slot->call(&called, slot->data, 3), 10);
    CHECK_INT(called, 1);
    hear();
    CHECK(ended[1] == 1 && ended[2] == 1);
    zkl_visit_end(second);
    zkl_visit_drop(second);

    spared = zkl_visit_unhook(&slot);
    zkl_visit_end(first);
    zkl_visit_drop(first);
    zkl_visit_rehook(spared);
    CHECK(slot == &own);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"tells its end once", tells_its_end_once},
        {"one that the host has dropped tells nothing",
         one_that_the_host_has_dropped_tells_nothing},
        {"tells nothing unless it is announced", tells_nothing_unless_it_is_announced},
        {"stands for another one once its end was heard",
         stands_for_another_one_once_its_end_was_heard},
        {"stands for no other one while somebody has it",
         stands_for_no_other_one_while_somebody_has_it},
        {"in a slot calls the former one", in_a_slot_calls_the_former_one},
        {"of several in a slot all tell", of_several_in_a_slot_all_tell},
        {"a slot that is spared has none of ours", a_slot_that_is_spared_has_none_of_ours},
        {"who comes or ends while a slot is spared is told",
         who_comes_or_ends_while_a_slot_is_spared_is_told},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
