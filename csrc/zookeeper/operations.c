/* SPDX-License-Identifier: MIT */
#include "zookeeper/operations.h"

#include "base/status.h"
#include "zookeeper/acl_exposure.h"
#include "zookeeper/acl_text.h"
#include "zookeeper/outgoing_request.h"

#include <stdlib.h>
#include <string.h>

/* How many characters a sequential node's number has at most, with its sign. */
#define SEQUENCE_MOST (sizeof "-2147483648" - 1)

static struct ACL read_entries[2];
static struct ACL_vector read_acl = {2, read_entries};
static pthread_once_t read_once = PTHREAD_ONCE_INIT;

static void read_acl_fill(void) {
    read_entries[0] = (struct ACL){ZOO_PERM_READ, ZOO_ANYONE_ID_UNSAFE};
    read_entries[1] = (struct ACL){ZOO_PERM_ALL, ZOO_AUTH_IDS};
}

static const struct ACL_vector *acl_of(zkl_acl acl) {
    switch (acl) {
    case ZKL_ACL_CREATOR:
        return &ZOO_CREATOR_ALL_ACL;
    case ZKL_ACL_READ:
        pthread_once(&read_once, read_acl_fill);
        return &read_acl;
    case ZKL_ACL_OPEN:
        break;
    }
    return &ZOO_OPEN_ACL_UNSAFE;
}

static int mode_of(const zkl_op *op) {
    if (op->container)
        return ZOO_CONTAINER;
    if (op->ephemeral)
        return op->sequential ? ZOO_EPHEMERAL_SEQUENTIAL : ZOO_EPHEMERAL;
    return op->sequential ? ZOO_PERSISTENT_SEQUENTIAL : ZOO_PERSISTENT;
}

/* ---- a single operation ---- */

static void on_void(int rc, const void *data) {
    zkl_outgoing_request_answer((zkl_outgoing_request *)data, &(zkl_reply){.rc = rc});
}

/* For answers with a Stat. */
static void answer_with(zkl_outgoing_request *r, zkl_reply reply, const struct Stat *stat,
                        bool plausible) {
    zkl_stat copy;
    if (reply.rc == ZOK && stat && plausible) {
        copy = zkl_outgoing_request_stat(stat);
        reply.stat = &copy;
    } else if (reply.rc == ZOK) {
        reply = (zkl_reply){.rc = ZKL_CORRUPT};
    }
    zkl_outgoing_request_answer(r, &reply);
}

static void on_made(int rc, const char *path, const struct Stat *stat, const void *data) {
    zkl_outgoing_request *r = (zkl_outgoing_request *)data;
    answer_with(r, (zkl_reply){.rc = rc, .path = path}, stat,
                rc == ZOK && stat && stat->czxid > 0 &&
                    zkl_outgoing_request_is_made(path, r->room, r->sequence));
}

static void on_stat(int rc, const struct Stat *stat, const void *data) {
    answer_with((zkl_outgoing_request *)data, (zkl_reply){.rc = rc}, stat, true);
}

/* Null data has a negative length. */
static void on_data(int rc, const char *value, int length, const struct Stat *stat,
                    const void *data) {
    const bool some = length > 0;
    answer_with(
        (zkl_outgoing_request *)data,
        (zkl_reply){.rc = rc, .data = some ? value : "", .length = some ? (size_t)length : 0}, stat,
        value || !some);
}

/* false: they cannot be names. */
static bool take_names(zkl_reply *reply, const struct String_vector *names) {
    if (reply->rc != ZOK || !zkl_outgoing_request_are_names(names))
        return false;
    reply->names = (const char *const *)names->data;
    reply->count = (size_t)names->count;
    return true;
}

static void on_names(int rc, const struct String_vector *names, const struct Stat *stat,
                     const void *data) {
    zkl_reply reply = {.rc = rc};
    const bool good = take_names(&reply, names);
    answer_with((zkl_outgoing_request *)data, reply, stat, good);
}

