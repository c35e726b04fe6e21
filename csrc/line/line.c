/* SPDX-License-Identifier: MIT */
#include "line/line.h"

#include "base/timer.h"
#include "line/acl_check.h"
#include "line/answer.h"
#include "line/contender.h"
#include "line/departure.h"
#include "line/doubt.h"
#include "line/evaluate.h"
#include "line/events.h"
#include "line/followers.h"
#include "line/front.h"
#include "line/parents.h"
#include "line/recover.h"
#include "line/send.h"
#include "paths/node_budget.h"
#include "paths/watch_budget.h"
#include "port/receiver.h"
#include "recipe/snapshot.h"
#include "recipe/verdict.h"
#include "recipe/znode.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* ---- life ---- */

static void retry_timer(zkl_timer *timer) {
    zkl_line_resume(ZKL_CONTAINER_OF(timer, zkl_line, retry));
}

zkl_line *zkl_line_new(zkl_line_common *common, const char *path) {
    zkl_line *line = calloc(1, sizeof *line);
    if (!line)
        return NULL;
    line->path = strdup(path);
    if (!line->path) {
        free(line);
        return NULL;
    }
    line->context = common->context;
    line->common = common;
    line->receiver.answer = zkl_answer_to_line;
    line->retry.fire = retry_timer;
    line->followers.snapshot = &line->snapshot;
    zkl_receiver_enter(&line->context->receivers, &line->receiver);
    zkl_parents_init(&line->parents, line->context, line->path);
    zkl_line_idle(line); /* until a contender joins */
    return line;
}

void zkl_line_free(zkl_line *line) {
    zkl_timer_clear(&line->context->timers, &line->retry);
    zkl_receiver_leave(&line->context->receivers, &line->receiver);
    zkl_parents_done(&line->parents);
    zkl_front_forget(line);
    zkl_snapshot_clear(&line->snapshot);
    free(line->path);
    free(line);
}

/* If a list that sets the watch on the directory is on its way, the watch stays for now: the
 * library does not know it yet. */
bool zkl_line_quit(zkl_line *line) {
    if (line->members.first)
        return false;
    const bool may_send = zkl_context_is_linked(line->context) && !line->retry.at;
    bool rid = true;
    for (size_t i = 0; i < line->snapshot.count; i++) {
        zkl_child *child = &line->snapshot.children[i];
        if (child->watch == ZKL_WATCH_ARMED && may_send)
            zkl_send_unwatch(line, child);
        rid = rid && child->watch == ZKL_WATCH_NONE;
    }
    if (line->directory_watch == ZKL_WATCH_ARMED && !line->list_sent && may_send)
        zkl_send_unwatch_directory(line);
    return rid && line->directory_watch == ZKL_WATCH_NONE;
}

/* ---- callers come and go ---- */

/* True if one of ours holds, and these terms would have to wait for it. Then a single try needs no
 * answer of the servers. */
static bool is_held_here(const zkl_line *line, const zkl_terms *terms) {
    const zkl_contender *under =
        terms->under && terms->under->phase == ZKL_HELD ? terms->under : NULL;
    return zkl_verdict_blocked(zkl_line_kinds_held(line, under), terms->kind);
}

/* A read under a write takes the write's token and sequence. */
static void borrow(zkl_contender *read, zkl_contender *write) {
    if (!write || write->phase != ZKL_HELD || !zkl_znode_parse(write->name, &read->under.sequence))
        return;
    read->under.token = write->token;
    read->under.lender = write->receiver.id;
    write->under.lent = true;
}

static void free_contender(zkl_contender *c) {
    free(c);
}

static const zkl_contender *part(const zkl_contender *c, size_t index) {
    return index == 0 ? c : NULL;
}

static const char *path(const zkl_contender *c) {
    return c->line->path;
}

static zkl_waits waits(const zkl_contender *c) {
    return (zkl_waits){c, c->line, 0, false};
}

static zkl_contender *new_member(zkl_line *line, uint64_t tag, const zkl_terms *terms,
                                 zkl_contender_listener *listener) {
    static const zkl_contender_table table = {
        .release = zkl_line_release,
        .give_up = zkl_line_release,
        .cancel = zkl_line_cancel,
        .hold_timer = zkl_line_hold_timer,
        .drop = zkl_line_drop,
        .free = free_contender,
        .part = part,
        .waits = waits,
        .path = path,
    };
    zkl_contender *c = malloc(sizeof *c + zkl_line_node_room(line));
    if (!c)
        return NULL;
    *c = (zkl_contender){
        .call = &table,
        .line = line,
        .tally = &line->tally,
        .receiver = {.answer = zkl_answer_to_contender, .names_node = true},
    };
    zkl_contender_init(c, line->common, tag, terms, listener);
    borrow(c, terms->under);
    zkl_list_append(&line->members, &c->member);
    return c;
}

