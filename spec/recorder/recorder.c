/* SPDX-License-Identifier: MIT */
/* The recorder: random operations of several sessions, one after the other, and what each of them
 * is told: answers, stats, watches, in order. It is linked with libzookeeper, and run against a
 * real server, and with the simulation's, and run against the model: both must say the same
 * (tools/recorder.lua). usage: recorder HOSTS FIRST LAST    seeds; HOSTS: see stage_begin */
#include "stage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SESSIONS = 3,
    PATHS = 6,
    OPS = 40,
    LINES = 256,
    PARTS = 4,
    BATCH_MOST = 12,
    FIRSTS_MOST = 4,
    KEPT = 8,
    SESSION_TIMEOUT = 20000 /* ms: a server that is held back answers a write only afterwards */
};

typedef struct session {
    zhandle_t *handle;
    int number;   /* from 0 */
    unsigned age; /* how many sessions it has had */
    int connects;
    bool expired;
    char *said[LINES]; /* what it was told since it was last asked */
    size_t count;
    bool has_auth;
} session;

static session sessions[SESSIONS];
static struct {
    int64_t id;
    char name[24];
} known[1024];
static size_t known_count;
static uint64_t chance;
static char root[64];
static char latest[128]; /* the node that was made last by a create alone */
static bool answered;
static bool held; /* the third server knows nothing of what is written now */

static unsigned any(unsigned below) {
    chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(chance >> 33) % below;
}

/* ---- what is told ---- */

/* locked */
static void say(session *s, const char *line) {
    if (s->count < LINES)
        s->said[s->count++] = strdup(line);
}

/* The servers' ids of sessions are told as whose they are. */
static const char *owner_of(int64_t id) {
    for (size_t i = 0; i < known_count; i++)
        if (known[i].id == id)
            return known[i].name;
    return id ? "?" : "none";
}

/* Numbers of transactions are told as they are, and compared by their order: z100000002. */
static void print_stat(char *to, size_t size, const struct Stat *stat) {
    if (stat)
        snprintf(to, size, " [z%" PRIx64 " z%" PRIx64 " z%" PRIx64 " v%d c%d a%d %s %d %d]",
                 (uint64_t)stat->czxid, (uint64_t)stat->mzxid, (uint64_t)stat->pzxid, stat->version,
                 stat->cversion, stat->aversion, owner_of(stat->ephemeralOwner), stat->dataLength,
                 stat->numChildren);
    else
        to[0] = '\0';
}

static const char *below_root(const char *path) {
    const size_t length = strlen(root);
    return path && strncmp(path, root, length) == 0 ? path + length : path ? path : "-";
}

static void end_answer(session *s, const char *line) {
    stage_lock();
    say(s, line);
    answered = true;
    stage_unlock();
}

static void on_void(int rc, const void *ctx) {
    char line[64];
    snprintf(line, sizeof line, "answer %d", rc);
    end_answer((session *)ctx, line);
}

static void on_stat(int rc, const struct Stat *stat, const void *ctx) {
    char line[512], text[256];
    print_stat(text, sizeof text, rc == ZOK ? stat : NULL);
    snprintf(line, sizeof line, "answer %d%s", rc, text);
    end_answer((session *)ctx, line);
}

