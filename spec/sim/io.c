/* SPDX-License-Identifier: MIT */
/* The thread of a handle that talks with a server. */
#include "handle.h"

#include <stdlib.h>

static void append(sim_request **first, sim_request **last, sim_request *r) {
    r->next = NULL;
    if (*last)
        (*last)->next = r;
    else
        *first = r;
    *last = r;
}

static sim_request *take(sim_request **first, sim_request **last) {
    sim_request *r = *first;
    if (r) {
        *first = r->next;
        if (!*first)
            *last = NULL;
    }
    return r;
}

void sim_fail_all(zhandle_t *zh, int rc) {
    for (sim_request *r; (r = take(&zh->asked, &zh->last_asked));)
        sim_deliver_answer(zh, r, rc);
    for (sim_request *r; (r = take(&zh->waiting, &zh->last_waiting));)
        sim_deliver_answer(zh, r, rc);
}

void sim_send_now(zhandle_t *zh, sim_request *r) {
    append(&zh->asked, &zh->last_asked, r);
    zh->last_sent = sim_now;
    SAY("client %d asks: %s %s", zh->machine->id, sim_op_name(r->op),
        r->part.path ? r->part.path : "");
    sim_send(zh->socket, r);
}

int sim_submit(zhandle_t *zh, sim_request *r) {
    if (sim_is_unrecoverable(zh->state) || zh->is_closing) {
        sim_request_drop(r);
        return ZINVALIDSTATE;
    }
    sim_asked[r->op]++;
    if (sim_submitted)
        sim_submitted(r);
    if (zh->state == ZOO_CONNECTED_STATE)
        sim_send_now(zh, r);
    else
        append(&zh->waiting, &zh->last_waiting, r);
    return ZOK;
}

static void watch_over(zhandle_t *zh) {
    const zkl_nanos timeout = zh->recv_timeout * SIM_MS;
    const zkl_nanos end = zh->last_heard + timeout * 2 / 3, ping = zh->last_sent + timeout / 3;
    sim_at(&zh->io, zh->is_asking || end < ping ? end : ping);
}

void sim_let_go(zhandle_t *zh, bool whole) {
    if (zh->socket)
        sim_hang_up(zh->socket, whole);
    zh->socket = NULL;
    zh->is_asking = false;
}

static void try_next(zhandle_t *zh) {
    zh->turn += sim_once_in(4) ? 2 : 1; /* fail-over skips servers */
    zh->tries++;
    sim_after(&zh->io, sim_some((zh->tries > 3 ? 60 : 8) * SIM_MS));
}

void sim_lose(zhandle_t *zh, int rc) {
    const bool was_connected = zh->state == ZOO_CONNECTED_STATE;
    if (was_connected)
        SAY("client %d loses its server: %d", zh->machine->id, rc);
    sim_let_go(zh, false);
    if (sim_is_unrecoverable(zh->state)) {
        sim_deliver_state(zh, zh->state);
        sim_fail_all(zh, rc);
        sim_cancel(&zh->io);
        return;
    }
    if (was_connected)
        sim_deliver_state(zh, ZOO_CONNECTING_STATE);
    sim_fail_all(zh, rc);
    zh->state = ZOO_NOTCONNECTED_STATE;
    try_next(zh);
}

static void add_watched(sim_request *r, const sim_listener *l) {
    sim_part *parts = realloc(r->parts, (r->part_count + 1) * sizeof *parts);
    SIM_CHECK(parts != NULL);
    r->parts = parts;
    parts[r->part_count++] = (sim_part){.path = sim_copy(l->path), .watch = l->kind};
}

/* All of them in one packet, before anything else. */
static void set_watches(zhandle_t *zh) {
    if (!zh->listeners)
        return;
    sim_request *r = sim_request_new(OP_SET_WATCHES, NULL);
    r->zxid = zh->seen;
    for (const sim_listener *l = zh->listeners; l; l = l->next)
        add_watched(r, l);
    sim_send_now(zh, r);
}

static void send_auth(zhandle_t *zh) {
    if (!zh->has_auth)
        return;
    sim_request *r = sim_request_new(OP_AUTH, NULL);
    r->identity = zh->identity;
    sim_send_now(zh, r);
}

