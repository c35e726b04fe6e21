/* linger: for how long a shared node that nobody here wants is kept, and how it goes. Under the
 * client's mutex. */
#ifndef ZKL_LINGER_H
#define ZKL_LINGER_H

#include "shared/node_state.h"

/* Nobody here wants it: keeps it for a while. false: it is to go. */
bool zkl_linger_try(zkl_shared_node *shared);
/* Somebody wants it again. */
void zkl_linger_cancel(zkl_shared_node *shared);
/* The same as zkl_linger_try, of one that may be kept. */
void zkl_linger_begin(zkl_shared_node *shared);
/* Its timer has fired while it was idle. */
void zkl_linger_expired(zkl_shared_node *shared);
/* Lets go of the node, which goes on alone until it is gone. */
void zkl_linger_end(zkl_shared_node *shared);

#endif
