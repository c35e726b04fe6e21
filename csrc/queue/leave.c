#include "queue/leave.h"

#include "queue/send.h"
#include "queue/evaluate.h"

void zkl_leave_retire(zkl_contender *c) {
    zkl_line *line = c->line;
    zkl_evaluate_gone(line, c->name);
    if (line->first == line->last)
        zkl_line_idle(line);
    *(c->prev ? &c->prev->next : &line->first) = c->next;
    *(c->next ? &c->next->prev : &line->last) = c->prev;
    c->node = ZKL_NODE_NONE;
    zkl_send_set_watch(c, ZKL_WATCH_NONE);
    zkl_contender_retire(c);
}

void zkl_leave_erase(zkl_contender *c) {
    zkl_send_erase(c);
    if (c->node == ZKL_NODE_ERASING)
        zkl_evaluate_gone(c->line, c->name);
}

void zkl_leave_depart(zkl_contender *c) {
    if (c->node == ZKL_NODE_NONE) {
        zkl_leave_retire(c);
        return;
    }
    zkl_contender_depart(c);
    if (c->node == ZKL_NODE_THERE)
        zkl_leave_erase(c);
    /* asked, lost, erasing: its create's answer, the synced list, or its delete's answer runs it again */
}

void zkl_leave_fail(zkl_contender *c, zkl_status status) {
    zkl_contender_failed(c, status);
    zkl_leave_depart(c);
}

void zkl_leave_fail_waiting(zkl_line *line, zkl_status status) {
    zkl_contender *next;
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        if (c->phase == ZKL_WAITING)
            zkl_leave_fail(c, status);
    }
}

void zkl_leave_missing(zkl_contender *c) {
    c->node = ZKL_NODE_NONE;
    if (c->phase == ZKL_WAITING) {
        c->settled |= c->queued;
        c->queued = false;
        zkl_evaluate_gone(c->line, c->name);
        zkl_send_create(c);
        return;
    }
    if (c->phase == ZKL_HELD)
        zkl_contender_lost(c);
    zkl_leave_retire(c);
}
