/* SPDX-License-Identifier: MIT */
#include "line/slow.h"

#include "base/timer.h"
#include "line/contender.h"
#include "line/evaluate.h"
#include "port/receiver.h"
#include "recipe/verdict.h"
#include "recipe/znode.h"
#include "zklock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* For so long a list shows who is first. */
#define FRESH ZKL_SECOND

/* A line's knowledge about its first node. It lives as long as the line. */
typedef struct zkl_first_node {
    zkl_receiver receiver;
    zkl_line *line;
    char *name;
    char owner[160]; /* its data, cut; "": not known, or not yet */
    bool reading;
    bool read;      /* its data, which may be empty, are known */
    zkl_list waits; /* slow waits whose warning waits for the answer */
    zkl_list lists; /* those that wait for a list of the line */
    zkl_list cut;   /* those that were told of while no server was in reach: the next list serves */
} zkl_first_node;

/* A wait that may become slow. Once it is, it may be in the list of those whose warning waits until
 * the line was listed, or its first node read. */
typedef struct slow_wait {
    zkl_slow slow;
    zkl_timer timer;
    zkl_contender *c;
    zkl_list *in; /* of a line's first node; NULL: in none */
    zkl_list_item item;
} slow_wait;

/* The length of the path that the caller has given. The lines of a semaphore are directories below
 * it. */
static int path_length(const zkl_contender *c, const char *path) {
    const char *end = c->terms.kind == ZKL_KIND_LEASE ? strrchr(path, '/') : NULL;
    return (int)(end ? (size_t)(end - path) : strlen(path));
}

/* `line`: in which it waits; NULL: in none now. */
static void warn(const zkl_contender *c, const zkl_line *line, const char *why) {
    const double seconds = zkl_clock_seconds(zkl_context_now(c->context) - c->since);
    const char *path = (line ? line->path : c->call->path(c)) + c->context->chroot;
    c->context->warn_slow(c->context, path, path_length(c, path), seconds, why);
}

static void warn_of_owner(const zkl_contender *c, const zkl_line *line) {
    const zkl_first_node *first = line->first;
    char why[512];
    if (first->owner[0])
        snprintf(why, sizeof why, "%s holds (%s)", first->owner, first->name);
    else if (first->read)
        snprintf(why, sizeof why, "somebody without an identifier holds (%s)", first->name);
    else
        snprintf(why, sizeof why, "the holder's data could not be read (%s)", first->name);
    warn(c, line, why);
}

/* ---- the first node of a line ---- */

static void enter(slow_wait *slow, zkl_list *list) {
    slow->in = list;
    zkl_list_append(list, &slow->item);
}

static void leave(slow_wait *slow) {
    if (slow->in)
        zkl_list_remove(slow->in, &slow->item);
    slow->in = NULL;
}

/* It was read, or could not be: warns those that wait for that. */
static void warn_all(zkl_line *line) {
    slow_wait *slow;
    line->first->reading = false;
    while ((slow = ZKL_FIRST(&line->first->waits, slow_wait, item))) {
        leave(slow);
        warn_of_owner(slow->c, line);
    }
}

/* An answer without the data is forgotten: the next slow wait reads again. */
static void answered(zkl_receiver *receiver, const zkl_return *asked, const zkl_reply *reply) {
    zkl_first_node *first = ZKL_CONTAINER_OF(receiver, zkl_first_node, receiver);
    (void)asked;
    first->read = reply->rc == ZOK;
    if (first->read && reply->data)
        snprintf(first->owner, sizeof first->owner, "%.*s", (int)reply->length, reply->data);
    warn_all(first->line);
}

/* A request about another first node that is on its way says nothing any more. */
static bool rename_to(zkl_first_node *first, const char *name) {
    char *own = strdup(name);
    if (!own)
        return false;
    free(first->name);
    first->name = own;
    first->owner[0] = '\0';
    first->read = false;
    zkl_receiver_enter(&first->line->context->receivers, &first->receiver);
    return true;
}

/* Asks for the data. false: that is not possible now. */
static bool read_data(zkl_first_node *first) {
    const zkl_line *line = first->line;
    char *path = zkl_znode_path(line->path, first->name);
    if (!path)
        return false;
    zkl_port *port = line->context->port;
    const zkl_op op = {.kind = ZKL_OP_GET, .path = path};
    const zkl_return back = {first->receiver.id, 0, 0};
    first->reading = port->call->perform(port, &op, false, back) == ZOK;
    free(path);
    return first->reading;
}

static zkl_first_node *first_of(zkl_line *line) {
    if (line->first)
        return line->first;
    zkl_first_node *first = calloc(1, sizeof *first);
    if (!first)
        return NULL;
    first->line = line;
    first->receiver.answer = answered;
    return line->first = first;
}

/* Warns now, or when the first node was read. */
static void warn_of_first(slow_wait *slow, zkl_line *line, const char *name) {
    zkl_first_node *first = first_of(line);
    if (!first) {
        warn(slow->c, line, "no memory to read who holds");
        return;
    }
    const bool known =
        first->name && (first->read || first->reading) && strcmp(first->name, name) == 0;
    if (!known) {
        if (first->reading)
            warn_all(line);
        if (!rename_to(first, name) || !read_data(first)) {
            warn(slow->c, line, "the holder's data could not be read");
            return;
        }
    }
    if (first->reading)
        enter(slow, &first->waits);
    else
        warn_of_owner(slow->c, line);
}

