/* access: a client, as the rooms see it that serve the host beside the protocol (csrc/host). */
#ifndef ZKL_ACCESS_H
#define ZKL_ACCESS_H

#include "base/event.h"
#include "zklock.h"

/* Was it opened by the parent of this process? Then nothing of it may be touched: a thread that the
 * child does not have may hold its locks. */
bool zkl_client_forked(const zkl_client *client);
zkl_events *zkl_client_events(zkl_client *client);
/* Its memory stays until zkl_client_unuse was called as often. Any thread. */
void zkl_client_use(zkl_client *client);
void zkl_client_unuse(zkl_client *client);

#endif
