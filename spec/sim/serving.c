/* SPDX-License-Identifier: MIT */
/* How a server answers its own clients. */
#include "server.h"

static void reply(sim_server *at, sim_socket *socket, sim_request *r) {
    sim_message *m = sim_put(&socket->down, SAY_REPLY);
    m->request = r;
    sim_request_keep(r);
    m->zxid = r->zxid = at->view;
}

static bool is_write(const sim_request *r) {
    return r->op <= OP_LAST_WRITE;
}

static void serve_read(sim_server *at, sim_socket *socket, sim_request *r) {
    switch (r->op) {
    case OP_UNWATCH:
        r->part.rc = sim_unwatch(&at->watchers, &socket->watchers, r->part.path, r->watch)
                         ? ZOK
                         : ZNOWATCHER;
        break;
    case OP_SET_WATCHES:
        for (size_t i = 0; i < r->part_count; i++)
            sim_watch_again(at, socket, r->zxid, &r->parts[i]);
        r->part.rc = ZOK;
        break;
    case OP_AUTH:
        r->part.rc =
            sim_ensemble.refusing && sim_once_in(sim_ensemble.refusing) ? ZAUTHFAILED : ZOK;
        if (r->part.rc == ZOK)
            socket->identity = r->identity;
        break;
    case OP_PING:
        r->part.rc = ZOK;
        break;
    default:
        r->identity = socket->identity;
        sim_read(r, at->view);
        if (r->watch && (r->part.rc == ZOK || (r->op == OP_EXISTS && r->part.rc == ZNONODE)))
            sim_watch(&at->watchers, &socket->watchers, socket, r->part.path,
                      r->op == OP_LIST ? WATCH_CHILDREN : WATCH_DATA);
    }
}

/* Answers come in the order of the requests: what is read waits for what is written before. */
static void pump(sim_socket *socket) {
    sim_server *at = &sim_ensemble.servers[socket->server];
    while (socket->is_open && socket->pending) {
        sim_request *r = socket->pending;
        if ((is_write(r) || r->op == OP_SYNC) && !r->done)
            return;
        if (!r->done)
            serve_read(at, socket, r);
        if (r->part.rc == ZSESSIONMOVED) {
            sim_socket_close(
                socket); /* or client and leader would not agree on where it is for ever */
            return;
        }
        socket->pending = r->behind;
        if (!socket->pending)
            socket->last_pending = NULL;
        const bool ends = r->op == OP_CLOSE_SESSION;
        reply(at, socket, r);
        sim_request_drop(r);
        if (ends)
            sim_socket_close(socket);
    }
}

void sim_answer_connect(sim_socket *socket, bool good) {
    if (!socket->is_open)
        return;
    sim_message *m = sim_put(&socket->down, SAY_CONNECTED);
    m->good = good;
    m->session = socket->session;
    if (!good) {
        socket->session = NULL;
        sim_socket_close(socket);
    }
}

void sim_finish_opening(sim_request *r) {
    sim_socket *socket = r->from;
    r->done = true;
    if (!socket->is_open || socket->pending != r)
        return;
    socket->pending = socket->last_pending = NULL;
    sim_request_drop(r);
    sim_answer_connect(socket, true);
}

void sim_finish(sim_request *r) {
    r->done = true;
    if (r->from && r->from->is_open)
        pump(r->from);
}

void sim_serve_connect(sim_server *at, sim_socket *socket, const sim_message *m) {
    if (m->zxid > at->view) {
        SAY("server %d is behind a client, and refuses it", at->id + 1);
        sim_socket_close(socket);
        return;
    }
    sim_session *former = sim_is_keeper ? NULL : m->session;
    if (former)
        sim_sockets_close_former(at, former);
    socket->session = former;
    if (!former) {
        sim_request *r = sim_request_new(OP_OPEN_SESSION, NULL);
        r->session = socket->session = sim_session_new();
        r->session->timeout = m->timeout;
        r->session->home = at->id;
        r->from = socket;
        r->session->owner = socket->owner;
        if (at->role == LEADING) {
            sim_propose(at, r, at->id);
        } else {
            sim_message *forward = sim_put(&at->up, SAY_FORWARD);
            forward->request = r;
            sim_request_keep(r);
        }
        r->behind = NULL;
        socket->pending = socket->last_pending = r; /* its reply is SAY_CONNECTED */
    } else if (at->role == LEADING) {
        sim_answer_connect(socket, sim_revalidate(at, former, at->id));
    } else {
        sim_message *ask = sim_put(&at->up, SAY_REVALIDATE);
        ask->socket = socket;
        ask->session = former;
    }
}

void (*sim_throttled)(const sim_session *session);

static bool is_throttled(const sim_request *r) {
    if (r->op == OP_PING || r->op == OP_SET_WATCHES || r->op == OP_AUTH ||
        r->op == OP_CLOSE_SESSION)
        return false;
    if (sim_ensemble.directories_throttled && r->op == OP_CREATE &&
        (r->part.mode == FAKE_PERSISTENT || r->part.mode == FAKE_CONTAINER))
        return true;
    return sim_ensemble.throttle && sim_once_in(sim_ensemble.throttle);
}

void sim_serve_request(sim_server *at, sim_socket *socket, sim_request *r) {
    sim_request_keep(r);
    r->behind = NULL;
    r->from = socket;
    r->session = socket->session;
    r->identity = r->op == OP_AUTH ? r->identity : socket->identity;
    if (socket->last_pending)
        socket->last_pending->behind = r;
    else
        socket->pending = r;
    socket->last_pending = r;
    if (is_throttled(r)) {
        r->part.rc = ZTHROTTLEDOP;
        r->done = true;
        sim_throttled(socket->session);
    } else if (is_write(r) || r->op == OP_SYNC) {
        if (at->role == LEADING) {
            sim_lead_request(at, r, at->id);
        } else {
            sim_message *m = sim_put(&at->up, SAY_FORWARD);
            m->request = r;
            sim_request_keep(r);
        }
    }
    pump(socket);
}
