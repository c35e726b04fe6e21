/* SPDX-License-Identifier: MIT */
/* The connections between clients and servers, from both sides. */
#include "server.h"

#include <string.h>

static void drop_pending(sim_socket *socket) {
    while (socket->pending) {
        sim_request *r = socket->pending;
        socket->pending = r->behind;
        sim_request_drop(r);
    }
    socket->last_pending = NULL;
}

void sim_socket_close(sim_socket *socket) {
    if (!socket->is_open)
        return;
    sim_server *at = &sim_ensemble.servers[socket->server];
    sim_socket **p = &at->sockets;
    while (*p != socket)
        p = &(*p)->beside;
    *p = socket->beside;
    socket->is_open = false;
    sim_unwatch_all(&at->watchers, &socket->watchers);
    drop_pending(socket);
    sim_queue_lose(&socket->up, 0);
    if (!socket->client)
        return;
    const size_t count = sim_queue_count(&socket->down);
    if (sim_once_in(2))
        sim_queue_lose(&socket->down, sim_any((unsigned)count + 1));
    sim_put(&socket->down, SAY_END);
}

void sim_sockets_close(sim_server *at) {
    while (at->sockets)
        sim_socket_close(at->sockets);
}

void sim_sockets_close_former(sim_server *at, const sim_session *session) {
    for (sim_socket *s = at->sockets, *next; s; s = next) {
        next = s->beside;
        if (s->session == session)
            sim_socket_close(s);
    }
}

void sim_drop_ended(sim_server *at) {
    for (sim_socket *s = at->sockets, *next; s; s = next) {
        next = s->beside;
        if (!s->session || !s->session->closed || s->session->closed > at->view || s->is_stale)
            continue;
        s->is_stale = sim_ensemble.forgetting && sim_once_in(sim_ensemble.forgetting);
        if (!s->is_stale)
            sim_socket_close(s);
    }
}

static size_t packet_size(const sim_request *r) {
    size_t size = 28;
    for (size_t i = 0; i < r->part_count; i++)
        size += 4 + strlen(r->parts[i].path);
    return size;
}

static void hear_client(void *of, sim_message *m) {
    sim_socket *socket = of;
    sim_server *at = &sim_ensemble.servers[socket->server];
    if (!socket->is_open)
        return;
    if (m->kind == SAY_END) {
        sim_socket_close(socket);
        return;
    }
    if (at->role != LEADING && at->role != FOLLOWING) {
        sim_socket_close(socket);
        return;
    }
    if (sim_leads(at))
        sim_session_touch(m->kind == SAY_CONNECT ? NULL : socket->session);
    else if (socket->session)
        socket->session->touched_at |= 1U << at->id;
    if (m->kind == SAY_CONNECT)
        sim_serve_connect(at, socket, m);
    else if (m->request->op == OP_SET_WATCHES && packet_size(m->request) > sim_packet_most)
        sim_socket_close(socket);
    else
        sim_serve_request(at, socket, m->request);
}

static zkl_nanos server_busy_until(void *of) {
    const sim_socket *socket = of;
    return sim_ensemble.servers[socket->server].stopped_until;
}

static void hear_server(void *of, sim_message *m) {
    sim_socket *socket = of;
    if (socket->client)
        socket->hear(socket->client, m);
}

static zkl_nanos client_busy_until(void *of) {
    const sim_socket *socket = of;
    return socket->client ? socket->busy_until(socket->client) : 0;
}

sim_socket *sim_connect(int i, void *client, sim_hear *hear, zkl_nanos (*busy_until)(void *)) {
    sim_server *at = &sim_ensemble.servers[i];
    if (at->role == DOWN)
        return NULL;
    sim_socket *s = sim_new(sizeof *s);
    s->next = sim_ensemble.sockets;
    sim_ensemble.sockets = s;
    s->server = i;
    s->client = client;
    s->hear = hear;
    s->busy_until = busy_until;
    s->is_open = true;
    s->beside = at->sockets;
    at->sockets = s;
    sim_queue_init(&s->up, s, hear_client, server_busy_until);
    sim_queue_init(&s->down, s, hear_server, client_busy_until);
    return s;
}

void sim_socket_distance(sim_socket *socket, zkl_nanos distance) {
    socket->up.distance = socket->down.distance = distance;
}

void sim_send_connect(sim_socket *socket, int64_t session, zkl_nanos timeout, int64_t zxid,
                      void *owner) {
    sim_message *m = sim_put(&socket->up, SAY_CONNECT);
    m->session = session ? sim_session_find(session) : NULL;
    m->timeout = timeout;
    m->zxid = zxid;
    socket->owner = owner;
}

void sim_send(sim_socket *socket, sim_request *r) {
    sim_message *m = sim_put(&socket->up, SAY_REQUEST);
    m->request = r;
    sim_request_keep(r);
}

void sim_hang_up(sim_socket *socket, bool whole) {
    socket->client = NULL;
    sim_queue_lose(&socket->down, 0);
    if (!socket->is_open)
        return;
    if (!whole && sim_once_in(2))
        sim_queue_lose(&socket->up, sim_any((unsigned)sim_queue_count(&socket->up) + 1));
    sim_put(&socket->up, SAY_END);
}

static bool is_of(const sim_socket *s, int i, const void *owner) {
    return (i < 0 || s->server == i) && (!owner || s->owner == owner);
}

void sim_sockets_cut(int i, const void *owner, unsigned one_in) {
    for (int j = 0; j < SERVERS; j++)
        for (sim_socket *s = sim_ensemble.servers[j].sockets, *next; s; s = next) {
            next = s->beside;
            if (is_of(s, i, owner) && sim_once_in(one_in))
                sim_socket_close(s);
        }
}

void sim_sockets_slow(int i, const void *owner, zkl_nanos until, bool to_server) {
    for (int j = 0; j < SERVERS; j++)
        for (sim_socket *s = sim_ensemble.servers[j].sockets; s; s = s->beside)
            if (is_of(s, i, owner))
                sim_queue_slow(to_server ? &s->up : &s->down, until);
}

size_t sim_sockets(void) {
    size_t n = 0;
    for (int i = 0; i < SERVERS; i++)
        for (const sim_socket *s = sim_ensemble.servers[i].sockets; s; s = s->beside)
            n++;
    return n;
}
