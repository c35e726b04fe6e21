/* SPDX-License-Identifier: MIT */
#include "base/timer.h"

#include <stddef.h>

static zkl_timer *meld(zkl_timer *a, zkl_timer *b) {
    if (!a)
        return b;
    if (!b)
        return a;
    if (b->at < a->at) {
        zkl_timer *t = a;
        a = b;
        b = t;
    }
    b->next = a->child;
    if (b->next)
        b->next->prev = b;
    b->prev = a;
    a->child = b;
    a->next = a->prev = NULL;
    return a;
}

/* Melds siblings pairwise from the left, then the pairs from the right. That makes removals cheap
 * on average. */
static zkl_timer *meld_siblings(zkl_timer *first) {
    zkl_timer *pairs = NULL;
    while (first) {
        zkl_timer *a = first, *b = a->next;
        first = b ? b->next : NULL;
        a->next = a->prev = NULL;
        if (b)
            b->next = b->prev = NULL;
        a = meld(a, b);
        a->next = pairs;
        pairs = a;
    }
    zkl_timer *heap = NULL;
    while (pairs) {
        zkl_timer *rest = pairs->next;
        pairs->next = NULL;
        heap = meld(heap, pairs);
        pairs = rest;
    }
    return heap;
}

static void detach(zkl_timers *timers, zkl_timer *timer) {
    zkl_timer *orphans = meld_siblings(timer->child);
    if (timer == timers->first) {
        timers->first = orphans;
    } else {
        if (timer->prev->child == timer)
            timer->prev->child = timer->next;
        else
            timer->prev->next = timer->next;
        if (timer->next)
            timer->next->prev = timer->prev;
        timers->first = meld(timers->first, orphans);
    }
    timer->child = timer->next = timer->prev = NULL;
    timer->at = 0;
}

void zkl_timer_set(zkl_timers *timers, zkl_timer *timer, zkl_nanos at) {
    zkl_timer_clear(timers, timer);
    if (at == ZKL_NEVER)
        return;
    timer->at = at > 0 ? at : 1;
    timer->child = timer->next = timer->prev = NULL;
    timers->first = meld(timers->first, timer);
    if (timers->first == timer && timers->sooner)
        timers->sooner(timers);
}

void zkl_timer_clear(zkl_timers *timers, zkl_timer *timer) {
    if (timer->at)
        detach(timers, timer);
}

zkl_nanos zkl_timers_next(const zkl_timers *timers) {
    return timers->first ? timers->first->at : ZKL_NEVER;
}

void zkl_timers_run(zkl_timers *timers, zkl_nanos now) {
    while (timers->first && timers->first->at <= now) {
        zkl_timer *timer = timers->first;
        detach(timers, timer);
        if (timer->fire)
            timer->fire(timer);
    }
}
