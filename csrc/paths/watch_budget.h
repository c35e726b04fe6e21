/* SPDX-License-Identifier: MIT */
/* watch_budget: limits how many bytes of watches the library holds for a client. After a reconnect
 * the library sends all of them in one packet. Servers that refuse it because of its size also
 * refuse the next one: the client would never reconnect, while each try keeps its session alive. A
 * contender without room for a watch is polled: see poll_rounds.h. */
#ifndef ZKL_WATCH_BUDGET_H
#define ZKL_WATCH_BUDGET_H

#include "base/path_table.h"

#include <stdbool.h>
#include <stddef.h>

/* Half of the packet: the other half is for the host's own watches, and for requests that are on
 * their way while this is counted. */
#define ZKL_WATCH_BUDGET_MOST 500000
/* A node with a longer name gets no lasting watch. Our names have 55 bytes, a stranger's may have a
 * megabyte. */
#define ZKL_WATCHED_NAME_MOST 1024

typedef struct zkl_watch_budget {
    size_t bytes; /* of all watches: asked for, armed, or being removed */
    size_t left;  /* how many of these no line knows any more */
    size_t most;
    zkl_path_table lost; /* these; without memory for its path a watch counts for ever */
} zkl_watch_budget;

/* The purpose of a watch. It says how much of the budget may be used before there is no room for
 * it. */
typedef enum zkl_claim {
    /* a quarter: on the child before the blocker, which only saves a list at a hand-over */
    ZKL_CLAIM_SECOND,
    /* half: on a contender's own node, which seldom changes; this leaves room for waiters */
    ZKL_CLAIM_OWN,
    /* all but a sixteenth: on a blocker or a directory that a waiter needs; or on a contender's own
     * node whose turn comes soon */
    ZKL_CLAIM_OTHERS,
    ZKL_CLAIM_TURN /* all: on the node of the first waiter, which needs the watch to be granted */
} zkl_claim;

void zkl_watch_budget_init(zkl_watch_budget *budget, size_t most);

/* True if there is room for another watch on a path of `length` bytes. */
bool zkl_watch_budget_room(const zkl_watch_budget *budget, size_t length, zkl_claim claim);
/* The bytes of a watch on a path of `length` bytes. */
size_t zkl_watch_budget_size(size_t length);
void zkl_watch_budget_add(zkl_watch_budget *budget, size_t length);
void zkl_watch_budget_remove(zkl_watch_budget *budget, size_t length);
/* A line, or a node watch of the host, forgets a watch and subtracts it with
 * zkl_watch_budget_remove. The library may still have it, so it counts until it reports. It is on
 * the directory's child `name`; NULL: on the directory itself. `list`: on its children. */
void zkl_watch_budget_leave(zkl_watch_budget *budget, const char *directory, const char *name,
                            bool list);
/* The library no longer has a watch of this kind on the path: it has reported, or the servers have
 * removed it. `list`: on its children. */
void zkl_watch_budget_told(zkl_watch_budget *budget, const char *path, bool list);
/* The library has lost all watches: frees those that no line knows. Each line subtracts its own. */
void zkl_watch_budget_lost(zkl_watch_budget *budget);

#endif
