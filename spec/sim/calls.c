/* SPDX-License-Identifier: MIT */
/* The requests that clients make of a handle. */
#include "handle.h"

#include <string.h>

typedef void plain(void);

static sim_request *ask(sim_op op, const char *path, int (*tell)(sim_request *), plain *completion,
                        const void *ctx) {
    sim_request *r = sim_request_new(op, path);
    r->tell = completion ? tell : NULL;
    r->completion = completion;
    r->ctx = ctx;
    return r;
}

static void set_watcher(sim_request *r, watcher_fn fn, void *ctx, int kind) {
    r->watcher = fn;
    r->watcher_ctx = ctx;
    r->watch = fn ? kind : 0;
}

static char *text_of(const char *data, int length) {
    if (length <= 0 || !data)
        return sim_copy("");
    char *text = sim_new((size_t)length + 1);
    memcpy(text, data, (size_t)length);
    return text;
}

/* The first entry is everybody's, unless there is only the asker's. */
static int kept_of(const struct ACL_vector *acl) {
    const bool is_for_all = strcmp(acl->data[0].id.scheme, "world") == 0;
    return ZOO_PERM_ALL & ~(is_for_all ? acl->data[0].perms : 0);
}

static void fill_create(sim_part *p, const char *data, int length, const struct ACL_vector *acl,
                        int mode) {
    p->data = text_of(data, length);
    p->kept = kept_of(acl);
    p->sequence = mode == ZOO_PERSISTENT_SEQUENTIAL || mode == ZOO_EPHEMERAL_SEQUENTIAL;
    p->mode = mode == ZOO_EPHEMERAL              ? FAKE_EPHEMERAL
              : mode == ZOO_EPHEMERAL_SEQUENTIAL ? FAKE_EPHEMERAL_SEQUENCE
              : mode == ZOO_CONTAINER            ? FAKE_CONTAINER
                                                 : FAKE_PERSISTENT;
}

int zoo_acreate(zhandle_t *zh, const char *path, const char *data, int length,
                const struct ACL_vector *acl, int mode, string_completion_t completion,
                const void *ctx) {
    sim_request *r = ask(OP_CREATE, path, sim_tell_string, (plain *)completion, ctx);
    fill_create(&r->part, data, length, acl, mode);
    return sim_submit(zh, r);
}

int zoo_acreate2(zhandle_t *zh, const char *path, const char *data, int length,
                 const struct ACL_vector *acl, int mode, string_stat_completion_t completion,
                 const void *ctx) {
    SIM_CHECK(!sim_is_keeper);
    sim_request *r = ask(OP_CREATE, path, sim_tell_string_stat, (plain *)completion, ctx);
    fill_create(&r->part, data, length, acl, mode);
    return sim_submit(zh, r);
}

int zoo_adelete(zhandle_t *zh, const char *path, int version, void_completion_t completion,
                const void *ctx) {
    sim_request *r = ask(OP_DELETE, path, sim_tell_void, (plain *)completion, ctx);
    r->part.version = version;
    return sim_submit(zh, r);
}

int zoo_aset(zhandle_t *zh, const char *path, const char *data, int length, int version,
             stat_completion_t completion, const void *ctx) {
    sim_request *r = ask(OP_SET, path, sim_tell_stat, (plain *)completion, ctx);
    r->part.version = version;
    r->part.data = text_of(data, length);
    return sim_submit(zh, r);
}

int zoo_awexists(zhandle_t *zh, const char *path, watcher_fn fn, void *watcher_ctx,
                 stat_completion_t completion, const void *ctx) {
    sim_request *r = ask(OP_EXISTS, path, sim_tell_stat, (plain *)completion, ctx);
    set_watcher(r, fn, watcher_ctx, WATCH_DATA);
    return sim_submit(zh, r);
}

int zoo_aexists(zhandle_t *zh, const char *path, int watch, stat_completion_t completion,
                const void *ctx) {
    return zoo_awexists(zh, path, watch ? zh->fn : NULL, zh->ctx, completion, ctx);
}

int zoo_awget(zhandle_t *zh, const char *path, watcher_fn fn, void *watcher_ctx,
              data_completion_t completion, const void *ctx) {
    sim_request *r = ask(OP_GET, path, sim_tell_data, (plain *)completion, ctx);
    set_watcher(r, fn, watcher_ctx, WATCH_DATA);
    return sim_submit(zh, r);
}

int zoo_aget(zhandle_t *zh, const char *path, int watch, data_completion_t completion,
             const void *ctx) {
    return zoo_awget(zh, path, watch ? zh->fn : NULL, zh->ctx, completion, ctx);
}

int zoo_awget_children(zhandle_t *zh, const char *path, watcher_fn fn, void *watcher_ctx,
                       strings_completion_t completion, const void *ctx) {
    sim_request *r = ask(OP_LIST, path, sim_tell_strings, (plain *)completion, ctx);
    set_watcher(r, fn, watcher_ctx, WATCH_CHILDREN);
    return sim_submit(zh, r);
}

int zoo_awget_children2(zhandle_t *zh, const char *path, watcher_fn fn, void *watcher_ctx,
                        strings_stat_completion_t completion, const void *ctx) {
    sim_request *r = ask(OP_LIST, path, sim_tell_strings_stat, (plain *)completion, ctx);
    set_watcher(r, fn, watcher_ctx, WATCH_CHILDREN);
    return sim_submit(zh, r);
}

int zoo_aget_children(zhandle_t *zh, const char *path, int watch, strings_completion_t completion,
                      const void *ctx) {
    return zoo_awget_children(zh, path, watch ? zh->fn : NULL, zh->ctx, completion, ctx);
}

