/* SPDX-License-Identifier: MIT */
#include "zookeeper/operations.h"

#include "recipe/validity.h"
#include "zookeeper/node_operations.h"
#include "zookeeper/outgoing_request.h"

#include <stdlib.h>
#include <string.h>

typedef zkl_outgoing_request request;

/* The buffers for a transaction's answer. */
typedef struct batch {
    zoo_op_t *ops;
    zoo_op_result_t *results;
    char **asked;     /* the requested paths ... */
    char **names;     /* ... and behind each, in the same piece of memory, the created one */
    size_t count;     /* of the nodes; behind them come the operations on the mark */
    char *mark;       /* NULL: no mark */
    struct Stat stat; /* the mark's */
} batch;

enum { MARK_OPS = 3 };

static size_t batch_ops(const batch *b) {
    return b->count + (b->mark ? MARK_OPS : 0);
}

static void batch_free(void *load) {
    batch *b = load;
    for (size_t i = 0; b && b->asked && i < b->count; i++)
        free(b->asked[i]);
    if (b) {
        free(b->asked);
        free(b->mark);
        free(b->names);
        free(b->ops);
        free(b->results);
    }
    free(b);
}

/* ---- answers ---- */

static void on_void(int rc, const void *data) {
    zkl_outgoing_request_answer((request *)data, &(zkl_reply){.rc = rc});
}

static void on_string(int rc, const char *value, const void *data) {
    (void)value;
    zkl_outgoing_request_answer((request *)data, &(zkl_reply){.rc = rc});
}

static void listed(int rc, const struct String_vector *names, const zkl_stat *stat,
                   const void *data) {
    zkl_reply reply = {.rc = rc, .stat = stat};
    if (rc == ZOK && zkl_outgoing_request_are_names(names)) {
        reply.names = (const char *const *)names->data;
        reply.count = (size_t)names->count;
    } else if (rc == ZOK) {
        reply.rc = ZKL_CORRUPT;
    }
    zkl_outgoing_request_answer((request *)data, &reply);
}

static void on_list(int rc, const struct String_vector *names, const void *data) {
    listed(rc, names, NULL, data);
}

static void on_list_of(int rc, const struct String_vector *names, const struct Stat *stat,
                       const void *data) {
    const bool complete = rc != ZOK || stat;
    const zkl_stat copy = stat ? zkl_outgoing_request_stat(stat) : (zkl_stat){0};
    listed(complete ? rc : ZKL_CORRUPT, names, &copy, data);
}

/* ---- the table ---- */

/* The token of the nodes is when the mark was written. */
static bool all_made(const batch *b) {
    for (size_t i = 0; i < b->count; i++)
        if (!zkl_outgoing_request_is_made(b->names[i], b->asked[i], true))
            return false;
    if (b->mark && b->stat.mzxid <= 0)
        return false;
    return zkl_outgoing_request_are_done(b->results, batch_ops(b));
}

static void on_batch(int rc, const void *data) {
    request *r = (request *)data;
    const batch *b = r->load;
    zkl_stat stat = {.czxid = b->mark ? b->stat.mzxid : 0};
    zkl_reply reply = {.rc = rc == ZOK && !all_made(b) ? ZKL_CORRUPT : rc, .stat = &stat};
    if (reply.rc == ZOK) {
        reply.names = (const char *const *)b->names;
        reply.count = b->count;
    }
    zkl_outgoing_request_answer(r, &reply);
}

/* A copy of the path, with room for its sequence. */
static char *path_with_room(const char *path, size_t length) {
    char *both = calloc(1, 2 * (length + 1) + strlen("-2147483648"));
    if (both)
        memcpy(both, path, length);
    return both;
}

static bool add_create(batch *b, size_t i, const zkl_batch *asked, const struct ACL_vector *acl) {
    const size_t length = strlen(asked->paths[i]);
    b->asked[i] = path_with_room(asked->paths[i], length);
    if (!b->asked[i])
        return false;
    b->names[i] = b->asked[i] + length + 1;
    zoo_create_op_init(&b->ops[i], asked->paths[i], asked->data, (int)strlen(asked->data), acl,
                       ZOO_EPHEMERAL_SEQUENTIAL, b->names[i], (int)(length + sizeof "-2147483648"));
    return true;
}

