#include "line/answer.h"

#include "base/backoff.h"
#include "base/status.h"
#include "base/timer.h"
#include "line/acl_check.h"
#include "line/contender.h"
#include "line/departure.h"
#include "line/doubt.h"
#include "line/evaluate.h"
#include "line/parents.h"
#include "line/recover.h"
#include "line/send.h"
#include "line/watch_budget.h"
#include "port/wire.h"
#include "recipe/snapshot.h"
#include "recipe/znode.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* Pauses between deletes of one node that the servers refuse. */
#define PATIENCE_FIRST (ZKL_SECOND / 2)
#define PATIENCE_MOST (30 * ZKL_SECOND)
/* Servers that are only busy may do it soon, and others wait for the lock. */
#define PATIENCE_BUSY (5 * ZKL_SECOND)
/* How often the parents may vanish as soon as they are created, before it is told that somebody
 * deletes them on purpose. */
#define ROUNDS_MOST 50

/* ---- to a line ---- */

static void note_list(zkl_line *line, const zkl_reply *reply) {
    line->listed = zkl_context_now(line->context);
    line->listed_bytes = 0;
    for (size_t i = 0; i < reply->count; i++)
        line->listed_bytes += (uint32_t)zkl_wire_text(strlen(reply->names[i]));
}

/* Are all in the snapshot who are in the directory, and will it be told if that changes? */
static void note_current(zkl_line *line) {
    line->freshness.unsynced = line->freshness.unsynced && !line->list_synced;
    if (line->freshness.stale || line->freshness.unsynced)
        return;
    line->freshness.current = line->directory_watch == ZKL_WATCH_ARMED;
    line->known = line->asked;
    line->lists++;
}

static void list_answered(zkl_line *line, const zkl_reply *reply, bool watch) {
    line->list_sent = false;
    if (watch && reply->rc != ZOK)
        zkl_line_set_directory_watch(line, ZKL_WATCH_NONE);
    if (reply->rc == ZOK) {
        line->pause = 0;
        note_list(line, reply);
        zkl_acl_check_listed(line, reply->stat);
        zkl_evaluate_list(line, reply->names, reply->count);
        note_current(line);
    } else if (reply->rc == ZNONODE) {
        zkl_acl_check_listed(line, NULL);
        zkl_evaluate_list(line, NULL, 0); /* there is no directory, and nobody in it */
    } else if (zkl_status_passes(reply->rc)) {
        zkl_line_retry_later(line);
    } else {
        zkl_leave_fail_waiting(line, zkl_status_of(reply->rc));
        zkl_line_retry_later(line); /* a lost node is looked for as long as the session lives */
    }
}

static void acl_answered(zkl_line *line, const zkl_reply *reply) {
    zkl_status why = ZKL_OK;
    switch (zkl_acl_check_answered(line, reply, &why)) {
    case ZKL_ACL_SAFE:
        ZKL_EACH (zkl_contender, c, &line->members, member) {
            zkl_evaluate_grant(c, ZKL_BY_NEWS);
        }
        break;
    case ZKL_ACL_REFUSED:
        zkl_leave_fail_waiting(line, why);
        break;
    case ZKL_ACL_UNKNOWN:
        break;
    }
}

/* The blocker's going would never be told to us, so nobody can wait for it. Who stands before it
 * can wait as before. */
static void fail_behind(zkl_line *line, int32_t sequence, zkl_status status) {
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (c->phase == ZKL_WAITING && c->position == ZKL_POSITION_BEHIND && c->blocker == sequence)
            zkl_leave_fail(c, status);
    }
}

/* The child about whose watch that request was the latest, if the watch is as the request has left
 * it; else NULL. */
static zkl_child *child_of_request(zkl_line *line, const zkl_return *asked, zkl_watch watch) {
    const zkl_snapshot *snapshot = &line->snapshot;
    for (size_t i = zkl_snapshot_from(snapshot, asked->detail);
         i < snapshot->count && snapshot->children[i].sequence == asked->detail; i++) {
        zkl_child *child = &snapshot->children[i];
        if (child->request == asked->what / ZKL_REQUESTS)
            return child->watch == watch ? child : NULL;
    }
    return NULL;
}

