/* SPDX-License-Identifier: MIT */
#include "zookeeper/servers.h"

#include "zklock_host.h"
#include "recipe/znode.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define DEFAULT_PORT "2181"
#define WHITE_SPACE " \t\n\v\f\r"
#define CHROOT_MOST 4096 /* bytes, as a path */
#define CHROOT_LEVELS_MOST 128
#define LEVEL_MOST 255 /* bytes */
#define ADDRESSES_MOST 256
#define ADDRESS_MOST (INET6_ADDRSTRLEN + 8) /* bytes */

static bool refuse(char *why, size_t size, const char *what, const char *text) {
    snprintf(why, size, "%s '%.100s'", what, text);
    return false;
}

static bool port_valid(const char *port) {
    const size_t length = strlen(port);
    return length > 0 && length < 6 && strspn(port, "0123456789") == length && atoi(port) > 0 &&
           atoi(port) < 65536;
}

/* Splits "host:port" in place. */
static bool parse_server(struct zkl_server *server, char *text, char *why, size_t size) {
    char *host = text, *colon = strrchr(text, ':');
    if (*text == '[') {
        char *end = strchr(text, ']');
        if (!end || (end[1] != '\0' && end[1] != ':'))
            return refuse(why, size, "'[ADDRESS]:PORT' expected for an IPv6 address, got", text);
        colon = end[1] == ':' ? end + 1 : NULL;
        *end = '\0';
        host++;
    } else if (colon && strchr(text, ':') != colon) {
        return refuse(why, size, "an IPv6 address must be in brackets, got", text);
    }
    server->host = host;
    server->port = DEFAULT_PORT;
    if (colon) {
        server->port = colon + 1;
        if (!port_valid(server->port))
            return refuse(why, size, "port from 1 to 65535 expected, got", server->port);
        *colon = '\0';
    }
    if (!*host)
        return refuse(why, size, "empty host name before port", server->port);
    for (const char *p = host; *p; p++)
        if ((unsigned char)*p <= ' ')
            return refuse(why, size, "host name without control characters expected, got", host);
    return true;
}

/* The name must not be a possible name of a node in the line of a lock one level up, either. */
static bool level_valid(const char *level, size_t length) {
    char name[LEVEL_MOST + 1];
    int32_t sequence;
    if (length == 0 || length > LEVEL_MOST)
        return false;
    memcpy(name, level, length);
    name[length] = '\0';
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !zkl_znode_parse(name, &sequence);
}

static bool chroot_valid(const char *chroot) {
    size_t levels = 0;
    for (const char *p = chroot; *p; p++) {
        if (*p != '/')
            continue;
        const size_t length = strcspn(p + 1, "/");
        if (++levels > CHROOT_LEVELS_MOST || !level_valid(p + 1, length))
            return false;
    }
    return zkl_path_is_spelled(chroot) && strlen(chroot) <= CHROOT_MOST &&
           !zkl_path_is_reserved(chroot);
}

bool zkl_servers_parse(zkl_servers *servers, const char *text, char *why, size_t size) {
    memset(servers, 0, sizeof *servers);
    why[0] = '\0';
    size_t most = 1;
    for (const char *p = text; *p; p++)
        most += *p == ',';
    const size_t length = strlen(text);
    servers->text = malloc(2 * (length + 1)); /* the hosts, cut up, and the chroot */
    servers->list = calloc(most, sizeof *servers->list);
    if (!servers->text || !servers->list) {
        zkl_servers_free(servers);
        return false;
    }
    memcpy(servers->text, text, length + 1);
    const size_t hosts = strcspn(text, "/");
    const char *wrong = strstr(text, "://") ? "'host:port,host:port/chroot' expected, got the URL"
                        : strcspn(text, WHITE_SPACE) < hosts
                            ? "commas without white space expected between servers, got"
                        : strpbrk(text, ";|") ? "commas expected between servers, got"
                                              : NULL;
    if (wrong) {
        zkl_servers_free(servers);
        return refuse(why, size, wrong, text);
    }
    char *slash = strchr(servers->text, '/');
    servers->chroot = servers->text + length + 1;
    strcpy(servers->chroot, slash && slash[1] ? slash : "");
    if (slash)
        *slash = '\0';
    bool good = chroot_valid(servers->chroot) ||
                refuse(why, size, "the chroot is not a valid path:", servers->chroot);
    for (char *p = servers->text; good && p;) {
        char *comma = strchr(p, ',');
        if (comma)
            *comma = '\0';
        good = *p ? parse_server(&servers->list[servers->count++], p, why, size)
                  : refuse(why, size, "empty server name in", text);
        p = comma ? comma + 1 : NULL;
    }
    if (!good)
        zkl_servers_free(servers);
    return good;
}

