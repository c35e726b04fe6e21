/* SPDX-License-Identifier: MIT */
#include "nodes/node_watch_answer.h"

#include "base/event.h"
#include "base/status.h"
#include "port/barrier.h"
#include "nodes/content.h"
#include "nodes/node_watch_leave.h"
#include "nodes/node_watch_state.h"

#include <stdlib.h>
#include <zookeeper/zookeeper.h>

/* True if the host has this state already. */
static bool is_known(const zkl_node_watch *node_watch, const zkl_reply *reply, int64_t xid) {
    return node_watch->told && node_watch->told_rc == reply->rc &&
           (reply->rc != ZOK ||
            (node_watch->czxid == reply->stat->czxid && node_watch->xid == xid));
}

static void post(zkl_node_watch *node_watch) {
    zkl_events_post(&node_watch->nodes->context->events, &node_watch->changed, ZKL_OK, 0);
}

/* false: no memory. */
static bool tell(zkl_node_watch *node_watch, const zkl_reply *reply) {
    const int64_t xid = reply->rc != ZOK       ? 0
                        : node_watch->children ? reply->stat->pzxid
                                               : reply->stat->mzxid;
    if (is_known(node_watch, reply, xid)) {
        if (node_watch->news) /* the host's callback may have ended without notice */
            post(node_watch);
        return true;
    }
    zkl_content *content = NULL;
    if (reply->rc == ZOK) {
        content = calloc(1, sizeof *content);
        if (!content)
            return false;
        if (!zkl_content_copy(content, reply)) {
            free(content);
            return false;
        }
    }
    zkl_node_watch_clear(node_watch);
    node_watch->content = content;
    node_watch->news = node_watch->told = true;
    node_watch->told_rc = reply->rc;
    node_watch->czxid = content ? content->stat.czxid : 0;
    node_watch->xid = xid;
    post(node_watch);
    return true;
}

/* Handles a read that counts. */
static void seen(zkl_node_watch *node_watch, const zkl_reply *reply) {
    const bool missing = reply->rc == ZNONODE;
    if (missing && !(node_watch->missing && node_watch->presence == ZNONODE)) {
        if (node_watch->missing)
            zkl_node_watches_pause(node_watch->nodes); /* the node existed for a moment */
        node_watch->missing = true;                    /* no watch is set yet */
        zkl_node_watch_set_stage(node_watch, ZKL_NODE_WATCH_DUE);
        return;
    }
    node_watch->missing = missing;
    if ((reply->rc == ZOK || missing || reply->rc == ZNOAUTH) && !tell(node_watch, reply)) {
        zkl_node_watch_set_stage(node_watch, ZKL_NODE_WATCH_DUE);
        zkl_node_watches_pause(node_watch->nodes);
        return;
    }
    node_watch->nodes->look.pause = 0;
    zkl_node_watch_set_stage(node_watch,
                             node_watch->again ? ZKL_NODE_WATCH_DUE : ZKL_NODE_WATCH_RESTING);
}

static void read_answered(zkl_node_watch *node_watch, const zkl_reply *reply) {
    const bool cut = zkl_status_unknown(reply->rc) || reply->rc == ZAUTHFAILED;
    if (reply->rc == ZOK) /* the watch is set, whether or not the content counts */
        *zkl_node_watch_flag(node_watch, node_watch->children) = true;
    if (node_watch->over) {
        zkl_node_watch_leave(node_watch);
    } else if (cut || zkl_status_throttled(reply->rc) ||
               !zkl_barrier_passed(&node_watch->nodes->barrier)) {
        zkl_node_watch_set_stage(node_watch, ZKL_NODE_WATCH_DUE);
        if (!cut || zkl_context_is_linked(node_watch->nodes->context))
            zkl_node_watches_pause(node_watch->nodes);
    } else {
        seen(node_watch, reply);
    }
}

void zkl_node_watch_answered(zkl_receiver *receiver, const zkl_return *asked,
                             const zkl_reply *reply) {
    zkl_node_watch *node_watch = ZKL_CONTAINER_OF(receiver, zkl_node_watch, receiver);
    switch (asked->what) {
    case ZKL_NODE_WATCH_PRESENCE:
        node_watch->presence = reply->rc;
        if (reply->rc == ZOK || reply->rc == ZNONODE)
            node_watch->on_data = true;
        break;
    case ZKL_NODE_WATCH_UNWATCH:
        zkl_node_watch_unwatched(node_watch, asked->detail != 0, reply);
        break;
    default:
        read_answered(node_watch, reply);
    }
}
