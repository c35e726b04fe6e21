/* SPDX-License-Identifier: MIT */
/* path_table: objects found by path. The path is part of the object, and several objects may have
 * the same path. The functions of `table` add, remove and walk the items. Not locked. */
#ifndef ZKL_PATH_TABLE_H
#define ZKL_PATH_TABLE_H

#include "base/table.h"

typedef struct zkl_path_table {
    zkl_table table;
    const char *(*path_of)(const zkl_table_item *item);
} zkl_path_table;

/* `path_of` returns the path of an item, which does not change while the item is in the table. */
void zkl_path_table_init(zkl_path_table *paths, const char *(*path_of)(const zkl_table_item *item));

/* The latest item whose path is the first `length` bytes of `path`; NULL: there is none. */
zkl_table_item *zkl_path_table_find(const zkl_path_table *paths, const char *path, size_t length);
/* The next item with the path of `item`; NULL: there is none. */
zkl_table_item *zkl_path_table_next(const zkl_path_table *paths, const zkl_table_item *item);

/* A number whose low bits are spread evenly: FNV-1a, with its upper half in the lower one. */
uint64_t zkl_path_hash(const char *path, size_t length);

#endif
