/* SPDX-License-Identifier: MIT */
#include "line/line_state.h"

#include "base/backoff.h"
#include "base/round.h"
#include "base/status.h"
#include "base/timer.h"
#include "base/transitions.h"
#include "port/receiver.h"
#include "port/wire.h"
#include "recipe/throttle.h"
#include "recipe/znode.h"

#include <string.h>
#include <zookeeper/zookeeper.h>

#define RETRY_FIRST (ZKL_SECOND / 10)
#define RETRY_MOST (5 * ZKL_SECOND)

zkl_contender *zkl_line_member(const zkl_context *context, uint64_t number) {
    zkl_receiver *receiver = zkl_receiver_find(&context->receivers, number);
    return receiver && receiver->names_node ? ZKL_CONTAINER_OF(receiver, zkl_contender, receiver)
                                            : NULL;
}

size_t zkl_line_length(const zkl_line *line, const char *name) {
    return strlen(line->path) + 1 + strlen(name);
}

size_t zkl_line_node_length(const zkl_line *line, zkl_kind kind) {
    return strlen(line->path) + 1 + zkl_znode_length(kind);
}

zkl_kinds zkl_line_kinds_held(const zkl_line *line, const zkl_contender *except) {
    zkl_kinds kinds = 0;
    for (zkl_kind k = ZKL_KIND_LOCK; k < ZKL_KINDS; k++)
        if (line->tally.held[k] > (except && except->terms.kind == k))
            kinds |= ZKL_KINDS_OF(k);
    return kinds;
}

bool zkl_line_awaits_leases(const zkl_line *line) {
    return line->tally.waiting[ZKL_KIND_LEASE] > 0;
}

bool zkl_line_is_listed(const zkl_line *line) {
    const zkl_dispatch_tally *tally = &line->tally.dispatch;
    return line->list_sent || (line->list_wanted && (tally->creates_due || tally->deletes_due));
}

void zkl_line_idle(zkl_line *line) {
    if (line->idle)
        return;
    line->idle = true;
    zkl_list_append(&line->common->idle, &line->quiet);
}

void zkl_line_mark_dirty(const zkl_line *line) {
    ZKL_EACH (zkl_listener, listener, &line->listeners, item) {
        listener->dirty(listener);
    }
}

void zkl_line_make_way(zkl_line *line) {
    ZKL_EACH (zkl_listener, listener, &line->listeners, item) {
        listener->hurried(listener);
    }
}

void zkl_line_outdated(zkl_line *line) {
    if (line->freshness.current)
        line->known = zkl_context_now(line->context);
    line->freshness.current = false;
}

void zkl_line_create_unknown(zkl_contender *c) {
    zkl_contender_set_node(c, ZKL_NODE_UNKNOWN);
    c->line->searching = true;
    c->line->list_wanted = true;
    /* the list that is on its way may have been sent before the create */
    c->line->list_synced = false;
}

void zkl_line_directory_found(zkl_line *line) {
    line->vain_rounds = 0;
    line->parents.refused = ZOK;
    line->parents.unheard = ZOK;
}

size_t zkl_line_node_room(const zkl_line *line) {
    return strlen(line->path) + 1 + ZKL_ZNODE_SIZE;
}

const char *zkl_line_node_path(const zkl_contender *c) {
    return (const char *)(c + 1);
}

/* Returns where the name begins. */
static char *write_path(zkl_contender *c, const char *name) {
    const size_t length = strnlen(name, ZKL_ZNODE_SIZE - 1);
    char *at = stpcpy(stpcpy((char *)(c + 1), c->line->path), "/");
    memcpy(at, name, length);
    at[length] = '\0';
    return at;
}

const char *zkl_line_ask_node(zkl_contender *c, const char *name) {
    write_path(c, name);
    return zkl_line_node_path(c);
}

void zkl_line_name_node(zkl_contender *c, const char *name) {
    c->name = write_path(c, name);
}

void zkl_line_forget_node(zkl_contender *c) {
    zkl_contender_set_node(c, ZKL_NODE_NONE);
    zkl_contender_set_position(c, ZKL_POSITION_UNKNOWN);
    zkl_contender_set_search(c, ZKL_SEARCH_NONE);
    zkl_followers_leave(&c->line->followers, c);
    c->revoked = c->reading = false;
    zkl_line_set_own_watch(c, ZKL_WATCH_NONE);
    zkl_round_leave(&c->post);
    c->token = 0;
    c->end.erases = 0;
    c->name = NULL;
}

void zkl_line_retry_later(zkl_line *line) {
    if (line->retry.at)
        return;
    const zkl_nanos pause = zkl_backoff(&line->pause, RETRY_FIRST, RETRY_MOST);
    zkl_timer_set(&line->context->timers, &line->retry, zkl_context_now(line->context) + pause);
}

void zkl_line_retry_at(zkl_line *line, zkl_nanos at) {
    if (!line->retry.at)
        zkl_timer_set(&line->context->timers, &line->retry, at);
}

void zkl_line_retry_after(zkl_line *line, int rc) {
    if (!zkl_status_throttled(rc))
        zkl_line_retry_later(line);
    else if (!line->retry.at)
        zkl_line_retry_at(
            line, zkl_throttle_refused(&line->common->throttle, zkl_context_now(line->context)));
}

