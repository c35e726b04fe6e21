/* SPDX-License-Identifier: MIT */
/* How the fake servers carry out what a client has asked. */
#include "check.h"
#include "fake_item.h"
#include "fake_watch.h"
#include "must.h"

#include <stdio.h>
#include <zookeeper/zookeeper.h>

static void caught_up(fake_client *client, int64_t zxid) {
    if (client->view < zxid)
        client->view = zxid;
    fake_fire(client);
}

static void list_children(fake_client *client, fake_item *item) {
    size_t room = 0;
    for (const char *name;
         (name = fake_child(client->servers, item->path, item->count, client->view));) {
        if (item->count == room) {
            room = room ? 2 * room : 16;
            item->names = realloc(item->names, room * sizeof(char *));
            must(item->names != NULL);
        }
        item->names[item->count++] = copy(name);
    }
}

/* The servers' answer to it as things are. */
static int judge(const fake_client *client, const zkl_op *op) {
    const fake_servers *servers = client->servers;
    const bool reads = fake_is_read(op);
    if (op->kind == ZKL_OP_ACL && strcmp(op->path, "/") == 0)
        return ZOK; /* it is everybody's */
    const fake_node *node = fake_find(servers, op->path, reads ? client->view : FAKE_LATEST);
    if (op->kind == ZKL_OP_CREATE) {
        fake_node *above;
        if (!fake_parent(servers, op->path, &above))
            return ZNONODE;
        return node && !op->sequential ? ZNODEEXISTS : ZOK;
    }
    if (!node)
        return ZNONODE;
    if (!reads && op->version != -1 && op->version != node->version)
        return ZBADVERSION;
    return op->kind == ZKL_OP_DELETE && fake_children(servers, op->path) ? ZNOTEMPTY : ZOK;
}

static zkl_stat stat_of(const fake_servers *servers, const fake_node *node) {
    return (zkl_stat){
        .czxid = node->czxid,
        .session = node->owner,
        .ctime = 1000,
        .mtime = node->mtime,
        .aversion = node->aversion,
        .mzxid = node->mzxid,
        .pzxid = node->pzxid,
        .version = node->version,
        .children = (int32_t)fake_children(servers, node->path),
        .length = (int32_t)strlen(node->data),
    };
}

static fake_mode mode_of(const zkl_op *op) {
    if (op->container)
        return FAKE_CONTAINER;
    if (op->ephemeral)
        return op->sequential ? FAKE_EPHEMERAL_SEQUENCE : FAKE_EPHEMERAL;
    CHECK(!op->sequential); /* the fake knows no persistent ones with a number */
    return FAKE_PERSISTENT;
}

/* One that judge() lets pass. */
static int apply(fake_client *client, const zkl_op *op, zkl_op_result *result) {
    fake_servers *servers = client->servers;
    fake_node *node = NULL;
    int rc = ZOK;
    if (op->kind == ZKL_OP_DELETE)
        return fake_remove(servers, op->path);
    if (op->kind == ZKL_OP_CREATE)
        rc = fake_make(servers, op->path, op->data, mode_of(op), client->context.session, &node);
    else if (op->kind == ZKL_OP_SET)
        fake_write(servers, op->path, op->data);
    if (rc != ZOK)
        return rc;
    if (op->kind == ZKL_OP_CREATE) {
        node->closed = op->acl != ZKL_ACL_OPEN;
        result->path = copy(node->path);
    } else {
        node = fake_find(servers, op->path, op->kind == ZKL_OP_SET ? FAKE_LATEST : client->view);
    }
    if (node)
        result->stat = stat_of(servers, node);
    return ZOK;
}

static void watch_read(fake_client *client, fake_item *item, int rc) {
    const zkl_op *op = item->ops;
    item->watch_list = op->kind == ZKL_OP_CHILDREN;
    const fake_node *node = fake_find(client->servers, op->path, client->view);
    if (rc == ZOK)
        fake_watch_set(&client->watches, op->path, item->watch_list,
                       fake_seen_of(client, fake_changed_at(node, item->watch_list)));
    else if (rc == ZNONODE && op->kind == ZKL_OP_EXISTS)
        fake_watch_set(&client->watches, op->path, false, 0);
    else
        item->watch = false;
}

static void read_acl(const fake_client *client, fake_item *item) {
    const fake_node *node = fake_find(client->servers, item->path, client->view);
    item->closed = node && node->closed;
    item->made = copy(item->closed ? "digest:me:x:rwcda\n" : "world:anyone:rwcda\n");
}