void zkl_servers_free(zkl_servers *servers) {
    free(servers->text);
    free(servers->list);
    memset(servers, 0, sizeof *servers);
}

typedef struct addresses {
    char text[ADDRESSES_MOST][ADDRESS_MOST];
    size_t count;
} addresses;

static void add_text(addresses *all, const char *text, size_t length) {
    if (all->count == ADDRESSES_MOST || length >= sizeof *all->text)
        return;
    char *copy = all->text[all->count];
    memcpy(copy, text, length);
    copy[length] = '\0';
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->text[i], copy) == 0)
            return;
    all->count++;
}

/* In libzookeeper's format. Returns the length; 0: not an IP address. */
static size_t write_address(char text[ADDRESS_MOST], const struct sockaddr *address,
                            socklen_t length) {
    char host[INET6_ADDRSTRLEN], port[8];
    if (getnameinfo(address, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return 0;
    return (size_t)snprintf(text, ADDRESS_MOST, "%s:%s", host, port);
}

static void add_address(addresses *all, const struct addrinfo *info) {
    char text[ADDRESS_MOST];
    const size_t length = write_address(text, info->ai_addr, info->ai_addrlen);
    if (length)
        add_text(all, text, length);
}

static void add_all(addresses *all, const char *list) {
    while (*list) {
        const size_t length = strcspn(list, ",");
        add_text(all, list, length);
        list += length;
        list += *list == ',';
    }
}

static void shuffle(addresses *all) {
    for (size_t i = all->count; i > 1; i--) {
        uint32_t random = 0;
        if (getrandom(&random, sizeof random, 0) != sizeof random)
            return; /* without random bytes the order stays as it is */
        const size_t j = random % i;
        char t[sizeof *all->text];
        memcpy(t, all->text[i - 1], sizeof t);
        memcpy(all->text[i - 1], all->text[j], sizeof t);
        memcpy(all->text[j], t, sizeof t);
    }
}

static char *join(const addresses *all) {
    const size_t padded = all->count | 1;
    char *text = malloc(padded * sizeof *all->text), *p = text;
    for (size_t i = 0; text && i < padded; i++)
        p += sprintf(p, "%s%s", i ? "," : "", all->text[i % all->count]);
    return text;
}

char *zkl_servers_resolve(const zkl_servers *servers, const char *former, char *why, size_t size) {
    addresses *all = malloc(sizeof *all);
    if (!all) {
        snprintf(why, size, "not enough memory");
        return NULL;
    }
    all->count = 0;
    why[0] = '\0';
    for (size_t i = 0; i < servers->count; i++) {
        const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
        struct addrinfo *found = NULL;
        const int rc = getaddrinfo(servers->list[i].host, servers->list[i].port, &hints, &found);
        if (rc != 0) {
            snprintf(why, size, rc == EAI_NONAME ? "no such host: %s" : "no such host: %s (%s)",
                     servers->list[i].host, gai_strerror(rc));
            continue;
        }
        for (const struct addrinfo *info = found; info; info = info->ai_next)
            add_address(all, info);
        freeaddrinfo(found);
    }
    if (why[0] && former)
        add_all(all, former);
    shuffle(all);
    char *text = all->count ? join(all) : NULL;
    free(all);
    return text;
}

bool zkl_servers_named(const zkl_servers *servers) {
    for (size_t i = 0; i < servers->count; i++) {
        unsigned char address[sizeof(struct in6_addr)];
        const char *host = servers->list[i].host;
        if (inet_pton(AF_INET, host, address) != 1 && inet_pton(AF_INET6, host, address) != 1)
            return true;
    }
    return false;
}

/* True if `b` contains every address of `a`. */
static bool within(const char *a, const char *b) {
    while (*a) {
        const size_t length = strcspn(a, ",");
        const char *p = b;
        while (*p && (strcspn(p, ",") != length || strncmp(p, a, length) != 0)) {
            p += strcspn(p, ",");
            p += *p == ',';
        }
        if (!*p)
            return false;
        a += length;
        a += *a == ',';
    }
    return true;
}

void zkl_servers_begin_elsewhere(char *list, const char *former) {
    char first[ADDRESS_MOST];
    const size_t length = strcspn(list, ",");
    if (!list[length] || length >= sizeof first || strcspn(former, ",") != length ||
        strncmp(list, former, length) != 0)
        return;
    memcpy(first, list, length);
    const size_t rest = strlen(list + length + 1);
    memmove(list, list + length + 1, rest);
    list[rest] = ',';
    memcpy(list + rest + 1, first, length);
}

bool zkl_servers_listed(const char *list, const struct sockaddr *address, socklen_t length) {
    char text[ADDRESS_MOST];
    return write_address(text, address, length) && within(text, list);
}

bool zkl_servers_same(const char *a, const char *b) {
    return within(a, b) && within(b, a);
}
