/* SPDX-License-Identifier: MIT */
#include "nodes/node_watch.h"

#include "base/event.h"
#include "base/list.h"
#include "base/path_table.h"
#include "base/round.h"
#include "base/status.h"
#include "base/table.h"
#include "base/timer.h"
#include "line/lines.h"
#include "nodes/content.h"
#include "paths/watch_budget.h"
#include "port/barrier.h"
#include "port/receiver.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* The same budget as for locks: together they fit into the servers' packet. */
#define BYTES_MOST ZKL_WATCH_BUDGET_MOST
/* Each node is also read that often: twice in the minute that the docs promise. */
#define PERIOD (30 * ZKL_SECOND)
/* How many reads are on their way at a time. */
#define WINDOW 64

/* ---- its data ---- */

/* The subject of an answer. */
enum { READ, PRESENCE, UNWATCH };

/* RESTING: the watch continues it, or its turn in the round. DUE: the end of a step with a
 * link (zkl_node_watches_resume and the timer `look` lead to one). ASKED, LEAVING: the answer,
 * perhaps only that it was cut off, or zkl_node_watches_unlink. */
typedef enum node_watch_stage { RESTING, DUE, ASKED, LEAVING } node_watch_stage;

struct zkl_node_watch {
    zkl_nodes *nodes;
    zkl_receiver receiver;
    zkl_table_item found; /* nodes->node_watches */
    zkl_list_item item;   /* nodes->due */
    zkl_post post;        /* nodes->round */
    char *path;
    bool children;
    node_watch_stage stage;
    bool on_data, on_children; /* the library has these watches for it */
    bool again;                /* there was a change since it was asked */
    bool missing;              /* the node did not exist: the next read comes behind an exists */
    int presence;              /* the answer to that exists */
    bool over;                 /* the host has quit */
    bool told;                 /* the host has a state, namely: */
    int told_rc;               /* ZOK, ZNONODE, ZNOAUTH */
    int64_t czxid;             /* with ZOK: of which node ... */
    int64_t xid;               /* ... and from which transaction */
    zkl_content *content;      /* the host has not taken it yet; NULL: told_rc says everything */
    bool news;
    zkl_notice changed;
};

static zkl_node_watch *watch_at(const zkl_table_item *item) {
    return item ? ZKL_CONTAINER_OF(item, zkl_node_watch, found) : NULL;
}

static const char *path_of(const zkl_table_item *item) {
    return watch_at(item)->path;
}

/* The first node watch of the path; the next one of the same path. NULL: none. */
static zkl_node_watch *first_at(const zkl_nodes *nodes, const char *path) {
    return watch_at(zkl_path_table_find(&nodes->node_watches, path, strlen(path)));
}

static zkl_node_watch *next_of(const zkl_node_watch *node_watch) {
    return watch_at(zkl_path_table_next(&node_watch->nodes->node_watches, &node_watch->found));
}

/* Calls the function for each node watch. It may free that one. */
static void each(zkl_nodes *nodes, void (*call)(zkl_node_watch *node_watch)) {
    zkl_table_walk walk = {0};
    zkl_node_watch *node_watch;
    while ((node_watch = watch_at(zkl_table_walk_on(&nodes->node_watches.table, &walk))))
        call(node_watch);
}

static void set_stage(zkl_node_watch *node_watch, node_watch_stage to) {
    zkl_nodes *nodes = node_watch->nodes;
    if (node_watch->stage == DUE)
        zkl_list_remove(&nodes->due, &node_watch->item);
    if (node_watch->stage == ASKED)
        nodes->reading--;
    node_watch->stage = to;
    if (to == DUE)
        zkl_list_append(&nodes->due, &node_watch->item);
    if (to == ASKED)
        nodes->reading++;
}

/* Reads nothing for a moment. */
static void pause_all(zkl_nodes *nodes) {
    zkl_context_retry_later(nodes->context, &nodes->look);
}

/* Frees the content that the host has not taken. */
static void clear(zkl_node_watch *node_watch) {
    zkl_content_free(node_watch->content);
    node_watch->content = NULL;
}

/* How many of the library's watches it may have. A question about the children of a missing node
 * also sets a watch on its data, if the node has been created meanwhile. */
static unsigned most_watches(bool children) {
    return children ? 2 : 1;
}

static void free_node_watch(zkl_node_watch *node_watch) {
    zkl_nodes *nodes = node_watch->nodes;
    set_stage(node_watch, RESTING);
    zkl_round_leave(&node_watch->post);
    zkl_receiver_leave(&nodes->context->receivers, &node_watch->receiver);
    for (unsigned i = most_watches(node_watch->children); i > 0; i--)
        zkl_watch_budget_remove(&nodes->watch_budget, strlen(node_watch->path));
    zkl_table_remove(&nodes->node_watches.table, &node_watch->found);
    clear(node_watch);
    free(node_watch->path);
    free(node_watch);
}