static int perform(fake_client *client, fake_item *item) {
    const zkl_op *op = item->ops;
    int rc = judge(client, op);
    if (rc == ZOK)
        rc = apply(client, op, item->results);
    if (item->plain)
        item->results->stat = (zkl_stat){.czxid = 0};
    if (rc == ZOK && op->kind == ZKL_OP_CHILDREN)
        list_children(client, item);
    if (rc == ZOK && op->kind == ZKL_OP_GET)
        item->made = copy(fake_find(client->servers, op->path, client->view)->data);
    if (rc == ZOK && op->kind == ZKL_OP_ACL)
        read_acl(client, item);
    if (item->watch)
        watch_read(client, item, rc);
    if (!fake_is_read(op))
        caught_up(client, client->servers->zxid);
    return rc;
}

static fake_op refused_as(zkl_op_kind kind) {
    if (kind == ZKL_OP_CREATE)
        return FAKE_CREATE;
    return kind == ZKL_OP_DELETE ? FAKE_ERASE : FAKE_SET;
}

/* The latest operation before it in the transaction that makes or deletes its node. NULL: none. */
static const zkl_op *changed_before(const fake_item *item, size_t index) {
    const zkl_op *found = NULL;
    for (size_t i = 0; i < index; i++)
        if ((item->ops[i].kind == ZKL_OP_CREATE || item->ops[i].kind == ZKL_OP_DELETE) &&
            strcmp(item->ops[i].path, item->ops[index].path) == 0)
            found = &item->ops[i];
    return found;
}

static int judge_one(const fake_client *client, const fake_item *item, size_t index) {
    const zkl_op *op = &item->ops[index];
    int rc = fake_refused(client->servers, FAKE_TRANSACT, op->path);
    if (rc == ZOK)
        rc = fake_refused(client->servers, refused_as(op->kind), op->path);
    const zkl_op *former = changed_before(item, index);
    if (rc != ZOK || !former)
        return rc != ZOK ? rc : judge(client, op);
    return former->kind == ZKL_OP_DELETE && op->kind != ZKL_OP_CREATE ? ZNONODE : ZOK;
}

/* All is done at one moment. Servers that are busy say so of each operation. */
static int transact(fake_client *client, fake_item *item) {
    fake_servers *servers = client->servers;
    int rc = ZOK;
    for (size_t i = 0; i < item->op_count; i++) {
        const int own = rc == ZOK ? judge_one(client, item, i) : ZRUNTIMEINCONSISTENCY;
        item->results[i].rc = own;
        rc = rc == ZOK ? own : rc;
    }
    for (size_t i = 0; rc == ZTHROTTLEDOP && i < item->op_count; i++)
        item->results[i].rc = ZTHROTTLEDOP;
    servers->zxid++;
    servers->within = true;
    for (size_t i = 0; rc == ZOK && i < item->op_count; i++)
        if (item->ops[i].kind != ZKL_OP_CHECK)
            CHECK_INT(apply(client, &item->ops[i], &item->results[i]), ZOK);
    for (size_t i = 0; i < item->op_count; i++)
        if (item->ops[i].kind == ZKL_OP_CREATE) /* the servers tell only its path */
            item->results[i].stat = (zkl_stat){.czxid = 0};
    servers->within = false;
    caught_up(client, servers->zxid);
    return rc;
}

/* The session that makes a node may read it, whatever ACL it gives it. */
static bool may_read(const fake_client *client, const char *path) {
    const fake_node *node = fake_find(client->servers, path, FAKE_LATEST);
    return node && node->owner == client->context.session;
}

static int execute(fake_client *client, fake_item *item) {
    fake_servers *servers = client->servers;
    int rc = fake_refused(servers, item->op, item->path);
    if (rc == ZNOAUTH && item->op == FAKE_GET && may_read(client, item->path))
        rc = ZOK;
    if (rc != ZOK) {
        item->watch = false;
        return rc;
    }
    switch (item->op) {
    case FAKE_SYNC:
        if (!client->tenure.deposed) /* or by one who still thinks that he leads */
            caught_up(client, servers->zxid);
        return ZOK;
    case FAKE_UNWATCH:
        fake_watch_remove(fake_watch_at(&client->watches, item->path, item->watch_list));
        return ZOK;
    case FAKE_TRANSACT:
        return transact(client, item);
    default:
        return perform(client, item);
    }
}

static bool is_write(const fake_item *item) {
    return fake_reach_of(item) >= ZKL_REACH_QUORUM;
}

bool fake_carry(fake_client *client) {
    if (!client->alive && !client->tenure.deposed)
        return false;
    if (!client->heart.linked || (client->tenure.deposed && client->sent && is_write(client->sent)))
        return false; /* nobody commits it */
    fake_item *item = fake_item_take(&client->sent);
    if (!item)
        return false;
    item->rc = execute(client, item);
    item->carried = true;
    item->zxid = client->view < client->servers->zxid ? client->view : client->servers->zxid;
    fake_quorum_heard(client);
    fake_item_append(&client->inbound, item);
    return true;
}
