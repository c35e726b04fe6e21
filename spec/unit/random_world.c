/* SPDX-License-Identifier: MIT */
#include "random_world.h"

#include "random_sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An operator's deeds that somebody may not have heard of yet. */
#define DEEDS 256

/* A course in which no more were granted says little. */
#define GRANTED_LITTLE 20

#define STRANGER 0xdead /* the session that fake_stranger's nodes are of */

unsigned random_faults;

static const random_play *play;
static uint64_t state;
static unsigned granted;
static char deeds[DEEDS][256];
static size_t deed_count;

unsigned random_any(unsigned below) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % below;
}

static bool chance(unsigned kind, unsigned one_in) {
    return (random_faults & kind) != 0 && random_any(one_in) == 0;
}

double random_seconds(void) {
    return random_any(2) ? 1e12 : 0.1 * random_any(300);
}

static const char *any_directory(void) {
    return play
        ->directories[play->directory_count > 1 ? random_any((unsigned)play->directory_count) : 0];
}

static fake_client *anyone(void) {
    return random_any(2) ? one : two;
}

/* ---- looking ---- */

const zkl_contender *random_contender(const char *directory, const char *name) {
    for (fake_client *c = zk->clients; c; c = c->next) {
        const zkl_line *line = zkl_lines_find(&c->lines, directory);
        if (!line)
            continue;
        ZKL_EACH (zkl_contender, m, &line->members, member) {
            if (m->name && strcmp(m->name, name) == 0)
                return m;
        }
    }
    return NULL;
}

fake_node *random_node(const zkl_contender *c) {
    char path[256];
    if (!c->line || !c->name)
        return NULL;
    snprintf(path, sizeof path, "%s/%s", c->line->path, c->name);
    return fake_find(zk, path, FAKE_LATEST);
}

const char *random_stranger(const char *directory) {
    for (size_t i = 0;; i++) {
        const char *name = fake_child(zk, directory, i, FAKE_LATEST);
        char path[256];
        if (!name)
            return NULL;
        snprintf(path, sizeof path, "%s/%s", directory, name);
        const fake_node *node = fake_find(zk, path, FAKE_LATEST);
        if (node->owner == STRANGER)
            return node->path;
    }
}

zkl_kind random_parse(const char *name, zkl_child *child) {
    *child = (zkl_child){.name = (char *)name};
    return child->kind = zkl_znode_parse(name, &child->sequence);
}

const char *random_first(const char *directory) {
    zkl_child first = {0}, child;
    for (size_t i = 0;; i++) {
        const char *name = fake_child(zk, directory, i, FAKE_LATEST);
        if (!name)
            return first.name;
        CHECK(random_parse(name, &child));
        if (!first.name || child.sequence < first.sequence)
            first = child;
    }
}

/* ---- what must be true after every step ---- */

void random_check_validity(const fake_client *client) {
    CHECK(client->alive || client->context.valid_until <= fake_now);
}

static bool operator_took(const zkl_contender *c) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", c->line->path, c->name);
    for (size_t i = 0; i < DEEDS; i++)
        if (strcmp(deeds[i], path) == 0)
            return true;
    return false;
}

fake_node *random_check_node(const fake_client *client, const zkl_contender *held) {
    fake_node *node = random_node(held);
    CHECK(node || !client->alive || operator_took(held));
    if (node)
        CHECK_INT(node->owner, client->context.session);
    return node;
}

static const fake_node *node_at(const char *directory, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return fake_find(zk, path, FAKE_LATEST);
}

/* A node with a number that the servers would not give now may come before one that holds, but too
 * late to stop it. */
static bool came_too_late(const zkl_child *other, const zkl_contender *held) {
    const fake_node *own = random_node(held), *node = node_at(held->line->path, other->name);
    const bool stray =
        other->sequence < 0 || (other->kind == ZKL_KIND_LOCK && node->mode == FAKE_EPHEMERAL);
    return stray && own && node->czxid > own->czxid;
}