/* ---- a wait ---- */

/* With that kind of node it waits in the line. A semaphore waits for its gate, too, in the first of
 * its lines. */
static zkl_kind kind_in(const zkl_contender *c, const zkl_line *line) {
    const bool semaphore = !c->line && c->terms.kind == ZKL_KIND_LEASE;
    return semaphore && strcmp(line->path, c->call->path(c)) == 0 ? ZKL_KIND_LOCK : c->terms.kind;
}

/* The child with which somebody may hold what it waits for in that line; NULL: there is none. */
static const zkl_child *first_child(const zkl_contender *c, const zkl_line *line) {
    const zkl_snapshot *snapshot = line ? &line->snapshot : NULL;
    const size_t holder =
        line ? zkl_verdict_holder(snapshot->children, snapshot->count, kind_in(c, line))
             : ZKL_NOBODY;
    return holder == ZKL_NOBODY ? NULL : &snapshot->children[holder];
}

const char *zkl_slow_owner(const zkl_contender *c) {
    const zkl_first_node *first = c->line->first;
    const zkl_child *child = first_child(c, c->line);
    const bool known =
        first && first->name && !first->reading && child && strcmp(first->name, child->name) == 0;
    return known ? first->owner : "";
}

/* Warns as the snapshot of the line says; NULL: it waits in none. */
static void judge(slow_wait *slow, zkl_line *line) {
    const zkl_contender *c = slow->c;
    const zkl_child *child = first_child(c, line);
    if (!child)
        warn(c, line, "nobody is known to hold");
    else if (!child->mine)
        warn_of_first(slow, line, child->name);
    else if (child->mine->phase == ZKL_HELD)
        warn(c, line, "this client itself holds");
    else
        warn(c, line, "this client is first, and is not sure of its session");
}

/* The servers report only the end of the nodes that somebody here watches, so the first node may
 * have gone long ago. A fresh list is good for all callers for a while. */
static bool may_be_gone(const zkl_line *line, const zkl_child *first) {
    return !first->mine && first->watch != ZKL_WATCH_ARMED &&
           line->listed + FRESH < zkl_context_now(line->context);
}

static void slow_now(zkl_timer *timer) {
    slow_wait *slow = ZKL_CONTAINER_OF(timer, slow_wait, timer);
    const zkl_contender *c = slow->c;
    zkl_line *line = c->call->waits_in(c);
    const zkl_child *child = first_child(c, line);
    if (!zkl_context_is_linked(c->context)) {
        warn(c, line, "no server is in reach");
        if (line && first_of(line))
            enter(slow, &line->first->cut);
    } else if (child && may_be_gone(line, child) && first_of(line)) {
        enter(slow, &line->first->lists);
        line->list_wanted |= !line->list_sent;
        zkl_line_settle(line);
    } else {
        judge(slow, line);
    }
}

void zkl_slow_listed(zkl_line *line, bool ok) {
    slow_wait *slow;
    while (line->first && (slow = ZKL_FIRST(&line->first->lists, slow_wait, item))) {
        leave(slow);
        if (ok)
            judge(slow, slow->c->call->waits_in(slow->c));
        else
            warn(slow->c, line, "the line could not be read");
    }
    while (ok && line->first && (slow = ZKL_FIRST(&line->first->cut, slow_wait, item))) {
        leave(slow);
        judge(slow, slow->c->call->waits_in(slow->c));
    }
}

static void wait_over(zkl_contender *c) {
    slow_wait *slow = ZKL_CONTAINER_OF(c->slow, slow_wait, slow);
    c->slow = NULL;
    leave(slow);
    zkl_timer_clear(&c->context->timers, &slow->timer);
    free(slow);
}

void zkl_slow_begin(zkl_contender *c, zkl_nanos after) {
    if (c->phase != ZKL_WAITING || !c->context->warn_slow)
        return;
    slow_wait *slow = calloc(1, sizeof *slow);
    if (!slow)
        return;
    slow->slow.wait_over = wait_over;
    slow->c = c;
    slow->timer.fire = slow_now;
    c->slow = &slow->slow;
    const zkl_nanos most = ZKL_NEVER - c->since;
    zkl_timer_set(&c->context->timers, &slow->timer, after < most ? c->since + after : ZKL_NEVER);
}

void zkl_slow_unlink(zkl_line *line) {
    zkl_slow_listed(line, false);
    if (!line->first || !line->first->reading)
        return;
    zkl_receiver_leave(&line->context->receivers, &line->first->receiver);
    warn_all(line);
}

void zkl_slow_forget(zkl_line *line) {
    if (!line->first)
        return;
    slow_wait *slow;
    while ((slow = ZKL_FIRST(&line->first->cut, slow_wait, item)))
        leave(slow);
    zkl_slow_listed(line, false);
    warn_all(line); /* a compound has left the line, and is about to enter it again */
    zkl_receiver_leave(&line->context->receivers, &line->first->receiver);
    free(line->first->name);
    free(line->first);
    line->first = NULL;
}
