/* SPDX-License-Identifier: MIT */
#include "nodes/node_watch_leave.h"

#include "base/status.h"
#include "line/lines.h"
#include "paths/watch_budget.h"
#include "nodes/node_watch_state.h"

#include <zookeeper/zookeeper.h>

bool zkl_node_watch_relies_on(const zkl_node_watch *node_watch, bool list) {
    if (node_watch->stage == ZKL_NODE_WATCH_ASKED)
        return list ? node_watch->children : !node_watch->children || node_watch->missing;
    return list ? node_watch->on_children : node_watch->on_data;
}

/* Leaves the watch to another room or node watch that relies on it. Another node watch removes it
 * in turn, because its own request may have set no watch. false: nothing else relies on it. */
static bool hand_over(zkl_node_watch *node_watch, bool list) {
    if (zkl_lines_watching(node_watch->nodes->lines, node_watch->path, list))
        return true;
    for (zkl_node_watch *v = zkl_node_watch_first(node_watch->nodes, node_watch->path); v;
         v = zkl_node_watch_next(v)) {
        if (v == node_watch || v->over || !zkl_node_watch_relies_on(v, list))
            continue;
        *zkl_node_watch_flag(v, list) = true;
        return true;
    }
    return false;
}

void zkl_node_watch_leave(zkl_node_watch *node_watch) {
    zkl_context *context = node_watch->nodes->context;
    node_watch->on_data = node_watch->on_data && !hand_over(node_watch, false);
    node_watch->on_children = node_watch->on_children && !hand_over(node_watch, true);
    if (!node_watch->on_data && !node_watch->on_children) {
        zkl_node_watch_free(node_watch);
        return;
    }
    zkl_node_watch_set_stage(node_watch, ZKL_NODE_WATCH_DUE);
    if (!zkl_context_is_linked(context))
        return;
    const bool list = !node_watch->on_data;
    zkl_receiver_enter(&context->receivers, &node_watch->receiver);
    const int rc = context->port->call->unwatch(
        context->port, node_watch->path, list,
        (zkl_return){node_watch->receiver.id, ZKL_NODE_WATCH_UNWATCH, list});
    if (rc == ZOK)
        zkl_node_watch_set_stage(node_watch, ZKL_NODE_WATCH_LEAVING);
    else if (rc == ZMARSHALLINGERROR)
        zkl_node_watches_pause(node_watch->nodes);
    else /* the library knows no such watch: the end of the step continues */
        *zkl_node_watch_flag(node_watch, list) = false;
}

/* If the servers refuse to remove a watch, the library keeps it, and it still counts. */
void zkl_node_watch_unwatched(zkl_node_watch *node_watch, bool list, const zkl_reply *reply) {
    zkl_watch_budget *left = &node_watch->nodes->lines->common.watch_budget;
    if (!zkl_status_passes(reply->rc)) {
        *zkl_node_watch_flag(node_watch, list) = false;
        if (reply->rc == ZOK)
            zkl_watch_budget_told(left, node_watch->path, list);
        else
            zkl_watch_budget_leave(left, node_watch->path, NULL, list);
    } else if (zkl_context_is_linked(node_watch->nodes->context)) { /* still armed: try once more */
        zkl_node_watches_pause(node_watch->nodes);
    }
    zkl_node_watch_set_stage(node_watch, ZKL_NODE_WATCH_DUE);
}