bool random_is_first(const zkl_contender *c) {
    zkl_child own, other;
    CHECK(random_parse(c->name, &own));
    for (size_t i = 0;; i++) {
        const char *name = fake_child(zk, c->line->path, i, FAKE_LATEST);
        if (!name)
            return true;
        if (random_parse(name, &other) && other.sequence < own.sequence &&
            !(c->phase == ZKL_HELD && came_too_late(&other, c)))
            return false;
    }
}

/* A name to which a sequence is missing: of somebody who is there, or of nobody. */
static void stray_name(const char *directory, char name[ZKL_ZNODE_SIZE]) {
    static unsigned ids;
    zkl_guid guid;
    const size_t count = fake_children(zk, directory);
    const char *model =
        count ? fake_child(zk, directory, random_any((unsigned)count), FAKE_LATEST) : "";
    if (random_any(2) && zkl_znode_guid(model, &guid))
        zkl_znode_make(name, guid, ZKL_KIND_LOCK);
    else
        snprintf(name, ZKL_ZNODE_SIZE, "stray%u-lock-", ++ids);
}

void random_stray(const char *directory) {
    char name[ZKL_ZNODE_SIZE], path[256];
    const int32_t next = fake_find(zk, directory, FAKE_LATEST)->next;
    const int32_t numbers[] = {
        INT32_MIN, -INT32_MAX, -5, 0, next / 2, (int32_t)((uint32_t)next + 3), INT32_MAX};
    stray_name(directory, name);
    zkl_znode_append(name, numbers[random_any(sizeof numbers / sizeof *numbers)]);
    snprintf(path, sizeof path, "%s/%s", directory, name);
    const int rc = fake_make(zk, path, "stray", FAKE_EPHEMERAL, STRANGER, NULL);
    CHECK(rc == ZOK || rc == ZNODEEXISTS);
}

void random_check_first(const zkl_contender *held,
                        bool (*excused)(const char *name, const zkl_contender *before)) {
    zkl_child own, other;
    CHECK(random_parse(held->name, &own));
    for (size_t i = 0;; i++) {
        const char *name = fake_child(zk, held->line->path, i, FAKE_LATEST);
        if (!name)
            return;
        if (!random_parse(name, &other) || other.sequence >= own.sequence ||
            !zkl_verdict_blocks(&other, own.kind) || came_too_late(&other, held))
            continue;
        const zkl_contender *before = random_contender(held->line->path, name);
        if (excused && excused(name, before))
            continue;
        CHECK(before && before->context == held->context);
        CHECK(before->phase == ZKL_OVER || before->node == ZKL_NODE_DELETE_SENT);
    }
}

/* ---- what may happen ---- */

/* Prefers a holder: the line has to move. */
static fake_caller *any_caller(fake_client *client) {
    unsigned n = 0;
    for (fake_caller *p = client->callers; p; p = p->next, n++)
        if (fake_held(p) && random_any(2))
            return p;
    fake_caller *p = client->callers;
    for (n = n ? random_any(n) : 0; p && n > 0; n--)
        p = p->next;
    return p;
}

/* Why one may not have been granted: it gave up, the servers forbade it or throttled its only try,
 * or the sequences are used up. */
static void check_failure(zkl_status status) {
    CHECK(status == ZKL_TIMEOUT || status == ZKL_DISCONNECTED || status == ZKL_CANCELLED ||
          ((status == ZKL_ACCESS_DENIED || status == ZTHROTTLEDOP) && (random_faults & REFUSE)) ||
          status == ZDATAINCONSISTENCY);
}

static void forget(fake_caller *caller) {
    granted += caller->granted;
    if (!caller->granted)
        check_failure(caller->status);
    fake_drop(caller);
}

/* A release that answers ZKL_OK says that nobody else can have held before it. */
static void release(fake_caller *caller) {
    const fake_client *client = caller->client;
    const bool sure = client->context.valid_until > fake_now;
    CHECK_INT(fake_release(caller), sure ? ZKL_OK : ZKL_UNKNOWN);
    CHECK(client->alive || !sure);
}

static void touch(fake_caller *caller) {
    if (!caller)
        return;
    if (caller->shares && random_any(2) && (fake_rest(caller) || fake_take_again(caller)))
        return;
    if (!fake_waits(caller) && !fake_held(caller))
        forget(caller);
    else if (random_any(12) == 0)
        fake_drop(caller);
    else if (fake_held(caller))
        release(caller);
    else if (random_any(4) == 0)
        fake_cancel(caller);
}

