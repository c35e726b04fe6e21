/* SPDX-License-Identifier: MIT */
/* node_watches: the host's side of node watches. */
#include "client/client_state.h"

#include "client/access.h"
#include "nodes/node_watch.h"
#include "zklock.h"

#include <stdlib.h>

zkl_status zkl_look_at(zkl_client *client, const char *path, bool children, uint64_t tag,
                       zkl_node_watch **node_watch) {
    if (zkl_client_forked(client))
        return ZKL_FORKED;
    if (!zkl_path_is_valid(path))
        return ZKL_BAD_ARGUMENT;
    char *full = zkl_client_node_path(client, path);
    if (!full)
        return ZKL_NO_MEMORY;
    zkl_client_enter(client);
    const zkl_status status =
        client->closing ? ZKL_CLOSED
                        : zkl_node_watch_open(&client->nodes, full, children, tag, node_watch);
    if (status == ZKL_OK) {
        zkl_node_watch_set_client(*node_watch, client);
        zkl_client_use(client);
    }
    zkl_client_leave(client);
    free(full);
    return status;
}

bool zkl_node_watch_take(zkl_node_watch *node_watch, zkl_status *status, zkl_content **content) {
    zkl_client *client = zkl_node_watch_client(node_watch);
    if (!zkl_client_begin(client))
        return false;
    const bool given = zkl_node_watch_given(node_watch, status, content);
    zkl_client_unlock(client);
    return given;
}

void zkl_node_watch_drop(zkl_node_watch *node_watch) {
    zkl_client *client = node_watch ? zkl_node_watch_client(node_watch) : NULL;
    if (!client || !zkl_client_begin(client))
        return;
    zkl_node_watch_quit(node_watch);
    zkl_client_leave(client);
    zkl_client_unuse(client);
}
