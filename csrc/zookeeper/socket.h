/* SPDX-License-Identifier: MIT */
/* socket: finds the socket of one handle of libzookeeper among all sockets of the process. Other
 * sockets, of this library or others, may be connected to the same server, and must be left alone.
 * The library reveals the descriptor only to its own thread (zookeeper_interest also opens and cuts
 * connections). So this reads it from the handle's memory. It relies on that only after a connected
 * handle has proven it: the library named the server, and the descriptor was connected to that
 * server. Any thread. */
#ifndef ZKL_SOCKET_H
#define ZKL_SOCKET_H

#include <sys/socket.h>
#include <zookeeper/zookeeper.h>

/* The handle's connection to that server has a confirmed session. From now on a program that the
 * host executes does not inherit the socket. If the descriptor is unknown, the same applies to all
 * of the process's sockets to that server. */
void zkl_socket_confirmed(const zhandle_t *handle, const struct sockaddr *server, socklen_t length);
/* Shuts the handle's connection down, if there is one and its descriptor is known. */
void zkl_socket_hang_up(const zhandle_t *handle);
/* The number that may be the descriptor of the handle's connection; the caller has to check it. -1:
 * there is none. */
int zkl_socket_presumed(const zhandle_t *handle);

#endif
