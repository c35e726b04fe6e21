/* SPDX-License-Identifier: MIT */
#include "line/front.h"

#include "line/contender.h"
#include "line/evaluate.h"
#include "port/receiver.h"
#include "recipe/snapshot.h"
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
    zkl_list waits; /* looks that wait for the answer */
    zkl_list lists; /* those that wait for a list of the line */
    zkl_list cut;   /* those that ended while no server was in reach: the next list serves */
} zkl_first_node;

/* ---- the view ---- */

/* Of a semaphore that waits for its gate: if it knows the leases, those decide. */
static zkl_kind kind_in(const zkl_contender *c, const zkl_waits *waits) {
    return waits->node && waits->node->line == waits->line ? waits->node->terms.kind
                                                           : c->terms.kind;
}

static const zkl_child *child_at(const zkl_line *line, size_t index) {
    return index == ZKL_NOBODY ? NULL : &line->snapshot.children[index];
}

static void see_own(zkl_view *view, const zkl_contender *node) {
    if (node->node != ZKL_NODE_THERE)
        return;
    const zkl_snapshot *snapshot = &node->line->snapshot;
    const size_t own = zkl_snapshot_find(snapshot, node->name);
    view->listed = own != ZKL_NOT_FOUND;
    if (!view->listed)
        return;
    view->ahead = zkl_verdict_ahead(snapshot->children, snapshot->count, own, node->terms.permits);
    if (node->phase == ZKL_HELD) /* another caller of this client has its turn with it */
        view->ahead.count = 1, view->ahead.nearest = own;
    view->next = child_at(node->line, view->ahead.nearest);
}

static void see_holder(zkl_view *view, zkl_kind kind) {
    const zkl_line *line = view->waits.line;
    const zkl_snapshot *snapshot = &line->snapshot;
    const zkl_first_node *first = line->first;
    view->holder = child_at(line, zkl_verdict_holder(snapshot->children, snapshot->count, kind));
    if (view->holder && first && first->name && first->read && !first->reading &&
        strcmp(first->name, view->holder->name) == 0)
        view->identifier = first->owner;
}

zkl_view zkl_view_of(const zkl_contender *c) {
    zkl_view view = {.waits = c->call->waits(c)};
    view.listed = view.waits.failed;
    if (c->phase == ZKL_WAITING && view.waits.node)
        see_own(&view, view.waits.node);
    if (c->phase == ZKL_WAITING && view.waits.line)
        see_holder(&view, kind_in(c, &view.waits));
    return view;
}

void zkl_owner_text(const zkl_line *line, char *text, size_t size) {
    const zkl_first_node *first = line->first;
    if (first->owner[0])
        snprintf(text, size, "%s holds (%s)", first->owner, first->name);
    else
        snprintf(text, size,
                 first->read ? "somebody without an identifier holds (%s)"
                             : "the holder's data could not be read (%s)",
                 first->name);
}

/* ---- the first node of a line ---- */

static void enter(zkl_holder_look *look, zkl_list *list) {
    look->in = list;
    zkl_list_append(list, &look->item);
}

void zkl_holder_look_end(zkl_holder_look *look) {
    if (look->in)
        zkl_list_remove(look->in, &look->item);
    look->in = NULL;
}

/* It was read, or could not be: ends the looks that wait for that. */
static void end_all(zkl_line *line) {
    zkl_holder_look *look;
    line->first->reading = false;
    while ((look = ZKL_FIRST(&line->first->waits, zkl_holder_look, item))) {
        zkl_holder_look_end(look);
        look->known(look, line, NULL);
    }
}

