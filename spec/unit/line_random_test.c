/* A line under schedules that nobody has thought of: two clients and some strangers at one path, and a fake that loses,
 * cuts, lags, expires and deletes at random. After every step the tree itself says who may hold. A failure prints the
 * course, the seed and the step; with the two as arguments the program runs that course alone. */
#include "fake_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CUT = 1,
    EXPIRE = 2,
    LAG = 4,
    OPERATOR = 8,
    REFUSE = 16,
    RELINK = 32,
    SLOW = 64,    /* time passes, trust runs out */
    SHARED = 128, /* readers and writers in the place of a mutex */
};

#define STEPS 6000
#define SEEDS 5
#define WAITING_MOST 6

static unsigned faults, granted;
static uint64_t state;

static unsigned any(unsigned below) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % below;
}

static bool chance(unsigned kind, unsigned one_in) {
    return (faults & kind) != 0 && any(one_in) == 0;
}

/* ---- what must be true after every step ---- */

static fake_node *node_of(const fake_place *place) {
    const char *path = fake_node_of(place);
    return path ? fake_find(zk, path, FAKE_LATEST) : NULL;
}

static const zkl_contender *contender_named(const char *name) {
    for (fake_client *c = zk->clients; c; c = c->next) {
        const char *found;
        zkl_line *line = zkl_lines_around(&c->lines, LINE "/x", &found);
        for (const zkl_contender *m = line ? line->first : NULL; m; m = m->next)
            if (m->name && strcmp(m->name, name) == 0)
                return m;
    }
    return NULL;
}

static zkl_kind parse(const char *name, zkl_child *child) {
    *child = (zkl_child){.name = (char *)name};
    return child->kind = zkl_znode_parse(name, &child->sequence);
}

/* A read that was sent under a write which has gone since: it will not be granted. */
static bool late_read(const char *name, const zkl_contender *reader) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", LINE, name);
    return fake_find(zk, path, FAKE_LATEST)->mode == ZKL_EPHEMERAL &&
           (reader ? reader->phase != ZKL_HELD : (faults & OPERATOR) != 0);
}

/* Nobody is before it but nodes of its own session that are on their way out. */
static void check_first(const fake_place *place, const fake_node *node) {
    zkl_child own, other;
    CHECK(parse(strrchr(node->path, '/') + 1, &own));
    for (size_t i = 0;; i++) {
        const char *name = fake_child(zk, LINE, i, FAKE_LATEST);
        if (!name)
            return;
        if (!parse(name, &other) || !zkl_znode_before(other.sequence, own.sequence) ||
            !zkl_verdict_blocks(&other, own.kind))
            continue;
        const zkl_contender *before = contender_named(name);
        if (late_read(name, before))
            continue;
        CHECK(before && before->floor == place->contender->floor);
        CHECK(before->phase == ZKL_OVER || before->node == ZKL_NODE_ERASING);
    }
}

static bool writes(const fake_place *place) {
    return place->contender->terms.kind == ZKL_KIND_WRITE;
}

/* Two that both believe to hold: readers, or a writer and the read that it took over. */
static void check_pair(const fake_place *a, const fake_place *b) {
    if (!(faults & SHARED))
        CHECK(a == b);
    else if (writes(a) || writes(b))
        CHECK(a == b || (writes(a) != writes(b) && a->token == b->token));
}

static void check_exclusion(void) {
    const fake_place *holders[64];
    size_t count = 0;
    for (fake_client *c = zk->clients; c; c = c->next) {
        const bool trusted = c->floor.trusted_until > fake_now;
        CHECK(c->alive || !trusted); /* nobody trusts a session that is over */
        for (fake_place *p = c->places; p; p = p->next) {
            const fake_node *node = fake_held(p) ? node_of(p) : NULL;
            if (!node)
                continue; /* an operator's deed, or the end of the session, that it has not heard of yet */
            CHECK_INT(node->owner, c->floor.session);
            CHECK_INT(p->token, p->contender->borrowed ? p->contender->borrowed : node->czxid);
            check_first(p, node);
            if (trusted)
                holders[count++] = p;
        }
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j <= i; j++)
            check_pair(holders[i], holders[j]);
}

