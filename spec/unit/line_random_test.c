/* A line under random schedules. After every step the tree itself says who may hold. */
#include "random_world.h"

#include <stdio.h>
#include <string.h>

/* A read that was sent under a write which has gone since: it will not be granted. */
static bool late_read(const char *name, const zkl_contender *reader) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", LINE, name);
    return fake_find(zk, path, FAKE_LATEST)->mode == ZKL_EPHEMERAL &&
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
        random_check_trust(c);
        for (fake_caller *p = c->callers; p; p = p->next) {
            const zkl_contender *held = p->contender;
            const fake_node *node = fake_held(p) ? random_check_node(c, held) : NULL;
            if (!node)
                continue;
            CHECK_INT(p->token, held->borrowed ? held->borrowed : node->czxid);
            random_check_first(held, late_read);
            if (c->context.trusted_until > fake_now)
                holders[count++] = p;
        }
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j <= i; j++)
            check_pair(holders[i], holders[j]);
}

/* ---- what may happen ---- */

static void share(fake_client *client) {
    fake_caller *p = client->callers;
    while (p && !(fake_held(p) && writes(p)))
        p = p->next;
    if (p && random_any(2))
        fake_read_under(p, LINE);
    else if (random_any(3))
        fake_read(client, LINE);
    else
        fake_write_lock(client, LINE);
}

static void join(fake_client *client) {
    if (random_faults & SHARED)
        share(client);
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
    CHECK_INT(fake_make(zk, path, "stranger", ZKL_EPHEMERAL, 0xdead, &node), ZOK);
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
    CHECK(!c || c->phase == ZKL_HELD); /* nobody waits for nobody */
    if (random_faults & SHARED)
        check_readers();
    for (fake_client *client = zk->clients; client; client = client->next)
        for (fake_caller *p = client->callers; p; p = p->next)
            CHECK(!fake_waits(p) || random_node(p->contender));
}

/* Every second course comes to the end of the sequences, where nobody is granted any more. */
static void begin(unsigned seed) {
    fake_find(zk, LINE, FAKE_LATEST)->next = seed % 2 ? INT32_MAX - 300 : 0;
}

static void readers_and_writers(void) {
    random_run(SHARED);
    random_run(SHARED | CUT | LAG | RELINK | SLOW);
    random_run(SHARED | OPERATOR | REFUSE | SLOW);
    random_run(SHARED | CUT | EXPIRE | LAG | OPERATOR | REFUSE | RELINK | SLOW);
}

int main(int argc, char **argv) {
    static const char *const directories[] = {LINE};
    static const random_play play = {
        .directories = directories,
        .directory_count = 1,
        .steps = 6000,
        .seeds = 5,
        .begin = begin,
        .join = join,
        .stranger = some_stranger,
        .check = check_exclusion,
        .rest = check_rest,
        .more = {"holds for readers and writers, whatever happens", readers_and_writers},
    };
    return random_main(&play, argc, argv);
}
