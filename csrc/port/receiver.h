/* SPDX-License-Identifier: MIT */
/* receiver: the object that an answer of the servers is for. A request carries the number of its
 * receiver, never its address. If the receiver has been freed or has a new number, the number is
 * not found, so a late answer changes nothing. */
#ifndef ZKL_RECEIVER_H
#define ZKL_RECEIVER_H

#include "base/table.h"
#include "port/port.h"

typedef struct zkl_receiver zkl_receiver;

struct zkl_receiver {
    uint64_t id; /* 0: not entered */
    /* the number is part of a node's name: the receiver is part of a contender */
    bool names_node;
    uint32_t owner; /* names_node: the part of the number that shows whose node it is; else 0 */
    zkl_table_item item;
    void (*answer)(zkl_receiver *receiver, const zkl_return *asked, const zkl_reply *reply);
};

typedef struct zkl_receivers {
    zkl_table table; /* by number; the numbers are random, so their low bits spread evenly */
    uint64_t last;   /* without random bytes: the latest number */
} zkl_receivers;

bool zkl_receivers_init(zkl_receivers *receivers);
void zkl_receivers_destroy(zkl_receivers *receivers);

/* Gives the receiver a new number; its former one is forgotten. Nobody can guess the number: all of
 * a GUID's 60 bits are random, or 40 of those in a node's name. Cannot fail. */
void zkl_receiver_enter(zkl_receivers *receivers, zkl_receiver *receiver);
void zkl_receiver_leave(zkl_receivers *receivers, zkl_receiver *receiver);
zkl_receiver *zkl_receiver_find(const zkl_receivers *receivers, uint64_t id);

#endif
