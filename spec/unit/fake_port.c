#include "fake_port.h"

#include "check.h"
#include "scarce.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* A request on its way, then its reply on its way back; or, with `watch_event`, what a watch
 * says. */
typedef struct fake_item {
    struct fake_item *next;
    fake_op op;
    char *path, *data;
    char **paths; /* of a transaction */
    size_t path_count;
    char *mark;
    zkl_op *ops; /* of a deed, or several; with their own paths and data */
    size_t op_count;
    zkl_op_result *results;
    zkl_mode mode;
    bool closed;     /* the ACL to make it with, or the one that was read */
    bool watch_list; /* of a list's watch, not of a get's */
    bool watch, watch_event, carried;
    zkl_change change;
    zkl_return back;
    zkl_nanos at; /* when it was sent */

    int rc;
    char *made;
    zkl_stat stat;
    char **names;
    size_t count;
    int64_t zxid; /* of the server when it answered */
} fake_item;

typedef struct fake_watch {
    struct fake_watch *next;
    char *path;
    bool list; /* set by a list */
    /* of the node, or the pzxid of the directory, as far as the view had seen when it was set */
    int64_t mzxid;
} fake_watch;

static void must(bool good) {
    if (!good)
        abort();
}

static char *copy(const char *text) {
    char *c = strdup(text);
    must(c != NULL);
    return c;
}

static fake_item *item_new(fake_item **queue, const char *path) {
    fake_item *item = calloc(1, sizeof *item);
    must(item != NULL);
    item->path = copy(path);
    while (*queue)
        queue = &(*queue)->next;
    *queue = item;
    return item;
}

static fake_item *item_take(fake_item **queue) {
    fake_item *item = *queue;
    if (item)
        *queue = item->next;
    return item;
}

static void item_free(fake_item *item) {
    for (size_t i = 0; i < item->count; i++)
        free(item->names[i]);
    for (size_t i = 0; i < item->path_count; i++)
        free(item->paths[i]);
    for (size_t i = 0; i < item->op_count; i++) {
        free((char *)item->ops[i].path);
        free((char *)item->ops[i].data);
        free((char *)item->results[i].path);
    }
    free(item->ops);
    free(item->results);
    free(item->paths);
    free(item->mark);
    free(item->names);
    free(item->made);
    free(item->path);
    free(item->data);
    free(item);
}

static void items_free(fake_item **queue) {
    for (fake_item *item; (item = item_take(queue));)
        item_free(item);
}

static void watches_free(fake_watch **watches) {
    for (fake_watch *w = *watches, *next; w; w = next) {
        next = w->next;
        free(w->path);
        free(w);
    }
    *watches = NULL;
}

static fake_watch **watch_at(fake_watch **watches, const char *path, bool list) {
    while (*watches && (strcmp((*watches)->path, path) != 0 || (*watches)->list != list))
        watches = &(*watches)->next;
    return watches;
}

static void watch_set(fake_watch **watches, const char *path, bool list, int64_t mzxid) {
    fake_watch **w = watch_at(watches, path, list);
    if (!*w) {
        *w = calloc(1, sizeof **w);
        must(*w != NULL);
        (*w)->path = copy(path);
        (*w)->list = list;
    }
    (*w)->mzxid = mzxid;
}

static void watch_remove(fake_watch **w) {
    fake_watch *gone = *w;
    if (!gone)
        return;
    *w = gone->next;
    free(gone->path);
    free(gone);
}

/* ---- the port ---- */

static int take(zkl_port *port, fake_op op, const char *path, zkl_return back, fake_item **item) {
    fake_client *client = (fake_client *)port;
    /* Nothing is asked without a link, but by the heart. */
    CHECK(client->context.port == port || back.receiver == client->heart.receiver.id);
    CHECK(path[0] == '/' && !strstr(path, "//")); /* full paths */
    CHECK(back.receiver != 0);
    if (client->deaf)
        return ZINVALIDSTATE;
    if (!scarce_room())
        return ZMARSHALLINGERROR;
    fake_item *made = item_new(&client->sent, path);
    made->op = op;
    made->back = back;
    made->at = fake_now;
    client->counts[op]++;
    client->context.counters.requests_sent++;
    if (item)
        *item = made;
    return ZOK;
}

