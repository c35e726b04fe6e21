/* advance: goes on with a shared node until there is nothing to do: queues, grants, keeps it, or
 * lets it go. Under the client's mutex. */
#ifndef ZKL_ADVANCE_H
#define ZKL_ADVANCE_H

#include "queue/shared_node_state.h"

/* The shared node may be gone then. */
void zkl_shared_node_advance(zkl_shared_node *shared);
/* The same with those to which something has happened: near the end of every step. false: there
 * were none. */
bool zkl_shared_nodes_step(zkl_line_common *common);

#endif
