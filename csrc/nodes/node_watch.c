#include "nodes/node_watch.h"

#include "base/backoff.h"
#include "base/event.h"
#include "base/round.h"
#include "base/status.h"
#include "base/timer.h"
#include "line/lines.h"
#include "line/watch_budget.h"
#include "nodes/barrier.h"
#include "nodes/content.h"
#include "port/receiver.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* As many bytes of watches as the locks have: together they fit into the servers' packet. */
#define BYTES_MOST ZKL_WATCH_BUDGET_MOST
/* Each is read again so often: twice in the minute that is promised. */
#define PERIOD (30 * ZKL_SECOND)
/* Reads that are on their way at a time. */
#define WINDOW 64
/* Pauses after what cannot be read for now. */
#define PAUSE_FIRST (ZKL_SECOND / 20)
#define PAUSE_MOST (2 * ZKL_SECOND)
#define BUCKETS 1024

/* The subject of an answer. */
enum { READ, PRESENCE, UNWATCH };

/* Who will run it again: RESTING: the watch, or its turn in the round. DUE: the end of a step with
 * a link (which zkl_node_watches_resume and the timer `look` bring). ASKED, LEAVING: the answer, if
 * only to say that it was cut off, or zkl_node_watches_unlink. */
typedef enum stage { RESTING, DUE, ASKED, LEAVING } stage;

struct zkl_node_watch {
    zkl_client *client; /* for the host's side */
    zkl_nodes *nodes;
    zkl_receiver receiver;
    zkl_node_watch *chain; /* the next in the same bucket */
    zkl_list_item item;    /* nodes->due */
    zkl_post post;         /* nodes->round */
    char *path;
    bool children;
    stage stage;
    bool on_data, on_children; /* the library has these watches for it */
    bool again;                /* something has happened since it was asked */
    bool missing;              /* it was not there: the next read comes behind an exists */
    int presence;              /* what that exists was answered */
    bool over;                 /* the host looks no more */
    bool told;                 /* the host was told something, which was: */
    int told_rc;               /* ZOK, ZNONODE, ZNOAUTH */
    int64_t czxid;             /* with ZOK: of which node ... */
    int64_t xid;               /* ... and as of when */
    zkl_content *content;      /* not given to the host yet; NULL: told_rc says all */
    bool news;
    zkl_event changed;
};

/* ---- found by path ---- */

/* FNV-1a */
static zkl_node_watch **bucket(const zkl_nodes *nodes, const char *path) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *path; path++)
        hash = (hash ^ (unsigned char)*path) * UINT64_C(1099511628211);
    return &nodes->node_watches[(hash ^ hash >> 32) % BUCKETS];
}

static zkl_node_watch *next_at(zkl_node_watch *node_watch, const char *path) {
    while (node_watch && strcmp(node_watch->path, path) != 0)
        node_watch = node_watch->chain;
    return node_watch;
}

static zkl_node_watch *first_at(const zkl_nodes *nodes, const char *path) {
    return nodes->node_watches ? next_at(*bucket(nodes, path), path) : NULL;
}

/* ---- stages ---- */

