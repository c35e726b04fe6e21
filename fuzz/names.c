/* SPDX-License-Identifier: MIT */
/* Names in a lock's directory, of any client and of nobody's: what is read off them, their order,
 * and who is to wait for whom, each beside a plainer way to say it. A line of the input is a name.
 */
#include "input.h"

#include "check.h"
#include "recipe/snapshot.h"
#include "recipe/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MOST = 12, NAME_MOST = 120 }; /* few, so that there are many runs */

/* A number as the servers print it ends the name, behind the marker of its kind. */
static void check_parsed(const char *name, zkl_kind kind, int32_t sequence) {
    static const char *const markers[ZKL_KINDS][2] = {
        [ZKL_KIND_LOCK] = {"lock-", "__lock__"},
        [ZKL_KIND_READ] = {"__READ__", NULL},
        [ZKL_KIND_WRITE] = {"__WRIT__", NULL},
        [ZKL_KIND_LEASE] = {"lease-", NULL},
    };
    char end[64];
    bool found = false;
    for (size_t i = 0; i < 2 && markers[kind][i]; i++) {
        snprintf(end, sizeof end, "%s%010d", markers[kind][i], (int)sequence);
        const size_t length = strlen(name), n = strlen(end);
        found = found || (length >= n && strcmp(name + length - n, end) == 0);
    }
    CHECK(found);
}

static void check_guid(const char *name) {
    zkl_guid guid;
    char again[ZKL_ZNODE_SIZE];
    if (!zkl_znode_guid(name, &guid))
        return;
    zkl_znode_make(again, guid, ZKL_KIND_LOCK);
    const size_t length = strlen(again) - strlen("lock-");
    CHECK(strncmp(name, again, length) == 0);
}

static bool before(const zkl_child *a, const zkl_child *b) {
    return a->sequence < b->sequence ||
           (a->sequence == b->sequence && strcmp(a->name, b->name) <= 0);
}

static void check_order(const zkl_snapshot *list) {
    for (size_t i = 1; i < list->count; i++)
        CHECK(before(&list->children[i - 1], &list->children[i]));
    for (size_t i = 0; i < list->count; i++) {
        const size_t found = zkl_snapshot_find(list, list->children[i].name);
        CHECK(found < list->count);
        CHECK_TEXT(list->children[found].name, list->children[i].name);
        const size_t from = zkl_snapshot_from(list, list->children[i].sequence);
        CHECK(from <= i && list->children[from].sequence == list->children[i].sequence);
    }
}

/* A reader waits next for a writer of another sequence than its blocker's: those of one go together
 * as far as it is concerned, for when the blocker has gone it looks again. */
static bool counts_as_next(const zkl_child *me, const zkl_child *other, const zkl_child *last) {
    return me->kind != ZKL_KIND_READ || other->sequence != last->sequence;
}

/* A holder has nobody before it that blocks it; a waiter waits for the last of those. */
static void check_verdict(const zkl_snapshot *list, size_t own) {
    const zkl_child *me = &list->children[own];
    const zkl_verdict verdict = zkl_verdict_of(list->children, list->count, own, 3);
    size_t ahead[2] = {ZKL_NOBODY, ZKL_NOBODY}, leases = 0, twins = 0;
    for (size_t i = 0; i < list->count; i++) {
        const zkl_child *other = &list->children[i];
        leases += other->kind == ZKL_KIND_LEASE;
        twins += i != own && other->sequence == me->sequence && other->kind == me->kind;
        if (other->sequence < me->sequence && zkl_verdict_blocks(other, me->kind)) {
            if (ahead[0] != ZKL_NOBODY && counts_as_next(me, other, &list->children[ahead[0]]))
                ahead[1] = ahead[0];
            ahead[0] = i;
        }
    }
    switch (verdict.outcome) {
    case ZKL_VERDICT_GRANTED:
        CHECK(me->kind == ZKL_KIND_LEASE ? leases <= 3 : ahead[0] == ZKL_NOBODY);
        CHECK(me->kind == ZKL_KIND_LEASE ||
              (twins == 0 && me->sequence >= 0 && me->sequence != INT32_MAX));
        break;
    case ZKL_VERDICT_WAIT:
        CHECK(me->kind != ZKL_KIND_LEASE && verdict.blocker < own);
        CHECK(list->children[verdict.blocker].sequence == list->children[ahead[0]].sequence);
        CHECK((verdict.second == ZKL_NOBODY) == (ahead[1] == ZKL_NOBODY) ||
              verdict.second < verdict.blocker);
        break;
    case ZKL_VERDICT_FULL:
        CHECK(me->kind == ZKL_KIND_LEASE && leases > 3);
        break;
    case ZKL_VERDICT_TIED:
        CHECK(me->kind != ZKL_KIND_LEASE);
        break;
    }
}

static void check_verdicts(const zkl_snapshot *list) {
    for (size_t i = 0; i < list->count; i++)
        check_verdict(list, i);
}

static zkl_snapshot take(const char *const *names, size_t count) {
    zkl_snapshot list = {.count = 0};
    CHECK(zkl_snapshot_take(&list, names, count));
    check_order(&list);
    check_verdicts(&list);
    return list;
}

/* Whatever the order in which they came. */
static void check_same(const zkl_snapshot *list, const char *const *names, size_t count) {
    const char *turned[NAMES_MOST];
    for (size_t i = 0; i < count; i++)
        turned[i] = names[count - 1 - i];
    zkl_snapshot other = take(turned, count);
    CHECK_INT(other.count, list->count);
    for (size_t i = 0; i < list->count; i++)
        CHECK_TEXT(other.children[i].name, list->children[i].name);
    zkl_snapshot_clear(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    input in = {bytes, size};
    static char texts[NAMES_MOST][NAME_MOST];
    const char *names[NAMES_MOST] = {NULL};
    size_t count = 0, locks = 0;
    for (; in.left > 0 && count < NAMES_MOST; count++) {
        int32_t sequence = 0;
        names[count] = input_line(&in, texts[count], NAME_MOST);
        const zkl_kind kind = zkl_znode_parse(names[count], &sequence);
        if (kind)
            check_parsed(names[count], kind, sequence);
        locks += kind != ZKL_KIND_NONE;
        check_guid(names[count]);
    }
    zkl_snapshot list = take(names, count);
    CHECK_INT(list.count, locks);
    check_same(&list, names, count);
    while (list.count > 0) {
        zkl_snapshot_remove(&list, list.count / 2);
        check_order(&list);
        check_verdicts(&list);
    }
    zkl_snapshot_clear(&list);
    return 0;
}
