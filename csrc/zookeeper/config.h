/* SPDX-License-Identifier: MIT */
/* config: a session's copy of its configuration, including secrets. */
#ifndef ZKL_CONFIG_H
#define ZKL_CONFIG_H

#include "zklock.h"
#include "zookeeper/servers.h"

/* Copies everything except the servers, which the caller has parsed before. false: no memory; the
 * copy can be freed in any case. */
bool zkl_config_copy(zkl_config *to, const zkl_config *from, const zkl_servers *servers);
/* Wipes credentials and keys, when no link will read them any more. */
void zkl_config_forget(zkl_config *config);
/* Frees its parts. */
void zkl_config_free(zkl_config *config);

#endif