static void on_data(int rc, const char *value, int length, const struct Stat *stat,
                    const void *ctx) {
    char line[1024], text[256];
    print_stat(text, sizeof text, rc == ZOK ? stat : NULL);
    snprintf(line, sizeof line, "answer %d '%.*s'%s", rc, length > 0 ? length : 0,
             value ? value : "", text);
    end_answer((session *)ctx, line);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In what order they come is the server's secret. */
static void on_names(int rc, const struct String_vector *names, const struct Stat *stat,
                     const void *ctx) {
    char line[4096], text[256];
    print_stat(text, sizeof text, rc == ZOK ? stat : NULL);
    int n = snprintf(line, sizeof line, "answer %d%s", rc, text);
    const int count = rc == ZOK ? names->count : 0;
    const char *sorted[256];
    for (int i = 0; i < count && i < 256; i++)
        sorted[i] = names->data[i];
    qsort(sorted, (size_t)count, sizeof *sorted, by_name);
    for (int i = 0; i < count && n < (int)sizeof line - 64; i++)
        n += snprintf(line + n, sizeof line - (size_t)n, " %s", sorted[i]);
    end_answer((session *)ctx, line);
}

static void note_made(int rc, const char *path) {
    if (rc == ZOK)
        snprintf(latest, sizeof latest, "%s", path);
}

static void on_string(int rc, const char *value, const void *ctx) {
    char line[512];
    note_made(rc, value);
    snprintf(line, sizeof line, "answer %d %s", rc, rc == ZOK ? below_root(value) : "-");
    end_answer((session *)ctx, line);
}

static void on_made(int rc, const char *path, const struct Stat *stat, const void *ctx) {
    char line[512], text[256];
    note_made(rc, path);
    print_stat(text, sizeof text, rc == ZOK ? stat : NULL);
    snprintf(line, sizeof line, "answer %d %s%s", rc, rc == ZOK ? below_root(path) : "-", text);
    end_answer((session *)ctx, line);
}

static void on_acl(int rc, struct ACL_vector *acl, struct Stat *stat, const void *ctx) {
    char line[512], text[256];
    print_stat(text, sizeof text, rc == ZOK ? stat : NULL);
    int n = snprintf(line, sizeof line, "answer %d%s", rc, text);
    for (int i = 0; rc == ZOK && i < acl->count; i++)
        n += snprintf(line + n, sizeof line - (size_t)n, " %d:%s", acl->data[i].perms,
                      acl->data[i].id.scheme);
    end_answer((session *)ctx, line);
}

static void on_quiet(int rc, const struct Stat *stat, const void *ctx) {
    (void)rc;
    (void)stat;
    (void)ctx;
    stage_lock();
    answered = true;
    stage_unlock();
}

static void on_quiet_void(int rc, const void *ctx) {
    on_quiet(rc, NULL, ctx);
}

/* Two contexts for each session: a path may be watched twice. */
static void on_watch(zhandle_t *handle, int type, int state, const char *path, void *ctx) {
    (void)handle;
    (void)state;
    session *s = ctx;
    char line[512];
    if (type == ZOO_SESSION_EVENT)
        return;
    snprintf(line, sizeof line, "event %d %s", type, below_root(path));
    stage_lock();
    say(s, line);
    stage_unlock();
}

static void on_session(zhandle_t *handle, int type, int state, const char *path, void *ctx) {
    (void)path;
    session *s = ctx;
    if (type != ZOO_SESSION_EVENT)
        return;
    stage_lock();
    if (state == ZOO_CONNECTED_STATE) {
        s->handle = handle;
        s->connects++;
    }
    if (state == ZOO_EXPIRED_SESSION_STATE)
        s->expired = true;
    stage_unlock();
}

/* ---- waiting ---- */

static bool is_answered(void) {
    return answered;
}

static void must(bool good, const char *what) {
    if (good)
        return;
    fflush(stdout);
    fprintf(stderr, "recorder: %s\n", what);
    exit(2);
}

static void await_answer(void) {
    must(stage_wait(is_answered), "no answer comes");
}

static session *awaited;
static int wanted;

static bool is_connected(void) {
    return awaited->connects >= wanted;
}

static void await_connection(session *s, int connects) {
    awaited = s;
    wanted = connects;
    must(stage_wait(is_connected), "no connection comes");
}

/* ---- sessions ---- */

static void know(const session *s) {
    if (known_count == sizeof known / sizeof *known)
        known_count = 0;
    known[known_count].id = zoo_client_id(s->handle)->client_id;
    snprintf(known[known_count].name, sizeof known->name, "s%d.%u", s->number, s->age);
    known_count++;
}

/* Each has a server of its own, if there are three. */
static int server_of(const session *s) {
    return s->number % stage_servers();
}

static bool is_held_back(const session *s) {
    return held && server_of(s) == 2;
}

static void open_session(session *s) {
    stage_as(s->number);
    s->connects = 0;
    s->expired = false;
    s->age++;
    s->handle = NULL;
    zhandle_t *handle =
        zookeeper_init2(stage_host(server_of(s)), on_session, SESSION_TIMEOUT, NULL, s, 0, NULL);
    must(handle != NULL, "no handle");
    await_connection(s, 1);
    s->handle = handle;
    know(s);
    s->has_auth = s->number != 2;
    if (!s->has_auth)
        return;
    answered = false;
    zoo_add_auth(handle, "digest", "somebody:secret", 15, on_quiet_void, s);
    await_answer();
}

static void on_synced(int rc, const char *path, const void *ctx) {
    (void)path;
    on_quiet(rc, NULL, ctx);
}

/* Everybody who has something to be told has been told it when this is answered. */
static void settle(session *s) {
    stage_as(s->number);
    if (stage_servers() > 1 && !is_held_back(s)) {
        answered = false;
        must(zoo_async(s->handle, "/", on_synced, s) == ZOK, "a session takes no sync");
        await_answer();
    }
    answered = false;
    must(zoo_aexists(s->handle, "/", 0, on_quiet, s) == ZOK, "a session takes no question");
    await_answer();
}

/* The order of what was told at once is the server's secret. */
static void tell(session *s, bool sorted) {
    if (sorted)
        qsort(s->said, s->count, sizeof *s->said, by_name);
    for (size_t i = 0; i < s->count; i++) {
        printf("  s%d %s\n", s->number, s->said[i]);
        free(s->said[i]);
    }
    s->count = 0;
}

/* The news of a session's own end may come through before its connection goes, or not. */
static void forget(session *s) {
    while (s->count > 0)
        free(s->said[--s->count]);
}

static void settle_all(bool sorted) {
    for (int i = 0; i < SESSIONS; i++)
        settle(&sessions[i]);
    for (int i = 0; i < SESSIONS; i++)
        tell(&sessions[i], sorted);
}

/* ---- operations ---- */

static const char *const paths[PATHS] = {"/a", "/a/b", "/a/c", "/d", "/d/e", "/a/b/f"};

static const char *any_path(void) {
    static char path[8][128];
    static unsigned turn;
    char *p = path[turn++ % 8];
    snprintf(p, sizeof *path, "%s%s", root, paths[any(PATHS)]);
    return p;
}

static int any_version(void) {
    return any(2) ? -1 : (int)any(3);
}

static struct ACL open_entries[2];
static struct ACL_vector open_acl = {2, open_entries};

static struct ACL_vector *any_acl(void) {
    const unsigned which = any(6);
    switch (which) {
    case 0:
        return &ZOO_CREATOR_ALL_ACL;
    case 1: /* everybody may read there ... */
    case 2: /* ... or queue in that directory, but not write to it */
        open_entries[0] = (struct ACL){ZOO_PERM_READ, ZOO_ANYONE_ID_UNSAFE};
        open_entries[1] = (struct ACL){ZOO_PERM_ALL, ZOO_AUTH_IDS};
        if (which == 2)
            open_entries[0].perms |= ZOO_PERM_CREATE | ZOO_PERM_DELETE;
        return &open_acl;
    default:
        return &ZOO_OPEN_ACL_UNSAFE;
    }
}

static zoo_op_t ops[BATCH_MOST];
static zoo_op_result_t results[BATCH_MOST];
static char made[BATCH_MOST][128];
static struct Stat stats[BATCH_MOST];
static int op_count;
static bool all_done;

/* A transaction that fails takes the places for the answers away. */
static const char *place_left(const zoo_op_t *op, const zoo_op_result_t *result) {
    if (op->type == 1)
        return result->value ? " place" : "";
    return op->type == 5 && result->stat ? " place" : "";
}

static void on_multi(int rc, const void *ctx) {
    char line[2048];
    int n = snprintf(line, sizeof line, "answer %d:", rc);
    for (int i = 0; i < op_count; i++) {
        char text[256] = "";
        if (rc == ZOK && ops[i].type == 5)
            print_stat(text, sizeof text, &stats[i]);
        n += snprintf(line + n, sizeof line - (size_t)n, " %d%s%s%s%s", results[i].err,
                      rc == ZOK && made[i][0] ? " " : "",
                      rc == ZOK && made[i][0] ? below_root(made[i]) : "", text,
                      place_left(&ops[i], &results[i]));
    }
    all_done = rc == ZOK;
    end_answer((session *)ctx, line);
}

static void fill_op(int i) {
    const char *path = any_path();
    made[i][0] = '\0';
    switch (any(5)) {
    case 0:
    case 1: {
        const int mode = (int)any(4);
        zoo_create_op_init(&ops[i], path, "m", 1, any_acl(), mode, made[i], sizeof made[i]);
        printf(" create %s mode %d", below_root(path), mode);
        break;
    }
    case 2:
        zoo_set_op_init(&ops[i], path, "mm", 2, any_version(), &stats[i]);
        printf(" set %s", below_root(path));
        break;
    case 3:
        zoo_delete_op_init(&ops[i], path, any_version());
        printf(" delete %s", below_root(path));
        break;
    default:
        zoo_check_op_init(&ops[i], path, any_version());
        printf(" check %s", below_root(path));
    }
}

static int ask_multi(session *s) {
    op_count = 1 + (int)any(PARTS);
    memset(results, 0, sizeof results);
    printf("multi");
    for (int i = 0; i < op_count; i++)
        fill_op(i);
    return zoo_amulti(s->handle, op_count, ops, results, on_multi, s);
}

/* ---- what a client's locks send together ---- */

static char batch_paths[BATCH_MOST][192];
static char kept[KEPT][128]; /* nodes that batches have made; some are gone */
static unsigned kept_count;

/* Room for one more, at that path. */
static char *batch_path(const char *path, const char *name) {
    snprintf(batch_paths[op_count], sizeof *batch_paths, "%s%s", path, name);
    made[op_count][0] = '\0';
    return batch_paths[op_count];
}

static void add_delete(const char *path) {
    printf(" delete %s", below_root(path));
    zoo_delete_op_init(&ops[op_count], batch_path(path, ""), -1);
    op_count++;
}

static void add_create(const char *directory, const char *name, int mode) {
    const char *path = batch_path(directory, name);
    printf(" create %s", below_root(path));
    zoo_create_op_init(&ops[op_count], path, "n", 1, &ZOO_OPEN_ACL_UNSAFE, mode, made[op_count],
                       sizeof *made);
    op_count++;
}

static void add_mark(const char *directory) {
    add_create(directory, "/mark", ZOO_PERSISTENT);
    zoo_set_op_init(&ops[op_count], batch_path(directory, "/mark"), "", 0, -1, &stats[op_count]);
    op_count++;
    add_delete(batch_paths[op_count - 1]);
}

/* Mostly one that is there. */
static const char *any_directory(void) {
    const unsigned which = any(5);
    return which == 0 ? any_path() : which < 3 ? latest : root;
}

/* Up to two, the same one twice among them. */
static void add_deletes(void) {
    for (unsigned n = kept_count ? any(3) : 0; n > 0; n--)
        add_delete(kept[any(kept_count < KEPT ? kept_count : KEPT)]);
}

/* Deletes, creates in any directories, and the mark. */
static int ask_batch(session *s) {
    op_count = 0;
    memset(results, 0, sizeof results);
    printf("batch");
    add_deletes();
    for (unsigned n = 1 + any(4); n > 0; n--)
        add_create(any_directory(), "/n-", ZOO_EPHEMERAL_SEQUENTIAL);
    if (any(2))
        add_mark(any_directory());
    return zoo_amulti(s->handle, op_count, ops, results, on_multi, s);
}

/* The write to the directory of a create: its stat tells how many are there, at that moment. */
static void add_write(const char *directory) {
    printf(" set %s", below_root(directory));
    zoo_set_op_init(&ops[op_count], batch_path(directory, ""), "", 0, -1, &stats[op_count]);
    op_count++;
}

/* Deletes, and creates whose directories are written to: mostly behind the create. */
static int ask_firsts(session *s) {
    op_count = 0;
    memset(results, 0, sizeof results);
    printf("firsts");
    add_deletes();
    for (unsigned n = 1 + any(FIRSTS_MOST); n > 0; n--) {
        const char *directory = any_directory();
        const bool is_behind = any(8) > 0;
        if (!is_behind)
            add_write(directory);
        add_create(directory, "/n-", ZOO_EPHEMERAL_SEQUENTIAL);
        if (is_behind)
            add_write(directory);
    }
    return zoo_amulti(s->handle, op_count, ops, results, on_multi, s);
}

/* The nodes of one batch have one czxid. */
static void look_at_made(session *s) {
    for (int i = 0; i < op_count; i++) {
        if (!made[i][0] || ops[i].type != 1 || !strstr(made[i], "/n-"))
            continue;
        memcpy(kept[kept_count++ % KEPT], made[i], sizeof *kept);
        answered = false;
        zoo_awexists(s->handle, made[i], any(2) ? on_watch : NULL, s, on_stat, s);
        await_answer();
        settle_all(false);
    }
}

static int ask_create(session *s, const char *path) {
    const int mode = (int)any(5);
    printf("create %s mode %d", below_root(path), mode);
    if (any(3) == 0 && mode != ZOO_CONTAINER)
        return zoo_acreate(s->handle, path, "data", 4, any_acl(), mode, on_string, s);
    return zoo_acreate2(s->handle, path, "data", 4, any_acl(), mode, on_made, s);
}

static int ask_unwatch(session *s, const char *path) {
    const bool list = any(2);
    printf("unwatch %s %s", below_root(path), list ? "children" : "data");
    return zoo_aremove_all_watches(s->handle, path, list ? ZWATCHTYPE_CHILD : ZWATCHTYPE_DATA, 0,
                                   (void_completion_t *)on_void, s);
}

enum { ANYTHING = 22, READS = 7, READS_LAST = 13 };

/* A write waits for the leader, who is not heard. */
static unsigned any_question(const session *s) {
    return is_held_back(s) ? READS + any(READS_LAST - READS) : any(ANYTHING);
}

static int ask(session *s) {
    const unsigned question = any_question(s);
    const bool reads = question >= READS && question < READS_LAST;
    const char *path = reads && any(4) == 0 ? root : any_path();
    const watcher_fn watcher = any(2) ? on_watch : NULL;
    switch (question) {
    case 0:
    case 1:
    case 2:
    case 3:
        return ask_create(s, path);
    case 4:
    case 5:
        printf("delete %s", below_root(path));
        return zoo_adelete(s->handle, path, any_version(), on_void, s);
    case 6:
        printf("set %s", below_root(path));
        return zoo_aset(s->handle, path, any(2) ? "x" : "longer", 1, any_version(), on_stat, s);
    case 7:
    case 8:
        printf("get %s%s", below_root(path), watcher ? " watched" : "");
        return zoo_awget(s->handle, path, watcher, s, on_data, s);
    case 9:
        printf("exists %s%s", below_root(path), watcher ? " watched" : "");
        return zoo_awexists(s->handle, path, watcher, s, on_stat, s);
    case 10:
    case 11:
        printf("list %s%s", below_root(path), watcher ? " watched" : "");
        return zoo_awget_children2(s->handle, path, watcher, s, on_names, s);
    case 12:
        printf("getACL %s", below_root(path));
        return zoo_aget_acl(s->handle, path, on_acl, s);
    case READS_LAST:
        return ask_unwatch(s, path);
    case 14:
        printf("setACL %s", below_root(path));
        return zoo_aset_acl(s->handle, path, any_version(), any_acl(), on_void, s);
    case 15:
        return ask_multi(s);
    case 16:
    case 17:
    case 18:
        return ask_firsts(s);
    default:
        return ask_batch(s);
    }
}

static void operate(session *s) {
    stage_as(s->number);
    answered = all_done = false;
    op_count = 0;
    const int rc = ask(s);
    printf("\n");
    if (rc != ZOK)
        printf("  refused %d\n", rc);
    else
        await_answer();
    settle_all(false);
    if (!all_done)
        return;
    stage_as(s->number);
    look_at_made(s);
}

/* The nodes as a session without credentials sees them, which may read little. */
static void look_as_stranger(session *s) {
    stage_as(s->number);
    for (int i = 0; i < PATHS; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s%s", root, paths[i]);
        printf("exists %s\n", paths[i]);
        answered = false;
        must(zoo_aexists(s->handle, path, 0, on_stat, s) == ZOK, "a session takes no question");
        await_answer();
        tell(s, false);
    }
}

/* ---- transactions' numbers ---- */

static int64_t written_at;

static void on_written(int rc, const struct Stat *stat, const void *ctx) {
    written_at = rc == ZOK ? stat->mzxid : 0;
    on_quiet(rc, stat, ctx);
}

/* The number of a write that concerns nobody. */
static int64_t number_of_write(const session *s) {
    answered = false;
    must(zoo_aset(s->handle, root, "z", 1, -1, on_written, s) == ZOK, "a write is not taken");
    await_answer();
    return written_at;
}

/* How many numbers an operation takes, if it fails, too. */
static void count_numbers(session *s) {
    if (is_held_back(s))
        return;
    stage_as(s->number);
    const int64_t before = number_of_write(s);
    operate(s);
    stage_as(s->number);
    printf("  took %d\n", (int)(number_of_write(s) - before) - 1);
    settle_all(false);
}

/* It ends, and another one begins: the others are told of its nodes. */
static void end_session(session *s) {
    printf("the session of s%d ends\n", s->number);
    stage_as(s->number);
    zookeeper_close(s->handle);
    open_session(s);
    settle_all(true);
}

static void cut(void) {
    printf("all links are cut\n");
    int before[SESSIONS];
    stage_lock();
    for (int i = 0; i < SESSIONS; i++)
        before[i] = sessions[i].connects;
    stage_unlock();
    stage_cut();
    for (int i = 0; i < SESSIONS; i++)
        await_connection(&sessions[i], before[i] + 1);
    settle_all(true);
}

/* ---- with three servers ---- */

enum { END, CUT, TAKE, TAKE_WRITING, HOLD, LET_GO = HOLD + 3, ORDINARY = LET_GO + 2 };

static void let_go(void) {
    if (!held)
        return;
    printf("the third server is let go\n");
    held = false;
    stage_hold(false);
    settle_all(true);
}

static void hold(void) {
    printf("the third server is held back\n");
    held = true;
    stage_hold(true);
}

static session *watched;

static bool has_expired(void) {
    return watched->expired;
}

/* Somebody else comes with its number and password to another server: the session moves there.
 * It may write meanwhile: it is refused, comes back, and has moved back. Then the other one closes
 * it. */
static void take_session(session *s, bool writes) {
    static session other = {.number = SESSIONS};
    printf("somebody else takes the session of s%d%s\n", s->number, writes ? ", which writes" : "");
    const clientid_t id = *zoo_client_id(s->handle);
    const int before = s->connects;
    stage_as(SESSIONS);
    other.connects = 0;
    zhandle_t *handle = zookeeper_init2(stage_host(server_of(s) == 0), on_session, SESSION_TIMEOUT,
                                        &id, &other, 0, NULL);
    must(handle != NULL, "no handle");
    await_connection(&other, 1);
    if (writes) {
        stage_as(s->number);
        answered = false;
        must(zoo_aset(s->handle, root, "y", 1, -1, on_stat, s) == ZOK, "a write is not taken");
        await_answer();
        await_connection(s, before + 1);
        settle(s);
        tell(s, true);
    }
    stage_as(SESSIONS);
    zookeeper_close(handle);
    watched = s;
    must(stage_wait(has_expired), "its session does not end");
    stage_as(s->number);
    forget(s);
    zookeeper_close(s->handle);
    open_session(s);
    settle_all(true);
}

static void disturb(session *s, unsigned what) {
    if (server_of(s) == 2 || what == CUT)
        let_go();
    switch (what) {
    case END:
        end_session(s);
        break;
    case CUT:
        cut();
        break;
    case TAKE:
    case TAKE_WRITING:
        take_session(s, what == TAKE_WRITING);
        break;
    case HOLD:
        if (!held)
            hold();
        break;
    default:
        let_go();
    }
}

/* ---- a seed ---- */

static void run_seed(unsigned seed) {
    printf("seed %u\n", seed);
    snprintf(root, sizeof root, "/recorder-%u", seed);
    chance = seed;
    kept_count = 0;
    stage_as(0);
    answered = false;
    zoo_acreate2(sessions[0].handle, root, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, on_made,
                 &sessions[0]);
    await_answer();
    settle_all(false);
    for (int i = 0; i < OPS; i++) {
        const unsigned what = any(60);
        session *s = &sessions[any(SESSIONS)];
        if (what < (stage_servers() > 1 ? ORDINARY : TAKE))
            disturb(s, what > HOLD && what < LET_GO ? HOLD : what);
        else if (what % 4 == 3)
            count_numbers(s);
        else
            operate(s);
    }
    let_go();
    look_as_stranger(&sessions[2]);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s HOSTS FIRST LAST\n", argv[0]);
        return 2;
    }
    stage_begin(argv[1]);
    for (int i = 0; i < SESSIONS; i++) {
        sessions[i].number = i;
        open_session(&sessions[i]);
    }
    for (unsigned seed = (unsigned)atoi(argv[2]); seed <= (unsigned)atoi(argv[3]); seed++)
        run_seed(seed);
    for (int i = 0; i < SESSIONS; i++) {
        stage_as(i);
        zookeeper_close(sessions[i].handle);
    }
    stage_end();
    return 0;
}
