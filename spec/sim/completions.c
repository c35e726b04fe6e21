/* SPDX-License-Identifier: MIT */
/* The thread of a handle that calls back. */
#include "handle.h"

#include <stdlib.h>

static void wake_completion(zhandle_t *zh) {
    if (!zh->completion.place && zh->first)
        sim_after(&zh->completion, sim_once_in(50) ? sim_some(30 * SIM_MS) : sim_some(SIM_MS / 10));
}

sim_delivery *sim_deliver(zhandle_t *zh) {
    sim_delivery *d = sim_new(sizeof *d);
    if (zh->last)
        zh->last->next = d;
    else
        zh->first = d;
    zh->last = d;
    wake_completion(zh);
    return d;
}

void sim_deliver_state(zhandle_t *zh, int state) {
    sim_delivery *d = sim_deliver(zh);
    d->type = ZOO_SESSION_EVENT;
    d->state = state;
}

void sim_deliver_answer(zhandle_t *zh, sim_request *r, int rc) {
    r->rc = rc;
    sim_deliver(zh)->request = r;
}

static void free_delivery(sim_delivery *d) {
    sim_request_drop(d->request);
    sim_listeners_free(d->listeners);
    free(d->path);
    free(d);
}

static void call_back(zhandle_t *zh, sim_delivery *d) {
    if (d->request) {
        if (sim_told)
            sim_told(d->request);
        if (d->request->tell)
            d->request->tell(d->request);
        return;
    }
    if (d->type == ZOO_SESSION_EVENT) {
        if (zh->fn)
            zh->fn(zh, d->type, d->state, "", zh->ctx);
        return;
    }
    for (sim_listener *l = d->listeners; l; l = l->next)
        l->fn(zh, d->type, ZOO_CONNECTED_STATE, d->path, l->ctx);
}

void sim_run_completion(sim_event *event) {
    zhandle_t *zh = ZKL_CONTAINER_OF(event, zhandle_t, completion);
    if (sim_is_stopped(zh->machine, event))
        return;
    sim_delivery *d = zh->first;
    if (!d)
        return;
    zh->first = d->next;
    if (!zh->first)
        zh->last = NULL;
    sim_machine *before = sim_enter(zh->machine);
    wake_completion(zh); /* before: what is called may close nothing, but may ask for more */
    call_back(zh, d);
    sim_leave(before);
    free_delivery(d);
}

void sim_deliver_closing(zhandle_t *zh) {
    for (sim_delivery *d; (d = zh->first);) {
        zh->first = d->next;
        if (d->request && sim_once_in(2))
            call_back(zh, d);
        free_delivery(d);
    }
    zh->last = NULL;
    sim_cancel(&zh->completion);
}
