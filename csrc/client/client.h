/* client: what the rooms that serve the host beside the protocol (bell, visit) need of a client. */
#ifndef ZKL_CLIENT_H
#define ZKL_CLIENT_H

#include "zklock.h"

bool zkl_client_forked(const zkl_client *client);
zkl_events *zkl_client_events(zkl_client *client);
/* Its memory stays until as many calls of zkl_client_unuse. Any thread. */
void zkl_client_use(zkl_client *client);
void zkl_client_unuse(zkl_client *client);

#endif
