/* SPDX-License-Identifier: MIT */
/* linger: how long the client keeps a shared node that no caller wants, and how the node ends.
 * Under the client's mutex. */
#ifndef ZKL_LINGER_H
#define ZKL_LINGER_H

#include "shared/node_state.h"

/* No caller wants it: keeps it for a while. false: it has to go. */
bool zkl_linger_try(zkl_shared_node *shared);
/* A caller wants it again. */
void zkl_linger_cancel(zkl_shared_node *shared);
/* As zkl_linger_try, for a node that may be kept. */
void zkl_linger_begin(zkl_shared_node *shared);
/* Its timer has fired while no caller used it. */
void zkl_linger_expired(zkl_shared_node *shared);
/* Lets go of the node, whose contender then deletes it by itself. */
void zkl_linger_end(zkl_shared_node *shared);

#endif
