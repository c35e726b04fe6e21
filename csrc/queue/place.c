#include "queue/place.h"

#include "base/timer.h"
#include "queue/contender.h"
#include "queue/line.h"
#include "queue/place_state.h"
#include "queue/send.h"
#include "queue/settle.h"
#include "queue/vetting.h"
#include "queue/watches.h"
#include "recipe/snapshot.h"
#include "recipe/verdict.h"

#include <stdlib.h>
#include <string.h>

/* However short a stint is, readers do not ask more often who is behind them; and however long it
 * is, they do ask. */
#define PAUSE_LEAST (ZKL_SECOND / 20)
#define PAUSE_MOST (3600 * ZKL_SECOND)

static zkl_guest *guest_of(zkl_contender *c) {
    return ZKL_CONTAINER_OF(c, zkl_guest, contender);
}

static zkl_nanos now(const zkl_place *place) {
    return zkl_context_now(place->context);
}

/* The end of the step goes on with it. */
static void stir(zkl_place *place) {
    if (place->stirred)
        return;
    place->stirred = true;
    zkl_list_append(&place->line->queue->stirred, &place->item);
}

static zkl_contender *first_waiting(const zkl_place *place) {
    return ZKL_FIRST(&place->waiting, zkl_contender, member);
}

static bool is_sealed(const zkl_place *place) {
    return place->sealed || (place->node && place->node->revoked);
}

static void set_idle(zkl_place *place, bool idle) {
    if (idle != place->idle)
        place->context->idle_places += idle ? 1 : (size_t)-1;
    place->idle = idle;
}

/* ---- the callers' moves ---- */

static void leave_waiting(zkl_place *place, zkl_contender *c) {
    zkl_list_remove(&place->waiting, &c->member);
    guest_of(c)->place = NULL;
    stir(place);
}

static void fail(zkl_contender *c, zkl_status status) {
    leave_waiting(guest_of(c)->place, c);
    zkl_contender_failed(c, status);
}

static void fail_all(zkl_place *place, zkl_status status) {
    ZKL_EACH (zkl_contender, c, &place->waiting, member) {
        fail(c, status);
    }
}

/* Those who are not to wait for anybody. */
static void fail_impatient(zkl_place *place, zkl_status status) {
    ZKL_EACH (zkl_contender, c, &place->waiting, member) {
        if (c->terms.once)
            fail(c, status);
    }
}

static zkl_contender *first_holder(const zkl_place *place) {
    return ZKL_FIRST(&place->holders, zkl_contender, member);
}

/* A hold has ended; the caller says how. */
static void leave_holding(zkl_place *place, zkl_contender *c) {
    zkl_list_remove(&place->holders, &c->member);
    guest_of(c)->place = NULL;
    stir(place);
}

static void lose(zkl_place *place) {
    ZKL_EACH (zkl_contender, c, &place->holders, member) {
        leave_holding(place, c);
        zkl_contender_lost(c);
    }
}

static void grant(zkl_place *place, bool handed) {
    zkl_contender *c = first_waiting(place);
    zkl_list_remove(&place->waiting, &c->member);
    zkl_list_append(&place->holders, &c->member);
    c->turn = ++place->turn;
    c->token = place->node->token;
    c->revoked = place->node->revoked;
    place->counted += place->company != ZKL_COMPANY_NONE;
    place->context->counters.handed += handed;
    zkl_contender_granted(c);
    zkl_timer_set(&place->context->timers, &c->timer, c->hold_until);
}

/* ---- the node ---- */

static void nobody_hears(zkl_compound *compound) {
    (void)compound;
}

static void nobody_is_asked(zkl_compound *compound, zkl_contender *part) {
    (void)compound;
    (void)part;
}

static zkl_place *place_around(zkl_compound *compound) {
    return ZKL_CONTAINER_OF(compound, zkl_place, compound);
}

/* The host hears of a loss before it hears that another one holds. */
static void node_changed(zkl_compound *compound) {
    zkl_place *place = place_around(compound);
    if (place->node && place->node->phase == ZKL_OVER && place->node->outcome == ZKL_LOST)
        lose(place);
    stir(place);
}

static void node_revoked(zkl_compound *compound, zkl_contender *node) {
    zkl_place *place = place_around(compound);
    (void)node;
    ZKL_EACH (zkl_contender, c, &place->holders, member) {
        zkl_contender_revoked(c);
    }
    stir(place);
}

/* It cannot be taken again. */
static void leave_resting(zkl_place *place, zkl_contender *c) {
    zkl_list_remove(&place->resting, &c->member);
    guest_of(c)->place = NULL;
}