/* A list has shown it, so it was deleted since. By now it may be known to be one of ours, which
 * does not stay without a node until the answer about its own comes. */
static void blocker_missing(zkl_line *line, const zkl_child *child) {
    if (child->mine && child->mine->node == ZKL_NODE_THERE)
        zkl_leave_missing(child->mine);
    else
        zkl_blocker_missing(line, child->name);
}

static void blocker_watched(zkl_line *line, const zkl_return *asked, const zkl_reply *reply) {
    zkl_child *child = child_of_request(line, asked, ZKL_WATCH_ASKED);
    if (child)
        zkl_line_set_child_watch(line, child, reply->rc == ZOK ? ZKL_WATCH_ARMED : ZKL_WATCH_NONE);
    if (child && reply->rc == ZOK)
        line->vain_lists = 0;
    if (reply->rc == ZNONODE && child)
        blocker_missing(line, child);
    else if (zkl_status_passes(reply->rc))
        zkl_line_retry_later(line);
    else if (reply->rc != ZOK && child)
        fail_behind(line, child->sequence, zkl_status_of(reply->rc));
}

/* A watch was to be taken back: from the child of that name; NULL: from the directory. If the
 * request was cut off, the watch is armed as before, and zkl_line_quit asks again; if it was
 * refused, the watch stays with the library. */
static zkl_watch unwatched(zkl_line *line, const char *name, const zkl_reply *reply) {
    if (zkl_status_passes(reply->rc)) {
        if (line->context->port)
            zkl_line_retry_later(line); /* otherwise zkl_line_resume comes to it */
        return ZKL_WATCH_ARMED;
    }
    if (reply->rc != ZOK)
        zkl_watch_budget_leave(&line->common->watch_budget, line->path, name, !name);
    return ZKL_WATCH_NONE;
}

static void child_unwatched(zkl_line *line, const zkl_return *asked, const zkl_reply *reply) {
    zkl_child *child = child_of_request(line, asked, ZKL_WATCH_LEAVING);
    if (child)
        zkl_line_set_child_watch(line, child, unwatched(line, child->name, reply));
}

static void directory_unwatched(zkl_line *line, const zkl_reply *reply) {
    if (line->directory_watch ==
        ZKL_WATCH_LEAVING) /* otherwise it has told meanwhile, and is gone */
        zkl_line_set_directory_watch(line, unwatched(line, NULL, reply));
}

void zkl_answer_to_line(zkl_receiver *receiver, const zkl_return *back, const zkl_reply *reply) {
    zkl_line *line = ZKL_CONTAINER_OF(receiver, zkl_line, receiver);
    switch ((zkl_request)(back->what % ZKL_REQUESTS)) {
    case ZKL_REQUEST_LIST:
        list_answered(line, reply, back->detail != 0);
        break;
    case ZKL_REQUEST_ACL:
        acl_answered(line, reply);
        break;
    case ZKL_REQUEST_BARRIER:
        if (reply->rc != ZNONODE) {
            line->list_synced = false;
            if (line->listeners.first) /* who would ask again at once */
                zkl_line_retry_later(line);
        }
        break;
    case ZKL_REQUEST_WATCH_BLOCKER:
        blocker_watched(line, back, reply);
        break;
    case ZKL_REQUEST_UNWATCH:
        child_unwatched(line, back, reply);
        break;
    case ZKL_REQUEST_UNWATCH_DIRECTORY:
        directory_unwatched(line, reply);
        break;
    case ZKL_REQUEST_ERASE_STRAY: /* if it failed, the next list shows the node again */
    case ZKL_REQUEST_CREATE:
    case ZKL_REQUEST_ERASE:
    case ZKL_REQUEST_WATCH_OWN:
    case ZKL_REQUEST_READ_OWN:
    case ZKL_REQUEST_CANDIDATE:
        break;
    }
    zkl_line_settle(line);
}

/* ---- to a contender ---- */

/* All whose creates came after this round of parents hear the same: otherwise each would ask for
 * one more round. */
static void fail_round(zkl_line *line, zkl_status status) {
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (c->phase == ZKL_WAITING && c->parents == line->parents.round)
            zkl_leave_fail(c, status);
    }
}

/* The latest round of parents did not help. true: it is not to be tried again, and `why` says what
 * it fails with. */
