/* SPDX-License-Identifier: MIT */
/* remote_waiters: other clients' waiters behind a shared node, and how long they have waited. Under
 * the client's mutex. */
#ifndef ZKL_REMOTE_WAITERS_H
#define ZKL_REMOTE_WAITERS_H

#include "shared/node_state.h"

/* Updates what is known from the line, and decides whether the line needs a watch on the directory.
 * For a node that is held. */
void zkl_remote_waiters_look(zkl_shared_node *shared);
/* Wants a list. false: none will come. */
bool zkl_remote_waiters_ask(zkl_shared_node *shared);
/* Asks if it is unknown who waits: the waiters may have gone. false: no answer will come. */
bool zkl_remote_waiters_await(zkl_shared_node *shared);
/* True if the waiters behind it have waited long enough. */
bool zkl_remote_waiters_waited(const zkl_shared_node *shared);
/* Callers here hold read: makes sure that the client asks from time to time. */
void zkl_remote_waiters_poll(zkl_shared_node *shared);

#endif
