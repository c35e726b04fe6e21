/* SPDX-License-Identifier: MIT */
/* status: turns answers of the servers into statuses, which the public header lists. */
#ifndef ZKL_STATUS_H
#define ZKL_STATUS_H

#include "zklock.h"

/* Two answers for which libzookeeper's header has no names. The first means that the session has
 * just ended. */
enum { ZKL_SERVER_UNKNOWN_SESSION = -12, ZKL_SERVER_QUOTA_EXCEEDED = -125 };

/* Turns an answer of the servers (ZOK, ZNONODE, ...) into a status. */
zkl_status zkl_status_of(int rc);

/* True if the request was cut off, so nobody knows whether the servers carried it out. */
bool zkl_status_unknown(int rc);

/* True if the servers have refused for now, and carried nothing out. */
bool zkl_status_throttled(int rc);

/* True in both cases: a read can simply be sent again. */
bool zkl_status_passes(int rc);

/* The status of a call that tries once (timeout 0) and gets such an answer: ZTHROTTLEDOP, or
 * ZKL_DISCONNECTED if its request was cut off. */
zkl_status zkl_status_of_try(int rc);

#endif