/* Lets go of the node, which goes on alone until it is gone. */
static void drop_node(zkl_place *place) {
    static zkl_compound nobody = {nobody_hears, nobody_is_asked, NULL};
    zkl_contender *node = place->node;
    place->node = NULL;
    place->sealed = place->entered = place->watch_own = false;
    set_idle(place, false);
    ZKL_EACH (zkl_contender, c, &place->resting, member) {
        leave_resting(place, c);
        zkl_contender_rested(c);
    }
    place->turn = 0;
    zkl_timer_clear(&place->context->timers, &place->timer);
    node->compound = &nobody;
    zkl_line_drop(node);
}

/* A single try asks only once; whoever is patient makes the node wait. */
static bool is_tried_once(const zkl_place *place) {
    ZKL_EACH (const zkl_contender, c, &place->waiting, member) {
        if (!c->terms.once)
            return false;
    }
    return true;
}

/* The list that goes out with the create sets the watch on the directory: if nobody is there, no
 * other one is needed. */
static void queue_up(zkl_place *place) {
    const zkl_terms terms = {
        .kind = place->kind, .deadline = ZKL_NEVER, .once = is_tried_once(place)};
    place->listener.attends = place->kind != ZKL_KIND_READ;
    place->lists = place->line->lists;
    place->company = ZKL_COMPANY_UNKNOWN;
    place->counted = 0;
    place->node = zkl_line_join_part(place->line, &terms, &place->compound);
    if (!place->node)
        fail_all(place, ZKL_NO_MEMORY);
}

/* The node's end was none of our doing. */
static void node_ended(zkl_place *place) {
    const zkl_status why = place->node->outcome;
    lose(place);
    drop_node(place);
    if (why != ZKL_LOST) /* released: the client is closing */
        fail_all(place, why == ZKL_OK ? ZKL_CLOSED : why);
}

/* ---- who stands behind ---- */

/* A place that is held has nobody before it but our own nodes that are on their way out. */
static bool is_anybody_there(const zkl_place *place) {
    const zkl_snapshot *snapshot = &place->line->snapshot;
    const zkl_child own = {.kind = place->node->terms.kind};
    for (size_t i = 0; i < snapshot->count; i++) {
        const zkl_child *child = &snapshot->children[i];
        if (child->mine != place->node && zkl_verdict_blocks(&own, child->kind))
            return true;
    }
    return false;
}

/* Readers that share it have no watch on the directory, for others come and go: what is behind them
 * is asked now and then. */
static bool is_read(const zkl_place *place) {
    return place->kind == ZKL_KIND_READ && (first_holder(place) || first_waiting(place));
}

static zkl_company company_of(const zkl_place *place) {
    const zkl_line *line = place->line;
    if (line->current || (is_read(place) && place->lists != line->lists))
        return is_anybody_there(place) ? ZKL_COMPANY_SOME : ZKL_COMPANY_NONE;
    if (place->company == ZKL_COMPANY_NONE && (line->unsynced || !is_read(place)))
        return ZKL_COMPANY_UNKNOWN; /* the watch has told of something */
    return place->company;
}

static void look_behind(zkl_place *place) {
    const zkl_company found = company_of(place);
    place->lists = place->line->lists;
    if (found == ZKL_COMPANY_NONE)
        place->counted = 0;
    else if (place->company == ZKL_COMPANY_NONE)
        place->since = now(place);
    place->company = found;
    place->listener.attends = found == ZKL_COMPANY_UNKNOWN && !is_read(place);
}

/* Is there, or will there be, room for the watch without which a list says little? */
static bool may_watch(const zkl_line *line) {
    return line->directory_watch != ZKL_WATCH_NONE ||
           zkl_watches_room(&line->queue->watches, strlen(line->path), ZKL_CLAIM_OTHERS);
}

/* Wants a list. false: none is on its way. */
static bool ask_behind(zkl_place *place) {
    zkl_line *line = place->line;
    if (!place->context->port || line->retry.pending || (!is_read(place) && !may_watch(line)))
        return line->list_sent;
    if (!line->list_sent) {
        line->list_wanted = true;
        zkl_line_settle(line);
    }
    return line->list_sent;
}

/* Have those behind it waited for as long as they are to? */
static bool is_used_up(const zkl_place *place) {
    return place->company != ZKL_COMPANY_NONE && place->turn > 0 &&
           (place->counted >= place->sharing.handoffs ||
            now(place) - place->since >= place->sharing.stint);
}