/* Without memory for the lines the answer counts as one that could not be read. */
static void on_acl(int rc, struct ACL_vector *acl, struct Stat *stat, const void *data) {
    zkl_reply reply = {.rc = rc};
    const bool good = rc == ZOK && zkl_acl_exposure_of(acl, &reply.exposed);
    char *lines = good ? zkl_acl_text(acl) : NULL;
    reply.data = lines;
    reply.length = lines ? strlen(lines) : 0;
    answer_with((zkl_outgoing_request *)data, reply, stat, lines != NULL);
    free(lines);
}

/* ---- a create ---- */

static void on_read(int rc, const char *value, int length, const struct Stat *stat,
                    const void *data) {
    (void)value;
    (void)length;
    zkl_outgoing_request *r = (zkl_outgoing_request *)data;
    const bool heard = rc == ZOK || zkl_status_unknown(rc);
    on_made(heard ? rc : ZKL_CORRUPT, r->made, stat, r);
}

/* The answer has no Stat. */
static void on_path(int rc, const char *path, const void *data) {
    static const struct Stat none;
    zkl_outgoing_request *r = (zkl_outgoing_request *)data;
    answer_with(r, (zkl_reply){.rc = rc, .path = path}, &none,
                rc == ZOK && zkl_outgoing_request_is_made(path, r->room, r->sequence));
}

/* A read of the node completes the answer. If that fails, no more is known than of a create that
 * was cut off. */
static void on_path_to_read(int rc, const char *path, const void *data) {
    zkl_outgoing_request *r = (zkl_outgoing_request *)data;
    if (rc == ZOK) {
        r->made = path ? strdup(path) : NULL;
        rc = r->made ? zoo_awget(r->link->handle, r->made, NULL, NULL, on_read, r) : ZKL_CORRUPT;
        if (rc == ZOK)
            return;
    }
    on_made(rc, NULL, NULL, r);
}

static int create(zkl_outgoing_request *r, const zkl_op *op, bool whole) {
    zkl_context *context = r->link->context;
    zhandle_t *handle = r->link->handle;
    const int length = (int)op->length, mode = mode_of(op);
    r->sequence = op->sequential;
    r->extra = op->container ? ZKL_EXTRA_CONTAINER : ZKL_EXTRA_CREATE2;
    if (zkl_context_knows(context, r->extra))
        return zoo_acreate2(handle, op->path, op->data, length, acl_of(op->acl), mode, on_made, r);
    if (op->container)
        return ZUNIMPLEMENTED;
    r->extra = ZKL_EXTRA_NONE;
    /* the read counts now, because its thread has not the client's mutex */
    context->counters.requests_sent += whole;
    return zoo_acreate(handle, op->path, op->data, length, acl_of(op->acl), mode,
                       whole ? on_path_to_read : on_path, r);
}

/* ---- all of them ---- */

static zkl_reach reach_of(zkl_op_kind kind) {
    switch (kind) {
    case ZKL_OP_GET:
    case ZKL_OP_EXISTS:
    case ZKL_OP_CHILDREN:
    case ZKL_OP_ACL:
        break;
    case ZKL_OP_CREATE:
    case ZKL_OP_SET:
    case ZKL_OP_CHECK:
        return ZKL_REACH_QUORUM;
    case ZKL_OP_DELETE:
        return ZKL_REACH_ERASE;
    }
    return ZKL_REACH_SERVER;
}

