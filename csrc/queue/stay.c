#include "queue/stay.h"

#include "base/timer.h"
#include "queue/company.h"
#include "queue/contender.h"
#include "queue/line.h"
#include "queue/turns.h"

static void set_idle(zkl_place *place, bool idle) {
    if (idle != place->idle)
        place->context->idle_places += idle ? 1 : (size_t)-1;
    place->idle = idle;
}

/* The timer runs on while somebody holds for a short while: to set it may wake a thread. */
static void set_timer(zkl_place *place) {
    const zkl_nanos linger = place->sharing.linger;
    if (linger < ZKL_NEVER - place->idle_since)
        zkl_timer_set(&place->context->timers, &place->timer, place->idle_since + linger);
}

void zkl_stay_idle(zkl_place *place) {
    if (place->idle)
        return;
    set_idle(place, true);
    place->idle_since = zkl_place_now(place);
    if (!place->timer.at || place->kind == ZKL_KIND_READ)
        set_timer(place);
}

void zkl_stay_no_more(zkl_place *place) {
    if (place->idle && place->kind == ZKL_KIND_READ)
        zkl_timer_clear(&place->context->timers, &place->timer);
    set_idle(place, false);
}

static bool may_stay(zkl_place *place) {
    if (!place->context->port || place->line->queue->hurried || place->sharing.linger == 0)
        return false;
    return place->company == ZKL_COMPANY_NONE || zkl_company_awaited(place);
}

bool zkl_stay_on(zkl_place *place) {
    const bool may = may_stay(place);
    if (may)
        zkl_stay_idle(place);
    return may;
}

void zkl_stay_over(zkl_place *place) {
    if (zkl_place_now(place) - place->idle_since < place->sharing.linger)
        set_timer(place);
    else
        place->sealed = true;
}

static void nobody_hears(zkl_compound *compound) {
    (void)compound;
}

static void nobody_is_asked(zkl_compound *compound, zkl_contender *part) {
    (void)compound;
    (void)part;
}

void zkl_stay_end(zkl_place *place) {
    static zkl_compound nobody = {nobody_hears, nobody_is_asked, NULL};
    zkl_contender *node = place->node;
    place->node = NULL;
    place->sealed = place->entered = place->watch_own = false;
    set_idle(place, false);
    ZKL_EACH (zkl_contender, c, &place->resting, member) {
        zkl_turns_leave_resting(place, c);
        zkl_contender_rested(c);
    }
    place->turn = place->before = 0;
    zkl_timer_clear(&place->context->timers, &place->timer);
    node->compound = &nobody;
    zkl_line_drop(node);
}
