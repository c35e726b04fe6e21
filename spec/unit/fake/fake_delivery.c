/* SPDX-License-Identifier: MIT */
#include "fake_delivery.h"

#include "check.h"
#include "fake_watch.h"

#include <string.h>
#include <zookeeper/zookeeper.h>

void fake_resume(fake_client *client) {
    client->carried = false;
    client->state = ZKL_STATE_CONNECTED;
    client->context.port = &client->port;
    zkl_lines_each(&client->lines, zkl_line_resume);
    zkl_node_requests_resume(&client->nodes);
    zkl_node_watches_resume(&client->nodes);
}

void fake_hand_over(fake_client *client, const fake_item *item) {
    const bool good = item->rc == ZOK, several = item->op == FAKE_TRANSACT;
    const zkl_op_result *result = good && !several ? item->results : NULL;
    const zkl_reply reply = {
        .rc = item->rc,
        .path = result ? result->path : NULL,
        .stat = result && item->op != FAKE_ERASE ? &result->stat : NULL,
        .data = item->made,
        .length = item->made ? strlen(item->made) : 0,
        .names = item->names ? (const char *const *)item->names : (const char *const[]){NULL},
        .outcomes = several ? item->results : NULL,
        .count = several ? item->op_count : item->count,
        .exposed = good && item->op == FAKE_ACL && !item->closed,
    };
    if (item->watch)
        fake_watch_set(&client->listeners, item->path, item->watch_list, 0);
    if (item->rc == ZOK && item->op == FAKE_UNWATCH)
        fake_watch_remove(fake_watch_at(&client->listeners, item->path, item->watch_list));
    if (client->settled < item->at)
        client->settled = item->at;
    const zkl_proof proof = zkl_proof_of(fake_reach_of(item), item->rc);
    zkl_heart_answered(&client->heart, proof, item->at);
    zkl_receiver *receiver = zkl_receiver_find(&client->context.receivers, item->back.receiver);
    if (receiver)
        receiver->answer(receiver, &item->back, &reply);
    if (client->carried && client->heart.linked && proof == ZKL_PROOF_QUORUM)
        fake_resume(client);
}

bool fake_deliver(fake_client *client) {
    fake_item *item = fake_item_take(&client->inbound);
    if (!item)
        return false;
    if (item->zxid > client->seen)
        client->seen = item->zxid;
    if (item->watch_event)
        fake_hand_watch(client, item);
    else
        fake_hand_over(client, item);
    fake_item_free(item);
    fake_leave(client);
    return true;
}

bool fake_answer(fake_client *client) {
    const bool carried = fake_carry(client);
    bool delivered = false;
    while (fake_deliver(client))
        delivered = true;
    return carried || delivered;
}

/* Watches that the library has once and that are counted twice: a node of ours that is watched for
 * itself, and was watched for somebody behind it before it was known to be ours. */
static size_t counted_twice(const zkl_line *line) {
    size_t bytes = 0;
    for (size_t i = 0; i < line->snapshot.count; i++) {
        const zkl_child *child = &line->snapshot.children[i];
        if (child->mine && child->watch != ZKL_WATCH_NONE && child->mine->watch != ZKL_WATCH_NONE)
            bytes += 4 + strlen(line->path) + 1 + strlen(child->name);
    }
    return bytes;
}

/* With nothing on its way the lines know of each watch that the library has, and of no other: else
 * the packet that sets them again grows too long, or less is watched than may be. */
static void check_watches(const fake_client *client) {
    const zkl_lines *lines = &client->lines;
    const zkl_watch_budget *watches = &lines->common.watch_budget;
    const size_t known = fake_watched_bytes(client);
    size_t twice = 0;
    if (!client->heart.linked || client->sent || client->late || client->nodes.watch_budget.bytes)
        return;
    /* without a call of the engine: flat_test counts what that runs through */
    const zkl_table *table = &lines->by_path.table;
    for (size_t i = 0; i < table->size; i++)
        for (const zkl_table_item *item = table->buckets[i]; item; item = item->next)
            twice += counted_twice(ZKL_CONTAINER_OF(item, const zkl_line, item));
    CHECK(watches->bytes >= known);
    CHECK(watches->bytes - watches->left - twice <= known);
}

void fake_settle(fake_client *client) {
    for (unsigned i = 0; fake_answer(client); i++)
        CHECK(i < 10000); /* else it goes on for ever */
    check_watches(client);
}

void fake_settle_all(fake_servers *servers) {
    bool more = true;
    for (unsigned i = 0; more; i++) {
        more = false;
        CHECK(i < 10000);
        for (fake_client *c = servers->clients; c; c = c->next)
            more = fake_answer(c) || more;
    }
    for (const fake_client *c = servers->clients; c; c = c->next)
        check_watches(c);
}

void fake_wait(fake_servers *servers, double seconds) {
    const zkl_nanos until = zkl_clock_after(fake_now, seconds);
    for (;;) {
        fake_client *next = NULL;
        zkl_nanos at = until;
        for (fake_client *c = servers->clients; c; c = c->next) {
            const zkl_nanos first = zkl_timers_next(&c->context.timers);
            if (first <= at) {
                at = first;
                next = c;
            }
        }
        if (at > fake_now)
            fake_quorum_pass(servers, at);
        if (!next)
            return;
        zkl_timers_run(&next->context.timers, fake_now);
        fake_leave(next);
    }
}
