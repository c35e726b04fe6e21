/* SPDX-License-Identifier: MIT */
/* list: a doubly linked list whose links are part of its entries, so it allocates nothing. A list
 * or an item of zeros is empty. An item is in at most one list. Not locked. */
#ifndef ZKL_LIST_H
#define ZKL_LIST_H

#include <stddef.h>

typedef struct zkl_list_item zkl_list_item;

struct zkl_list_item {
    zkl_list_item *prev, *next;
};

typedef struct zkl_list {
    zkl_list_item *first, *last;
} zkl_list;

static inline void zkl_list_append(zkl_list *list, zkl_list_item *item) {
    item->prev = list->last;
    item->next = NULL;
    *(item->prev ? &item->prev->next : &list->first) = item;
    list->last = item;
}

/* The item must be in the list. */
static inline void zkl_list_remove(zkl_list *list, zkl_list_item *item) {
    *(item->prev ? &item->prev->next : &list->first) = item->next;
    *(item->next ? &item->next->prev : &list->last) = item->prev;
    item->prev = item->next = NULL;
}

/* The object of type `type` whose member `member` is at `pointer`. */
#define ZKL_CONTAINER_OF(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

/* For ZKL_EACH and ZKL_FIRST: `offset` is that of the item inside the object. NULL: no object. */
static inline void *zkl_list_object(const zkl_list_item *item, size_t offset) {
    return item ? (char *)item - offset : NULL;
}
static inline void *zkl_list_after(const void *object, size_t offset) {
    const zkl_list_item *item =
        object ? (const zkl_list_item *)((const char *)object + offset) : NULL;
    return item ? zkl_list_object(item->next, offset) : NULL;
}

/* The first object of a list; NULL: the list is empty. */
#define ZKL_FIRST(list, type, member)                                                              \
    ((type *)zkl_list_object((list)->first, offsetof(type, member)))

/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a name */
/* Loops over the objects of a list. The body may remove the current object, but not the next
 * one. */
#define ZKL_EACH(type, name, list, member)                                                         \
    for (type *name = zkl_list_object((list)->first, offsetof(type, member)),                      \
              *name##_next = zkl_list_after(name, offsetof(type, member));                         \
         name; name = name##_next, name##_next = zkl_list_after(name, offsetof(type, member)))
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
