/* SPDX-License-Identifier: MIT */
#include "clerk.h"

#include "ensemble.h"
#include "library.h"

#include "client/client_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A write is answered by then. */
#define CUT_WITHIN (6 * SIM_MS)

enum { NODE_REQUESTS_MOST = 8, LOOKS_MOST = 4, OPS_MOST = 3, PATH_SIZE = 64 };

/* Something that was asked. */
struct sim_node_request {
    sim_node_request *next;
    zkl_node_request *request;
    uint64_t tag;
    uint64_t counter; /* the caller who counts, and goes on with the answer; 0: nobody */
    zkl_op_kind kind;
    bool is_sync;
    sim_note note;   /* of a read */
    unsigned serial; /* of a write; 0: it is a read */
    unsigned asked;  /* of a read: when, by the ledger */
    int64_t floor;   /* what it shows is not older */
    uint64_t value;  /* that a count is to have */
};

/* A watch. */
struct sim_look {
    sim_look *next;
    zkl_node_watch *view;
    uint64_t tag;
    sim_note note;
    bool children;
    int64_t floor;
    bool is_told;
    zkl_status status; /* told last */
    zkl_stat stat;
};

static const char *path_in(const sim_host *host, sim_note note) {
    return sim_note_path(note) + strlen(host->chroot);
}

static zkl_nanos some_deadline(const sim_host *host) {
    if (sim_once_in(3))
        return ZKL_NEVER;
    return sim_clock(&host->machine) + sim_some(sim_once_in(2) ? ZKL_SECOND : 20 * ZKL_SECOND);
}

static void raise_floor(sim_host *host, int64_t to) {
    if (host->floor < to)
        host->floor = to;
}

static size_t count_node_requests(const sim_host *host) {
    size_t n = 0;
    for (const sim_node_request *e = host->requests; e; e = e->next)
        n++;
    return n;
}

static sim_caller *caller_by_tag(const sim_host *host, uint64_t tag) {
    sim_caller *c = host->callers;
    while (c && c->tag != tag)
        c = c->next;
    return c;
}

/* ---- asking ---- */

/* Takes what was asked; of a client that does not take it any more nothing comes. */
static void keep(sim_host *host, sim_node_request what, zkl_node_request *request) {
    SIM_CHECK(request != NULL);
    sim_node_request *e = sim_new(sizeof *e);
    *e = what;
    e->request = request;
    e->next = host->requests;
    host->requests = e;
}

static void read_note(sim_host *host, zkl_op_kind kind, sim_note note, uint64_t counter) {
    static const char *const words[] = {"get", "exists", "children"};
    const zkl_op op = {.size = sizeof op, .kind = kind, .path = path_in(host, note), .version = -1};
    const sim_node_request what = {.tag = ++host->tags,
                                   .counter = counter,
                                   .kind = kind,
                                   .note = note,
                                   .asked = sim_ledger_asks(),
                                   .floor = host->floor};
    SAY("host %d asks %" PRIu64 ": %s %s", host->machine.id, what.tag, words[kind], op.path);
    keep(host, what,
         zkl_node_do(host->client, &op, what.tag, some_deadline(host), sim_once_in(10)));
}

static void ask_sync(sim_host *host) {
    const sim_node_request what = {.tag = ++host->tags, .is_sync = true, .floor = sim_tree->zxid};
    SAY("host %d asks %" PRIu64 ": sync", host->machine.id, what.tag);
    keep(host, what, zkl_node_sync(host->client, what.tag, some_deadline(host), false));
}

/* One write alone. */
static void write_one(sim_host *host, const zkl_op *op, unsigned serial) {
    static const char *const words[] = {"", "", "", "create", "set", "delete"};
    const sim_node_request what = {.tag = ++host->tags, .kind = op->kind, .serial = serial};
    SAY("host %d asks %" PRIu64 ": write %u, %s %s", host->machine.id, what.tag, serial,
        words[op->kind], op->path);
    keep(host, what, zkl_node_do(host->client, op, what.tag, some_deadline(host), sim_once_in(10)));
}

