/* SPDX-License-Identifier: MIT */
/* A line under random schedules. After every step the tree shows who may hold. */
#include "random_world.h"

#include <stdio.h>
#include <string.h>

/* A read that was sent under a write which has gone since: it will not be granted. */
static bool late_read(const char *name, const zkl_contender *reader) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", LINE, name);
    return fake_find(zk, path, FAKE_LATEST)->mode == FAKE_EPHEMERAL &&
           (reader ? reader->phase != ZKL_HELD : (random_faults & OPERATOR) != 0);
}

static bool writes(const fake_caller *caller) {
    return caller->contender->terms.kind == ZKL_KIND_WRITE;
}

/* Two that both believe to hold: readers, or a writer and the read that it took over. */
static void check_pair(const fake_caller *a, const fake_caller *b) {
    if (!(random_faults & SHARED))
        CHECK(a == b);
    else if (writes(a) || writes(b))
        CHECK(a == b || (writes(a) != writes(b) && a->token == b->token));
}

static void check_exclusion(void) {
    const fake_caller *holders[64];
    size_t count = 0;
    for (fake_client *c = zk->clients; c; c = c->next) {
        random_check_validity(c);
        for (fake_caller *p = c->callers; p; p = p->next) {
            const zkl_contender *held = fake_member(p);
            const fake_node *node = fake_held(p) ? random_check_node(c, held) : NULL;
            if (!node)
                continue;
            CHECK_INT(p->token, held->under.token ? held->under.token : node->czxid);
            random_check_first(held, late_read);
            if (c->context.valid_until > fake_now)
                holders[count++] = p;
        }
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j <= i; j++)
            check_pair(holders[i], holders[j]);
}

/* ---- shared nodes: how long those behind one wait ---- */

/* A client's shared node as an observer of the tree sees it, and the events that the client got. */
typedef struct watcher {
    int64_t shared, behind; /* the czxids of its node, and of one that stands behind it */
    bool told;              /* the client must know of that one by now */
    zkl_nanos since;        /* when it was told, or had its first grant */
    uint64_t latest;        /* turn, at the latest check */
    zkl_nanos now;          /* when that was */
} watcher;

static watcher watchers[2];

static const zkl_shared_node *shared_of(const fake_client *client, zkl_kind kind) {
    const zkl_line *line = zkl_lines_find(&client->lines, LINE);
    const zkl_list none = {NULL, NULL};
    ZKL_EACH (const zkl_listener, listener, line ? &line->listeners : &none, item) {
        const zkl_shared_node *shared = ZKL_CONTAINER_OF(listener, const zkl_shared_node, listener);
        if (shared->kind == kind)
            return shared;
    }
    return NULL;
}

/* Of the nodes of other sessions that this node blocks, the first to come behind it; NULL: none. */
static const fake_node *behind(const fake_node *shared, zkl_kind kind) {
    const zkl_child own = {.kind = kind};
    const fake_node *first = NULL;
    zkl_child other;
    for (size_t i = 0;; i++) {
        const char *name = fake_child(zk, LINE, i, FAKE_LATEST);
        char path[256];
        if (!name)
            return first;
        snprintf(path, sizeof path, "%s/%s", LINE, name);
        const fake_node *node = fake_find(zk, path, FAKE_LATEST);
        if (node->owner != shared->owner && node->czxid > shared->czxid &&
            zkl_verdict_blocks(&own, random_parse(name, &other)) &&
            (!first || node->czxid < first->czxid))
            first = node;
    }
}

/* How long one behind a shared node waits at most, besides the last hold. */
static zkl_nanos patience(zkl_kind kind) {
    const zkl_nanos least = kind == ZKL_KIND_READ ? ZKL_SECOND / 10 : 0;
    return fake_sharing.stint > least ? fake_sharing.stint : least;
}

/* No watch shows readers a writer behind them, and they ask as late as they like. */
static bool must_know(const fake_client *client, zkl_kind kind) {
    return (kind == ZKL_KIND_READ || !client->sent) && !client->inbound && !client->late &&
           client->view == FAKE_LATEST && zkl_context_is_linked(&client->context);
}