static bool is_hopeless(zkl_line *line, zkl_status *why) {
    zkl_parents *parents = &line->parents;
    const int refused = parents->round ? parents->refused : ZOK;
    if (refused == ZOK && ++line->vain_rounds <= ROUNDS_MOST)
        return false;
    *why = zkl_status_of(refused != ZOK ? refused : ZNONODE);
    parents->refused = ZOK; /* whoever comes next tries again */
    line->vain_rounds = 0;
    return true;
}

/* The next round of parents and the creates behind it come after a pause. */
static void parents_later(zkl_contender *c) {
    c->line->parents_due = true;
    zkl_line_forget_node(c);
    zkl_line_retry_later(c->line);
}

/* The create has found no directory. Whoever is the first to say so of the latest round of parents
 * asks for another one; the others' creates just come after it. A round in which the servers
 * refused something for now says nothing, and does not count. Without a link, of whose end we may
 * hear before such an answer, zkl_line_resume sends the creates again, and they say so again. */
static void no_parents(zkl_contender *c) {
    zkl_line *line = c->line;
    zkl_contender_set_node(c, ZKL_NODE_NONE);
    if (c->phase == ZKL_OVER) {
        zkl_leave_retire(c);
        return;
    }
    if (c->parents == line->parents.round && c->context->port) {
        zkl_status why;
        if (line->parents.refused == ZOK && line->parents.unheard) {
            parents_later(c);
            return;
        }
        if (is_hopeless(line, &why)) {
            fail_round(line, why); /* which fails this one, too */
            return;
        }
        if (zkl_parents_make(&line->parents) != ZOK)
            zkl_line_retry_later(line);
    }
    zkl_send_create(c);
}

static void take_node(zkl_contender *c, const zkl_reply *reply) {
    c->name = strdup(strrchr(reply->path, '/') + 1);
    if (!c->name) {
        zkl_line_create_unknown(c); /* the list finds it by its GUID */
        return;
    }
    zkl_contender_set_node(c, ZKL_NODE_THERE);
    c->token = c->borrowed ? c->borrowed : reply->stat->czxid;
    zkl_line_directory_found(c->line);
    if (c->phase == ZKL_OVER)
        zkl_send_erase(c);
}

/* The node is ASKED until this answer: a contender that creates another node has a new number, and
 * no answer of a handle that is gone arrives. */
static void created(zkl_contender *c, const zkl_reply *reply) {
    if (reply->rc == ZOK) {
        take_node(c, reply);
    } else if (reply->rc == ZNONODE) {
        no_parents(c);
    } else if (zkl_status_unknown(reply->rc)) {
        zkl_line_create_unknown(c); /* it is looked for when there is a link */
    } else {
        zkl_contender_set_node(c, ZKL_NODE_NONE);
        if (c->phase == ZKL_OVER)
            zkl_leave_retire(c);
        else if (zkl_status_throttled(reply->rc))
            zkl_line_retry_later(c->line);
        else
            zkl_leave_fail(c, zkl_status_of(reply->rc));
    }
}

void zkl_line_created(zkl_contender *c, const zkl_reply *reply) {
    zkl_line *line = c->line;
    created(c, reply);
    zkl_line_settle(line);
}

/* The delete is tried again for as long as the session lives, unless somebody else deletes the
 * node. */
static void erase_refused(zkl_contender *c, const zkl_reply *reply) {
    const bool busy = zkl_status_throttled(reply->rc);
    if (!busy) {
        zkl_doubt_end(c, false); /* the session lives */
        zkl_contender_refused(c, zkl_status_of(reply->rc));
    } else if (c->erases == 1) {
        c->erases = 0; /* no server has carried it out */
    }
    zkl_send_watch_own(c);
    const zkl_nanos pause =
        zkl_backoff(&c->patience, PATIENCE_FIRST, busy ? PATIENCE_BUSY : PATIENCE_MOST);
    zkl_timer_set(&c->context->timers, &c->timer, zkl_context_now(c->context) + pause);
}

