/* SPDX-License-Identifier: MIT */
/* visit: something of the host whose end a C function reports, when the host can no longer run a
 * script for it. */
#include "base/event.h"
#include "client/access.h"
#include "zklock_host.h"

#include <stdatomic.h>
#include <stdlib.h>

struct zkl_visit {
    zkl_client *client;
    zkl_notice event;
    atomic_uint users; /* the host, and each user that will report its end */
    atomic_bool ended, announced;
    zkl_visit_handler handler, *former, **slot; /* slot NULL: not hooked */
};

zkl_visit *zkl_visit_new(zkl_client *client, uint64_t tag) {
    zkl_visit *visit = zkl_client_forked(client) ? NULL : calloc(1, sizeof *visit);
    if (!visit)
        return NULL;
    zkl_client_use(client);
    visit->client = client;
    visit->event.kind = ZKL_EVENT_ENDED;
    visit->event.tag = tag;
    atomic_init(&visit->users, 1);
    atomic_init(&visit->ended, false);
    atomic_init(&visit->announced, true);
    return visit;
}

void zkl_visit_announce(zkl_visit *visit, bool announced) {
    atomic_store(&visit->announced, announced);
}

bool zkl_visit_renew(zkl_visit *visit) {
    const bool over = atomic_load(&visit->users) == 1 && atomic_load(&visit->ended);
    if (!over || visit->event.queued || zkl_client_forked(visit->client))
        return false;
    atomic_store(&visit->ended, false);
    return true;
}

void zkl_visit_lend(zkl_visit *visit) {
    atomic_fetch_add(&visit->users, 1);
}

void zkl_visit_drop(zkl_visit *visit) {
    if (!visit || atomic_fetch_sub(&visit->users, 1) > 1)
        return;
    if (zkl_client_forked(visit->client))
        return; /* the parent's lock may be held */
    zkl_events_drop(zkl_client_events(visit->client), &visit->event);
    zkl_client_unuse(visit->client);
    free(visit);
}

static void tell(zkl_visit *visit) {
    const bool is_first = !atomic_exchange(&visit->ended, true);
    if (is_first && atomic_load(&visit->announced) && !zkl_client_forked(visit->client))
        zkl_events_post(zkl_client_events(visit->client), &visit->event, ZKL_OK, 0);
}

static intptr_t hooked(void *of, void *data, intptr_t result) {
    zkl_visit *visit = data;
    const zkl_visit_handler *former = visit->former;
    tell(visit);
    return former ? former->call(of, former->data, result) : result;
}

/* NULL: the handler is not one of ours. */
static zkl_visit *visit_of(const zkl_visit_handler *handler) {
    return handler && handler->call == hooked ? handler->data : NULL;
}

/* Each client has its own visit in the same slot. The slot contains the handler of the latest
 * visit, and each of our handlers refers to the former one. NULL: this visit's handler is not among
 * them. */
static zkl_visit_handler **shared_of(zkl_visit *visit) {
    zkl_visit_handler **at = visit->slot;
    zkl_visit *found;
    while ((found = visit_of(*at)) && found != visit)
        at = &found->former;
    return found ? at : NULL;
}

/* The library may call the handler again after the visit is gone. */
static void leave_slot(zkl_visit *visit) {
    zkl_visit_handler **at = shared_of(visit);
    *(at ? at : visit->slot) = visit->former;
    visit->slot = NULL;
}

void zkl_visit_end(void *ended) {
    zkl_visit *visit = ended;
    if (visit->slot)
        leave_slot(visit);
    tell(visit);
    zkl_visit_drop(visit);
}

void zkl_visit_hook(zkl_visit *visit, zkl_visit_handler **slot) {
    visit->handler = (zkl_visit_handler){hooked, visit};
    visit->former = *slot;
    visit->slot = slot;
    *slot = &visit->handler;
}

/* The handler that was there before all of ours. */
static zkl_visit_handler **former_of_all(zkl_visit_handler **at) {
    zkl_visit *visit;
    while ((visit = visit_of(*at)))
        at = &visit->former;
    return at;
}

zkl_visit *zkl_visit_unhook(zkl_visit_handler **slot) {
    zkl_visit *visit = visit_of(*slot);
    if (!visit)
        return NULL;
    zkl_visit_lend(visit);
    *slot = *former_of_all(slot);
    return visit;
}

void zkl_visit_rehook(zkl_visit *visit) {
    if (visit->slot) {                                 /* has it not ended yet? */
        *former_of_all(&visit->former) = *visit->slot; /* another handler may have come */
        *visit->slot = &visit->handler;
    }
    zkl_visit_drop(visit);
}

bool zkl_visit_ended(const zkl_visit *visit) {
    return atomic_load(&visit->ended);
}
