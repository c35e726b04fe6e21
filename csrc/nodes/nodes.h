/* SPDX-License-Identifier: MIT */
/* nodes: a client's work on nodes that are no locks: node requests (one read or write each) and
 * node watches, behind the barrier of each handle. Each list belongs to the room named in its
 * comment. All of it is under the client's mutex. */
#ifndef ZKL_NODES_H
#define ZKL_NODES_H

#include "ask/ask.h"
#include "base/backoff.h"
#include "base/list.h"
#include "base/path_table.h"
#include "base/round.h"
#include "line/lines.h"
#include "port/barrier.h"

typedef struct zkl_nodes {
    zkl_context *context;
    zkl_barrier barrier;
    zkl_asks asks;   /* node_request: OPEN are those on their way */
    zkl_retry retry; /* node_request: nothing goes out while it runs */
    bool ready;      /* node_request: in this step more can go out */
    uint64_t turns;  /* node_request: how many were handed over */

    zkl_path_table node_watches; /* node_watch: by path */
    zkl_lines *lines;
    zkl_watch_budget watch_budget; /* node_watch: the bytes of their watches */
    zkl_list due;                  /* node_watch: to be read, or to be removed */
    size_t reading;                /* node_watch: how many are being read */
    zkl_round round;               /* node_watch: nodes that are read again in turn */
    zkl_retry look;                /* node_watch: nothing is read while it runs */
    bool closed;                   /* node_watch: nothing is read any more */
} zkl_nodes;

#endif