static void write_several(sim_host *host, const zkl_op *ops, size_t count, sim_caller *guard,
                          sim_node_request what) {
    what.tag = ++host->tags;
    SAY("host %d asks %" PRIu64 ": write %u, %zu ops at %s%s %" PRIu64, host->machine.id, what.tag,
        what.serial, count, ops[0].path, guard ? ", while it holds" : ", by nobody",
        guard ? guard->tag : 0);
    keep(host, what,
         zkl_node_do_all(host->client, ops, count, guard ? guard->contender : NULL, what.tag,
                         some_deadline(host), sim_once_in(10)));
}

/* ---- writes of anybody ---- */

static unsigned intend(const sim_host *host) {
    return sim_ledger_intend(&(sim_intent){.host = host, .place = PLACES});
}

static zkl_op op_at(zkl_op_kind kind, const char *path, const char *data) {
    return (zkl_op){.size = sizeof(zkl_op),
                    .kind = kind,
                    .path = path,
                    .data = data,
                    .length = strlen(data),
                    .version = -1};
}

/* A node that nobody else makes. */
static void unique_path(const sim_host *host, char path[PATH_SIZE], unsigned serial) {
    snprintf(path, PATH_SIZE, "%s/x%u", path_in(host, NOTE_ROOT), serial);
}

static void write_flag(sim_host *host) {
    char data[32];
    const unsigned serial = intend(host);
    snprintf(data, sizeof data, "w%u", serial);
    const bool sets = sim_once_in(2);
    zkl_op op = op_at(sets ? ZKL_OP_SET : ZKL_OP_CREATE, path_in(host, NOTE_FLAG), data);
    op.parents = !sets && sim_any(4);
    if (sets && sim_once_in(4))
        op.version = (int32_t)sim_any(4);
    write_one(host, &op, serial);
}

static void make_unique(sim_host *host) {
    char data[32], path[PATH_SIZE];
    const unsigned serial = intend(host);
    snprintf(data, sizeof data, "w%u", serial);
    unique_path(host, path, serial);
    zkl_op op = op_at(ZKL_OP_CREATE, path, data);
    op.ephemeral = sim_once_in(2);
    op.parents = true;
    host->made = serial;
    write_one(host, &op, serial);
}

/* Once at most for each: its name says which delete it is. */
static void delete_unique(sim_host *host) {
    char path[PATH_SIZE];
    if (!host->made) {
        make_unique(host);
        return;
    }
    const unsigned serial = intend(host);
    unique_path(host, path, host->made);
    sim_ledger_intend_delete(host->made, serial);
    host->made = 0;
    const zkl_op op = op_at(ZKL_OP_DELETE, path, "");
    write_one(host, &op, serial);
}

/* The flag goes, and another node comes: both, or none. */
static void replace_flag(sim_host *host) {
    char data[32], path[PATH_SIZE];
    const unsigned serial = intend(host);
    snprintf(data, sizeof data, "w%u", serial);
    unique_path(host, path, serial);
    zkl_op ops[OPS_MOST] = {
        op_at(ZKL_OP_CREATE, path, data),
        op_at(ZKL_OP_CHECK, path_in(host, NOTE_ROOT), ""),
        op_at(ZKL_OP_DELETE, path_in(host, NOTE_FLAG), ""),
    };
    ops[0].ephemeral = true;
    write_several(host, ops, OPS_MOST, NULL,
                  (sim_node_request){.kind = ZKL_OP_CREATE, .serial = serial});
}

/* ---- counting, while something is held ---- */

static bool is_exclusive(const sim_caller *c) {
    return c->kind == ZKL_KIND_LOCK || c->kind == ZKL_KIND_WRITE;
}

static sim_place place_of(const sim_caller *c) {
    int place = 0;
    while (!(c->places >> place & 1))
        place++;
    return (sim_place)place;
}

/* Its one node, absolute. */
static bool own_node(const sim_caller *c, char *full, size_t size) {
    char path[96];
    if (!zkl_node_at(c->contender, 0, path, sizeof path))
        return false;
    snprintf(full, size, "%s%s", c->host->chroot, path);
    return true;
}

/* A multilock and a group of leases have several nodes: there the servers' word is trusted, and the
 * counts tell. */
static unsigned intend_held(const sim_caller *c) {
    sim_intent intent = {.host = c->host, .place = place_of(c), .is_exclusive = is_exclusive(c)};
    if (c->is_whole || c->leases > 1 || !own_node(c, intent.node, sizeof intent.node))
        intent.node[0] = 0;
    return sim_ledger_intend(&intent);
}

