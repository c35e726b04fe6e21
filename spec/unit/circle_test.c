/* SPDX-License-Identifier: MIT */
/* Circles of owners: planted ones, and random lines beside an oracle that plays what could
 * happen. */
#include "check.h"
#include "recipe/circle.h"

#include <stdlib.h>
#include <string.h>

#define NODES 24

static zkl_standing all[NODES];
static size_t count;
static zkl_circles found;

static void begin(void) {
    count = 0;
    found = (zkl_circles){0};
}

static void end(void) {
    zkl_circles_free(&found);
}

/* ---- worlds ---- */

static zkl_standing *add(size_t line, zkl_kind kind, uint64_t session, uint32_t owner, bool waits) {
    CHECK(count < NODES);
    all[count] = (zkl_standing){.line = line,
                                .place = (int64_t)count,
                                .kind = kind,
                                .waits = waits,
                                .owner = owner,
                                .session = session,
                                .group = (int64_t)count,
                                .pool = ZKL_NO_POOL};
    return &all[count++];
}

/* In line `i` the i-th client holds, and the one after it waits. */
static void plant(size_t clients) {
    for (size_t i = 0; i < clients; i++) {
        add(i, ZKL_KIND_LOCK, i + 1, 1, false);
        add(i, ZKL_KIND_LOCK, (i + 1) % clients + 1, 1, true);
    }
}

static void find(void) {
    zkl_circles_free(&found);
    CHECK(zkl_circles_find(all, count, &found));
}

/* ---- by hand ---- */

static void clients_in_a_circle_are_found(void) {
    for (size_t clients = 2; clients <= 5; clients++) {
        begin();
        plant(clients);
        find();
        CHECK_INT(found.count, 1);
        CHECK(found.all[0].certain);
        CHECK_INT(found.all[0].count, clients);
        for (size_t i = 0; i < clients; i++) {
            const zkl_link link = found.all[0].links[i];
            const zkl_link next = found.all[0].links[(i + 1) % clients];
            CHECK(all[link.waits].waits && !all[link.front].waits);
            CHECK_INT(all[link.waits].line, all[link.front].line);
            CHECK_INT(all[link.front].session, all[next.waits].session);
        }
        for (size_t i = 0; i < count; i++)
            CHECK(zkl_circle_closes(all, count, i) == all[i].waits);
        end();
    }
}

static void where_nobody_waits_there_is_none(void) {
    begin();
    add(0, ZKL_KIND_LOCK, 1, 1, false);
    find();
    CHECK_INT(found.count, 0);
    end();
}

static void a_wait_with_an_end_breaks_it(void) {
    plant(3);
    all[3].ends = true;
    find();
    CHECK_INT(found.count, 0);
    all[3].ends = false;
    all[2].ends = true; /* a hold */
    find();
    CHECK_INT(found.count, 0);
}

static void one_who_only_waits_behind_it_is_not_in_it(void) {
    add(0, ZKL_KIND_LOCK, 1, 1, false);
    add(0, ZKL_KIND_LOCK, 2, 1, true);
    add(0, ZKL_KIND_LOCK, 3, 1, true);
    add(1, ZKL_KIND_LOCK, 2, 1, false);
    add(1, ZKL_KIND_LOCK, 1, 1, true);
    find();
    CHECK_INT(found.count, 1);
    CHECK_INT(found.all[0].count, 2);
    CHECK(!zkl_circle_closes(all, count, 2));
}

/* A reader waits behind a writer, which waits for a reader. */
static void waiters_in_front_count(void) {
    add(0, ZKL_KIND_READ, 1, 1, false);
    add(0, ZKL_KIND_WRITE, 2, 1, true);
    add(0, ZKL_KIND_READ, 3, 1, true);
    add(1, ZKL_KIND_LOCK, 3, 1, false);
    add(1, ZKL_KIND_LOCK, 1, 1, true);
    find();
    CHECK_INT(found.count, 1);
    CHECK_INT(found.all[0].count, 2);
    all[1].kind = ZKL_KIND_READ;
    find();
    CHECK_INT(found.count, 0);
}