/* Whether the library has that watch for it. */
static bool *flag_of(zkl_node_watch *node_watch, bool list) {
    return list ? &node_watch->on_children : &node_watch->on_data;
}

/* At rest. It takes its share of the budget. NULL: no memory. */
static zkl_node_watch *node_watch_new(zkl_nodes *nodes, const char *path, bool children) {
    zkl_node_watch *node_watch = calloc(1, sizeof *node_watch);
    if (!node_watch)
        return NULL;
    node_watch->nodes = nodes;
    node_watch->children = children;
    node_watch->path = strdup(path);
    if (!node_watch->path || !zkl_table_add(&nodes->node_watches.table, &node_watch->found)) {
        free(node_watch->path);
        free(node_watch);
        return NULL;
    }
    for (unsigned i = 0; i < most_watches(children); i++)
        zkl_watch_budget_add(&nodes->watch_budget, strlen(path));
    return node_watch;
}

/* ---- the host has quit ---- */

/* True if the library has a watch of that kind for it, or will have once its read is answered. */
static bool relies_on(const zkl_node_watch *node_watch, bool list) {
    if (node_watch->stage == ASKED)
        return list ? node_watch->children : !node_watch->children || node_watch->missing;
    return list ? node_watch->on_children : node_watch->on_data;
}

/* Leaves the watch to another room or node watch that relies on it. Another node watch removes it
 * in turn, because its own request may have set no watch. false: nothing else relies on it. */
static bool hand_over(zkl_node_watch *node_watch, bool list) {
    if (zkl_lines_watching(node_watch->nodes->lines, node_watch->path, list))
        return true;
    for (zkl_node_watch *v = first_at(node_watch->nodes, node_watch->path); v; v = next_of(v)) {
        if (v == node_watch || v->over || !relies_on(v, list))
            continue;
        *flag_of(v, list) = true;
        return true;
    }
    return false;
}

/* Removes its watches, one after the other, and frees it when that is answered. */
static void leave(zkl_node_watch *node_watch) {
    zkl_context *context = node_watch->nodes->context;
    node_watch->on_data = node_watch->on_data && !hand_over(node_watch, false);
    node_watch->on_children = node_watch->on_children && !hand_over(node_watch, true);
    if (!node_watch->on_data && !node_watch->on_children) {
        free_node_watch(node_watch);
        return;
    }
    set_stage(node_watch, DUE);
    if (!zkl_context_is_linked(context))
        return;
    const bool list = !node_watch->on_data;
    zkl_receiver_enter(&context->receivers, &node_watch->receiver);
    const int rc =
        context->port->call->unwatch(context->port, node_watch->path, list,
                                     (zkl_return){node_watch->receiver.id, UNWATCH, list});
    if (rc == ZOK)
        set_stage(node_watch, LEAVING);
    else if (rc == ZMARSHALLINGERROR)
        pause_all(node_watch->nodes);
    else /* the library knows no such watch: the end of the step continues */
        *flag_of(node_watch, list) = false;
}

/* The answer to such a removal. If the servers refuse it, the library keeps the watch, which still
 * counts. */
static void unwatched(zkl_node_watch *node_watch, bool list, const zkl_reply *reply) {
    zkl_watch_budget *left = &node_watch->nodes->lines->common.watch_budget;
    if (!zkl_status_passes(reply->rc)) {
        *flag_of(node_watch, list) = false;
        if (reply->rc == ZOK)
            zkl_watch_budget_told(left, node_watch->path, list);
        else
            zkl_watch_budget_leave(left, node_watch->path, NULL, list);
    } else if (zkl_context_is_linked(node_watch->nodes->context)) { /* still armed: try once more */
        pause_all(node_watch->nodes);
    }
    set_stage(node_watch, DUE);
}

/* ---- the answers ---- */

/* True if the host has this state already. */
static bool is_known(const zkl_node_watch *node_watch, const zkl_reply *reply, int64_t xid) {
    return node_watch->told && node_watch->told_rc == reply->rc &&
           (reply->rc != ZOK ||
            (node_watch->czxid == reply->stat->czxid && node_watch->xid == xid));
}

static void post(zkl_node_watch *node_watch) {
    zkl_events_post(&node_watch->nodes->context->events, &node_watch->changed, ZKL_OK, 0);
}

