#include "zookeeper/operations.h"

#include "recipe/trust.h"
#include "zookeeper/exposure.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request request;

/* What a transaction's answer is written to. */
typedef struct batch {
    zoo_op_t *ops;
    zoo_op_result_t *results;
    char **asked; /* the paths that were asked for ... */
    char **names; /* ... and behind each, in the same piece of memory, the one that was made */
    size_t count;
    char *mark;
    struct Stat stat; /* the mark's */
} batch;

enum { MARK_OPS = 3 };

/* On its way; the library brings it back once, unless the handle is closed before. */
struct request {
    zkl_list_item item; /* link->requests */
    zkl_link *link;
    zkl_return back;
    zkl_nanos handed;
    zkl_reach reach;
    batch *batch; /* of a transaction */
    zkl_mode mode;
    char path[]; /* of a create */
};

/* ---- requests on their way ---- */

static request *request_about(zkl_link *link, zkl_return back, zkl_reach reach, const char *path) {
    const size_t size = strlen(path) + 1;
    request *r = calloc(1, sizeof *r + size);
    if (!r)
        return NULL;
    memcpy(r->path, path, size);
    r->link = link;
    r->back = back;
    r->reach = reach;
    r->handed = link->clock->now();
    pthread_mutex_lock(&link->mutex);
    zkl_list_append(&link->requests, &r->item);
    pthread_mutex_unlock(&link->mutex);
    return r;
}

static request *request_new(zkl_link *link, zkl_return back, zkl_reach reach) {
    return request_about(link, back, reach, "");
}