/* A multilock that is first in one line waits in another: it holds the first one meanwhile. And its
 * waiting node keeps those behind it. */
static void a_multilock_holds_while_it_waits_elsewhere(void) {
    add(0, ZKL_KIND_LOCK, 9, 1, false); /* by somebody who can go on */
    add(0, ZKL_KIND_LOCK, 1, 1, true)->group = 50;
    add(0, ZKL_KIND_LOCK, 2, 1, true);
    add(1, ZKL_KIND_LOCK, 2, 1, false);
    add(1, ZKL_KIND_LOCK, 1, 1, true)->group = 50;
    find();
    CHECK_INT(found.count, 1);
    CHECK(found.all[0].certain);
    CHECK_INT(found.all[0].count, 2);
    all[4].group = 51; /* two waits of one owner: the first one may end, and then a release */
    find();
    CHECK_INT(found.count, 1);
    CHECK(!found.all[0].certain);
}

static void a_semaphore_needs_every_holder_in_a_circle(void) {
    add(0, ZKL_KIND_LOCK, 1, 1, false);
    add(0, ZKL_KIND_LOCK, 2, 1, true);
    add(1, ZKL_KIND_LEASE, 2, 1, false);
    add(1, ZKL_KIND_LEASE, 3, 1, false);
    zkl_standing *gate = add(2, ZKL_KIND_LOCK, 1, 1, true);
    gate->pool = 1;
    gate->enough = 2;
    find();
    CHECK_INT(found.count, 1);
    CHECK(!found.all[0].certain);
    add(3, ZKL_KIND_LOCK, 1, 1, false);
    add(3, ZKL_KIND_LOCK, 3, 1, true);
    find();
    CHECK_INT(found.count, 2);
    CHECK(found.all[0].certain && found.all[1].certain);
}

static void unknown_owners_are_possible(void) {
    plant(2);
    all[0].owner = 0;
    find();
    CHECK_INT(found.count, 1);
    CHECK(!found.all[0].certain);
    all[0].owner = 2; /* another owner of that client */
    find();
    CHECK_INT(found.count, 0);
}

/* Threads of one client that wait for each other's locks. */
static void a_session_of_unknown_owners_does_not_wait_for_itself(void) {
    add(0, ZKL_KIND_LOCK, 1, 0, false);
    add(0, ZKL_KIND_LOCK, 1, 0, true);
    add(1, ZKL_KIND_LOCK, 1, 0, false);
    add(1, ZKL_KIND_LOCK, 1, 0, true);
    find();
    CHECK_INT(found.count, 0);
    for (size_t i = 0; i < count; i++)
        all[i].owner = 1 + (i == 1 || i == 2);
    find();
    CHECK_INT(found.count, 1);
    CHECK(found.all[0].certain);
}

static void a_reader_who_asks_for_write_waits_for_itself(void) {
    add(0, ZKL_KIND_READ, 1, 1, false);
    add(0, ZKL_KIND_WRITE, 1, 1, true);
    find();
    CHECK_INT(found.count, 1);
    CHECK_INT(found.all[0].count, 1);
}

static void a_read_under_a_write_waits_for_nobody(void) {
    add(0, ZKL_KIND_READ, 3, 1, false);
    add(0, ZKL_KIND_WRITE, 1, 1, true);
    zkl_standing *read = add(0, ZKL_KIND_READ, 1, 1, true);
    read->place = all[1].place;
    read->group = all[1].group;
    add(1, ZKL_KIND_LOCK, 1, 1, false);
    add(1, ZKL_KIND_LOCK, 3, 1, true);
    CHECK(zkl_circle_closes(all, count, 1));
    CHECK(!zkl_circle_closes(all, count, 2));
}

/* Each waits behind the one before, in one line, and holds another one. To look at all pairs would
 * take minutes. */
