/* SPDX-License-Identifier: MIT */
#include "line/parents.h"

#include "base/list.h"
#include "port/extras.h"
#include "port/receiver.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* The subject of an answer. */
enum { MADE, LOOKED_AT };

/* An answer without information, although the link is up. */
static void note_unheard(zkl_parents *parents, int rc) {
    if (zkl_status_passes(rc) && zkl_context_is_linked(parents->context))
        parents->unheard = rc;
}

/* If a level exists but its own parent is closed to us, the answer may be NOAUTH instead of
 * NODEEXISTS. So a refusal counts only if the node below cannot be created either: the line checks
 * `refused` then. */
static void made(zkl_parents *parents, const zkl_reply *reply) {
    switch (reply->rc) {
    case ZOK:
    case ZNODEEXISTS:
    case ZNONODE: /* the servers have deleted the level above meanwhile: the next round */
        return;
    case ZUNIMPLEMENTED: /* servers before 3.5 */
    case ZBADARGUMENTS:  /* ClickHouse Keeper; the next round creates plain nodes */
        zkl_extras_refused(&parents->context->extras, ZKL_EXTRA_CONTAINER);
        return;
    default:
        note_unheard(parents, reply->rc);
        if (!zkl_status_passes(reply->rc))
            parents->refused = reply->rc;
    }
}

/* The levels answer in order, and the root exists. A level whose ACL we may not read belongs to
 * somebody else. */
static void looked_at(zkl_parents *parents, size_t end, const zkl_reply *reply) {
    note_unheard(parents, reply->rc);
    if (zkl_status_passes(reply->rc))
        return;
    parents->unanswered--;
    if (reply->rc == ZNONODE)
        return;
    parents->there = end;
    parents->exposed = reply->rc != ZOK || reply->exposed;
}

static void answered(zkl_receiver *receiver, const zkl_return *asked, const zkl_reply *reply) {
    zkl_parents *parents = ZKL_CONTAINER_OF(receiver, zkl_parents, receiver);
    if (asked->what == LOOKED_AT)
        looked_at(parents, (size_t)asked->detail, reply);
    else
        made(parents, reply);
}

void zkl_parents_init(zkl_parents *parents, zkl_context *context, const char *path) {
    *parents = (zkl_parents){.context = context, .path = path, .acl = context->acl};
    parents->receiver.answer = answered;
    zkl_receiver_enter(&context->receivers, &parents->receiver);
}

void zkl_parents_done(zkl_parents *parents) {
    zkl_receiver_leave(&parents->context->receivers, &parents->receiver);
}

/* Calls the function for each level, outermost first, with the path up to there, which has `end`
 * bytes. Stops when one fails. */
static int each_level(zkl_parents *parents,
                      int (*call)(zkl_parents *, const char *level, size_t end)) {
    const size_t length = strlen(parents->path);
    char *level = strdup(parents->path);
    int rc = level ? ZOK : ZMARSHALLINGERROR;
    for (size_t end = 1; rc == ZOK && end <= length; end++) {
        if (level[end] != '/' && level[end] != '\0')
            continue;
        const char cut = level[end];
        level[end] = '\0';
        rc = call(parents, level, end);
        level[end] = cut;
    }
    free(level);
    return rc;
}

static int look_at(zkl_parents *parents, const char *level, size_t end) {
    zkl_port *port = parents->context->port;
    const zkl_op op = {.kind = ZKL_OP_ACL, .path = level};
    parents->unanswered++;
    return port->call->perform(port, &op, false,
                               (zkl_return){parents->receiver.id, LOOKED_AT, (int32_t)end});
}

static int look(zkl_parents *parents) {
    parents->unanswered = 0;
    const int rc = look_at(parents, "/", 0);
    return rc == ZOK ? each_level(parents, look_at) : rc;
}

static int make(zkl_parents *parents, const char *level, size_t end) {
    zkl_context *context = parents->context;
    /* the topmost level that is created? */
    const bool owned =
        parents->exposed && end > parents->there && !strchr(level + parents->there + 1, '/');
    const bool stays =
        end <= context->chroot || !zkl_context_knows(context, ZKL_EXTRA_CONTAINER) || owned;
    const zkl_op op = {
        .kind = ZKL_OP_CREATE, .path = level, .data = "", .container = !stays, .acl = parents->acl};
    return context->port->call->perform(context->port, &op, false,
                                        (zkl_return){parents->receiver.id, MADE, 0});
}

int zkl_parents_make(zkl_parents *parents) {
    parents->round++;
    parents->unheard = ZOK;
    const bool ready = parents->acl == ZKL_ACL_OPEN || (parents->looked && !parents->unanswered);
    parents->looked = !ready;
    const int rc = ready ? each_level(parents, make) : look(parents);
    if (rc != ZOK)
        parents->looked = false;
    return rc;
}
