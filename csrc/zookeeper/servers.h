/* SPDX-License-Identifier: MIT */
/* servers: parses the connect string, and looks up its names. */
#ifndef ZKL_SERVERS_H
#define ZKL_SERVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

typedef struct zkl_servers {
    char *text;   /* owns the bytes below */
    char *chroot; /* "" or "/a/b" */
    struct zkl_server {
        const char *host, *port;
    } * list;
    size_t count;
} zkl_servers;

/* "h1:2181,[::1]:2181,h3/chroot"; the port defaults to 2181. false: `why` says what is wrong, or is
 * empty if memory ran out. */
bool zkl_servers_parse(zkl_servers *servers, const char *text, char *why, size_t size);
void zkl_servers_free(zkl_servers *servers);

/* Looks up all names (this blocks) and returns numeric addresses for libzookeeper, in random order
 * and odd in number, because the library skips every second one on fail-over. If names do not
 * resolve, `why` says which, and the addresses of `former`, an earlier result or NULL, are added.
 * NULL: no address is left. The caller frees the result. */
char *zkl_servers_resolve(const zkl_servers *servers, const char *former, char *why, size_t size);

/* True if there are names, so that another lookup may return other addresses. */
bool zkl_servers_named(const zkl_servers *servers);
/* If both results begin with the same address, moves that to the end of `list`. */
void zkl_servers_begin_elsewhere(char *list, const char *former);
/* True if a result of zkl_servers_resolve contains the address. */
bool zkl_servers_listed(const char *list, const struct sockaddr *address, socklen_t length);
/* True if two results of zkl_servers_resolve contain the same addresses. */
bool zkl_servers_same(const char *a, const char *b);

#endif
