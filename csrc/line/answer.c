/* SPDX-License-Identifier: MIT */
#include "line/answer.h"

#include "base/backoff.h"
#include "base/status.h"
#include "base/timer.h"
#include "line/acl_check.h"
#include "line/contender.h"
#include "line/departure.h"
#include "paths/directories.h"
#include "line/doubt.h"
#include "line/evaluate.h"
#include "line/front.h"
#include "line/outbox.h"
#include "line/parents.h"
#include "line/recover.h"
#include "line/send.h"
#include "paths/watch_budget.h"
#include "recipe/snapshot.h"
#include "recipe/throttle.h"
#include "recipe/znode.h"

#include <string.h>
#include <zookeeper/zookeeper.h>

/* The pauses between deletes of one node that the servers refuse. */
#define PAUSE_FIRST (ZKL_SECOND / 2)
#define PAUSE_MOST (30 * ZKL_SECOND)
/* Servers that are only busy may delete it soon, and other clients wait for the lock. */
#define PAUSE_BUSY (5 * ZKL_SECOND)

/* ---- to a line ---- */

static void take_list(zkl_line *line, const zkl_reply *reply) {
    line->pause = 0;
    if (!line->retry.at) /* otherwise something else was refused */
        zkl_throttle_served(&line->common->throttle);
    line->listed = zkl_context_now(line->context);
    zkl_acl_check_listed(line, reply->stat);
    zkl_evaluate_list(line, reply->names, reply->count);
}

/* The snapshot is current if the list was read under the watch on the directory, and the watch has
 * reported nothing since. */
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
        zkl_directories_listed(&line->common->directories, line->path, line->context->session,
                               reply->stat, line->asked);
        take_list(line, reply);
        note_current(line);
    } else if (reply->rc == ZNONODE) {
        zkl_directories_gone(&line->common->directories, line->path);
        zkl_acl_check_listed(line, NULL);
        zkl_evaluate_list(line, NULL, 0); /* the directory does not exist, so it is empty */
    } else if (zkl_status_passes(reply->rc)) {
        zkl_line_retry_after(line, reply->rc);
    } else {
        zkl_leave_fail_waiting(line, zkl_status_of(reply->rc));
        zkl_line_retry_later(line); /* a lost node is searched for as long as the session lives */
    }
    zkl_front_listed(line, reply->rc == ZOK || reply->rc == ZNONODE);
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

/* The child whose latest request about a watch is this one, if its watch is still as the request
 * left it; else NULL. */
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

/* A list has shown the child, so it was deleted since. Meanwhile it may have turned out to be one
 * of ours, which keeps its node until the answer about that comes. */
static void blocker_missing(zkl_line *line, const zkl_child *child) {
    if (child->mine && zkl_node_is_there(child->mine->node))
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
        zkl_line_retry_after(line, reply->rc);
    else if (reply->rc != ZOK && child)
        zkl_leave_fail_behind(line, child->sequence, zkl_status_of(reply->rc));
}

/* The answer to the removal of a watch, on that child; NULL: on the directory. If the request was
 * cut off, the watch is still armed, and zkl_line_quit asks again. If the servers refused, the
 * library keeps the watch. */
static zkl_watch unwatched(zkl_line *line, const char *name, const zkl_reply *reply) {
    if (zkl_status_passes(reply->rc)) {
        if (zkl_context_is_linked(line->context))
            zkl_line_retry_after(line, reply->rc); /* otherwise zkl_line_resume does */
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
        ZKL_WATCH_LEAVING) /* otherwise it has fired meanwhile, and is gone */
        zkl_line_set_directory_watch(line, unwatched(line, NULL, reply));
}

/* True if each waiter of the line may need the answer to such a request of the line. */
static bool is_awaited(zkl_line_request request) {
    return request == ZKL_REQUEST_LIST || request == ZKL_REQUEST_ACL ||
           request == ZKL_REQUEST_BARRIER;
}

