/* visit: something of the host's whose end a C function tells, when no script of the host can run any more. */
#include "client.h"

#include <stdatomic.h>
#include <stdlib.h>

struct zkl_visit {
    zkl_client *client;
    zkl_event event;
    atomic_uint users; /* the host, and whoever will tell its end */
    atomic_bool ended;
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

void zkl_visit_end(void *ended) {
    zkl_visit *visit = ended;
    atomic_store(&visit->ended, true);
    if (!zkl_client_forked(visit->client))
        zkl_events_post(zkl_client_events(visit->client), &visit->event, ZKL_OK, 0);
    zkl_visit_drop(visit);
}

bool zkl_visit_ended(const zkl_visit *visit) {
    return atomic_load(&visit->ended);
}
