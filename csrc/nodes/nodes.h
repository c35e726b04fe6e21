/* nodes: what a client does for its host with nodes that are no locks: errands (one read or write
 * each), behind the barrier of each handle. Each list belongs to the room that is named beside it.
 * Everything is under the client's mutex. */
#ifndef ZKL_NODES_H
#define ZKL_NODES_H

#include "base/list.h"
#include "nodes/barrier.h"

typedef struct zkl_nodes {
    zkl_context *context;
    const _Atomic zkl_state *state; /* the session's */
    zkl_barrier barrier;
    zkl_list waiting; /* errand: not handed over, in order of arrival */
    zkl_list handed;  /* errand: on their way */
    zkl_timer retry;  /* errand: nothing is handed over before it fires */
    zkl_nanos pause;  /* errand: the latest pause before that */
} zkl_nodes;

#endif