/* The listener of a part has seen that there is room for the whole. If there is none any more, the
 * part waits for it. */
static bool take_share(zkl_contender *c) {
    zkl_node_budget *budget = &c->common->node_budget;
    const size_t bytes = zkl_line_node_length(c->line, c->terms.kind);
    if (!c->is_part)
        return zkl_node_budget_take(budget, &c->share, bytes, &c->shortage);
    zkl_node_budget_claim(budget, &c->share, bytes);
    return true;
}

static zkl_contender *join(zkl_line *line, uint64_t tag, const zkl_terms *terms,
                           zkl_contender_listener *listener) {
    const bool once = terms->once, vain = once && is_held_here(line, terms);
    const bool busy = zkl_max_waiting_refuses(line, terms);
    zkl_contender *c = new_member(line, tag, terms, listener);
    if (!c)
        return NULL;
    if (busy) {
        zkl_leave_fail(c, ZKL_BUSY);
    } else if (vain) {
        zkl_leave_fail(c, ZKL_TIMEOUT);
    } else if (once && !zkl_context_is_linked(line->context)) {
        zkl_leave_fail(c, ZKL_DISCONNECTED);
    } else if (!take_share(c)) {
        zkl_leave_fail(c, ZKL_TOO_BIG);
    } else {
        zkl_contender_set_deadline(c, terms);
        zkl_send_create(c);
        zkl_line_settle(line);
    }
    return c;
}

zkl_contender *zkl_line_join(zkl_line *line, uint64_t tag, const zkl_terms *terms) {
    return join(line, tag, terms, &zkl_listener_host);
}

zkl_contender *zkl_line_join_part(zkl_line *line, const zkl_terms *terms,
                                  zkl_contender_listener *listener) {
    return join(line, 0, terms, listener);
}

static void end_hold(zkl_contender *c) {
    zkl_contender_released(c);
    zkl_leave_depart(c);
}

zkl_status zkl_line_release(zkl_contender *c) {
    if (c->outcome == ZKL_LOST)
        return ZKL_LOST;
    if (c->phase != ZKL_HELD)
        return ZKL_NOT_OWNER;
    zkl_line *line = c->line;
    const zkl_status status = zkl_doubt_about(c);
    if (status == ZKL_LOST) {
        zkl_contender_lost(c, ZKL_LOSS_MAX_HOLD);
    } else {
        zkl_contender_released(c);
        zkl_doubt_begin(c, c, status);
    }
    zkl_leave_depart(c);
    zkl_line_settle(line);
    return status;
}

void zkl_line_cancel(zkl_contender *c, zkl_status status) {
    if (c->phase != ZKL_WAITING)
        return;
    zkl_line *line = c->line;
    zkl_leave_fail(c, status);
    zkl_line_settle(line);
}

void zkl_line_drop(zkl_contender *c) {
    if (c->phase != ZKL_OVER && !c->is_part)
        c->context->counters.abandoned++;
    zkl_doubt_drop(c);
    zkl_contender_drop(c);
    zkl_line_cancel(c, ZKL_CANCELLED);
    zkl_line_release(c);
}

void zkl_line_drop_part(zkl_contender *c) {
    zkl_contender_drop(c);
    if (c->phase == ZKL_WAITING)
        zkl_leave_fail(c, ZKL_CANCELLED);
    else if (c->phase == ZKL_HELD)
        end_hold(c);
}

void zkl_line_insist(zkl_line *line) {
    zkl_line_make_way(line);
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (c->end.refused != ZKL_OK)
            zkl_send_erase(c);
    }
}

/* No contender needs to hear of these nodes any more. A node of ours may have a watch because a
 * waiter stood behind it before the client knew that the node was its own. The library keeps that
 * watch. */
static void forget_own_nodes(zkl_line *line) {
    zkl_followers_clear(&line->followers);
    for (size_t i = 0; i < line->snapshot.count; i++)
        if (line->snapshot.children[i].mine)
            zkl_line_abandon_child_watch(line, &line->snapshot.children[i]);
    zkl_snapshot_remove_mine(&line->snapshot);
}

void zkl_line_fail(zkl_line *line, zkl_status status, bool give_back) {
    ZKL_EACH (zkl_listener, listener, &line->listeners, item) {
        listener->failed(listener, status, give_back);
    }
    forget_own_nodes(line);
    zkl_leave_fail_waiting(line, status);
    if (give_back) {
        zkl_doubt_drop_all(line->common);
        ZKL_EACH (zkl_contender, c, &line->members, member) {
            zkl_doubt_drop(c);
            if (c->phase == ZKL_HELD)
                end_hold(c);
        }
    }
    zkl_line_settle(line); /* a list may have waited for a create that no longer goes */
}

/* ---- the link and the session ---- */

