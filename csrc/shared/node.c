#include "shared/node.h"

#include "base/timer.h"
#include "line/contender.h"
#include "line/doubt.h"
#include "line/line.h"
#include "line/send.h"
#include "shared/handoff.h"
#include "shared/linger.h"
#include "shared/node_state.h"
#include "shared/remote_waiters.h"
#include "shared/sharer.h"

#include <stdlib.h>

/* ---- the node ---- */

/* The list that goes out with the create sets the watch on the directory: if nobody is there, no
 * other one is needed. */
static void queue_up(zkl_shared_node *shared) {
    const zkl_terms terms = {.kind = shared->kind,
                             .deadline = ZKL_NEVER,
                             .once = zkl_handoff_tried_once(shared),
                             .under = shared->under ? shared->under->contender : NULL};
    shared->listener.attends = shared->kind != ZKL_KIND_READ;
    shared->lists = shared->line->lists;
    zkl_shared_node_set_remote_waiters(shared, ZKL_REMOTE_WAITERS_UNKNOWN);
    shared->counted = 0;
    shared->contender = zkl_line_join_part(shared->line, &terms, &shared->compound);
    if (!shared->contender)
        zkl_handoff_fail_all(shared, ZKL_NO_MEMORY);
}

/* The node's end was none of our doing. Its holder heard of it when it came. */
static void node_ended(zkl_shared_node *shared) {
    const zkl_status why = shared->contender->outcome;
    zkl_linger_end(shared);
    if (why != ZKL_LOST) /* released: the client is closing */
        zkl_handoff_fail_all(shared, why == ZKL_OK ? ZKL_CLOSED : why);
}

/* It queues. false: nobody waits for it any more. */
static bool advance_queue(zkl_shared_node *shared) {
    zkl_contender *node = shared->contender;
    if (!shared->context->port)
        zkl_handoff_fail_impatient(shared, ZKL_DISCONNECTED);
    if (node->queued) {
        shared->listener.attends = false; /* who comes behind it is of no interest yet */
        zkl_handoff_fail_impatient(shared, ZKL_TIMEOUT);
        zkl_handoff_thin(shared);
    }
    node->terms.once = zkl_handoff_tried_once(shared);
    return zkl_shared_node_waiter(shared) != NULL;
}

static void watch_own(zkl_shared_node *shared) {
    if (shared->watch_own)
        return;
    shared->watch_own = true;
    zkl_send_watch_own(shared->contender);
}

/* ---- one at a time ---- */

/* Nobody of those who wait for it can be granted it, and others may stand behind it. */
static bool gives_up(zkl_shared_node *shared) {
    if (!shared->context->port || !zkl_context_gives_up(shared->context, &shared->patience))
        return false;
    shared->patience = 0;
    zkl_handoff_fail_all(shared, ZKL_DISCONNECTED);
    return true;
}

/* It is held, and by no caller. false: it is to go. */
static bool advance_free(zkl_shared_node *shared, bool fresh) {
    if (fresh && zkl_shared_node_waiter(shared)) {
        zkl_handoff_grant(shared, false);
        return true;
    }
    if (!zkl_shared_node_waiter(shared))
        shared->patience = 0;
    else if (gives_up(shared))
        return false;
    if (zkl_shared_node_sealed(shared))
        return false;
    if (!shared->context->port)
        zkl_handoff_fail_impatient(shared, ZKL_DISCONNECTED);
    if (!zkl_shared_node_waiter(shared))
        return zkl_linger_try(shared);
    zkl_linger_cancel(shared);
    if (zkl_remote_waiters_waited(shared))
        return zkl_remote_waiters_awaited(shared);
    const zkl_may may = zkl_handoff_may_hand_over(shared);
    if (may == ZKL_MAY)
        zkl_handoff_grant(shared, true);
    return may != ZKL_MAY_NOT;
}

/* false: it is to go. */
static bool advance_single(zkl_shared_node *shared, bool fresh) {
    if (zkl_shared_node_holder(shared))
        shared->patience = 0;
    if (!zkl_shared_node_holder(shared) && !advance_free(shared, fresh))
        return false;
    /* The sooner it is asked, the less does anybody here wait for the answer. */
    if (zkl_shared_node_holder(shared) && shared->remote_waiters == ZKL_REMOTE_WAITERS_UNKNOWN)
        zkl_remote_waiters_ask(shared);
    return true;
}

