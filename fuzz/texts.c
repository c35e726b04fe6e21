/* SPDX-License-Identifier: MIT */
/* Texts that come from elsewhere: lines of libzookeeper's log, ACLs, paths and names in answers,
 * lists of addresses. Each judgement is made a second time in a plainer way. */
#include "input.h"

#include "check.h"
#include "zookeeper/acl_exposure.h"
#include "zookeeper/log.h"
#include "zookeeper/outgoing_request.h"
#include "zookeeper/servers.h"
#include "zookeeper/trouble.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 700, ENTRIES_MOST = 5 };

/* The next line, in a block of just its size, so that a sanitizer sees a read beyond it. */
static char *take(input *in) {
    char text[TEXT_MOST];
    char *copy = strdup(input_line(in, text, sizeof text));
    CHECK(copy != NULL);
    return copy;
}

/* ---- log lines ---- */

/* A line as libzookeeper writes it about an address, or any line. */
static char *take_log_line(input *in) {
    static const char *const levels[] = {":ZOO_ERROR@", ":ZOO_WARN@"};
    if (input_any(in, 3) == 0)
        return take(in);
    char *address = take(in), *number = take(in), *why = take(in);
    char text[4 * TEXT_MOST];
    snprintf(text, sizeof text, "%szk: Socket %s zk retcode=-4, errno=%s(%s): it failed",
             levels[input_any(in, 2)], address, number, why);
    free(address);
    free(number);
    free(why);
    char *copy = strdup(text);
    CHECK(copy != NULL);
    return copy;
}

/* It ends with one of the addresses. */
static bool ends_with_address(const char *text, const char *addresses) {
    for (const char *p = text; (p = strstr(p, ": ")) != NULL; p++)
        if (p[2] && strstr(addresses, p + 2))
            return true;
    return false;
}

static void check_trouble(const char *addresses) {
    char whole[2 * ZKL_TROUBLE_TEXT], cut[8];
    if (!zkl_trouble_of(addresses, 0, whole, sizeof whole))
        return;
    CHECK(strlen(whole) < sizeof whole - 1);
    CHECK(ends_with_address(whole, addresses));
    CHECK(zkl_trouble_of(addresses, 0, cut, sizeof cut));
    CHECK(strncmp(whole, cut, sizeof cut - 1) == 0);
}

/* The log keeps the newest lines, in their order, as far as there is room in each. */
static void log_lines(input *in) {
    zkl_events events;
    zkl_log log;
    char *lines[ENTRIES_MOST];
    const unsigned count = 1 + input_any(in, ENTRIES_MOST), told = input_any(in, 2 * ZKL_LOG_LINES);
    for (unsigned i = 0; i < count; i++)
        lines[i] = take_log_line(in);
    CHECK(zkl_events_init(&events));
    zkl_log_open(&log, &events, &zkl_clock_boot, true);
    for (unsigned i = 0; i < told; i++)
        zkl_log_library(lines[i % count], NULL);
    const char *level;
    bool own;
    char text[ZKL_LOG_LINE];
    for (unsigned i = told > ZKL_LOG_LINES ? told - ZKL_LOG_LINES : 0; i < told; i++) {
        const char *line = lines[i % count];
        CHECK(zkl_log_take_next(&log, &level, &own, text, sizeof text));
        CHECK_TEXT(level, strstr(line, ":ZOO_ERROR@") ? "error" : "warn");
        CHECK(strlen(text) ==
              (strlen(line) < ZKL_LOG_LINE ? strlen(line) : (size_t)ZKL_LOG_LINE - 1));
        CHECK(strncmp(text, line, strlen(text)) == 0);
    }
    CHECK(!zkl_log_take_next(&log, &level, &own, text, sizeof text));
    zkl_log_close(&log);
    zkl_events_destroy(&events);
    for (unsigned i = 0; i < count; i++)
        free(lines[i]);
    char *addresses = take(in);
    check_trouble(addresses);
    free(addresses);
}

/* ---- ACLs ---- */

/* Whether a network is the public, where that is plain: 0 no, 1 yes, -1 not plain. */
static int is_public(const char *id) {
    const char *slash = strchr(id, '/');
    if (!slash)
        return 0;
    const size_t length = strlen(slash + 1);
    if (length == 0 || length > 4 || strspn(slash + 1, "0123456789") != length)
        return -1;
    return atoi(slash + 1) < 8;
}

static int is_exposed(const struct ACL *entry) {
    const int all = ZOO_PERM_CREATE | ZOO_PERM_DELETE | ZOO_PERM_ADMIN;
    if (!(entry->perms & all))
        return 0;
    if (strcmp(entry->id.scheme, "world") == 0)
        return strcmp(entry->id.id, "anyone") == 0;
    return strcmp(entry->id.scheme, "ip") == 0 ? is_public(entry->id.id) : 0;
}

