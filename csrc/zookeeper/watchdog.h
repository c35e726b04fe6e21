/* SPDX-License-Identifier: MIT */
/* watchdog: ends a TLS handshake that the server does not answer. libzookeeper's IO thread waits
 * there without a limit, deaf to all other servers and to zookeeper_close, and does not say which
 * socket it waits for. So a thread of ours watches the handle's socket, and shuts it down. It
 * leaves other connections of the process to the same servers alone. */
#ifndef ZKL_WATCHDOG_H
#define ZKL_WATCHDOG_H

#include "base/clock.h"

#include <zookeeper/zookeeper.h>

typedef struct zkl_watchdog zkl_watchdog;

/* Starts the thread, on duty. It shuts down the handle's connection to one of `addresses`
 * (zkl_servers_resolve) if the server has accepted it and sent nothing for `patience`, or has
 * stopped sending for 20 times as long. NULL: no memory, or no thread. */
zkl_watchdog *zkl_watchdog_start(const char *addresses, zkl_nanos patience);
/* Sets the handle, once. Without it the watchdog shuts nothing down. It must live until
 * `zkl_watchdog_closing`. */
void zkl_watchdog_watch(zkl_watchdog *watchdog, const zhandle_t *handle);
/* A session is confirmed: the thread sleeps. Any thread, without any lock of ours. */
void zkl_watchdog_rest(zkl_watchdog *watchdog);
/* The link is down: back on duty. Any thread, without any lock of ours. */
void zkl_watchdog_duty(zkl_watchdog *watchdog);
/* The handle is about to be closed and freed. The library then waits for its own thread, which may
 * be in a handshake. So the watchdog shuts down the handle's last connection, and those to
 * `addresses` that have sent something since and got no answer. */
void zkl_watchdog_closing(zkl_watchdog *watchdog);
/* Joins the thread, and frees everything. NULL is fine. */
void zkl_watchdog_stop(zkl_watchdog *watchdog);

#endif
