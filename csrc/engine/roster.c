#include "roster.h"

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

static void list_answered(zkl_roster *roster, const zkl_reply *reply) {
    const size_t count = reply->rc == ZOK ? reply->count : 0;
    if (!zkl_snapshot_take(&roster->snapshot, reply->names, count)) {
        finish(roster, ZKL_NO_MEMORY);
        return;
    }
    roster->open = roster->snapshot.count;
    if (!roster->open) {
        finish(roster, ZKL_OK);
        return;
    }
    roster->entries = calloc(roster->open, sizeof *roster->entries);
    int rc = roster->entries ? ZOK : ZMARSHALLINGERROR;
    for (size_t i = 0; rc == ZOK && i < roster->open; i++)
        rc = ask_for(roster, i);
    if (rc != ZOK)
        not_sent(roster, rc);
}

static void read_answered(zkl_roster *roster, size_t index, const zkl_reply *reply) {
    zkl_entry *entry = &roster->entries[index];
    if (reply->rc == ZOK) {
        entry->stat = *reply->stat;
        entry->identifier = malloc(reply->length + 1);
        entry->length = reply->length;
        if (!entry->identifier) {
            finish(roster, ZKL_NO_MEMORY);
            return;
        }
        memcpy(entry->identifier, reply->data, reply->length);
    } else {
        entry->gone = true; /* it left between the list and now */
    }
    if (--roster->open == 0)
        finish(roster, ZKL_OK);
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

void zkl_roster_stop(zkl_roster *roster) {
    if (!roster->floor || roster->done)
        return;
    zkl_subject_leave(&roster->floor->subjects, &roster->subject);
    forget(roster);
    roster->asked = false;
}

void zkl_roster_free(zkl_roster *roster) {
    if (!roster->floor)
        return;
    zkl_subject_leave(&roster->floor->subjects, &roster->subject);
    forget(roster);
    free(roster->path);
}

static bool counts(const zkl_roster *roster, size_t index) {
    const bool lease = roster->snapshot.children[index].kind == ZKL_KIND_LEASE;
    return !roster->entries[index].gone && lease == roster->leases;
}

/* Nobody who is still there is before it and in its way. */
static bool holds(const zkl_roster *roster, size_t index) {
    const zkl_child *children = roster->snapshot.children;
    for (size_t i = 0; i < index; i++)
        if (counts(roster, i) && children[i].sequence != children[index].sequence &&
            zkl_verdict_blocks(&children[i], children[index].kind))
            return false;
    return true;
}

bool zkl_roster_at(const zkl_roster *roster, size_t index, zkl_participant *participant) {
    if (!roster->done || roster->status != ZKL_OK)
        return false;
    size_t seen = 0;
    for (size_t i = 0; i < roster->snapshot.count; i++) {
        const zkl_entry *entry = &roster->entries[i];
        if (!counts(roster, i) || seen++ != index)
            continue;
        const zkl_child *child = &roster->snapshot.children[i];
        *participant = (zkl_participant){
            .node = child->name,
            .kind = child->kind,
            .sequence = child->sequence,
            .session = entry->stat.session,
            .identifier = entry->identifier,
            .identifier_length = entry->length,
            .created = (double)entry->stat.ctime / 1000,
            .holder = holds(roster, i),
            .mine = entry->stat.session == roster->floor->session,
        };
        return true;
    }
    return false;
}