/* ---- granting without traffic ---- */

typedef enum answer { NO, SOON, YES } answer;

/* May the next one here hold? The node must be there at this moment, and the session alive. SOON:
 * what is asked for comes back here, as the line's settling does. */
static answer may_hand_over(zkl_place *place) {
    const zkl_context *context = place->context;
    zkl_contender *node = place->node;
    if (!context->port)
        return SOON;        /* zkl_line_resume comes by */
    if (place->line->stale) /* what has happened while the link was cut comes first */
        return ask_behind(place) ? SOON : NO;
    if (!zkl_vetting_stands(place->line))
        return NO;
    if (node->watch != ZKL_WATCH_ARMED)
        return node->watch == ZKL_WATCH_ASKED ? SOON : NO;
    if (context->trusted_until <= zkl_context_now(context))
        return SOON; /* the heart beats as long as somebody waits */
    return YES;
}

/* ---- what is to be done with it ---- */

/* The timer runs on while somebody holds for a short while: to set it may wake a thread. */
static void set_linger_timer(zkl_place *place) {
    const zkl_nanos linger = place->sharing.linger;
    if (linger < ZKL_NEVER - place->idle_since)
        zkl_timer_set(&place->context->timers, &place->timer, place->idle_since + linger);
}

static void keep_idle(zkl_place *place) {
    if (place->idle)
        return;
    set_idle(place, true);
    place->idle_since = now(place);
    if (!place->timer.pending || place->kind == ZKL_KIND_READ)
        set_linger_timer(place);
}

static void keep_no_more(zkl_place *place) {
    if (place->idle && place->kind == ZKL_KIND_READ)
        zkl_timer_clear(&place->context->timers, &place->timer);
    set_idle(place, false);
}

/* Nobody here wants it: does it stay for a while? */
static bool may_linger(zkl_place *place) {
    if (!place->context->port || place->line->queue->hurried || place->sharing.linger == 0)
        return false;
    return place->company == ZKL_COMPANY_NONE ||
           (place->company == ZKL_COMPANY_UNKNOWN && ask_behind(place));
}

/* Perhaps those who came have gone. */
static bool awaits_list(zkl_place *place) {
    return place->company == ZKL_COMPANY_UNKNOWN && ask_behind(place);
}

static bool tend_idle(zkl_place *place) {
    const bool may = may_linger(place);
    if (may)
        keep_idle(place);
    return may;
}

/* It is held, and by no caller. false: it is to go. */
static bool tend_free(zkl_place *place, bool fresh) {
    if (fresh && first_waiting(place)) {
        grant(place, false);
        return true;
    }
    if (is_sealed(place))
        return false;
    if (!first_waiting(place))
        return tend_idle(place);
    keep_no_more(place);
    if (is_used_up(place))
        return awaits_list(place);
    const answer may = may_hand_over(place);
    if (may == YES)
        grant(place, true);
    else if (may == SOON && !place->context->port)
        fail_impatient(place, ZKL_DISCONNECTED);
    return may != NO;
}

static void watch_own(zkl_place *place) {
    if (place->watch_own)
        return;
    place->watch_own = true;
    zkl_send_watch_own(place->node);
}

/* How many wait, and the last to come of those who may be refused: not of those who had waited
 * before they queued anew, who were no more than that many. */
static size_t count_waiting(const zkl_place *place, zkl_contender **last) {
    size_t count = 0;
    ZKL_EACH (zkl_contender, c, &place->waiting, member) {
        count++;
        if (last && c->terms.crowd)
            *last = c;
    }
    return count;
}

/* It is known that the node waits for somebody, and so do all here. */
static void thin(zkl_place *place) {
    for (;;) {
        zkl_contender *last = NULL;
        const size_t waiting = count_waiting(place, &last);
        if (!last || waiting <= last->terms.crowd - 1)
            return;
        fail(last, ZKL_BUSY);
    }
}

/* Lets in who waits, as long as those behind it need not wait for too much. false: it takes no new
 * callers, and whoever waits waits for the next one. */
static bool let_in(zkl_place *place, bool fresh) {
    for (bool first = fresh; first_waiting(place); first = false) {
        if (!first && is_sealed(place))
            return false;
        if (!first && is_used_up(place))
            return awaits_list(place);
        const answer may = fresh ? YES : may_hand_over(place);
        if (may != YES)
            return may == SOON;
        grant(place, !first);
    }
    return true;
}

