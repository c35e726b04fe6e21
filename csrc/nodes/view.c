#include "nodes/view.h"

#include "base/backoff.h"
#include "base/event.h"
#include "base/round.h"
#include "base/status.h"
#include "base/timer.h"
#include "nodes/barrier.h"
#include "nodes/content.h"
#include "port/receiver.h"
#include "queue/lines.h"
#include "queue/watch_budget.h"
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

/* What an answer is about. */
enum { READ, PRESENCE, UNWATCH };

/* Who will run it again: RESTING: the watch, or its turn in the round. DUE: the end of a step with
 * a link (which zkl_views_resume and the timer `look` bring). ASKED, LEAVING: the answer, if only
 * to say that it was cut off, or zkl_views_unlink. */
typedef enum stage { RESTING, DUE, ASKED, LEAVING } stage;

struct zkl_view {
    zkl_client *client; /* for the host's side */
    zkl_nodes *nodes;
    zkl_receiver receiver;
    zkl_view *chain;    /* the next in the same bucket */
    zkl_list_item item; /* nodes->due */
    zkl_post post;      /* nodes->round */
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
static zkl_view **bucket(const zkl_nodes *nodes, const char *path) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *path; path++)
        hash = (hash ^ (unsigned char)*path) * UINT64_C(1099511628211);
    return &nodes->views[(hash ^ hash >> 32) % BUCKETS];
}

static zkl_view *next_at(zkl_view *view, const char *path) {
    while (view && strcmp(view->path, path) != 0)
        view = view->chain;
    return view;
}

static zkl_view *first_at(const zkl_nodes *nodes, const char *path) {
    return nodes->views ? next_at(*bucket(nodes, path), path) : NULL;
}

/* ---- stages ---- */