static void set_stage(zkl_node_watch *node_watch, stage to) {
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

/* The first of many that were refused at once says when. */
static void wait_a_moment(zkl_nodes *nodes) {
    if (nodes->look.at)
        return;
    const zkl_nanos pause = zkl_backoff(&nodes->look_pause, PAUSE_FIRST, PAUSE_MOST);
    zkl_timer_set(&nodes->context->timers, &nodes->look, zkl_context_now(nodes->context) + pause);
}

/* Every step ends with zkl_node_watches_step, this one too. */
static void look(zkl_timer *timer) {
    (void)timer;
}

static void clear_content(zkl_node_watch *node_watch) {
    if (node_watch->content)
        zkl_content_free(node_watch->content);
    node_watch->content = NULL;
}

/* How many of the library's watches it may have. A question about the children of a missing node
 * leaves a watch on its data as well, if the node has come meanwhile. */
static unsigned watches_most(bool children) {
    return children ? 2 : 1;
}

static void free_node_watch(zkl_node_watch *node_watch) {
    zkl_nodes *nodes = node_watch->nodes;
    set_stage(node_watch, RESTING);
    zkl_round_leave(&node_watch->post);
    zkl_receiver_leave(&nodes->context->receivers, &node_watch->receiver);
    for (unsigned i = watches_most(node_watch->children); i > 0; i--)
        zkl_watch_budget_remove(&nodes->watch_budget, strlen(node_watch->path));
    zkl_node_watch **p = bucket(nodes, node_watch->path);
    while (*p != node_watch)
        p = &(*p)->chain;
    *p = node_watch->chain;
    clear_content(node_watch);
    free(node_watch->path);
    free(node_watch);
}

/* ---- the end of one ---- */

/* Is there a watch of that kind for it, or will there be when its read is answered? */
static bool relies_on(const zkl_node_watch *node_watch, bool list) {
    if (node_watch->stage == ASKED)
        return list ? node_watch->children : !node_watch->children || node_watch->missing;
    return list ? node_watch->on_children : node_watch->on_data;
}

static bool *watch_of(zkl_node_watch *node_watch, bool list) {
    return list ? &node_watch->on_children : &node_watch->on_data;
}

/* Leaves the watch to somebody else who relies on it. Another node watch takes it back in its turn:
 * what that one has asked may leave no watch of its own. false: nobody else does. */
static bool hand_over(zkl_node_watch *node_watch, bool list) {
    if (zkl_lines_watching(node_watch->nodes->lines, node_watch->path, list))
        return true;
    for (zkl_node_watch *v = first_at(node_watch->nodes, node_watch->path); v;
         v = next_at(v->chain, node_watch->path)) {
        if (v == node_watch || v->over || !relies_on(v, list))
            continue;
        *watch_of(v, list) = true;
        return true;
    }
    return false;
}

/* Takes its watches back, one after the other, and is gone when that is answered. */
static void leave(zkl_node_watch *node_watch) {
    zkl_context *context = node_watch->nodes->context;
    node_watch->on_data = node_watch->on_data && !hand_over(node_watch, false);
    node_watch->on_children = node_watch->on_children && !hand_over(node_watch, true);
    if (!node_watch->on_data && !node_watch->on_children) {
        free_node_watch(node_watch);
        return;
    }
    set_stage(node_watch, DUE);
    if (!context->port)
        return;
    const bool list = !node_watch->on_data;
    zkl_receiver_enter(&context->receivers, &node_watch->receiver);
    const int rc =
        context->port->call->unwatch(context->port, node_watch->path, list,
                                     (zkl_return){node_watch->receiver.id, UNWATCH, list});
    if (rc == ZOK)
        set_stage(node_watch, LEAVING);
    else if (rc == ZMARSHALLINGERROR)
        wait_a_moment(node_watch->nodes);
    else /* the library knows of no such watch: the end of the step goes on */
        *watch_of(node_watch, list) = false;
}

/* A watch that the servers refuse to take back stays with the library, and counts on. */
static void unwatched(zkl_node_watch *node_watch, bool list, const zkl_reply *reply) {
    zkl_watch_budget *left = &node_watch->nodes->lines->common.watch_budget;
    if (!zkl_status_passes(reply->rc)) {
        *watch_of(node_watch, list) = false;
        if (reply->rc == ZOK)
            zkl_watch_budget_told(left, node_watch->path, list);
        else
            zkl_watch_budget_leave(left, node_watch->path, NULL, list);
    } else if (node_watch->nodes->context->port) { /* it is armed as before: once more */
        wait_a_moment(node_watch->nodes);
    }
    set_stage(node_watch, DUE);
}

/* ---- what the servers say ---- */

/* Is it what the host was told last? */
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
        if (node_watch->news) /* whom the host told may have come to his end without a word */
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
    clear_content(node_watch);
    node_watch->content = content;
    node_watch->news = node_watch->told = true;
    node_watch->told_rc = reply->rc;
    node_watch->czxid = content ? content->stat.czxid : 0;
    node_watch->xid = xid;
    post(node_watch);
    return true;
}

/* The read counts. */
static void seen(zkl_node_watch *node_watch, const zkl_reply *reply) {
    const bool missing = reply->rc == ZNONODE;
    if (missing && !(node_watch->missing && node_watch->presence == ZNONODE)) {
        if (node_watch->missing)
            wait_a_moment(node_watch->nodes); /* it was there for a moment */
        node_watch->missing = true;           /* nothing watches it yet */
        set_stage(node_watch, DUE);
        return;
    }
    node_watch->missing = missing;
    if ((reply->rc == ZOK || missing || reply->rc == ZNOAUTH) && !tell(node_watch, reply)) {
        set_stage(node_watch, DUE);
        wait_a_moment(node_watch->nodes);
        return;
    }
    node_watch->nodes->look_pause = 0;
    set_stage(node_watch, node_watch->again ? DUE : RESTING);
}

