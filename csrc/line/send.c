#include "line/send.h"

#include "line/acl_check.h"
#include "line/contender.h"
#include "line/polled.h"
#include "line/watch_budget.h"
#include "port/receiver.h"
#include "recipe/snapshot.h"
#include "recipe/znode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* So many have a turn soon: as long as theirs last, the answer about the last one's node comes. */
#define NEXT 64

static char *node_path(const zkl_line *line, const char *name) {
    char *path = NULL;
    return asprintf(&path, "%s/%s", line->path, name) < 0 ? NULL : path;
}

/* ---- about a contender's own node ---- */

/* Is the write still held that this read was taken under? */
static bool still_written(const zkl_contender *read) {
    const zkl_contender *write = zkl_line_member(read->line, read->lender);
    return write && write->phase == ZKL_HELD && write->token == read->borrowed;
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

static int create(zkl_contender *c, const char *path) {
    const zkl_context *context = c->context;
    return context->port->call->create(context->port, path, context->identifier,
                                       c->borrowed ? ZKL_EPHEMERAL : ZKL_EPHEMERAL_SEQUENCE,
                                       context->acl,
                                       (zkl_return){c->receiver.id, ZKL_REQUEST_CREATE, 0});
}

/* Without a link it keeps no node, and zkl_line_resume sends the create. */
void zkl_send_create(zkl_contender *c) {
    zkl_line_forget_node(c);
    if (!c->context->port)
        return;
    if (c->compound && c->compound->wanted) {
        c->compound->wanted(c->compound);
        return;
    }
    char *path = zkl_send_new_path(c);
    const bool sent = path && create(c, path) == ZOK;
    free(path);
    if (sent)
        zkl_contender_set_node(c, ZKL_NODE_ASKED);
    else
        zkl_line_retry_later(c->line);
}

static bool erase(zkl_line *line, const char *name, zkl_return back) {
    zkl_port *port = line->context->port;
    char *path = node_path(line, name);
    const bool sent = path && port->call->erase(port, path, back) == ZOK;
    free(path);
    if (!sent)
        zkl_line_retry_later(line);
    return sent;
}

void zkl_send_erase(zkl_contender *c) {
    zkl_contender_refused(c, ZKL_OK);
    if (!c->context->port)
        return;
    if (!erase(c->line, c->name, (zkl_return){c->receiver.id, ZKL_REQUEST_ERASE, 0}))
        return;
    zkl_contender_set_node(c, ZKL_NODE_ERASING);
    if (c->erases < 2)
        c->erases++;
}

/* A get, and never an exists, which would leave a watch behind on a node that is gone. */
static bool get(zkl_line *line, const char *name, bool watch, zkl_return back) {
    zkl_port *port = line->context->port;
    char *path = node_path(line, name);
    const bool sent = path && port->call->get(port, path, watch, back) == ZOK;
    free(path);
    if (!sent)
        zkl_line_retry_later(line);
    return sent;
}

/* Nobody is granted because its blocker has gone unless its own node is watched, or is seen in a
 * list that comes after that: where there is no room for the watch, the list is asked for. */
static void do_without_watch(zkl_contender *c) {
    if (c->phase == ZKL_OVER)
        return; /* its timer tries the delete again */
    zkl_polled_add_own(c);
    if (c->phase == ZKL_HELD || c->position != ZKL_POSITION_FIRST)
        return;
    if (c->token)
        c->line->list_wanted = true;
    else
        zkl_send_read_own(c);
}

static void watch_own(zkl_contender *c, zkl_claim claim) {
    if (!c->context->port || c->watch != ZKL_WATCH_NONE)
        return;
    if (!zkl_watch_budget_room(&c->common->watch_budget, zkl_line_length(c->line, c->name),
                               claim)) {
        do_without_watch(c);
        return;
    }
    if (!get(c->line, c->name, true, (zkl_return){c->receiver.id, ZKL_REQUEST_WATCH_OWN, 0}))
        return;
    zkl_line_set_own_watch(c, ZKL_WATCH_ASKED);
    zkl_polled_remove_own(c);
}

void zkl_send_watch_own(zkl_contender *c) {
    const bool is_first = c->phase == ZKL_WAITING && c->position == ZKL_POSITION_FIRST;
    watch_own(c, is_first ? ZKL_CLAIM_TURN : ZKL_CLAIM_OWN);
}

static bool is_unwatched(const zkl_child *child, const zkl_line_common *common) {
    return child->mine && child->mine->post.round == &common->reads;
}

void zkl_send_watch_next(const zkl_line *line, const zkl_contender *first) {
    const zkl_snapshot *snapshot = &line->snapshot;
    if (!line->common->reads.count)
        return;
    const size_t at = zkl_snapshot_find(snapshot, first->name);
    if (at == ZKL_NOT_FOUND || snapshot->count - at <= NEXT / 2 ||
        !is_unwatched(&snapshot->children[at + NEXT / 2], line->common))
        return;
    for (size_t i = 1; i <= NEXT && at + i < snapshot->count; i++) {
        if (is_unwatched(&snapshot->children[at + i], line->common))
            watch_own(snapshot->children[at + i].mine, ZKL_CLAIM_OTHERS);
    }
}

void zkl_send_read_own(zkl_contender *c) {
    if (c->reading)
        return;
    c->reading =
        get(c->line, c->name, false, (zkl_return){c->receiver.id, ZKL_REQUEST_READ_OWN, 0});
}

bool zkl_send_candidate(zkl_contender *c, const char *name) {
    const zkl_return back = {c->receiver.id, ZKL_REQUEST_CANDIDATE, c->candidate};
    return c->context->port && get(c->line, name, false, back);
}

/* ---- about the line ---- */

static bool is_attended(const zkl_line *line) {
    ZKL_EACH (const zkl_listener, listener, &line->listeners, item) {
        if (listener->attends)
            return true;
    }
    return false;
}

/* A watch on the directory tells a waiter that any of the leases has gone. */
static bool wants_directory_watch(const zkl_line *line) {
    return (zkl_line_counts(line) || is_attended(line)) &&
           line->directory_watch == ZKL_WATCH_NONE &&
           zkl_watch_budget_room(&line->common->watch_budget, strlen(line->path), ZKL_CLAIM_OTHERS);
}

static bool has_lost_create(zkl_line *line) {
    if (!line->searching)
        return false;
    ZKL_EACH (const zkl_contender, c, &line->members, member) {
        if (c->node == ZKL_NODE_UNKNOWN)
            return true;
    }
    line->searching = false;
    return false;
}

/* A server that lags could hide our own node from a list alone, and a leader that was deposed would
 * answer a sync. So the list is sent behind a write: a delete of a node that does not exist. */
static bool send_barrier(const zkl_line *line) {
    const zkl_context *context = line->context;
    return context->port->call->erase(context->port, context->nothing,
                                      (zkl_return){line->receiver.id, ZKL_REQUEST_BARRIER, 0}) ==
           ZOK;
}

void zkl_send_list(zkl_line *line) {
    zkl_port *port = line->context->port;
    const bool to_sync =
        has_lost_create(line) || (line->freshness.unsynced && line->listeners.first);
    line->list_synced = to_sync && send_barrier(line);
    zkl_acl_check_before_list(line);
    const bool watch = wants_directory_watch(line);
    const int rc = port->call->list(port, line->path, watch,
                                    (zkl_return){line->receiver.id, ZKL_REQUEST_LIST, watch});
    if (watch && rc == ZOK)
        zkl_line_set_directory_watch(line, ZKL_WATCH_ARMED);
    line->list_sent = rc == ZOK;
    line->asked = zkl_context_now(line->context);
    line->list_wanted = !line->list_sent;
    if (rc != ZOK)
        zkl_line_retry_later(line);
}

/* A watch that is being taken back is not set again before that is answered: its answer and that of
 * the new request could not be told apart. */
static bool may_watch(const zkl_line *line, const zkl_child *child, zkl_claim claim) {
    return child->watch == ZKL_WATCH_NONE && strlen(child->name) <= ZKL_WATCHED_NAME_MOST &&
           zkl_watch_budget_room(&line->common->watch_budget, zkl_line_length(line, child->name),
                                 claim);
}

/* By its sequence the answer finds the child, and by the number that goes with the kind of the
 * request whether this is still the latest one about the child's watch. */
static zkl_return about_child(zkl_line *line, zkl_child *child, zkl_request what) {
    line->requests = line->requests < ZKL_REQUEST_NUMBERS ? line->requests + 1 : 1;
    child->request = line->requests;
    return (zkl_return){line->receiver.id, (int)what + child->request * ZKL_REQUESTS,
                        child->sequence};
}

static bool watch_child(zkl_line *line, zkl_child *child, zkl_claim claim) {
    if (child->mine || child->watch == ZKL_WATCH_ASKED || child->watch == ZKL_WATCH_ARMED)
        return true; /* of our own nodes we know without a watch */
    if (!line->context->port || !may_watch(line, child, claim) ||
        !get(line, child->name, true, about_child(line, child, ZKL_REQUEST_WATCH_BLOCKER)))
        return false;
    zkl_line_set_child_watch(line, child, ZKL_WATCH_ASKED);
    return true;
}

bool zkl_send_watch_blocker(zkl_line *line, zkl_child *child) {
    return watch_child(line, child, ZKL_CLAIM_OTHERS);
}

void zkl_send_watch_second(zkl_line *line, zkl_child *child) {
    watch_child(line, child, ZKL_CLAIM_SECOND);
}

static void tell_unwatched(zkl_context *context, const char *path, bool list) {
    if (context->unwatched)
        context->unwatched(context, path, list);
}

/* A watch on a node that stays would be carried along for the session's life. */
void zkl_send_unwatch(zkl_line *line, zkl_child *child) {
    zkl_port *port = line->context->port;
    const zkl_return back = about_child(line, child, ZKL_REQUEST_UNWATCH);
    char *path = node_path(line, child->name);
    const int rc = path ? port->call->unwatch(port, path, false, back) : ZMARSHALLINGERROR;
    if (rc == ZOK)
        tell_unwatched(line->context, path, false);
    free(path);
    if (rc == ZMARSHALLINGERROR)
        zkl_line_retry_later(line);
    else /* with another error the library knows of no such watch */
        zkl_line_set_child_watch(line, child, rc == ZOK ? ZKL_WATCH_LEAVING : ZKL_WATCH_NONE);
}

void zkl_send_unwatch_directory(zkl_line *line) {
    zkl_port *port = line->context->port;
    const zkl_return back = {line->receiver.id, ZKL_REQUEST_UNWATCH_DIRECTORY, 0};
    const int rc = port->call->unwatch(port, line->path, true, back);
    if (rc == ZOK)
        tell_unwatched(line->context, line->path, true);
    if (rc == ZMARSHALLINGERROR)
        zkl_line_retry_later(line);
    else
        zkl_line_set_directory_watch(line, rc == ZOK ? ZKL_WATCH_LEAVING : ZKL_WATCH_NONE);
}

/* An answer to a create was lost, or the session before this one made the node: nobody waits for it
 * any more. It is deleted and not taken over. */
void zkl_send_erase_stray(zkl_line *line, const char *name) {
    erase(line, name, (zkl_return){line->receiver.id, ZKL_REQUEST_ERASE_STRAY, 0});
}
