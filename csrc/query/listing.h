/* SPDX-License-Identifier: MIT */
/* listing: reads the line at a path: one list, then the nodes, some at a time. Anybody may have
 * filled the directory, so the number of requests and the memory are bounded. */
#ifndef ZKL_LISTING_H
#define ZKL_LISTING_H

#include "port/context.h"
#include "recipe/snapshot.h"

/* With more children it ends with ZKL_TOO_MANY. */
#define ZKL_LISTING_MOST 20000
/* How many bytes of a node's data are kept. */
#define ZKL_LISTING_DATA_MOST ZKL_IDENTIFIER_MOST
/* How many requests are on their way at a time. */
#define ZKL_LISTING_WINDOW 64

/* The nodes about which it asks once it has the list. */
typedef enum zkl_listing_scope {
    ZKL_LISTING_NODES,  /* all, for their data */
    ZKL_LISTING_NAMES,  /* none */
    ZKL_LISTING_HOLDERS /* those that hold, until one has the czxid `token` */
} zkl_listing_scope;

typedef struct zkl_entry {
    bool gone;
    bool holder; /* valid when done */
    char *identifier;
    size_t length;
    zkl_stat stat;
} zkl_entry;

typedef struct zkl_listing {
    zkl_receiver receiver;
    zkl_context *context;
    char *path;
    bool leases; /* true: lists only leases; false: everything else */
    zkl_listing_scope scope;
    int64_t token;
    bool once; /* one try: it ends if there is no link, or if a request fails */
    bool asked, done;
    zkl_status status; /* valid when done */
    zkl_snapshot snapshot;
    zkl_entry *entries; /* one for each child of the snapshot */
    size_t next, open;  /* the next entry to ask for; how many answers are on their way */
    zkl_walk walk;      /* HOLDERS: over the entries before `next` */
    const char *found;  /* HOLDERS: the name of the holder with that token; NULL: there is none */
    zkl_retry retry;    /* no request is sent while it runs */
} zkl_listing;

/* false: no memory */
bool zkl_listing_init(zkl_listing *listing, zkl_context *context, const char *path, bool leases);
void zkl_listing_free(zkl_listing *listing);
/* Sends requests, if there is a link, no request is on its way, and no pause runs. */
void zkl_listing_step(zkl_listing *listing);
/* Unless it is done, drops all requests that are on their way: the next step begins again. */
void zkl_listing_stop(zkl_listing *listing);
/* Begins again even if it is done. */
void zkl_listing_again(zkl_listing *listing);
/* Begins again after a pause, which is longer each time: the servers have answered, but not with a
 * result. */
void zkl_listing_later(zkl_listing *listing);
/* The index-th entry of those that still exist; only when done, and not of HOLDERS. */
bool zkl_listing_at(const zkl_listing *listing, size_t index, zkl_participant *participant);

#endif
