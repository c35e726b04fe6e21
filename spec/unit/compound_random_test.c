/* SPDX-License-Identifier: MIT */
/* Wholes under random schedules: multilocks and mutexes at three paths, and leases of one
 * semaphore. After every step the tree itself says who may hold. */
#include "random_world.h"

#include <string.h>

#define A LINE
#define B "/locks/a b,c: /%s"
#define C "/locks/c"
#define POOL "/locks/pool"
#define PERMITS 3

enum { PATHS = 3, GATE = 3, LEASES = 4, DIRECTORIES = 5 };
static const char *const directories[DIRECTORIES] = {A, B, C, POOL "/locks", POOL "/leases"};

/* A caller's note: a bit for each of its paths, or the count of its leases. */
#define LEASE 0x100u

static bool at(const fake_caller *caller, unsigned path) {
    return !(caller->note & LEASE) && (caller->note & 1u << path);
}

static unsigned leases_of(const fake_caller *caller) {
    return caller->note & LEASE ? caller->note & ~LEASE : 0;
}

/* ---- what must be true after every step ---- */

/* The next member of the line after `after` that is a part with that listener; NULL: with any. */
static const zkl_contender *part_after(const zkl_line *line, const zkl_contender *after,
                                       const zkl_contender_listener *listener) {
    bool past = !after;
    for (const zkl_list_item *item = line ? line->members.first : NULL; item; item = item->next) {
        const zkl_contender *c = ZKL_CONTAINER_OF(item, zkl_contender, member);
        if (past && c->phase != ZKL_OVER && c->is_part && (!listener || c->listener == listener))
            return c;
        past = past || c == after;
    }
    return NULL;
}

/* The contender with which a caller holds there; of leases, the first. */
static const zkl_contender *held_at(const fake_caller *caller, unsigned directory) {
    const zkl_contender *c = caller->contender;
    if (!c->line) {
        zkl_line *line = zkl_lines_find(&caller->client->lines, directories[directory]);
        for (c = part_after(line, NULL, NULL); c && c->token != caller->token;)
            c = part_after(line, c, NULL);
    }
    CHECK(c && c->phase == ZKL_HELD);
    return c;
}

/* How many leases it has as far as the tree goes. */
static size_t check_leases(const fake_caller *caller) {
    const zkl_contender *first = held_at(caller, LEASES);
    unsigned count = 0;
    size_t there = 0;
    for (const zkl_contender *c = part_after(first->line, NULL, first->listener); c;
         c = part_after(first->line, c, first->listener), count++) {
        CHECK(c->phase == ZKL_HELD);
        there += random_check_node(caller->client, c) != NULL;
    }
    CHECK_INT(count, leases_of(caller));
    return there;
}

static size_t check_paths(const fake_caller *caller, size_t *holders) {
    for (unsigned i = 0; i < PATHS; i++) {
        const zkl_contender *held = at(caller, i) ? held_at(caller, i) : NULL;
        const fake_node *node = held ? random_check_node(caller->client, held) : NULL;
        if (!node)
            continue;
        CHECK_INT(node->czxid, caller->token);
        random_check_first(held, NULL);
        holders[i]++;
    }
    return 0;
}

static const char holds[] = "%s-holds-lease-", comes[] = "%s-comes-lease-";

/* Those that found room when they came. */
static size_t strangers_inside(void) {
    size_t n = 0;
    for (size_t i = 0;; i++) {
        const char *name = fake_child(zk, directories[LEASES], i, FAKE_LATEST);
        if (!name)
            return n;
        n += strstr(name, holds + 2) != NULL;
    }
}

static void check(void) {
    size_t holders[PATHS] = {0}, leases = strangers_inside();
    for (fake_client *c = zk->clients; c; c = c->next) {
        random_check_validity(c);
        for (fake_caller *p = c->callers; p; p = p->next)
            if (fake_held(p))
                leases += leases_of(p) ? check_leases(p) : check_paths(p, holders);
    }
    for (unsigned i = 0; i < PATHS; i++)
        CHECK(holders[i] <= 1);
    CHECK(leases <= PERMITS);
}

/* ---- what may happen ---- */

static void join_all(fake_client *client, double seconds) {
    const char *paths[PATHS];
    unsigned note = 0;
    size_t count = 0;
    const size_t wanted = 1 + random_any(PATHS);
    while (count < wanted) {
        const unsigned i = random_any(PATHS);
        if (note & 1u << i)
            continue;
        note |= 1u << i;
        paths[count++] = directories[i];
    }
    fake_join_all(client, paths, count, seconds)->note = note;
}

static void join(fake_client *client) {
    const unsigned kind = random_any(8), i = random_any(PATHS);
    const double seconds = random_any(5) ? random_seconds() : 0;
    if (kind < 3) {
        const unsigned count = 1 + random_any(PERMITS);
        fake_lease_within(client, POOL, count, PERMITS, seconds)->note = LEASE | count;
    } else if (kind < 6) {
        join_all(client, seconds);
    } else {
        fake_caller *caller = seconds > 0 ? fake_join(client, directories[i], seconds)
                                          : fake_try(client, directories[i]);
        caller->note = 1u << i;
    }
}

