/* SPDX-License-Identifier: MIT */
#include "nodes/node_watch.h"

#include "base/event.h"
#include "base/round.h"
#include "base/table.h"
#include "base/timer.h"
#include "paths/watch_budget.h"
#include "port/barrier.h"
#include "nodes/node_watch_answer.h"
#include "nodes/node_watch_leave.h"
#include "nodes/node_watch_state.h"
#include "port/receiver.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* The same budget as for locks: together they fit into the servers' packet. */
#define BYTES_MOST ZKL_WATCH_BUDGET_MOST
/* Each node is also read that often: twice in the minute that the docs promise. */
#define PERIOD (30 * ZKL_SECOND)
/* How many reads are on their way at a time. */
#define WINDOW 64

/* ---- reading ---- */

static int ask(zkl_node_watch *node_watch) {
    zkl_context *context = node_watch->nodes->context;
    zkl_port *port = context->port;
    zkl_op op = {.kind = node_watch->children ? ZKL_OP_CHILDREN : ZKL_OP_GET,
                 .path = node_watch->path};
    const zkl_op presence = {.kind = ZKL_OP_EXISTS, .path = node_watch->path};
    int rc = zkl_barrier_raise(&node_watch->nodes->barrier);
    zkl_receiver_enter(&context->receivers, &node_watch->receiver);
    node_watch->presence = ZOK;
    if (rc == ZOK && node_watch->missing)
        rc = port->call->perform(port, &presence, true,
                                 (zkl_return){node_watch->receiver.id, ZKL_NODE_WATCH_PRESENCE, 0});
    return rc == ZOK
               ? port->call->perform(port, &op, true,
                                     (zkl_return){node_watch->receiver.id, ZKL_NODE_WATCH_READ, 0})
               : rc;
}

/* false: nothing can be sent now. */
static bool go_on(zkl_node_watch *node_watch) {
    if (node_watch->over) {
        zkl_node_watch_leave(node_watch);
        return true;
    }
    node_watch->again = false;
    const int rc = ask(node_watch);
    if (rc == ZOK) {
        zkl_node_watch_set_stage(node_watch, ZKL_NODE_WATCH_ASKED);
        return true;
    }
    zkl_node_watches_pause(node_watch->nodes);
    return false;
}

void zkl_node_watches_step(zkl_nodes *nodes) {
    ZKL_EACH (zkl_node_watch, node_watch, &nodes->due, item) {
        if (!zkl_context_is_linked(nodes->context) || nodes->closed || nodes->look.timer.at ||
            nodes->reading >= WINDOW || !go_on(node_watch))
            return;
    }
}

/* Its turn in the round. */
static zkl_nanos read_again(zkl_post *post) {
    zkl_node_watch *node_watch = ZKL_CONTAINER_OF(post, zkl_node_watch, post);
    if (!zkl_context_is_linked(node_watch->nodes->context))
        return ZKL_NEVER; /* zkl_node_watches_resume continues */
    if (node_watch->stage == ZKL_NODE_WATCH_RESTING)
        zkl_node_watch_set_stage(node_watch, ZKL_NODE_WATCH_DUE);
    return 0;
}

/* ---- the link, the library's handle, watches ---- */

static void rejoin(zkl_node_watch *node_watch) {
    if (!node_watch->over)
        zkl_round_add(&node_watch->nodes->round, &node_watch->post);
}

void zkl_node_watches_resume(zkl_nodes *nodes) {
    zkl_timer_clear(&nodes->context->timers, &nodes->look.timer);
    zkl_node_watches_each(nodes, rejoin);
}

static void unlink_node_watch(zkl_node_watch *node_watch) {
    node_watch->on_data = node_watch->on_children = false;
    zkl_receiver_leave(&node_watch->nodes->context->receivers, &node_watch->receiver);
    if (node_watch->over)
        zkl_node_watch_free(node_watch);
    else if (node_watch->stage != ZKL_NODE_WATCH_DUE)
        zkl_node_watch_set_stage(node_watch, ZKL_NODE_WATCH_DUE);
}

void zkl_node_watches_unlink(zkl_nodes *nodes) {
    zkl_node_watches_each(nodes, unlink_node_watch);
}