/* false: no memory. */
static bool tell(zkl_node_watch *node_watch, const zkl_reply *reply) {
    const int64_t xid = reply->rc != ZOK       ? 0
                        : node_watch->children ? reply->stat->pzxid
                                               : reply->stat->mzxid;
    if (is_known(node_watch, reply, xid)) {
        if (node_watch->news) /* the host's callback may have ended without notice */
            post(node_watch);
        return true;
    }
    zkl_content *content = NULL;
    if (reply->rc == ZOK) {
        content = calloc(1, sizeof *content);
        if (!content)
            return false;
        if (!zkl_content_copy(content, reply)) {
            free(content);
            return false;
        }
    }
    clear(node_watch);
    node_watch->content = content;
    node_watch->news = node_watch->told = true;
    node_watch->told_rc = reply->rc;
    node_watch->czxid = content ? content->stat.czxid : 0;
    node_watch->xid = xid;
    post(node_watch);
    return true;
}

/* Handles a read that counts. */
static void seen(zkl_node_watch *node_watch, const zkl_reply *reply) {
    const bool missing = reply->rc == ZNONODE;
    if (missing && !(node_watch->missing && node_watch->presence == ZNONODE)) {
        if (node_watch->missing)
            pause_all(node_watch->nodes); /* the node existed for a moment */
        node_watch->missing = true;       /* no watch is set yet */
        set_stage(node_watch, DUE);
        return;
    }
    node_watch->missing = missing;
    if ((reply->rc == ZOK || missing || reply->rc == ZNOAUTH) && !tell(node_watch, reply)) {
        set_stage(node_watch, DUE);
        pause_all(node_watch->nodes);
        return;
    }
    node_watch->nodes->look.pause = 0;
    set_stage(node_watch, node_watch->again ? DUE : RESTING);
}

static void read_answered(zkl_node_watch *node_watch, const zkl_reply *reply) {
    const bool cut = zkl_status_unknown(reply->rc) || reply->rc == ZAUTHFAILED;
    if (reply->rc == ZOK) /* the watch is set, whether or not the content counts */
        *flag_of(node_watch, node_watch->children) = true;
    if (node_watch->over) {
        leave(node_watch);
    } else if (cut || zkl_status_throttled(reply->rc) ||
               !zkl_barrier_passed(&node_watch->nodes->barrier)) {
        set_stage(node_watch, DUE);
        if (!cut || zkl_context_is_linked(node_watch->nodes->context))
            pause_all(node_watch->nodes);
    } else {
        seen(node_watch, reply);
    }
}

static void answered(zkl_receiver *receiver, const zkl_return *asked, const zkl_reply *reply) {
    zkl_node_watch *node_watch = ZKL_CONTAINER_OF(receiver, zkl_node_watch, receiver);
    switch (asked->what) {
    case PRESENCE:
        node_watch->presence = reply->rc;
        if (reply->rc == ZOK || reply->rc == ZNONODE)
            node_watch->on_data = true;
        break;
    case UNWATCH:
        unwatched(node_watch, asked->detail != 0, reply);
        break;
    default:
        read_answered(node_watch, reply);
    }
}

/* ---- reading ---- */

static int ask(zkl_node_watch *node_watch) {
    zkl_context *context = node_watch->nodes->context;
    zkl_port *port = context->port;
    zkl_op op = {.kind = node_watch->children ? ZKL_OP_CHILDREN : ZKL_OP_GET,
                 .path = node_watch->path};
    const zkl_op presence = {.kind = ZKL_OP_EXISTS, .path = node_watch->path};
    int rc = zkl_barrier_raise(&node_watch->nodes->barrier);
    zkl_receiver_enter(&context->receivers, &node_watch->receiver);
    node_watch->presence = ZOK;
    if (rc == ZOK && node_watch->missing)
        rc = port->call->perform(port, &presence, true,
                                 (zkl_return){node_watch->receiver.id, PRESENCE, 0});
    return rc == ZOK ? port->call->perform(port, &op, true,
                                           (zkl_return){node_watch->receiver.id, READ, 0})
                     : rc;
}

/* false: nothing can be sent now. */
static bool go_on(zkl_node_watch *node_watch) {
    if (node_watch->over) {
        leave(node_watch);
        return true;
    }
    node_watch->again = false;
    const int rc = ask(node_watch);
    if (rc == ZOK) {
        set_stage(node_watch, ASKED);
        return true;
    }
    pause_all(node_watch->nodes);
    return false;
}

void zkl_node_watches_step(zkl_nodes *nodes) {
    ZKL_EACH (zkl_node_watch, node_watch, &nodes->due, item) {
        if (!zkl_context_is_linked(nodes->context) || nodes->closed || nodes->look.timer.at ||
            nodes->reading >= WINDOW || !go_on(node_watch))
            return;
    }
}

/* Its turn in the round. */
static zkl_nanos read_again(zkl_post *post) {
    zkl_node_watch *node_watch = ZKL_CONTAINER_OF(post, zkl_node_watch, post);
    if (!zkl_context_is_linked(node_watch->nodes->context))
        return ZKL_NEVER; /* zkl_node_watches_resume continues */
    if (node_watch->stage == RESTING)
        set_stage(node_watch, DUE);
    return 0;
}

