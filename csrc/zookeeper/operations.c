/* SPDX-License-Identifier: MIT */
#include "zookeeper/operations.h"

#include "recipe/validity.h"
#include "zookeeper/node_operations.h"
#include "zookeeper/outgoing_request.h"

#include <stdlib.h>
#include <string.h>

typedef zkl_outgoing_request request;

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
    .list = port_list,
    .sync = port_sync,
    .unwatch = port_unwatch,
    .perform = zkl_node_operations_perform,
    .transact = zkl_node_operations_transact,
};

const zkl_port_table *zkl_operations(void) {
    return &table;
}
