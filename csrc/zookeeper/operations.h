/* operations: the port's functions over a handle of libzookeeper_mt, and the requests that are on
 * their way. */
#ifndef ZKL_OPERATIONS_H
#define ZKL_OPERATIONS_H

#include "zookeeper/link_state.h"

const zkl_port_table *zkl_operations(void);

/* The handle is closed: frees the requests that the library has not brought back. */
void zkl_operations_forget(zkl_link *link);

#endif