static int fake_port_create(zkl_port *port, const char *path, const char *data, zkl_mode mode,
                            zkl_acl acl, zkl_return back) {
    fake_item *item;
    const int rc = take(port, FAKE_CREATE, path, back, &item);
    if (rc != ZOK)
        return rc;
    item->closed = acl != ZKL_ACL_OPEN;
    item->data = copy(data);
    item->mode = mode;
    return ZOK;
}

static bool asked_twice(const fake_item *item, zkl_return back) {
    for (; item; item = item->next)
        if (!item->watch_event && item->op == FAKE_LIST && item->back.receiver == back.receiver)
            return true;
    return false;
}

static int fake_port_create_all(zkl_port *port, const zkl_batch *batch, zkl_acl acl,
                                zkl_return back) {
    (void)acl;
    fake_item *item;
    const int rc = take(port, FAKE_BATCH, batch->paths[0], back, &item);
    if (rc != ZOK)
        return rc;
    item->data = copy(batch->data);
    item->paths = calloc(batch->count, sizeof(char *));
    must(item->paths != NULL);
    for (; item->path_count < batch->count; item->path_count++)
        item->paths[item->path_count] = copy(batch->paths[item->path_count]);
    item->mark = batch->mark ? copy(batch->mark) : NULL;
    return ZOK;
}

static int fake_port_list(zkl_port *port, const char *path, bool watch, zkl_return back) {
    fake_client *client = (fake_client *)port;
    /* One line, one list in flight. */
    CHECK(!asked_twice(client->sent, back) && !asked_twice(client->inbound, back));
    fake_item *item;
    const int rc = take(port, FAKE_LIST, path, back, &item);
    if (rc == ZOK)
        item->watch = watch;
    return rc;
}

static int fake_port_get(zkl_port *port, const char *path, bool watch, zkl_return back) {
    fake_item *item;
    const int rc = take(port, FAKE_GET, path, back, &item);
    if (rc == ZOK)
        item->watch = watch;
    return rc;
}

static int fake_port_set(zkl_port *port, const char *path, const char *data, zkl_return back) {
    fake_item *item;
    const int rc = take(port, FAKE_SET, path, back, &item);
    if (rc == ZOK)
        item->data = copy(data);
    return rc;
}

static int fake_port_erase(zkl_port *port, const char *path, zkl_return back) {
    fake_client *client = (fake_client *)port;
    zkl_guid guid;
    /* Nobody's node but our own is ever deleted. */
    const bool own =
        zkl_znode_guid(strrchr(path, '/') + 1, &guid) && guid.client == client->context.guid;
    CHECK(own || strcmp(path, client->heart.nothing) == 0);
    return take(port, FAKE_ERASE, path, back, NULL);
}

static int fake_port_sync(zkl_port *port, const char *path, zkl_return back) {
    return take(port, FAKE_SYNC, path, back, NULL);
}

/* The library takes back only what it knows of. */
static int fake_port_unwatch(zkl_port *port, const char *path, bool list, zkl_return back) {
    fake_client *client = (fake_client *)port;
    CHECK(client->context.port == port);
    if (!*watch_at(&client->listeners, path, list))
        return ZNOWATCHER;
    fake_item *item;
    const int rc = take(port, FAKE_UNWATCH, path, back, &item);
    if (rc == ZOK)
        item->watch_list = list;
    return rc;
}

