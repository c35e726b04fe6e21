/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "zookeeper/servers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static zkl_servers servers;
static char why[256];

static void begin(void) {
    memset(&servers, 0, sizeof servers);
}

static void end(void) {
    zkl_servers_free(&servers);
}

static void parse(const char *text) {
    check_note("connect string: %s", text);
    zkl_servers_free(&servers);
    CHECK(zkl_servers_parse(&servers, text, why, sizeof why));
    CHECK_TEXT(why, "");
}

static void check_server(size_t index, const char *host, const char *port) {
    CHECK(index < servers.count);
    CHECK_TEXT(servers.list[index].host, host);
    CHECK_TEXT(servers.list[index].port, port);
}

static void reads_hosts_and_ports(void) {
    parse("zk1:2181,zk2:12181,10.0.0.3:1,h:65535");
    CHECK_INT(servers.count, 4);
    check_server(0, "zk1", "2181");
    check_server(1, "zk2", "12181");
    check_server(2, "10.0.0.3", "1");
    check_server(3, "h", "65535");
    CHECK_TEXT(servers.chroot, "");
}

static void the_port_defaults(void) {
    parse("zk1,zk2:2182");
    check_server(0, "zk1", "2181");
    check_server(1, "zk2", "2182");
    parse("[::1]");
    check_server(0, "::1", "2181");
}

static void reads_ipv6_in_brackets(void) {
    parse("[::1]:2182,[fe80::1%eth0]:2183,h");
    CHECK_INT(servers.count, 3);
    check_server(0, "::1", "2182");
    check_server(1, "fe80::1%eth0", "2183");
    check_server(2, "h", "2181");
}

static void reads_a_chroot(void) {
    parse("h:2181/a");
    CHECK_TEXT(servers.chroot, "/a");
    check_server(0, "h", "2181");
    parse("h1,[::1]:2182/a/b.c/..d");
    CHECK_INT(servers.count, 2);
    CHECK_TEXT(servers.chroot, "/a/b.c/..d");
    parse("h:2181/");
    CHECK_TEXT(servers.chroot, "");
    parse("h/zookeeperx");
    CHECK_TEXT(servers.chroot, "/zookeeperx");
    parse("h/a/zookeeper");
    CHECK_TEXT(servers.chroot, "/a/zookeeper");
}

