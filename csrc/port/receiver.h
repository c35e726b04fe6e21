/* receiver: whom an answer of the servers is for. Requests carry a receiver's number, never its
 * address: what is freed, or has moved on to a new number, is not found any more, and a late answer
 * changes nothing. */
#ifndef ZKL_RECEIVER_H
#define ZKL_RECEIVER_H

#include "port/port.h"

typedef struct zkl_receiver zkl_receiver;

struct zkl_receiver {
    uint64_t id;     /* 0: not entered */
    bool names_node; /* the number is part of a node's name: the receiver is inside a contender */
    zkl_receiver *next;
    void (*answer)(zkl_receiver *receiver, const zkl_return *asked, const zkl_reply *reply);
};

typedef struct zkl_receivers {
    zkl_receiver **buckets;
    size_t size, count; /* size is a power of two */
    uint64_t last;
} zkl_receivers;

bool zkl_receivers_init(zkl_receivers *receivers);
void zkl_receivers_destroy(zkl_receivers *receivers);

/* Gives the receiver a number that nobody can guess, of as many bits as a GUID has for it, and that
 * comes again once in as many; a former one is forgotten. Cannot fail. */
void zkl_receiver_enter(zkl_receivers *receivers, zkl_receiver *receiver);
void zkl_receiver_leave(zkl_receivers *receivers, zkl_receiver *receiver);
zkl_receiver *zkl_receiver_find(const zkl_receivers *receivers, uint64_t id);

#endif