static int fake_port_get_acl(zkl_port *port, const char *path, zkl_return back) {
    return take(port, FAKE_ACL, path, back, NULL);
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

static int fake_port_perform(zkl_port *port, const zkl_op *op, bool watch, zkl_return back) {
    fake_item *item;
    const int rc = take(port, FAKE_PERFORM, op->path, back, &item);
    if (rc != ZOK)
        return rc;
    copy_ops(item, op, 1);
    item->watch = watch;
    return ZOK;
}

static int fake_port_transact(zkl_port *port, const zkl_op *ops, size_t count, zkl_return back) {
    fake_item *item;
    const int rc = take(port, FAKE_TRANSACT, ops[0].path, back, &item);
    if (rc == ZOK)
        copy_ops(item, ops, count);
    return rc;
}

static const zkl_port_table table = {fake_port_create,  fake_port_create_all, fake_port_list,
                                     fake_port_get,     fake_port_set,        fake_port_erase,
                                     fake_port_sync,    fake_port_unwatch,    fake_port_get_acl,
                                     fake_port_perform, fake_port_transact};

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
    items_free(&client->sent);
    items_free(&client->inbound);
    items_free(&client->late);
    watches_free(&client->watches);
    watches_free(&client->listeners);
}

/* ---- at the servers ---- */

/* What a watch tells says nothing of how far the server is: another one may be behind it. */
static fake_item *told(fake_client *client, const char *path, zkl_change change) {
    fake_item *item = item_new(&client->inbound, path);
    item->watch_event = true;
    item->change = change;
    return item;
}

static zkl_change change_of(const fake_node *node, const fake_watch *w) {
    if (!node)
        return ZKL_CHANGE_DELETED;
    return w->list ? ZKL_CHANGE_CHILDREN : ZKL_CHANGE_OTHER;
}

/* The last change of what is watched, whether the client's server has seen it or not. */
static int64_t changed_at(const fake_node *node, bool list) {
    return !node ? 0 : list ? node->pzxid : node->mzxid;
}

/* What was answered before that change does not tell of it: a watch that is set with the answer
 * will. */
static int64_t seen_of(const fake_client *client, int64_t changed) {
    return changed < client->view ? changed : client->view;
}

void fake_fire(fake_client *client) {
    for (fake_watch **w = &client->watches; *w;) {
        const fake_node *node = fake_find(client->servers, (*w)->path, client->view);
        const int64_t changed = changed_at(node, (*w)->list);
        if (node && (changed == (*w)->mzxid || changed > client->view)) {
            w = &(*w)->next;
            continue;
        }
        told(client, (*w)->path, change_of(node, *w))->watch_list = (*w)->list;
        watch_remove(w);
    }
}

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

static int make_all(fake_client *client, fake_item *item) {
    fake_servers *servers = client->servers;
    fake_node *nodes[16] = {NULL};
    must(item->path_count <= 16);
    for (size_t i = 0; i < item->path_count; i++) {
        char parent[512];
        snprintf(parent, sizeof parent, "%s", item->paths[i]);
        *strrchr(parent, '/') = '\0';
        const int rc = fake_refused(servers, FAKE_CREATE, item->paths[i]);
        if (rc != ZOK)
            return rc;
        if (!fake_find(servers, parent, FAKE_LATEST))
            return ZNONODE;
    }
    item->names = calloc(item->path_count, sizeof(char *));
    must(item->names != NULL);
    for (size_t i = 0; i < item->path_count; i++) {
        CHECK_INT(fake_make(servers, item->paths[i], item->data, ZKL_EPHEMERAL_SEQUENCE,
                            client->context.session, &nodes[i]),
                  ZOK);
        item->names[item->count++] = copy(nodes[i]->path);
    }
    if (item->mark) {
        fake_node *mark;
        int32_t sequence;
        CHECK(zkl_znode_parse(strrchr(item->mark, '/') + 1, &sequence) == ZKL_KIND_NONE);
        CHECK_INT(fake_make(servers, item->mark, "", ZKL_PERSISTENT, 0, &mark), ZOK);
        servers->within = true; /* it has gone again at the same moment */
        CHECK_INT(fake_remove(servers, mark->path), ZOK);
        servers->within = false;
    }
    for (size_t i = 0; i < item->path_count; i++)
        nodes[i]->czxid = nodes[i]->mzxid = servers->zxid;
    item->stat = (zkl_stat){.czxid = item->mark ? servers->zxid : 0};
    return ZOK;
}

