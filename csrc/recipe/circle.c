/* SPDX-License-Identifier: MIT */
#include "recipe/circle.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY SIZE_MAX

/* The nodes, and what is known about them. A node whose owner is known belongs with the others of
 * that owner. If `certain` is false, it also belongs with those of the session whose owner nobody
 * knows, and those belong with all of the session. */
typedef struct graph {
    const zkl_standing *all;
    size_t count;
    bool certain;
    size_t *first;  /* of each node: the first of its line ... */
    size_t *behind; /* ... and the one behind the last for which it waits */
    size_t *sorted; /* by session, owner and group */
    size_t *at;     /* of each node: its place in `sorted` */
    bool *blocked;  /* it waits, and as far as is known it will for ever */
    bool *kept;     /* as far as is known, its owner will keep it for ever */
    bool *covered;  /* this wait is in a circle that was found */
    /* a search: of each wait, the link that led to it */
    zkl_link *from;
    bool *seen;
    size_t *queue;
} graph;

/* ---- the nodes in order ---- */

static int sign(bool below, bool above) {
    return (int)above - (int)below;
}

static int compare(const zkl_standing *a, const zkl_standing *b) {
    if (a->session != b->session)
        return sign(a->session<b->session, a->session> b->session);
    if (a->owner != b->owner)
        return sign(a->owner<b->owner, a->owner> b->owner);
    return sign(a->group<b->group, a->group> b->group);
}

typedef struct sorting {
    const zkl_standing *standing;
    size_t index;
} sorting;

static int compare_sorting(const void *a, const void *b) {
    const sorting *left = a, *right = b;
    const int by_owner = compare(left->standing, right->standing);
    return by_owner ? by_owner : sign(left->index<right->index, left->index> right->index);
}

static bool sort(graph *g) {
    sorting *order = calloc(g->count, sizeof *order);
    if (!order)
        return false;
    for (size_t i = 0; i < g->count; i++)
        order[i] = (sorting){&g->all[i], i};
    qsort(order, g->count, sizeof *order, compare_sorting);
    for (size_t i = 0; i < g->count; i++) {
        g->sorted[i] = order[i].index;
        g->at[order[i].index] = i;
    }
    free(order);
    return true;
}

/* A mutex and a writer wait for all in front, a reader for the last writer there that stays, and
 * for those for which that one waits. */
static void find_fronts(graph *g) {
    size_t first = 0, before = 0; /* the first of the line, and of those with the same place */
    size_t writer = 0, next = 0;  /* behind the last writer with a smaller place, of those so far */
    for (size_t i = 0; i < g->count; i++) {
        const zkl_standing *node = &g->all[i];
        if (i == 0 || node->line != node[-1].line)
            first = before = writer = next = i;
        else if (node->place != node[-1].place)
            before = i;
        for (; next < before; next++)
            if (g->all[next].kind == ZKL_KIND_WRITE && !g->all[next].ends)
                writer = next + 1;
        g->first[i] = first;
        g->behind[i] = node->kind == ZKL_KIND_READ    ? writer
                       : node->kind == ZKL_KIND_LEASE ? first
                                                      : before;
    }
}

/* ---- whom a node waits for, and whose it is ---- */

/* A session of unknown owners that waits for itself shows nothing: they may be many. */
static bool counts(const zkl_standing *waits, const zkl_standing *front) {
    return waits->session != front->session || (waits->owner && front->owner);
}

static bool blocks(const graph *g, size_t waits, size_t front) {
    return g->kept[front] && counts(&g->all[waits], &g->all[front]);
}

/* The first node of the pool; NOBODY: it is empty. */
static size_t pool_of(const graph *g, size_t waits) {
    const size_t pool = g->all[waits].pool;
    if (pool == ZKL_NO_POOL)
        return NOBODY;
    size_t low = 0, high = g->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (g->all[middle].line < pool)
            low = middle + 1;
        else
            high = middle;
    }
    return low < g->count && g->all[low].line == pool ? low : NOBODY;
}

static bool is_out_of_leases(const graph *g, size_t waits) {
    size_t kept = 0;
    const size_t enough = g->certain ? g->all[waits].enough : 1;
    for (size_t i = pool_of(g, waits); i < g->count && g->all[i].line == g->all[waits].pool; i++)
        kept += blocks(g, waits, i);
    return enough > 0 && kept >= enough;
}

/* ---- the nodes that stay for ever: begin with all, and take away until nothing changes ---- */

/* From the first node of each line on: has any, and which session has it alone? */
typedef struct front_row {
    bool any, several, known;
    uint64_t session;
} front_row;

static void add_front(front_row *row, const zkl_standing *front) {
    row->several |= row->any && row->session != front->session;
    row->known |= front->owner != 0;
    row->session = front->session;
    row->any = true;
}

