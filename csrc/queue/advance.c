#include "queue/advance.h"

#include "base/timer.h"
#include "queue/contender.h"
#include "queue/doubt.h"
#include "queue/handoff.h"
#include "queue/line.h"
#include "queue/linger.h"
#include "queue/remote_waiters.h"
#include "queue/send.h"

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

/* The node's end was none of our doing. Who held it has heard when it came. */
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
    return context->port && !shared->line->stale && shared->contender->watch == ZKL_WATCH_ARMED &&
           context->trusted_until > zkl_context_now(context);
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
