/* config: what a session keeps of how it was asked for, secrets included. */
#ifndef ZKL_CONFIG_H
#define ZKL_CONFIG_H

#include "zklock.h"
#include "zookeeper/servers.h"

/* All but the servers, which were read from the connect string before. false: no memory; it can be
 * freed in any case. */
bool zkl_config_copy(zkl_config *to, const zkl_config *from, const zkl_servers *servers);
/* Credentials and keys: no link reads them any more. */
void zkl_config_forget(zkl_config *config);
/* Its parts. */
void zkl_config_free(zkl_config *config);

#endif
