/* SPDX-License-Identifier: MIT */
#include "shared/handoff.h"

#include "base/timer.h"
#include "line/acl_check.h"
#include "line/contender.h"
#include "line/doubt.h"
#include "shared/remote_waiters.h"

/* ---- waiting ---- */

void zkl_handoff_wait(zkl_shared_node *shared, zkl_contender *c) {
    zkl_sharer *sharer = zkl_sharer_of(c);
    sharer->shared = shared;
    zkl_list_append(&shared->waiting, &c->member);
    shared->waiters++;
    shared->impatient += c->terms.once;
    if (c->terms.max_waiting)
        zkl_list_append(&shared->bounded, &sharer->bounded);
}

static void wait_no_more(zkl_shared_node *shared, zkl_contender *c) {
    zkl_list_remove(&shared->waiting, &c->member);
    shared->waiters--;
    shared->impatient -= c->terms.once;
    if (c->terms.max_waiting)
        zkl_list_remove(&shared->bounded, &zkl_sharer_of(c)->bounded);
}

void zkl_handoff_fail(zkl_contender *c, zkl_status status) {
    zkl_shared_node *shared = zkl_sharer_of(c)->shared;
    wait_no_more(shared, c);
    zkl_sharer_of(c)->shared = NULL;
    zkl_shared_node_mark_dirty(shared);
    zkl_contender_failed(c, status);
}

void zkl_handoff_fail_all(zkl_shared_node *shared, zkl_status status) {
    ZKL_EACH (zkl_contender, c, &shared->waiting, member) {
        zkl_handoff_fail(c, status);
    }
}

/* A caller that tries once joins only while no other waits, so this skips the waiters behind a
 * patient one. */
void zkl_handoff_fail_impatient(zkl_shared_node *shared, zkl_status status) {
    ZKL_EACH (zkl_contender, c, &shared->waiting, member) {
        if (!shared->impatient)
            return;
        if (c->terms.once)
            zkl_handoff_fail(c, status);
    }
}

/* The last waiter that may be refused. */
static zkl_contender *last_bounded(const zkl_shared_node *shared) {
    zkl_sharer *last = zkl_list_object(shared->bounded.last, offsetof(zkl_sharer, bounded));
    return last ? &last->contender : NULL;
}

void zkl_handoff_thin(zkl_shared_node *shared) {
    zkl_contender *last;
    while ((last = last_bounded(shared)) && shared->waiters > last->terms.max_waiting - 1)
        zkl_handoff_fail(last, ZKL_BUSY);
}

/* A node that is to be waited for needs at least one patient caller. */
bool zkl_handoff_tried_once(const zkl_shared_node *shared) {
    return shared->impatient == shared->waiters;
}

/* ---- holding ---- */

static void move_waiting(zkl_shared_node *from, zkl_shared_node *to) {
    ZKL_EACH (zkl_contender, c, &from->waiting, member) {
        wait_no_more(from, c);
        zkl_handoff_wait(to, c);
    }
    zkl_shared_node_mark_dirty(from); /* no caller wants it any more */
}

/* Lets newcomers in, if that is possible now. A caller that had to wait here would have given up
 * the node with which it queued, and would stand behind callers that came later. */
static bool open_up(zkl_shared_node *read) {
    if (!read->entered || zkl_shared_node_sealed(read) || zkl_handoff_prepare(read) != ZKL_MAY)
        return false;
    zkl_remote_waiters_look(read);
    return !zkl_remote_waiters_waited(read);
}

void zkl_handoff_downgrade(zkl_shared_node *write, bool well) {
    zkl_shared_node *read = write->lent;
    if (!read)
        return;
    zkl_shared_node *other = zkl_shared_node_find(read->line, ZKL_KIND_READ);
    read->under = write->lent = NULL;
    if (!well || (other && !open_up(read)))
        read->sealed = true;
    else if (other)
        move_waiting(other, read);
    zkl_shared_node_mark_dirty(read);
}

void zkl_handoff_leave(zkl_shared_node *shared, zkl_contender *c) {
    zkl_handoff_downgrade(shared, false);
    zkl_list_remove(&shared->holders, &c->member);
    zkl_sharer_of(c)->shared = NULL;
    zkl_shared_node_mark_dirty(shared);
}

void zkl_handoff_lose(zkl_shared_node *shared) {
    ZKL_EACH (zkl_contender, c, &shared->holders, member) {
        zkl_handoff_leave(shared, c);
        zkl_contender_lost(c, shared->contender->end.loss);
    }
}

zkl_may zkl_handoff_prepare(zkl_shared_node *shared) {
    const zkl_context *context = shared->context;
    const zkl_contender *node = shared->contender;
    if (!zkl_context_is_linked(context))
        return ZKL_MAY_SOON; /* zkl_line_resume leads back here */
    /* first the line learns what has happened while the link was down */
    if (shared->line->freshness.stale)
        return zkl_remote_waiters_ask(shared) ? ZKL_MAY_SOON : ZKL_MAY_NOT;
    if (!zkl_acl_check_stands(shared->line))
        return ZKL_MAY_NOT;
    if (node->watch != ZKL_WATCH_ARMED)
        return node->watch == ZKL_WATCH_ASKED ? ZKL_MAY_SOON : ZKL_MAY_NOT;
    if (context->valid_until <= zkl_context_now(context))
        return ZKL_MAY_SOON; /* the heart beats while a caller waits */
    return ZKL_MAY;
}

/* If another client waits behind the node, it goes as soon as no caller here wants it. But while
 * one caller after the other is granted, the host may have callers that have not asked yet. So the
 * last waiter's grant goes out in the host's next turn, in which those callers ask. */
static bool is_last_for_now(const zkl_shared_node *shared) {
    return shared->kind != ZKL_KIND_READ && shared->remote_waiters != ZKL_REMOTE_WAITERS_NONE &&
           !zkl_remote_waiters_waited(shared) && !zkl_shared_node_waiter(shared);
}

void zkl_handoff_grant(zkl_shared_node *shared, bool handed) {
    zkl_contender *c = zkl_shared_node_waiter(shared);
    wait_no_more(shared, c);
    zkl_list_append(&shared->holders, &c->member);
    if (!shared->under || !shared->turn) /* all reads under one write have the write's turn */
        shared->turn++;
    zkl_sharer_of(c)->turn = shared->before + shared->turn;
    c->token = shared->contender->token;
    c->waited |= !handed && shared->contender->waited;
    c->revoked = shared->contender->revoked;
    shared->context->counters.handed += handed;
    c->answer.unhurried = is_last_for_now(shared);
    zkl_contender_granted(c);
    zkl_contender_set_hold_timer(c, c->hold_until);
}

void zkl_handoff_leave_resting(zkl_shared_node *shared, zkl_contender *c) {
    zkl_list_remove(&shared->resting, &c->member);
    zkl_sharer_of(c)->shared = NULL;
}

void zkl_handoff_doubt(zkl_contender *c, zkl_contender *node, zkl_status answer) {
    zkl_sharer_of(c)->witness = node;
    zkl_doubt_begin(c, node, answer);
}
