/* SPDX-License-Identifier: MIT */
#include "fake_item.h"

#include "must.h"

void fake_item_append(fake_item **queue, fake_item *item) {
    item->next = NULL;
    while (*queue)
        queue = &(*queue)->next;
    *queue = item;
}

fake_item *fake_item_new(fake_item **queue, const char *path) {
    fake_item *item = calloc(1, sizeof *item);
    must(item != NULL);
    item->path = copy(path);
    fake_item_append(queue, item);
    return item;
}

fake_item *fake_item_take(fake_item **queue) {
    fake_item *item = *queue;
    if (item)
        *queue = item->next;
    return item;
}

void fake_item_free(fake_item *item) {
    for (size_t i = 0; i < item->count; i++)
        free(item->names[i]);
    for (size_t i = 0; i < item->op_count; i++) {
        free((char *)item->ops[i].path);
        free((char *)item->ops[i].data);
        free((char *)item->results[i].path);
    }
    free(item->ops);
    free(item->results);
    free(item->names);
    free(item->made);
    free(item->path);
    free(item);
}

void fake_items_free(fake_item **queue) {
    for (fake_item *item; (item = fake_item_take(queue));)
        fake_item_free(item);
}

bool fake_is_read(const zkl_op *op) {
    return op->kind == ZKL_OP_GET || op->kind == ZKL_OP_EXISTS || op->kind == ZKL_OP_CHILDREN ||
           op->kind == ZKL_OP_ACL;
}

zkl_reach fake_reach_of(const fake_item *item) {
    switch (item->op) {
    case FAKE_CREATE:
    case FAKE_SET:
    case FAKE_TRANSACT:
        return ZKL_REACH_QUORUM;
    case FAKE_ERASE:
        return ZKL_REACH_ERASE;
    case FAKE_SYNC:
        return ZKL_REACH_LEADER;
    default:
        return ZKL_REACH_SERVER;
    }
}
