/* views: the host's side of what it looks at. */
#include "client/client_state.h"

#include "client/access.h"
#include "nodes/view.h"
#include "zklock.h"

#include <stdlib.h>

zkl_status zkl_look_at(zkl_client *client, const char *path, bool children, uint64_t tag,
                       zkl_view **view) {
    if (zkl_client_forked(client))
        return ZKL_FORKED;
    char *full = zkl_client_node_path(client, path);
    if (!full)
        return ZKL_NO_MEMORY;
    zkl_client_enter(client);
    const zkl_status status =
        client->closing ? ZKL_CLOSED : zkl_view_open(&client->nodes, full, children, tag, view);
    if (status == ZKL_OK) {
        zkl_view_set_client(*view, client);
        zkl_client_use(client);
    }
    zkl_client_leave(client);
    free(full);
    return status;
}

bool zkl_view_take(zkl_view *view, zkl_status *status, zkl_content **content) {
    zkl_client *client = zkl_view_client(view);
    if (zkl_client_forked(client))
        return false;
    zkl_client_enter(client);
    const bool given = zkl_view_given(view, status, content);
    zkl_client_unlock(client);
    return given;
}

void zkl_view_drop(zkl_view *view) {
    zkl_client *client = view ? zkl_view_client(view) : NULL;
    if (!client || zkl_client_forked(client))
        return;
    zkl_client_enter(client);
    zkl_view_quit(view);
    zkl_client_leave(client);
    zkl_client_unuse(client);
}
