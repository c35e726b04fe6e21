/* nodes: what a client does for its host with nodes that are no locks: node requests (one read or
 * write each) and views (a node that is looked at), behind the barrier of each handle. Each list
 * belongs to the room that is named beside it. Everything is under the client's mutex. */
#ifndef ZKL_NODES_H
#define ZKL_NODES_H

#include "base/list.h"
#include "base/round.h"
#include "nodes/barrier.h"
#include "queue/lines.h"

typedef struct zkl_nodes {
    zkl_context *context;
    const _Atomic zkl_state *state; /* the session's */
    zkl_barrier barrier;
    zkl_list waiting; /* node_request: not handed over, in order of arrival */
    zkl_list handed;  /* node_request: on their way */
    zkl_timer retry;  /* node_request: nothing is handed over before it fires */
    zkl_nanos pause;  /* node_request: the latest pause before that */

    zkl_view **views; /* view: by path; NULL: there never was one */
    zkl_lines *lines;
    zkl_watch_budget watch_budget; /* view: how many bytes they take */
    zkl_list due;                  /* view: to be read, or to be taken back */
    size_t reading;                /* view: how many are being read */
    zkl_round round;               /* view: those who are read again in turn */
    zkl_timer look;                /* view: nothing is read before it fires */
    zkl_nanos look_pause;          /* view: the latest pause before that */
    bool closed;                   /* view: nothing is read any more */
} zkl_nodes;

#endif
