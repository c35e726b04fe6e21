/* watch_budget: how many bytes of watches the library holds for a client. After a reconnect it
 * sends all of them in one packet, and servers that refuse it for its size refuse the next one,
 * too: the client would never come back, while each try keeps its session alive. So there is a
 * budget. A waiter that finds no room is polled: see poll_rounds.h. */
#ifndef ZKL_WATCH_BUDGET_H
#define ZKL_WATCH_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

/* Half of what fits into a packet: the other half is room for watches of the host's own, and for
 * what is on its way while this is counted. */
#define ZKL_WATCH_BUDGET_MOST 500000
/* A node with a longer name gets no lasting watch: our names have 55 bytes, a stranger's may have a
 * megabyte. */
#define ZKL_WATCHED_NAME_MOST 1024

/* A watch that the library has and that no line knows any more. */
typedef struct zkl_left zkl_left;

typedef struct zkl_watch_budget {
    size_t bytes; /* of those that are asked for or armed, or on their way to be taken back */
    size_t left;  /* of these, those that no line knows any more */
    size_t most;
    zkl_left **buckets; /* these, by path; without memory for its path one counts to the end */
} zkl_watch_budget;

/* The purpose of a watch, which says how much of the budget may be taken for it to find room. */
typedef enum zkl_claim {
    /* a quarter: on the one before the blocker; all that it saves is a list at a hand-over */
    ZKL_CLAIM_SECOND,
    /* half: on our own node; it tells what seldom happens, and leaves room for those who wait */
    ZKL_CLAIM_OWN,
    /* all but a sixteenth: on a blocker or a directory, which somebody waits for; or on our own
     * node, whose turn comes soon */
    ZKL_CLAIM_OTHERS,
    ZKL_CLAIM_TURN /* all: on our own node, which is first and needs it to be granted */
} zkl_claim;

/* Is there room for one more on a path of `length` bytes? */
bool zkl_watch_budget_room(const zkl_watch_budget *budget, size_t length, zkl_claim claim);
/* The bytes of a watch on a path of `length` bytes. */
size_t zkl_watch_budget_size(size_t length);
void zkl_watch_budget_add(zkl_watch_budget *budget, size_t length);
void zkl_watch_budget_remove(zkl_watch_budget *budget, size_t length);
/* A line, or a node watch of the host's, forgets a watch and takes it off by
 * zkl_watch_budget_remove, but the library may still have it: it counts until it tells. It is on
 * the directory's child of that name; NULL: on the directory itself. `list`: on its children. */
void zkl_watch_budget_leave(zkl_watch_budget *budget, const char *directory, const char *name,
                            bool list);
/* The library has no watch of this kind on the path any more: it has told, or the servers have
 * taken it back. `list`: on its children. */
void zkl_watch_budget_told(zkl_watch_budget *budget, const char *path, bool list);
/* The library has no watches any more: frees those that were left. The lines take theirs off
 * themselves. */
void zkl_watch_budget_lost(zkl_watch_budget *budget);

#endif