/* While the write is on its way somebody deletes the node that it is held with. */
static void rob(const sim_caller *c) {
    char full[128];
    if (!c->host->is_robbed || !sim_once_in(6) || !own_node(c, full, sizeof full))
        return;
    SAY("operator: deletes %s", full);
    sim_do(OP_DELETE, full, NULL, FAKE_PERSISTENT, NULL);
}

/* ... or its link breaks, and another server lags. */
static void cut_off(sim_host *host, zkl_nanos within) {
    if (!host->is_cut || host->cut.place)
        return;
    sim_server_lag((int)sim_any(SERVERS), sim_now + ZKL_SECOND, false);
    sim_after(&host->cut, sim_some(within));
}

/* Writes what comes after what it has read. */
static void count_on(sim_caller *c, bool is_there, uint64_t value) {
    char data[48];
    sim_host *host = c->host;
    const unsigned serial = intend_held(c);
    snprintf(data, sizeof data, "w%u %" PRIu64, serial, value);
    const sim_note note = (sim_note)(NOTE_COUNT + (int)place_of(c));
    const zkl_op op = op_at(is_there ? ZKL_OP_SET : ZKL_OP_CREATE, path_in(host, note), data);
    write_several(host, &op, 1, c,
                  (sim_node_request){.kind = op.kind, .serial = serial, .counter = c->tag});
    rob(c);
    if (sim_once_in(6))
        cut_off(host, CUT_WITHIN);
}

void sim_clerk_trouble(sim_caller *c) {
    rob(c);
    if (sim_once_in(4))
        cut_off(c->host, sim_once_in(2) ? CUT_WITHIN : 4 * CUT_WITHIN);
}

/* A caller that may not count makes a node. */
static void make_held(sim_caller *c) {
    char data[32], path[PATH_SIZE];
    const unsigned serial = intend_held(c);
    snprintf(data, sizeof data, "w%u", serial);
    unique_path(c->host, path, serial);
    zkl_op op = op_at(ZKL_OP_CREATE, path, data);
    op.ephemeral = sim_once_in(2);
    write_several(c->host, &op, 1, c, (sim_node_request){.kind = op.kind, .serial = serial});
}

void sim_clerk_held(sim_caller *c) {
    sim_host *host = c->host;
    if (!host->has_notes || count_node_requests(host) >= NODE_REQUESTS_MOST)
        return;
    for (const sim_node_request *e = host->requests; e; e = e->next)
        if (e->counter == c->tag)
            return;
    if (!is_exclusive(c) || place_of(c) >= PLACE_POOL)
        make_held(c); /* there is a count for the first places only */
    else
        read_note(host, ZKL_OP_GET, (sim_note)(NOTE_COUNT + (int)place_of(c)), c->tag);
}

void sim_clerk_forget(const sim_caller *c) {
    for (sim_node_request *e = c->host->requests; e; e = e->next)
        if (e->counter == c->tag)
            e->counter = 0;
}

/* The count that was read; 0: there is none yet. */
static uint64_t count_in(const zkl_content *content) {
    const char *space = content && content->data ? strchr(content->data, ' ') : NULL;
    return space ? strtoull(space, NULL, 10) : 0;
}

/* A holder goes on, as far as the answer lets it. */
static void count_further(sim_caller *c, const sim_node_request *e, zkl_status status,
                          const zkl_content *content) {
    if (!c->is_granted || c->is_released || c->losses)
        return;
    if (e->serial) {
        if (sim_once_in(
                2)) /* also when nobody knows what became of it: it reads again, and knows */
            sim_clerk_held(c);
    } else if (e->kind == ZKL_OP_GET && (status == ZKL_OK || status == ZKL_NO_NODE)) {
        count_on(c, status == ZKL_OK, count_in(content) + 1);
    }
}

/* ---- answers ---- */

/* Nothing else is told of what the hosts ask, unless somebody forbids it. */
static void check_status(const sim_host *host, const sim_node_request *e, zkl_status status) {
    if (sim_host_may_hear(status) || (status == ZKL_TOO_BIG && e->serial && host->nodes_most))
        return;
    switch ((int)status) {
    case ZKL_OK:
    case ZKL_NO_NODE:
    case ZTHROTTLEDOP:
        return;
    case ZKL_NODE_EXISTS:
    case ZKL_BAD_VERSION:
    case ZKL_UNKNOWN:
    case ZKL_LOST:
        if (e->serial)
            return;
        break;
    default:
        break;
    }
    sim_fail("host %d's node request %" PRIu64 " failed with '%s'", host->machine.id, e->tag,
             zkl_status_text(status));
}

