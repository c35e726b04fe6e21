#include "ensemble.h"

#include "watchers.h"

#include <stdlib.h>
#include <string.h>

struct sim_session {
    sim_session *next; /* of all that there ever were */
    int64_t id;
    zkl_nanos timeout, touched; /* as the leader counts */
    bool open, closing, is_stranger, is_forced;
    int64_t closed; /* zxid; 0: not */
    int home;       /* the server that has it, as the leader knows */
    void *owner;
    unsigned touched_at; /* bits: servers that have heard of it since they last told the leader */
};

struct sim_socket {
    sim_socket *next;   /* of all */
    sim_socket *beside; /* open ones of its server */
    int server;
    void *client, *owner; /* client NULL: it has hung up */
    sim_hear *hear;
    zkl_nanos (*busy_until)(void *client);
    bool is_open; /* at the server */
    sim_queue up, down;
    sim_session *session;
    uint64_t identity;
    sim_request *pending, *last_pending; /* kept */
    sim_watcher *watchers;
};

typedef enum role { DOWN, LOOKING, FOLLOWING, LEADING } role;

typedef struct server {
    int id;
    role role;
    int leader; /* of a follower */
    int64_t view;
    zkl_nanos stopped_until, isolated_until, heard, rests_until;
    sim_event pace;
    unsigned stuck;     /* proposals and syncs of one who was deposed: nobody answers them */
    sim_queue up, down; /* to and from the leader */
    sim_socket *sockets;
    sim_watchers watchers;
} server;

typedef struct proposal {
    struct proposal *next;
    sim_request *request; /* kept */
    zkl_nanos at;
    int origin; /* the server whose client asks; -1: nobody's */
} proposal;

static struct {
    server servers[SERVERS];
    int leader;
    unsigned epoch;
    zkl_nanos tick, patience;
    proposal *first, *last;
    sim_event commit, ticks, elections;
    sim_session *sessions;
    sim_socket *sockets;
    int64_t ids;
    unsigned throttle, refusing;
} ens;

size_t sim_packet_most;
void (*sim_session_ended)(const sim_session *session);

/* ---- sessions ---- */

int64_t sim_session_id(const sim_session *s) {
    return s->id;
}

bool sim_session_is_open(const sim_session *s) {
    return s->open;
}

sim_session *sim_session_find(int64_t id) {
    sim_session *s = ens.sessions;
    while (s && s->id != id)
        s = s->next;
    return s;
}

void *sim_session_owner(const sim_session *s) {
    return s->owner;
}

size_t sim_sessions_open(void) {
    size_t n = 0;
    for (const sim_session *s = ens.sessions; s; s = s->next)
        n += s->open;
    return n;
}

static sim_session *session_new(void) {
    sim_session *s = sim_new(sizeof *s);
    s->id = ++ens.ids;
    s->next = ens.sessions;
    ens.sessions = s;
    return s;
}

void sim_session_opened(sim_session *s) {
    s->open = true;
    s->touched = sim_now;
    sim_counted.sessions += !s->is_stranger;
}

void sim_session_closed(sim_session *s) {
    s->open = false;
    s->closed = sim_tree->zxid;
    if (sim_session_ended)
        sim_session_ended(s);
}

sim_session *sim_session_stranger(void) {
    sim_session *s = session_new();
    s->is_stranger = true;
    sim_request *r = sim_request_new(OP_OPEN_SESSION, NULL);
    r->session = s;
    sim_ensemble_write(r);
    sim_request_drop(r);
    return s;
}

/* ---- watches ---- */

static sim_watcher **watchers_of(sim_socket *socket) {
    return &socket->watchers;
}

typedef struct news {
    server *at;
    int type;
    const char *path;
    size_t length;
    const fake_node *of;  /* who may not read it is told nothing; NULL: everybody is told */
    sim_socket *told[64]; /* those that have heard of this change already: of its deletion once */
    size_t told_count;
} news;

static void send_event(sim_socket *socket, void *ctx) {
    news *n = ctx;
    if (!sim_may_read(n->of, socket->identity, n->at->view))
        return;
    for (size_t i = 0; i < n->told_count; i++)
        if (n->told[i] == socket)
            return;
    if (n->told_count < sizeof n->told / sizeof *n->told)
        n->told[n->told_count++] = socket;
    sim_message *m = sim_put(&socket->down, SAY_EVENT);
    m->type = n->type;
    m->path = sim_new(n->length + 1);
    memcpy(m->path, n->path, n->length);
    m->zxid = n->at->view;
}

