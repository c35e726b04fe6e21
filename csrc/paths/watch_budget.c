/* SPDX-License-Identifier: MIT */
#include "paths/watch_budget.h"

#include "base/list.h"
#include "base/path_table.h"
#include "base/table.h"
#include "port/wire.h"
#include "recipe/znode.h"

#include <stdlib.h>
#include <string.h>

/* A watch that the library has and no line knows any more. */
typedef struct left_watch {
    zkl_table_item item; /* budget->lost */
    char *path;
    bool list;
} left_watch;

static left_watch *watch_at(const zkl_table_item *item) {
    return item ? ZKL_CONTAINER_OF(item, left_watch, item) : NULL;
}

static const char *path_at(const zkl_table_item *item) {
    return watch_at(item)->path;
}

void zkl_watch_budget_init(zkl_watch_budget *budget, size_t most) {
    *budget = (zkl_watch_budget){.most = most};
    zkl_path_table_init(&budget->lost, path_at);
}

static size_t share(const zkl_watch_budget *budget, zkl_claim claim) {
    switch (claim) {
    case ZKL_CLAIM_SECOND:
        return budget->most / 4;
    case ZKL_CLAIM_OWN:
        return budget->most / 2;
    case ZKL_CLAIM_OTHERS:
        return budget->most - budget->most / 16;
    case ZKL_CLAIM_TURN:
        break;
    }
    return budget->most;
}

bool zkl_watch_budget_room(const zkl_watch_budget *budget, size_t length, zkl_claim claim) {
    return budget->bytes + zkl_wire_text(length) <= share(budget, claim);
}

size_t zkl_watch_budget_size(size_t length) {
    return zkl_wire_text(length);
}

void zkl_watch_budget_add(zkl_watch_budget *budget, size_t length) {
    budget->bytes += zkl_wire_text(length);
}

void zkl_watch_budget_remove(zkl_watch_budget *budget, size_t length) {
    budget->bytes -= zkl_wire_text(length);
}

/* ---- watches that no line knows any more ---- */

static left_watch *find(const zkl_watch_budget *budget, const char *path, bool list) {
    const zkl_table_item *item = zkl_path_table_find(&budget->lost, path, strlen(path));
    while (item && watch_at(item)->list != list)
        item = zkl_path_table_next(&budget->lost, item);
    return watch_at(item);
}

static void free_watch(left_watch *watch) {
    free(watch->path);
    free(watch);
}

/* Takes ownership of the path. false: no memory. */
static bool remember(zkl_watch_budget *budget, char *path, bool list) {
    left_watch *watch = malloc(sizeof *watch);
    if (!watch)
        return false;
    *watch = (left_watch){.path = path, .list = list};
    if (zkl_table_add(&budget->lost.table, &watch->item))
        return true;
    free(watch);
    return false;
}

static char *path_of(const char *directory, const char *name) {
    return name ? zkl_znode_path(directory, name) : strdup(directory);
}

void zkl_watch_budget_leave(zkl_watch_budget *budget, const char *directory, const char *name,
                            bool list) {
    const size_t length = strlen(directory) + (name ? 1 + strlen(name) : 0);
    char *path = path_of(directory, name);
    if (path && find(budget, path, list)) {
        free(path); /* the library has one watch, however often a line leaves it */
        return;
    }
    if (!path || !remember(budget, path, list))
        free(path);
    budget->left += zkl_wire_text(length);
    zkl_watch_budget_add(budget, length);
}

void zkl_watch_budget_told(zkl_watch_budget *budget, const char *path, bool list) {
    left_watch *watch = find(budget, path, list);
    if (!watch)
        return;
    zkl_table_remove(&budget->lost.table, &watch->item);
    free_watch(watch);
    budget->left -= zkl_wire_text(strlen(path));
    zkl_watch_budget_remove(budget, strlen(path));
}

void zkl_watch_budget_lost(zkl_watch_budget *budget) {
    zkl_table_walk walk = {0};
    left_watch *watch;
    while ((watch = watch_at(zkl_table_walk_on(&budget->lost.table, &walk))))
        free_watch(watch);
    zkl_table_clear(&budget->lost.table);
    budget->bytes -= budget->left;
    budget->left = 0;
}