void zkl_answer_to_line(zkl_receiver *receiver, const zkl_return *back, const zkl_reply *reply) {
    zkl_line *line = ZKL_CONTAINER_OF(receiver, zkl_line, receiver);
    const zkl_line_request request = (zkl_line_request)(back->what % ZKL_REQUESTS);
    if (zkl_status_throttled(reply->rc) && is_awaited(request))
        zkl_leave_end_tries(line, NULL);
    switch (request) {
    case ZKL_REQUEST_LIST:
        list_answered(line, reply, back->detail != 0);
        break;
    case ZKL_REQUEST_ACL:
        acl_answered(line, reply);
        break;
    case ZKL_REQUEST_BARRIER:
        if (reply->rc != ZNONODE) {
            line->list_synced = false;
            /* a listener would ask again at once, and lines that search all together */
            if (line->listeners.first || zkl_status_throttled(reply->rc))
                zkl_line_retry_after(line, reply->rc);
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
        break;
    }
    zkl_line_settle(line);
}

/* ---- to a contender ---- */

/* No node was created. false: nobody waits for one any more. */
static bool waits_without_node(zkl_contender *c) {
    zkl_contender_set_node(c, ZKL_NODE_NONE);
    if (c->phase != ZKL_OVER)
        return true;
    zkl_leave_retire(c);
    return false;
}

/* The latest round of parents did not help. true: the line does not try again, and the create fails
 * with `why`. */
static bool count_vain_round(zkl_line *line, zkl_status *why) {
    zkl_parents *parents = &line->parents;
    const int refused = parents->round ? parents->refused : ZOK;
    if (refused == ZOK && ++line->vain_rounds <= ZKL_PARENTS_ROUNDS_MOST)
        return false;
    *why = zkl_status_of(refused != ZOK ? refused : ZNONODE);
    parents->refused = ZOK; /* the next caller tries again */
    line->vain_rounds = 0;
    return true;
}

/* The next round of parents, and the creates behind it, come after a pause. */
static void parents_later(zkl_contender *c) {
    c->line->parents_due = true;
    zkl_line_forget_node(c);
    zkl_line_retry_after(c->line, c->line->parents.unheard);
}

/* Servers have refused something of the latest round of parents for now. */
static void parents_unheard(zkl_contender *c) {
    zkl_line *line = c->line;
    line->vain_rounds = 0; /* what is tried after a pause is no storm */
    if (zkl_status_throttled(line->parents.unheard))
        zkl_leave_end_tries(line, c);
    if (c->phase == ZKL_WAITING)
        parents_later(c);
}

/* The create has found no directory. The first contender that reports this after a round of parents
 * asks for another round; the creates of the others go out behind it. A round in which the servers
 * refused something for now does not count. If the link has ended before this answer came,
 * zkl_line_resume sends the creates again, and they report the same again. */
static void no_parents(zkl_contender *c) {
    zkl_line *line = c->line;
    zkl_directories_gone(&line->common->directories, line->path);
    if (!waits_without_node(c))
        return;
    if (c->parents == line->parents.round && zkl_context_is_linked(c->context)) {
        zkl_status why;
        if (line->parents.refused == ZOK && line->parents.unheard) {
            parents_unheard(c);
            return;
        }
        if (count_vain_round(line, &why)) {
            zkl_leave_fail_round(line, why); /* also fails this contender */
            return;
        }
        if (zkl_parents_make(&line->parents) != ZOK)
            zkl_line_retry_later(line);
    }
    zkl_send_create(c);
}

static void take_node(zkl_contender *c, const zkl_reply *reply) {
    zkl_line_name_node(c, strrchr(reply->path, '/') + 1);
    zkl_contender_set_node(c, ZKL_NODE_THERE);
    c->token = c->under.token ? c->under.token : reply->stat->czxid;
    zkl_line_directory_found(c->line);
    zkl_throttle_served(&c->common->throttle);
    zkl_directories_found(&c->common->directories, c->line->path);
    if (c->phase == ZKL_OVER)
        zkl_send_erase(c);
}

/* No node was created, and the servers do not refuse one. */
static void not_created(zkl_contender *c, int rc) {
    if (waits_without_node(c))
        zkl_line_retry_after(c->line, rc);
}

/* The servers refuse the node. */
static void create_refused(zkl_contender *c, int rc) {
    zkl_directories_refuse_node(&c->common->directories, c->line->path);
    if (waits_without_node(c))
        zkl_leave_fail(c, zkl_status_of(rc));
}

/* A stranger has made a node with the name that ours would have had. Another node of ours has
 * another name. false: that has happened too often. */
static bool take_another_name(zkl_contender *c) {
    if (c->phase != ZKL_WAITING || c->queue.anew == ZKL_AT_ONCE)
        return false;
    c->queue.anew++;
    zkl_send_create(c);
    return true;
}

/* A create is on its way until this answer: a contender that creates another node has a new number,
 * and answers from a closed handle do not arrive. */
static void created(zkl_contender *c, const zkl_reply *reply) {
    if (reply->rc == ZOK) {
        take_node(c, reply);
    } else if (reply->rc == ZNONODE) {
        no_parents(c);
    } else if (zkl_status_unknown(reply->rc)) {
        zkl_line_create_unknown(c); /* the next link searches for it */
    } else if (zkl_status_throttled(reply->rc)) {
        not_created(c, reply->rc);
    } else if (reply->rc != ZNODEEXISTS || !take_another_name(c)) {
        create_refused(c, reply->rc);
    }
}

/* A write to the directory went behind its create, in one transaction, and has counted the children
 * at that moment. If there is one, this is as good as a list of its node alone. */
static void counted(zkl_contender *c, const zkl_stat *directory) {
    zkl_line *line = c->line;
    zkl_directories_counted(&line->common->directories, line->path, directory);
    if (c->phase != ZKL_WAITING || c->node != ZKL_NODE_THERE)
        return;
    if (directory->children != 1) {
        line->list_wanted = true;
        return;
    }
    const char *const names[] = {c->name};
    zkl_acl_check_before_list(line);
    take_list(line, &(zkl_reply){.stat = directory, .names = names, .count = 1});
}

void zkl_line_created(zkl_contender *c, const zkl_reply *reply, const zkl_stat *directory) {
    zkl_line *line = c->line;
    if (zkl_status_throttled(reply->rc))
        zkl_leave_end_tries(line, c);
    created(c, reply);
    if (directory)
        counted(c, directory);
    zkl_line_settle(line);
}

void zkl_line_not_created(zkl_contender *c) {
    zkl_line *line = c->line;
    not_created(c, ZOK);
    zkl_line_settle(line);
}

void zkl_line_create_again(zkl_contender *c) {
    zkl_line *line = c->line;
    if (waits_without_node(c))
        zkl_send_create(c);
    zkl_line_settle(line);
}

static void erase_again(zkl_timer *timer) {
    zkl_contender *c = ZKL_CONTAINER_OF(timer, zkl_contender, erase_timer);
    zkl_line *line = c->line;
    if (c->node == ZKL_NODE_THERE)
        zkl_send_erase(c);
    zkl_line_settle(line);
}

/* The delete is tried again as long as the session lives, unless somebody else deletes the node. */
static void erase_refused(zkl_contender *c, const zkl_reply *reply) {
    const bool busy = zkl_status_throttled(reply->rc);
    zkl_blocker_stays(c->line, c->name);
    if (!busy) {
        zkl_doubt_end(c, ZKL_LOSS_NONE); /* the session is alive */
        zkl_contender_refused(c, zkl_status_of(reply->rc));
    } else if (c->end.erases == 1) {
        c->end.erases = 0; /* no server has carried it out */
    }
    zkl_send_watch_own(c);
    const zkl_nanos pause =
        zkl_backoff(&c->erase_pause, PAUSE_FIRST, busy ? PAUSE_BUSY : PAUSE_MOST);
    c->erase_timer.fire = erase_again;
    zkl_timer_set(&c->context->timers, &c->erase_timer, zkl_context_now(c->context) + pause);
}

/* A delete is on its way until this answer, for the reasons given at created(). */
static void erased(zkl_contender *c, const zkl_reply *reply) {
    zkl_contender_set_node(c, ZKL_NODE_THERE);
    if (reply->rc == ZOK || reply->rc == ZNONODE) {
        const bool lost = reply->rc == ZNONODE && c->end.erases == 1;
        zkl_doubt_end(c, lost ? ZKL_LOSS_DELETED : ZKL_LOSS_NONE);
        if (c->phase == ZKL_OVER)
            zkl_leave_retire(c);
        else
            zkl_leave_missing(c);
    } else if (c->phase == ZKL_WAITING || zkl_status_unknown(reply->rc)) {
        /* A waiter's list decides; a contender that is over deletes again. Without a link
         * zkl_line_resume does both. */
        if (zkl_context_is_linked(c->context))
            zkl_line_retry_after(c->line, reply->rc);
    } else {
        erase_refused(c, reply);
    }
}

void zkl_line_erased(zkl_contender *c, const zkl_reply *reply) {
    zkl_line *line = c->line;
    erased(c, reply);
    zkl_line_settle(line);
}

/* In the format of Apache Curator's Revoker. */
static bool is_revocation(const zkl_reply *reply) {
    return reply->length == strlen(ZKL_REVOKE) &&
           memcmp(reply->data, ZKL_REVOKE, reply->length) == 0;
}

static void own_found(zkl_contender *c, const zkl_reply *reply) {
    c->token = c->under.token ? c->under.token : reply->stat->czxid;
    if (is_revocation(reply))
        zkl_contender_revoked(c);
    zkl_evaluate_grant(c, ZKL_BY_NEWS);
}

/* A session that is about to end has created it, so it is not ours. Or ours was deleted before its
 * watch was set, and a stranger has made one of its name: line_forged_test holds that, the
 * simulation does not. */
static void own_of_other_session(zkl_contender *c) {
    if (c->watch != ZKL_WATCH_NONE)
        zkl_watch_budget_leave(&c->common->watch_budget, c->line->path, c->name, false);
    zkl_send_erase_stray(c->line, c->name);
    zkl_leave_missing(c);
}

static void own_read(zkl_contender *c, const zkl_reply *reply) {
    if (!zkl_node_is_there(c->node))
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
        zkl_line_retry_after(c->line, reply->rc);
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

static void measure(zkl_contender *c, const zkl_reply *reply) {
    zkl_outbox_answered(&c->common->outbox, c->receiver.id, !zkl_status_unknown(reply->rc),
                        zkl_context_now(c->context));
}

void zkl_answer_to_contender(zkl_receiver *receiver, const zkl_return *back,
                             const zkl_reply *reply) {
    zkl_contender *c = ZKL_CONTAINER_OF(receiver, zkl_contender, receiver);
    zkl_line *line = c->line;
    if (zkl_status_throttled(reply->rc))
        zkl_leave_end_tries(line, c);
    switch ((zkl_own_request)back->what) {
    case ZKL_REQUEST_CREATE:
        measure(c, reply);
        created(c, reply);
        break;
    case ZKL_REQUEST_ERASE:
        measure(c, reply);
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
    }
    zkl_line_settle(line);
}