static void trigger(server *at, int type, const char *path, size_t length, int kinds,
                    const fake_node *of) {
    if (!at->watchers.count)
        return;
    news n = {.at = at, .type = type, .path = path, .length = length, .of = of};
    sim_trigger(&at->watchers, path, length, kinds, watchers_of, send_event, &n);
}

static void tell_watchers(server *at, const sim_change *c) {
    const char *path = c->node->path;
    const size_t length = strlen(path), above = (size_t)(strrchr(path, '/') - path);
    const int kinds = c->type == EVENT_DELETED ? WATCH_DATA | WATCH_CHILDREN : WATCH_DATA;
    trigger(at, c->type, path, length, kinds, c->node);
    if (c->type != EVENT_CHANGED && above > 0)
        trigger(at, EVENT_CHILDREN, path, above, WATCH_CHILDREN, c->node->parent);
}

/* The server sees everything up to there. */
static void apply(server *at, int64_t zxid) {
    if (zxid <= at->view)
        return;
    size_t count;
    const sim_change *c = sim_changes(at->view, &count);
    for (size_t i = 0; i < count && c[i].zxid <= zxid; i++) {
        at->view = c[i].zxid;
        tell_watchers(at, &c[i]);
    }
    at->view = zxid;
}

int64_t sim_oldest_view(const fake_servers *servers) {
    int64_t oldest = servers->zxid;
    for (int i = 0; i < SERVERS; i++)
        if (ens.servers[i].view < oldest)
            oldest = ens.servers[i].view;
    return oldest;
}

size_t sim_watches(void) {
    size_t n = 0;
    for (int i = 0; i < SERVERS; i++)
        n += ens.servers[i].watchers.count;
    return n;
}

/* What was watched before a link broke is watched again; what has changed meanwhile is told at
 * once. */
static void set_again(server *at, sim_socket *socket, int64_t seen, const sim_part *p) {
    const fake_node *node = fake_find(sim_tree, p->path, at->view);
    int type = 0;
    if (p->watch == WATCH_EXISTS)
        type = node ? EVENT_CREATED : 0;
    else if (!node)
        type = EVENT_DELETED;
    else if (p->watch == WATCH_DATA)
        type = fake_edition_at(node, at->view).mzxid > seen ? EVENT_CHANGED : 0;
    else
        type = fake_pzxid(node, at->view) > seen ? EVENT_CHILDREN : 0;
    if (type) {
        news n = {.at = at, .type = type, .path = p->path, .length = strlen(p->path)};
        send_event(socket, &n);
    } else {
        sim_watch(&at->watchers, &socket->watchers, socket, p->path,
                  p->watch == WATCH_CHILDREN ? WATCH_CHILDREN : WATCH_DATA);
    }
}

/* ---- sockets, at the server ---- */

static void drop_pending(sim_socket *socket) {
    while (socket->pending) {
        sim_request *r = socket->pending;
        socket->pending = r->behind;
        sim_request_drop(r);
    }
    socket->last_pending = NULL;
}

