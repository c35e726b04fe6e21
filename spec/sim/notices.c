/* SPDX-License-Identifier: MIT */
/* The events that a server sends to those who watch, when it sees what was committed. */
#include "server.h"

#include <string.h>

static sim_watcher **watchers_of(sim_socket *socket) {
    return &socket->watchers;
}

typedef struct news {
    sim_server *at;
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

static void trigger(sim_server *at, int type, const char *path, size_t length, int kinds,
                    const fake_node *of) {
    if (!at->watchers.count)
        return;
    news n = {.at = at, .type = type, .path = path, .length = length, .of = of};
    sim_trigger(&at->watchers, path, length, kinds, watchers_of, send_event, &n);
}

static void tell_watchers(sim_server *at, const sim_change *c) {
    const char *path = c->node->path;
    const size_t length = strlen(path), above = (size_t)(strrchr(path, '/') - path);
    const int kinds = c->type == EVENT_DELETED ? WATCH_DATA | WATCH_CHILDREN : WATCH_DATA;
    trigger(at, c->type, path, length, kinds, c->node);
    if (c->type != EVENT_CHANGED && above > 0)
        trigger(at, EVENT_CHILDREN, path, above, WATCH_CHILDREN, c->node->parent);
}

void sim_server_apply(sim_server *at, int64_t zxid) {
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

int64_t sim_oldest_node_watch(const fake_servers *servers) {
    int64_t oldest = servers->zxid;
    for (int i = 0; i < SERVERS; i++)
        if (sim_ensemble.servers[i].view < oldest)
            oldest = sim_ensemble.servers[i].view;
    return oldest;
}

size_t sim_watches(void) {
    size_t n = 0;
    for (int i = 0; i < SERVERS; i++)
        n += sim_ensemble.servers[i].watchers.count;
    return n;
}

void sim_watch_again(sim_server *at, sim_socket *socket, int64_t seen, const sim_part *p) {
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
