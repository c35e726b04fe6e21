/* SPDX-License-Identifier: MIT */
#include "port/receiver.h"

#include "base/entropy.h"
#include "base/list.h"
#include "recipe/znode.h"

static zkl_receiver *receiver_at(const zkl_table_item *item) {
    return item ? ZKL_CONTAINER_OF(item, zkl_receiver, item) : NULL;
}

static uint64_t key_of(const zkl_table *table, const zkl_table_item *item) {
    (void)table;
    return receiver_at(item)->id;
}

bool zkl_receivers_init(zkl_receivers *receivers) {
    *receivers = (zkl_receivers){.table.key_of = key_of};
    return zkl_table_reserve(&receivers->table);
}

void zkl_receivers_destroy(zkl_receivers *receivers) {
    zkl_table_clear(&receivers->table);
}

/* Node names show these numbers. Somebody who could predict the next one could create a node that
 * the client would take for its own. */
static uint64_t draw(zkl_receivers *receivers, const zkl_receiver *receiver) {
    uint64_t number;
    do {
        if (!zkl_entropy(&number, sizeof number))
            number = ++receivers->last;
        number &= receiver->names_node ? ZKL_GUID_RANDOM : ZKL_GUID_MASK;
        if (number)
            number |= (uint64_t)receiver->owner << ZKL_OWNER_SHIFT;
    } while (number == 0 || zkl_receiver_find(receivers, number));
    return number;
}

void zkl_receiver_enter(zkl_receivers *receivers, zkl_receiver *receiver) {
    zkl_receiver_leave(receivers, receiver);
    receiver->id = draw(receivers, receiver);
    zkl_table_add(&receivers->table, &receiver->item);
}

void zkl_receiver_leave(zkl_receivers *receivers, zkl_receiver *receiver) {
    if (!receiver->id)
        return;
    zkl_table_remove(&receivers->table, &receiver->item);
    receiver->id = 0;
}

zkl_receiver *zkl_receiver_find(const zkl_receivers *receivers, uint64_t id) {
    const zkl_table_item *item = zkl_table_chain(&receivers->table, id);
    while (item && receiver_at(item)->id != id)
        item = item->next;
    return receiver_at(item);
}
