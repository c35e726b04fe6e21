/* SPDX-License-Identifier: MIT */
/* Connect strings: what is taken says what was meant, what is not says why. */
#include "input.h"

#include "check.h"
#include "recipe/znode.h"
#include "zookeeper/servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_number(const char *text) {
    const size_t length = strlen(text);
    return length > 0 && length < 6 && strspn(text, "0123456789") == length && atoi(text) > 0 &&
           atoi(text) < 65536;
}

static void check_server(const struct zkl_server *server, const char *text) {
    CHECK(server->host[0] != '\0');
    CHECK(is_number(server->port));
    CHECK(strstr(text, server->host) != NULL);
    CHECK(strcmp(server->port, "2181") == 0 || strstr(text, server->port));
    CHECK(!strpbrk(server->host, ",/ \t\r"));
}

static void check_chroot(const char *chroot, const char *text) {
    const char *slash = strchr(text, '/');
    CHECK_TEXT(chroot, slash && slash[1] ? slash : "");
    CHECK(!strstr(chroot, "//") && !strstr(chroot, "/../") && !strstr(chroot, "/./"));
    CHECK(chroot[0] == '\0' || chroot[strlen(chroot) - 1] != '/');
    for (const char *level = strchr(chroot, '/'); level; level = strchr(level + 1, '/')) {
        char name[300];
        int32_t sequence;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(level + 1, "/"), level + 1);
        CHECK_INT(zkl_znode_parse(name, &sequence), ZKL_KIND_NONE);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    input in = {bytes, size};
    static char text[6000];
    char why[200] = "";
    zkl_servers servers;
    input_line(&in, text, sizeof text);
    if (!zkl_servers_parse(&servers, text, why, sizeof why)) {
        CHECK(why[0] != '\0' && strlen(why) < sizeof why - 1);
        return 0;
    }
    CHECK(servers.count > 0);
    for (size_t i = 0; i < servers.count; i++)
        check_server(&servers.list[i], text);
    check_chroot(servers.chroot, text);
    zkl_servers_free(&servers);

    /* lists of addresses, as zkl_servers_resolve gives them */
    char a[200], b[200];
    input_line(&in, a, sizeof a);
    input_line(&in, b, sizeof b);
    CHECK(zkl_servers_same(a, a));
    CHECK(zkl_servers_same(a, b) == zkl_servers_same(b, a));
    const size_t length = strlen(a);
    zkl_servers_begin_elsewhere(a, b);
    CHECK_INT(strlen(a), length);
    return 0;
}