/* The node is ERASING until this answer, as in created(). */
static void erased(zkl_contender *c, const zkl_reply *reply) {
    zkl_contender_set_node(c, ZKL_NODE_THERE);
    if (reply->rc == ZOK || reply->rc == ZNONODE) {
        zkl_doubt_end(c, reply->rc == ZNONODE && c->erases == 1);
        if (c->phase == ZKL_OVER)
            zkl_leave_retire(c);
        else
            zkl_leave_missing(c);
    } else if (c->phase == ZKL_WAITING || zkl_status_unknown(reply->rc)) {
        /* A waiter's list tells what to do, one that is over deletes again; without a link
         * zkl_line_resume does both. */
        if (c->context->port)
            zkl_line_retry_later(c->line);
    } else {
        erase_refused(c, reply);
    }
}

/* As Apache Curator's Revoker writes it. */
static bool is_revocation(const zkl_reply *reply) {
    return reply->length == strlen(ZKL_REVOKE) &&
           memcmp(reply->data, ZKL_REVOKE, reply->length) == 0;
}

static void own_found(zkl_contender *c, const zkl_reply *reply) {
    c->token = c->borrowed ? c->borrowed : reply->stat->czxid;
    if (is_revocation(reply))
        zkl_contender_revoked(c);
    zkl_evaluate_grant(c, ZKL_BY_NEWS);
}

/* A session that is about to end has made it: it is not ours. */
static void own_of_other_session(zkl_contender *c) {
    if (c->watch != ZKL_WATCH_NONE)
        zkl_watch_budget_leave(&c->common->watch_budget, c->line->path, c->name, false);
    zkl_send_erase_stray(c->line, c->name);
    zkl_leave_missing(c);
}

static void own_read(zkl_contender *c, const zkl_reply *reply) {
    if (c->node != ZKL_NODE_THERE)
        return;
    if (c->phase == ZKL_OVER) {
        if (reply->rc == ZNONODE)
            zkl_leave_missing(c);
    } else if (reply->rc == ZOK && reply->stat->session == c->context->session) {
        own_found(c, reply);
    } else if (reply->rc == ZOK) {
        own_of_other_session(c);
    } else if (reply->rc == ZNONODE) {
        zkl_leave_missing(c);
    } else if (zkl_status_passes(reply->rc)) {
        zkl_line_retry_later(c->line);
    } else if (c->phase == ZKL_WAITING) {
        zkl_leave_fail(c, zkl_status_of(reply->rc));
    }
}

static void candidate_answered(zkl_contender *c, int32_t sequence, const zkl_reply *reply) {
    if (!zkl_recover_answered(c, sequence, reply))
        return;
    if (is_revocation(reply))
        zkl_contender_revoked(c);
    if (c->phase == ZKL_OVER)
        zkl_send_erase(c);
    else
        zkl_evaluate_found(c);
}

void zkl_answer_to_contender(zkl_receiver *receiver, const zkl_return *back,
                             const zkl_reply *reply) {
    zkl_contender *c = ZKL_CONTAINER_OF(receiver, zkl_contender, receiver);
    zkl_line *line = c->line;
    switch ((zkl_request)back->what) {
    case ZKL_REQUEST_CREATE:
        created(c, reply);
        break;
    case ZKL_REQUEST_ERASE:
        erased(c, reply);
        break;
    case ZKL_REQUEST_CANDIDATE:
        candidate_answered(c, back->detail, reply);
        break;
    case ZKL_REQUEST_WATCH_OWN:
        zkl_line_set_own_watch(c, reply->rc == ZOK ? ZKL_WATCH_ARMED : ZKL_WATCH_NONE);
        own_read(c, reply);
        break;
    case ZKL_REQUEST_READ_OWN:
        c->reading = false;
        own_read(c, reply);
        break;
    case ZKL_REQUEST_LIST:
    case ZKL_REQUEST_ACL:
    case ZKL_REQUEST_BARRIER:
    case ZKL_REQUEST_WATCH_BLOCKER:
    case ZKL_REQUEST_UNWATCH:
    case ZKL_REQUEST_UNWATCH_DIRECTORY:
    case ZKL_REQUEST_ERASE_STRAY:
        break;
    }
    zkl_line_settle(line);
}

void zkl_line_own_missing(zkl_contender *c) {
    zkl_line *line = c->line;
    if (c->phase != ZKL_HELD)
        return;
    zkl_leave_missing(c);
    zkl_line_settle(line);
}

/* ---- watches ---- */