static void a_long_line_is_searched_once(void) {
    enum { MANY = 100000 };
    zkl_standing *line = calloc(2 * MANY, sizeof *line);
    CHECK(line);
    for (size_t i = 0; line && i < 2 * MANY; i++)
        line[i] = (zkl_standing){.line = i < MANY ? 0 : i,
                                 .place = (int64_t)i,
                                 .kind = ZKL_KIND_LOCK,
                                 .waits = i > 0 && i < MANY,
                                 .owner = (uint32_t)(i % MANY) + 1,
                                 .session = 1,
                                 .group = (int64_t)i,
                                 .pool = ZKL_NO_POOL};
    CHECK(line && !zkl_circle_closes(line, 2 * MANY, MANY - 1));
    free(line);
}

/* ---- the oracle: plays on while anybody can go on ---- */

static bool gone[NODES], granted[NODES];

static bool conflicts(const zkl_standing *front, const zkl_standing *waits) {
    return front->line == waits->line && front->place < waits->place &&
           (waits->kind != ZKL_KIND_READ || front->kind == ZKL_KIND_WRITE);
}

static bool can_be_granted(size_t i) {
    size_t leases = 0;
    for (size_t j = 0; j < count; j++) {
        if (!gone[j] && conflicts(&all[j], &all[i]))
            return false;
        leases += !gone[j] && all[j].line == all[i].pool;
    }
    return all[i].pool == ZKL_NO_POOL || leases < all[i].enough;
}

static bool is_one(size_t i, size_t j) {
    return all[i].session == all[j].session && all[i].owner == all[j].owner && all[i].owner;
}

/* The owner waits for nothing, or one of its waits has come to its end: it may release what it
 * holds. */
static bool is_free(size_t i) {
    if (!all[i].owner)
        return true;
    bool waits = false, free = false;
    for (size_t j = 0; j < count; j++) {
        if (!is_one(i, j) || !all[j].waits)
            continue;
        bool complete = true;
        for (size_t k = 0; k < count; k++)
            if (is_one(j, k) && all[k].waits && all[k].group == all[j].group)
                complete = complete && granted[k];
        waits = true;
        free = free || complete;
    }
    return !waits || free;
}

static void play(void) {
    memset(gone, 0, sizeof gone);
    memset(granted, 0, sizeof granted);
    for (size_t turns = 0; turns < NODES * NODES; turns++) {
        for (size_t i = 0; i < count; i++) {
            if (all[i].waits && !gone[i])
                granted[i] = granted[i] || all[i].ends || can_be_granted(i);
            gone[i] = gone[i] || all[i].ends;
        }
        for (size_t i = 0; i < count; i++)
            gone[i] = gone[i] || (is_free(i) && (!all[i].waits || granted[i]));
    }
}

/* Those in front of a node, and in front of the waiters there. */
static bool is_ahead(size_t front, size_t waits) {
    if (conflicts(&all[front], &all[waits]))
        return true;
    for (size_t i = 0; i < count; i++)
        if (conflicts(&all[i], &all[waits]) && !all[i].ends && conflicts(&all[front], &all[i]))
            return true;
    return all[front].line == all[waits].pool;
}

static bool is_edge(size_t waits, size_t front, size_t next, bool certain) {
    const zkl_standing *a = &all[waits], *b = &all[front], *c = &all[next];
    if (!a->waits || !c->waits || a->ends || c->ends || b->ends || next == front ||
        !is_ahead(front, waits))
        return false;
    if (a->session == b->session && (!a->owner || !b->owner))
        return false;
    if (is_one(front, next))
        return !certain || (!gone[waits] && !is_free(front) && !gone[next] && !granted[waits] &&
                            !granted[next]);
    return !certain && b->session == c->session && (!b->owner || !c->owner);
}

/* The waits from which a way leads back to themselves. */
static void reach(bool certain, bool in_circle[NODES]) {
    static bool way[NODES][NODES];
    memset(way, 0, sizeof way);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            for (size_t front = 0; front < count; front++)
                way[i][j] = way[i][j] || is_edge(i, front, j, certain);
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < count; j++)
                way[i][j] = way[i][j] || (way[i][k] && way[k][j]);
    for (size_t i = 0; i < count; i++)
        in_circle[i] = way[i][i];
}

