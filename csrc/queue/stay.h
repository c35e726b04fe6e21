/* stay: for how long a shared node that nobody here wants is kept, and how it goes. Under the
 * client's mutex. */
#ifndef ZKL_STAY_H
#define ZKL_STAY_H

#include "queue/shared_node_state.h"

/* Nobody here wants it: keeps it for a while. false: it is to go. */
bool zkl_stay_on(zkl_shared_node *shared);
/* Somebody wants it again. */
void zkl_stay_no_more(zkl_shared_node *shared);
/* The same as zkl_stay_on, of one that may be kept. */
void zkl_stay_idle(zkl_shared_node *shared);
/* Its timer has fired while it was idle. */
void zkl_stay_over(zkl_shared_node *shared);
/* Lets go of the node, which goes on alone until it is gone. */
void zkl_stay_end(zkl_shared_node *shared);

#endif
