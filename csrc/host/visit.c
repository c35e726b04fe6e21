/* visit: something of the host's whose end a C function tells, when no script of the host can run
 * any more. */
#include "base/event.h"
#include "client/access.h"
#include "zklock.h"

#include <stdatomic.h>
#include <stdlib.h>

struct zkl_visit {
    zkl_client *client;
    zkl_event event;
    atomic_uint users; /* the host, and whoever will tell its end */
    atomic_bool ended;
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
    return visit;
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
    if (atomic_fetch_sub(&visit->users, 1) > 1)
        return;
    if (zkl_client_forked(visit->client))
        return; /* the parent's lock may be held */
    zkl_events_drop(zkl_client_events(visit->client), &visit->event);
    zkl_client_unuse(visit->client);
    free(visit);
}

static void tell(zkl_visit *visit) {
    if (!atomic_exchange(&visit->ended, true) && !zkl_client_forked(visit->client))
        zkl_events_post(zkl_client_events(visit->client), &visit->event, ZKL_OK, 0);
}

void zkl_visit_end(void *ended) {
    zkl_visit *visit = ended;
    if (visit->slot)
        *visit->slot = visit->former; /* it may be called again, when the visit is gone */
    visit->slot = NULL;
    tell(visit);
    zkl_visit_drop(visit);
}

static intptr_t hooked(void *of, void *data, intptr_t result) {
    zkl_visit *visit = data;
    const zkl_visit_handler *former = visit->former;
    tell(visit);
    return former ? former->call(of, former->data, result) : result;
}

void zkl_visit_hook(zkl_visit *visit, zkl_visit_handler **slot) {
    visit->handler = (zkl_visit_handler){hooked, visit};
    visit->former = *slot;
    visit->slot = slot;
    *slot = &visit->handler;
}

zkl_visit *zkl_visit_unhook(zkl_visit_handler **slot) {
    if (!*slot || (*slot)->call != hooked)
        return NULL;
    zkl_visit *visit = (*slot)->data;
    zkl_visit_lend(visit);
    *slot = visit->former;
    return visit;
}

void zkl_visit_rehook(zkl_visit *visit) {
    if (visit->slot) /* still to end? */
        *visit->slot = &visit->handler;
    zkl_visit_drop(visit);
}

bool zkl_visit_ended(const zkl_visit *visit) {
    return atomic_load(&visit->ended);
}