static void read_answered(zkl_node_watch *node_watch, const zkl_reply *reply) {
    const bool cut = zkl_status_unknown(reply->rc) || reply->rc == ZAUTHFAILED;
    if (reply->rc == ZOK) /* armed, whether or not what it says counts */
        *watch_of(node_watch, node_watch->children) = true;
    if (node_watch->over) {
        leave(node_watch);
    } else if (cut || zkl_status_throttled(reply->rc) ||
               !zkl_barrier_passed(&node_watch->nodes->barrier)) {
        set_stage(node_watch, DUE);
        if (!cut || node_watch->nodes->context->port)
            wait_a_moment(node_watch->nodes);
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

/* false: nothing can be asked now. */
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
    wait_a_moment(node_watch->nodes);
    return false;
}

void zkl_node_watches_step(zkl_nodes *nodes) {
    ZKL_EACH (zkl_node_watch, node_watch, &nodes->due, item) {
        if (!nodes->context->port || nodes->closed || nodes->look.at || nodes->reading >= WINDOW ||
            !go_on(node_watch))
            return;
    }
}

/* Its turn in the round. */
static zkl_nanos read_again(zkl_post *post) {
    zkl_node_watch *node_watch = ZKL_CONTAINER_OF(post, zkl_node_watch, post);
    if (!node_watch->nodes->context->port)
        return ZKL_NEVER; /* zkl_node_watches_resume goes on */
    if (node_watch->stage == RESTING)
        set_stage(node_watch, DUE);
    return 0;
}

/* ---- the link, the library's handle, watches ---- */

/* Any call on each; which may free it. */
static void each(zkl_nodes *nodes, void (*call)(zkl_node_watch *node_watch)) {
    for (size_t i = 0; nodes->node_watches && i < BUCKETS; i++) {
        zkl_node_watch *next;
        for (zkl_node_watch *node_watch = nodes->node_watches[i]; node_watch; node_watch = next) {
            next = node_watch->chain;
            call(node_watch);
        }
    }
}

static void rejoin(zkl_node_watch *node_watch) {
    if (!node_watch->over)
        zkl_round_add(&node_watch->nodes->round, &node_watch->post);
}

void zkl_node_watches_resume(zkl_nodes *nodes) {
    zkl_timer_clear(&nodes->context->timers, &nodes->look);
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
    for (zkl_node_watch *v = first; v; v = next_at(v->chain, path)) {
        const bool concerned =
            change == ZKL_CHANGE_DELETED ||
            (change == ZKL_CHANGE_CHILDREN ? v->children : !v->children || v->missing);
        if (!concerned)
            continue;
        if (change != ZKL_CHANGE_CHILDREN)
            v->on_data = false; /* a watch tells only once */
        if (change != ZKL_CHANGE_OTHER)
            v->on_children = false;
        if (!v->over && concerned)
            look_closer(v);
    }
    return first != NULL;
}

void zkl_node_watches_unwatched(zkl_nodes *nodes, const char *path, bool list) {
    for (zkl_node_watch *v = first_at(nodes, path); v; v = next_at(v->chain, path)) {
        if (v->over || !relies_on(v, list))
            continue;
        *watch_of(v, list) = false;
        look_closer(v);
    }
}

/* ---- life ---- */

void zkl_node_watches_init(zkl_nodes *nodes, zkl_lines *lines) {
    nodes->lines = lines;
    nodes->watch_budget.most = BYTES_MOST;
    nodes->look.fire = look;
    zkl_round_init(&nodes->round, &nodes->context->timers, nodes->context->clock, PERIOD,
                   read_again);
}

void zkl_node_watches_destroy(zkl_nodes *nodes) {
    each(nodes, free_node_watch);
    free(nodes->node_watches);
}

static zkl_node_watch *node_watch_new(zkl_nodes *nodes, const char *path) {
    zkl_node_watch *node_watch = calloc(1, sizeof *node_watch);
    if (!node_watch)
        return NULL;
    node_watch->nodes = nodes;
    node_watch->path = strdup(path);
    if (node_watch->path && !nodes->node_watches)
        nodes->node_watches = calloc(BUCKETS, sizeof(zkl_node_watch *));
    if (node_watch->path && nodes->node_watches)
        return node_watch;
    free(node_watch->path);
    free(node_watch);
    return NULL;
}

zkl_status zkl_node_watch_open(zkl_nodes *nodes, const char *path, bool children, uint64_t tag,
                               zkl_node_watch **out) {
    const size_t length = strlen(path);
    const unsigned watches = watches_most(children);
    if (nodes->watch_budget.bytes + watches * zkl_watch_budget_size(length) >
        nodes->watch_budget.most)
        return ZKL_TOO_MANY_WATCHES;
    zkl_node_watch *node_watch = node_watch_new(nodes, path);
    if (!node_watch)
        return ZKL_NO_MEMORY;
    node_watch->children = children;
    node_watch->receiver.answer = answered;
    node_watch->changed.kind = ZKL_EVENT_CHANGED;
    node_watch->changed.tag = tag;
    for (unsigned i = 0; i < watches; i++)
        zkl_watch_budget_add(&nodes->watch_budget, length);
    zkl_node_watch **b = bucket(nodes, path);
    node_watch->chain = *b;
    *b = node_watch;
    set_stage(node_watch, DUE);
    zkl_round_add(&nodes->round, &node_watch->post);
    *out = node_watch;
    return ZKL_OK;
}

bool zkl_node_watch_given(zkl_node_watch *node_watch, zkl_status *status, zkl_content **content) {
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
    look_away(node_watch);
    if (node_watch->stage != ASKED)
        leave(node_watch);
}

void zkl_node_watch_set_client(zkl_node_watch *node_watch, zkl_client *client) {
    node_watch->client = client;
}

zkl_client *zkl_node_watch_client(const zkl_node_watch *node_watch) {
    return node_watch->client;
}
