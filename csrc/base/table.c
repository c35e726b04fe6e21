/* SPDX-License-Identifier: MIT */
#include "base/table.h"

#include <stdlib.h>

#define SIZE_FIRST 64

static zkl_table_item **bucket(const zkl_table *table, uint64_t key) {
    return &table->buckets[key & (table->size - 1)];
}

bool zkl_table_reserve(zkl_table *table) {
    if (table->buckets)
        return true;
    table->buckets = calloc(SIZE_FIRST, sizeof(zkl_table_item *));
    table->size = table->buckets ? SIZE_FIRST : 0;
    return table->buckets != NULL;
}

void zkl_table_clear(zkl_table *table) {
    free(table->buckets);
    table->buckets = NULL;
    table->size = table->count = 0;
}

static void insert(zkl_table *table, zkl_table_item *item) {
    zkl_table_item **first = bucket(table, table->key_of(table, item));
    item->next = *first;
    *first = item;
}

static void grow(zkl_table *table) {
    zkl_table_item **buckets = table->buckets;
    const size_t size = table->size;
    zkl_table_item **more = calloc(size * 2, sizeof(zkl_table_item *));
    if (!more)
        return;
    table->buckets = more;
    table->size = size * 2;
    for (size_t i = 0; i < size; i++) {
        zkl_table_item *next;
        for (zkl_table_item *item = buckets[i]; item; item = next) {
            next = item->next;
            insert(table, item);
        }
    }
    free(buckets);
}

bool zkl_table_add(zkl_table *table, zkl_table_item *item) {
    if (!zkl_table_reserve(table))
        return false;
    if (table->count++ >= table->size)
        grow(table);
    insert(table, item);
    return true;
}

void zkl_table_remove(zkl_table *table, zkl_table_item *item) {
    zkl_table_item **link = bucket(table, table->key_of(table, item));
    while (*link != item)
        link = &(*link)->next;
    *link = item->next;
    table->count--;
}

zkl_table_item *zkl_table_chain(const zkl_table *table, uint64_t key) {
    return table->buckets ? *bucket(table, key) : NULL;
}

zkl_table_item *zkl_table_walk_on(const zkl_table *table, zkl_table_walk *walk) {
    while (!walk->next && walk->bucket < table->size)
        walk->next = table->buckets[walk->bucket++];
    zkl_table_item *item = walk->next;
    if (item)
        walk->next = item->next;
    return item;
}