static void check_read(sim_host *host, const sim_node_request *e, zkl_status status) {
    const zkl_content *content = zkl_node_request_content(e->request, 0);
    if (e->kind == ZKL_OP_EXISTS && status == ZKL_OK && !zkl_node_request_found(e->request))
        status = ZKL_NO_NODE;
    if (status != ZKL_OK && status != ZKL_NO_NODE)
        return;
    const int64_t floor = sim_ledger_settles(host, e->asked, e->floor);
    raise_floor(host, sim_ledger_seen(host, e->note, e->kind == ZKL_OP_CHILDREN, floor, status,
                                      &content->stat));
}

static void answered(sim_host *host, sim_node_request *e, zkl_status status) {
    SAY("host %d hears: node request %" PRIu64 ": %s", host->machine.id, e->tag,
        status == ZKL_OK ? "good" : zkl_status_text(status));
    check_status(host, e, status);
    if (e->serial)
        raise_floor(host, sim_ledger_told(e->serial, status));
    else if (!e->is_sync)
        check_read(host, e, status);
    else if (status == ZKL_OK)
        raise_floor(host, e->floor);
    sim_caller *c = e->counter ? caller_by_tag(host, e->counter) : NULL;
    e->counter = 0;
    if (c && !host->is_resting && !host->client->closing)
        count_further(c, e, status, zkl_node_request_content(e->request, 0));
}

static void drop_node_request(sim_host *host, sim_node_request *e) {
    sim_node_request **p = &host->requests;
    while (*p != e)
        p = &(*p)->next;
    *p = e->next;
    zkl_node_request_drop(e->request);
    free(e);
}

/* A signal, or coroutine.close, ends the call. */
static void interrupt(sim_host *host, sim_node_request *e) {
    SAY("host %d interrupts its node request %" PRIu64, host->machine.id, e->tag);
    if (e->serial)
        sim_ledger_interrupted(e->serial);
    drop_node_request(host, e);
}

/* The script goes on reading, perhaps when its session has moved to a server that lags. */
static void interrupt_and_read(sim_host *host) {
    write_flag(host);
    interrupt(host, host->requests);
    cut_off(host, CUT_WITHIN);
    read_note(host, ZKL_OP_GET, NOTE_FLAG, 0);
}

/* ---- watches ---- */

static void look_at(sim_host *host, sim_note note, bool children) {
    zkl_node_watch *view;
    const uint64_t tag = ++host->tags;
    const zkl_status status = zkl_look_at(host->client, path_in(host, note), children, tag, &view);
    SAY("host %d watches %s%s as %" PRIu64 ": %s", host->machine.id, sim_note_path(note),
        children ? "'s children" : "", tag, status == ZKL_OK ? "good" : zkl_status_text(status));
    if (status != ZKL_OK) {
        SIM_CHECK(status == ZKL_TOO_MANY_WATCHES || status == ZKL_CLOSED);
        return;
    }
    sim_look *look = sim_new(sizeof *look);
    *look = (sim_look){.next = host->looks,
                       .view = view,
                       .tag = tag,
                       .note = note,
                       .children = children,
                       .floor = host->floor};
    host->looks = look;
}

static void stop(sim_host *host, sim_look *look) {
    sim_look **p = &host->looks;
    while (*p != look)
        p = &(*p)->next;
    *p = look->next;
    SAY("host %d stops its watch %" PRIu64, host->machine.id, look->tag);
    zkl_node_watch_drop(look->view);
    free(look);
}

static void told(sim_host *host, sim_look *look) {
    zkl_status status;
    zkl_content *content = NULL;
    if (!zkl_node_watch_take(look->view, &status, &content))
        return;
    SAY("host %d's watch %" PRIu64 " shows %s: %s", host->machine.id, look->tag,
        sim_note_path(look->note), status == ZKL_OK ? "it is there" : zkl_status_text(status));
    SIM_CHECK((status == ZKL_OK) == (content != NULL));
    SIM_CHECK(status == ZKL_OK || status == ZKL_NO_NODE || status == ZKL_ACCESS_DENIED);
    look->is_told = true;
    look->status = status;
    if (content)
        look->stat = content->stat;
    if (content)
        zkl_content_free(content);
    if (status == ZKL_ACCESS_DENIED)
        return;
    look->floor =
        sim_ledger_seen(host, look->note, look->children, look->floor, status, &look->stat);
    raise_floor(host, look->floor);
    if (sim_once_in(20))
        stop(host, look); /* from inside what it calls */
}

