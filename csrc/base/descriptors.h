/* descriptors: keeps libzookeeper's files out of programs that the host executes. It opens them
 * without CLOEXEC; we mark them as soon as we can. Between its socket() and our mark, a fork with
 * exec in another thread still takes the socket along (it cannot use the session with it: it has
 * neither its id nor its password). */
#ifndef ZKL_DESCRIPTORS_H
#define ZKL_DESCRIPTORS_H

#include <stddef.h>
#include <sys/socket.h>

/* Calls `call` for every open descriptor of the process. */
void zkl_descriptors_each(void (*call)(int fd, void *ctx), void *ctx);

/* The pipes that are open now and would survive an exec. Freed by zkl_descriptors_mark_new_pipes.
 * NULL: no memory. */
typedef struct zkl_descriptors zkl_descriptors;

zkl_descriptors *zkl_descriptors_pipes(void);
/* Marks the pipes that have come since: those with which a new handle wakes its thread. NULL is
 * fine. */
void zkl_descriptors_mark_new_pipes(zkl_descriptors *before);

/* Marks the TCP sockets that are connected to this server. */
void zkl_descriptors_mark_sockets(const struct sockaddr *server, socklen_t length);

#endif