/* ---- readers ---- */

/* Lets in who waits, as long as those behind it need not wait for too much. false: it takes no new
 * callers, and whoever waits waits for the next one. */
static bool let_in(zkl_shared_node *shared, bool fresh) {
    for (bool first = fresh; zkl_shared_node_waiter(shared); first = false) {
        const bool anyway = first || shared->under; /* who writes does not wait for himself */
        if (!anyway && zkl_shared_node_sealed(shared))
            return false;
        if (!anyway && zkl_remote_waiters_waited(shared))
            return zkl_remote_waiters_awaited(shared);
        const zkl_may may = fresh ? ZKL_MAY : zkl_handoff_may_hand_over(shared);
        if (may != ZKL_MAY)
            return may == ZKL_MAY_SOON;
        zkl_handoff_grant(shared, !first);
    }
    return true;
}

/* Somebody here reads. */
static void advance_readers(zkl_shared_node *shared) {
    if (zkl_shared_node_sealed(shared)) { /* whoever waits has to wait for those who hold */
        zkl_handoff_fail_impatient(shared, ZKL_TIMEOUT);
        zkl_handoff_thin(shared);
    }
    zkl_remote_waiters_poll(shared);
}

/* false: it is to go. */
static bool advance_shared(zkl_shared_node *shared, bool fresh) {
    if (zkl_shared_node_waiter(shared))
        zkl_linger_cancel(shared);
    if (zkl_shared_node_holder(shared) || !zkl_shared_node_waiter(shared))
        shared->patience = 0;
    else if (!fresh && gives_up(shared))
        return false;
    if (!let_in(shared, fresh))
        shared->sealed = true;
    if (!shared->context->port)
        zkl_handoff_fail_impatient(shared, ZKL_DISCONNECTED);
    if (zkl_shared_node_holder(shared)) {
        advance_readers(shared);
        return true;
    }
    if (zkl_shared_node_sealed(shared) || (shared->under && !zkl_shared_node_waiter(shared)))
        return false;
    return zkl_shared_node_waiter(shared) || zkl_linger_try(shared);
}

/* ---- all of it ---- */

/* Is its node there, as far as can be known without asking? */
static bool is_certain(const zkl_shared_node *shared) {
    const zkl_context *context = shared->context;
    return context->port && !shared->line->freshness.stale &&
           shared->contender->watch == ZKL_WATCH_ARMED &&
           context->valid_until > zkl_context_now(context);
}

/* false: it is to go. */
static bool advance_held(zkl_shared_node *shared) {
    const bool fresh = !shared->entered;
    if (fresh)
        shared->since = zkl_shared_node_now(shared);
    shared->entered = true;
    zkl_remote_waiters_look(shared);
    watch_own(shared);
    if (shared->contender->witness && is_certain(shared))
        zkl_doubt_end(shared->contender, false);
    return shared->kind == ZKL_KIND_READ ? advance_shared(shared, fresh)
                                         : advance_single(shared, fresh);
}

/* It has no node, and with that its timer has gone. */
static void free_shared_node(zkl_shared_node *shared) {
    if (shared->under)
        shared->under->lent = NULL;
    zkl_list_remove(&shared->line->listeners, &shared->listener.item);
    if (shared->dirty)
        zkl_list_remove(&shared->line->common->dirty_nodes, &shared->item);
    free(shared);
}

void zkl_shared_node_advance(zkl_shared_node *shared) {
    for (;;) {
        if (!shared->contender && !zkl_shared_node_waiter(shared)) {
            free_shared_node(shared);
            return;
        }
        if (!shared->contender)
            queue_up(shared);
        else if (shared->contender->phase == ZKL_OVER)
            node_ended(shared);
        else if (shared->contender->phase == ZKL_HELD ? !advance_held(shared)
                                                      : !advance_queue(shared))
            zkl_linger_end(shared);
        else
            return;
    }
}

