/* SPDX-License-Identifier: MIT */
#include "base/path_table.h"

#include "base/list.h"

#include <string.h>

uint64_t zkl_path_hash(const char *path, size_t length) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)path[i]) * UINT64_C(1099511628211);
    return hash ^ hash >> 32;
}

static uint64_t key_of(const zkl_table *table, const zkl_table_item *item) {
    const char *path = ZKL_CONTAINER_OF(table, const zkl_path_table, table)->path_of(item);
    return zkl_path_hash(path, strlen(path));
}

void zkl_path_table_init(zkl_path_table *paths,
                         const char *(*path_of)(const zkl_table_item *item)) {
    *paths = (zkl_path_table){.table.key_of = key_of, .path_of = path_of};
}

/* The first item with that path, from `item` on. */
static zkl_table_item *from(const zkl_path_table *paths, zkl_table_item *item, const char *path,
                            size_t length) {
    for (; item; item = item->next) {
        const char *its = paths->path_of(item);
        if (strncmp(its, path, length) == 0 && its[length] == '\0')
            return item;
    }
    return NULL;
}

zkl_table_item *zkl_path_table_find(const zkl_path_table *paths, const char *path, size_t length) {
    return from(paths, zkl_table_chain(&paths->table, zkl_path_hash(path, length)), path, length);
}

zkl_table_item *zkl_path_table_next(const zkl_path_table *paths, const zkl_table_item *item) {
    const char *path = paths->path_of(item);
    return from(paths, item->next, path, strlen(path));
}
