/* watchdog: gets libzookeeper out of a TLS handshake that nobody answers. Its IO thread waits there
 * without a limit, deaf to all other servers and to zookeeper_close, and does not say which socket
 * it waits for. So a thread of ours looks at the handle's socket, and hangs up. It leaves other
 * connections of the process to the same servers alone. */
#ifndef ZKL_WATCHDOG_H
#define ZKL_WATCHDOG_H

#include "base/clock.h"

#include <zookeeper/zookeeper.h>

typedef struct zkl_watchdog zkl_watchdog;

/* Starts the thread, on duty. It hangs up the handle's connection to one of `addresses`
 * (zkl_servers_resolve) that was accepted and not answered for `patience`, or no more for 20 times
 * that. NULL: no memory, or no thread. */
zkl_watchdog *zkl_watchdog_start(const char *addresses, zkl_nanos patience);
/* The handle, once: without it nobody is hung up on. It must live until `zkl_watchdog_closing`. */
void zkl_watchdog_watch(zkl_watchdog *watchdog, const zhandle_t *handle);
/* A session is confirmed: the thread sleeps. From any thread, without any lock of ours. */
void zkl_watchdog_rest(zkl_watchdog *watchdog);
/* The link is gone: back on duty. Likewise. */
void zkl_watchdog_duty(zkl_watchdog *watchdog);
/* The handle is about to be closed and freed. The library waits for its thread then, which may be
 * in a handshake: the watchdog hangs up on the handle's last connection, and on those to
 * `addresses` that have sent something since and had no answer. */
void zkl_watchdog_closing(zkl_watchdog *watchdog);
/* Joins the thread, frees everything. NULL is fine. */
void zkl_watchdog_stop(zkl_watchdog *watchdog);

#endif