static int perform(zkl_port *port, const zkl_op *op, bool watch, zkl_return back) {
    zkl_link *link = ZKL_CONTAINER_OF(port, zkl_link, port);
    zhandle_t *handle = link->handle;
    const size_t room = op->kind == ZKL_OP_CREATE ? strlen(op->path) + 1 : 0;
    zkl_outgoing_request *r = zkl_outgoing_request_new(link, back, reach_of(op->kind), room);
    if (!r)
        return ZMARSHALLINGERROR;
    memcpy(r->room, op->path, room);
    const watcher_fn fn = watch ? zkl_outgoing_request_watched : NULL;
    switch (op->kind) {
    case ZKL_OP_GET:
        return zkl_outgoing_request_sent(r, zoo_awget(handle, op->path, fn, link, on_data, r));
    case ZKL_OP_EXISTS:
        return zkl_outgoing_request_sent(r, zoo_awexists(handle, op->path, fn, link, on_stat, r));
    case ZKL_OP_CHILDREN:
        return zkl_outgoing_request_sent(
            r, zoo_awget_children2(handle, op->path, fn, link, on_names, r));
    case ZKL_OP_CREATE:
        return zkl_outgoing_request_sent(r, create(r, op, watch));
    case ZKL_OP_SET:
        return zkl_outgoing_request_sent(
            r, zoo_aset(handle, op->path, op->data, (int)op->length, op->version, on_stat, r));
    case ZKL_OP_DELETE:
        return zkl_outgoing_request_sent(r, zoo_adelete(handle, op->path, op->version, on_void, r));
    case ZKL_OP_ACL:
        return zkl_outgoing_request_sent(r, zoo_aget_acl(handle, op->path, on_acl, r));
    case ZKL_OP_CHECK:
        break; /* only valid in a transaction */
    }
    return zkl_outgoing_request_sent(r, ZBADARGUMENTS);
}

/* ---- a transaction ---- */

/* One operation: the paths asked for, and the room that the library fills. */
typedef struct part {
    struct Stat stat;
    char *asked; /* of a create: the requested path ... */
    char *made;  /* ... and the created one */
    bool sequence;
} part;

/* The buffers for a transaction's answer, in the room of its request: in the order of their
 * alignment, behind `outcomes`. The library reads the ops only during the call. */
typedef struct transaction {
    size_t count;
    part *parts;
    zoo_op_t *ops;
    zoo_op_result_t *results;
    zkl_op_result outcomes[];
} transaction;

/* Bytes for the paths of a create; the library truncates the second one if it does not fit. */
static size_t text_of(const zkl_op *op) {
    return op->kind == ZKL_OP_CREATE ? 2 * (strlen(op->path) + 1) + SEQUENCE_MOST : 0;
}

static void add_create(transaction *t, size_t i, const zkl_op *op, char *text) {
    part *p = &t->parts[i];
    const size_t length = strlen(op->path) + 1;
    p->asked = memcpy(text, op->path, length);
    p->made = text + length;
    p->sequence = op->sequential;
    zoo_create_op_init(&t->ops[i], op->path, op->data, (int)op->length, acl_of(op->acl),
                       mode_of(op), p->made, (int)(length + SEQUENCE_MOST));
}

static void add(transaction *t, size_t i, const zkl_op *op, char *text) {
    switch (op->kind) {
    case ZKL_OP_CREATE:
        add_create(t, i, op, text);
        return;
    case ZKL_OP_SET:
        zoo_set_op_init(&t->ops[i], op->path, op->data, (int)op->length, op->version,
                        &t->parts[i].stat);
        return;
    case ZKL_OP_DELETE:
        zoo_delete_op_init(&t->ops[i], op->path, op->version);
        return;
    case ZKL_OP_CHECK:
    case ZKL_OP_GET:
    case ZKL_OP_EXISTS:
    case ZKL_OP_CHILDREN:
    case ZKL_OP_ACL:
        break;
    }
    zoo_check_op_init(&t->ops[i], op->path, op->version);
}

static size_t room_of(const zkl_op *ops, size_t count) {
    size_t bytes = sizeof(transaction) + count * (sizeof(zkl_op_result) + sizeof(part) +
                                                  sizeof(zoo_op_t) + sizeof(zoo_op_result_t));
    for (size_t i = 0; i < count; i++)
        bytes += text_of(&ops[i]);
    return bytes;
}

/* `t` is zeros. */
static void fill(transaction *t, const zkl_op *ops, size_t count) {
    t->count = count;
    t->parts = (void *)(t->outcomes + count);
    t->ops = (void *)(t->parts + count);
    t->results = (void *)(t->ops + count);
    char *text = (void *)(t->results + count);
    for (size_t i = 0; i < count; i++) {
        add(t, i, &ops[i], text);
        text += text_of(&ops[i]);
    }
}

static bool sets(const zoo_op_t *op) {
    return op->type == ZOO_SETDATA_OP;
}