/* The next one to be looked at; NULL: none is left. */
static zkl_shared_node *take_dirty(zkl_line_common *common) {
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is freed is in the list no more */
    zkl_shared_node *shared = ZKL_FIRST(&common->dirty_nodes, zkl_shared_node, item);
    if (!shared)
        return NULL;
    zkl_list_remove(&common->dirty_nodes, &shared->item);
    shared->dirty = false;
    return shared;
}

bool zkl_shared_nodes_step(zkl_line_common *common) {
    bool any = false;
    for (zkl_shared_node *shared; (shared = take_dirty(common)); any = true)
        zkl_shared_node_advance(shared);
    return any;
}

/* ---- what the node and the line tell ---- */

static zkl_shared_node *shared_around(zkl_compound *compound) {
    return ZKL_CONTAINER_OF(compound, zkl_shared_node, compound);
}

/* The host hears of a loss before it hears that another one holds. */
static void node_changed(zkl_compound *compound) {
    zkl_shared_node *shared = shared_around(compound);
    zkl_handoff_lose(shared); /* nobody holds it before it is granted, or when the client closes */
    zkl_shared_node_mark_dirty(shared);
}

static void node_revoked(zkl_compound *compound, zkl_contender *node) {
    zkl_shared_node *shared = shared_around(compound);
    (void)node;
    ZKL_EACH (zkl_contender, c, &shared->holders, member) {
        zkl_contender_revoked(c);
    }
    zkl_shared_node_mark_dirty(shared);
}

static zkl_shared_node *shared_of(zkl_listener *listener) {
    return ZKL_CONTAINER_OF(listener, zkl_shared_node, listener);
}

static void line_dirty(zkl_listener *listener) {
    zkl_shared_node_mark_dirty(shared_of(listener));
}

static void line_dismissed(zkl_listener *listener, zkl_status status, bool give_back) {
    zkl_shared_node *shared = shared_of(listener);
    zkl_handoff_fail_all(shared, status);
    if (!give_back)
        return;
    ZKL_EACH (zkl_contender, c, &shared->holders, member) {
        zkl_handoff_leave(shared, c);
        zkl_contender_released(c);
    }
}

static bool is_unused(const zkl_shared_node *shared) {
    return shared->entered && !zkl_shared_node_holder(shared) && !zkl_shared_node_waiter(shared);
}

static void line_hurried(zkl_listener *listener) {
    zkl_shared_node *shared = shared_of(listener);
    if (is_unused(shared)) /* at once: who asks counts what has departed */
        zkl_linger_end(shared);
    zkl_shared_node_mark_dirty(shared);
}

/* The end of its lingering; or it is time to ask who is behind those who read. */
static void shared_timer(zkl_timer *timer) {
    zkl_shared_node *shared = ZKL_CONTAINER_OF(timer, zkl_shared_node, timer);
    if (shared->idle)
        zkl_linger_expired(shared);
    zkl_shared_node_mark_dirty(shared);
}

/* ---- the client's shared nodes in a line ---- */

static zkl_shared_node *shared_new(zkl_line *line, zkl_kind kind) {
    zkl_shared_node *shared = calloc(1, sizeof *shared);
    if (!shared)
        return NULL;
    shared->compound = (zkl_compound){node_changed, node_revoked, NULL};
    shared->listener =
        (zkl_listener){.dirty = line_dirty, .dismissed = line_dismissed, .hurried = line_hurried};
    shared->context = line->context;
    shared->line = line;
    shared->kind = kind;
    shared->timer.fire = shared_timer;
    zkl_list_append(&line->listeners, &shared->listener.item);
    zkl_shared_node_mark_dirty(shared);
    return shared;
}

void zkl_shared_node_make_way(zkl_line *line) {
    ZKL_EACH (zkl_listener, listener, &line->listeners, item) {
        line_hurried(listener);
    }
}

static void hurry_line(zkl_line *line) {
    zkl_shared_node_make_way(line);
}

void zkl_shared_nodes_hurry(zkl_lines *lines) {
    lines->common.hurried = true;
    zkl_lines_each(lines, hurry_line);
}

/* ---- a caller comes ---- */

/* Is it held so that a newcomer has to wait? */
static bool is_closed(const zkl_shared_node *shared) {
    return zkl_shared_node_holder(shared) &&
           (shared->kind != ZKL_KIND_READ || zkl_shared_node_sealed(shared));
}

