#include "queue/send.h"

#include "queue/patrol.h"
#include "queue/vetting.h"
#include "port/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#define RETRY_FIRST (ZKL_SECOND / 10)
#define RETRY_MOST (5 * ZKL_SECOND)

static char *node_path(const zkl_line *line, const char *name) {
    char *path = NULL;
    return asprintf(&path, "%s/%s", line->path, name) < 0 ? NULL : path;
}

void zkl_send_again_later(zkl_line *line) {
    if (line->retry.pending)
        return;
    line->pause = line->pause ? 2 * line->pause : RETRY_FIRST;
    if (line->pause > RETRY_MOST)
        line->pause = RETRY_MOST;
    zkl_timer_set(&line->context->timers, &line->retry,
                  zkl_context_now(line->context) + line->pause);
}

static void count(zkl_context *context, size_t length, bool before, bool now) {
    if (now && !before)
        zkl_watches_add(&context->watches, length);
    else if (before && !now)
        zkl_watches_remove(&context->watches, length);
}

void zkl_send_set_watch(zkl_contender *c, zkl_watch watch) {
    if (c->name)
        count(c->context, zkl_line_length(c->line, c->name), c->watch != ZKL_WATCH_NONE,
              watch != ZKL_WATCH_NONE);
    c->watch = watch;
}

void zkl_send_set_child_watch(zkl_line *line, zkl_child *child, zkl_watch watch) {
    count(line->context, zkl_line_length(line, child->name), child->watch != ZKL_WATCH_NONE,
          watch != ZKL_WATCH_NONE);
    child->watch = watch;
}

void zkl_send_leave_child(zkl_line *line, zkl_child *child) {
    if (child->watch != ZKL_WATCH_NONE)
        zkl_watches_leave(&line->context->watches, zkl_line_length(line, child->name));
    zkl_send_set_child_watch(line, child, ZKL_WATCH_NONE);
}

void zkl_send_set_directory_watch(zkl_line *line, bool watched) {
    count(line->context, strlen(line->path), line->watched, watched);
    line->watched = watched;
    line->unwatching = false;
}

size_t zkl_send_watched(const zkl_line *line) {
    size_t bytes = 0;
    for (size_t i = 0; i < line->snapshot.count; i++) {
        const zkl_child *child = &line->snapshot.children[i];
        if (child->watch != ZKL_WATCH_NONE)
            bytes += zkl_wire_text(zkl_line_length(line, child->name));
    }
    return bytes;
}

/* The write that a read was taken under is still held. */
static bool still_written(const zkl_contender *read) {
    for (const zkl_contender *c = read->line->first; c; c = c->next)
        if (c->phase == ZKL_HELD && c->terms.kind == ZKL_KIND_WRITE && c->token == read->borrowed)
            return true;
    return false;
}

static void forget_node(zkl_contender *c) {
    c->first = c->blocked = c->shielded = c->revoked = c->reading = c->asking = c->looked = false;
    zkl_send_set_watch(c, ZKL_WATCH_NONE);
    zkl_round_leave(&c->post);
    c->token = 0;
    free(c->name);
    c->name = NULL;
}

char *zkl_send_new_path(zkl_contender *c) {
    zkl_line *line = c->line;
    zkl_context *context = c->context;
    zkl_receiver_enter(&context->receivers, &c->receiver);
    if (c->borrowed && !still_written(c))
        c->borrowed = 0;
    char name[ZKL_ZNODE_SIZE];
    zkl_znode_make(name, (zkl_guid){context->guid, c->receiver.id}, c->terms.kind);
    if (c->borrowed)
        zkl_znode_append(name, c->sequence);
    c->parents = line->parents.round;
    line->list_wanted = true;
    return node_path(line, name);
}