static void look_away(zkl_node_watch *node_watch) {
    zkl_events_drop(&node_watch->nodes->context->events, &node_watch->changed);
    zkl_round_leave(&node_watch->post);
}

void zkl_node_watches_close(zkl_nodes *nodes) {
    nodes->closed = true;
    zkl_node_watches_each(nodes, look_away);
}

static void look_closer(zkl_node_watch *node_watch) {
    if (node_watch->stage == ZKL_NODE_WATCH_RESTING)
        zkl_node_watch_set_stage(node_watch, ZKL_NODE_WATCH_DUE);
    else if (node_watch->stage == ZKL_NODE_WATCH_ASKED)
        node_watch->again = true;
}

bool zkl_node_watches_told(zkl_nodes *nodes, const char *path, zkl_change change) {
    zkl_node_watch *first = zkl_node_watch_first(nodes, path);
    for (zkl_node_watch *v = first; v; v = zkl_node_watch_next(v)) {
        const bool concerned =
            change == ZKL_CHANGE_DELETED ||
            (change == ZKL_CHANGE_CHILDREN ? v->children : !v->children || v->missing);
        if (!concerned)
            continue;
        if (change != ZKL_CHANGE_CHILDREN)
            v->on_data = false; /* a watch fires only once */
        if (change != ZKL_CHANGE_OTHER)
            v->on_children = false;
        if (!v->over && concerned)
            look_closer(v);
    }
    return first != NULL;
}

void zkl_node_watches_unwatched(zkl_nodes *nodes, const char *path, bool list) {
    for (zkl_node_watch *v = zkl_node_watch_first(nodes, path); v; v = zkl_node_watch_next(v)) {
        if (v->over || !zkl_node_watch_relies_on(v, list))
            continue;
        *zkl_node_watch_flag(v, list) = false;
        look_closer(v);
    }
}

/* ---- life ---- */

void zkl_node_watches_init(zkl_nodes *nodes, zkl_lines *lines) {
    nodes->lines = lines;
    zkl_watch_budget_init(&nodes->watch_budget, BYTES_MOST);
    zkl_node_watches_init_table(nodes);
    zkl_round_init(&nodes->round, &nodes->context->timers, nodes->context->clock, PERIOD,
                   read_again);
}

void zkl_node_watches_destroy(zkl_nodes *nodes) {
    zkl_node_watches_each(nodes, zkl_node_watch_free);
    zkl_table_clear(&nodes->node_watches.table);
}

zkl_status zkl_node_watch_open(zkl_nodes *nodes, const char *path, bool children, uint64_t tag,
                               zkl_node_watch **out) {
    if (nodes->watch_budget.bytes +
            zkl_node_watch_most(children) * zkl_watch_budget_size(strlen(path)) >
        nodes->watch_budget.most)
        return ZKL_TOO_MANY_WATCHES;
    zkl_node_watch *node_watch = zkl_node_watch_new(nodes, path, children);
    if (!node_watch)
        return ZKL_NO_MEMORY;
    node_watch->receiver.answer = zkl_node_watch_answered;
    node_watch->changed.kind = ZKL_EVENT_CHANGED;
    node_watch->changed.tag = tag;
    zkl_node_watch_set_stage(node_watch, ZKL_NODE_WATCH_DUE);
    zkl_round_add(&nodes->round, &node_watch->post);
    nodes->context->counters.watches++;
    *out = node_watch;
    return ZKL_OK;
}

bool zkl_node_watch_given(zkl_node_watch *node_watch, zkl_status *status, zkl_content **content) {
    if (!node_watch->news)
        return false;
    node_watch->news = false;
    *content = node_watch->content;
    node_watch->content = NULL;
    *status = node_watch->told_rc == ZOK       ? ZKL_OK
              : node_watch->told_rc == ZNONODE ? ZKL_NO_NODE
                                               : ZKL_ACCESS_DENIED;
    return true;
}

void zkl_node_watch_quit(zkl_node_watch *node_watch) {
    node_watch->over = true;
    node_watch->nodes->context->counters.watches--;
    look_away(node_watch);
    if (node_watch->stage != ZKL_NODE_WATCH_ASKED)
        zkl_node_watch_leave(node_watch);
}

zkl_context *zkl_node_watch_context(const zkl_node_watch *node_watch) {
    return node_watch->nodes->context;
}
