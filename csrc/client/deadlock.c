/* SPDX-License-Identifier: MIT */
#include "client/deadlock.h"

#include "line/contender.h"
#include "line/line_state.h"
#include "recipe/circle.h"
#include "zklock.h"

#include <stdlib.h>

/* A caller that is about to join. */
typedef struct newcomer {
    const zkl_lines *lines;
    const char *const *paths;
    size_t count;
    const zkl_terms *terms;
} newcomer;

/* The nodes of this client's callers. Holders stand in front of waiters. */
typedef struct crowd {
    zkl_standing *all; /* NULL: they are only counted */
    size_t count;
} crowd;

static void add(crowd *to, zkl_standing standing) {
    standing.session = 1;
    standing.pool = ZKL_NO_POOL;
    if (to->all)
        to->all[to->count] = standing;
    to->count++;
}

/* It waits or holds no longer than a moment that is set. */
static bool has_end(const zkl_contender *c) {
    if (c->phase == ZKL_HELD)
        return c->hold_until != ZKL_NEVER;
    return c->terms.once || c->deadline.at != 0;
}

static zkl_standing standing_of(const zkl_contender *c, const zkl_line *line, bool waits,
                                int64_t place) {
    return (zkl_standing){.line = (size_t)line,
                          .place = waits ? place : 0,
                          .kind = c->terms.kind,
                          .waits = waits,
                          .ends = has_end(c),
                          .owner = c->receiver.owner,
                          .group = (int64_t)(intptr_t)c};
}

/* Of a waiter: waiters stand in the order of their nodes, and behind them as they came those whose
 * nodes are not known. A multilock's transaction may have failed for want of a directory, so a
 * later caller is in front of it. */
static int64_t place_of(const zkl_contender *part, int64_t came) {
    int32_t sequence;
    if (part->name && zkl_znode_parse(part->name, &sequence))
        return (int64_t)sequence - INT32_MIN + 1;
    return came;
}

/* A multilock waits with each of its parts: those that are first in their lines wait for nobody
 * there. */
static void add_contender(crowd *to, const zkl_contender *c, int64_t came) {
    const zkl_contender *part;
    for (size_t i = 0; (part = c->call->part(c, i)); i++) {
        zkl_standing standing =
            standing_of(c, part->line, c->phase == ZKL_WAITING, place_of(part, came));
        standing.kind = part->terms.kind;
        add(to, standing);
    }
}

static void add_all(crowd *to, const zkl_context *context, int64_t *came) {
    ZKL_EACH (const zkl_contender, c, &context->holds, age) {
        if (c->terms.kind != ZKL_KIND_LEASE)
            add_contender(to, c, 0);
    }
    ZKL_EACH (const zkl_contender, c, &context->waiters, age) {
        ++*came;
        if (c->terms.kind != ZKL_KIND_LEASE)
            add_contender(to, c, *came);
    }
}

/* Behind all others. */
static void add_newcomer(crowd *to, const newcomer *new, int64_t came) {
    for (size_t i = 0; i < new->count; i++) {
        const zkl_line *line = zkl_lines_find(new->lines, new->paths[i]);
        if (line)
            add(to, (zkl_standing){.line = (size_t)line,
                                   .place = came,
                                   .kind = new->terms->kind,
                                   .waits = true,
                                   .owner = new->terms->owner});
    }
}

static crowd gather(const newcomer *new, zkl_standing *room) {
    crowd all = {.all = room};
    int64_t came = (int64_t)UINT32_MAX + 1; /* behind each known node */
    add_all(&all, new->lines->common.context, &came);
    add_newcomer(&all, new, came + 1);
    return all;
}

static int compare(const void *a, const void *b) {
    const zkl_standing *left = a, *right = b;
    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    return (left->place > right->place) - (left->place < right->place);
}

static bool joins(const newcomer *new, const zkl_line *line) {
    for (size_t i = 0; i < new->count; i++)
        if (zkl_lines_find(new->lines, new->paths[i]) == line)
            return true;
    return false;
}

/* May somebody wait there for one whose node is there? */
static bool has_others(const zkl_line *line) {
    return line->listeners.first || line->members.first != line->members.last;
}

/* May somebody wait for what its owner holds? */
static bool is_awaited(const newcomer *new) {
    ZKL_EACH (const zkl_contender, c, &new->lines->common.context->holds, age) {
        const zkl_contender *part;
        if (c->receiver.owner != new->terms->owner || c->terms.kind == ZKL_KIND_LEASE)
            continue;
        for (size_t i = 0; (part = c->call->part(c, i)); i++)
            if (part->line && (has_others(part->line) || joins(new, part->line)))
                return true;
    }
    return false;
}

/* Only then can it be in a circle: others of this client stand where it is about to, and where its
 * owner holds. The slots say at once of most owners that they hold nothing. */
static bool may_close(const newcomer *new) {
    const zkl_context *context = new->lines->common.context;
    const zkl_terms *terms = new->terms;
    if (!terms->owner || terms->once || terms->deadline != ZKL_NEVER ||
        terms->kind == ZKL_KIND_LEASE || (terms->under && terms->under->phase == ZKL_HELD) ||
        !context->owners[terms->owner % ZKL_OWNER_SLOTS])
        return false;
    for (size_t i = 0; i < new->count; i++) {
        const zkl_line *line = zkl_lines_find(new->lines, new->paths[i]);
        if (line && (line->members.first || line->listeners.first))
            return is_awaited(new);
    }
    return false;
}

bool zkl_deadlock_closes(const zkl_lines *lines, const char *const *paths, size_t count,
                         const zkl_terms *terms) {
    const newcomer new = {lines, paths, count, terms};
    if (!may_close(&new))
        return false;
    const size_t size = gather(&new, NULL).count;
    zkl_standing *room = size > 0 ? calloc(size, sizeof *room) : NULL;
    if (!room)
        return false;
    const crowd all = gather(&new, room);
    qsort(room, all.count, sizeof *room, compare);
    bool closes = false;
    for (size_t i = 0; i < all.count && !closes; i++)
        closes = !room[i].group && zkl_circle_closes(room, all.count, i);
    free(room);
    return closes;
}