/* What the servers would say to it as things are. */
static int judge(const fake_client *client, const zkl_op *op) {
    const fake_servers *servers = client->servers;
    const bool reads =
        op->kind == ZKL_OP_GET || op->kind == ZKL_OP_EXISTS || op->kind == ZKL_OP_CHILDREN;
    const fake_node *node = fake_find(servers, op->path, reads ? client->view : FAKE_LATEST);
    if (op->kind == ZKL_OP_CREATE) {
        char parent[512];
        snprintf(parent, sizeof parent, "%s", op->path);
        *strrchr(parent, '/') = '\0';
        if (parent[0] && !fake_find(servers, parent, FAKE_LATEST))
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
        .aversion = node->aversion,
        .mzxid = node->mzxid,
        .pzxid = node->pzxid,
        .version = node->version,
        .children = (int32_t)fake_children(servers, node->path),
        .length = (int32_t)strlen(node->data),
    };
}

static zkl_mode mode_of(const zkl_op *op) {
    if (op->container)
        return ZKL_CONTAINER;
    if (op->ephemeral)
        return op->sequential ? ZKL_EPHEMERAL_SEQUENCE : ZKL_EPHEMERAL;
    CHECK(!op->sequential); /* the fake knows no persistent ones with a number */
    return ZKL_PERSISTENT;
}

/* One that judge() lets pass. */
static void apply(fake_client *client, const zkl_op *op, zkl_op_result *result) {
    fake_servers *servers = client->servers;
    fake_node *node = NULL;
    if (op->kind == ZKL_OP_CREATE) {
        const int64_t owner = op->ephemeral ? client->context.session : 0;
        CHECK_INT(fake_make(servers, op->path, op->data, mode_of(op), owner, &node), ZOK);
        result->path = copy(node->path);
    } else if (op->kind == ZKL_OP_DELETE) {
        CHECK_INT(fake_remove(servers, op->path), ZOK);
        return;
    } else {
        if (op->kind == ZKL_OP_SET)
            fake_write(servers, op->path, op->data);
        node = fake_find(servers, op->path, op->kind == ZKL_OP_SET ? FAKE_LATEST : client->view);
    }
    result->stat = stat_of(servers, node);
}

static bool is_read(const zkl_op *op) {
    return op->kind == ZKL_OP_GET || op->kind == ZKL_OP_EXISTS || op->kind == ZKL_OP_CHILDREN;
}

static void list_children(fake_client *client, fake_item *item);

static void watch_read(fake_client *client, fake_item *item, int rc) {
    const zkl_op *op = item->ops;
    item->watch_list = op->kind == ZKL_OP_CHILDREN;
    const fake_node *node = fake_find(client->servers, op->path, client->view);
    if (rc == ZOK)
        watch_set(&client->watches, op->path, item->watch_list,
                  seen_of(client, changed_at(node, item->watch_list)));
    else if (rc == ZNONODE && op->kind == ZKL_OP_EXISTS)
        watch_set(&client->watches, op->path, false, 0);
    else
        item->watch = false;
}

static int perform(fake_client *client, fake_item *item) {
    const zkl_op *op = item->ops;
    const int rc = judge(client, op);
    if (rc == ZOK)
        apply(client, op, item->results);
    if (rc == ZOK && op->kind == ZKL_OP_CHILDREN)
        list_children(client, item);
    if (rc == ZOK && op->kind == ZKL_OP_GET)
        item->made = copy(fake_find(client->servers, op->path, client->view)->data);
    if (item->watch)
        watch_read(client, item, rc);
    if (!is_read(op))
        caught_up(client, client->servers->zxid);
    return rc;
}

