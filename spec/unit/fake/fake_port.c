/* SPDX-License-Identifier: MIT */
#include "fake_port.h"

#include "check.h"
#include "fake_item.h"
#include "fake_watch.h"
#include "must.h"
#include "nodes/node_request_answer.h"
#include "scarce.h"

#include <zookeeper/zookeeper.h>

static int take(zkl_port *port, fake_op op, const char *path, zkl_return back, fake_item **item) {
    fake_client *client = (fake_client *)port;
    /* Nothing is asked without a link, but by the heart. */
    CHECK(client->context.port == port || back.receiver == client->heart.receiver.id);
    CHECK(path[0] == '/' && !strstr(path, "//")); /* full paths */
    CHECK(back.receiver != 0);
    if (client->deaf != ZOK)
        return client->deaf;
    if (!scarce_room())
        return ZMARSHALLINGERROR;
    fake_item *made = fake_item_new(&client->sent, path);
    made->op = op;
    made->back = back;
    made->at = fake_now;
    client->counts[op]++;
    client->context.counters.requests_sent++;
    if (item)
        *item = made;
    return ZOK;
}

static bool asked_twice(const fake_item *item, zkl_return back) {
    for (; item; item = item->next)
        if (!item->watch_event && item->op == FAKE_LIST && item->back.receiver == back.receiver)
            return true;
    return false;
}

static void copy_ops(fake_item *item, const zkl_op *ops, size_t count) {
    item->ops = calloc(count, sizeof *item->ops);
    item->results = calloc(count, sizeof *item->results);
    must(item->ops && item->results);
    for (; item->op_count < count; item->op_count++) {
        zkl_op *own = &item->ops[item->op_count];
        *own = ops[item->op_count];
        CHECK(own->path[0] == '/' && !strstr(own->path, "//"));
        own->path = copy(own->path);
        own->data = own->data ? copy(own->data) : NULL; /* the tests have no NUL in it */
    }
}

static fake_op class_of(zkl_op_kind kind) {
    switch (kind) {
    case ZKL_OP_GET:
        return FAKE_GET;
    case ZKL_OP_EXISTS:
        return FAKE_EXISTS;
    case ZKL_OP_CHILDREN:
        return FAKE_LIST;
    case ZKL_OP_CREATE:
        return FAKE_CREATE;
    case ZKL_OP_SET:
        return FAKE_SET;
    case ZKL_OP_DELETE:
        return FAKE_ERASE;
    case ZKL_OP_ACL:
        return FAKE_ACL;
    case ZKL_OP_CHECK:
        break;
    }
    must(false); /* only in a transaction */
    return FAKE_OPS;
}

/* For itself the engine deletes no node but our own. */
static bool may_erase(const fake_client *client, const char *path, zkl_return back) {
    zkl_guid guid;
    if (zkl_znode_guid(strrchr(path, '/') + 1, &guid) && guid.client == client->context.guid)
        return true;
    const zkl_receiver *r = zkl_receiver_find(&client->context.receivers, back.receiver);
    return strcmp(path, client->heart.nothing) == 0 || r->answer == zkl_node_request_answered;
}

static int fake_port_perform(zkl_port *port, const zkl_op *op, bool watch, zkl_return back) {
    fake_client *client = (fake_client *)port;
    const fake_op what = class_of(op->kind);
    /* One line, one list in flight. */
    CHECK(what != FAKE_LIST ||
          (!asked_twice(client->sent, back) && !asked_twice(client->inbound, back)));
    CHECK(what != FAKE_ERASE || may_erase(client, op->path, back));
    fake_item *item;
    const int rc = take(port, what, op->path, back, &item);
    if (rc != ZOK)
        return rc;
    copy_ops(item, op, 1);
    item->watch = watch && what != FAKE_CREATE;
    item->plain =
        what == FAKE_CREATE && !watch && !zkl_context_knows(&client->context, ZKL_EXTRA_CREATE2);
    return ZOK;
}

static int fake_port_sync(zkl_port *port, const char *path, zkl_return back) {
    return take(port, FAKE_SYNC, path, back, NULL);
}

/* The library takes back only what it knows of. */
static int fake_port_unwatch(zkl_port *port, const char *path, bool list, zkl_return back) {
    fake_client *client = (fake_client *)port;
    CHECK(client->context.port == port);
    if (!*fake_watch_at(&client->listeners, path, list))
        return ZNOWATCHER;
    fake_item *item;
    const int rc = take(port, FAKE_UNWATCH, path, back, &item);
    if (rc == ZOK)
        item->watch_list = list;
    return rc;
}

static int fake_port_transact(zkl_port *port, const zkl_op *ops, size_t count, zkl_return back) {
    fake_item *item;
    const int rc = take(port, FAKE_TRANSACT, ops[0].path, back, &item);
    int32_t sequence;
    /* Nobody takes a mark for one who waits. */
    for (size_t i = 0; i < count; i++)
        CHECK(ops[i].kind != ZKL_OP_CREATE || ops[i].ephemeral ||
              zkl_znode_parse(strrchr(ops[i].path, '/') + 1, &sequence) == ZKL_KIND_NONE);
    if (rc == ZOK)
        copy_ops(item, ops, count);
    return rc;
}

static const zkl_port_table table = {
    .perform = fake_port_perform,
    .transact = fake_port_transact,
    .sync = fake_port_sync,
    .unwatch = fake_port_unwatch,
};

static void fire_all(fake_servers *servers) {
    for (fake_client *c = servers->clients; c; c = c->next)
        fake_fire(c);
}

static int64_t oldest_view(const fake_servers *servers) {
    int64_t oldest = servers->zxid;
    for (const fake_client *c = servers->clients; c; c = c->next)
        if (c->view < oldest)
            oldest = c->view;
    return oldest;
}

void fake_port_init(fake_client *client) {
    client->port.call = &table;
    client->servers->changed = fire_all;
    client->servers->oldest = oldest_view;
}

void fake_port_done(fake_client *client) {
    fake_items_free(&client->sent);
    fake_items_free(&client->inbound);
    fake_items_free(&client->late);
    fake_watches_free(&client->watches);
    fake_watches_free(&client->listeners);
}