/* ---- the link, the library's handle, watches ---- */

static void rejoin(zkl_node_watch *node_watch) {
    if (!node_watch->over)
        zkl_round_add(&node_watch->nodes->round, &node_watch->post);
}

void zkl_node_watches_resume(zkl_nodes *nodes) {
    zkl_timer_clear(&nodes->context->timers, &nodes->look.timer);
    each(nodes, rejoin);
}

static void unlink_node_watch(zkl_node_watch *node_watch) {
    node_watch->on_data = node_watch->on_children = false;
    zkl_receiver_leave(&node_watch->nodes->context->receivers, &node_watch->receiver);
    if (node_watch->over)
        free_node_watch(node_watch);
    else if (node_watch->stage != DUE)
        set_stage(node_watch, DUE);
}

void zkl_node_watches_unlink(zkl_nodes *nodes) {
    each(nodes, unlink_node_watch);
}

static void look_away(zkl_node_watch *node_watch) {
    zkl_events_drop(&node_watch->nodes->context->events, &node_watch->changed);
    zkl_round_leave(&node_watch->post);
}

void zkl_node_watches_close(zkl_nodes *nodes) {
    nodes->closed = true;
    each(nodes, look_away);
}

static void look_closer(zkl_node_watch *node_watch) {
    if (node_watch->stage == RESTING)
        set_stage(node_watch, DUE);
    else if (node_watch->stage == ASKED)
        node_watch->again = true;
}

bool zkl_node_watches_told(zkl_nodes *nodes, const char *path, zkl_change change) {
    zkl_node_watch *first = first_at(nodes, path);
    for (zkl_node_watch *v = first; v; v = next_of(v)) {
        const bool concerned =
            change == ZKL_CHANGE_DELETED ||
            (change == ZKL_CHANGE_CHILDREN ? v->children : !v->children || v->missing);
        if (!concerned)
            continue;
        if (change != ZKL_CHANGE_CHILDREN)
            v->on_data = false; /* a watch fires only once */
        if (change != ZKL_CHANGE_OTHER)
            v->on_children = false;
        if (!v->over)
            look_closer(v);
    }
    return first != NULL;
}

void zkl_node_watches_unwatched(zkl_nodes *nodes, const char *path, bool list) {
    for (zkl_node_watch *v = first_at(nodes, path); v; v = next_of(v)) {
        if (v->over || !relies_on(v, list))
            continue;
        *flag_of(v, list) = false;
        look_closer(v);
    }
}

/* ---- life ---- */

void zkl_node_watches_init(zkl_nodes *nodes, zkl_lines *lines) {
    nodes->lines = lines;
    zkl_watch_budget_init(&nodes->watch_budget, BYTES_MOST);
    zkl_path_table_init(&nodes->node_watches, path_of);
    zkl_round_init(&nodes->round, &nodes->context->timers, nodes->context->clock, PERIOD,
                   read_again);
}

void zkl_node_watches_destroy(zkl_nodes *nodes) {
    each(nodes, free_node_watch);
    zkl_table_clear(&nodes->node_watches.table);
}

zkl_status zkl_node_watch_open(zkl_nodes *nodes, const char *path, bool children, uint64_t tag,
                               zkl_node_watch **out) {
    if (nodes->watch_budget.bytes + most_watches(children) * zkl_watch_budget_size(strlen(path)) >
        nodes->watch_budget.most)
        return ZKL_TOO_MANY_WATCHES;
    zkl_node_watch *node_watch = node_watch_new(nodes, path, children);
    if (!node_watch)
        return ZKL_NO_MEMORY;
    node_watch->receiver.answer = answered;
    node_watch->changed.kind = ZKL_EVENT_CHANGED;
    node_watch->changed.tag = tag;
    set_stage(node_watch, DUE);
    zkl_round_add(&nodes->round, &node_watch->post);
    nodes->context->counters.watches++;
    *out = node_watch;
    return ZKL_OK;
}

bool zkl_node_watch_hand_out(zkl_node_watch *node_watch, zkl_status *status,
                             zkl_content **content) {
    if (!node_watch->news)
        return false;
    node_watch->news = false;
    *content = node_watch->content;
    node_watch->content = NULL;
    *status = node_watch->told_rc == ZOK       ? ZKL_OK
              : node_watch->told_rc == ZNONODE ? ZKL_NO_NODE
                                               : ZKL_ACCESS_DENIED;
    return true;
}

void zkl_node_watch_quit(zkl_node_watch *node_watch) {
    node_watch->over = true;
    node_watch->nodes->context->counters.watches--;
    look_away(node_watch);
    if (node_watch->stage != ASKED)
        leave(node_watch);
}

zkl_context *zkl_node_watch_context(const zkl_node_watch *node_watch) {
    return node_watch->nodes->context;
}
