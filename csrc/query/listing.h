/* listing: reads who is in the line at a path: one list, then the nodes' data, some at a time. As
 * anybody may have filled the directory, there are bounds to what is asked and kept. */
#ifndef ZKL_LISTING_H
#define ZKL_LISTING_H

#include "port/context.h"
#include "recipe/snapshot.h"

/* More children are ZKL_TOO_MANY. */
#define ZKL_LISTING_MOST 20000
/* Bytes that are kept of a node's data. */
#define ZKL_LISTING_DATA_MOST 1024
/* Requests that are on their way at a time. */
#define ZKL_LISTING_WINDOW 64

typedef struct zkl_entry {
    bool gone;
    bool holder; /* once done */
    char *identifier;
    size_t length;
    zkl_stat stat;
} zkl_entry;

typedef struct zkl_listing {
    zkl_receiver receiver;
    zkl_context *context;
    char *path;
    bool leases; /* only leases are listed; else everything but leases */
    bool names;  /* only names are wanted, not what is in the nodes */
    bool once;   /* one try: it ends without a link, or when a request is of no use */
    bool asked, done;
    zkl_status status; /* once done */
    zkl_snapshot snapshot;
    zkl_entry *entries; /* one for each child of the snapshot */
    size_t next, open;  /* entries not asked for; those whose answer is on its way */
    zkl_timer retry;    /* nothing is asked before it fires */
    zkl_nanos pause;    /* the latest pause before that */
} zkl_listing;

/* false: no memory */
bool zkl_listing_init(zkl_listing *listing, zkl_context *context, const char *path, bool leases);
void zkl_listing_free(zkl_listing *listing);
/* Asks, if there is a link, nothing is on its way, and no pause runs. */
void zkl_listing_step(zkl_listing *listing);
/* Unless it is done, forgets what is on its way: the next step begins anew. */
void zkl_listing_stop(zkl_listing *listing);
/* The same if it is done, too. */
void zkl_listing_again(zkl_listing *listing);
/* The same after a pause, which is longer each time: the servers answered, and it was of no use. */
void zkl_listing_later(zkl_listing *listing);
/* The index-th of those that were still there; once done. */
bool zkl_listing_at(const zkl_listing *listing, size_t index, zkl_participant *participant);

#endif