static uint32_t state;

static uint32_t chance(uint32_t of) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % of;
}

static void make_line(size_t line, bool unknown) {
    const bool shared = chance(3) == 0;
    const size_t length = 1 + chance(4);
    for (size_t i = 0; i < length && count < NODES; i++) {
        const zkl_kind kind = !shared ? ZKL_KIND_LOCK : chance(2) ? ZKL_KIND_READ : ZKL_KIND_WRITE;
        zkl_standing *node =
            add(line, kind, 1 + chance(4), unknown ? chance(3) : 1 + chance(2), i > 0);
        node->ends = chance(12) == 0;
        node->group = chance(3) ? node->place : (int64_t)chance(3);
    }
}

static void make_semaphore(size_t line, bool unknown) {
    const size_t leases = 1 + chance(3);
    for (size_t i = 0; i < leases && count < NODES; i++)
        add(line, ZKL_KIND_LEASE, 1 + chance(4), unknown ? chance(3) : 1 + chance(2), false);
    if (count == NODES)
        return;
    zkl_standing *gate =
        add(line + 1, ZKL_KIND_LOCK, 1 + chance(4), unknown ? chance(3) : 1 + chance(2), true);
    gate->pool = line;
    gate->enough = 1 + chance((uint32_t)leases);
}

static void check_links(const zkl_circle *circle, bool covered[NODES]) {
    for (size_t i = 0; i < circle->count; i++) {
        const zkl_link link = circle->links[i];
        const zkl_link next = circle->links[(i + 1) % circle->count];
        CHECK(is_edge(link.waits, link.front, next.waits, circle->certain));
        covered[link.waits] = true;
    }
}

static void is_as_the_oracle_says(void) {
    unsigned certain = 0, possible = 0;
    for (state = 1; state < 4001 * 7u; state += 7) {
        const uint32_t seed = state;
        check_note("seed %u", seed);
        const bool unknown = chance(2);
        begin();
        for (size_t line = 0; line < 6; line++)
            make_line(line, unknown);
        if (chance(2))
            make_semaphore(6, unknown);
        play();
        find();
        bool of_certain[NODES], of_any[NODES], covered[NODES] = {false};
        reach(true, of_certain);
        reach(false, of_any);
        size_t next = 0;
        for (; next < found.count && found.all[next].certain; next++)
            check_links(&found.all[next], covered);
        certain += next > 0;
        for (size_t i = 0; i < count; i++) {
            CHECK_INT(covered[i], of_certain[i]);
            CHECK_INT(zkl_circle_closes(all, count, i), of_certain[i]);
        }
        possible += next < found.count;
        for (; next < found.count; next++) {
            CHECK(!found.all[next].certain);
            check_links(&found.all[next], covered);
        }
        for (size_t i = 0; i < count; i++)
            CHECK_INT(covered[i], of_any[i]);
        state = seed;
        end();
    }
    CHECK(certain > 100);
    CHECK(possible > 100);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"two to five clients in a circle are found", clients_in_a_circle_are_found},
        {"where nobody waits there is none", where_nobody_waits_there_is_none},
        {"a wait or a hold that ends breaks it", a_wait_with_an_end_breaks_it},
        {"a waiter behind it is not in it", one_who_only_waits_behind_it_is_not_in_it},
        {"waiters in front count", waiters_in_front_count},
        {"a multilock holds while it waits elsewhere", a_multilock_holds_while_it_waits_elsewhere},
        {"a semaphore needs every holder in a circle", a_semaphore_needs_every_holder_in_a_circle},
        {"unknown owners are possible", unknown_owners_are_possible},
        {"a session of unknown owners does not wait for itself",
         a_session_of_unknown_owners_does_not_wait_for_itself},
        {"a reader who asks for write waits for itself",
         a_reader_who_asks_for_write_waits_for_itself},
        {"a read under a write waits for nobody", a_read_under_a_write_waits_for_nobody},
        {"a long line is searched once", a_long_line_is_searched_once},
        {"in random lines they are those of an oracle", is_as_the_oracle_says},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
