/* SPDX-License-Identifier: MIT */
#include "line/outbox.h"

static void count(zkl_outbox *outbox, zkl_dispatch_tally *tally, zkl_node node, int by) {
    switch (node) {
    case ZKL_NODE_NONE:
    case ZKL_NODE_CREATE_TRANSACTED:
    case ZKL_NODE_UNKNOWN:
    case ZKL_NODE_THERE:
        break;
    case ZKL_NODE_CREATE_DUE:
        tally->creates_due += (uint32_t)by;
        break;
    case ZKL_NODE_CREATE_BEHIND:
        tally->creates_behind += (uint32_t)by;
        break;
    case ZKL_NODE_CREATE_BATCHED:
        tally->creates_batched += (uint32_t)by;
        outbox->creates += (size_t)by;
        break;
    case ZKL_NODE_CREATE_SENT:
        outbox->creates += (size_t)by;
        break;
    case ZKL_NODE_DELETE_DUE:
        tally->deletes_due += (uint32_t)by;
        break;
    case ZKL_NODE_DELETE_SENT:
    case ZKL_NODE_DELETE_BATCHED:
        outbox->deletes += (size_t)by;
        break;
    }
}

/* NULL: it is in none. */
static zkl_list *list_of(zkl_outbox *outbox, zkl_node node) {
    if (node == ZKL_NODE_CREATE_DUE || node == ZKL_NODE_DELETE_DUE)
        return &outbox->due;
    return node == ZKL_NODE_CREATE_BEHIND ? &outbox->behind : NULL;
}

void zkl_outbox_move(zkl_outbox *outbox, zkl_dispatch *dispatch, zkl_dispatch_tally *tally,
                     zkl_node from, zkl_node to) {
    zkl_list *before = list_of(outbox, from), *now = list_of(outbox, to);
    count(outbox, tally, from, -1);
    count(outbox, tally, to, 1);
    if (before)
        zkl_list_remove(before, &dispatch->item);
    if (now)
        zkl_list_append(now, &dispatch->item);
}

/* One at a time is measured: there are enough. */
void zkl_outbox_sent(zkl_outbox *outbox, uint64_t receiver, zkl_nanos now) {
    outbox->flushed = now;
    if (outbox->measured)
        return;
    outbox->measured = receiver;
    outbox->measured_since = now;
}

void zkl_outbox_answered(zkl_outbox *outbox, uint64_t receiver, bool heard, zkl_nanos now) {
    if (outbox->measured != receiver)
        return;
    outbox->measured = 0;
    if (heard)
        zkl_pace_measured(&outbox->pace, now - outbox->measured_since, now);
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
    const zkl_nanos next = outbox->flushed + zkl_pace_gap(&outbox->pace);
    const bool ready = outbox->urgent || !is_busy(outbox) || next <= now;
    if (ready)
        zkl_timer_clear(timers, &outbox->timer);
    else if (outbox->timer.at != next)
        zkl_timer_set(timers, &outbox->timer, next);
    return ready;
}