static void close_socket(sim_socket *socket) {
    if (!socket->is_open)
        return;
    server *at = &ens.servers[socket->server];
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

static void close_all(server *at) {
    while (at->sockets)
        close_socket(at->sockets);
}

static void reply(server *at, sim_socket *socket, sim_request *r) {
    sim_message *m = sim_put(&socket->down, SAY_REPLY);
    m->request = r;
    sim_request_keep(r);
    m->zxid = r->zxid = at->view;
}

static bool is_write(const sim_request *r) {
    return r->op <= OP_LAST_WRITE;
}

static void serve_read(server *at, sim_socket *socket, sim_request *r) {
    switch (r->op) {
    case OP_UNWATCH:
        r->part.rc = sim_unwatch(&at->watchers, &socket->watchers, r->part.path, r->watch)
                         ? ZOK
                         : ZNOWATCHER;
        break;
    case OP_SET_WATCHES:
        for (size_t i = 0; i < r->part_count; i++)
            set_again(at, socket, r->zxid, &r->parts[i]);
        r->part.rc = ZOK;
        break;
    case OP_AUTH:
        r->part.rc = ens.refusing && sim_once_in(ens.refusing) ? ZAUTHFAILED : ZOK;
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
    server *at = &ens.servers[socket->server];
    while (socket->is_open && socket->pending) {
        sim_request *r = socket->pending;
        if ((is_write(r) || r->op == OP_SYNC) && !r->done)
            return;
        if (!r->done)
            serve_read(at, socket, r);
        if (r->part.rc == ZSESSIONMOVED) {
            close_socket(socket); /* or client and leader would not agree on where it is for ever */
            return;
        }
        socket->pending = r->behind;
        if (!socket->pending)
            socket->last_pending = NULL;
        const bool ends = r->op == OP_CLOSE_SESSION;
        reply(at, socket, r);
        sim_request_drop(r);
        if (ends)
            close_socket(socket);
    }
}

static void connected(server *at, sim_socket *socket, bool good) {
    if (!socket->is_open)
        return;
    sim_message *m = sim_put(&socket->down, SAY_CONNECTED);
    m->good = good;
    m->session = socket->session;
    if (!good) {
        socket->session = NULL;
        close_socket(socket);
    }
}

/* The session is made: that is the first thing that its socket waits for. */
static void finish_opening(server *at, sim_request *r) {
    sim_socket *socket = r->from;
    r->done = true;
    if (!socket->is_open || socket->pending != r)
        return;
    socket->pending = socket->last_pending = NULL;
    sim_request_drop(r);
    connected(at, socket, true);
}

static void finish(sim_request *r) {
    r->done = true;
    if (r->from && r->from->is_open)
        pump(r->from);
}

/* ---- what the leader does ---- */

static bool leads(const server *at) {
    return at->role == LEADING && ens.leader == at->id;
}

static bool is_cut_off(const server *at) {
    return at->isolated_until > sim_now;
}

static bool is_stopped(const server *at) {
    return at->stopped_until > sim_now;
}

/* Can it commit now? */
static bool has_quorum(const server *leader) {
    if (is_cut_off(leader) || is_stopped(leader))
        return false;
    for (int i = 0; i < SERVERS; i++) {
        const server *f = &ens.servers[i];
        if (f->role == FOLLOWING && f->leader == leader->id && !is_cut_off(f) && !is_stopped(f) &&
            f->up.slow_until <= sim_now && f->down.slow_until <= sim_now)
            return true;
    }
    return false;
}

static void propose(server *leader, sim_request *r, int origin) {
    if (!leads(leader)) {
        leader->stuck++;
        return;
    }
    proposal *p = sim_new(sizeof *p);
    p->request = r;
    sim_request_keep(r);
    r->has_reached = has_quorum(leader);
    p->origin = origin;
    p->at = sim_now + SIM_MS / 4 + sim_some(SIM_MS);
    if (ens.last && p->at < ens.last->at)
        p->at = ens.last->at;
    if (ens.last)
        ens.last->next = p;
    else
        ens.first = p;
    ens.last = p;
    if (ens.first == p)
        sim_at(&ens.commit, p->at);
}

static void touch(sim_session *s) {
    if (s && s->open && !s->closing)
        s->touched = sim_now;
}

/* To those who follow; the one whose client it was answers it. */
static void spread(const server *leader, sim_request *r, int origin) {
    for (int i = 0; i < SERVERS; i++) {
        server *f = &ens.servers[i];
        if (f->role != FOLLOWING || f->leader != leader->id)
            continue;
        sim_message *m = sim_put(&f->down, SAY_COMMIT);
        m->zxid = sim_tree->zxid;
        if (origin == i) {
            m->request = r;
            sim_request_keep(r);
        }
    }
}

/* Whose session has ended is hung up on by whoever has it. */
static void drop_ended(server *at) {
    for (sim_socket *s = at->sockets, *next; s; s = next) {
        next = s->beside;
        if (s->session && s->session->closed && s->session->closed <= at->view)
            close_socket(s);
    }
}

static void say_write(const sim_request *r) {
    if (r->session && !r->session->is_stranger)
        SAY("servers: %s %s of session %llx: %d, zxid %llx", sim_op_name(r->op),
            r->part.made   ? r->part.made
            : r->part.path ? r->part.path
                           : "",
            (unsigned long long)r->session->id, r->part.rc, (unsigned long long)sim_tree->zxid);
    else
        SAY("servers: %s %s by somebody else: %d", sim_op_name(r->op),
            r->part.made   ? r->part.made
            : r->part.path ? r->part.path
                           : "",
            r->part.rc);
}

static void commit(server *leader, sim_request *r, int origin) {
    const bool only_sync = r->op == OP_SYNC;
    if (!only_sync) {
        sim_write(r);
        if (sim_tracing)
            say_write(r);
    }
    spread(leader, r, origin);
    apply(leader, sim_tree->zxid);
    if (origin == leader->id && r->op == OP_OPEN_SESSION)
        finish_opening(leader, r);
    else if (origin == leader->id)
        finish(r);
    if (r->op == OP_CLOSE_SESSION)
        drop_ended(leader);
    if (!only_sync && sim_tree->zxid % 512 == 0) {
        sim_changes_forget(sim_oldest_view(sim_tree));
        fake_forget(sim_tree);
    }
}

static proposal *take_proposal(void) {
    proposal *p = ens.first;
    ens.first = p->next;
    if (!ens.first)
        ens.last = NULL;
    return p;
}

static void commit_next(sim_event *event) {
    if (!ens.first)
        return;
    server *leader = ens.leader >= 0 ? &ens.servers[ens.leader] : NULL;
    if (!leader)
        return; /* the next one sees what becomes of it */
    if (!has_quorum(leader)) {
        sim_after(event, 5 * SIM_MS);
        return;
    }
    proposal *p = take_proposal();
    if (ens.first)
        sim_at(event, ens.first->at);
    commit(leader, p->request, p->origin);
    sim_request_drop(p->request);
    free(p);
}

void sim_ensemble_write(sim_request *r) {
    sim_write(r);
    if (sim_tracing)
        say_write(r);
    if (ens.leader < 0)
        return;
    spread(&ens.servers[ens.leader], r, -1);
    apply(&ens.servers[ens.leader], sim_tree->zxid);
    if (r->op == OP_CLOSE_SESSION)
        drop_ended(&ens.servers[ens.leader]);
}

static void answer_sync(server *leader, sim_request *r, int origin) {
    if (origin == leader->id) {
        finish(r);
        return;
    }
    sim_message *m = sim_put(&ens.servers[origin].down, SAY_SYNCED);
    m->request = r;
    sim_request_keep(r);
    m->zxid = leader->view;
}

static void lead_request(server *leader, sim_request *r, int origin) {
    if (leads(leader) && origin == leader->id)
        touch(r->session);
    if (r->op == OP_SYNC && !leader->stuck && !(leads(leader) && ens.first)) {
        answer_sync(leader, r, origin);
        return;
    }
    /* who says goodbye is not asked where it is */
    r->is_moved = leads(leader) && r->session && r->op != OP_OPEN_SESSION &&
                  r->op != OP_CLOSE_SESSION && r->session->home != origin;
    if (r->op == OP_CLOSE_SESSION && r->session && leads(leader))
        r->session->closing = true;
    propose(leader, r, origin);
}

/* false: it is over, and whoever asks hears so. A leader that was deposed does not know better. */
static bool revalidate(const server *leader, sim_session *s, int at) {
    if (!s || (s->closed && s->closed <= leader->view) ||
        (leads(leader) && (s->closing || !s->open)))
        return false;
    if (leads(leader)) {
        touch(s);
        s->home = at;
    }
    return true;
}

/* ---- a client's connection, at its server ---- */

/* Its session has come back on another connection. */
static void close_former(server *at, const sim_session *session) {
    for (sim_socket *s = at->sockets, *next; s; s = next) {
        next = s->beside;
        if (s->session == session)
            close_socket(s);
    }
}

static void serve_connect(server *at, sim_socket *socket, const sim_message *m) {
    if (m->zxid > at->view) {
        SAY("server %d is behind a client, and refuses it", at->id + 1);
        close_socket(socket);
        return;
    }
    if (m->session)
        close_former(at, m->session);
    socket->session = m->session;
    if (!m->session) {
        sim_request *r = sim_request_new(OP_OPEN_SESSION, NULL);
        r->session = socket->session = session_new();
        r->session->timeout = m->timeout;
        r->session->home = at->id;
        r->from = socket;
        r->session->owner = socket->owner;
        if (at->role == LEADING) {
            propose(at, r, at->id);
        } else {
            sim_message *forward = sim_put(&at->up, SAY_FORWARD);
            forward->request = r;
            sim_request_keep(r);
        }
        r->behind = NULL;
        socket->pending = socket->last_pending = r; /* its reply is SAY_CONNECTED */
    } else if (at->role == LEADING) {
        connected(at, socket, revalidate(at, m->session, at->id));
    } else {
        sim_message *ask = sim_put(&at->up, SAY_REVALIDATE);
        ask->socket = socket;
        ask->session = m->session;
    }
}

static void serve_request(server *at, sim_socket *socket, sim_request *r) {
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
    if (ens.throttle && r->op != OP_PING && r->op != OP_SET_WATCHES && r->op != OP_AUTH &&
        r->op != OP_CLOSE_SESSION && sim_once_in(ens.throttle)) {
        r->part.rc = ZTHROTTLEDOP;
        r->done = true;
    } else if (is_write(r) || r->op == OP_SYNC) {
        if (at->role == LEADING) {
            lead_request(at, r, at->id);
        } else {
            sim_message *m = sim_put(&at->up, SAY_FORWARD);
            m->request = r;
            sim_request_keep(r);
        }
    }
    pump(socket);
}

static size_t packet_size(const sim_request *r) {
    size_t size = 28;
    for (size_t i = 0; i < r->part_count; i++)
        size += 4 + strlen(r->parts[i].path);
    return size;
}

static void hear_client(void *of, sim_message *m) {
    sim_socket *socket = of;
    server *at = &ens.servers[socket->server];
    if (!socket->is_open)
        return;
    if (m->kind == SAY_END) {
        close_socket(socket);
        return;
    }
    if (at->role != LEADING && at->role != FOLLOWING) {
        close_socket(socket);
        return;
    }
    if (leads(at))
        touch(m->kind == SAY_CONNECT ? NULL : socket->session);
    else if (socket->session)
        socket->session->touched_at |= 1U << at->id;
    if (m->kind == SAY_CONNECT)
        serve_connect(at, socket, m);
    else if (m->request->op == OP_SET_WATCHES && packet_size(m->request) > sim_packet_most)
        close_socket(socket);
    else
        serve_request(at, socket, m->request);
}

static zkl_nanos server_busy_until(void *of) {
    const sim_socket *socket = of;
    return ens.servers[socket->server].stopped_until;
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

/* ---- between servers ---- */

static void hear_leader(void *of, sim_message *m) {
    server *at = of;
    switch (m->kind) {
    case SAY_PING: {
        at->heard = sim_now;
        sim_message *pong = sim_put(&at->up, SAY_PONG);
        size_t count = 0;
        for (const sim_session *s = ens.sessions; s; s = s->next)
            count += s->touched_at >> at->id & 1;
        pong->heard = count ? sim_new(count * sizeof *pong->heard) : NULL;
        for (sim_session *s = ens.sessions; s && count; s = s->next)
            if (s->touched_at >> at->id & 1) {
                s->touched_at &= ~(1U << at->id);
                pong->heard[pong->heard_count++] = s;
            }
        break;
    }
    case SAY_COMMIT:
        apply(at, m->zxid);
        if (m->request && m->request->op == OP_OPEN_SESSION)
            finish_opening(at, m->request);
        else if (m->request)
            finish(m->request);
        drop_ended(at);
        break;
    case SAY_SYNCED:
        finish(m->request);
        break;
    case SAY_REVALIDATED:
        connected(at, m->socket, m->good);
        break;
    default:
        sim_fail("a follower hears what no leader says");
    }
}

static void hear_follower(void *of, sim_message *m) {
    server *follower = of;
    server *at = &ens.servers[follower->leader];
    switch (m->kind) {
    case SAY_PONG:
        at->heard = sim_now;
        for (size_t i = 0; i < m->heard_count && leads(at); i++)
            touch(m->heard[i]);
        break;
    case SAY_FORWARD:
        lead_request(at, m->request, follower->id);
        break;
    case SAY_REVALIDATE: {
        sim_message *answer = sim_put(&follower->down, SAY_REVALIDATED);
        answer->socket = m->socket;
        answer->good = revalidate(at, m->session, follower->id);
        break;
    }
    default:
        sim_fail("a leader hears what no follower says");
    }
}

static zkl_nanos leader_busy_until(void *of) {
    const server *follower = of;
    return ens.servers[follower->leader].stopped_until;
}

static zkl_nanos follower_busy_until(void *of) {
    const server *follower = of;
    return follower->stopped_until;
}

/* ---- who leads ---- */

static void leave_quorum(server *at) {
    close_all(at);
    sim_queue_lose(&at->up, 0);
    sim_queue_lose(&at->down, 0);
    for (sim_session *s = ens.sessions; s; s = s->next)
        s->touched_at &= ~(1U << at->id);
    at->stuck = 0;
    at->rests_until = sim_now + sim_some(ens.tick);
}

static void step_down(server *at) {
    SAY("server %d %s", at->id + 1, leads(at) ? "leads no more" : "looks for a leader");
    if (leads(at))
        ens.leader = -1;
    at->role = LOOKING;
    leave_quorum(at);
}

static void follow(server *at, int leader) {
    SAY("server %d follows server %d", at->id + 1, leader + 1);
    sim_queue_lose(&at->up, 0);
    sim_queue_lose(&at->down, 0);
    at->up.slow_until = at->down.slow_until = 0;
    at->role = FOLLOWING;
    at->leader = leader;
    at->heard = sim_now;
    apply(at, sim_tree->zxid);
}

static bool can_vote(const server *at) {
    return at->role == LOOKING && !is_stopped(at) && !is_cut_off(at) && at->rests_until <= sim_now;
}

/* What the former leader had proposed: some of it had reached who leads now. */
static void settle_proposals(server *leader) {
    bool reached = true;
    while (ens.first) {
        proposal *p = take_proposal();
        reached =
            reached && p->request->has_reached && p->request->op != OP_SYNC && !sim_once_in(3);
        if (reached)
            commit(leader, p->request, -1);
        sim_request_drop(p->request);
        free(p);
    }
    sim_cancel(&ens.commit);
}

static void elect(const int *voters, int count) {
    server *leader = &ens.servers[voters[sim_any((unsigned)count)]];
    ens.epoch++;
    apply(leader, sim_tree->zxid);
    settle_proposals(leader);
    sim_tree->zxid = ((int64_t)ens.epoch << 32) | 1;
    SAY("server %d is elected, epoch %u", leader->id + 1, ens.epoch);
    ens.leader = leader->id;
    leader->role = LEADING;
    leader->heard = sim_now;
    apply(leader, sim_tree->zxid);
    for (int i = 0; i < count; i++)
        if (voters[i] != leader->id)
            follow(&ens.servers[voters[i]], leader->id);
    for (sim_session *s = ens.sessions; s; s = s->next) {
        s->closing = false;
        touch(s);
    }
    sim_at(&leader->pace, sim_now);
}

static void look_for_leader(sim_event *event) {
    int voters[SERVERS], count = 0;
    sim_after(event, ens.tick / 8 + sim_some(ens.tick / 4));
    for (int i = 0; i < SERVERS; i++)
        if (can_vote(&ens.servers[i]))
            voters[count++] = i;
    if (!count)
        return;
    const server *leader = ens.leader >= 0 ? &ens.servers[ens.leader] : NULL;
    if (leader && !is_cut_off(leader) && !is_stopped(leader))
        for (int i = 0; i < count; i++)
            follow(&ens.servers[voters[i]], leader->id);
    else if (2 * count > SERVERS)
        elect(voters, count);
}

/* Half a tick's work: leaders ping, and whoever has not heard from the others for too long gives
 * up. A leader that goes on after a stop pings before it does anything else. */
static void keep_pace(sim_event *event) {
    server *at = ZKL_CONTAINER_OF(event, server, pace);
    if (is_stopped(at)) {
        sim_at(event, at->stopped_until);
        return;
    }
    sim_after(event, ens.tick / 2 + sim_some(ens.tick / 24));
    if ((at->role == FOLLOWING || at->role == LEADING) && sim_now > at->heard + ens.patience) {
        step_down(at);
        return;
    }
    for (int i = 0; i < SERVERS && at->role == LEADING; i++)
        if (ens.servers[i].role == FOLLOWING && ens.servers[i].leader == at->id)
            sim_put(&ens.servers[i].down, SAY_PING);
}

static void end_one(sim_session *s) {
    if (ens.leader < 0 || s->closing || !s->open)
        return;
    SAY("the leader ends session %llx", (unsigned long long)s->id);
    sim_request *r = sim_request_new(OP_CLOSE_SESSION, NULL);
    r->session = s;
    s->closing = true;
    propose(&ens.servers[ens.leader], r, -1);
    sim_request_drop(r);
}

/* The first tick after the timeout. */
static void end_sessions(sim_event *event) {
    server *leader = ens.leader >= 0 ? &ens.servers[ens.leader] : NULL;
    sim_at(event, (sim_now / ens.tick + 1) * ens.tick);
    if (!leader)
        return;
    if (is_stopped(leader)) {
        sim_at(event, leader->stopped_until); /* before it does anything else */
        return;
    }
    for (sim_session *s = ens.sessions; s; s = s->next)
        if (s->open && !s->closing && !s->is_stranger &&
            sim_now >= ((s->touched + s->timeout) / ens.tick + 1) * ens.tick)
            end_one(s);
}

void sim_session_expire(sim_session *s) {
    s->is_forced = true;
    end_one(s);
}

bool sim_session_is_forced(const sim_session *s) {
    return s->is_forced;
}

sim_session *sim_session_any(void) {
    unsigned n = 0;
    for (const sim_session *s = ens.sessions; s; s = s->next)
        n += s->open && !s->is_stranger;
    if (!n)
        return NULL;
    n = sim_any(n);
    for (sim_session *s = ens.sessions; s; s = s->next)
        if (s->open && !s->is_stranger && n-- == 0)
            return s;
    return NULL;
}

/* ---- a client's side of a connection ---- */

sim_socket *sim_connect(int i, void *client, sim_hear *hear, zkl_nanos (*busy_until)(void *)) {
    server *at = &ens.servers[i];
    if (at->role == DOWN)
        return NULL;
    sim_socket *s = sim_new(sizeof *s);
    s->next = ens.sockets;
    ens.sockets = s;
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

/* ---- what happens to servers ---- */

void sim_server_crash(int i) {
    server *at = &ens.servers[i];
    if (at->role == DOWN)
        return;
    SAY("server %d crashes", i + 1);
    if (leads(at))
        ens.leader = -1;
    at->role = DOWN;
    leave_quorum(at);
}

void sim_server_restart(int i) {
    server *at = &ens.servers[i];
    if (at->role != DOWN)
        return;
    SAY("server %d starts", i + 1);
    at->role = LOOKING;
    at->stopped_until = at->isolated_until = 0;
    at->rests_until = sim_now + sim_some(ens.tick);
}

void sim_server_stop(int i, zkl_nanos until) {
    server *at = &ens.servers[i];
    SAY("server %d%s is stopped for %.3f s", i + 1, leads(at) ? ", the leader," : "",
        zkl_clock_seconds(until - sim_now));
    /* one that goes on has its limit unspent, and pings before it does anything else */
    at->stopped_until = until;
    at->heard = until;
    sim_at(&at->pace, until);
}

static void slow(server *at, zkl_nanos until, bool back) {
    sim_queue_slow(back ? &at->up : &at->down, until);
}

void sim_server_isolate(int i, zkl_nanos until) {
    server *at = &ens.servers[i];
    SAY("server %d%s is cut off from the others for %.3f s", i + 1,
        leads(at) ? ", the leader," : "", zkl_clock_seconds(until - sim_now));
    at->isolated_until = until;
    for (int j = 0; j < SERVERS; j++)
        if (j == i || (ens.servers[j].role == FOLLOWING && ens.servers[j].leader == i)) {
            slow(&ens.servers[j], until, false);
            slow(&ens.servers[j], until, true);
        }
}

void sim_server_lag(int i, zkl_nanos until, bool back) {
    SAY("what server %d %s is slow for %.3f s", i + 1, back ? "tells its leader" : "is told",
        zkl_clock_seconds(until - sim_now));
    slow(&ens.servers[i], until, back);
}

void sim_server_hurry(int i) {
    sim_queue_hurry(&ens.servers[i].up);
    sim_queue_hurry(&ens.servers[i].down);
}

static bool is_of(const sim_socket *s, int i, const void *owner) {
    return (i < 0 || s->server == i) && (!owner || s->owner == owner);
}

void sim_sockets_cut(int i, const void *owner, unsigned one_in) {
    for (int j = 0; j < SERVERS; j++)
        for (sim_socket *s = ens.servers[j].sockets, *next; s; s = next) {
            next = s->beside;
            if (is_of(s, i, owner) && sim_once_in(one_in))
                close_socket(s);
        }
}

void sim_sockets_slow(int i, const void *owner, zkl_nanos until, bool to_server) {
    for (int j = 0; j < SERVERS; j++)
        for (sim_socket *s = ens.servers[j].sockets; s; s = s->beside)
            if (is_of(s, i, owner))
                sim_queue_slow(to_server ? &s->up : &s->down, until);
}

void sim_throttle(unsigned one_in) {
    ens.throttle = one_in;
}

void sim_refuse_credentials(unsigned one_in) {
    ens.refusing = one_in;
}

void sim_ensemble_heal(void) {
    ens.throttle = ens.refusing = 0;
    fake_allow(sim_tree);
    for (int i = 0; i < SERVERS; i++) {
        server *at = &ens.servers[i];
        sim_server_restart(i);
        at->stopped_until = at->isolated_until = 0;
        sim_at(&at->pace, sim_now);
        if (at->heard > sim_now)
            at->heard = sim_now;
        sim_server_hurry(i);
        for (sim_socket *s = at->sockets; s; s = s->beside) {
            sim_queue_hurry(&s->up);
            sim_queue_hurry(&s->down);
        }
    }
    if (ens.ticks.at > sim_now + ens.tick)
        sim_at(&ens.ticks, sim_now + ens.tick);
}

bool sim_ensemble_serves(void) {
    return ens.leader >= 0 && has_quorum(&ens.servers[ens.leader]);
}

int sim_leader(void) {
    return ens.leader;
}

size_t sim_sockets(void) {
    size_t n = 0;
    for (int i = 0; i < SERVERS; i++)
        for (const sim_socket *s = ens.servers[i].sockets; s; s = s->beside)
            n++;
    return n;
}

/* ---- life ---- */

void sim_ensemble_begin(zkl_nanos tick) {
    memset(&ens, 0, sizeof ens);
    sim_tree_begin();
    sim_packet_most = 1048575;
    ens.tick = tick;
    ens.patience = (2 + (zkl_nanos)sim_any(6)) * tick;
    ens.leader = -1;
    ens.ids = 0x1000;
    ens.commit.run = commit_next;
    ens.ticks.run = end_sessions;
    ens.elections.run = look_for_leader;
    for (int i = 0; i < SERVERS; i++) {
        server *at = &ens.servers[i];
        at->id = i;
        at->role = LOOKING;
        at->pace.run = keep_pace;
        sim_at(&at->pace, sim_now + sim_some(tick / 2));
        sim_queue_init(&at->up, at, hear_follower, leader_busy_until);
        sim_queue_init(&at->down, at, hear_leader, follower_busy_until);
    }
    elect((const int[]){0, 1, 2}, SERVERS);
    sim_at(&ens.ticks, (sim_now / tick + 1) * tick);
    sim_at(&ens.elections, sim_now + tick / 8);
}

void sim_ensemble_end(void) {
    for (int i = 0; i < SERVERS; i++) {
        ens.servers[i].role = DOWN;
        leave_quorum(&ens.servers[i]);
    }
    while (ens.first) {
        proposal *p = take_proposal();
        sim_request_drop(p->request);
        free(p);
    }
    while (ens.sockets) {
        sim_socket *s = ens.sockets;
        ens.sockets = s->next;
        sim_queue_lose(&s->up, 0);
        sim_queue_lose(&s->down, 0);
        free(s);
    }
    while (ens.sessions) {
        sim_session *s = ens.sessions;
        ens.sessions = s->next;
        free(s);
    }
    sim_tree_end();
    sim_wire_end();
}