/* A stint after the other one came nobody here is granted, unless nodes in front have made all of
 * them wait until now. */
static void check_patience(const fake_client *client, watcher *w, zkl_kind kind) {
    const zkl_shared_node *shared = shared_of(client, kind);
    const fake_node *node = shared ? random_node(shared->contender) : NULL;
    const fake_node *other = node ? behind(node, kind) : NULL;
    if (!other || w->shared != node->czxid || w->behind != other->czxid)
        *w = (watcher){.shared = node ? node->czxid : 0, .behind = other ? other->czxid : 0};
    if (w->told && shared->turn > w->latest) {
        if (!w->latest)
            w->since = fake_now;
        CHECK(shared->turn == 1 || fake_now != w->now || fake_now - w->since < patience(kind));
    } else if (other && !w->told && must_know(client, kind)) {
        w->told = true;
        w->since = fake_now;
    }
    w->latest = shared ? shared->turn : 0;
    w->now = fake_now;
}

static void check_all(void) {
    const zkl_kind kind = random_faults & SHARED ? ZKL_KIND_READ : ZKL_KIND_LOCK;
    check_exclusion();
    if (random_faults & TURNS) {
        check_patience(one, &watchers[0], kind);
        check_patience(two, &watchers[1], kind);
    }
}

/* ---- the random actions ---- */

static bool two_take_turns;

/* One client has callers of both sorts; of the other all take turns, or none. */
static bool takes_turns(const fake_client *client) {
    return (random_faults & TURNS) && (client == one ? random_any(4) != 0 : two_take_turns);
}

static void share(fake_client *client) {
    fake_caller *p = client->callers;
    while (p && !(fake_held(p) && writes(p)))
        p = p->next;
    if (p && random_any(2))
        (p->shares ? fake_share_under : fake_read_under)(p, LINE);
    else if (takes_turns(client))
        fake_share_kind(client, LINE, random_any(3) ? ZKL_KIND_READ : ZKL_KIND_WRITE,
                        random_any(8) ? random_seconds() : 0);
    else if (random_any(3))
        fake_read(client, LINE);
    else
        fake_write_lock(client, LINE);
}

static void take_turns(fake_client *client) {
    if (random_any(12) == 0)
        fake_share_for(client, LINE, 0.1 * random_any(100) + 0.01);
    else
        fake_share(client, LINE, random_any(8) ? random_seconds() : 0);
}

static void join(fake_client *client) {
    if (random_faults & SHARED)
        share(client);
    else if (takes_turns(client))
        take_turns(client);
    else if (random_any(8) == 0)
        fake_try(client, LINE);
    else
        fake_join(client, LINE, random_seconds());
}

/* Another client's writer that is first takes read as well, before it goes. */
static void take_over(const char *write) {
    zkl_child own, other;
    char path[256];
    fake_node *node;
    if (random_parse(write, &own) != ZKL_KIND_WRITE || random_any(2))
        return;
    for (size_t i = 0; fake_child(zk, LINE, i, FAKE_LATEST); i++) {
        const char *name = fake_child(zk, LINE, i, FAKE_LATEST);
        if (strcmp(name, write) != 0 && random_parse(name, &other) &&
            other.sequence <= own.sequence)
            return;
    }
    snprintf(path, sizeof path, "%s/_c_other-__READ__%010d", LINE, own.sequence);
    CHECK_INT(fake_make(zk, path, "stranger", FAKE_EPHEMERAL, 0xdead, &node), ZOK);
}

static void some_stranger(const char *directory) {
    static const char *const mutexes[] = {NULL, "%s0123456789abcdef01234567__lock__"};
    static const char *const shared[] = {"_c_%s-__READ__", "_c_%s-__WRIT__"};
    const char *const *forms = random_faults & SHARED ? shared : mutexes;
    const char *stranger = random_stranger(directory);
    if (!stranger) {
        if (!(random_faults & SHARED) && random_any(3) == 0)
            random_stray(directory);
        else
            fake_stranger(zk, directory, forms[random_any(2)]);
        return;
    }
    take_over(strrchr(stranger, '/') + 1);
    fake_remove(zk, stranger);
}

