/* SPDX-License-Identifier: MIT */
/* descriptors: keeps libzookeeper's files out of programs that the host executes. libzookeeper
 * opens them without CLOEXEC, and the client sets that flag as soon as it can. Between the
 * library's socket() and that moment, a fork with exec in another thread still inherits the socket.
 * The new program cannot use the session with it, because it has neither the id nor the
 * password. */
#ifndef ZKL_DESCRIPTORS_H
#define ZKL_DESCRIPTORS_H

#include <stddef.h>
#include <sys/socket.h>

/* Calls `call` for every open descriptor of the process. */
void zkl_descriptors_each(void (*call)(int fd, void *ctx), void *ctx);

/* The pipes that are open now and would survive an exec. zkl_descriptors_mark_new_pipes frees it.
 * NULL: no memory. */
typedef struct zkl_descriptors zkl_descriptors;

zkl_descriptors *zkl_descriptors_pipes(void);
/* Sets CLOEXEC on the pipes opened since: a new handle wakes its thread with them. NULL is fine. */
void zkl_descriptors_mark_new_pipes(zkl_descriptors *before);

/* Sets CLOEXEC on the TCP sockets that are connected to this server. */
void zkl_descriptors_mark_sockets(const struct sockaddr *server, socklen_t length);

#endif