/* Would a newcomer have to wait for somebody, as far as is known here? */
static bool is_occupied(const zkl_shared_node *shared) {
    return is_closed(shared) || zkl_shared_node_waiter(shared);
}

/* The first one waits for the servers as long as they have not said that the node is behind
 * somebody. */
static bool is_full(const zkl_shared_node *shared, size_t max_waiting) {
    const bool queued = is_closed(shared) || (shared->contender && shared->contender->queued);
    return max_waiting && shared->waiters >= max_waiting - queued;
}

/* Its only caller is not to wait for anybody: what the shared node still has to ask for is asked of
 * a new one, whose create says all. */
static void try_once(zkl_shared_node *shared) {
    if (shared->contender && !zkl_shared_node_holder(shared) &&
        zkl_handoff_may_hand_over(shared) != ZKL_MAY)
        zkl_linger_end(shared);
}

/* The options are those of the latest caller, who comes with other ones only when nobody else is
 * here. The counts of the former ones go with their node. */
static void adopt(zkl_shared_node *shared, const zkl_sharing *sharing) {
    const zkl_sharing *former = &shared->sharing;
    const bool same = former->handoffs == sharing->handoffs && former->stint == sharing->stint &&
                      former->linger == sharing->linger;
    if (!same && shared->contender && !zkl_shared_node_holder(shared))
        zkl_linger_end(shared);
    shared->sharing = *sharing;
}

/* Sees what the end of the step would see, and says it instead of an event. The shared node may be
 * gone then. */
static void look_at_once(zkl_shared_node *shared, zkl_contender *c, int64_t *token) {
    c->mute = true;
    zkl_shared_node_advance(shared);
    c->mute = false;
    *token = c->token; /* 0: it does not hold */
}

static void wait_for(zkl_shared_node *shared, zkl_contender *c, const zkl_terms *terms) {
    zkl_timer_set(&c->context->timers, &c->timer, terms->once ? ZKL_NEVER : terms->deadline);
    if (terms->at_once)
        look_at_once(shared, c, terms->at_once);
    else
        zkl_shared_node_mark_dirty(shared);
}

static zkl_shared_node *lend(const zkl_contender *writer, zkl_shared_node *write) {
    zkl_shared_node *read = shared_new(write->line, ZKL_KIND_READ);
    if (!read)
        return NULL;
    read->before = writer->turn - 1;
    read->under = write;
    write->lent = read;
    return read;
}

/* Takes read under a write that its owner holds: on a shared node that is the owner's alone, and
 * counts for the write's turn, until the write ends. The write's shared node is granted to nobody
 * else, who would write beside the read. */
static zkl_contender *join_under(uint64_t tag, const zkl_terms *terms) {
    zkl_shared_node *write = zkl_sharer_of(terms->under)->shared;
    zkl_shared_node *read = write->lent ? write->lent : lend(terms->under, write);
    zkl_terms own = *terms;
    own.max_waiting = 0;
    zkl_contender *c = read ? zkl_sharer_new(read, tag, &own) : NULL;
    if (!c)
        return NULL;
    read->sharing = *terms->sharing;
    write->sealed = true;
    wait_for(read, c, terms);
    return c;
}

zkl_contender *zkl_shared_node_join(zkl_line *line, uint64_t tag, const zkl_terms *terms) {
    if (terms->under && terms->under->phase == ZKL_HELD)
        return join_under(tag, terms);
    zkl_shared_node *shared = zkl_shared_node_find(line, terms->kind);
    if (!shared)
        shared = shared_new(line, terms->kind);
    if (!shared)
        return NULL;
    const bool occupied = is_occupied(shared), too_many = is_full(shared, terms->max_waiting);
    zkl_contender *c = zkl_sharer_new(shared, tag, terms);
    if (!c)
        return NULL; /* the end of the step frees a shared node that nobody wants */
    adopt(shared, terms->sharing);
    if (too_many) {
        zkl_handoff_fail(c, ZKL_BUSY);
    } else if (terms->once && occupied) {
        zkl_handoff_fail(c, ZKL_TIMEOUT);
    } else {
        zkl_shared_node_make_way(line); /* for those of the other kind he would have to wait */
        if (terms->once)
            try_once(shared);
        wait_for(shared, c, terms);
    }
    return c;
}