/* ---- rest ---- */

/* A reader waits for a writer, or holds. */
static void check_readers(void) {
    zkl_child reader, other;
    for (size_t i = 0; fake_child(zk, LINE, i, FAKE_LATEST); i++) {
        const char *name = fake_child(zk, LINE, i, FAKE_LATEST);
        const zkl_contender *c = random_contender(LINE, name);
        bool free = true;
        if (!c || random_parse(name, &reader) != ZKL_KIND_READ)
            continue;
        for (size_t j = 0; fake_child(zk, LINE, j, FAKE_LATEST); j++)
            if (random_parse(fake_child(zk, LINE, j, FAKE_LATEST), &other) == ZKL_KIND_WRITE &&
                other.sequence < reader.sequence)
                free = false;
        CHECK(!free || c->phase == ZKL_HELD);
    }
}

static void check_rest(void) {
    const char *first = random_first(LINE);
    const zkl_contender *c = first ? random_contender(LINE, first) : NULL;
    CHECK(!c || c->phase == ZKL_HELD); /* a contender without a blocker holds */
    if (random_faults & SHARED)
        check_readers();
    for (fake_client *client = zk->clients; client; client = client->next)
        for (fake_caller *p = client->callers; p; p = p->next)
            CHECK(!fake_waits(p) || random_node(fake_member(p)));
}

/* Every second history comes to the end of the sequences, where no contender is granted. */
static void begin(unsigned seed) {
    static const double stints[] = {0, 2, 0.2, 20};
    fake_share_as(stints[seed % 4], 0.5 * (seed % 5));
    two_take_turns = seed % 2;
    fake_at_once = seed / 2 % 2;
    memset(watchers, 0, sizeof watchers);
    fake_find(zk, LINE, FAKE_LATEST)->next = seed % 2 ? INT32_MAX - 300 : 0;
}

static void turns(void) {
    random_run(TURNS);
    random_run(TURNS | CUT | LAG | SLOW);
    random_run(TURNS | CUT | LAG | RELINK | SLOW);
    random_run(TURNS | CUT | EXPIRE | SLOW);
    random_run(TURNS | QUORUM | CUT | LAG | RELINK);
    random_run(TURNS | OPERATOR | REFUSE | SLOW);
    random_run(TURNS | NARROW | CUT | LAG | SLOW);
    random_run(TURNS | CUT | EXPIRE | LAG | OPERATOR | REFUSE | RELINK | SLOW);
    random_run(TURNS | SHARED);
    random_run(TURNS | SHARED | CUT | LAG | RELINK | SLOW);
    random_run(TURNS | SHARED | QUORUM | CUT | LAG | RELINK);
    random_run(TURNS | SHARED | NARROW | CUT | SLOW);
    random_run(TURNS | SHARED | CUT | EXPIRE | LAG | OPERATOR | REFUSE | RELINK | SLOW);
}

static void readers_and_writers(void) {
    random_run(SHARED);
    random_run(SHARED | CUT | LAG | RELINK | SLOW);
    random_run(SHARED | OPERATOR | REFUSE | SLOW);
    random_run(SHARED | CUT | EXPIRE | LAG | OPERATOR | REFUSE | RELINK | SLOW);
}

int main(int argc, char **argv) {
    static const char *const directories[] = {LINE};
    static const check_case more[] = {
        {"keeps the invariants for readers and writers, whatever happens", readers_and_writers},
        {"keeps the invariants for callers that take turns, whatever happens", turns},
    };
    static const random_play play = {
        .directories = directories,
        .directory_count = 1,
        .steps = 6000,
        .seeds = 5,
        .begin = begin,
        .join = join,
        .stranger = some_stranger,
        .check = check_all,
        .rest = check_rest,
        .more = more,
        .more_count = sizeof more / sizeof *more,
    };
    return random_main(&play, argc, argv);
}
