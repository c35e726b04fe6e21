/* watches: how many bytes of watches the library holds for a client. After a reconnect it sends all of them in one
 * packet, and servers that refuse it for its size refuse the next one, too: the client would never come back, while each
 * try keeps its session alive. So there is a budget. Who finds no room is looked after by reads: see patrol.h. Pure. */
#ifndef ZKL_WATCHES_H
#define ZKL_WATCHES_H

#include <stdbool.h>
#include <stddef.h>

/* Half of what fits into a packet: with room for those of the host, and for what is on its way when it is counted. */
#define ZKL_WATCHES_MOST 500000
/* No lasting watch on a name that is longer: names of ours have 55 bytes, a stranger's may have a megabyte. */
#define ZKL_WATCHED_NAME_MOST 1024

typedef struct zkl_watches {
    size_t bytes; /* of those that are asked for or armed, or on their way to be taken back */
    size_t
        left; /* ... of these, on nodes that nobody looks after any more: until one of them goes */
    size_t most;
} zkl_watches;

/* What a watch is for says how much of the budget it may find taken. */
typedef enum zkl_claim {
    ZKL_CLAIM_SECOND, /* on who stands before the blocker: saves a list at a hand-over, no more. A quarter */
    ZKL_CLAIM_OWN, /* on our own node: tells what seldom happens. A half, that others may wait for theirs */
    ZKL_CLAIM_OTHERS, /* on a blocker or a directory: tells whose turn it is. All but a sixteenth */
    ZKL_CLAIM_TURN    /* on our own node, whose turn it is. All */
} zkl_claim;

/* Is there room for one more on a path of `length` bytes? */
bool zkl_watches_room(const zkl_watches *watches, size_t length, zkl_claim claim);
void zkl_watches_add(zkl_watches *watches, size_t length);
void zkl_watches_remove(zkl_watches *watches, size_t length);
/* One of those that are counted stays with the library though whoever had it takes it off: it counts until its node goes. */
void zkl_watches_leave(zkl_watches *watches, size_t length);
/* One has told of a node that nobody knows. */
void zkl_watches_told(zkl_watches *watches, size_t length);
/* The library has none any more; those who had theirs take these off themselves. */
void zkl_watches_lost(zkl_watches *watches);

#endif