/* Asks for the node. Without a link it stays NONE, and resume asks. */
void zkl_send_create(zkl_contender *c) {
    zkl_line *line = c->line;
    zkl_context *context = c->context;
    forget_node(c);
    if (!context->port)
        return;
    if (c->compound && c->compound->wanted) {
        c->compound->wanted(c->compound);
        return;
    }
    char *path = zkl_send_new_path(c);
    const int rc = path ? context->port->call->create(
                              context->port, path, context->identifier,
                              c->borrowed ? ZKL_EPHEMERAL : ZKL_EPHEMERAL_SEQUENCE, context->acl,
                              (zkl_return){c->receiver.id, ZKL_REQUEST_CREATE, 0})
                        : ZMARSHALLINGERROR;
    free(path);
    if (rc == ZOK)
        c->node = ZKL_NODE_ASKED;
    else
        zkl_send_again_later(line);
}

void zkl_send_lost(zkl_contender *c) {
    c->node = ZKL_NODE_LOST;
    c->line->list_wanted = true;
    c->line->list_synced = false; /* the one on its way may have been sent before the create */
}

void zkl_send_erase(zkl_contender *c) {
    zkl_context *context = c->context;
    c->refused = ZKL_OK;
    if (!context->port)
        return;
    char *path = node_path(c->line, c->name);
    const int rc =
        path ? context->port->call->erase(context->port, path,
                                          (zkl_return){c->receiver.id, ZKL_REQUEST_ERASE, 0})
             : ZMARSHALLINGERROR;
    free(path);
    if (rc == ZOK)
        c->node = ZKL_NODE_ERASING;
    else
        zkl_send_again_later(c->line);
}

/* With get, never exists: exists leaves a watch behind on a node that is gone. */
static bool send_get(zkl_line *line, const char *name, bool watch, zkl_return back) {
    zkl_context *context = line->context;
    char *path = node_path(line, name);
    const int rc =
        path ? context->port->call->get(context->port, path, watch, back) : ZMARSHALLINGERROR;
    free(path);
    if (rc != ZOK)
        zkl_send_again_later(line);
    return rc == ZOK;
}

/* Nobody is granted on the going of a blocker without a watch on its own node: the list that shows it serves as well. */
static void without_watch(zkl_contender *c) {
    if (c->phase == ZKL_OVER)
        return; /* its timer tries the delete again */
    zkl_patrol_read(c);
    if (c->phase == ZKL_HELD || !c->first)
        return;
    if (c->token)
        c->line->list_wanted = true;
    else
        zkl_send_read(c);
}

void zkl_send_own(zkl_contender *c) {
    if (!c->context->port || c->node != ZKL_NODE_THERE || c->watch != ZKL_WATCH_NONE)
        return;
    const bool turn = c->phase == ZKL_WAITING && c->first;
    if (!zkl_watches_room(&c->context->watches, zkl_line_length(c->line, c->name),
                          turn ? ZKL_CLAIM_TURN : ZKL_CLAIM_OWN)) {
        without_watch(c);
        return;
    }
    if (!send_get(c->line, c->name, true, (zkl_return){c->receiver.id, ZKL_REQUEST_WATCH_OWN, 0}))
        return;
    zkl_send_set_watch(c, ZKL_WATCH_ASKED);
    zkl_patrol_read_no_more(c);
}

bool zkl_send_candidate(zkl_contender *c, const char *name) {
    const zkl_return back = {c->receiver.id, ZKL_REQUEST_CANDIDATE, c->candidate};
    return c->context->port && send_get(c->line, name, false, back);
}

void zkl_send_read(zkl_contender *c) {
    if (!c->context->port || c->node != ZKL_NODE_THERE || c->reading)
        return;
    c->reading =
        send_get(c->line, c->name, false, (zkl_return){c->receiver.id, ZKL_REQUEST_READ_OWN, 0});
}

/* One that is being taken back is not asked for before that is answered: nobody could tell then which it is. */
static bool may_watch(const zkl_line *line, const zkl_child *child, zkl_claim claim) {
    return child->watch == ZKL_WATCH_NONE && strlen(child->name) <= ZKL_WATCHED_NAME_MOST &&
           zkl_watches_room(&line->context->watches, zkl_line_length(line, child->name), claim);
}