/* ---- what may happen ---- */

static fake_client *anyone(void) {
    return any(2) ? one : two;
}

/* Who holds more often than not: the line has to move. */
static fake_place *any_place(fake_client *client) {
    unsigned n = 0;
    for (fake_place *p = client->places; p; p = p->next, n++)
        if (fake_held(p) && any(2))
            return p;
    fake_place *p = client->places;
    for (n = n ? any(n) : 0; p && n > 0; n--)
        p = p->next;
    return p;
}

static void share(fake_client *client) {
    fake_place *p = client->places;
    while (p && !(fake_held(p) && writes(p)))
        p = p->next;
    if (p && any(2))
        fake_read_under(p, LINE);
    else if (any(3))
        fake_read(client, LINE);
    else
        fake_write_lock(client, LINE);
}

static void join(fake_client *client) {
    if (client->floor.counters.waiting >= WAITING_MOST)
        return;
    if (faults & SHARED)
        share(client);
    else if (any(8) == 0)
        fake_try(client, LINE);
    else
        fake_join(client, LINE, any(2) ? 1e12 : 0.1 * any(300));
}

static void touch(fake_place *place) {
    if (!place)
        return;
    if (!fake_waits(place) && !fake_held(place)) {
        granted += place->granted;
        fake_drop(place);
    } else if (any(12) == 0) {
        fake_drop(place);
    } else if (fake_held(place)) {
        CHECK_INT(fake_release(place), ZKL_OK);
    } else if (any(4) == 0) {
        fake_cancel(place);
    }
}

/* Another client's writer that is first takes read as well, before it goes. */
static void take_over(const char *write) {
    zkl_child own, other;
    char path[256];
    fake_node *node;
    if (parse(write, &own) != ZKL_KIND_WRITE || any(2))
        return;
    for (size_t i = 0; fake_child(zk, LINE, i, FAKE_LATEST); i++) {
        const char *name = fake_child(zk, LINE, i, FAKE_LATEST);
        if (strcmp(name, write) != 0 && parse(name, &other) &&
            !zkl_znode_before(own.sequence, other.sequence))
            return;
    }
    snprintf(path, sizeof path, "%s/_c_other-__READ__%010d", LINE, own.sequence);
    CHECK_INT(fake_make(zk, path, "stranger", ZKL_EPHEMERAL, 0xdead, &node), ZOK);
}

static void some_stranger(void) {
    static const char *const mutexes[] = {NULL, "%s0123456789abcdef01234567__lock__"};
    static const char *const shared[] = {"_c_%s-__READ__", "_c_%s-__WRIT__"};
    const char *const *forms = faults & SHARED ? shared : mutexes;
    for (size_t i = 0;; i++) {
        const char *name = fake_child(zk, LINE, i, FAKE_LATEST);
        char path[256];
        snprintf(path, sizeof path, "%s/%s", LINE, name ? name : "");
        if (!name)
            break;
        if (fake_find(zk, path, FAKE_LATEST)->owner != 0xdead)
            continue;
        take_over(name);
        fake_remove(zk, path);
        return;
    }
    fake_stranger(zk, LINE, forms[any(2)]);
}

static void some_operator(void) {
    const size_t count = fake_children(zk, LINE);
    const char *name = count ? fake_child(zk, LINE, any((unsigned)count), FAKE_LATEST) : NULL;
    char path[256];
    if (!name)
        return;
    snprintf(path, sizeof path, "%s/%s", LINE, name);
    if (any(3))
        fake_remove(zk, path);
    else
        fake_write(zk, path, "__REVOKE__");
}

static void come_back(fake_client *client) {
    if (!client->alive)
        fake_expire(client);
    fake_connect(client);
}