static void acls(input *in) {
    static const char *const schemes[] = {"world", "ip", "digest", "IP", ""};
    struct ACL entries[ENTRIES_MOST];
    const int32_t count = (int32_t)input_any(in, ENTRIES_MOST + 2) - 1;
    bool exposed = true, whole = count >= 0;
    int should = 0;
    for (int32_t i = 0; i < count; i++) {
        const unsigned scheme = input_any(in, 7);
        entries[i].perms = (int32_t)input_any(in, 64);
        entries[i].id.scheme = scheme < 5 ? strdup(schemes[scheme]) : scheme < 6 ? take(in) : NULL;
        entries[i].id.id = input_any(in, 16) ? take(in) : NULL;
        if (!entries[i].id.scheme || !entries[i].id.id)
            whole = false;
        else if (should <= 0 && is_exposed(&entries[i]))
            should = is_exposed(&entries[i]) < 0 && should == 0 ? -1 : is_exposed(&entries[i]);
    }
    const bool ok = zkl_acl_exposure_of(&(struct ACL_vector){count, entries}, &exposed);
    CHECK_INT(ok, whole);
    CHECK(!ok || should < 0 || exposed == should);
    CHECK(!zkl_acl_exposure_of(NULL, &exposed) && !exposed);
    for (int32_t i = 0; i < count; i++) {
        free(entries[i].id.scheme);
        free(entries[i].id.id);
    }
}

/* ---- answers ---- */

static void paths_made(input *in) {
    char *asked = take(in), *made = take(in), right[TEXT_MOST + 16];
    const size_t length = strlen(asked);
    const bool begins = strncmp(made, asked, length) == 0;
    CHECK_INT(zkl_outgoing_request_is_made(made, asked, false), strcmp(made, asked) == 0);
    if (zkl_outgoing_request_is_made(made, asked, true)) {
        const char *digits = made + length + (made[length] == '-');
        CHECK(begins && strlen(digits) >= 9 && strspn(digits, "0123456789") == strlen(digits));
    }
    const uint32_t number = input_any(in, 65536) * 65536u + input_any(in, 65536);
    snprintf(right, sizeof right, "%s%010" PRId32, asked, (int32_t)number);
    CHECK(zkl_outgoing_request_is_made(right, asked, true));
    CHECK(!zkl_outgoing_request_is_made(NULL, asked, true));
    free(asked);
    free(made);
}

static bool is_name(const char *name) {
    return name && *name && strcspn(name, "/") == strlen(name) &&
           !(name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])));
}

static void names(input *in) {
    char *list[ENTRIES_MOST];
    const int32_t count = (int32_t)input_any(in, ENTRIES_MOST + 2) - 1;
    bool all = count >= 0;
    for (int32_t i = 0; i < count; i++) {
        list[i] = input_any(in, 16) ? take(in) : NULL;
        all = all && is_name(list[i]);
    }
    CHECK_INT(zkl_outgoing_request_are_names(&(struct String_vector){count, list}), all);
    CHECK(!zkl_outgoing_request_are_names(NULL));
    CHECK_INT(zkl_outgoing_request_are_names(&(struct String_vector){count, NULL}), count == 0);
    for (int32_t i = 0; i < count; i++)
        free(list[i]);
}

/* ---- addresses ---- */

/* Is it one of the list? */
static bool lists(const char *list, const char *address) {
    char around[TEXT_MOST + 2], wanted[TEXT_MOST + 2];
    snprintf(around, sizeof around, ",%s,", list);
    snprintf(wanted, sizeof wanted, ",%s,", address);
    return strstr(around, wanted) != NULL;
}

static void addresses(input *in) {
    char *list = take(in), *former = take(in), text[64];
    struct sockaddr_in of_4 = {.sin_family = AF_INET};
    of_4.sin_port = htons((uint16_t)input_any(in, 65536));
    of_4.sin_addr.s_addr = htonl(0x7f000000u + input_any(in, 65536));
    snprintf(text, sizeof text, "%s:%d", inet_ntoa(of_4.sin_addr), ntohs(of_4.sin_port));
    const struct sockaddr *address = (const struct sockaddr *)&of_4;
    CHECK_INT(zkl_servers_listed(list, address, sizeof of_4), lists(list, text));
    CHECK(zkl_servers_listed(text, address, sizeof of_4));

    char *before = strdup(list);
    CHECK(before != NULL);
    zkl_servers_begin_elsewhere(list, former);
    CHECK_INT(strlen(list), strlen(before));
    if (strstr(before, ",,") == NULL && before[0] != ',' && before[0] != '\0' &&
        before[strlen(before) - 1] != ',')
        CHECK(zkl_servers_same(list, before));
    free(before);
    free(list);
    free(former);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static void (*const all[])(input *) = {log_lines, acls, paths_made, names, addresses};
    input in = {bytes, size};
    all[input_any(&in, sizeof all / sizeof *all)](&in);
    return 0;
}
