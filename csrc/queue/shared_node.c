#include "queue/shared_node.h"

#include "base/timer.h"
#include "queue/advance.h"
#include "queue/contender.h"
#include "queue/handoff.h"
#include "queue/line.h"
#include "queue/linger.h"
#include "queue/shared_node_state.h"
#include "queue/sharer.h"

#include <stdlib.h>

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
 * here. What was counted by the former ones goes with their node. */
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
