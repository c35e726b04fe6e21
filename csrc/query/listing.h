/* roster: reads who is in the line at a path: one list, then the nodes' data, some at a time. Anybody may have filled the
 * directory: what is done and kept has bounds. */
#ifndef ZKL_ROSTER_H
#define ZKL_ROSTER_H

#include "port/context.h"
#include "recipe/snapshot.h"

/* More children are ZKL_TOO_MANY. */
#define ZKL_ROSTER_MOST 20000
/* Bytes that are kept of a node's data. */
#define ZKL_ROSTER_DATA_MOST 1024
/* Requests that are on their way at a time. */
#define ZKL_ROSTER_WINDOW 64

typedef struct zkl_entry {
    bool gone;
    bool holder; /* once done */
    char *identifier;
    size_t length;
    zkl_stat stat;
} zkl_entry;

typedef struct zkl_roster {
    zkl_subject subject;
    zkl_floor *floor;
    char *path;
    bool leases; /* its entries are leases; else they are whatever is not */
    bool names;  /* what is in the nodes is not wanted */
    bool asked, done;
    zkl_status status; /* once done */
    zkl_snapshot snapshot;
    zkl_entry *entries; /* one for each child of the snapshot */
    size_t next, open;  /* entries not asked for; those whose answer is on its way */
} zkl_roster;

/* false: no memory */
bool zkl_roster_init(zkl_roster *roster, zkl_floor *floor, const char *path, bool leases);
void zkl_roster_free(zkl_roster *roster);
/* Asks, if there is a link and nothing is on its way. */
void zkl_roster_step(zkl_roster *roster);
/* Unless it is done, forgets what is on its way: the next step begins anew. */
void zkl_roster_stop(zkl_roster *roster);
/* The same if it is done, too. */
void zkl_roster_again(zkl_roster *roster);
/* The index-th of those that were still there; once done. */
bool zkl_roster_at(const zkl_roster *roster, size_t index, zkl_participant *participant);

#endif
