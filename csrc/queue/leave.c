#include "queue/leave.h"

#include "queue/blocker.h"
#include "queue/contender.h"
#include "queue/doubt.h"
#include "queue/followers.h"
#include "queue/send.h"

void zkl_leave_retire(zkl_contender *c) {
    zkl_line *line = c->line;
    zkl_doubt_end(c, c->outcome == ZKL_LOST);
    zkl_blocker_gone(line, c->name);
    zkl_followers_leave(&line->followers, c);
    zkl_list_remove(&line->members, &c->member);
    if (!line->members.first)
        zkl_line_idle(line);
    zkl_contender_set_node(c, ZKL_NODE_NONE);
    zkl_line_set_own_watch(c, ZKL_WATCH_NONE);
    zkl_contender_retire(c);
}

void zkl_leave_erase(zkl_contender *c) {
    zkl_send_erase(c);
    if (c->node == ZKL_NODE_ERASING)
        zkl_blocker_gone(c->line, c->name);
}

void zkl_leave_depart(zkl_contender *c) {
    if (c->node == ZKL_NODE_NONE) {
        zkl_leave_retire(c);
        return;
    }
    zkl_contender_depart(c);
    if (c->node == ZKL_NODE_THERE)
        zkl_leave_erase(c);
    /* ASKED, UNKNOWN or ERASING: the answer to its create, a synced list, or the answer to its
     * delete goes on. */
}

void zkl_leave_fail(zkl_contender *c, zkl_status status) {
    zkl_contender_failed(c, status);
    zkl_leave_depart(c);
}

void zkl_leave_fail_waiting(zkl_line *line, zkl_status status) {
    ZKL_EACH (zkl_contender, c, &line->members, member) {
        if (c->phase == ZKL_WAITING)
            zkl_leave_fail(c, status);
    }
}

/* With a new node. Somebody who deletes each as soon as it is made, or a server that says so, does
 * not keep us busy: zkl_line_resume sends the create. */
static void queue_again(zkl_contender *c) {
    if (c->anew < ZKL_AT_ONCE) {
        c->anew++;
        zkl_send_create(c);
        return;
    }
    zkl_line_forget_node(c);
    zkl_line_retry_later(c->line);
}

void zkl_leave_missing(zkl_contender *c) {
    if (c->phase == ZKL_WAITING) {
        zkl_contender_set_node(c, ZKL_NODE_NONE);
        c->settled |= c->queued;
        c->queued = false;
        zkl_blocker_gone(c->line, c->name);
        queue_again(c);
        return;
    }
    if (c->phase == ZKL_HELD)
        zkl_contender_lost(c);
    else
        zkl_doubt_end(c, c->erases == 0);
    zkl_leave_retire(c);
}
