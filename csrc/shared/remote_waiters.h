/* remote_waiters: who else stands behind a shared node, and for how long they have waited. Under
 * the client's mutex. */
#ifndef ZKL_REMOTE_WAITERS_H
#define ZKL_REMOTE_WAITERS_H

#include "shared/node_state.h"

/* Sees what the line knows by now, and whether it is to have a watch on the directory. Of one that
 * is held. */
void zkl_remote_waiters_look(zkl_shared_node *shared);
/* Wants a list. false: none is on its way. */
bool zkl_remote_waiters_ask(zkl_shared_node *shared);
/* Asks, if it is not known who is there: perhaps those who came have gone. false: no answer
 * comes. */
bool zkl_remote_waiters_awaited(zkl_shared_node *shared);
/* Have those behind it waited for as long as they are to? */
bool zkl_remote_waiters_waited(const zkl_shared_node *shared);
/* Somebody here reads: sees to it that is asked now and then. */
void zkl_remote_waiters_poll(zkl_shared_node *shared);

#endif
