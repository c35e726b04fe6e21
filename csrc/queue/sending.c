#include "queue/sending.h"

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

void zkl_ask_again_later(zkl_line *line) {
    if (line->retry.pending)
        return;
    line->pause = line->pause ? 2 * line->pause : RETRY_FIRST;
    if (line->pause > RETRY_MOST)
        line->pause = RETRY_MOST;
    zkl_timer_set(&line->floor->timers, &line->retry, zkl_floor_now(line->floor) + line->pause);
}

static void count(zkl_floor *floor, size_t length, bool before, bool now) {
    if (now && !before)
        zkl_watches_add(&floor->watches, length);
    else if (before && !now)
        zkl_watches_remove(&floor->watches, length);
}

void zkl_ask_set_watch(zkl_contender *c, zkl_watch watch) {
    if (c->name)
        count(c->floor, zkl_line_length(c->line, c->name), c->watch != ZKL_WATCH_NONE,
              watch != ZKL_WATCH_NONE);
    c->watch = watch;
}

void zkl_ask_set_child_watch(zkl_line *line, zkl_child *child, zkl_watch watch) {
    count(line->floor, zkl_line_length(line, child->name), child->watch != ZKL_WATCH_NONE,
          watch != ZKL_WATCH_NONE);
    child->watch = watch;
}

void zkl_ask_leave_child(zkl_line *line, zkl_child *child) {
    if (child->watch != ZKL_WATCH_NONE)
        zkl_watches_leave(&line->floor->watches, zkl_line_length(line, child->name));
    zkl_ask_set_child_watch(line, child, ZKL_WATCH_NONE);
}

void zkl_ask_set_directory_watch(zkl_line *line, bool watched) {
    count(line->floor, strlen(line->path), line->watched, watched);
    line->watched = watched;
    line->unwatching = false;
}

size_t zkl_ask_watched(const zkl_line *line) {
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
    zkl_ask_set_watch(c, ZKL_WATCH_NONE);
    zkl_round_leave(&c->post);
    c->token = 0;
    free(c->name);
    c->name = NULL;
}

char *zkl_ask_new_path(zkl_contender *c) {
    zkl_line *line = c->line;
    zkl_floor *floor = c->floor;
    zkl_subject_enter(&floor->subjects, &c->subject);
    if (c->borrowed && !still_written(c))
        c->borrowed = 0;
    char name[ZKL_ZNODE_SIZE];
    zkl_znode_make(name, (zkl_guid){floor->guid, c->subject.id}, c->terms.kind);
    if (c->borrowed)
        zkl_znode_append(name, c->sequence);
    c->parents = line->parents.round;
    line->list_wanted = true;
    return node_path(line, name);
}

/* Asks for the node. Without a link it stays NONE, and resume asks. */
void zkl_ask_create(zkl_contender *c) {
    zkl_line *line = c->line;
    zkl_floor *floor = c->floor;
    forget_node(c);
    if (!floor->port)
        return;
    if (c->whole && c->whole->wanted) {
        c->whole->wanted(c->whole);
        return;
    }
    char *path = zkl_ask_new_path(c);
    const int rc =
        path ? floor->port->call->create(floor->port, path, floor->identifier,
                                         c->borrowed ? ZKL_EPHEMERAL : ZKL_EPHEMERAL_SEQUENCE,
                                         floor->acl, (zkl_return){c->subject.id, ZKL_ASK_CREATE, 0})
             : ZMARSHALLINGERROR;
    free(path);
    if (rc == ZOK)
        c->node = ZKL_NODE_ASKED;
    else
        zkl_ask_again_later(line);
}

void zkl_ask_lost(zkl_contender *c) {
    c->node = ZKL_NODE_LOST;
    c->line->list_wanted = true;
    c->line->list_synced = false; /* the one on its way may have been sent before the create */
}

void zkl_ask_erase(zkl_contender *c) {
    zkl_floor *floor = c->floor;
    c->refused = ZKL_OK;
    if (!floor->port)
        return;
    char *path = node_path(c->line, c->name);
    const int rc = path ? floor->port->call->erase(floor->port, path,
                                                   (zkl_return){c->subject.id, ZKL_ASK_ERASE, 0})
                        : ZMARSHALLINGERROR;
    free(path);
    if (rc == ZOK)
        c->node = ZKL_NODE_ERASING;
    else
        zkl_ask_again_later(c->line);
}

/* With get, never exists: exists leaves a watch behind on a node that is gone. */
static bool send_get(zkl_line *line, const char *name, bool watch, zkl_return back) {
    zkl_floor *floor = line->floor;
    char *path = node_path(line, name);
    const int rc =
        path ? floor->port->call->get(floor->port, path, watch, back) : ZMARSHALLINGERROR;
    free(path);
    if (rc != ZOK)
        zkl_ask_again_later(line);
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
        zkl_ask_read(c);
}

void zkl_ask_own(zkl_contender *c) {
    if (!c->floor->port || c->node != ZKL_NODE_THERE || c->watch != ZKL_WATCH_NONE)
        return;
    const bool turn = c->phase == ZKL_WAITING && c->first;
    if (!zkl_watches_room(&c->floor->watches, zkl_line_length(c->line, c->name),
                          turn ? ZKL_CLAIM_TURN : ZKL_CLAIM_OWN)) {
        without_watch(c);
        return;
    }
    if (!send_get(c->line, c->name, true, (zkl_return){c->subject.id, ZKL_ASK_WATCH_OWN, 0}))
        return;
    zkl_ask_set_watch(c, ZKL_WATCH_ASKED);
    zkl_patrol_read_no_more(c);
}

