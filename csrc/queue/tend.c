#include "queue/tend.h"

#include "base/timer.h"
#include "queue/company.h"
#include "queue/doubt.h"
#include "queue/contender.h"
#include "queue/line.h"
#include "queue/send.h"
#include "queue/stay.h"
#include "queue/turns.h"

#include <stdlib.h>

/* ---- the node ---- */

/* The list that goes out with the create sets the watch on the directory: if nobody is there, no
 * other one is needed. */
static void queue_up(zkl_place *place) {
    const zkl_terms terms = {.kind = place->kind,
                             .deadline = ZKL_NEVER,
                             .once = zkl_turns_tried_once(place),
                             .under = place->under ? place->under->node : NULL};
    place->listener.attends = place->kind != ZKL_KIND_READ;
    place->lists = place->line->lists;
    zkl_place_set_company(place, ZKL_COMPANY_UNKNOWN);
    place->counted = 0;
    place->node = zkl_line_join_part(place->line, &terms, &place->compound);
    if (!place->node)
        zkl_turns_fail_all(place, ZKL_NO_MEMORY);
}

/* The node's end was none of our doing. Who held it has heard when it came. */
static void node_ended(zkl_place *place) {
    const zkl_status why = place->node->outcome;
    zkl_stay_end(place);
    if (why != ZKL_LOST) /* released: the client is closing */
        zkl_turns_fail_all(place, why == ZKL_OK ? ZKL_CLOSED : why);
}

/* It queues. false: nobody waits for it any more. */
static bool tend_queue(zkl_place *place) {
    zkl_contender *node = place->node;
    if (!place->context->port)
        zkl_turns_fail_impatient(place, ZKL_DISCONNECTED);
    if (node->queued) {
        place->listener.attends = false; /* who comes behind it is of no interest yet */
        zkl_turns_fail_impatient(place, ZKL_TIMEOUT);
        zkl_turns_thin(place);
    }
    node->terms.once = zkl_turns_tried_once(place);
    return zkl_place_waiter(place) != NULL;
}

static void watch_own(zkl_place *place) {
    if (place->watch_own)
        return;
    place->watch_own = true;
    zkl_send_watch_own(place->node);
}

/* ---- one at a time ---- */

/* Nobody of those who wait for it can be granted it, and others may stand behind it. */
static bool gives_up(zkl_place *place) {
    if (!place->context->port || !zkl_context_gives_up(place->context, &place->patience))
        return false;
    place->patience = 0;
    zkl_turns_fail_all(place, ZKL_DISCONNECTED);
    return true;
}

/* It is held, and by no caller. false: it is to go. */
static bool tend_free(zkl_place *place, bool fresh) {
    if (fresh && zkl_place_waiter(place)) {
        zkl_turns_grant(place, false);
        return true;
    }
    if (!zkl_place_waiter(place))
        place->patience = 0;
    else if (gives_up(place))
        return false;
    if (zkl_place_sealed(place))
        return false;
    if (!place->context->port)
        zkl_turns_fail_impatient(place, ZKL_DISCONNECTED);
    if (!zkl_place_waiter(place))
        return zkl_stay_on(place);
    zkl_stay_no_more(place);
    if (zkl_company_waited(place))
        return zkl_company_awaited(place);
    const zkl_may may = zkl_turns_may_hand_over(place);
    if (may == ZKL_MAY)
        zkl_turns_grant(place, true);
    return may != ZKL_MAY_NOT;
}

/* false: it is to go. */
static bool tend_single(zkl_place *place, bool fresh) {
    if (zkl_place_holder(place))
        place->patience = 0;
    if (!zkl_place_holder(place) && !tend_free(place, fresh))
        return false;
    /* The sooner it is asked, the less does anybody here wait for the answer. */
    if (zkl_place_holder(place) && place->company == ZKL_COMPANY_UNKNOWN)
        zkl_company_ask(place);
    return true;
}

/* ---- readers ---- */

