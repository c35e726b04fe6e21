/* SPDX-License-Identifier: MIT */
/* extras: the operations that not every server knows, and those of them that this client does
 * without. It knows a session of ClickHouse Keeper at once, and then uses none. From other servers
 * it learns: from their answer, or if they hang up at the operation. Under the client's mutex. */
#ifndef ZKL_EXTRAS_H
#define ZKL_EXTRAS_H

#include "port/port.h"

typedef struct zkl_extras {
    bool keeper; /* the session is one of ClickHouse Keeper */
    bool refused[ZKL_EXTRA_COUNT];
    unsigned
        cuts[ZKL_EXTRA_COUNT]; /* connections in a row that broke at it, and the session ended */
} zkl_extras;

bool zkl_extras_known(const zkl_extras *extras, zkl_extra extra);
/* True if an answer to a transaction may be believed: what the servers write into its Stats was
 * compared with a ZooKeeper's only (tools/recorder.lua), and servers that lack an operation are
 * something else. */
bool zkl_extras_compared(const zkl_extras *extras);

/* The servers say that they do not know it. */
void zkl_extras_refused(zkl_extras *extras, zkl_extra extra);
/* An answer to such an operation, or its loss. */
void zkl_extras_answered(zkl_extras *extras, const zkl_reply *reply);
/* The client has a session on servers of that kind. `carried`: the one that it had before. */
void zkl_extras_connected(zkl_extras *extras, bool keeper, bool carried);

#endif