/* How long until readers ask again who is behind them: about a stint. Not all clients at once. */
static zkl_nanos pause_of(const zkl_place *place) {
    zkl_nanos pause = place->sharing.stint < ZKL_NEVER ? place->sharing.stint : ZKL_SECOND;
    pause = pause > PAUSE_LEAST ? pause : PAUSE_LEAST;
    pause = pause < PAUSE_MOST ? pause : PAUSE_MOST;
    return pause + now(place) % (pause / 4);
}

/* Somebody here reads. */
static void tend_readers(zkl_place *place) {
    if (is_sealed(place)) { /* whoever waits has to wait for those who hold */
        fail_impatient(place, ZKL_TIMEOUT);
        thin(place);
    }
    if (place->company == ZKL_COMPANY_UNKNOWN)
        ask_behind(place);
    if (place->company == ZKL_COMPANY_NONE && !place->timer.pending)
        zkl_timer_set(&place->context->timers, &place->timer, now(place) + pause_of(place));
}

/* A place of readers. false: it is to go. */
static bool tend_shared(zkl_place *place, bool fresh) {
    if (first_waiting(place))
        keep_no_more(place);
    if (!let_in(place, fresh))
        place->sealed = true;
    if (first_holder(place)) {
        tend_readers(place);
        return true;
    }
    if (is_sealed(place))
        return false;
    if (!first_waiting(place))
        return tend_idle(place);
    if (!place->context->port)
        fail_impatient(place, ZKL_DISCONNECTED);
    return true;
}

static bool tend_held(zkl_place *place) {
    const bool fresh = !place->entered;
    if (fresh)
        place->since = now(place);
    place->entered = true;
    look_behind(place);
    watch_own(place);
    if (place->kind == ZKL_KIND_READ)
        return tend_shared(place, fresh);
    if (!first_holder(place))
        return tend_free(place, fresh);
    if (place->company == ZKL_COMPANY_UNKNOWN)
        ask_behind(place);
    return true;
}

/* It queues. false: nobody waits for it any more. */
static bool tend_queue(zkl_place *place) {
    zkl_contender *node = place->node;
    if (!place->context->port)
        fail_impatient(place, ZKL_DISCONNECTED);
    if (node->queued) {
        place->listener.attends = false; /* who comes behind it is of no interest yet */
        fail_impatient(place, ZKL_TIMEOUT);
        thin(place);
    }
    node->terms.once = is_tried_once(place);
    return first_waiting(place) != NULL;
}

static void free_place(zkl_place *place) {
    zkl_timer_clear(&place->context->timers, &place->timer);
    zkl_list_remove(&place->line->listeners, &place->listener.item);
    if (place->stirred)
        zkl_list_remove(&place->line->queue->stirred, &place->item);
    free(place);
}