/* Deletes a node, or asks for it back; or clears an empty directory away, as servers do with
 * containers. */
static void some_operator(void) {
    const char *directory = any_directory();
    const size_t count = fake_children(zk, directory);
    char path[256];
    if (!count) {
        if (random_any(4) == 0)
            fake_remove(zk, directory);
        return;
    }
    snprintf(path, sizeof path, "%s/%s", directory,
             fake_child(zk, directory, random_any((unsigned)count), FAKE_LATEST));
    if (random_any(3)) {
        snprintf(deeds[deed_count++ % DEEDS], sizeof *deeds, "%s", path);
        fake_remove(zk, path);
    } else {
        fake_write(zk, path, "__REVOKE__");
    }
}

static void some_stranger(void) {
    const char *directory = any_directory();
    fake_directory(zk, directory);
    play->stranger(directory);
}

static double of_timeout(unsigned parts) {
    return zkl_clock_seconds(one->timeout) * parts / 48;
}

/* The client may hear late that the servers have taken its connection. */
static void be_taken(fake_client *client, bool late) {
    client->tenure.at_follower = random_any(2);
    fake_take(client);
    if (late && random_any(3) == 0)
        fake_wait(zk, of_timeout(random_any(40)));
    if (!client->alive)
        fake_expire(client);
}

static void come_back(fake_client *client, bool late) {
    if (!client->alive)
        fake_expire(client);
    else if (random_faults & QUORUM)
        be_taken(client, late);
    fake_connect(client);
}

static void link_event(fake_client *client) {
    if (client->heart.linked) {
        fake_cut_quietly(client);
        if (chance(LAG, 2))
            fake_lag(client, client->seen + random_any((unsigned)(zk->zxid - client->seen) + 1));
        if (chance(RELINK, 2))
            fake_relink(client); /* what the old link had on its way is not heard of */
        else
            fake_deliver_late(client);
        return;
    }
    if (client->alive && chance(EXPIRE, 3)) {
        const zkl_nanos end = client->tenure.ends;
        if (end >= fake_now)
            fake_wait(zk, zkl_clock_seconds(end - fake_now) + 0.001);
        fake_bury(client);
    }
    if (random_any(2))
        come_back(client, true);
    else
        fake_fail(client);
}

static void some_refusal(void) {
    static const int rcs[] = {ZTHROTTLEDOP, ZTHROTTLEDOP, ZNOAUTH};
    fake_allow(zk);
    if (random_any(2))
        fake_refuse(zk, (fake_op)random_any(FAKE_OPS), any_directory(), rcs[random_any(3)],
                    1 + random_any(3));
}

/* Time goes by, and most requests are answered in it. */
static void breathe(void) {
    fake_wait(zk, of_timeout(random_any(12) ? 1 + random_any(4) : random_any(60)));
    for (fake_client *c = zk->clients; c; c = c->next)
        if (random_any(12))
            fake_settle(c);
}

/* The end of it is that its server notices, and hangs up; or that it dies. */
static void depose(fake_client *client) {
    if (client->tenure.deposed)
        link_event(client);
    else if (client->heart.linked && client->alive)
        fake_quorum_depose(client);
}

#define WAITING_MOST 6

static void step(void) {
    fake_client *client = anyone();
    if (chance(QUORUM, 3))
        breathe();
    else if (chance(QUORUM, client->tenure.deposed ? 40 : 100))
        depose(client);
    else if (chance(CUT, client->heart.linked ? 50 : 5))
        link_event(client);
    else if (chance(OPERATOR, 40))
        some_operator();
    else if (chance(REFUSE, 30))
        some_refusal();
    else if (chance(LAG, 30))
        fake_catch_up(client);
    else if (chance(SLOW, 40))
        fake_wait(zk, random_any(3) ? 0.06 : random_any(30));
    else if (random_any(60) == 0)
        some_stranger();
    else if (random_any(8) == 0 && client->context.counters.waiting < WAITING_MOST)
        play->join(client);
    else if (random_any(4) == 0)
        touch(any_caller(client));
    else if (random_any(2))
        fake_carry(client);
    else if (random_any(2))
        fake_deliver(client);
    else
        fake_answer(client);
}