/* Keeps the snapshot for its watches, which the library sets again when it reconnects. */
void zkl_line_suspend(zkl_line *line) {
    line->freshness.stale = line->freshness.unsynced = true;
    zkl_line_outdated(line);
    zkl_followers_clear(&line->followers);
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        zkl_contender_set_position(c, ZKL_POSITION_UNKNOWN);
        zkl_contender_not_due(c); /* zkl_line_resume comes to it */
        if (c->phase == ZKL_WAITING && c->terms.once)
            zkl_leave_fail(c, ZKL_DISCONNECTED);
    }
    zkl_line_mark_dirty(line);
}

/* false: servers refuse the delete of a node, so there may never be room for that of this try. */
static bool take_room(zkl_contender *c) {
    return !c->terms.once || c->common->refusals == 0 ||
           zkl_node_budget_settle(&c->common->node_budget, &c->share);
}

/* Sends the request that the contender needs next, or wants the list that shows it. */
static void resume(zkl_contender *c) {
    switch (c->node) {
    case ZKL_NODE_NONE: /* it waits: otherwise it would be in no line */
    case ZKL_NODE_CREATE_DUE:
    case ZKL_NODE_CREATE_BEHIND:
        if (take_room(c))
            zkl_send_create(c);
        else
            zkl_leave_fail(c, ZKL_TOO_BIG);
        break;
    case ZKL_NODE_THERE:
        if (c->phase == ZKL_OVER)
            zkl_send_erase(c);
        else if (c->phase == ZKL_HELD)
            zkl_send_watch_own(c);
        else
            c->line->list_wanted = true;
        break;
    case ZKL_NODE_UNKNOWN:
        c->line->list_wanted = true;
        break;
    case ZKL_NODE_DELETE_DUE:
        break; /* the outbox sends it */
    case ZKL_NODE_CREATE_SENT:
    case ZKL_NODE_CREATE_BATCHED:
    case ZKL_NODE_CREATE_TRANSACTED:
    case ZKL_NODE_DELETE_SENT:
    case ZKL_NODE_DELETE_BATCHED:
        break; /* the answer comes, perhaps only to report that the request was cut off */
    }
}

void zkl_line_resume(zkl_line *line) {
    if (!zkl_context_is_linked(line->context))
        return;
    zkl_timer_clear(&line->context->timers, &line->retry); /* this checks everything now */
    if (line->parents_due && line->members.first && zkl_parents_make(&line->parents) != ZOK) {
        zkl_line_retry_later(line);
        return;
    }
    line->parents_due = false;
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        resume(c);
    }
    zkl_line_settle(line);
}

/* The library's handle is gone, and with it its watches and all requests. */
static void lose_handle(zkl_line *line) {
    zkl_line_suspend(line);
    line->common->watch_budget.bytes -= zkl_line_watched_bytes(line);
    zkl_snapshot_clear(&line->snapshot);
    zkl_acl_check_forget(line);
    zkl_front_unlink(line);
    line->list_sent = false;
    zkl_line_set_directory_watch(line, ZKL_WATCH_NONE);
    zkl_receiver_enter(&line->context->receivers, &line->receiver);
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        zkl_line_set_own_watch(c, ZKL_WATCH_NONE);
        zkl_recover_forget(c);
        c->reading = false;
    }
    zkl_line_idle(line); /* if it has no contender */
}

void zkl_line_relink(zkl_line *line) {
    lose_handle(line);
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (zkl_node_is_asked(c->node)) {
            zkl_contender_set_node(c, ZKL_NODE_UNKNOWN);
            line->searching = true;
        } else if (c->node == ZKL_NODE_DELETE_SENT || c->node == ZKL_NODE_DELETE_BATCHED)
            zkl_contender_set_node(c, ZKL_NODE_THERE);
    }
}

void zkl_line_expire(zkl_line *line) {
    lose_handle(line);
    line->list_wanted = false;
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        zkl_receiver_leave(&line->context->receivers, &c->receiver);
        c->queue.settled |= c->queue.queued;
        c->queue.queued = false;
        if (c->phase == ZKL_HELD)
            zkl_contender_lost(c, ZKL_LOSS_EXPIRED);
        zkl_doubt_end(c, ZKL_LOSS_EXPIRED);
        if (c->phase == ZKL_OVER)
            zkl_leave_retire(c);
        else
            zkl_line_forget_node(c);
    }
}

/* Other waiters stand behind it, and it would stay in front of them until its deadline. */
void zkl_line_unsure(zkl_line *line) {
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (c->phase == ZKL_WAITING && c->queue.position == ZKL_POSITION_FIRST &&
            zkl_context_lose_patience(c->context, &c->patience))
            zkl_leave_fail(c, ZKL_DISCONNECTED);
    }
    zkl_line_settle(line);
}

void zkl_line_refreshed(zkl_line *line) {
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        zkl_evaluate_grant(c, ZKL_BY_NEWS);
    }
    zkl_line_settle(line);
}
