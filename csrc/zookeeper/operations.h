/* SPDX-License-Identifier: MIT */
/* operations: the port's functions over a handle of libzookeeper_mt. */
#ifndef ZKL_OPERATIONS_H
#define ZKL_OPERATIONS_H

#include "zookeeper/link_state.h"

const zkl_port_table *zkl_operations(void);

#endif