/* ---- rest: no faults for a while, then everything must stand as it should ---- */

static void heal(void) {
    fake_allow(zk);
    for (fake_client *c = zk->clients; c; c = c->next) {
        if (c->tenure.deposed)
            fake_cut(c);
        if (!c->heart.linked)
            come_back(c, false); /* while one waits, the other's session could end */
        fake_catch_up(c);
    }
    fake_settle_all(zk);
    /* Holds that are not watched yet come to be; then what was refused or could not be sent is
     * repeated. */
    fake_beat(one, 44);
    /* Contenders that are not watched get on by a look each. */
    if (random_faults & NARROW)
        fake_beat(one, 40);
}

/* No node of ours without somebody who wants it. */
static void check_wanted(const char *directory) {
    for (size_t i = 0;; i++) {
        const char *name = fake_child(zk, directory, i, FAKE_LATEST);
        zkl_guid guid;
        if (!name)
            return;
        if (!zkl_znode_guid(name, &guid) || node_at(directory, name)->owner == STRANGER)
            continue;
        const zkl_contender *c = random_contender(directory, name);
        CHECK(c && c->phase != ZKL_OVER);
    }
}

static void check_rest(void) {
    heal();
    play->check();
    for (size_t i = 0; i < play->directory_count; i++)
        check_wanted(play->directories[i]);
    play->rest();
}

static void leave_all(void) {
    for (fake_client *c = zk->clients; c; c = c->next)
        for (fake_caller *p = c->callers, *next; p; p = next) {
            next = p->next;
            if (fake_held(p))
                fake_release(p);
        }
    fake_settle_all(zk);
}

static bool somebody_waits(void) {
    return one->context.counters.waiting + two->context.counters.waiting > 0;
}

static void check_end(void) {
    heal();
    fake_end_session(zk, STRANGER);
    fake_settle_all(zk);
    for (unsigned i = 0; somebody_waits(); i++) {
        CHECK(i < 1000); /* everybody gets in */
        leave_all();
        if (random_faults & NARROW)
            fake_wait(zk, 2); /* nobody tells those who are not watched: they look */
        play->check();
    }
    leave_all();
    for (fake_client *c = zk->clients; c; c = c->next) {
        zkl_ask_free(&fake_flush(c)->ask); /* shared nodes that linger */
        for (fake_caller *p = c->callers; p; p = p->next)
            CHECK_INT(p->answers, 1);
        fake_settle(c);
        for (fake_caller *p = c->callers; p; p = p->next)
            CHECK(!p->doubts || p->rests + p->losses == 1);
        while (c->callers)
            forget(c->callers);
    }
    fake_settle_all(zk);
    fake_still(one);
    fake_still(two);
    fake_settle_all(zk);
    CHECK_CLEAN();
    for (size_t i = 0; i < play->directory_count; i++)
        CHECK_INT(fake_children(zk, play->directories[i]), 0);
}

/* ---- courses ---- */

static void run_seed(unsigned kinds, unsigned seed) {
    random_faults = kinds;
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + kinds;
    granted = 0;
    memset(deeds, 0, sizeof deeds);
    one->beats = two->beats = true;
    zk->keeps_time = (kinds & QUORUM) != 0;
    if (kinds & NARROW)
        one->lines.common.watch_budget.most = two->lines.common.watch_budget.most =
            100 * (seed % 5);
    play->begin(seed);
    for (unsigned i = 0; i < play->steps; i++) {
        check_note("course %u, seed %u, step %u", kinds, seed, i);
        step();
        play->check();
        if (i % 250 == 249) {
            check_rest();
            fake_wait(zk, 0.001);
        }
    }
    check_note("course %u, seed %u, the end", kinds, seed);
    check_end();
}

static unsigned chosen_kinds, chosen_seed;

static void the_chosen(void) {
    run_seed(chosen_kinds, chosen_seed);
}