static void some_stranger(const char *directory) {
    const char *stranger = random_stranger(directory);
    const bool room = fake_children(zk, directories[LEASES]) < PERMITS;
    if (stranger)
        fake_remove(zk, stranger);
    else if (directory == directories[LEASES])
        fake_stranger(zk, directory, room ? holds : comes);
    else if (directory != directories[GATE] && random_any(3) == 0)
        random_stray(directory);
    else
        fake_stranger(zk, directory, NULL);
}

/* ---- rest ---- */

static size_t ours_in(const char *directory) {
    size_t n = 0;
    zkl_guid guid;
    for (size_t i = 0;; i++) {
        const char *name = fake_child(zk, directory, i, FAKE_LATEST);
        if (!name)
            return n;
        n += zkl_znode_guid(name, &guid) && random_contender(directory, name) != NULL;
    }
}

/* The leases that have been made for the one at the gate, if that is one of us. */
static size_t leases_coming(void) {
    const char *first = random_first(directories[GATE]);
    const zkl_contender *gate = first ? random_contender(directories[GATE], first) : NULL;
    const zkl_contender *c = NULL;
    size_t n = 0;
    if (!gate)
        return 0;
    for (fake_client *client = zk->clients; client; client = client->next) {
        const zkl_line *line = zkl_lines_find(&client->lines, directories[LEASES]);
        while ((c = part_after(line, c, gate->listener)))
            n++;
    }
    CHECK(n > 0);
    CHECK(fake_children(zk, directories[LEASES]) > PERMITS); /* else it would hold */
    return n;
}

/* As many nodes as there are callers that want them. */
static void check_counts(void) {
    size_t wanted[DIRECTORIES] = {0};
    for (fake_client *c = zk->clients; c; c = c->next)
        for (fake_caller *p = c->callers; p; p = p->next) {
            for (unsigned i = 0; i < PATHS; i++)
                wanted[i] += at(p, i) && (fake_waits(p) || fake_held(p));
            wanted[GATE] += leases_of(p) && fake_waits(p);
            wanted[LEASES] += fake_held(p) ? leases_of(p) : 0;
        }
    wanted[LEASES] += leases_coming();
    for (unsigned i = 0; i < DIRECTORIES; i++)
        CHECK_INT(ours_in(directories[i]), wanted[i]);
}

/* Somebody else is before it, at one of its paths at least. */
static bool is_behind(const fake_client *client, const zkl_contender *caller) {
    if (!caller->is_part)
        return !random_is_first(caller);
    for (unsigned i = 0; i < PATHS; i++) {
        const zkl_line *line = zkl_lines_find(&client->lines, directories[i]);
        const zkl_contender *part = part_after(line, NULL, caller->listener);
        if (part && !random_is_first(part))
            return true;
    }
    return false;
}

/* Does the caller hold with a node in the line that has this token? In other lines others may. */
static bool holds_with(const fake_caller *caller, const zkl_line *line, int64_t token) {
    const zkl_contender *c = caller->contender, *part;
    for (size_t i = 0; fake_held(caller) && (part = c->call->part(c, i)); i++)
        if (part->line == line && part->token == token)
            return true;
    return false;
}

static size_t held_with(const fake_client *client, const zkl_line *line, int64_t token) {
    size_t n = 0;
    for (const fake_caller *p = client->callers; p; p = p->next)
        n += holds_with(p, line, token);
    return n;
}

/* Nobody waits for nobody. */
static void check_rest(void) {
    check_counts();
    for (const fake_client *client = zk->clients; client; client = client->next)
        for (unsigned i = 0; i < PATHS; i++) {
            const zkl_line *line = zkl_lines_find(&client->lines, directories[i]);
            if (!line)
                continue;
            ZKL_EACH (const zkl_contender, c, &line->members, member) {
                CHECK_INT(held_with(client, line, c->token), !is_behind(client, c));
            }
        }
}

/* In every second course one of the paths comes to the end of its sequences, where nobody is
 * granted any more. */
static void begin(unsigned seed) {
    for (unsigned i = 0; i < DIRECTORIES; i++)
        fake_directory(zk, directories[i]);
    fake_find(zk, C, FAKE_LATEST)->next = seed % 2 ? INT32_MAX - 100 : 0;
}

int main(int argc, char **argv) {
    static const random_play play = {
        .directories = directories,
        .directory_count = DIRECTORIES,
        .steps = 3000,
        .seeds = 8,
        .begin = begin,
        .join = join,
        .stranger = some_stranger,
        .check = check,
        .rest = check_rest,
    };
    return random_main(&play, argc, argv);
}