/* The real servers look at each as if those before it were done; the tests do not mix such. */
static int transact(fake_client *client, fake_item *item) {
    int rc = ZOK;
    for (size_t i = 0; i < item->op_count; i++) {
        const int own = rc == ZOK ? judge(client, &item->ops[i]) : ZRUNTIMEINCONSISTENCY;
        item->results[i].rc = own;
        rc = rc == ZOK ? own : rc;
    }
    for (size_t i = 0; rc == ZOK && i < item->op_count; i++)
        if (item->ops[i].kind != ZKL_OP_CHECK)
            apply(client, &item->ops[i], &item->results[i]);
    caught_up(client, client->servers->zxid);
    return rc;
}

/* Who makes a node may read it, whatever ACL he gives it. */
static bool may_read(const fake_client *client, const char *path) {
    const fake_node *node = fake_find(client->servers, path, FAKE_LATEST);
    return node && node->owner == client->context.session;
}

static int execute(fake_client *client, fake_item *item) {
    fake_servers *servers = client->servers;
    fake_node *node = NULL;
    int rc = fake_refused(servers, item->op, item->path);
    if (rc == ZNOAUTH && item->op == FAKE_GET && may_read(client, item->path))
        rc = ZOK;
    if (rc != ZOK)
        return rc;
    switch (item->op) {
    case FAKE_CREATE:
        rc = fake_make(servers, item->path, item->data, item->mode, client->context.session, &node);
        caught_up(client, servers->zxid);
        break;
    case FAKE_ERASE:
        rc = fake_remove(servers, item->path);
        caught_up(client, servers->zxid);
        return rc;
    case FAKE_SYNC:
        if (client->tenure.deposed)
            return ZOK; /* by one who still thinks that he leads */
        caught_up(client, servers->zxid);
        return ZOK;
    case FAKE_UNWATCH:
        watch_remove(watch_at(&client->watches, item->path, item->watch_list));
        return ZOK;
    case FAKE_SET:
        if (!fake_find(servers, item->path, FAKE_LATEST))
            return ZNONODE;
        fake_write(servers, item->path, item->data);
        caught_up(client, servers->zxid);
        return ZOK;
    case FAKE_BATCH:
        rc = make_all(client, item);
        caught_up(client, servers->zxid);
        return rc;
    case FAKE_PERFORM:
        return perform(client, item);
    case FAKE_TRANSACT:
        return transact(client, item);
    case FAKE_ACL:
        if (strcmp(item->path, "/") == 0)
            return ZOK; /* it is everybody's */
        /* fall through */
    default:
        node = fake_find(servers, item->path, client->view);
        rc = node ? ZOK : ZNONODE;
    }
    if (rc != ZOK)
        return rc;
    item->stat = (zkl_stat){
        .czxid = node->czxid, .session = node->owner, .ctime = 1000, .aversion = node->aversion};
    if (item->op == FAKE_CREATE) {
        node->closed = item->closed;
        item->made = copy(node->path);
    } else if (item->op == FAKE_ACL)
        item->closed = node->closed;
    else if (item->op == FAKE_LIST)
        list_children(client, item);
    else
        item->made = copy(node->data);
    if (item->watch) {
        item->watch_list = item->op == FAKE_LIST;
        watch_set(&client->watches, item->path, item->watch_list,
                  seen_of(client, changed_at(node, item->watch_list)));
    }
    return ZOK;
}

static zkl_reach reach_of(const fake_item *item) {
    switch (item->op) {
    case FAKE_CREATE:
    case FAKE_BATCH:
    case FAKE_SET:
    case FAKE_TRANSACT:
        return ZKL_REACH_QUORUM;
    case FAKE_PERFORM:
        return is_read(item->ops) ? ZKL_REACH_SERVER : ZKL_REACH_QUORUM;
    case FAKE_ERASE:
        return ZKL_REACH_ERASE;
    case FAKE_SYNC:
        return ZKL_REACH_LEADER;
    default:
        return ZKL_REACH_SERVER;
    }
}

static bool is_write(const fake_item *item) {
    return reach_of(item) >= ZKL_REACH_QUORUM;
}