/* Our own node was deleted, by us or by an operator, or somebody has written to it. If one of ours
 * stood behind it before we knew whose it is, that watch was on the child, which may have left the
 * snapshot since. The answer to a request for a watch that is on its way shows what has happened
 * before, and leaves a watch. */
static void own_changed(zkl_contender *c, zkl_child *child, zkl_change change) {
    if (child && child->watch == ZKL_WATCH_ARMED)
        zkl_line_set_child_watch(c->line, child, ZKL_WATCH_NONE);
    if (c->watch == ZKL_WATCH_ARMED)
        zkl_line_set_own_watch(c, ZKL_WATCH_NONE);
    if (c->node != ZKL_NODE_THERE)
        return; /* our own delete, whose answer is coming */
    if (change == ZKL_CHANGE_DELETED)
        zkl_leave_missing(c);
    else
        zkl_send_watch_own(c); /* a watch tells only once */
}

/* If somebody has written to the blocker, the watch is gone, for a watch tells only once: without a
 * new one the list says how whoever waits is looked after. The answer to a request that is on its
 * way leaves a new one, unless the node is gone. */
static void blocker_changed(zkl_line *line, zkl_child *child, zkl_change change) {
    const zkl_watch watch = child->watch;
    if (watch != ZKL_WATCH_ASKED)
        zkl_line_set_child_watch(line, child, ZKL_WATCH_NONE);
    if (change == ZKL_CHANGE_OTHER)
        line->list_wanted |= !zkl_send_watch_blocker(line, child);
    else if (watch == ZKL_WATCH_ARMED)
        zkl_blocker_gone(line, child->name);
    else
        line->list_wanted = true;
}

/* The contender of ours whose node has this name; NULL: none has. */
static zkl_contender *called(const zkl_line *line, const char *name) {
    zkl_guid guid;
    if (!zkl_znode_guid(name, &guid) || guid.client != line->context->guid)
        return NULL;
    zkl_contender *c = zkl_line_member(line, guid.number);
    return c && c->line == line && c->name && strcmp(c->name, name) == 0 ? c : NULL;
}

void zkl_line_watch(zkl_line *line, const char *name, zkl_change change) {
    zkl_contender *c = called(line, name);
    const size_t index = zkl_snapshot_find(&line->snapshot, name);
    zkl_child *child = index != ZKL_NOT_FOUND ? &line->snapshot.children[index] : NULL;
    if (c)
        own_changed(c, child, change);
    else if (child)
        blocker_changed(line, child, change);
    zkl_line_settle(line);
}

bool zkl_line_watching(const zkl_line *line, const char *name) {
    const zkl_contender *c = called(line, name);
    const size_t index = zkl_snapshot_find(&line->snapshot, name);
    return (c && c->watch != ZKL_WATCH_NONE) ||
           (index != ZKL_NOT_FOUND && line->snapshot.children[index].watch != ZKL_WATCH_NONE);
}

void zkl_line_children_changed(zkl_line *line) {
    zkl_line_set_directory_watch(line, ZKL_WATCH_NONE); /* a watch tells only once */
    line->list_wanted |= zkl_line_counts(line);
    zkl_line_settle(line);
}

/* ---- time ---- */

/* At the end of max_hold the holder stops believing in its hold, and its node goes at once,
 * whatever the host is doing. */
static void hold_timer(zkl_contender *c) {
    if (c->hold_until <= zkl_context_now(c->context)) {
        zkl_contender_lost(c);
        zkl_leave_depart(c);
        return;
    }
    zkl_send_watch_own(c);
    zkl_evaluate_set_hold_timer(c, false);
}

void zkl_answer_contender_timer(zkl_timer *timer) {
    zkl_contender *c = ZKL_CONTAINER_OF(timer, zkl_contender, timer);
    zkl_line *line = c->line;
    switch (c->phase) {
    case ZKL_WAITING:
        zkl_leave_fail(c, c->context->port ? ZKL_TIMEOUT : ZKL_DISCONNECTED);
        break;
    case ZKL_HELD:
        hold_timer(c);
        break;
    case ZKL_OVER:
        if (c->node == ZKL_NODE_THERE)
            zkl_send_erase(c);
        break;
    }
    zkl_line_settle(line);
}