static front_row row_before(const graph *g, size_t waits) {
    front_row row = {0};
    for (size_t i = g->first[waits]; i < g->behind[waits]; i++)
        if (g->kept[i])
            add_front(&row, &g->all[i]);
    return row;
}

static bool is_behind(const front_row *row, const zkl_standing *waits) {
    return row->several ||
           (row->any && (row->session != waits->session || (row->known && waits->owner)));
}

static bool unblock(graph *g, size_t waits, const front_row *row) {
    if (!g->blocked[waits] || is_behind(row, &g->all[waits]) || is_out_of_leases(g, waits))
        return false;
    g->blocked[waits] = false;
    return true;
}

/* Nodes that wait for nobody any more. Only a read with the place of a writer has fewer in front of
 * it than the node before. */
static bool unblock_all(graph *g) {
    bool changed = false;
    front_row row = {0};
    size_t next = 0; /* of those that are not in the row yet */
    for (size_t i = 0; i < g->count; i++) {
        if (g->first[i] == i) {
            row = (front_row){0};
            next = i;
        }
        const front_row fewer = next > g->behind[i] ? row_before(g, i) : row;
        for (; next < g->behind[i]; next++)
            if (g->kept[next])
                add_front(&row, &g->all[next]);
        changed |= unblock(g, i, next > g->behind[i] ? &fewer : &row);
    }
    return changed;
}

/* The one behind the last node in `sorted` that has the same session, and with `owner` the same
 * owner. */
static size_t end_of(const graph *g, size_t from, bool owner) {
    const zkl_standing *one = &g->all[g->sorted[from]];
    size_t end = from;
    while (end < g->count && g->all[g->sorted[end]].session == one->session &&
           (!owner || g->all[g->sorted[end]].owner == one->owner))
        end++;
    return end;
}

/* Each wait of the owner is blocked, a multilock's by any of its nodes. */
static bool is_stuck(const graph *g, size_t from, size_t end) {
    bool any = false;
    for (size_t i = from, next; i < end; i = next) {
        bool waits = false, blocked = false;
        for (next = i; next < end; next++) {
            if (g->all[g->sorted[next]].group != g->all[g->sorted[i]].group)
                break;
            waits |= g->all[g->sorted[next]].waits;
            blocked |= g->blocked[g->sorted[next]];
        }
        if (waits && !blocked)
            return false;
        any |= waits;
    }
    return any;
}

static bool has_blocked(const graph *g, size_t from, size_t end) {
    for (size_t i = from; i < end; i++)
        if (g->blocked[g->sorted[i]])
            return true;
    return false;
}

static void let_go(graph *g, size_t from, size_t end) {
    for (size_t i = from; i < end; i++)
        g->kept[g->sorted[i]] = false;
}

/* Nodes of a session whose owners can go on. Those of unknown ones sort first. */
static void let_go_in(graph *g, size_t from, size_t end) {
    const size_t known = g->all[g->sorted[from]].owner ? from : end_of(g, from, true);
    const bool some = has_blocked(g, from, known);
    if (g->certain || !has_blocked(g, from, end))
        let_go(g, from, known);
    for (size_t i = known, next; i < end; i = next) {
        next = end_of(g, i, true);
        const bool stays = g->certain ? is_stuck(g, i, next) : some || has_blocked(g, i, next);
        if (!stays)
            let_go(g, i, next);
    }
}

static void let_go_all(graph *g) {
    for (size_t i = 0, end; i < g->count; i = end) {
        end = end_of(g, i, false);
        let_go_in(g, i, end);
    }
}

static void begin(graph *g, bool certain) {
    g->certain = certain;
    for (size_t i = 0; i < g->count; i++) {
        g->blocked[i] = g->all[i].waits && !g->all[i].ends;
        g->kept[i] = !g->all[i].ends;
    }
}

/* Which waits are blocked decides who lets go: a round that unblocks none is the last one. */
static void settle(graph *g, bool certain) {
    begin(g, certain);
    do
        let_go_all(g);
    while (unblock_all(g));
}

/* ---- a circle ---- */

/* May it be of the same owner? */
static bool is_near(const graph *g, const zkl_standing *a, const zkl_standing *b) {
    return a->session == b->session && (!g->certain || a->owner == b->owner);
}

/* Does `waits`, which is near `node`, keep the owner of that from going on? */
static bool belongs(const zkl_standing *node, const zkl_standing *waits) {
    return node->owner == waits->owner || !node->owner || !waits->owner;
}