bool fake_carry(fake_client *client) {
    if (!client->alive && !client->tenure.deposed)
        return false;
    if (!client->heart.linked || (client->tenure.deposed && client->sent && is_write(client->sent)))
        return false; /* nobody commits it */
    fake_item *item = item_take(&client->sent);
    if (!item)
        return false;
    item->next = NULL;
    item->rc = execute(client, item);
    item->carried = true;
    item->zxid = client->view < client->servers->zxid ? client->view : client->servers->zxid;
    fake_quorum_heard(client);
    fake_item **last = &client->inbound;
    while (*last)
        last = &(*last)->next;
    *last = item;
    return true;
}

/* ---- back at the client ---- */

static void resume(fake_client *client) {
    client->carried = false;
    client->state = ZKL_STATE_CONNECTED;
    client->context.port = &client->port;
    zkl_lines_each(&client->lines, zkl_line_resume);
    zkl_views_resume(&client->nodes);
}

static void hand_over(fake_client *client, const fake_item *item) {
    zkl_reply reply = {
        .rc = item->rc,
        .path = item->op == FAKE_CREATE ? item->made : NULL,
        .stat = item->rc == ZOK ? &item->stat : NULL,
        .data = item->op == FAKE_GET ? item->made : NULL,
        .length = item->op == FAKE_GET && item->made ? strlen(item->made) : 0,
        .names = (const char *const *)item->names,
        .count = item->count,
        .exposed = item->op == FAKE_ACL && !item->closed,
    };
    if (item->op == FAKE_PERFORM && item->rc == ZOK) {
        reply.path = item->results->path;
        reply.stat = item->ops->kind == ZKL_OP_DELETE ? NULL : &item->results->stat;
        reply.data = item->made;
        reply.length = item->made ? strlen(item->made) : 0;
        if (item->ops->kind == ZKL_OP_CHILDREN && !reply.names)
            reply.names = (const char *const[]){NULL};
    } else if (item->op == FAKE_TRANSACT) {
        reply.stat = NULL;
        reply.outcomes = item->results;
        reply.count = item->op_count;
    }
    if ((item->rc == ZOK || item->rc == ZNONODE) && item->op == FAKE_PERFORM && item->watch)
        watch_set(&client->listeners, item->path, item->watch_list, 0);
    else if (item->rc == ZOK && item->watch)
        watch_set(&client->listeners, item->path, item->watch_list, 0);
    if (item->rc == ZOK && item->op == FAKE_UNWATCH)
        watch_remove(watch_at(&client->listeners, item->path, item->watch_list));
    if (client->settled < item->at)
        client->settled = item->at;
    zkl_heart_answered(&client->heart, zkl_proof_of(reach_of(item), item->rc), item->at);
    zkl_receiver *receiver = zkl_receiver_find(&client->context.receivers, item->back.receiver);
    if (receiver)
        receiver->answer(receiver, &item->back, &reply);
    if (client->carried && client->heart.linked && !client->heart.proving)
        resume(client);
}

static void hand_watch(fake_client *client, const fake_item *item) {
    fake_watch **listener = watch_at(&client->listeners, item->path, item->watch_list);
    if (!*listener)
        /* the reply that would have told of the watch was lost: the library does not know it */
        return;
    watch_remove(listener);
    const bool seen = zkl_views_told(&client->nodes, item->path, item->change);
    if (!seen || zkl_lines_watching(&client->lines, item->path, false) ||
        zkl_lines_watching(&client->lines, item->path, true))
        zkl_lines_watch(&client->lines, item->path, item->change);
}

bool fake_deliver(fake_client *client) {
    fake_item *item = item_take(&client->inbound);
    if (!item)
        return false;
    if (item->zxid > client->seen)
        client->seen = item->zxid;
    if (item->watch_event)
        hand_watch(client, item);
    else
        hand_over(client, item);
    item_free(item);
    fake_leave(client);
    return true;
}

bool fake_answer(fake_client *client) {
    const bool carried = fake_carry(client);
    bool delivered = false;
    while (fake_deliver(client))
        delivered = true;
    return carried || delivered;
}

