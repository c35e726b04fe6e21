/* SPDX-License-Identifier: MIT */
#include "query/listing.h"

#include "base/status.h"
#include "base/timer.h"
#include "port/receiver.h"
#include "recipe/verdict.h"
#include "recipe/znode.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

enum { LIST, READ };

static void finish(zkl_listing *listing, zkl_status status) {
    zkl_receiver_leave(&listing->context->receivers, &listing->receiver);
    listing->done = true;
    listing->status = status;
}

static void forget(zkl_listing *listing) {
    for (size_t i = 0; listing->entries && i < listing->snapshot.count; i++)
        free(listing->entries[i].identifier);
    free(listing->entries);
    listing->entries = NULL;
    listing->found = NULL;
    zkl_snapshot_clear(&listing->snapshot);
}

static int ask_for(zkl_listing *listing, size_t index) {
    zkl_context *context = listing->context;
    char *path = zkl_znode_path(listing->path, listing->snapshot.children[index].name);
    if (!path)
        return ZMARSHALLINGERROR;
    const zkl_return back = {listing->receiver.id, READ, (int32_t)index};
    const bool stats = listing->scope == ZKL_LISTING_HOLDERS;
    const zkl_op op = {.kind = stats ? ZKL_OP_EXISTS : ZKL_OP_GET, .path = path};
    const int rc = context->port->call->perform(context->port, &op, false, back);
    free(path);
    return rc;
}

/* The request could not be sent. Without a link, the next link begins again. If memory is short,
 * nothing would, so the listing ends. */
static void not_sent(zkl_listing *listing, int rc) {
    if (rc == ZMARSHALLINGERROR)
        finish(listing, ZKL_NO_MEMORY);
    else if (zkl_status_unknown(rc))
        zkl_listing_later(listing);
    else
        finish(listing, zkl_status_of(rc));
}

/* Drops the entries that are gone, and finds the holders among the others. */
static void sum_up(zkl_listing *listing) {
    zkl_walk walk = {0};
    zkl_child *children = listing->snapshot.children;
    uint32_t left = 0;
    for (size_t i = 0; i < listing->snapshot.count; i++) {
        const zkl_child child = children[i];
        zkl_entry entry = listing->entries[i];
        if (entry.gone)
            continue;
        entry.holder = zkl_verdict_walk(&walk, &child);
        children[left] = child;
        listing->entries[left++] = entry;
    }
    listing->snapshot.count = left;
    finish(listing, ZKL_OK);
}

/* Goes on to the next child, in order. true: it is one to ask about. */
static bool walk_to(zkl_listing *listing, const zkl_child *child) {
    switch (listing->scope) {
    case ZKL_LISTING_NODES:
        return true;
    case ZKL_LISTING_NAMES:
        return false;
    case ZKL_LISTING_HOLDERS:
        return zkl_verdict_walk(&listing->walk, child);
    }
    return false;
}

/* Sends as many requests as may be on their way. */
static void go_on(zkl_listing *listing) {
    int rc = ZOK;
    while (rc == ZOK && listing->next < listing->snapshot.count &&
           listing->open < ZKL_LISTING_WINDOW) {
        const size_t index = listing->next++;
        const bool lease = listing->snapshot.children[index].kind == ZKL_KIND_LEASE;
        listing->entries[index].gone = lease != listing->leases;
        if (listing->entries[index].gone || !walk_to(listing, &listing->snapshot.children[index]))
            continue;
        rc = ask_for(listing, index);
        listing->open += rc == ZOK;
    }
    if (rc != ZOK)
        not_sent(listing, rc);
    else if (!listing->open)
        sum_up(listing);
}

static void list_answered(zkl_listing *listing, const zkl_reply *reply) {
    const size_t count = reply->count; /* 0 if the directory does not exist */
    if (count > ZKL_LISTING_MOST) {
        finish(listing, ZKL_TOO_MANY);
        return;
    }
    if (!zkl_snapshot_take(&listing->snapshot, reply->names, count)) {
        finish(listing, ZKL_NO_MEMORY);
        return;
    }
    listing->next = listing->open = 0;
    listing->walk = (zkl_walk){0};
    listing->entries = calloc(count ? count : 1, sizeof *listing->entries);
    if (listing->entries)
        go_on(listing);
    else
        finish(listing, ZKL_NO_MEMORY);
}

