#include "queue/company.h"

#include "base/timer.h"
#include "queue/contender.h"
#include "queue/settle.h"
#include "queue/watches.h"
#include "recipe/snapshot.h"
#include "recipe/verdict.h"

#include <string.h>

/* However short a stint is, readers do not ask more often who is behind them; and however long it
 * is, they do ask. */
#define PAUSE_LEAST (ZKL_SECOND / 20)
#define PAUSE_MOST (1800 * ZKL_SECOND)

/* The write under which the read was taken whose node this is. */
static bool is_lender(const zkl_child *child, const zkl_contender *node) {
    return node->borrowed && child->mine && child->sequence == node->sequence;
}

/* A place that is held has nobody before it but our own nodes that are on their way out. */
static bool is_anybody_there(const zkl_place *place) {
    const zkl_snapshot *snapshot = &place->line->snapshot;
    const zkl_child own = {.kind = place->node->terms.kind};
    for (size_t i = 0; i < snapshot->count; i++) {
        const zkl_child *child = &snapshot->children[i];
        if (child->mine != place->node && zkl_verdict_blocks(&own, child->kind) &&
            !is_lender(child, place->node))
            return true;
    }
    return false;
}

/* Readers that share it have no watch on the directory, for others come and go: what is behind them
 * is asked now and then. */
static bool is_read(const zkl_place *place) {
    return place->kind == ZKL_KIND_READ && (zkl_place_holder(place) || zkl_place_waiter(place));
}

/* Those who read were to have asked, and have been answered, long ago: somebody may have come just
 * after the latest list, and have waited for as long as he is to. */
static bool is_overdue(const zkl_place *place) {
    const zkl_nanos stint = place->sharing.stint;
    return zkl_place_now(place) - place->line->known >=
           (stint > 2 * PAUSE_LEAST ? stint : 2 * PAUSE_LEAST);
}

static zkl_company company_of(const zkl_place *place) {
    const zkl_line *line = place->line;
    const bool listed = place->lists != line->lists;
    if (place->company == ZKL_COMPANY_NONE && line->current && !listed)
        return ZKL_COMPANY_NONE; /* who comes is shown by a new list */
    if (line->current || (is_read(place) && listed))
        return is_anybody_there(place) ? ZKL_COMPANY_SOME : ZKL_COMPANY_NONE;
    if (place->company == ZKL_COMPANY_NONE &&
        (line->unsynced || !is_read(place) || is_overdue(place)))
        return ZKL_COMPANY_UNKNOWN; /* the watch has told of something, or it is time to ask */
    return place->company;
}

void zkl_company_look(zkl_place *place) {
    const zkl_line *line = place->line;
    const zkl_company found = company_of(place);
    if (found == ZKL_COMPANY_NONE)
        place->counted = 0;
    if (line->current && found == ZKL_COMPANY_NONE)
        place->since = zkl_place_now(place);
    else if (found == ZKL_COMPANY_NONE ||
             (place->company == ZKL_COMPANY_NONE && place->lists == line->lists))
        place->since = line->known;
    place->lists = line->lists;
    zkl_place_set_company(place, found);
    place->listener.attends = found == ZKL_COMPANY_UNKNOWN && !is_read(place);
}

/* Is there, or will there be, room for the watch without which a list says little? */
static bool may_watch(const zkl_line *line) {
    return line->directory_watch != ZKL_WATCH_NONE ||
           zkl_watches_room(&line->queue->watches, strlen(line->path), ZKL_CLAIM_OTHERS);
}

bool zkl_company_ask(zkl_place *place) {
    zkl_line *line = place->line;
    if (!place->context->port || line->retry.at || (!is_read(place) && !may_watch(line)))
        return line->list_sent;
    if (!line->list_sent) {
        line->list_wanted = true;
        zkl_line_settle(line);
    }
    return line->list_sent;
}

bool zkl_company_awaited(zkl_place *place) {
    return place->company == ZKL_COMPANY_UNKNOWN && zkl_company_ask(place);
}

bool zkl_company_waited(const zkl_place *place) {
    return place->company != ZKL_COMPANY_NONE &&
           (place->counted >= place->sharing.handoffs ||
            zkl_place_now(place) - place->since >= place->sharing.stint);
}

/* When readers ask again who is behind them: half a stint after they did, for whoever comes in
 * between waits for one in all. Not all clients at once. */
static zkl_nanos next_moment(const zkl_place *place) {
    zkl_nanos pause = place->sharing.stint < ZKL_NEVER ? place->sharing.stint / 2 : ZKL_SECOND;
    pause = pause > PAUSE_LEAST ? pause : PAUSE_LEAST;
    pause = pause < PAUSE_MOST ? pause : PAUSE_MOST;
    return place->since + pause - place->since % (pause / 4);
}

/* The answer comes back here, as does the link, or the line's retry, if it cannot be asked now. */
void zkl_company_patrol(zkl_place *place) {
    if (place->company == ZKL_COMPANY_UNKNOWN)
        zkl_company_ask(place);
    if (place->company != ZKL_COMPANY_NONE || place->timer.at)
        return;
    const zkl_nanos at = next_moment(place);
    if (at > zkl_place_now(place))
        zkl_timer_set(&place->context->timers, &place->timer, at);
    else
        zkl_company_ask(place);
}