static void turn_link(fake_client *client) {
    if (client->floor.port) {
        fake_cut_quietly(client);
        if (chance(LAG, 2))
            fake_lag(client, client->seen + any((unsigned)(zk->zxid - client->seen) + 1));
        if (chance(RELINK, 2))
            fake_relink(client); /* what the old link had on its way is not heard of */
        else
            fake_deliver_late(client);
        return;
    }
    if (client->alive && chance(EXPIRE, 3)) {
        const zkl_nanos end = client->heard + client->timeout;
        if (end >= fake_now)
            fake_wait(zk, zkl_clock_seconds(end - fake_now) + 0.001);
        fake_bury(client);
    }
    if (any(2))
        come_back(client);
}

static void some_refusal(void) {
    static const int rcs[] = {ZTHROTTLEDOP, ZTHROTTLEDOP, ZNOAUTH};
    fake_allow(zk);
    if (any(2))
        fake_refuse(zk, (fake_op)any(FAKE_OPS), LINE, rcs[any(3)], 1 + any(3));
}

static void step(void) {
    fake_client *client = anyone();
    if (chance(CUT, client->floor.port ? 50 : 5))
        turn_link(client);
    else if (chance(OPERATOR, 40))
        some_operator();
    else if (chance(REFUSE, 30))
        some_refusal();
    else if (chance(LAG, 30))
        fake_catch_up(client);
    else if (chance(SLOW, 40))
        fake_wait(zk, any(3) ? 0.06 : any(30));
    else if (any(60) == 0)
        some_stranger();
    else if (any(8) == 0)
        join(client);
    else if (any(4) == 0)
        touch(any_place(client));
    else if (any(2))
        fake_carry(client);
    else if (any(2))
        fake_deliver(client);
    else
        fake_answer(client);
}

/* ---- rest: no faults for a while, then everything must stand as it should ---- */

static void heal(void) {
    fake_allow(zk);
    for (fake_client *c = zk->clients; c; c = c->next) {
        if (!c->floor.port)
            come_back(c);
        fake_catch_up(c);
    }
    fake_settle_all(zk);
    /* Holds that are not watched yet come to be; then what was refused or could not be sent is repeated. */
    for (unsigned i = 0; i < 3; i++) {
        fake_wait(zk, i == 0 ? 0.1 : 6);
        fake_settle_all(zk);
    }
    fake_wait(zk, 31);
    fake_settle_all(zk);
}

/* A reader waits for a writer, or holds. */
static void check_readers(void) {
    zkl_child reader, other;
    for (size_t i = 0; fake_child(zk, LINE, i, FAKE_LATEST); i++) {
        const char *name = fake_child(zk, LINE, i, FAKE_LATEST);
        const zkl_contender *c = contender_named(name);
        bool free = true;
        if (!c || parse(name, &reader) != ZKL_KIND_READ)
            continue;
        for (size_t j = 0; fake_child(zk, LINE, j, FAKE_LATEST); j++)
            if (parse(fake_child(zk, LINE, j, FAKE_LATEST), &other) == ZKL_KIND_WRITE &&
                zkl_znode_before(other.sequence, reader.sequence))
                free = false;
        CHECK(!free || c->phase == ZKL_HELD);
    }
}

static void check_rest(void) {
    int32_t first = 0, sequence = 0;
    const char *smallest = NULL;
    heal();
    check_exclusion();
    for (size_t i = 0;; i++) {
        const char *name = fake_child(zk, LINE, i, FAKE_LATEST);
        zkl_guid guid;
        if (!name)
            break;
        CHECK(zkl_znode_parse(name, &sequence));
        if (zkl_znode_guid(name, &guid)) {
            const zkl_contender *c = contender_named(name);
            CHECK(c && c->phase != ZKL_OVER); /* no node without somebody who wants it */
        }
        if (!smallest || zkl_znode_before(sequence, first)) {
            smallest = name;
            first = sequence;
        }
    }
    const zkl_contender *c = smallest ? contender_named(smallest) : NULL;
    CHECK(!c || c->phase == ZKL_HELD); /* nobody waits for nobody */
    if (faults & SHARED)
        check_readers();
    for (fake_client *client = zk->clients; client; client = client->next)
        for (fake_place *p = client->places; p; p = p->next)
            CHECK(!fake_waits(p) || node_of(p));
}