static void batch_free(batch *b) {
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

static void request_free(request *r) {
    zkl_link *link = r->link;
    pthread_mutex_lock(&link->mutex);
    zkl_list_remove(&link->requests, &r->item);
    if (!link->requests.first)
        pthread_cond_broadcast(&link->idle);
    pthread_mutex_unlock(&link->mutex);
    batch_free(r->batch);
    free(r);
}

/* The library took the request, or not: then nobody brings it back. */
static int sent(request *r, int rc) {
    if (rc != ZOK)
        request_free(r);
    else
        ++*r->link->sent_count;
    return rc;
}

/* completion thread; freed only after the owner has acted on it, so that a drained link has nothing
 * left to start */
static void answer(request *r, const zkl_reply *reply) {
    zkl_link *link = r->link;
    if (link->settled < r->handed)
        link->settled = r->handed;
    link->owner.answered(link->owner.ctx, link, &r->back, reply, r->handed,
                         zkl_proof_of(r->reach, reply->rc));
    request_free(r);
}

/* ---- answers ---- */

/* What the other side has sent may be anything: a server, or whoever sits on the connection, is not
 * trusted to keep to the protocol. An answer that cannot be right says nothing of what became of
 * the request. */
#define CORRUPT ZMARSHALLINGERROR

/* Exactly as the servers print one. */
static bool is_sequence(const char *text) {
    char printed[sizeof "-2147483648"];
    snprintf(printed, sizeof printed, "%010" PRId32, (int32_t)strtol(text, NULL, 10));
    return strcmp(printed, text) == 0;
}

/* Is it the path of what was asked for? */
static bool is_made(const char *made, const char *asked, bool sequence) {
    const size_t length = strlen(asked);
    if (!made || strncmp(made, asked, length) != 0)
        return false;
    return sequence ? is_sequence(made + length) : made[length] == '\0';
}

static bool is_name(const char *name) {
    return name && name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           !strchr(name, '/');
}

static bool are_names(const struct String_vector *names) {
    if (!names || names->count < 0 || (names->count > 0 && !names->data))
        return false;
    for (int32_t i = 0; i < names->count; i++)
        if (!is_name(names->data[i]))
            return false;
    return true;
}

static zkl_stat stat_of(const struct Stat *stat) {
    return (zkl_stat){stat->czxid, stat->ephemeralOwner, stat->ctime, stat->aversion};
}

static void on_void(int rc, const void *data) {
    answer((request *)data, &(zkl_reply){.rc = rc});
}

static void on_string(int rc, const char *value, const void *data) {
    (void)value;
    answer((request *)data, &(zkl_reply){.rc = rc});
}

static void on_create(int rc, const char *path, const struct Stat *stat, const void *data) {
    request *r = (request *)data;
    zkl_reply reply = {.rc = rc};
    zkl_stat copy;
    if (rc == ZOK && is_made(path, r->path, r->mode == ZKL_EPHEMERAL_SEQUENCE) && stat &&
        stat->czxid > 0) {
        copy = stat_of(stat);
        reply.stat = &copy;
        reply.path = path;
    } else if (rc == ZOK) {
        reply.rc = CORRUPT;
    }
    answer(r, &reply);
}

static void listed(int rc, const struct String_vector *names, const zkl_stat *stat,
                   const void *data) {
    zkl_reply reply = {.rc = rc, .stat = stat};
    if (rc == ZOK && are_names(names)) {
        reply.names = (const char *const *)names->data;
        reply.count = (size_t)names->count;
    } else if (rc == ZOK) {
        reply.rc = CORRUPT;
    }
    answer((request *)data, &reply);
}

static void on_list(int rc, const struct String_vector *names, const void *data) {
    listed(rc, names, NULL, data);
}

static void on_list_of(int rc, const struct String_vector *names, const struct Stat *stat,
                       const void *data) {
    const bool complete = rc != ZOK || stat;
    const zkl_stat copy = stat ? stat_of(stat) : (zkl_stat){0};
    listed(complete ? rc : CORRUPT, names, &copy, data);
}

static void on_acl(int rc, struct ACL_vector *acl, struct Stat *stat, const void *data) {
    zkl_reply reply = {.rc = rc};
    zkl_stat copy;
    if (rc == ZOK && stat && zkl_exposure_of(acl, &reply.exposed)) {
        copy = stat_of(stat);
        reply.stat = &copy;
    } else if (rc == ZOK) {
        reply.rc = CORRUPT;
    }
    answer((request *)data, &reply);
}

static void on_get(int rc, const char *value, int length, const struct Stat *stat,
                   const void *data) {
    zkl_reply reply = {.rc = rc};
    zkl_stat copy;
    if (rc == ZOK && stat && (value || length <= 0)) {
        copy = stat_of(stat);
        reply.stat = &copy;
        reply.data = length > 0 ? value : "";
        reply.length = length > 0 ? (size_t)length : 0;
    } else if (rc == ZOK) {
        reply.rc = CORRUPT;
    }
    answer((request *)data, &reply);
}

/* completion thread; one function and one context for all nodes, so that asking twice costs the
 * library nothing */
static void on_watch(zhandle_t *handle, int type, int state, const char *path, void *ctx) {
    (void)handle;
    (void)state;
    zkl_link *link = ctx;
    if (type == ZOO_SESSION_EVENT)
        return; /* every node watch hears those too */
    zkl_change change = ZKL_CHANGE_OTHER;
    if (type == ZOO_DELETED_EVENT)
        change = ZKL_CHANGE_DELETED;
    else if (type == ZOO_CHILD_EVENT)
        change = ZKL_CHANGE_CHILDREN;
    link->owner.watched(link->owner.ctx, link, path, change);
}

/* ---- the table ---- */

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

static int mode_of(zkl_mode mode) {
    switch (mode) {
    case ZKL_EPHEMERAL:
        return ZOO_EPHEMERAL;
    case ZKL_EPHEMERAL_SEQUENCE:
        return ZOO_EPHEMERAL_SEQUENTIAL;
    case ZKL_CONTAINER:
        return ZOO_CONTAINER;
    case ZKL_PERSISTENT:
        break;
    }
    return ZOO_PERSISTENT;
}

static int port_create(zkl_port *port, const char *path, const char *data, zkl_mode mode,
                       zkl_acl acl, zkl_return back) {
    zkl_link *link = ZKL_CONTAINER_OF(port, zkl_link, port);
    request *r = request_about(link, back, ZKL_REACH_QUORUM, path);
    if (!r)
        return ZMARSHALLINGERROR;
    r->mode = mode;
    return sent(r, zoo_acreate2(link->handle, path, data, (int)strlen(data), acl_of(acl),
                                mode_of(mode), on_create, r));
}

static bool all_made(const batch *b) {
    for (size_t i = 0; i < b->count; i++)
        if (!is_made(b->names[i], b->asked[i], true))
            return false;
    return true;
}

static void on_batch(int rc, const void *data) {
    request *r = (request *)data;
    const batch *b = r->batch;
    zkl_stat stat = {.czxid = b->mark ? b->stat.mzxid : 0};
    zkl_reply reply = {.rc = rc == ZOK && !all_made(b) ? CORRUPT : rc, .stat = &stat};
    if (reply.rc == ZOK) {
        reply.names = (const char *const *)b->names;
        reply.count = b->count;
    }
    answer(r, &reply);
}

/* A copy of the path, and room for it with the sequence that comes after it. */
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
    request *r = request_new(link, back, ZKL_REACH_QUORUM);
    if (!r)
        return ZMARSHALLINGERROR;
    r->batch = batch_new(asked, acl_of(acl));
    if (!r->batch)
        return sent(r, ZMARSHALLINGERROR);
    return sent(r, zoo_amulti(link->handle, (int)(asked->count + (asked->mark ? MARK_OPS : 0)),
                              r->batch->ops, r->batch->results, on_batch, r));
}

