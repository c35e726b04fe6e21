/* socket: the connection of one handle of libzookeeper, among all sockets of the process. Others of
 * the process, this library's or another's, may be connected to the same server: they are left
 * alone. The library tells nobody the descriptor except its own thread (zookeeper_interest opens
 * and cuts connections, too). So it is read from the handle itself, and believed only once a handle
 * that was connected has shown that it is there: the library named the server, and the descriptor
 * was connected to that one. Any thread. */
#ifndef ZKL_SOCKET_H
#define ZKL_SOCKET_H

#include <sys/socket.h>
#include <zookeeper/zookeeper.h>

/* A session is confirmed on the handle's connection, to that server. From now on a program that the
 * host executes does not inherit it. Where the descriptor is not known, that is so for all of the
 * process's sockets to that server. */
void zkl_socket_confirmed(const zhandle_t *handle, const struct sockaddr *server, socklen_t length);
/* Hangs up the handle's connection, if there is one and its descriptor is known. */
void zkl_socket_hang_up(const zhandle_t *handle);
/* The number that may be the descriptor of the handle's connection: the caller has to check it. -1:
 * there is none. */
int zkl_socket_presumed(const zhandle_t *handle);

#endif