/* Requests about a child's watch are told apart by it. */
static zkl_return about(zkl_line *line, zkl_child *child, zkl_request what) {
    line->requests = line->requests < INT32_MAX ? line->requests + 1 : 1;
    child->request = line->requests;
    return (zkl_return){line->receiver.id, what, child->request};
}

static bool ask_other(zkl_line *line, zkl_child *child, zkl_claim claim) {
    if (child->mine || child->watch == ZKL_WATCH_ASKED || child->watch == ZKL_WATCH_ARMED)
        return true;
    if (!line->context->port || !may_watch(line, child, claim) ||
        !send_get(line, child->name, true, about(line, child, ZKL_REQUEST_WATCH_BLOCKER)))
        return false;
    zkl_send_set_child_watch(line, child, ZKL_WATCH_ASKED);
    return true;
}

bool zkl_send_blocker(zkl_line *line, zkl_child *child) {
    return ask_other(line, child, ZKL_CLAIM_OTHERS);
}

bool zkl_send_second(zkl_line *line, zkl_child *child) {
    return ask_other(line, child, ZKL_CLAIM_SECOND);
}

/* Whoever waits for any lease to go is told by a watch on the directory. */
static bool wants_directory_watch(const zkl_line *line) {
    return zkl_line_counts(line) && !line->watched &&
           zkl_watches_room(&line->context->watches, strlen(line->path), ZKL_CLAIM_OTHERS);
}

/* After a lost answer a write goes before the list: a server that lags could hide our own node from a list alone, and a
 * leader that was deposed would answer a sync. */
void zkl_send_list(zkl_line *line) {
    zkl_context *context = line->context;
    line->list_synced = false;
    for (zkl_contender *c = line->first; c && !line->list_synced; c = c->next)
        if (c->node == ZKL_NODE_LOST)
            line->list_synced = context->port->call->erase(
                                    context->port, context->nothing,
                                    (zkl_return){line->receiver.id, ZKL_REQUEST_BARRIER, 0}) == ZOK;
    zkl_vetting_before_list(line);
    const bool watch = wants_directory_watch(line);
    const int rc = context->port->call->list(
        context->port, line->path, watch, (zkl_return){line->receiver.id, ZKL_REQUEST_LIST, watch});
    if (watch && rc == ZOK)
        zkl_send_set_directory_watch(line, true);
    line->list_sent = rc == ZOK;
    line->list_wanted = !line->list_sent;
    if (rc != ZOK)
        zkl_send_again_later(line);
}

/* A node that bears our GUID, and whose create nobody waits for any more: an answer was lost, or the session before
 * this one made it. It is deleted and not trusted. */
void zkl_send_erase_stray(zkl_line *line, const char *name) {
    const zkl_return back = {line->receiver.id, ZKL_REQUEST_ERASE_STRAY, 0};
    char *path = node_path(line, name);
    if (!path || line->context->port->call->erase(line->context->port, path, back) != ZOK)
        zkl_send_again_later(line);
    free(path);
}

/* A watch on a node that stays would be carried along for the session's life. */
void zkl_send_unwatch(zkl_line *line, zkl_child *child) {
    const zkl_return back = about(line, child, ZKL_REQUEST_UNWATCH);
    char *path = node_path(line, child->name);
    const int rc = path ? line->context->port->call->unwatch(line->context->port, path, false, back)
                        : ZMARSHALLINGERROR;
    free(path);
    if (rc == ZMARSHALLINGERROR)
        zkl_send_again_later(line);
    else /* or the library knows of none */
        zkl_send_set_child_watch(line, child, rc == ZOK ? ZKL_WATCH_LEAVING : ZKL_WATCH_NONE);
}

void zkl_send_unwatch_directory(zkl_line *line) {
    const zkl_return back = {line->receiver.id, ZKL_REQUEST_UNWATCH_DIRECTORY, 0};
    const int rc = line->context->port->call->unwatch(line->context->port, line->path, true, back);
    if (rc == ZMARSHALLINGERROR)
        zkl_send_again_later(line);
    else if (rc == ZOK)
        line->unwatching = true;
    else
        zkl_send_set_directory_watch(line, false);
}