static int port_list(zkl_port *port, const char *path, bool watch, zkl_return back) {
    zkl_link *link = ZKL_CONTAINER_OF(port, zkl_link, port);
    request *r = request_new(link, back, ZKL_REACH_SERVER);
    if (!r)
        return ZMARSHALLINGERROR;
    const watcher_fn fn = watch ? on_watch : NULL;
    if (link->config->acl != ZKL_ACL_OPEN)
        return sent(r, zoo_awget_children2(link->handle, path, fn, link, on_list_of, r));
    return sent(r, zoo_awget_children(link->handle, path, fn, link, on_list, r));
}

static int port_get(zkl_port *port, const char *path, bool watch, zkl_return back) {
    zkl_link *link = ZKL_CONTAINER_OF(port, zkl_link, port);
    request *r = request_new(link, back, ZKL_REACH_SERVER);
    if (!r)
        return ZMARSHALLINGERROR;
    return sent(r, zoo_awget(link->handle, path, watch ? on_watch : NULL, link, on_get, r));
}

static void on_stat(int rc, const struct Stat *stat, const void *data) {
    (void)stat;
    answer((request *)data, &(zkl_reply){.rc = rc});
}

static int port_set(zkl_port *port, const char *path, const char *data, zkl_return back) {
    zkl_link *link = ZKL_CONTAINER_OF(port, zkl_link, port);
    request *r = request_new(link, back, ZKL_REACH_QUORUM);
    if (!r)
        return ZMARSHALLINGERROR;
    return sent(r, zoo_aset(link->handle, path, data, (int)strlen(data), -1, on_stat, r));
}

static int port_erase(zkl_port *port, const char *path, zkl_return back) {
    zkl_link *link = ZKL_CONTAINER_OF(port, zkl_link, port);
    request *r = request_new(link, back, ZKL_REACH_ERASE);
    return r ? sent(r, zoo_adelete(link->handle, path, -1, on_void, r)) : ZMARSHALLINGERROR;
}

static int port_sync(zkl_port *port, const char *path, zkl_return back) {
    zkl_link *link = ZKL_CONTAINER_OF(port, zkl_link, port);
    request *r = request_new(link, back, ZKL_REACH_LEADER);
    return r ? sent(r, zoo_async(link->handle, path, on_string, r)) : ZMARSHALLINGERROR;
}

/* The library's declaration takes a pointer to the completion's type, and uses it as the
 * completion. */
static int port_unwatch(zkl_port *port, const char *path, bool list, zkl_return back) {
    zkl_link *link = ZKL_CONTAINER_OF(port, zkl_link, port);
    request *r = request_new(link, back, ZKL_REACH_SERVER);
    return r ? sent(r, zoo_aremove_all_watches(link->handle, path,
                                               list ? ZWATCHTYPE_CHILD : ZWATCHTYPE_DATA, 0,
                                               (void_completion_t *)on_void, r))
             : ZMARSHALLINGERROR;
}

static int port_get_acl(zkl_port *port, const char *path, zkl_return back) {
    zkl_link *link = ZKL_CONTAINER_OF(port, zkl_link, port);
    request *r = request_new(link, back, ZKL_REACH_SERVER);
    return r ? sent(r, zoo_aget_acl(link->handle, path, on_acl, r)) : ZMARSHALLINGERROR;
}

static const zkl_port_table table = {port_create, port_create_all, port_list,
                                     port_get,    port_set,        port_erase,
                                     port_sync,   port_unwatch,    port_get_acl};

const zkl_port_table *zkl_operations(void) {
    return &table;
}

void zkl_operations_forget(zkl_link *link) {
    ZKL_EACH (request, r, &link->requests, item) {
        batch_free(r->batch);
        free(r);
    }
}
