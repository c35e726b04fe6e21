/* SPDX-License-Identifier: MIT */
#include "line/outbox.h"

static void count(zkl_outbox *outbox, const zkl_dispatch *dispatch, zkl_dispatch_tally *tally,
                  int by) {
    switch (dispatch->state) {
    case ZKL_DISPATCH_NONE:
        break;
    case ZKL_DISPATCH_DUE:
        *(dispatch->creates ? &tally->creates_due : &tally->deletes_due) += (uint32_t)by;
        break;
    case ZKL_DISPATCH_BEHIND:
        tally->creates_behind += (uint32_t)by;
        break;
    case ZKL_DISPATCH_BATCHED:
        tally->creates_batched += dispatch->creates ? (uint32_t)by : 0;
        /* fall through */
    case ZKL_DISPATCH_SENT:
        *(dispatch->creates ? &outbox->creates : &outbox->deletes) += (size_t)by;
        break;
    }
}

static bool is_listed(const zkl_dispatch *dispatch) {
    return dispatch->state == ZKL_DISPATCH_DUE || dispatch->state == ZKL_DISPATCH_BEHIND;
}

static zkl_list *list_of(zkl_outbox *outbox, const zkl_dispatch *dispatch) {
    return dispatch->state == ZKL_DISPATCH_DUE ? &outbox->due : &outbox->behind;
}

void zkl_outbox_set(zkl_outbox *outbox, zkl_dispatch *dispatch, zkl_dispatch_tally *tally,
                    zkl_dispatch_state state) {
    count(outbox, dispatch, tally, -1);
    if (is_listed(dispatch))
        zkl_list_remove(list_of(outbox, dispatch), &dispatch->item);
    dispatch->state = state;
    count(outbox, dispatch, tally, 1);
    if (is_listed(dispatch))
        zkl_list_append(list_of(outbox, dispatch), &dispatch->item);
}

/* One at a time is measured: there are enough. */
void zkl_outbox_sent(zkl_outbox *outbox, uint64_t receiver, zkl_nanos now) {
    outbox->flushed = now;
    if (outbox->measured)
        return;
    outbox->measured = receiver;
    outbox->measured_since = now;
}

void zkl_outbox_answered(zkl_outbox *outbox, uint64_t receiver, zkl_nanos now) {
    if (outbox->measured != receiver)
        return;
    outbox->measured = 0;
    zkl_pace_measured(&outbox->pace, now - outbox->measured_since, now);
}

void zkl_outbox_unheard(zkl_outbox *outbox, uint64_t receiver) {
    if (outbox->measured == receiver)
        outbox->measured = 0;
}

void zkl_outbox_forget(zkl_outbox *outbox) {
    outbox->measured = 0;
}

void zkl_outbox_hurry(zkl_outbox *outbox) {
    outbox->urgent |= outbox->due.first != NULL;
}

/* A delete alone on its way is that of the hold before: a caller that acquires and releases in a
 * loop has nobody to wait for. */
static bool is_busy(const zkl_outbox *outbox) {
    return outbox->creates > 0 || outbox->deletes > 1;
}

bool zkl_outbox_schedule(zkl_outbox *outbox, zkl_timers *timers, zkl_nanos now) {
    const bool due = outbox->due.first;
    const zkl_nanos next = due ? outbox->flushed + zkl_pace_gap(&outbox->pace) : 0;
    const bool ready = due && (outbox->urgent || !is_busy(outbox) || next <= now);
    if (!due || ready)
        zkl_timer_clear(timers, &outbox->timer);
    else if (outbox->timer.at != next)
        zkl_timer_set(timers, &outbox->timer, next);
    return ready;
}