static bool add_mark(batch *b, const char *mark, const struct ACL_vector *acl) {
    zoo_op_t *ops = b->ops + b->count;
    b->mark = strdup(mark);
    if (!b->mark)
        return false;
    zoo_create_op_init(&ops[0], b->mark, "", 0, acl, ZOO_PERSISTENT, NULL, 0);
    zoo_set_op_init(&ops[1], b->mark, "", 0, -1, &b->stat);
    zoo_delete_op_init(&ops[2], b->mark, -1);
    return true;
}

static batch *batch_new(const zkl_batch *asked, const struct ACL_vector *acl) {
    batch *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->count = asked->count;
    b->ops = calloc(b->count + MARK_OPS, sizeof *b->ops);
    b->results = calloc(b->count + MARK_OPS, sizeof *b->results);
    b->asked = calloc(b->count, sizeof *b->asked);
    b->names = calloc(b->count, sizeof *b->names);
    bool complete = b->ops && b->results && b->asked && b->names;
    for (size_t i = 0; complete && i < b->count; i++)
        complete = add_create(b, i, asked, acl);
    if (complete && asked->mark)
        complete = add_mark(b, asked->mark, acl);
    if (!complete) {
        batch_free(b);
        return NULL;
    }
    return b;
}

static int port_create_all(zkl_port *port, const zkl_batch *asked, zkl_acl acl, zkl_return back) {
    zkl_link *link = ZKL_CONTAINER_OF(port, zkl_link, port);
    request *r = zkl_outgoing_request_new(link, back, ZKL_REACH_QUORUM);
    if (!r)
        return ZMARSHALLINGERROR;
    batch *b = batch_new(asked, zkl_node_operations_acl(acl));
    if (!b)
        return zkl_outgoing_request_sent(r, ZMARSHALLINGERROR);
    r->load = b;
    r->unload = batch_free;
    return zkl_outgoing_request_transact(r, (int)batch_ops(b), b->ops, b->results, on_batch);
}

static int port_list(zkl_port *port, const char *path, bool watch, zkl_return back) {
    zkl_link *link = ZKL_CONTAINER_OF(port, zkl_link, port);
    request *r = zkl_outgoing_request_new(link, back, ZKL_REACH_SERVER);
    if (!r)
        return ZMARSHALLINGERROR;
    const watcher_fn fn = watch ? zkl_outgoing_request_watched : NULL;
    if (link->config->acl != ZKL_ACL_OPEN)
        return zkl_outgoing_request_sent(
            r, zoo_awget_children2(link->handle, path, fn, link, on_list_of, r));
    return zkl_outgoing_request_sent(r,
                                     zoo_awget_children(link->handle, path, fn, link, on_list, r));
}

static int port_sync(zkl_port *port, const char *path, zkl_return back) {
    zkl_link *link = ZKL_CONTAINER_OF(port, zkl_link, port);
    request *r = zkl_outgoing_request_new(link, back, ZKL_REACH_LEADER);
    return r ? zkl_outgoing_request_sent(r, zoo_async(link->handle, path, on_string, r))
             : ZMARSHALLINGERROR;
}

/* The library's declaration has a pointer to the completion's type, but the library uses it as the
 * completion. */
static int port_unwatch(zkl_port *port, const char *path, bool list, zkl_return back) {
    zkl_link *link = ZKL_CONTAINER_OF(port, zkl_link, port);
    request *r = zkl_outgoing_request_new(link, back, ZKL_REACH_SERVER);
    return r ? zkl_outgoing_request_sent(
                   r, zoo_aremove_all_watches(link->handle, path,
                                              list ? ZWATCHTYPE_CHILD : ZWATCHTYPE_DATA, 0,
                                              (void_completion_t *)on_void, r))
             : ZMARSHALLINGERROR;
}

static const zkl_port_table table = {
    .create_all = port_create_all,
    .list = port_list,
    .sync = port_sync,
    .unwatch = port_unwatch,
    .perform = zkl_node_operations_perform,
    .transact = zkl_node_operations_transact,
};

const zkl_port_table *zkl_operations(void) {
    return &table;
}