static size_t count_looks(const sim_host *host) {
    size_t n = 0;
    for (const sim_look *l = host->looks; l; l = l->next)
        n++;
    return n;
}

static void watch_something(sim_host *host) {
    if (count_looks(host) >= LOOKS_MOST || (host->looks && sim_once_in(3))) {
        stop(host, host->looks);
        return;
    }
    const sim_note note = sim_any(NOTES);
    look_at(host, note, note == NOTE_ROOT ? sim_any(8) : sim_once_in(6));
}

/* ---- events ---- */

bool sim_clerk_hear(sim_host *host, const zkl_event *event) {
    if (event->kind == ZKL_EVENT_CHANGED) {
        sim_look *look = host->looks;
        while (look && look->tag != event->tag)
            look = look->next;
        if (!look)
            sim_fail("host %d hears of watch %" PRIu64 ", which it has stopped", host->machine.id,
                     event->tag);
        told(host, look);
        return true;
    }
    sim_node_request *e = host->requests;
    while (e && e->tag != event->tag)
        e = e->next;
    if (!e || event->kind != ZKL_EVENT_ANSWER)
        return false;
    answered(host, e, event->status);
    drop_node_request(host, e);
    return true;
}

/* ---- deeds ---- */

void sim_clerk_deed(sim_host *host) {
    if (!host->client || host->machine.stopped_until > sim_now ||
        count_node_requests(host) >= NODE_REQUESTS_MOST)
        return;
    sim_machine *before = sim_enter(&host->machine);
    switch (sim_any(12)) {
    case 0:
    case 1:
        read_note(host, sim_any(3) + ZKL_OP_GET, sim_any(NOTES), 0);
        break;
    case 2:
        ask_sync(host);
        break;
    case 3:
    case 4:
        write_flag(host);
        break;
    case 5:
        make_unique(host);
        break;
    case 6:
        delete_unique(host);
        break;
    case 7:
        replace_flag(host);
        break;
    case 8:
        if (sim_once_in(2))
            interrupt_and_read(host);
        else if (host->requests)
            interrupt(host, host->requests);
        break;
    default:
        watch_something(host);
    }
    sim_leave(before);
}

/* ---- life ---- */

static void cut_now(sim_event *event) {
    const sim_host *host = ZKL_CONTAINER_OF(event, sim_host, cut);
    SAY("network: cuts host %d off while it writes", host->machine.id);
    sim_sockets_cut(-1, host, 1);
}

void sim_clerk_open(sim_host *host) {
    host->cut.run = cut_now;
    host->floor = sim_tree->zxid;
}

void sim_clerk_stop(sim_host *host) {
    sim_machine *before = sim_enter(&host->machine);
    while (host->looks)
        stop(host, host->looks);
    sim_leave(before);
}

void sim_clerk_close(sim_host *host) {
    while (host->requests)
        drop_node_request(host, host->requests);
    while (host->looks)
        stop(host, host->looks);
    sim_ledger_parted(host);
    host->made = 0;
}

/* ---- the end ---- */

bool sim_clerk_is_idle(const sim_host *host) {
    return !host->requests;
}

/* A client that the servers have refused is shown nothing any more. */
bool sim_clerk_is_current(const sim_host *host) {
    if (zkl_client_state(host->client) == ZKL_STATE_AUTH_FAILED)
        return true;
    for (const sim_look *l = host->looks; l; l = l->next)
        if (!l->is_told || !sim_ledger_is_so(l->note, l->children, l->status, &l->stat))
            return false;
    return true;
}

static bool watches_nothing(const sim_host *host) {
    return host->client->nodes.watch_budget.bytes == 0 &&
           (host->leaves_watches ||
            sim_listeners_below(&host->machine, sim_note_path(NOTE_ROOT)) == 0);
}

bool sim_clerk_has_stopped(const sim_host *host) {
    return !host->looks && (!host->client || watches_nothing(host));
}
