/* roster: reads who is in the line at a path: one list, then all nodes' data in one batch. */
#ifndef ZKL_ROSTER_H
#define ZKL_ROSTER_H

#include "floor.h"
#include "snapshot.h"

typedef struct zkl_entry {
    bool answered, gone;
    char *identifier;
    size_t length;
    zkl_stat stat;
} zkl_entry;

typedef struct zkl_roster {
    zkl_subject subject;
    zkl_floor *floor;
    char *path;
    bool leases; /* its entries are leases; else they are whatever is not */
    bool asked, done;
    zkl_status status; /* once done */
    zkl_snapshot snapshot;
    zkl_entry *entries; /* one for each child of the snapshot */
    size_t open;        /* entries not answered */
} zkl_roster;

/* false: no memory */
bool zkl_roster_init(zkl_roster *roster, zkl_floor *floor, const char *path, bool leases);
void zkl_roster_free(zkl_roster *roster);
/* Asks, if there is a link and nothing is on its way. */
void zkl_roster_step(zkl_roster *roster);
/* Forgets what is on its way. */
void zkl_roster_stop(zkl_roster *roster);
/* The index-th of those that were still there; once done. */
bool zkl_roster_at(const zkl_roster *roster, size_t index, zkl_participant *participant);

#endif