static void refuses_what_it_cannot_read(void) {
    static const struct {
        const char *text, *why; /* a part of the reason */
    } bad[] = {
        {"", "empty server"},
        {",", "empty server"},
        {"h,", "empty server"},
        {",h", "empty server"},
        {"h1,,h2", "empty server"},
        {"/a", "empty server"},
        {":2181", "empty host"},
        {"h,:2181", "empty host"},
        {"[]:2181", "empty host"},
        {"h:", "port from 1 to 65535 expected, got '"},
        {"h:0", "port from 1 to 65535 expected, got '"},
        {"h:65536", "port from 1 to 65535 expected, got '"},
        {"h:99999999999999999999", "port from 1 to 65535 expected, got '"},
        {"h:-1", "port from 1 to 65535 expected, got '"},
        {"h:+1", "port from 1 to 65535 expected, got '"},
        {"h: 1", "white space"},
        {"h:1 ", "white space"},
        {"h:21x", "port from 1 to 65535 expected, got '"},
        {"[::1", "IPv6"},
        {"[::1]x", "IPv6"},
        {"[::1]:", "port from 1 to 65535 expected, got '"},
        {"::1", "brackets"},
        {"::1:2181", "brackets"},
        {"h1:1:2", "brackets"},
        {"h 1:2181", "white space"},
        {"h1, h2", "white space"},
        {"\th", "white space"},
        {"h:1 i:2", "white space expected between servers, got 'h:1 i:2'"},
        {"h:1, i:2", "commas without white space expected"},
        {"h:1\n", "white space"},
        {"h\x01", "host name without control characters expected"},
        {"h//a", "the chroot is not a valid path: '"},
        {"h/a/", "the chroot is not a valid path: '"},
        {"h/a//b", "the chroot is not a valid path: '"},
        {"h/.", "the chroot is not a valid path: '"},
        {"h/a/..", "the chroot is not a valid path: '"},
        {"h/a/./b", "the chroot is not a valid path: '"},
        {"h/a\x01", "the chroot is not a valid path: '"},
        {"h/a\x7f", "the chroot is not a valid path: '"},
        {"h/\xf0\x9f\x98\x80", "the chroot is not a valid path: '"},
        {"h/zookeeper", "the chroot is not a valid path: '"},
        {"h/zookeeper/a", "the chroot is not a valid path: '"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_note("connect string: %s", bad[i].text);
        zkl_servers_free(&servers);
        CHECK(!zkl_servers_parse(&servers, bad[i].text, why, sizeof why));
        if (!strstr(why, bad[i].why))
            check_fail(__FILE__, __LINE__, "'%s' does not contain '%s'", why, bad[i].why);
        CHECK(servers.text == NULL && servers.list == NULL);
    }
}

static void a_long_reason_is_cut(void) {
    char text[2000], small[16];
    memset(text, 'x', sizeof text);
    memcpy(text + sizeof text - 5, ":bad", 5);
    CHECK(!zkl_servers_parse(&servers, text, small, sizeof small));
    CHECK(strlen(small) < sizeof small);
}

static void a_chroot_has_an_end(void) {
    char text[2 + 4096 + 2] = "h/";
    for (size_t i = 1; i <= 4097; i++)
        text[i] = (i - 1) % 200 ? 'x' : '/';
    text[4097] = '\0';
    parse(text);
    CHECK_INT(strlen(servers.chroot), 4096);
    text[4097] = 'x';
    zkl_servers_free(&servers);
    CHECK(!zkl_servers_parse(&servers, text, why, sizeof why));
    for (size_t i = 1; i <= 256; i++)
        text[i] = i % 2 ? '/' : 'a';
    text[257] = '\0';
    parse(text);
    strcpy(text + 257, "/a");
    zkl_servers_free(&servers);
    CHECK(!zkl_servers_parse(&servers, text, why, sizeof why));
}

static void a_component_of_the_chroot_has_an_end(void) {
    char text[300] = "h/";
    memset(text + 2, 'x', 255);
    parse(text);
    text[257] = 'x';
    zkl_servers_free(&servers);
    CHECK(!zkl_servers_parse(&servers, text, why, sizeof why));
}

static size_t count_of(const char *all, const char *one) {
    size_t n = 0;
    for (const char *p = all; (p = strstr(p, one)); p += strlen(one))
        n++;
    return n;
}

static size_t addresses(const char *all) {
    return count_of(all, ",") + 1;
}

static void resolves_to_an_odd_number(void) {
    static const struct {
        const char *text;
        size_t count;
    } table[] = {
        {"127.0.0.1:1", 1},
        {"127.0.0.1:1,127.0.0.2:2", 3},
        {"127.0.0.1:1,127.0.0.2:2,127.0.0.3:3", 3},
        {"127.0.0.1:1,127.0.0.2:2,127.0.0.3:3,127.0.0.4:4", 5},
        {"127.0.0.1:1,127.0.0.1:1", 1}, /* twice the same is one */
        {"127.0.0.1:1,127.0.0.1:1,127.0.0.2:2", 3},
        {"127.0.0.1:1,127.0.0.1:2,127.0.0.1:1,127.0.0.1:3", 3},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        parse(table[i].text);
        char *all = zkl_servers_resolve(&servers, NULL, why, sizeof why);
        CHECK(all != NULL);
        CHECK_TEXT(why, "");
        const size_t count = addresses(all);
        for (size_t j = 0; j < servers.count; j++) {
            char one[64];
            snprintf(one, sizeof one, "%s:%s", servers.list[j].host, servers.list[j].port);
            CHECK(count_of(all, one) >= 1);
        }
        free(all);
        CHECK_INT(count, table[i].count);
    }
}

static void all_orders_occur(void) {
    parse("127.0.0.1:1,127.0.0.2:2,127.0.0.3:3");
    bool first[3] = {false, false, false};
    for (unsigned i = 0; i < 1000; i++) {
        char *all = zkl_servers_resolve(&servers, NULL, why, sizeof why);
        CHECK(all != NULL);
        first[all[strlen("127.0.0.")] - '1'] = true;
        free(all);
    }
    CHECK(first[0] && first[1] && first[2]);
}

static void the_chroot_is_not_among_the_addresses(void) {
    parse("127.0.0.1:5/a/b");
    char *all = zkl_servers_resolve(&servers, NULL, why, sizeof why);
    const bool same = all && strcmp(all, "127.0.0.1:5") == 0;
    free(all);
    CHECK(same);
}

static void a_name_without_address_is_left_out_and_told(void) {
    parse("127.0.0.1:5,300.300.300.300:6");
    char *all = zkl_servers_resolve(&servers, NULL, why, sizeof why);
    const bool same = all && strcmp(all, "127.0.0.1:5") == 0;
    free(all);
    CHECK(same);
    CHECK(strstr(why, "300.300.300.300") != NULL);
    parse("300.300.300.300:6");
    all = zkl_servers_resolve(&servers, NULL, why, sizeof why);
    const bool none = all == NULL;
    free(all);
    CHECK(none);
    CHECK(why[0]);
}

static void what_was_known_is_kept_while_a_name_has_no_address(void) {
    parse("127.0.0.1:5,300.300.300.300:6");
    char *all =
        zkl_servers_resolve(&servers, "127.0.0.2:6,127.0.0.1:5,127.0.0.3:6", why, sizeof why);
    CHECK(all && zkl_servers_same(all, "127.0.0.1:5,127.0.0.2:6,127.0.0.3:6"));
    CHECK_INT(addresses(all), 3);
    free(all);
    parse("300.300.300.300:6");
    all = zkl_servers_resolve(&servers, "127.0.0.2:6", why, sizeof why);
    CHECK(all && strcmp(all, "127.0.0.2:6") == 0);
    free(all);
    parse("127.0.0.1:5");
    all = zkl_servers_resolve(&servers, "127.0.0.2:6", why, sizeof why);
    CHECK(all && strcmp(all, "127.0.0.1:5") == 0);
    free(all);
}

static bool listed(const char *list, const char *host, uint16_t port) {
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1)
        return zkl_servers_listed(list, (struct sockaddr *)&v4, sizeof v4);
    CHECK_INT(inet_pton(AF_INET6, host, &v6.sin6_addr), 1);
    return zkl_servers_listed(list, (struct sockaddr *)&v6, sizeof v6);
}