void fake_settle(fake_client *client) {
    for (unsigned i = 0; fake_answer(client); i++)
        CHECK(i < 10000); /* else it goes on for ever */
}

void fake_settle_all(fake_servers *servers) {
    bool more = true;
    for (unsigned i = 0; more; i++) {
        more = false;
        CHECK(i < 10000);
        for (fake_client *c = servers->clients; c; c = c->next)
            more = fake_answer(c) || more;
    }
}

void fake_wait(fake_servers *servers, double seconds) {
    const zkl_nanos until = fake_now + (zkl_nanos)(seconds * 1e9);
    for (;;) {
        fake_client *next = NULL;
        zkl_nanos at = until;
        for (fake_client *c = servers->clients; c; c = c->next) {
            const zkl_nanos first = zkl_timers_next(&c->context.timers);
            if (first <= at) {
                at = first;
                next = c;
            }
        }
        if (at > fake_now)
            fake_quorum_pass(servers, at);
        if (!next)
            return;
        zkl_timers_run(&next->context.timers, fake_now);
        fake_leave(next);
    }
}

/* ---- the link ---- */

/* What was watched is asked for again before anything else; what changed meanwhile is told at
 * once. */
static void restore_watches(fake_client *client) {
    for (fake_watch *l = client->listeners; l; l = l->next) {
        const fake_node *node = fake_find(client->servers, l->path, client->view);
        const int64_t changed = changed_at(node, l->list);
        if (!node || (changed > client->seen && changed <= client->view))
            told(client, l->path, change_of(node, l))->watch_list = l->list;
        else
            watch_set(&client->watches, l->path, l->list, seen_of(client, changed));
    }
}

static void doom(fake_client *client, fake_item **queue);

void fake_take(fake_client *client) {
    fake_quorum_took(client);
}

void fake_fail(fake_client *client) {
    CHECK(!client->heart.linked);
    doom(client, &client->sent);
    fake_deliver_late(client);
}

void fake_connect(fake_client *client) {
    zkl_context *context = &client->context;
    const bool fresh = !client->alive;
    CHECK(!client->heart.linked);
    CHECK(client->alive || context->session == 0); /* else it is told of the end: fake_expire */
    if (client->view < client->seen)
        client->view = client->seen; /* servers that are behind us refuse us */
    if (fresh) {
        context->session = ++client->servers->sessions;
        context->counters.sessions++;
        client->alive = true;
    } else {
        restore_watches(client);
    }
    if (fresh || !client->tenure.taken)
        fake_quorum_took(client); /* otherwise they did when fake_take was called */
    client->tenure.taken = false;
    client->carried = client->carried && !fresh;
    zkl_heart_linked(&client->heart,
                     client->settled > client->started ? client->settled : client->started,
                     client->timeout, fresh, client->carried);
    if (!client->beats) /* the one heartbeat that it has */
        zkl_heart_answered(&client->heart, ZKL_PROOF_QUORUM, fake_now);
    if (!client->carried || !client->heart.proving)
        resume(client);
    fake_leave(client);
    if (!fresh && 28 + fake_watched_bytes(client) > client->servers->packet_most)
        fake_cut(client);
}

static void doom(fake_client *client, fake_item **queue) {
    for (fake_item *item; (item = item_take(queue));) {
        if (item->watch_event) {
            item_free(item);
            continue;
        }
        item->rc = ZCONNECTIONLOSS;
        item->next = NULL;
        fake_item **last = &client->late;
        while (*last)
            last = &(*last)->next;
        *last = item;
    }
}

void fake_cut_quietly(fake_client *client) {
    CHECK(client->heart.linked);
    client->context.port = NULL;
    client->state = ZKL_STATE_SUSPENDED;
    zkl_heart_unlinked(&client->heart);
    fake_quorum_left(client);
    watches_free(&client->watches);
    doom(client, &client->inbound);
    doom(client, &client->sent);
    zkl_lines_each(&client->lines, zkl_line_suspend);
    zkl_queries_suspend(&client->queries);
    fake_leave(client);
}