void zkl_line_list_anew(zkl_line *line) {
    if (line->vain_lists++ < ZKL_AT_ONCE)
        line->list_wanted = true;
    else
        zkl_line_retry_later(line);
}

static void count(zkl_line_common *common, size_t length, zkl_watch before, zkl_watch now) {
    if (now != ZKL_WATCH_NONE && before == ZKL_WATCH_NONE)
        zkl_watch_budget_add(&common->watch_budget, length);
    else if (now == ZKL_WATCH_NONE && before != ZKL_WATCH_NONE)
        zkl_watch_budget_remove(&common->watch_budget, length);
}

/* The answer to the latest request for a watch may come after an earlier watch has reported. */
static zkl_transitions own_watch_transitions = {
    .of = "watch on the own node",
    .names = {"NONE", "ASKED", "ARMED", "LEAVING"},
    .legal =
        {
            [ZKL_WATCH_NONE] = ZKL_TO(ZKL_WATCH_ASKED) | ZKL_TO(ZKL_WATCH_ARMED),
            [ZKL_WATCH_ASKED] = ZKL_TO(ZKL_WATCH_ARMED) | ZKL_TO(ZKL_WATCH_NONE),
            [ZKL_WATCH_ARMED] = ZKL_TO(ZKL_WATCH_NONE),
        },
    .describe = zkl_contender_describe,
};

/* A child has no pointer to its line. */
typedef struct member {
    const zkl_line *line;
    const zkl_child *child;
} member;

static void describe_child(const void *object, zkl_transition move, zkl_subject *subject) {
    const member *at = object;
    (void)move;
    subject->path = at->line->path + at->line->context->chroot;
    subject->node = at->child->name;
}

static zkl_transitions child_watch_transitions = {
    .of = "watch on a child",
    .names = {"NONE", "ASKED", "ARMED", "LEAVING"},
    .legal =
        {
            [ZKL_WATCH_NONE] = ZKL_TO(ZKL_WATCH_ASKED),
            [ZKL_WATCH_ASKED] = ZKL_TO(ZKL_WATCH_ARMED) | ZKL_TO(ZKL_WATCH_NONE),
            [ZKL_WATCH_ARMED] = ZKL_TO(ZKL_WATCH_LEAVING) | ZKL_TO(ZKL_WATCH_NONE),
            [ZKL_WATCH_LEAVING] = ZKL_TO(ZKL_WATCH_ARMED) | ZKL_TO(ZKL_WATCH_NONE),
        },
    .describe = describe_child,
};

void zkl_line_describe(const void *object, zkl_transition move, zkl_subject *subject) {
    const zkl_line *line = object;
    (void)move;
    subject->path = line->path + line->context->chroot;
}

static zkl_transitions directory_watch_transitions = {
    .of = "watch on the directory",
    .names = {"NONE", "ASKED", "ARMED", "LEAVING"},
    .legal =
        {
            [ZKL_WATCH_NONE] = ZKL_TO(ZKL_WATCH_ARMED),
            [ZKL_WATCH_ARMED] = ZKL_TO(ZKL_WATCH_LEAVING) | ZKL_TO(ZKL_WATCH_NONE),
            [ZKL_WATCH_LEAVING] = ZKL_TO(ZKL_WATCH_ARMED) | ZKL_TO(ZKL_WATCH_NONE),
        },
    .describe = zkl_line_describe,
};

void zkl_line_set_own_watch(zkl_contender *c, zkl_watch watch) {
    if (c->name && watch != c->watch)
        count(c->common, zkl_line_length(c->line, c->name), c->watch, watch);
    zkl_transitions_make(&own_watch_transitions, (zkl_transition){c->watch, watch},
                         c->context->trace, c);
    c->watch = watch;
}

void zkl_line_set_child_watch(zkl_line *line, zkl_child *child, zkl_watch watch) {
    if (watch != child->watch)
        count(line->common, zkl_line_length(line, child->name), child->watch, watch);
    zkl_transitions_make(&child_watch_transitions, (zkl_transition){child->watch, watch},
                         line->context->trace, &(member){line, child});
    child->watch = watch;
}

void zkl_line_set_directory_watch(zkl_line *line, zkl_watch watch) {
    count(line->common, strlen(line->path), line->directory_watch, watch);
    zkl_transitions_make(&directory_watch_transitions,
                         (zkl_transition){line->directory_watch, watch}, line->context->trace,
                         line);
    line->directory_watch = watch;
    zkl_line_outdated(line);
}

void zkl_line_abandon_child_watch(zkl_line *line, zkl_child *child) {
    /* If the child is one of ours with a watch of its own, the library has only one watch for both.
     * While that watch is only asked for, the request may fail, and this watch stays. */
    const bool has_another = child->mine && child->mine->watch == ZKL_WATCH_ARMED;
    if (child->watch != ZKL_WATCH_NONE && !has_another)
        zkl_watch_budget_leave(&line->common->watch_budget, line->path, child->name, false);
    zkl_line_set_child_watch(line, child, ZKL_WATCH_NONE);
}

size_t zkl_line_watched_bytes(const zkl_line *line) {
    size_t bytes = 0;
    for (size_t i = 0; i < line->snapshot.count; i++) {
        const zkl_child *child = &line->snapshot.children[i];
        if (child->watch != ZKL_WATCH_NONE)
            bytes += zkl_wire_text(zkl_line_length(line, child->name));
    }
    return bytes;
}
