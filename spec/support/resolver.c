/* SPDX-License-Identifier: MIT */
/* Preloaded into a process: names that end in ".test" mean what a file says, and every look-up of
 * one is noted in another. The file has lines "NAME HOST:PORT[,HOST:PORT...]", HOST being a number;
 * a name without a line is unknown. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int look_up(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static int is_ours(const char *node) {
    const size_t length = node ? strlen(node) : 0;
    return length > 5 && strcmp(node + length - 5, ".test") == 0;
}

static void note(const char *node) {
    char line[300];
    const int fd = open(getenv("RESOLVER_LOG"), O_WRONLY | O_APPEND | O_CLOEXEC);
    const int length = snprintf(line, sizeof line, "%s\n", node);
    if (fd < 0 || write(fd, line, (size_t)length) != length)
        abort();
    close(fd);
}

/* The addresses of a name, or an empty text. */
static void find(const char *node, char *addresses, size_t size) {
    char line[1000], name[300], text[700];
    FILE *file = fopen(getenv("RESOLVER_NAMES"), "re");
    if (!file)
        abort();
    *addresses = '\0';
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "%299s %699s", name, text) == 2 && strcmp(name, node) == 0)
            snprintf(addresses, size, "%s", text);
    fclose(file);
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **result) {
    look_up *real = (look_up *)dlsym(RTLD_NEXT, "getaddrinfo");
    if (!is_ours(node))
        return real(node, service, hints, result);
    char addresses[700], *rest = addresses, *address;
    struct addrinfo **end = result;
    note(node);
    find(node, addresses, sizeof addresses);
    *result = NULL;
    while ((address = strsep(&rest, ","))) {
        char *port = strchr(address, ':');
        if (!port)
            break;
        *port++ = '\0';
        const int rc = real(address, port, hints, end);
        if (rc != 0)
            return rc;
        while (*end)
            end = &(*end)->ai_next;
    }
    return *result ? 0 : EAI_NONAME;
}
