#include "port/receiver.h"

#include "base/entropy.h"
#include "recipe/znode.h"

#include <stdlib.h>

/* Numbers are random, so their low bits spread evenly by themselves. */
static zkl_receiver **bucket(const zkl_receivers *receivers, uint64_t id) {
    return &receivers->buckets[id & (receivers->size - 1)];
}

bool zkl_receivers_init(zkl_receivers *receivers) {
    *receivers = (zkl_receivers){.size = 64};
    receivers->buckets = calloc(receivers->size, sizeof *receivers->buckets);
    return receivers->buckets != NULL;
}

void zkl_receivers_destroy(zkl_receivers *receivers) {
    free(receivers->buckets);
}

static void insert(zkl_receivers *receivers, zkl_receiver *receiver) {
    zkl_receiver **b = bucket(receivers, receiver->id);
    receiver->next = *b;
    *b = receiver;
}

/* Without memory the chains just get longer. */
static void grow(zkl_receivers *receivers) {
    zkl_receivers bigger = *receivers;
    bigger.size *= 2;
    bigger.buckets = calloc(bigger.size, sizeof *bigger.buckets);
    if (!bigger.buckets)
        return;
    for (size_t i = 0; i < receivers->size; i++) {
        zkl_receiver *next;
        for (zkl_receiver *s = receivers->buckets[i]; s; s = next) {
            next = s->next;
            insert(&bigger, s);
        }
    }
    free(receivers->buckets);
    *receivers = bigger;
}

/* They go out in the names of nodes: who can tell the next one can make a node that we would take
 * for ours. */
static uint64_t draw(const zkl_receivers *receivers) {
    uint64_t number;
    do {
        if (!zkl_entropy(&number, sizeof number))
            number = receivers->last + 1;
        number &= ZKL_GUID_MASK;
    } while (number == 0 || zkl_receiver_find(receivers, number));
    return number;
}

void zkl_receiver_enter(zkl_receivers *receivers, zkl_receiver *receiver) {
    zkl_receiver_leave(receivers, receiver);
    if (receivers->count >= receivers->size)
        grow(receivers);
    receiver->id = receivers->last = draw(receivers);
    insert(receivers, receiver);
    receivers->count++;
}

void zkl_receiver_leave(zkl_receivers *receivers, zkl_receiver *receiver) {
    if (!receiver->id)
        return;
    zkl_receiver **p = bucket(receivers, receiver->id);
    while (*p != receiver)
        p = &(*p)->next;
    *p = receiver->next;
    receivers->count--;
    receiver->id = 0;
}

zkl_receiver *zkl_receiver_find(const zkl_receivers *receivers, uint64_t id) {
    zkl_receiver *s = *bucket(receivers, id);
    while (s && s->id != id)
        s = s->next;
    return s;
}