static void finds_an_address_in_a_list(void) {
    parse("127.0.0.1:2181,[::1]:2182,127.0.0.11:21");
    char *all = zkl_servers_resolve(&servers, NULL, why, sizeof why);
    CHECK(all != NULL);
    const bool found =
        listed(all, "127.0.0.1", 2181) && listed(all, "::1", 2182) && listed(all, "127.0.0.11", 21);
    const bool others = listed(all, "127.0.0.1", 2182) || listed(all, "127.0.0.1", 218) ||
                        listed(all, "127.0.0.1", 21) || listed(all, "::1", 2181) ||
                        listed(all, "127.0.0.2", 2181);
    free(all);
    CHECK(found);
    CHECK(!others);
}

static void begins_elsewhere(void) {
    static const struct {
        const char *list, *former, *then;
    } table[] = {
        {"a:1,b:2,c:3", "a:1,c:3,b:2", "b:2,c:3,a:1"}, {"a:1,b:2,a:1", "a:1", "b:2,a:1,a:1"},
        {"a:1,b:2,c:3", "b:2,a:1,c:3", "a:1,b:2,c:3"}, {"a:1,b:2,c:3", "a:11,b:2", "a:1,b:2,c:3"},
        {"a:11,b:2,c:3", "a:1,b:2", "a:11,b:2,c:3"},   {"a:1", "a:1", "a:1"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char list[32];
        snprintf(list, sizeof list, "%s", table[i].list);
        zkl_servers_begin_elsewhere(list, table[i].former);
        CHECK_TEXT(list, table[i].then);
    }
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"reads hosts and ports", reads_hosts_and_ports},
        {"the port defaults to 2181", the_port_defaults},
        {"reads IPv6 addresses in brackets", reads_ipv6_in_brackets},
        {"reads a chroot", reads_a_chroot},
        {"refuses a bad connect string and says why", refuses_what_it_cannot_read},
        {"a reason that is too long is cut", a_long_reason_is_cut},
        {"a chroot has a bound, too", a_chroot_has_an_end},
        {"a component of the chroot has at most 255 bytes", a_component_of_the_chroot_has_an_end},
        {"numeric addresses resolve to an odd number, duplicates dropped first",
         resolves_to_an_odd_number},
        {"every server comes first at times", all_orders_occur},
        {"the chroot is not among the addresses", the_chroot_is_not_among_the_addresses},
        {"a name without an address is left out, and told",
         a_name_without_address_is_left_out_and_told},
        {"what was known is kept while a name has no address",
         what_was_known_is_kept_while_a_name_has_no_address},
        {"finds an address in a list", finds_an_address_in_a_list},
        {"another order begins with another server", begins_elsewhere},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