static void confirmed(zhandle_t *zh, const sim_message *m) {
    zh->is_asking = false;
    zh->tries = 0;
    if (!m->good || (zh->id.client_id && zh->id.client_id != sim_session_id(m->session))) {
        zh->state = ZOO_EXPIRED_SESSION_STATE;
        sim_lose(zh, ZSESSIONEXPIRED);
        return;
    }
    zh->id.client_id = sim_session_id(m->session);
    zh->id.passwd[0] = sim_is_keeper ? '\0' : 'p';
    zh->state = ZOO_CONNECTED_STATE;
    SAY("client %d has server %d, session %llx", zh->machine->id,
        zh->servers[zh->turn % zh->server_count] + 1, (unsigned long long)zh->id.client_id);
    send_auth(zh);
    set_watches(zh);
    for (sim_request *r; (r = take(&zh->waiting, &zh->last_waiting));)
        sim_send_now(zh, r);
    sim_deliver_state(zh, ZOO_CONNECTED_STATE);
    watch_over(zh);
}

static void hear_event(zhandle_t *zh, const sim_message *m) {
    sim_listener *listeners = sim_listeners_take(zh, m->path, m->type);
    sim_delivery *d = sim_deliver(zh);
    d->type = m->type;
    d->path = sim_copy(m->path);
    d->listeners = listeners;
}

static void hear_reply(zhandle_t *zh, const sim_message *m) {
    sim_request *r = take(&zh->asked, &zh->last_asked);
    SIM_CHECK(r == m->request); /* answers come in order */
    const int rc = r->part.rc;
    SAY("client %d is answered: %s %s: %d", zh->machine->id, sim_op_name(r->op),
        r->part.made   ? r->part.made
        : r->part.path ? r->part.path
                       : "",
        rc);
    if (rc != ZTHROTTLEDOP && (r->op <= OP_LAST_WRITE || r->op == OP_SYNC))
        zh->proven = sim_now;
    if (r->watcher && (rc == ZOK || (r->op == OP_EXISTS && rc == ZNONODE)))
        sim_listen(zh, r);
    if (r->op == OP_UNWATCH && rc == ZOK)
        sim_stop_listening(zh, r->part.path, r->watch);
    sim_deliver_answer(zh, r, rc);
    if (r->op == OP_AUTH && rc != ZOK) {
        zh->state = ZOO_AUTH_FAILED_STATE;
        sim_lose(zh, ZAUTHFAILED);
    }
}

static void hear(void *client, const sim_message *m) {
    zhandle_t *zh = client;
    zh->last_heard = sim_now;
    if (m->zxid > zh->seen)
        zh->seen = m->zxid;
    switch (m->kind) {
    case SAY_CONNECTED:
        confirmed(zh, m);
        break;
    case SAY_REPLY:
        hear_reply(zh, m);
        break;
    case SAY_EVENT:
        hear_event(zh, m);
        break;
    case SAY_END:
        sim_lose(zh, ZCONNECTIONLOSS);
        break;
    default:
        sim_fail("a client hears what no server says");
    }
}

static zkl_nanos busy_until(void *client) {
    const zhandle_t *zh = client;
    return zh->machine->stopped_until;
}

static void connect_now(zhandle_t *zh) {
    const int server = zh->servers[zh->turn % zh->server_count];
    zh->last_heard = zh->last_sent = sim_now;
    const bool nobody = server < 0 || zh->machine->cut_off_until > sim_now;
    zh->socket = nobody ? NULL : sim_connect(server, zh, hear, busy_until);
    if (!zh->socket) {
        sim_lose(zh, ZCONNECTIONLOSS);
        return;
    }
    sim_socket_distance(zh->socket, zh->machine->distance);
    zh->is_asking = true;
    zh->state = ZOO_ASSOCIATING_STATE;
    sim_send_connect(zh->socket, zh->id.client_id, zh->recv_timeout * SIM_MS, zh->seen,
                     zh->machine);
    watch_over(zh);
}

/* Data in the socket is read before anybody looks at the time. */
void sim_run_io(sim_event *event) {
    zhandle_t *zh = ZKL_CONTAINER_OF(event, zhandle_t, io);
    if (sim_is_stopped(zh->machine, event))
        return;
    if (zh->machine->stopped_until && zh->machine->stopped_until + 2 * SIM_MS > sim_now &&
        zh->socket) {
        sim_at(event, zh->machine->stopped_until + 2 * SIM_MS);
        return;
    }
    if (!zh->socket) {
        connect_now(zh);
        return;
    }
    const zkl_nanos timeout = zh->recv_timeout * SIM_MS;
    if (sim_now >= zh->last_heard + timeout * 2 / 3) {
        sim_lose(zh, ZOPERATIONTIMEOUT);
        return;
    }
    if (!zh->is_asking && sim_now >= zh->last_sent + timeout / 3)
        sim_send_now(zh, sim_request_new(OP_PING, NULL));
    watch_over(zh);
}