static void leave_all(void) {
    for (fake_client *c = zk->clients; c; c = c->next) {
        for (fake_place *p = c->places, *next; p; p = next) {
            next = p->next;
            if (fake_held(p))
                fake_release(p);
        }
    }
    fake_settle_all(zk);
}

static bool somebody_waits(void) {
    return one->floor.counters.waiting + two->floor.counters.waiting > 0;
}

static void check_end(void) {
    heal();
    fake_end_session(zk, 0xdead);
    fake_settle_all(zk);
    for (unsigned i = 0; somebody_waits(); i++) {
        CHECK(i < 1000); /* everybody gets in */
        leave_all();
    }
    leave_all();
    for (fake_client *c = zk->clients; c; c = c->next) {
        for (fake_place *p = c->places; p; p = p->next)
            CHECK_INT(p->answers, 1);
        while (c->places) {
            granted += c->places->granted;
            fake_drop(c->places);
        }
    }
    fake_settle_all(zk);
    CHECK_CLEAN();
}

static void run_seed(unsigned kinds, unsigned seed) {
    faults = kinds;
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + kinds;
    granted = 0;
    /* Every second course comes to the end of the sequences, where nobody is granted any more. */
    fake_find(zk, LINE, FAKE_LATEST)->next = seed % 2 ? INT32_MAX - 300 : 0;
    one->beats = two->beats = true;
    one->syncs_first = two->syncs_first = (kinds & RELINK) != 0;
    for (unsigned i = 0; i < STEPS; i++) {
        check_note("course %u, seed %u, step %u", kinds, seed, i);
        step();
        check_exclusion();
        if (i % 250 == 249) {
            check_rest();
            fake_wait(zk, 0.001);
        }
    }
    check_note("course %u, seed %u, the end", kinds, seed);
    check_end();
    CHECK(granted > 20); /* else it has tried nothing */
}

static void run(unsigned kinds) {
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        run_seed(kinds, seed);
        fake_world_end();
        fake_world_begin();
    }
}

static void calm(void) {
    run(0);
}

static void links_go(void) {
    run(CUT | SLOW);
}

static void links_go_and_servers_lag(void) {
    run(CUT | LAG | SLOW);
}

static void sessions_end(void) {
    run(CUT | EXPIRE | SLOW);
}

static void operators_delete(void) {
    run(OPERATOR | SLOW);
}

static void servers_refuse(void) {
    run(REFUSE | CUT | SLOW);
}

static void sessions_move(void) {
    run(CUT | LAG | RELINK | SLOW);
}

static void everything(void) {
    run(CUT | EXPIRE | LAG | OPERATOR | REFUSE | RELINK | SLOW);
}

static void readers_and_writers(void) {
    run(SHARED);
    run(SHARED | CUT | LAG | RELINK | SLOW);
    run(SHARED | OPERATOR | REFUSE | SLOW);
    run(SHARED | CUT | EXPIRE | LAG | OPERATOR | REFUSE | RELINK | SLOW);
}

static unsigned chosen_kinds, chosen_seed;

static void the_chosen(void) {
    run_seed(chosen_kinds, chosen_seed);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"holds in a calm sea", calm},
        {"holds when links go and come back", links_go},
        {"holds when links go and servers lag", links_go_and_servers_lag},
        {"holds when sessions end", sessions_end},
        {"holds when operators delete and write", operators_delete},
        {"holds when servers refuse", servers_refuse},
        {"holds when sessions move to other links", sessions_move},
        {"holds when everything happens at once", everything},
        {"holds for readers and writers, whatever happens", readers_and_writers},
    };
    static const check_case chosen[] = {{"holds in the chosen course", the_chosen}};
    if (argc == 3) {
        chosen_kinds = (unsigned)atoi(argv[1]);
        chosen_seed = (unsigned)atoi(argv[2]);
        return check_run(CHECK_CASES(chosen), 1, argv, fake_world_begin, fake_world_end);
    }
    return check_run(CHECK_CASES(cases), argc, argv, fake_world_begin, fake_world_end);
}
