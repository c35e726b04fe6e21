#include "queue/place.h"

#include "base/timer.h"
#include "queue/contender.h"
#include "queue/guest.h"
#include "queue/line.h"
#include "queue/place_state.h"
#include "queue/stay.h"
#include "queue/tend.h"
#include "queue/turns.h"

#include <stdlib.h>

/* ---- what the node and the line tell ---- */

static zkl_place *place_around(zkl_compound *compound) {
    return ZKL_CONTAINER_OF(compound, zkl_place, compound);
}

/* The host hears of a loss before it hears that another one holds. */
static void node_changed(zkl_compound *compound) {
    zkl_place *place = place_around(compound);
    zkl_turns_lose(place); /* nobody holds it before it is granted, or when the client closes */
    zkl_place_stir(place);
}

static void node_revoked(zkl_compound *compound, zkl_contender *node) {
    zkl_place *place = place_around(compound);
    (void)node;
    ZKL_EACH (zkl_contender, c, &place->holders, member) {
        zkl_contender_revoked(c);
    }
    zkl_place_stir(place);
}

static zkl_place *place_of(zkl_listener *listener) {
    return ZKL_CONTAINER_OF(listener, zkl_place, listener);
}

static void line_stirred(zkl_listener *listener) {
    zkl_place_stir(place_of(listener));
}

static void line_dismissed(zkl_listener *listener, zkl_status status, bool give_back) {
    zkl_place *place = place_of(listener);
    zkl_turns_fail_all(place, status);
    if (!give_back)
        return;
    ZKL_EACH (zkl_contender, c, &place->holders, member) {
        zkl_turns_leave(place, c);
        zkl_contender_released(c);
    }
}

static bool is_unused(const zkl_place *place) {
    return place->entered && !zkl_place_holder(place) && !zkl_place_waiter(place);
}

static void line_hurried(zkl_listener *listener) {
    zkl_place *place = place_of(listener);
    if (is_unused(place)) /* at once: who asks counts what has departed */
        zkl_stay_end(place);
    zkl_place_stir(place);
}

/* The end of its lingering; or it is time to ask who is behind those who read. */
static void place_timer(zkl_timer *timer) {
    zkl_place *place = ZKL_CONTAINER_OF(timer, zkl_place, timer);
    if (place->idle)
        zkl_stay_over(place);
    zkl_place_stir(place);
}

/* ---- the client's places in a line ---- */

static zkl_place *place_new(zkl_line *line, zkl_kind kind) {
    zkl_place *place = calloc(1, sizeof *place);
    if (!place)
        return NULL;
    place->compound = (zkl_compound){node_changed, node_revoked, NULL};
    place->listener = (zkl_listener){
        .stirred = line_stirred, .dismissed = line_dismissed, .hurried = line_hurried};
    place->context = line->context;
    place->line = line;
    place->kind = kind;
    place->timer.fire = place_timer;
    zkl_list_append(&line->listeners, &place->listener.item);
    zkl_place_stir(place);
    return place;
}

void zkl_place_make_way(zkl_line *line) {
    ZKL_EACH (zkl_listener, listener, &line->listeners, item) {
        line_hurried(listener);
    }
}

static void hurry_line(zkl_line *line) {
    zkl_place_make_way(line);
}

void zkl_places_hurry(zkl_lines *lines) {
    lines->queue.hurried = true;
    zkl_lines_each(lines, hurry_line);
}

/* ---- a caller comes ---- */

/* Is it held so that a newcomer has to wait? */
static bool is_closed(const zkl_place *place) {
    return zkl_place_holder(place) && (place->kind != ZKL_KIND_READ || zkl_place_sealed(place));
}

/* Would a newcomer have to wait for somebody, as far as is known here? */
static bool is_occupied(const zkl_place *place) {
    return is_closed(place) || zkl_place_waiter(place);
}

/* The first one waits for the servers as long as they have not said that the node is behind
 * somebody. */
static bool is_crowded(const zkl_place *place, size_t crowd) {
    const bool queued = is_closed(place) || (place->node && place->node->queued);
    return crowd && place->waiters >= crowd - queued;
}

/* Its only caller is not to wait for anybody: what the place still has to ask for is asked of a new
 * one, whose create says all. */
static void try_once(zkl_place *place) {
    if (place->node && !zkl_place_holder(place) && zkl_turns_may_hand_over(place) != ZKL_MAY)
        zkl_stay_end(place);
}

/* The options are those of the latest caller, who comes with other ones only when nobody else is
 * here. What was counted by the former ones goes with their node. */
static void adopt(zkl_place *place, const zkl_sharing *sharing) {
    const zkl_sharing *former = &place->sharing;
    const bool same = former->handoffs == sharing->handoffs && former->stint == sharing->stint &&
                      former->linger == sharing->linger;
    if (!same && place->node && !zkl_place_holder(place))
        zkl_stay_end(place);
    place->sharing = *sharing;
}

/* Sees what the end of the step would see, and says it instead of an event. The place may be gone
 * then. */
static void look_at_once(zkl_place *place, zkl_contender *c, int64_t *token) {
    c->mute = true;
    zkl_tend(place);
    c->mute = false;
    *token = c->token; /* 0: it does not hold */
}

static void wait_for(zkl_place *place, zkl_contender *c, const zkl_terms *terms) {
    zkl_timer_set(&c->context->timers, &c->timer, terms->once ? ZKL_NEVER : terms->deadline);
    if (terms->at_once)
        look_at_once(place, c, terms->at_once);
    else
        zkl_place_stir(place);
}

static zkl_place *lend(const zkl_contender *writer, zkl_place *write) {
    zkl_place *read = place_new(write->line, ZKL_KIND_READ);
    if (!read)
        return NULL;
    read->before = writer->turn - 1;
    read->under = write;
    write->lent = read;
    return read;
}

/* Takes read under a write that its owner holds: on a place that is the owner's alone, and counts
 * for the write's turn, until the write ends. The write's place is granted to nobody else, who
 * would write beside the read. */
static zkl_contender *join_under(uint64_t tag, const zkl_terms *terms) {
    zkl_place *write = zkl_guest_of(terms->under)->place;
    zkl_place *read = write->lent ? write->lent : lend(terms->under, write);
    zkl_terms own = *terms;
    own.crowd = 0;
    zkl_contender *c = read ? zkl_guest_new(read, tag, &own) : NULL;
    if (!c)
        return NULL;
    read->sharing = *terms->sharing;
    write->sealed = true;
    wait_for(read, c, terms);
    return c;
}

zkl_contender *zkl_place_join(zkl_line *line, uint64_t tag, const zkl_terms *terms) {
    if (terms->under && terms->under->phase == ZKL_HELD)
        return join_under(tag, terms);
    zkl_place *place = zkl_place_find(line, terms->kind);
    if (!place)
        place = place_new(line, terms->kind);
    if (!place)
        return NULL;
    const bool occupied = is_occupied(place), crowded = is_crowded(place, terms->crowd);
    zkl_contender *c = zkl_guest_new(place, tag, terms);
    if (!c)
        return NULL; /* the end of the step frees a place that nobody wants */
    adopt(place, terms->sharing);
    if (crowded) {
        zkl_turns_fail(c, ZKL_BUSY);
    } else if (terms->once && occupied) {
        zkl_turns_fail(c, ZKL_TIMEOUT);
    } else {
        zkl_place_make_way(line); /* for those of the other kind he would have to wait */
        if (terms->once)
            try_once(place);
        wait_for(place, c, terms);
    }
    return c;
}