bool zkl_ask_candidate(zkl_contender *c, const char *name) {
    const zkl_return back = {c->subject.id, ZKL_ASK_CANDIDATE, c->candidate};
    return c->floor->port && send_get(c->line, name, false, back);
}

void zkl_ask_read(zkl_contender *c) {
    if (!c->floor->port || c->node != ZKL_NODE_THERE || c->reading)
        return;
    c->reading =
        send_get(c->line, c->name, false, (zkl_return){c->subject.id, ZKL_ASK_READ_OWN, 0});
}

/* One that is being taken back is not asked for before that is answered: nobody could tell then which it is. */
static bool may_watch(const zkl_line *line, const zkl_child *child, zkl_claim claim) {
    return child->watch == ZKL_WATCH_NONE && strlen(child->name) <= ZKL_WATCHED_NAME_MOST &&
           zkl_watches_room(&line->floor->watches, zkl_line_length(line, child->name), claim);
}

/* Requests about a child's watch are told apart by it. */
static zkl_return about(zkl_line *line, zkl_child *child, zkl_asked_for what) {
    line->asked = line->asked < INT32_MAX ? line->asked + 1 : 1;
    child->asked = line->asked;
    return (zkl_return){line->subject.id, what, child->asked};
}

static bool ask_other(zkl_line *line, zkl_child *child, zkl_claim claim) {
    if (child->mine || child->watch == ZKL_WATCH_ASKED || child->watch == ZKL_WATCH_ARMED)
        return true;
    if (!line->floor->port || !may_watch(line, child, claim) ||
        !send_get(line, child->name, true, about(line, child, ZKL_ASK_WATCH_BLOCKER)))
        return false;
    zkl_ask_set_child_watch(line, child, ZKL_WATCH_ASKED);
    return true;
}

bool zkl_ask_blocker(zkl_line *line, zkl_child *child) {
    return ask_other(line, child, ZKL_CLAIM_OTHERS);
}

bool zkl_ask_second(zkl_line *line, zkl_child *child) {
    return ask_other(line, child, ZKL_CLAIM_SECOND);
}

/* Whoever waits for any lease to go is told by a watch on the directory. */
static bool wants_directory_watch(const zkl_line *line) {
    return zkl_line_counts(line) && !line->watched &&
           zkl_watches_room(&line->floor->watches, strlen(line->path), ZKL_CLAIM_OTHERS);
}

/* After a lost answer a write goes before the list: a server that lags could hide our own node from a list alone, and a
 * leader that was deposed would answer a sync. */
void zkl_ask_list(zkl_line *line) {
    zkl_floor *floor = line->floor;
    line->list_synced = false;
    for (zkl_contender *c = line->first; c && !line->list_synced; c = c->next)
        if (c->node == ZKL_NODE_LOST)
            line->list_synced =
                floor->port->call->erase(floor->port, floor->nothing,
                                         (zkl_return){line->subject.id, ZKL_ASK_BARRIER, 0}) == ZOK;
    zkl_vetting_before_list(line);
    const bool watch = wants_directory_watch(line);
    const int rc = floor->port->call->list(floor->port, line->path, watch,
                                           (zkl_return){line->subject.id, ZKL_ASK_LIST, watch});
    if (watch && rc == ZOK)
        zkl_ask_set_directory_watch(line, true);
    line->listing = rc == ZOK;
    line->list_wanted = !line->listing;
    if (rc != ZOK)
        zkl_ask_again_later(line);
}

/* A node that bears our GUID, and whose create nobody waits for any more: an answer was lost, or the session before
 * this one made it. It is deleted and not trusted. */
void zkl_ask_erase_stray(zkl_line *line, const char *name) {
    const zkl_return back = {line->subject.id, ZKL_ASK_ERASE_STRAY, 0};
    char *path = node_path(line, name);
    if (!path || line->floor->port->call->erase(line->floor->port, path, back) != ZOK)
        zkl_ask_again_later(line);
    free(path);
}

/* A watch on a node that stays would be carried along for the session's life. */
void zkl_ask_unwatch(zkl_line *line, zkl_child *child) {
    const zkl_return back = about(line, child, ZKL_ASK_UNWATCH);
    char *path = node_path(line, child->name);
    const int rc = path ? line->floor->port->call->unwatch(line->floor->port, path, false, back)
                        : ZMARSHALLINGERROR;
    free(path);
    if (rc == ZMARSHALLINGERROR)
        zkl_ask_again_later(line);
    else /* or the library knows of none */
        zkl_ask_set_child_watch(line, child, rc == ZOK ? ZKL_WATCH_LEAVING : ZKL_WATCH_NONE);
}

void zkl_ask_unwatch_directory(zkl_line *line) {
    const zkl_return back = {line->subject.id, ZKL_ASK_UNWATCH_DIRECTORY, 0};
    const int rc = line->floor->port->call->unwatch(line->floor->port, line->path, true, back);
    if (rc == ZMARSHALLINGERROR)
        zkl_ask_again_later(line);
    else if (rc == ZOK)
        line->unwatching = true;
    else
        zkl_ask_set_directory_watch(line, false);
}
