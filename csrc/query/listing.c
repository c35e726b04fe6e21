#include "query/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

enum { LIST, READ };

static void finish(zkl_roster *roster, zkl_status status) {
    zkl_subject_leave(&roster->floor->subjects, &roster->subject);
    roster->done = true;
    roster->status = status;
}

static void forget(zkl_roster *roster) {
    for (size_t i = 0; roster->entries && i < roster->snapshot.count; i++)
        free(roster->entries[i].identifier);
    free(roster->entries);
    roster->entries = NULL;
    zkl_snapshot_clear(&roster->snapshot);
}

static int ask_for(zkl_roster *roster, size_t index) {
    zkl_floor *floor = roster->floor;
    char *path = NULL;
    if (asprintf(&path, "%s/%s", roster->path, roster->snapshot.children[index].name) < 0)
        return ZMARSHALLINGERROR;
    const zkl_return back = {roster->subject.id, READ, (int32_t)index};
    const int rc = floor->port->call->get(floor->port, path, false, back);
    free(path);
    return rc;
}

/* No answer will come. Nobody would come by to ask again for want of memory; if the link is down, the next does. */
static void not_sent(zkl_roster *roster, int rc) {
    if (rc == ZMARSHALLINGERROR)
        finish(roster, ZKL_NO_MEMORY);
    else if (zkl_status_unknown(rc))
        zkl_roster_stop(roster);
    else
        finish(roster, zkl_status_of(rc));
}

/* Those that came before, as far as they matter: of each kind the smallest sequence. */
typedef struct ahead {
    bool any[ZKL_KIND_LEASE + 1];
    int32_t first[ZKL_KIND_LEASE + 1];
} ahead;

/* Nobody is before it and in its way. */
static bool holds(const ahead *before, const zkl_child *child) {
    for (zkl_kind kind = ZKL_KIND_LOCK; kind <= ZKL_KIND_LEASE; kind++)
        if (before->any[kind] && before->first[kind] != child->sequence &&
            zkl_verdict_blocks(&(zkl_child){.kind = kind}, child->kind))
            return false;
    return true;
}

/* Leaves those that are there, and says who of them holds. */
static void sum_up(zkl_roster *roster) {
    ahead before = {.any = {false}};
    zkl_child *children = roster->snapshot.children;
    size_t left = 0;
    for (size_t i = 0; i < roster->snapshot.count; i++) {
        const zkl_child child = children[i];
        zkl_entry entry = roster->entries[i];
        if (entry.gone) {
            free(child.name);
            continue;
        }
        entry.holder = holds(&before, &child);
        if (!before.any[child.kind])
            before.first[child.kind] = child.sequence;
        before.any[child.kind] = true;
        children[left] = child;
        roster->entries[left++] = entry;
    }
    roster->snapshot.count = left;
    finish(roster, ZKL_OK);
}

/* Keeps the window full. */
static void go_on(zkl_roster *roster) {
    int rc = ZOK;
    while (rc == ZOK && roster->next < roster->snapshot.count && roster->open < ZKL_ROSTER_WINDOW) {
        const size_t index = roster->next++;
        const bool lease = roster->snapshot.children[index].kind == ZKL_KIND_LEASE;
        roster->entries[index].gone = lease != roster->leases;
        if (roster->entries[index].gone || roster->names)
            continue;
        rc = ask_for(roster, index);
        roster->open += rc == ZOK;
    }
    if (rc != ZOK)
        not_sent(roster, rc);
    else if (!roster->open)
        sum_up(roster);
}

static void list_answered(zkl_roster *roster, const zkl_reply *reply) {
    const size_t count = reply->rc == ZOK ? reply->count : 0;
    if (count > ZKL_ROSTER_MOST) {
        finish(roster, ZKL_TOO_MANY);
        return;
    }
    if (!zkl_snapshot_take(&roster->snapshot, reply->names, count)) {
        finish(roster, ZKL_NO_MEMORY);
        return;
    }
    roster->next = roster->open = 0;
    roster->entries = calloc(count ? count : 1, sizeof *roster->entries);
    if (roster->entries)
        go_on(roster);
    else
        finish(roster, ZKL_NO_MEMORY);
}

static bool keep(zkl_entry *entry, const zkl_reply *reply) {
    entry->stat = *reply->stat;
    entry->length = reply->length < ZKL_ROSTER_DATA_MOST ? reply->length : ZKL_ROSTER_DATA_MOST;
    entry->identifier = malloc(entry->length + 1);
    if (entry->identifier)
        memcpy(entry->identifier, reply->data, entry->length);
    return entry->identifier != NULL;
}

static void read_answered(zkl_roster *roster, size_t index, const zkl_reply *reply) {
    zkl_entry *entry = &roster->entries[index];
    roster->open--;
    entry->gone = reply->rc != ZOK; /* it left between the list and now */
    if (!entry->gone && !keep(entry, reply))
        finish(roster, ZKL_NO_MEMORY);
    else
        go_on(roster);
}

static void answered(zkl_subject *subject, const zkl_return *asked, const zkl_reply *reply) {
    zkl_roster *roster = (zkl_roster *)subject;
    if (zkl_status_passes(reply->rc))
        zkl_roster_stop(roster); /* the next step asks again */
    else if (reply->rc != ZOK && reply->rc != ZNONODE)
        finish(roster, zkl_status_of(reply->rc));
    else if (asked->what == LIST)
        list_answered(roster, reply);
    else
        read_answered(roster, (size_t)asked->detail, reply);
}

bool zkl_roster_init(zkl_roster *roster, zkl_floor *floor, const char *path, bool leases) {
    roster->floor = floor;
    roster->leases = leases;
    roster->subject.answer = answered;
    roster->path = strdup(path);
    return roster->path != NULL;
}

void zkl_roster_step(zkl_roster *roster) {
    zkl_floor *floor = roster->floor;
    if (roster->asked || roster->done || !floor->port)
        return;
    zkl_subject_enter(&floor->subjects, &roster->subject);
    const zkl_return back = {roster->subject.id, LIST, 0};
    const int rc = floor->port->call->list(floor->port, roster->path, false, back);
    if (rc == ZOK)
        roster->asked = true;
    else
        not_sent(roster, rc);
}

void zkl_roster_again(zkl_roster *roster) {
    zkl_subject_leave(&roster->floor->subjects, &roster->subject);
    forget(roster);
    roster->asked = roster->done = false;
}

void zkl_roster_stop(zkl_roster *roster) {
    if (roster->floor && !roster->done)
        zkl_roster_again(roster);
}

void zkl_roster_free(zkl_roster *roster) {
    if (!roster->floor)
        return;
    zkl_roster_again(roster);
    free(roster->path);
}

bool zkl_roster_at(const zkl_roster *roster, size_t index, zkl_participant *participant) {
    if (!roster->done || roster->status != ZKL_OK || index >= roster->snapshot.count)
        return false;
    const zkl_entry *entry = &roster->entries[index];
    const zkl_child *child = &roster->snapshot.children[index];
    *participant = (zkl_participant){
        .node = child->name,
        .kind = child->kind,
        .sequence = child->sequence,
        .session = entry->stat.session,
        .identifier = entry->identifier,
        .identifier_length = entry->length,
        .created = (double)entry->stat.ctime / 1000,
        .holder = entry->holder,
        .mine = entry->stat.session == roster->floor->session,
    };
    return true;
}