/* True if the answer has the right path for each create, and a moment for each write. */
static bool is_whole(const transaction *t) {
    for (size_t i = 0; i < t->count; i++) {
        const part *p = &t->parts[i];
        if ((p->asked && !zkl_outgoing_request_is_made(p->made, p->asked, p->sequence)) ||
            (sets(&t->ops[i]) && p->stat.mzxid <= 0))
            return false;
    }
    return zkl_outgoing_request_are_done(t->results, t->count);
}

/* If the answer leaves an operation out, that one is not the one that failed. */
static int outcome_of(const zoo_op_result_t *result) {
    return result->err == ZKL_UNTOLD ? ZOK : result->err;
}

static void on_transaction(int rc, const void *data) {
    zkl_outgoing_request *r = (zkl_outgoing_request *)data;
    transaction *t = (transaction *)r->room;
    zkl_reply reply = {.rc = rc == ZOK && !is_whole(t) ? ZKL_CORRUPT : rc};
    for (size_t i = 0; i < t->count; i++)
        t->outcomes[i] = (zkl_op_result){
            .rc = outcome_of(&t->results[i]),
            .path = t->parts[i].made,
            .stat = zkl_outgoing_request_stat(&t->parts[i].stat),
        };
    reply.outcomes = t->outcomes;
    reply.count = t->count;
    zkl_outgoing_request_answer(r, &reply);
}

static int transact(zkl_port *port, const zkl_op *ops, size_t count, zkl_return back) {
    zkl_link *link = ZKL_CONTAINER_OF(port, zkl_link, port);
    zkl_outgoing_request *r =
        zkl_outgoing_request_new(link, back, ZKL_REACH_QUORUM, room_of(ops, count));
    if (!r)
        return ZMARSHALLINGERROR;
    transaction *t = (transaction *)r->room;
    fill(t, ops, count);
    return zkl_outgoing_request_transact(r, (int)count, t->ops, t->results, on_transaction);
}

/* ---- what is no operation on a node ---- */

static void on_string(int rc, const char *value, const void *data) {
    (void)value;
    zkl_outgoing_request_answer((zkl_outgoing_request *)data, &(zkl_reply){.rc = rc});
}

static int sync_path(zkl_port *port, const char *path, zkl_return back) {
    zkl_link *link = ZKL_CONTAINER_OF(port, zkl_link, port);
    zkl_outgoing_request *r = zkl_outgoing_request_new(link, back, ZKL_REACH_LEADER, 0);
    return r ? zkl_outgoing_request_sent(r, zoo_async(link->handle, path, on_string, r))
             : ZMARSHALLINGERROR;
}

static void on_nothing(int rc, const struct Stat *stat, const void *data) {
    (void)stat;
    zkl_outgoing_request_answer((zkl_outgoing_request *)data,
                                &(zkl_reply){.rc = zkl_status_unknown(rc) ? rc : ZUNIMPLEMENTED});
}

/* If the servers cannot do it, another request tells when they would have refused: behind those
 * that set the watch. The library's declaration has a pointer to the completion's type, but the
 * library uses it as the completion. */
static int unwatch(zkl_port *port, const char *path, bool list, zkl_return back) {
    zkl_link *link = ZKL_CONTAINER_OF(port, zkl_link, port);
    zkl_outgoing_request *r = zkl_outgoing_request_new(link, back, ZKL_REACH_SERVER, 0);
    if (!r)
        return ZMARSHALLINGERROR;
    if (!zkl_context_knows(link->context, ZKL_EXTRA_UNWATCH))
        return zkl_outgoing_request_sent(
            r, zoo_awexists(link->handle, "/", NULL, NULL, on_nothing, r));
    r->extra = ZKL_EXTRA_UNWATCH;
    return zkl_outgoing_request_sent(
        r, zoo_aremove_all_watches(link->handle, path, list ? ZWATCHTYPE_CHILD : ZWATCHTYPE_DATA, 0,
                                   (void_completion_t *)on_void, r));
}

static const zkl_port_table table = {
    .perform = perform,
    .transact = transact,
    .sync = sync_path,
    .unwatch = unwatch,
};

const zkl_port_table *zkl_operations(void) {
    return &table;
}
