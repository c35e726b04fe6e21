/* SPDX-License-Identifier: MIT */
/* access: a client as csrc/host uses it, which serves the host beside the protocol. */
#ifndef ZKL_ACCESS_H
#define ZKL_ACCESS_H

#include "base/event.h"
#include "zklock.h"

/* True if the parent of this process opened it. Then nothing of it may be touched: a thread that
 * the child does not have may hold its locks. */
bool zkl_client_forked(const zkl_client *client);
zkl_events *zkl_client_events(zkl_client *client);
/* Keeps its memory until zkl_client_unuse was called as often. Any thread. */
void zkl_client_use(zkl_client *client);
void zkl_client_unuse(zkl_client *client);

#endif