static void set_stage(zkl_view *view, stage to) {
    zkl_nodes *nodes = view->nodes;
    if (view->stage == DUE)
        zkl_list_remove(&nodes->due, &view->item);
    if (view->stage == ASKED)
        nodes->reading--;
    view->stage = to;
    if (to == DUE)
        zkl_list_append(&nodes->due, &view->item);
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

/* Every step ends with zkl_views_step, this one too. */
static void look(zkl_timer *timer) {
    (void)timer;
}

static void clear_content(zkl_view *view) {
    if (view->content)
        zkl_content_free(view->content);
    view->content = NULL;
}

/* How many of the library's watches it may have. A question about the children of a missing node
 * leaves a watch on its data as well, if the node has come meanwhile. */
static unsigned watches_most(bool children) {
    return children ? 2 : 1;
}

static void free_view(zkl_view *view) {
    zkl_nodes *nodes = view->nodes;
    set_stage(view, RESTING);
    zkl_round_leave(&view->post);
    zkl_receiver_leave(&nodes->context->receivers, &view->receiver);
    for (unsigned i = watches_most(view->children); i > 0; i--)
        zkl_watch_budget_remove(&nodes->watch_budget, strlen(view->path));
    zkl_view **p = bucket(nodes, view->path);
    while (*p != view)
        p = &(*p)->chain;
    *p = view->chain;
    clear_content(view);
    free(view->path);
    free(view);
}

/* ---- the end of one ---- */

/* Is there a watch of that kind for it, or will there be when its read is answered? */
static bool relies_on(const zkl_view *view, bool list) {
    if (view->stage == ASKED)
        return list ? view->children : !view->children || view->missing;
    return list ? view->on_children : view->on_data;
}

static bool *watch_of(zkl_view *view, bool list) {
    return list ? &view->on_children : &view->on_data;
}

/* Leaves the watch to somebody else who relies on it. Another view takes it back in its turn: what
 * that one has asked may leave no watch of its own. false: nobody else does. */
static bool hand_over(zkl_view *view, bool list) {
    if (zkl_lines_watching(view->nodes->lines, view->path, list))
        return true;
    for (zkl_view *v = first_at(view->nodes, view->path); v; v = next_at(v->chain, view->path)) {
        if (v == view || v->over || !relies_on(v, list))
            continue;
        *watch_of(v, list) = true;
        return true;
    }
    return false;
}

/* Takes its watches back, one after the other, and is gone when that is answered. */
static void leave(zkl_view *view) {
    zkl_context *context = view->nodes->context;
    view->on_data = view->on_data && !hand_over(view, false);
    view->on_children = view->on_children && !hand_over(view, true);
    if (!view->on_data && !view->on_children) {
        free_view(view);
        return;
    }
    set_stage(view, DUE);
    if (!context->port)
        return;
    const bool list = !view->on_data;
    zkl_receiver_enter(&context->receivers, &view->receiver);
    const int rc = context->port->call->unwatch(context->port, view->path, list,
                                                (zkl_return){view->receiver.id, UNWATCH, list});
    if (rc == ZOK)
        set_stage(view, LEAVING);
    else if (rc == ZMARSHALLINGERROR)
        wait_a_moment(view->nodes);
    else /* the library knows of no such watch: the end of the step goes on */
        *watch_of(view, list) = false;
}

/* A watch that the servers refuse to take back stays with the library, and counts on. */
static void unwatched(zkl_view *view, bool list, const zkl_reply *reply) {
    zkl_watch_budget *left = &view->nodes->lines->queue.watch_budget;
    if (!zkl_status_passes(reply->rc)) {
        *watch_of(view, list) = false;
        if (reply->rc == ZOK)
            zkl_watch_budget_told(left, view->path, list);
        else
            zkl_watch_budget_leave(left, view->path, NULL, list);
    } else if (view->nodes->context->port) { /* it is armed as before: once more */
        wait_a_moment(view->nodes);
    }
    set_stage(view, DUE);
}

/* ---- what the servers say ---- */

/* Is it what the host was told last? */
static bool is_known(const zkl_view *view, const zkl_reply *reply, int64_t xid) {
    return view->told && view->told_rc == reply->rc &&
           (reply->rc != ZOK || (view->czxid == reply->stat->czxid && view->xid == xid));
}

static void post(zkl_view *view) {
    zkl_events_post(&view->nodes->context->events, &view->changed, ZKL_OK, 0);
}

/* false: no memory. */
static bool tell(zkl_view *view, const zkl_reply *reply) {
    const int64_t xid = reply->rc != ZOK ? 0
                        : view->children ? reply->stat->pzxid
                                         : reply->stat->mzxid;
    if (is_known(view, reply, xid)) {
        if (view->news) /* whom the host told may have come to his end without a word */
            post(view);
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
    clear_content(view);
    view->content = content;
    view->news = view->told = true;
    view->told_rc = reply->rc;
    view->czxid = content ? content->stat.czxid : 0;
    view->xid = xid;
    post(view);
    return true;
}

/* What was read counts. */
static void seen(zkl_view *view, const zkl_reply *reply) {
    const bool missing = reply->rc == ZNONODE;
    if (missing && !(view->missing && view->presence == ZNONODE)) {
        if (view->missing)
            wait_a_moment(view->nodes); /* it was there for a moment */
        view->missing = true;           /* nothing watches it yet */
        set_stage(view, DUE);
        return;
    }
    view->missing = missing;
    if ((reply->rc == ZOK || missing || reply->rc == ZNOAUTH) && !tell(view, reply)) {
        set_stage(view, DUE);
        wait_a_moment(view->nodes);
        return;
    }
    view->nodes->look_pause = 0;
    set_stage(view, view->again ? DUE : RESTING);
}

static void read_answered(zkl_view *view, const zkl_reply *reply) {
    const bool cut = zkl_status_unknown(reply->rc) || reply->rc == ZAUTHFAILED;
    if (reply->rc == ZOK) /* armed, whether or not what it says counts */
        *watch_of(view, view->children) = true;
    if (view->over) {
        leave(view);
    } else if (cut || zkl_status_throttled(reply->rc) ||
               !zkl_barrier_passed(&view->nodes->barrier)) {
        set_stage(view, DUE);
        if (!cut || view->nodes->context->port)
            wait_a_moment(view->nodes);
    } else {
        seen(view, reply);
    }
}

static void answered(zkl_receiver *receiver, const zkl_return *asked, const zkl_reply *reply) {
    zkl_view *view = ZKL_CONTAINER_OF(receiver, zkl_view, receiver);
    switch (asked->what) {
    case PRESENCE:
        view->presence = reply->rc;
        if (reply->rc == ZOK || reply->rc == ZNONODE)
            view->on_data = true;
        break;
    case UNWATCH:
        unwatched(view, asked->detail != 0, reply);
        break;
    default:
        read_answered(view, reply);
    }
}

/* ---- reading ---- */

static int ask(zkl_view *view) {
    zkl_context *context = view->nodes->context;
    zkl_port *port = context->port;
    zkl_op op = {.kind = view->children ? ZKL_OP_CHILDREN : ZKL_OP_GET, .path = view->path};
    const zkl_op presence = {.kind = ZKL_OP_EXISTS, .path = view->path};
    int rc = zkl_barrier_raise(&view->nodes->barrier);
    zkl_receiver_enter(&context->receivers, &view->receiver);
    view->presence = ZOK;
    if (rc == ZOK && view->missing)
        rc = port->call->perform(port, &presence, true,
                                 (zkl_return){view->receiver.id, PRESENCE, 0});
    return rc == ZOK
               ? port->call->perform(port, &op, true, (zkl_return){view->receiver.id, READ, 0})
               : rc;
}

/* false: nothing can be asked now. */
static bool go_on(zkl_view *view) {
    if (view->over) {
        leave(view);
        return true;
    }
    view->again = false;
    const int rc = ask(view);
    if (rc == ZOK) {
        set_stage(view, ASKED);
        return true;
    }
    wait_a_moment(view->nodes);
    return false;
}

void zkl_views_step(zkl_nodes *nodes) {
    ZKL_EACH (zkl_view, view, &nodes->due, item) {
        if (!nodes->context->port || nodes->closed || nodes->look.at || nodes->reading >= WINDOW ||
            !go_on(view))
            return;
    }
}

/* Its turn in the round. */
static zkl_nanos read_again(zkl_post *post) {
    zkl_view *view = ZKL_CONTAINER_OF(post, zkl_view, post);
    if (!view->nodes->context->port)
        return ZKL_NEVER; /* zkl_views_resume goes on */
    if (view->stage == RESTING)
        set_stage(view, DUE);
    return 0;
}

/* ---- the link, the library's handle, watches ---- */

/* Any call on each; which may free it. */
static void each(zkl_nodes *nodes, void (*call)(zkl_view *view)) {
    for (size_t i = 0; nodes->views && i < BUCKETS; i++) {
        zkl_view *next;
        for (zkl_view *view = nodes->views[i]; view; view = next) {
            next = view->chain;
            call(view);
        }
    }
}

static void rejoin(zkl_view *view) {
    if (!view->over)
        zkl_round_add(&view->nodes->round, &view->post);
}

void zkl_views_resume(zkl_nodes *nodes) {
    zkl_timer_clear(&nodes->context->timers, &nodes->look);
    each(nodes, rejoin);
}

static void unlink_view(zkl_view *view) {
    view->on_data = view->on_children = false;
    zkl_receiver_leave(&view->nodes->context->receivers, &view->receiver);
    if (view->over)
        free_view(view);
    else if (view->stage != DUE)
        set_stage(view, DUE);
}

void zkl_views_unlink(zkl_nodes *nodes) {
    each(nodes, unlink_view);
}

static void look_away(zkl_view *view) {
    zkl_events_drop(&view->nodes->context->events, &view->changed);
    zkl_round_leave(&view->post);
}

void zkl_views_close(zkl_nodes *nodes) {
    nodes->closed = true;
    each(nodes, look_away);
}

static void look_closer(zkl_view *view) {
    if (view->stage == RESTING)
        set_stage(view, DUE);
    else if (view->stage == ASKED)
        view->again = true;
}

bool zkl_views_told(zkl_nodes *nodes, const char *path, zkl_change change) {
    zkl_view *first = first_at(nodes, path);
    for (zkl_view *v = first; v; v = next_at(v->chain, path)) {
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

void zkl_views_unwatched(zkl_nodes *nodes, const char *path, bool list) {
    for (zkl_view *v = first_at(nodes, path); v; v = next_at(v->chain, path)) {
        if (v->over || !relies_on(v, list))
            continue;
        *watch_of(v, list) = false;
        look_closer(v);
    }
}

/* ---- life ---- */

void zkl_views_init(zkl_nodes *nodes, zkl_lines *lines) {
    nodes->lines = lines;
    nodes->watch_budget.most = BYTES_MOST;
    nodes->look.fire = look;
    zkl_round_init(&nodes->round, &nodes->context->timers, nodes->context->clock, PERIOD,
                   read_again);
}

void zkl_views_destroy(zkl_nodes *nodes) {
    each(nodes, free_view);
    free(nodes->views);
}

static zkl_view *view_new(zkl_nodes *nodes, const char *path) {
    zkl_view *view = calloc(1, sizeof *view);
    if (!view)
        return NULL;
    view->nodes = nodes;
    view->path = strdup(path);
    if (view->path && !nodes->views)
        nodes->views = calloc(BUCKETS, sizeof(zkl_view *));
    if (view->path && nodes->views)
        return view;
    free(view->path);
    free(view);
    return NULL;
}

zkl_status zkl_view_open(zkl_nodes *nodes, const char *path, bool children, uint64_t tag,
                         zkl_view **out) {
    const size_t length = strlen(path);
    const unsigned watches = watches_most(children);
    if (nodes->watch_budget.bytes + watches * zkl_watch_budget_size(length) >
        nodes->watch_budget.most)
        return ZKL_TOO_MANY_WATCHES;
    zkl_view *view = view_new(nodes, path);
    if (!view)
        return ZKL_NO_MEMORY;
    view->children = children;
    view->receiver.answer = answered;
    view->changed.kind = ZKL_EVENT_CHANGED;
    view->changed.tag = tag;
    for (unsigned i = 0; i < watches; i++)
        zkl_watch_budget_add(&nodes->watch_budget, length);
    zkl_view **b = bucket(nodes, path);
    view->chain = *b;
    *b = view;
    set_stage(view, DUE);
    zkl_round_add(&nodes->round, &view->post);
    *out = view;
    return ZKL_OK;
}

bool zkl_view_given(zkl_view *view, zkl_status *status, zkl_content **content) {
    if (!view->news)
        return false;
    view->news = false;
    *content = view->content;
    view->content = NULL;
    *status = view->told_rc == ZOK       ? ZKL_OK
              : view->told_rc == ZNONODE ? ZKL_NO_NODE
                                         : ZKL_ACCESS_DENIED;
    return true;
}

void zkl_view_quit(zkl_view *view) {
    view->over = true;
    look_away(view);
    if (view->stage != ASKED)
        leave(view);
}

void zkl_view_set_client(zkl_view *view, zkl_client *client) {
    view->client = client;
}

zkl_client *zkl_view_client(const zkl_view *view) {
    return view->client;
}