/* An answer without the data is forgotten: the next look reads again. */
static void answered(zkl_receiver *receiver, const zkl_return *asked, const zkl_reply *reply) {
    zkl_first_node *first = ZKL_CONTAINER_OF(receiver, zkl_first_node, receiver);
    (void)asked;
    first->read = reply->rc == ZOK;
    if (first->read && reply->data)
        snprintf(first->owner, sizeof first->owner, "%.*s", (int)reply->length, reply->data);
    end_all(first->line);
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

static zkl_first_node *find_or_make(zkl_line *line) {
    if (line->first)
        return line->first;
    zkl_first_node *first = calloc(1, sizeof *first);
    if (!first)
        return NULL;
    first->line = line;
    first->receiver.answer = answered;
    return line->first = first;
}

/* Ends the look now, or when the first node was read. */
static void read_first(zkl_holder_look *look, zkl_line *line, const char *name) {
    zkl_first_node *first = find_or_make(line);
    if (!first) {
        look->known(look, line, "no memory to read who holds");
        return;
    }
    const bool known =
        first->name && (first->read || first->reading) && strcmp(first->name, name) == 0;
    if (!known) {
        if (first->reading)
            end_all(line);
        if (!rename_to(first, name) || !read_data(first)) {
            look->known(look, line, "the holder's data could not be read");
            return;
        }
    }
    if (first->reading)
        enter(look, &first->waits);
    else
        look->known(look, line, NULL);
}

/* ---- a look ---- */

/* Ends it as the snapshot says. */
static void judge(zkl_holder_look *look) {
    const zkl_view view = zkl_view_of(look->c);
    zkl_line *line = view.waits.line;
    if (!view.holder)
        look->known(look, line, "nobody is known to hold");
    else if (!view.holder->mine)
        read_first(look, line, view.holder->name);
    else if (view.holder->mine->phase == ZKL_HELD)
        look->known(look, line, "this client itself holds");
    else
        look->known(look, line, "this client is first, and is not sure of its session");
}

/* The servers report only the end of the nodes that somebody here watches, so the first node may
 * have gone long ago. */
static bool may_be_gone(const zkl_child *first) {
    return first && !first->mine && first->watch != ZKL_WATCH_ARMED;
}

/* A fresh list is good for all callers for a while. */
static bool is_fresh(const zkl_line *line) {
    return line->listed + FRESH >= zkl_context_now(line->context);
}

void zkl_holder_look_begin(zkl_holder_look *look, bool anew) {
    const zkl_view view = zkl_view_of(look->c);
    zkl_line *line = view.waits.line;
    if (!zkl_context_is_linked(look->c->context)) {
        if (line && find_or_make(line))
            enter(look, &line->first->cut);
        look->known(look, line, "no server is in reach");
    } else if (line && (anew || may_be_gone(view.holder)) && !is_fresh(line) &&
               find_or_make(line)) {
        enter(look, &line->first->lists);
        line->list_wanted |= !line->list_sent;
        zkl_line_settle(line);
    } else {
        judge(look);
    }
}

void zkl_front_listed(zkl_line *line, bool ok) {
    zkl_holder_look *look;
    while (line->first && (look = ZKL_FIRST(&line->first->lists, zkl_holder_look, item))) {
        zkl_holder_look_end(look);
        if (ok)
            judge(look);
        else
            look->known(look, line, "the line could not be read");
    }
    while (ok && line->first && (look = ZKL_FIRST(&line->first->cut, zkl_holder_look, item))) {
        zkl_holder_look_end(look);
        judge(look);
    }
}

void zkl_front_unlink(zkl_line *line) {
    zkl_front_listed(line, false);
    if (!line->first || !line->first->reading)
        return;
    zkl_receiver_leave(&line->context->receivers, &line->first->receiver);
    end_all(line);
}

void zkl_front_forget(zkl_line *line) {
    if (!line->first)
        return;
    zkl_holder_look *look;
    while ((look = ZKL_FIRST(&line->first->cut, zkl_holder_look, item)))
        zkl_holder_look_end(look);
    zkl_front_listed(line, false);
    end_all(line); /* a compound has left the line, and is about to enter it again */
    zkl_receiver_leave(&line->context->receivers, &line->first->receiver);
    free(line->first->name);
    free(line->first);
    line->first = NULL;
}