/* Goes on with it until there is nothing to do. */
static void tend(zkl_place *place) {
    for (;;) {
        if (!place->node && !first_waiting(place)) {
            free_place(place);
            return;
        }
        if (!place->node)
            queue_up(place);
        else if (place->node->phase == ZKL_OVER)
            node_ended(place);
        else if (place->node->phase == ZKL_HELD ? !tend_held(place) : !tend_queue(place))
            drop_node(place);
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
        tend(place);
    return any;
}

/* ---- what the line tells ---- */

static zkl_place *place_of(zkl_listener *listener) {
    return ZKL_CONTAINER_OF(listener, zkl_place, listener);
}

static void line_stirred(zkl_listener *listener) {
    stir(place_of(listener));
}

static void line_dismissed(zkl_listener *listener, zkl_status status, bool give_back) {
    zkl_place *place = place_of(listener);
    fail_all(place, status);
    if (!give_back)
        return;
    ZKL_EACH (zkl_contender, c, &place->holders, member) {
        leave_holding(place, c);
        zkl_contender_released(c);
    }
}

static bool is_unused(const zkl_place *place) {
    return place->node && place->entered && !first_holder(place) && !first_waiting(place);
}

static void line_hurried(zkl_listener *listener) {
    zkl_place *place = place_of(listener);
    if (is_unused(place)) /* at once: who asks counts what has departed */
        drop_node(place);
    stir(place);
}

/* ---- the host's side ---- */

/* `sealing`: nobody here takes it over. What one of several readers leaves behind hurts nobody. */
static zkl_status end_hold(zkl_contender *c, bool sealing) {
    if (c->phase == ZKL_OVER && c->outcome == ZKL_LOST)
        return ZKL_LOST;
    if (c->phase != ZKL_HELD)
        return ZKL_NOT_OWNER;
    zkl_place *place = guest_of(c)->place;
    place->sealed |= sealing && place->kind != ZKL_KIND_READ;
    leave_holding(place, c);
    zkl_contender_released(c);
    return ZKL_OK;
}

static zkl_status release(zkl_contender *c) {
    return end_hold(c, false);
}

static zkl_status give_up(zkl_contender *c) {
    return end_hold(c, true);
}

static void cancel(zkl_contender *c, zkl_status status) {
    if (c->phase == ZKL_WAITING)
        fail(c, status);
}

static void drop(zkl_contender *c) {
    if (c->phase != ZKL_OVER)
        c->context->counters.abandoned++;
    c->hosted = false;
    cancel(c, ZKL_CANCELLED);
    give_up(c);
    if (guest_of(c)->place)
        leave_resting(guest_of(c)->place, c);
    zkl_contender_unhost(c);
}

/* Whoever writes with the node as a guard may do so after the hold, when another caller has it: so
 * the node goes with this hold, whose end looks at the place. */
static zkl_contender *part(zkl_contender *c, size_t index) {
    zkl_place *place = guest_of(c)->place;
    if (index > 0)
        return NULL;
    place->sealed = true;
    return place->node;
}

static void free_guest(zkl_contender *c) {
    free(guest_of(c));
}

/* The end of its wait, or of its max_hold. */
static void guest_timer(zkl_timer *timer) {
    zkl_contender *c = ZKL_CONTAINER_OF(timer, zkl_contender, timer);
    zkl_place *place = guest_of(c)->place;
    if (c->phase == ZKL_WAITING) {
        fail(c, c->context->port ? ZKL_TIMEOUT : ZKL_DISCONNECTED);
    } else if (c->phase == ZKL_HELD) {
        place->sealed = true;
        leave_holding(place, c);
        zkl_contender_lost(c);
    }
}

static const zkl_contender_table guests = {release, give_up, cancel, drop, free_guest, part};

static zkl_guest *guest_new(zkl_place *place, uint64_t tag, const zkl_terms *terms) {
    zkl_guest *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    zkl_contender *c = &made->contender;
    zkl_contender_init(c, place->line->queue, tag, terms, NULL);
    c->call = &guests;
    c->terms.sharing = NULL;
    c->terms.at_once = NULL;
    c->timer.fire = guest_timer;
    made->place = place;
    zkl_list_append(&place->waiting, &c->member);
    return made;
}

/* The end of its lingering; or it is time to ask who is behind those who read. */
static void place_timer(zkl_timer *timer) {
    zkl_place *place = ZKL_CONTAINER_OF(timer, zkl_place, timer);
    if (place->idle && now(place) - place->idle_since < place->sharing.linger)
        set_linger_timer(place);
    else if (place->idle)
        place->sealed = true;
    else if (place->kind == ZKL_KIND_READ)
        ask_behind(place);
    stir(place);
}

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
    stir(place);
    return place;
}

/* The client's place of that kind in the line. */
static zkl_place *find(const zkl_line *line, zkl_kind kind) {
    ZKL_EACH (zkl_listener, listener, &line->listeners, item) {
        if (place_of(listener)->kind == kind)
            return place_of(listener);
    }
    return NULL;
}

/* Is it held so that a newcomer has to wait? */
static bool is_closed(const zkl_place *place) {
    return first_holder(place) && (place->kind != ZKL_KIND_READ || is_sealed(place));
}

/* Would a newcomer have to wait for somebody, as far as is known here? */
static bool is_occupied(const zkl_place *place) {
    return is_closed(place) || first_waiting(place);
}

/* The first one waits for the servers as long as they have not said that the node is behind
 * somebody. */
static bool is_crowded(const zkl_place *place, size_t crowd) {
    const bool queued = is_closed(place) || (place->node && place->node->queued);
    return crowd && is_occupied(place) && count_waiting(place, NULL) >= crowd - queued;
}

/* Its only caller is not to wait for anybody: what the place still has to ask for is asked of a new
 * one, whose create says all. */
static void try_once(zkl_place *place) {
    if (place->node && place->node->phase == ZKL_HELD && !first_holder(place) &&
        may_hand_over(place) != YES)
        drop_node(place);
}

/* The options are those of the latest caller, who comes with other ones only when nobody else is
 * here. What was counted by the former ones goes with their node. */
