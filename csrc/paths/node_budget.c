/* SPDX-License-Identifier: MIT */
#include "paths/node_budget.h"

#include "base/list.h"
#include "base/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An ephemeral node of the host's. */
typedef struct own_node {
    zkl_table_item item; /* budget->own */
    char *path;
    size_t bytes;
    uint64_t turn;
} own_node;

static own_node *node_at(const zkl_table_item *item) {
    return item ? ZKL_CONTAINER_OF(item, own_node, item) : NULL;
}

static const char *path_at(const zkl_table_item *item) {
    return node_at(item)->path;
}

void zkl_node_budget_init(zkl_node_budget *budget, size_t most) {
    *budget = (zkl_node_budget){.most = most ? most : ZKL_NODE_BUDGET_DEFAULT};
    zkl_path_table_init(&budget->own, path_at);
}

void zkl_node_budget_clear(zkl_node_budget *budget) {
    zkl_node_budget_expire(budget);
}

/* ---- shares ---- */

/* More than that is never taken. */
static uint32_t narrow(size_t bytes) {
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

/* The bytes may be more than a size_t can add. */
static bool has_room(const zkl_node_budget *budget, size_t besides, size_t bytes) {
    const size_t taken = budget->bytes + besides;
    return taken <= budget->most && bytes <= budget->most - taken;
}

bool zkl_node_budget_fits(const zkl_node_budget *budget, size_t bytes, zkl_shortage *why) {
    if (has_room(budget, budget->owed, bytes))
        return true;
    *why = (zkl_shortage){narrow(budget->bytes + budget->owed), narrow(bytes)};
    return false;
}

bool zkl_node_budget_take(zkl_node_budget *budget, zkl_node_share *share, size_t bytes,
                          zkl_shortage *why) {
    if (!zkl_node_budget_fits(budget, bytes, why))
        return false;
    budget->bytes += bytes;
    *share = (zkl_node_share){.bytes = (uint32_t)bytes};
    return true;
}

void zkl_node_budget_claim(zkl_node_budget *budget, zkl_node_share *share, size_t bytes) {
    *share = (zkl_node_share){.bytes = (uint32_t)bytes, .owed = true};
    budget->owed += bytes;
    zkl_node_budget_settle(budget, share);
}

bool zkl_node_budget_settle(zkl_node_budget *budget, zkl_node_share *share) {
    if (!share->owed)
        return true;
    if (!has_room(budget, 0, share->bytes))
        return false;
    share->owed = false;
    budget->owed -= share->bytes;
    budget->bytes += share->bytes;
    return true;
}

void zkl_node_budget_return(zkl_node_budget *budget, zkl_node_share *share) {
    *(share->owed ? &budget->owed : &budget->bytes) -= share->bytes;
    *share = (zkl_node_share){.bytes = 0};
}

/* ---- the host's own nodes ---- */

static own_node *find(const zkl_node_budget *budget, const char *path) {
    return node_at(zkl_path_table_find(&budget->own, path, strlen(path)));
}

static void free_node(own_node *node) {
    free(node->path);
    free(node);
}

static void forget(zkl_node_budget *budget, own_node *node) {
    zkl_table_remove(&budget->own.table, &node->item);
    budget->bytes -= node->bytes;
    budget->made -= node->bytes;
    free_node(node);
}

/* Without memory for it, nothing ends the node before the session does. */
static void remember(zkl_node_budget *budget, const char *path, size_t bytes, uint64_t turn) {
    own_node *node = malloc(sizeof *node);
    if (!node)
        return;
    *node = (own_node){.path = strdup(path), .bytes = bytes, .turn = turn};
    if (!node->path || !zkl_table_add(&budget->own.table, &node->item))
        free_node(node);
}

void zkl_node_budget_made(zkl_node_budget *budget, zkl_node_share *share, size_t bytes,
                          const char *path, uint64_t turn) {
    share->bytes -= (uint32_t)bytes;
    budget->made += bytes;
    own_node *former = path ? find(budget, path) : NULL;
    if (former)
        forget(budget, former); /* there is one node at a path at most */
    if (path)
        remember(budget, path, bytes, turn);
}

void zkl_node_budget_gone(zkl_node_budget *budget, const char *path, uint64_t turn) {
    own_node *node = find(budget, path);
    if (node && node->turn <= turn)
        forget(budget, node);
}

void zkl_node_budget_expire(zkl_node_budget *budget) {
    zkl_table_walk walk = {0};
    own_node *node;
    while ((node = node_at(zkl_table_walk_on(&budget->own.table, &walk))))
        free_node(node);
    zkl_table_clear(&budget->own.table);
    budget->bytes -= budget->made;
    budget->made = 0;
}

/* ---- texts ---- */

void zkl_node_budget_explain(const zkl_node_budget *budget, const zkl_shortage *why, char *text,
                             size_t size) {
    snprintf(text, size,
             "the paths of this client's ephemeral nodes have %" PRIu32 " bytes, %" PRIu32
             " more exceed the bound of %zu (node_bytes): use several clients, or shorter paths",
             why->bytes, why->asked, budget->most);
}