static bool keep(zkl_entry *entry, const zkl_reply *reply) {
    entry->stat = *reply->stat;
    entry->length = reply->length < ZKL_LISTING_DATA_MOST ? reply->length : ZKL_LISTING_DATA_MOST;
    entry->identifier = malloc(entry->length + 1);
    if (entry->identifier)
        memcpy(entry->identifier, reply->data, entry->length);
    return entry->identifier != NULL;
}

static void read_answered(zkl_listing *listing, size_t index, const zkl_reply *reply) {
    zkl_entry *entry = &listing->entries[index];
    const bool stats = listing->scope == ZKL_LISTING_HOLDERS;
    listing->open--;
    entry->gone = reply->rc != ZOK; /* it has left since the list */
    if (stats && !entry->gone && reply->stat->czxid == listing->token) {
        listing->found = listing->snapshot.children[index].name;
        finish(listing, ZKL_OK);
    } else if (!stats && !entry->gone && !keep(entry, reply))
        finish(listing, ZKL_NO_MEMORY);
    else
        go_on(listing);
}

static void answered(zkl_receiver *receiver, const zkl_return *asked, const zkl_reply *reply) {
    zkl_listing *listing = ZKL_CONTAINER_OF(receiver, zkl_listing, receiver);
    if (zkl_status_passes(reply->rc) && listing->once)
        finish(listing, zkl_status_of_try(reply->rc));
    else if (zkl_status_passes(reply->rc))
        zkl_listing_later(listing);
    else if (reply->rc != ZOK && reply->rc != ZNONODE)
        finish(listing, zkl_status_of(reply->rc));
    else if (asked->what == LIST)
        list_answered(listing, reply);
    else
        read_answered(listing, (size_t)asked->detail, reply);
}

bool zkl_listing_init(zkl_listing *listing, zkl_context *context, const char *path, bool leases) {
    listing->context = context;
    listing->leases = leases;
    listing->receiver.answer = answered;
    listing->path = strdup(path);
    return listing->path != NULL;
}

void zkl_listing_step(zkl_listing *listing) {
    zkl_context *context = listing->context;
    if (listing->asked || listing->done || !zkl_context_is_linked(context) ||
        listing->retry.timer.at)
        return;
    zkl_receiver_enter(&context->receivers, &listing->receiver);
    const zkl_return back = {listing->receiver.id, LIST, 0};
    const zkl_op op = {.kind = ZKL_OP_CHILDREN, .path = listing->path};
    const int rc = context->port->call->perform(context->port, &op, false, back);
    if (rc == ZOK)
        listing->asked = true;
    else
        not_sent(listing, rc);
}

void zkl_listing_again(zkl_listing *listing) {
    zkl_receiver_leave(&listing->context->receivers, &listing->receiver);
    zkl_timer_clear(&listing->context->timers, &listing->retry.timer);
    forget(listing);
    listing->asked = listing->done = false;
}

void zkl_listing_later(zkl_listing *listing) {
    zkl_listing_again(listing);
    zkl_context_retry_later(listing->context, &listing->retry);
}

void zkl_listing_stop(zkl_listing *listing) {
    if (listing->context && !listing->done)
        zkl_listing_again(listing);
}

void zkl_listing_free(zkl_listing *listing) {
    if (!listing->context)
        return;
    zkl_listing_again(listing);
    free(listing->path);
}

bool zkl_listing_at(const zkl_listing *listing, size_t index, zkl_participant *participant) {
    if (!listing->done || listing->status != ZKL_OK || index >= listing->snapshot.count)
        return false;
    const zkl_entry *entry = &listing->entries[index];
    const zkl_child *child = &listing->snapshot.children[index];
    *participant = (zkl_participant){
        .size = sizeof *participant,
        .node = child->name,
        .kind = child->kind,
        .sequence = child->sequence,
        .session = entry->stat.session,
        .token = entry->stat.czxid,
        .identifier = entry->identifier,
        .identifier_length = entry->length,
        .created = (double)entry->stat.ctime / 1000,
        .holder = entry->holder,
        .mine = entry->stat.session == listing->context->session,
    };
    return true;
}