void fake_deliver_late(fake_client *client) {
    for (fake_item *item; (item = item_take(&client->late));) {
        item->watch = false;
        hand_over(client, item);
        item_free(item);
        fake_leave(client);
    }
}

void fake_cut(fake_client *client) {
    fake_cut_quietly(client);
    fake_deliver_late(client);
}

/* Another link: what was on its way on the former one is not heard of. */
static void start_link(fake_client *client) {
    zkl_heart_stopped(&client->heart);
    zkl_heart_started(&client->heart, &client->port);
    client->settled = 0;
    client->started = fake_now;
}

void fake_relink(fake_client *client) {
    CHECK(!client->heart.linked && client->context.session != 0);
    watches_free(&client->listeners);
    items_free(&client->late);
    client->seen = 0;
    client->carried = true;
    items_free(&client->sent);
    start_link(client);
    zkl_lines_each(&client->lines, zkl_line_relink);
    zkl_queries_suspend(&client->queries);
    zkl_errands_unlink(&client->nodes);
    zkl_views_unlink(&client->nodes);
    fake_leave(client);
}

void fake_bury(fake_client *client) {
    client->alive = false;
    watches_free(&client->watches);
    fake_end_session(client->servers, client->context.session);
}

void fake_expire(fake_client *client) {
    zkl_context *context = &client->context;
    if (client->alive)
        fake_bury(client);
    /* The link that this was on does not count any more: its last words are not heard. */
    items_free(&client->sent);
    items_free(&client->inbound);
    items_free(&client->late);
    watches_free(&client->listeners);
    context->port = NULL;
    context->session = 0;
    client->seen = 0;
    client->state = ZKL_STATE_EXPIRED;
    start_link(client);
    zkl_lines_each(&client->lines, zkl_line_expire);
    zkl_queries_suspend(&client->queries);
    zkl_errands_unlink(&client->nodes);
    zkl_views_unlink(&client->nodes);
    fake_leave(client);
}

void fake_lag(fake_client *client, int64_t zxid) {
    client->view = zxid < client->seen ? client->seen : zxid;
}

void fake_catch_up(fake_client *client) {
    if (client->tenure.deposed)
        return; /* nobody tells its server anything */
    client->view = FAKE_LATEST;
    fake_fire(client);
}

/* ---- looking ---- */

const zkl_contender *fake_member(const fake_caller *caller) {
    if (!caller->shares)
        return caller->contender;
    const zkl_guest *guest = (const zkl_guest *)caller->contender;
    return guest->place ? guest->place->node : NULL;
}

const char *fake_node_of(const fake_caller *caller) {
    const zkl_contender *c = fake_member(caller);
    if (!c || !c->line || !c->name)
        return NULL;
    char path[256];
    snprintf(path, sizeof path, "%s/%s", c->line->path, c->name);
    const fake_node *node = fake_find(caller->client->servers, path, FAKE_LATEST);
    return node ? node->path : NULL;
}

unsigned fake_pending(const fake_client *client, fake_op op, const char *path) {
    unsigned n = 0;
    for (const fake_item *item = client->sent; item; item = item->next)
        n += item->op == op && (!path || strcmp(item->path, path) == 0);
    return n;
}

const char *fake_batch(const fake_client *client) {
    static char text[256];
    size_t n = 0;
    for (const fake_item *item = client->sent; item && n + 1 < sizeof text; item = item->next)
        text[n++] = "CLGDSUMWAPT"[item->op];
    text[n] = '\0';
    return text;
}

size_t fake_watched_bytes(const fake_client *client) {
    size_t bytes = 0;
    for (const fake_watch *w = client->listeners; w; w = w->next)
        bytes += 4 + strlen(w->path);
    return bytes;
}

size_t fake_watched(const fake_client *client) {
    size_t n = 0;
    for (const fake_watch *w = client->listeners; w; w = w->next)
        n++;
    return n;
}
