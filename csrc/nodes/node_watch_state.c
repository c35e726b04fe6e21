/* SPDX-License-Identifier: MIT */
#include "nodes/node_watch_state.h"

#include "base/list.h"
#include "base/path_table.h"
#include "base/table.h"
#include "base/timer.h"
#include "paths/watch_budget.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>

static zkl_node_watch *watch_at(const zkl_table_item *item) {
    return item ? ZKL_CONTAINER_OF(item, zkl_node_watch, found) : NULL;
}

static const char *path_of(const zkl_table_item *item) {
    return watch_at(item)->path;
}

void zkl_node_watches_init_table(zkl_nodes *nodes) {
    zkl_path_table_init(&nodes->node_watches, path_of);
}

zkl_node_watch *zkl_node_watch_first(const zkl_nodes *nodes, const char *path) {
    return watch_at(zkl_path_table_find(&nodes->node_watches, path, strlen(path)));
}

zkl_node_watch *zkl_node_watch_next(const zkl_node_watch *node_watch) {
    return watch_at(zkl_path_table_next(&node_watch->nodes->node_watches, &node_watch->found));
}

void zkl_node_watches_each(zkl_nodes *nodes, void (*call)(zkl_node_watch *node_watch)) {
    zkl_table_walk walk = {0};
    zkl_node_watch *node_watch;
    while ((node_watch = watch_at(zkl_table_walk_on(&nodes->node_watches.table, &walk))))
        call(node_watch);
}

void zkl_node_watch_set_stage(zkl_node_watch *node_watch, zkl_node_watch_stage to) {
    zkl_nodes *nodes = node_watch->nodes;
    if (node_watch->stage == ZKL_NODE_WATCH_DUE)
        zkl_list_remove(&nodes->due, &node_watch->item);
    if (node_watch->stage == ZKL_NODE_WATCH_ASKED)
        nodes->reading--;
    node_watch->stage = to;
    if (to == ZKL_NODE_WATCH_DUE)
        zkl_list_append(&nodes->due, &node_watch->item);
    if (to == ZKL_NODE_WATCH_ASKED)
        nodes->reading++;
}

void zkl_node_watches_pause(zkl_nodes *nodes) {
    zkl_context_retry_later(nodes->context, &nodes->look);
}

void zkl_node_watch_clear(zkl_node_watch *node_watch) {
    if (node_watch->content)
        zkl_content_free(node_watch->content);
    node_watch->content = NULL;
}

unsigned zkl_node_watch_most(bool children) {
    return children ? 2 : 1;
}

void zkl_node_watch_free(zkl_node_watch *node_watch) {
    zkl_nodes *nodes = node_watch->nodes;
    zkl_node_watch_set_stage(node_watch, ZKL_NODE_WATCH_RESTING);
    zkl_round_leave(&node_watch->post);
    zkl_receiver_leave(&nodes->context->receivers, &node_watch->receiver);
    for (unsigned i = zkl_node_watch_most(node_watch->children); i > 0; i--)
        zkl_watch_budget_remove(&nodes->watch_budget, strlen(node_watch->path));
    zkl_table_remove(&nodes->node_watches.table, &node_watch->found);
    zkl_node_watch_clear(node_watch);
    free(node_watch->path);
    free(node_watch);
}

bool *zkl_node_watch_flag(zkl_node_watch *node_watch, bool list) {
    return list ? &node_watch->on_children : &node_watch->on_data;
}

zkl_node_watch *zkl_node_watch_new(zkl_nodes *nodes, const char *path, bool children) {
    zkl_node_watch *node_watch = calloc(1, sizeof *node_watch);
    if (!node_watch)
        return NULL;
    node_watch->nodes = nodes;
    node_watch->children = children;
    node_watch->path = strdup(path);
    if (!node_watch->path || !zkl_table_add(&nodes->node_watches.table, &node_watch->found)) {
        free(node_watch->path);
        free(node_watch);
        return NULL;
    }
    for (unsigned i = 0; i < zkl_node_watch_most(children); i++)
        zkl_watch_budget_add(&nodes->watch_budget, strlen(path));
    return node_watch;
}