static void adopt(zkl_place *place, const zkl_sharing *sharing) {
    const zkl_sharing *former = &place->sharing;
    const bool same = former->handoffs == sharing->handoffs && former->stint == sharing->stint &&
                      former->linger == sharing->linger;
    if (!same && place->node && !first_holder(place))
        drop_node(place);
    place->sharing = *sharing;
}

/* Those of the line that nobody uses, and that one of that kind would have to wait for, go first.
 */
static void make_way(const zkl_line *line, zkl_kind kind) {
    ZKL_EACH (zkl_listener, listener, &line->listeners, item) {
        const zkl_place *place = place_of(listener);
        const zkl_child ahead = {.kind = place->kind};
        if (place->kind != kind && zkl_verdict_blocks(&ahead, kind))
            line_hurried(listener);
    }
}

/* Takes read under a write that its owner holds. The node is the owner's alone, and counts for the
 * write's turn; the write's place is granted to nobody else, who would write beside it. */
static zkl_contender *join_under(zkl_line *line, uint64_t tag, const zkl_terms *terms) {
    zkl_place *write = guest_of(terms->under)->place;
    zkl_terms own = *terms;
    own.sharing = NULL;
    own.under = write->node;
    zkl_contender *c = zkl_line_join(line, tag, &own);
    if (!c)
        return NULL;
    write->sealed = true;
    c->turn = terms->under->turn;
    return c;
}

/* Sees what the end of the step would see, and says it instead of an event. The place may be gone
 * then. */
static void look_at_once(zkl_place *place, zkl_contender *c, int64_t *token) {
    c->mute = true;
    tend(place);
    c->mute = false;
    if (c->phase == ZKL_HELD)
        *token = c->token;
}

zkl_contender *zkl_place_join(zkl_line *line, uint64_t tag, const zkl_terms *terms) {
    if (terms->under && terms->under->phase == ZKL_HELD)
        return join_under(line, tag, terms);
    zkl_place *place = find(line, terms->kind);
    if (!place)
        place = place_new(line, terms->kind);
    if (!place)
        return NULL;
    const bool occupied = is_occupied(place), crowded = is_crowded(place, terms->crowd);
    zkl_guest *made = guest_new(place, tag, terms);
    if (!made)
        return NULL; /* the end of the step frees a place that nobody wants */
    zkl_contender *c = &made->contender;
    adopt(place, terms->sharing);
    if (crowded) {
        fail(c, ZKL_BUSY);
    } else if (terms->once && occupied) {
        fail(c, ZKL_TIMEOUT);
    } else if (terms->once && !place->context->port) {
        fail(c, ZKL_DISCONNECTED);
    } else {
        zkl_timer_set(&c->context->timers, &c->timer, terms->once ? ZKL_NEVER : terms->deadline);
        make_way(line, terms->kind);
        if (terms->once)
            try_once(place);
        if (terms->at_once)
            look_at_once(place, c, terms->at_once);
        else
            stir(place);
    }
    return c;
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

/* ---- the short way ---- */

/* Does nothing of it concern others, for now? */
static bool is_quiet(const zkl_place *place) {
    return place->kind != ZKL_KIND_READ && place->company == ZKL_COMPANY_NONE && !place->stirred &&
           !is_sealed(place) && !first_waiting(place) && !place->line->stale &&
           place->context->port && !place->line->queue->hurried && place->sharing.linger > 0;
}

bool zkl_place_rest(zkl_contender *c) {
    if (c->call != &guests || c->phase != ZKL_HELD)
        return false;
    zkl_place *place = guest_of(c)->place;
    if (!is_quiet(place))
        return false;
    zkl_list_remove(&place->holders, &c->member);
    zkl_list_append(&place->resting, &c->member);
    guest_of(c)->rested = true;
    zkl_contender_released(c);
    keep_idle(place);
    return true;
}

bool zkl_place_take_again(zkl_contender *c) {
    if (!zkl_place_rested(c) || !guest_of(c)->place)
        return false;
    zkl_place *place = guest_of(c)->place;
    if (!place->idle || !is_quiet(place) || may_hand_over(place) != YES)
        return false;
    zkl_list_remove(&place->resting, &c->member);
    zkl_list_append(&place->holders, &c->member);
    guest_of(c)->rested = false;
    keep_no_more(place);
    c->turn = ++place->turn;
    place->context->counters.handed++;
    zkl_contender_held_again(c);
    zkl_timer_set(&place->context->timers, &c->timer, c->hold_until);
    return true;
}

bool zkl_place_rested(const zkl_contender *c) {
    return c->call == &guests && ZKL_CONTAINER_OF(c, const zkl_guest, contender)->rested;
}
