/* servers: the connect string, and the addresses behind its names. */
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

/* "h1:2181,[::1]:2181,h3/chroot"; the port defaults to 2181. false: `why` tells what is wrong, or
 * is empty when memory ran out. */
bool zkl_servers_parse(zkl_servers *servers, const char *text, char *why, size_t size);
void zkl_servers_free(zkl_servers *servers);

/* Looks all names up (this blocks) and returns numeric addresses for libzookeeper, in random order
 * and odd in number: on fail-over it skips every second one. Names that do not resolve are left
 * out, `why` says which; then what `former` knew is among the addresses too, if that is not NULL:
 * an earlier result. NULL: none is left. The caller frees the result. */
char *zkl_servers_resolve(const zkl_servers *servers, const char *former, char *why, size_t size);

/* Are names among them, so that looking again may give other addresses? */
bool zkl_servers_named(const zkl_servers *servers);
/* Of two results: if both begin with the same address, that goes to the end of the list. */
void zkl_servers_begin_elsewhere(char *list, const char *former);
/* Is it one of the addresses in a result of zkl_servers_resolve? */
bool zkl_servers_listed(const char *list, const struct sockaddr *address, socklen_t length);
/* Do two results of zkl_servers_resolve name the same addresses? */
bool zkl_servers_same(const char *a, const char *b);

#endif
