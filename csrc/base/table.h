/* SPDX-License-Identifier: MIT */
/* table: objects found by a number, their key. The links of the buckets are part of the objects.
 * The number of buckets doubles when the objects outnumber them; without memory for that the chains
 * get longer. Several objects may have the same key. Not locked. */
#ifndef ZKL_TABLE_H
#define ZKL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct zkl_table_item zkl_table_item;
struct zkl_table_item {
    zkl_table_item *next; /* in the same bucket */
};

typedef struct zkl_table zkl_table;
struct zkl_table {
    /* The key of an item, whose low bits are spread evenly. It does not change while the item is in
     * the table. */
    uint64_t (*key_of)(const zkl_table *table, const zkl_table_item *item);
    zkl_table_item **buckets; /* NULL: none yet */
    size_t size, count;       /* size is a power of two */
};

/* Allocates the first buckets. false: no memory. */
bool zkl_table_reserve(zkl_table *table);
/* Frees the buckets; the objects are the caller's. An empty table is left. */
void zkl_table_clear(zkl_table *table);

/* The item must be in no table. false: no memory, which only happens without zkl_table_reserve. */
bool zkl_table_add(zkl_table *table, zkl_table_item *item);
/* The item must be in the table. */
void zkl_table_remove(zkl_table *table, zkl_table_item *item);
/* All items with that key, and others, are in this chain, the latest first. NULL: there is none. */
zkl_table_item *zkl_table_chain(const zkl_table *table, uint64_t key);

/* A walk over all items, in any order. It begins with zeros. */
typedef struct zkl_table_walk {
    size_t bucket;
    zkl_table_item *next;
} zkl_table_walk;

/* The next item; NULL: that was the last one. The caller may remove the item that it got, but not
 * another one, and adds none before the end. */
zkl_table_item *zkl_table_walk_on(const zkl_table *table, zkl_table_walk *walk);

#endif