static int run_chosen(unsigned kinds, unsigned seed) {
    static const check_case chosen[] = {{"holds in the chosen course", the_chosen}};
    static char *none[] = {NULL};
    chosen_kinds = kinds;
    chosen_seed = seed;
    return check_run(CHECK_CASES(chosen), 0, none, fake_world_begin, fake_world_end);
}

static random_outcome outcome_of(unsigned kinds, unsigned seed) {
    if (run_chosen(kinds, seed) != 0)
        return RANDOM_FAILED;
    return granted > GRANTED_LITTLE ? RANDOM_PASSED : RANDOM_TRIED_LITTLE;
}

static unsigned sweep_seeds;     /* 0: the few of every day */
static const char *sweep_course; /* NULL: all */
static random_tally swept;

void random_run(unsigned kinds) {
    unsigned little = 0;
    if (sweep_course && (unsigned)atoi(sweep_course) != kinds)
        return;
    if (sweep_seeds) {
        random_sweep(kinds, sweep_seeds, outcome_of, &swept);
        return;
    }
    for (unsigned seed = 1; seed <= play->seeds; seed++) {
        run_seed(kinds, seed);
        little += granted <= GRANTED_LITTLE;
        fake_world_end();
        fake_world_begin();
    }
    CHECK(2 * little < play->seeds); /* else they have tried nothing */
}

static void calm(void) {
    random_run(0);
}

static void links_go(void) {
    random_run(CUT | SLOW);
}

static void links_go_and_servers_lag(void) {
    random_run(CUT | LAG | SLOW);
}

static void sessions_end(void) {
    random_run(CUT | EXPIRE | SLOW);
}

static void operators_delete(void) {
    random_run(OPERATOR | SLOW);
}

static void servers_refuse(void) {
    random_run(REFUSE | CUT | SLOW);
}

static void sessions_move(void) {
    random_run(CUT | LAG | RELINK | SLOW);
}

static void leaders_keep_time(void) {
    random_run(QUORUM | CUT);
    random_run(QUORUM | CUT | LAG | RELINK);
}

static void everything(void) {
    random_run(CUT | EXPIRE | LAG | OPERATOR | REFUSE | RELINK | SLOW);
}

static void hardly_any_watches(void) {
    random_run(NARROW | SLOW);
    random_run(NARROW | OPERATOR | SLOW);
    random_run(NARROW | CUT | EXPIRE | LAG | OPERATOR | REFUSE | RELINK | SLOW);
}

/* Every course; a seed that fails does not end its course. */
static int sweep(const check_case *cases, size_t count, unsigned seeds, const char *course) {
    sweep_seeds = seeds;
    sweep_course = course;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < count; i++)
        cases[i].run();
    printf("%u passed, %u failed\n", swept.passed, swept.failed);
    return swept.failed > 0 || swept.passed == 0 || 2 * swept.little > swept.passed;
}

int random_main(const random_play *p, int argc, char **argv) {
    check_case cases[16] = {
        {"holds in a calm sea", calm},
        {"holds when links go and come back", links_go},
        {"holds when links go and servers lag", links_go_and_servers_lag},
        {"holds when sessions end", sessions_end},
        {"holds when operators delete and write", operators_delete},
        {"holds when servers refuse", servers_refuse},
        {"holds when sessions move to other links", sessions_move},
        {"holds when leaders are deposed, and followers die", leaders_keep_time},
        {"holds when everything happens at once", everything},
        {"holds when hardly anything can be watched", hardly_any_watches},
    };
    size_t count = 10;
    CHECK(!cases[count].name && count + p->more_count <= sizeof cases / sizeof *cases);
    for (size_t i = 0; i < p->more_count; i++)
        cases[count++] = p->more[i];
    play = p;
    if (argc > 2 && strcmp(argv[1], "sweep") == 0)
        return sweep(cases, count, (unsigned)atoi(argv[2]), argv[3]);
    if (argc > 2)
        return run_chosen((unsigned)atoi(argv[1]), (unsigned)atoi(argv[2]));
    return check_run(cases, count, argc, argv, fake_world_begin, fake_world_end);
}
