#include "queue/lost.h"

#include "queue/send.h"
#include "queue/leave.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* The name that the node has if this is its sequence. A read under a write was asked for with the write's. */
static void name_with(const zkl_contender *c, int32_t sequence, char name[ZKL_ZNODE_SIZE]) {
    zkl_znode_make(name, (zkl_guid){c->context->guid, c->receiver.id}, c->terms.kind);
    zkl_znode_append(name, sequence);
}

/* Looked through already, or one that is being asked for. */
static bool is_behind(const zkl_contender *c, int32_t sequence) {
    return c->looked && sequence <= c->candidate;
}

void zkl_lost_seen(zkl_contender *c, const zkl_child *child) {
    char name[ZKL_ZNODE_SIZE];
    name_with(c, child->sequence, name);
    if (c->seen || c->asking || is_behind(c, child->sequence) || strcmp(name, child->name) != 0)
        return;
    c->seen = true;
    c->candidate = child->sequence;
}

/* The next in the list as last read. */
static void seek(zkl_contender *c) {
    const zkl_snapshot *snapshot = &c->line->snapshot;
    if (!snapshot->children)
        return;
    const int64_t from = c->looked ? (int64_t)c->candidate + 1 : INT32_MIN;
    for (size_t i = zkl_snapshot_from(snapshot, from); i < snapshot->count && !c->seen; i++)
        zkl_lost_seen(c, &snapshot->children[i]);
}

void zkl_lost_look(zkl_contender *c) {
    zkl_line *line = c->line;
    if (c->asking) {
        c->looked =
            false; /* its answer comes to zkl_lost_answered, which begins anew with this list */
        return;
    }
    if (!c->seen && line->list_synced && !line->list_sent) {
        zkl_leave_missing(c);
    } else if (!c->seen) {
        c->looked = false;
        zkl_send_again_later(
            line); /* the write before it was refused, or the list is older than the loss */
    } else {
        char name[ZKL_ZNODE_SIZE];
        name_with(c, c->candidate, name);
        c->asking = c->looked = zkl_send_candidate(c, name);
    }
}

static zkl_child *child_called(zkl_line *line, const char *name) {
    const size_t index = zkl_snapshot_find(&line->snapshot, name);
    return index == ZKL_NOT_FOUND ? NULL : &line->snapshot.children[index];
}

static bool adopt(zkl_contender *c, const char *name, const zkl_stat *stat) {
    c->name = strdup(name);
    if (!c->name)
        return false;
    zkl_child *child = child_called(c->line, name);
    if (child)
        child->mine = c;
    c->node = ZKL_NODE_THERE;
    c->token = c->borrowed ? c->borrowed : stat->czxid;
    return true;
}

bool zkl_lost_answered(zkl_contender *c, int32_t sequence, const zkl_reply *reply) {
    char name[ZKL_ZNODE_SIZE];
    name_with(c, sequence, name);
    c->asking = false;
    if (c->node != ZKL_NODE_LOST)
        return false;
    const bool ours = reply->rc == ZOK && reply->stat->session == c->context->session;
    if (ours && adopt(c, name, reply->stat))
        return true;
    if (ours || zkl_status_passes(reply->rc)) {
        c->looked = false; /* no memory, or no answer: it stays lost until the next list */
        zkl_send_again_later(c->line);
        return false;
    }
    c->seen = false; /* somebody else's, as is one that we may not read; or gone */
    if (!c->line->stale)
        seek(c);
    zkl_lost_look(c);
    return false;
}

void zkl_lost_forget(zkl_contender *c) {
    c->asking = c->looked = false;
}