/* Lets in who waits, as long as those behind it need not wait for too much. false: it takes no new
 * callers, and whoever waits waits for the next one. */
static bool let_in(zkl_place *place, bool fresh) {
    for (bool first = fresh; zkl_place_waiter(place); first = false) {
        const bool anyway = first || place->under; /* who writes does not wait for himself */
        if (!anyway && zkl_place_sealed(place))
            return false;
        if (!anyway && zkl_company_waited(place))
            return zkl_company_awaited(place);
        const zkl_may may = fresh ? ZKL_MAY : zkl_turns_may_hand_over(place);
        if (may != ZKL_MAY)
            return may == ZKL_MAY_SOON;
        zkl_turns_grant(place, !first);
    }
    return true;
}

/* Somebody here reads. */
static void tend_readers(zkl_place *place) {
    if (zkl_place_sealed(place)) { /* whoever waits has to wait for those who hold */
        zkl_turns_fail_impatient(place, ZKL_TIMEOUT);
        zkl_turns_thin(place);
    }
    zkl_company_patrol(place);
}

/* false: it is to go. */
static bool tend_shared(zkl_place *place, bool fresh) {
    if (zkl_place_waiter(place))
        zkl_stay_no_more(place);
    if (zkl_place_holder(place) || !zkl_place_waiter(place))
        place->patience = 0;
    else if (!fresh && gives_up(place))
        return false;
    if (!let_in(place, fresh))
        place->sealed = true;
    if (!place->context->port)
        zkl_turns_fail_impatient(place, ZKL_DISCONNECTED);
    if (zkl_place_holder(place)) {
        tend_readers(place);
        return true;
    }
    if (zkl_place_sealed(place) || (place->under && !zkl_place_waiter(place)))
        return false;
    return zkl_place_waiter(place) || zkl_stay_on(place);
}

/* ---- all of it ---- */

/* Is its node there, as far as can be known without asking? */
static bool is_certain(const zkl_place *place) {
    const zkl_context *context = place->context;
    return context->port && !place->line->stale && place->node->watch == ZKL_WATCH_ARMED &&
           context->trusted_until > zkl_context_now(context);
}

/* false: it is to go. */
static bool tend_held(zkl_place *place) {
    const bool fresh = !place->entered;
    if (fresh)
        place->since = zkl_place_now(place);
    place->entered = true;
    zkl_company_look(place);
    watch_own(place);
    if (place->node->witness && is_certain(place))
        zkl_doubt_end(place->node, false);
    return place->kind == ZKL_KIND_READ ? tend_shared(place, fresh) : tend_single(place, fresh);
}

/* It has no node, and with that its timer has gone. */
static void free_place(zkl_place *place) {
    if (place->under)
        place->under->lent = NULL;
    zkl_list_remove(&place->line->listeners, &place->listener.item);
    if (place->stirred)
        zkl_list_remove(&place->line->queue->stirred, &place->item);
    free(place);
}

void zkl_tend(zkl_place *place) {
    for (;;) {
        if (!place->node && !zkl_place_waiter(place)) {
            free_place(place);
            return;
        }
        if (!place->node)
            queue_up(place);
        else if (place->node->phase == ZKL_OVER)
            node_ended(place);
        else if (place->node->phase == ZKL_HELD ? !tend_held(place) : !tend_queue(place))
            zkl_stay_end(place);
        else
            return;
    }
}

/* The next one to be looked at; NULL: none is left. */
static zkl_place *take_stirred(zkl_queue *queue) {
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is freed is in the list no more */
    zkl_place *place = ZKL_FIRST(&queue->stirred, zkl_place, item);
    if (!place)
        return NULL;
    zkl_list_remove(&queue->stirred, &place->item);
    place->stirred = false;
    return place;
}

bool zkl_places_step(zkl_queue *queue) {
    bool any = false;
    for (zkl_place *place; (place = take_stirred(queue)); any = true)
        zkl_tend(place);
    return any;
}
