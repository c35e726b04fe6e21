/* SPDX-License-Identifier: MIT */
#include "line/recover.h"

#include "base/status.h"
#include "line/contender.h"
#include "line/departure.h"
#include "paths/directories.h"
#include "line/send.h"
#include "recipe/snapshot.h"
#include "recipe/znode.h"

#include <string.h>
#include <zookeeper/zookeeper.h>

/* The name that the contender's node would have with this sequence. A read under a write has asked
 * for the write's sequence. */
static void name_with(const zkl_contender *c, int32_t sequence, char name[ZKL_ZNODE_SIZE]) {
    zkl_znode_make(name, (zkl_guid){c->context->guid, c->receiver.id}, c->terms.kind);
    zkl_znode_append(name, sequence);
}

void zkl_recover_seen(zkl_contender *c, const zkl_child *child) {
    char name[ZKL_ZNODE_SIZE];
    name_with(c, child->sequence, name);
    if (c->seen || strcmp(name, child->name) != 0)
        return;
    c->seen = true;
    c->recovery.candidate = child->sequence;
}

/* Finds the next candidate from that sequence on, in the list as last read. */
static void seek(zkl_contender *c, int64_t from) {
    const zkl_snapshot *snapshot = &c->line->snapshot;
    for (size_t i = zkl_snapshot_from(snapshot, from); i < snapshot->count && !c->seen; i++)
        zkl_recover_seen(c, &snapshot->children[i]);
}

static void ask_about_candidate(zkl_contender *c) {
    char name[ZKL_ZNODE_SIZE];
    name_with(c, c->recovery.candidate, name);
    zkl_contender_set_search(c, zkl_send_candidate(c, name) ? ZKL_SEARCH_ASKED : ZKL_SEARCH_NONE);
}

void zkl_recover_look(zkl_contender *c) {
    zkl_line *line = c->line;
    if (c->recovery.search == ZKL_SEARCH_ASKED) {
        /* zkl_recover_answered begins again with this list, before another one comes */
        zkl_contender_set_search(c, ZKL_SEARCH_RESTART);
    } else if (c->seen) {
        ask_about_candidate(c);
    } else if (line->list_synced && !line->list_sent) {
        zkl_leave_missing(c);
    } else {
        /* the write before the list was refused, or the list is older than the lost answer */
        zkl_line_retry_later(line);
    }
}

/* The client reads the node before it grants, and learns the token from that. */
static void take_over(zkl_contender *c, const char *name) {
    zkl_line_name_node(c, name);
    const size_t index = zkl_snapshot_find(&c->line->snapshot, name);
    if (index != ZKL_NOT_FOUND)
        c->line->snapshot.children[index].mine = c;
    zkl_contender_set_node(c, ZKL_NODE_THERE);
    zkl_line_directory_found(c->line);
    zkl_directories_found(&c->common->directories, c->line->path);
}

bool zkl_recover_answered(zkl_contender *c, int32_t sequence, const zkl_reply *reply) {
    char name[ZKL_ZNODE_SIZE];
    name_with(c, sequence, name);
    const bool goes_on = c->recovery.search == ZKL_SEARCH_ASKED; /* no newer list has come */
    zkl_contender_set_search(c, ZKL_SEARCH_NONE);
    if (c->node != ZKL_NODE_UNKNOWN)
        return false;
    if (reply->rc == ZOK && reply->stat->session == c->context->session) {
        take_over(c, name);
        return true;
    }
    /* no answer: the next list begins the search again */
    if (zkl_status_passes(reply->rc)) {
        zkl_line_retry_after(c->line, reply->rc);
        return false;
    }
    c->seen = false; /* the node is another session's, may not be read, or is gone */
    seek(c, goes_on ? (int64_t)sequence + 1 : INT32_MIN);
    zkl_recover_look(c);
    return false;
}

void zkl_recover_forget(zkl_contender *c) {
    zkl_contender_set_search(c, ZKL_SEARCH_NONE);
}
