#include "queue/leaving.h"

#include "queue/sending.h"
#include "queue/evaluating.h"

void zkl_exit_retire(zkl_contender *c) {
    zkl_line *line = c->line;
    zkl_standing_gone(line, c->name);
    if (line->first == line->last)
        zkl_line_idle(line);
    *(c->prev ? &c->prev->next : &line->first) = c->next;
    *(c->next ? &c->next->prev : &line->last) = c->prev;
    c->node = ZKL_NODE_NONE;
    zkl_ask_set_watch(c, ZKL_WATCH_NONE);
    zkl_contender_retire(c);
}

void zkl_exit_erase(zkl_contender *c) {
    zkl_ask_erase(c);
    if (c->node == ZKL_NODE_ERASING)
        zkl_standing_gone(c->line, c->name);
}

void zkl_exit_depart(zkl_contender *c) {
    if (c->node == ZKL_NODE_NONE) {
        zkl_exit_retire(c);
        return;
    }
    zkl_contender_depart(c);
    if (c->node == ZKL_NODE_THERE)
        zkl_exit_erase(c);
    /* asked, lost, erasing: its create's answer, the synced list, or its delete's answer runs it again */
}

void zkl_exit_fail(zkl_contender *c, zkl_status status) {
    zkl_contender_failed(c, status);
    zkl_exit_depart(c);
}

void zkl_exit_fail_waiting(zkl_line *line, zkl_status status) {
    zkl_contender *next;
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        if (c->phase == ZKL_WAITING)
            zkl_exit_fail(c, status);
    }
}

void zkl_exit_missing(zkl_contender *c) {
    c->node = ZKL_NODE_NONE;
    if (c->phase == ZKL_WAITING) {
        c->settled |= c->queued;
        c->queued = false;
        zkl_standing_gone(c->line, c->name);
        zkl_ask_create(c);
        return;
    }
    if (c->phase == ZKL_HELD)
        zkl_contender_lost(c);
    zkl_exit_retire(c);
}