/* Follows the owner of `front` to its waits. true: one of them is `wanted`. */
static bool follow(graph *g, zkl_link link, size_t wanted, size_t *end) {
    const zkl_standing *front = &g->all[link.front];
    size_t i = g->at[link.front];
    while (i > 0 && is_near(g, &g->all[g->sorted[i - 1]], front))
        i--;
    for (; i < g->count && is_near(g, &g->all[g->sorted[i]], front); i++) {
        const size_t waits = g->sorted[i];
        if (waits == link.front || !g->blocked[waits] || !belongs(front, &g->all[waits]) ||
            (g->seen[waits] && waits != wanted))
            continue;
        g->from[waits] = link;
        if (waits == wanted)
            return true;
        g->seen[waits] = true;
        g->queue[(*end)++] = waits;
    }
    return false;
}

/* Follows all for which it waits. */
static bool spread(graph *g, size_t waits, size_t wanted, size_t *end) {
    for (size_t i = g->first[waits]; i < g->behind[waits]; i++)
        if (blocks(g, waits, i) && follow(g, (zkl_link){waits, i}, wanted, end))
            return true;
    for (size_t i = pool_of(g, waits); i < g->count && g->all[i].line == g->all[waits].pool; i++)
        if (blocks(g, waits, i) && follow(g, (zkl_link){waits, i}, wanted, end))
            return true;
    return false;
}

/* Searches a shortest way from this wait to itself, the nearest waits first. */
static bool seek_circle(graph *g, size_t wanted) {
    size_t end = 0;
    memset(g->seen, 0, g->count * sizeof *g->seen);
    g->seen[wanted] = true;
    g->queue[end++] = wanted;
    for (size_t next = 0; next < end; next++)
        if (spread(g, g->queue[next], wanted, &end))
            return true;
    return false;
}

/* ---- all of it ---- */

static void graph_free(graph *g) {
    free(g->first);
    free(g->behind);
    free(g->sorted);
    free(g->at);
    free(g->blocked);
    free(g->kept);
    free(g->covered);
    free(g->from);
    free(g->seen);
    free(g->queue);
}

static bool graph_init(graph *g, const zkl_standing *all, size_t count) {
    *g = (graph){.all = all, .count = count};
    g->first = calloc(count, sizeof *g->first);
    g->behind = calloc(count, sizeof *g->behind);
    g->sorted = calloc(count, sizeof *g->sorted);
    g->at = calloc(count, sizeof *g->at);
    g->blocked = calloc(count, sizeof *g->blocked);
    g->kept = calloc(count, sizeof *g->kept);
    g->covered = calloc(count, sizeof *g->covered);
    g->from = calloc(count, sizeof *g->from);
    g->seen = calloc(count, sizeof *g->seen);
    g->queue = calloc(count, sizeof *g->queue);
    if (!g->first || !g->behind || !g->sorted || !g->at || !g->blocked || !g->kept || !g->covered ||
        !g->from || !g->seen || !g->queue || !sort(g)) {
        graph_free(g);
        return false;
    }
    find_fronts(g);
    return true;
}

/* Adds the circle that a search from this wait has found. */
static bool add_circle(graph *g, size_t wanted, zkl_circles *found) {
    zkl_circle circle = {.certain = g->certain};
    size_t waits = wanted;
    do {
        waits = g->from[waits].waits;
        circle.count++;
    } while (waits != wanted);
    circle.links = calloc(circle.count, sizeof *circle.links);
    if (!circle.links)
        return false;
    for (size_t i = circle.count; i-- > 0; waits = g->from[waits].waits) {
        circle.links[i] = g->from[waits];
        g->covered[waits] = true;
    }
    found->all[found->count++] = circle;
    return true;
}

static bool find(graph *g, bool certain, zkl_circles *found) {
    settle(g, certain);
    for (size_t i = 0; i < g->count; i++)
        if (g->blocked[i] && !g->covered[i] && seek_circle(g, i) && !add_circle(g, i, found))
            return false;
    return true;
}

bool zkl_circles_find(const zkl_standing *all, size_t count, zkl_circles *found) {
    graph g;
    *found = (zkl_circles){0};
    if (!graph_init(&g, all, count))
        return false;
    /* each begins with a wait that is in none of those before */
    found->all = calloc(count, sizeof *found->all);
    const bool complete = found->all && find(&g, true, found) && find(&g, false, found);
    graph_free(&g);
    if (!complete)
        zkl_circles_free(found);
    return complete;
}

void zkl_circles_free(zkl_circles *found) {
    for (size_t i = 0; found->all && i < found->count; i++)
        free(found->all[i].links);
    free(found->all);
    *found = (zkl_circles){0};
}

bool zkl_circle_closes(const zkl_standing *all, size_t count, size_t index) {
    graph g;
    if (!graph_init(&g, all, count))
        return false;
    begin(&g, true); /* most often there is no circle even if everybody stays for ever */
    bool closes = g.blocked[index] && seek_circle(&g, index);
    if (closes) {
        settle(&g, true);
        closes = g.blocked[index] && seek_circle(&g, index);
    }
    graph_free(&g);
    return closes;
}
