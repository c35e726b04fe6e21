/* SPDX-License-Identifier: MIT */
/* fake_item: what is on its way between a fake client and its servers, in order. */
#ifndef FAKE_ITEM_H
#define FAKE_ITEM_H

#include "fake_port.h"

/* A request on its way, then its reply on its way back; or, with `watch_event`, what a watch
 * says. */
typedef struct fake_item {
    struct fake_item *next;
    fake_op op;
    char *path;
    zkl_op *ops; /* one, or several; with their own paths and data */
    size_t op_count;
    zkl_op_result *results;
    bool closed;     /* the ACL that was read */
    bool watch_list; /* of a list's watch, not of a get's */
    bool plain;      /* a create whose answer has no Stat */
    bool watch, watch_event, carried;
    zkl_change change;
    zkl_return back;
    zkl_nanos at; /* when it was sent */

    int rc;
    char *made;
    char **names;
    size_t count;
    int64_t zxid; /* of the server when it answered */
} fake_item;

/* The last of the queue. */
fake_item *fake_item_new(fake_item **queue, const char *path);
void fake_item_append(fake_item **queue, fake_item *item);
/* The first of the queue, the caller's to free; NULL: there is none. */
fake_item *fake_item_take(fake_item **queue);
void fake_item_free(fake_item *item);
void fake_items_free(fake_item **queue);
/* How far it had to go, answered well. */
zkl_reach fake_reach_of(const fake_item *item);
bool fake_is_read(const zkl_op *op);

#endif