int zoo_aget_children2(zhandle_t *zh, const char *path, int watch,
                       strings_stat_completion_t completion, const void *ctx) {
    return zoo_awget_children2(zh, path, watch ? zh->fn : NULL, zh->ctx, completion, ctx);
}

int zoo_async(zhandle_t *zh, const char *path, string_completion_t completion, const void *ctx) {
    return sim_submit(zh, ask(OP_SYNC, path, sim_tell_string, (plain *)completion, ctx));
}

int zoo_aget_acl(zhandle_t *zh, const char *path, acl_completion_t completion, const void *ctx) {
    return sim_submit(zh, ask(OP_GET_ACL, path, sim_tell_acl, (plain *)completion, ctx));
}

/* The one call whose header does not say const. */
int zoo_aset_acl(zhandle_t *zh, const char *path, int version, struct ACL_vector *acl,
                 void_completion_t completion, const void *ctx) {
    sim_request *r = ask(OP_SET_ACL, path, sim_tell_void, (plain *)completion, ctx);
    r->part.version = version;
    r->part.kept = kept_of(acl);
    return sim_submit(zh, r);
}

int zoo_aremove_all_watches(zhandle_t *zh, const char *path, ZooWatcherType type, int local,
                            void_completion_t *completion, const void *ctx) {
    const int kind = type == ZWATCHTYPE_CHILD ? WATCH_CHILDREN : WATCH_DATA;
    (void)local;
    SIM_CHECK(!sim_is_keeper);
    sim_request *r = ask(OP_UNWATCH, path, sim_tell_void, (plain *)completion, ctx);
    r->watch = kind;
    return sim_submit(zh, r);
}

static uint64_t identity_of(const char *credential, int length) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)credential[i]) * UINT64_C(1099511628211);
    return hash | 1;
}

int zoo_add_auth(zhandle_t *zh, const char *scheme, const char *credential, int length,
                 void_completion_t completion, const void *ctx) {
    (void)scheme;
    if (sim_is_unrecoverable(zh->state) || zh->is_closing)
        return ZINVALIDSTATE;
    zh->identity = identity_of(credential, length);
    zh->has_auth = true;
    if (zh->state != ZOO_CONNECTED_STATE)
        return ZOK;
    sim_request *r = ask(OP_AUTH, NULL, sim_tell_void, (plain *)completion, ctx);
    r->identity = zh->identity;
    sim_send_now(zh, r);
    return ZOK;
}

/* ---- transactions ---- */

enum { TYPE_CREATE = 1, TYPE_DELETE = 2, TYPE_SET = 5, TYPE_CHECK = 13 };

void zoo_create_op_init(zoo_op_t *op, const char *path, const char *value, int length,
                        const struct ACL_vector *acl, int mode, char *buffer, int size) {
    memset(op, 0, sizeof *op);
    op->type = TYPE_CREATE;
    op->create_op.path = path;
    op->create_op.data = value;
    op->create_op.datalen = length;
    op->create_op.acl = acl;
    op->create_op.flags = mode;
    op->create_op.buf = buffer;
    op->create_op.buflen = size;
}

void zoo_delete_op_init(zoo_op_t *op, const char *path, int version) {
    memset(op, 0, sizeof *op);
    op->type = TYPE_DELETE;
    op->delete_op.path = path;
    op->delete_op.version = version;
}

void zoo_set_op_init(zoo_op_t *op, const char *path, const char *data, int length, int version,
                     struct Stat *stat) {
    memset(op, 0, sizeof *op);
    op->type = TYPE_SET;
    op->set_op.path = path;
    op->set_op.data = data;
    op->set_op.datalen = length;
    op->set_op.version = version;
    op->set_op.stat = stat;
}

void zoo_check_op_init(zoo_op_t *op, const char *path, int version) {
    memset(op, 0, sizeof *op);
    op->type = TYPE_CHECK;
    op->check_op.path = path;
    op->check_op.version = version;
}

static void fill_part(sim_part *p, const zoo_op_t *op, zoo_op_result_t *result) {
    switch (op->type) {
    case TYPE_CREATE:
        p->op = OP_CREATE;
        p->path = sim_copy(op->create_op.path);
        fill_create(p, op->create_op.data, op->create_op.datalen, op->create_op.acl,
                    op->create_op.flags);
        result->value = op->create_op.buf;
        result->valuelen = op->create_op.buflen;
        break;
    case TYPE_DELETE:
        p->op = OP_DELETE;
        p->path = sim_copy(op->delete_op.path);
        p->version = op->delete_op.version;
        break;
    case TYPE_SET:
        p->op = OP_SET;
        p->path = sim_copy(op->set_op.path);
        p->data = text_of(op->set_op.data, op->set_op.datalen);
        p->version = op->set_op.version;
        result->stat = op->set_op.stat;
        break;
    default:
        p->op = OP_CHECK;
        p->path = sim_copy(op->check_op.path);
        p->version = op->check_op.version;
    }
}

int zoo_amulti(zhandle_t *zh, int count, const zoo_op_t *ops, zoo_op_result_t *results,
               void_completion_t completion, const void *ctx) {
    /* the real one frees paths that are not its own then: of each operation behind the first */
    SIM_CHECK(count < 2 || !sim_is_unrecoverable(zh->state));
    sim_request *r = ask(OP_MULTI, NULL, sim_tell_multi, (plain *)completion, ctx);
    r->parts = sim_new((size_t)(count ? count : 1) * sizeof *r->parts);
    r->part_count = (size_t)count;
    r->results = results;
    for (int i = 0; i < count; i++)
        fill_part(&r->parts[i], &ops[i], &results[i]);
    return sim_submit(zh, r);
}
