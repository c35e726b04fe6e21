/* watchdog: gets libzookeeper out of a TLS handshake that nobody answers. Its IO thread waits there
 * without a limit, deaf to all other servers and to zookeeper_close, and does not say which socket
 * it waits for. So a thread of ours looks through the process's for such handshakes, and hangs
 * up. */
#ifndef ZKL_WATCHDOG_H
#define ZKL_WATCHDOG_H

#include "base/clock.h"

#include <sys/socket.h>

typedef struct zkl_watchdog zkl_watchdog;

/* Starts the thread, on duty. It hangs up on those of `addresses` (zkl_servers_resolve) that have
 * accepted a connection and then said nothing for `patience`, or no more for 20 times that. NULL:
 * no memory, or no thread. */
zkl_watchdog *zkl_watchdog_start(const char *addresses, zkl_nanos patience);
/* A session with that timeout is confirmed at `server` (NULL: not known which): the thread sleeps,
 * and other clients' leave sockets to that server alone for as long as a session may be quiet. From
 * any thread, without any lock of ours. */
void zkl_watchdog_rest(zkl_watchdog *watchdog, const struct sockaddr *server, socklen_t length,
                       zkl_nanos timeout);
/* The link is gone: back on duty. Likewise. */
void zkl_watchdog_duty(zkl_watchdog *watchdog);
/* Joins the thread, frees everything. NULL is fine. */
void zkl_watchdog_stop(zkl_watchdog *watchdog);

#endif
