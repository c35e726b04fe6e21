/* library: what libzookeeper_mt does with a handle, on the servers of ensemble.h: its two threads,
 * the order of what it calls back, what it repeats after a reconnect, what it forgets. Written
 * from what the real one does; spec/sim/recorder.c compares. */
#include "ensemble.h"
#include "library.h"
#include "machine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

const int ZOO_PERM_READ = 1, ZOO_PERM_WRITE = 2, ZOO_PERM_CREATE = 4, ZOO_PERM_DELETE = 8,
          ZOO_PERM_ADMIN = 16, ZOO_PERM_ALL = 31;
struct Id ZOO_ANYONE_ID_UNSAFE = {(char *)"world", (char *)"anyone"};
struct Id ZOO_AUTH_IDS = {(char *)"auth", (char *)""};
static struct ACL anyone_all[] = {{31, {(char *)"world", (char *)"anyone"}}},
                  anyone_read[] = {{1, {(char *)"world", (char *)"anyone"}}},
                  creator_all[] = {{31, {(char *)"auth", (char *)""}}};
struct ACL_vector ZOO_OPEN_ACL_UNSAFE = {1, anyone_all};
struct ACL_vector ZOO_READ_ACL_UNSAFE = {1, anyone_read};
struct ACL_vector ZOO_CREATOR_ALL_ACL = {1, creator_all};
const int ZOO_PERSISTENT = 0, ZOO_EPHEMERAL = 1, ZOO_PERSISTENT_SEQUENTIAL = 2,
          ZOO_EPHEMERAL_SEQUENTIAL = 3, ZOO_CONTAINER = 4, ZOO_SEQUENCE = 2;
const int ZOO_EXPIRED_SESSION_STATE = -112, ZOO_AUTH_FAILED_STATE = -113, ZOO_CONNECTING_STATE = 1,
          ZOO_ASSOCIATING_STATE = 2, ZOO_CONNECTED_STATE = 3, ZOO_READONLY_STATE = 5,
          ZOO_NOTCONNECTED_STATE = 999;
const int ZOO_CREATED_EVENT = EVENT_CREATED, ZOO_DELETED_EVENT = EVENT_DELETED,
          ZOO_CHANGED_EVENT = EVENT_CHANGED, ZOO_CHILD_EVENT = EVENT_CHILDREN,
          ZOO_SESSION_EVENT = -1, ZOO_NOTWATCHING_EVENT = -2;

/* What the completion thread has to call back, in order. */
typedef struct delivery {
    struct delivery *next;
    sim_request *request; /* or: */
    int type, state;
    char *path;
    struct listener *listeners; /* taken out for this event */
} delivery;

/* A watcher as the library keeps it. */
typedef struct listener {
    struct listener *next;
    char *path;
    int kind;
    watcher_fn fn;
    void *ctx;
} listener;

struct _zhandle {
    struct _zhandle *next; /* of all */
    sim_machine *machine;
    watcher_fn fn;
    void *ctx;
    log_callback_fn log;
    clientid_t id;
    int recv_timeout, state;
    int servers[32], server_count, turn;
    sim_socket *socket;
    bool is_asking; /* the socket is not confirmed yet */
    bool is_closing;
    int64_t seen;
    zkl_nanos last_heard, last_sent, waits_until;
    sim_event io, completion;
    sim_request *waiting, *last_waiting; /* to be sent when there is a server; kept */
    sim_request *asked, *last_asked;     /* sent; kept */
    delivery *first, *last;
    listener *listeners;
    uint64_t identity;
    bool has_auth;
    unsigned tries;
};

static zhandle_t *handles;
unsigned sim_rude_closings = 20;
void (*sim_submitted)(const sim_request *request);

/* ---- the completion thread ---- */

static void wake_completion(zhandle_t *zh) {
    if (!zh->completion.place && zh->first)
        sim_after(&zh->completion, sim_once_in(50) ? sim_some(30 * SIM_MS) : sim_some(SIM_MS / 10));
}

static delivery *deliver(zhandle_t *zh) {
    delivery *d = sim_new(sizeof *d);
    if (zh->last)
        zh->last->next = d;
    else
        zh->first = d;
    zh->last = d;
    wake_completion(zh);
    return d;
}

static void deliver_state(zhandle_t *zh, int state) {
    delivery *d = deliver(zh);
    d->type = ZOO_SESSION_EVENT;
    d->state = state;
}

/* Takes the request from whoever kept it. */
static void deliver_answer(zhandle_t *zh, sim_request *r, int rc) {
    r->rc = rc;
    deliver(zh)->request = r;
}

static void free_listeners(listener *l) {
    while (l) {
        listener *next = l->next;
        free(l->path);
        free(l);
        l = next;
    }
}

static void free_delivery(delivery *d) {
    sim_request_drop(d->request);
    free_listeners(d->listeners);
    free(d->path);
    free(d);
}

static void call_back(zhandle_t *zh, delivery *d) {
    if (d->request) {
        if (d->request->tell)
            d->request->tell(d->request);
        return;
    }
    if (d->type == ZOO_SESSION_EVENT) {
        if (zh->fn)
            zh->fn(zh, d->type, d->state, "", zh->ctx);
        return;
    }
    for (listener *l = d->listeners; l; l = l->next)
        l->fn(zh, d->type, ZOO_CONNECTED_STATE, d->path, l->ctx);
}

static void run_completion(sim_event *event) {
    zhandle_t *zh = ZKL_CONTAINER_OF(event, zhandle_t, completion);
    if (sim_is_stopped(zh->machine, event))
        return;
    delivery *d = zh->first;
    if (!d)
        return;
    zh->first = d->next;
    if (!zh->first)
        zh->last = NULL;
    sim_machine *before = sim_enter(zh->machine);
    wake_completion(zh); /* before: what is called may close nothing, but may ask for more */
    call_back(zh, d);
    sim_leave(before);
    free_delivery(d);
}

/* ---- what is on its way ---- */

static void append(sim_request **first, sim_request **last, sim_request *r) {
    r->next = NULL;
    if (*last)
        (*last)->next = r;
    else
        *first = r;
    *last = r;
}

static sim_request *take(sim_request **first, sim_request **last) {
    sim_request *r = *first;
    if (r) {
        *first = r->next;
        if (!*first)
            *last = NULL;
    }
    return r;
}

static void fail_all(zhandle_t *zh, int rc) {
    for (sim_request *r; (r = take(&zh->asked, &zh->last_asked));)
        deliver_answer(zh, r, rc);
    for (sim_request *r; (r = take(&zh->waiting, &zh->last_waiting));)
        deliver_answer(zh, r, rc);
}

static bool is_unrecoverable_state(int state) {
    return state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE;
}

static void send_now(zhandle_t *zh, sim_request *r) {
    append(&zh->asked, &zh->last_asked, r);
    zh->last_sent = sim_now;
    SAY("client %d asks: %s %s", zh->machine->id, sim_op_name(r->op),
        r->part.path ? r->part.path : "");
    sim_send(zh->socket, r);
}

static int submit(zhandle_t *zh, sim_request *r) {
    if (is_unrecoverable_state(zh->state) || zh->is_closing) {
        sim_request_drop(r);
        return ZINVALIDSTATE;
    }
    if (sim_submitted)
        sim_submitted(r);
    if (zh->state == ZOO_CONNECTED_STATE)
        send_now(zh, r);
    else
        append(&zh->waiting, &zh->last_waiting, r);
    return ZOK;
}

/* ---- the IO thread ---- */

static void watch_over(zhandle_t *zh) {
    const zkl_nanos timeout = zh->recv_timeout * SIM_MS;
    const zkl_nanos end = zh->last_heard + timeout * 2 / 3, ping = zh->last_sent + timeout / 3;
    sim_at(&zh->io, zh->is_asking || end < ping ? end : ping);
}

static void let_go(zhandle_t *zh, bool whole) {
    if (zh->socket)
        sim_hang_up(zh->socket, whole);
    zh->socket = NULL;
    zh->is_asking = false;
}

static void try_next(zhandle_t *zh) {
    zh->turn += sim_once_in(4) ? 2 : 1; /* fail-over skips servers */
    zh->tries++;
    sim_after(&zh->io, sim_some((zh->tries > 3 ? 60 : 8) * SIM_MS));
}

/* As the library does it: the state is told first, then whatever was on its way comes back. */
static void lose(zhandle_t *zh, int rc) {
    const bool was_connected = zh->state == ZOO_CONNECTED_STATE;
    if (was_connected)
        SAY("client %d loses its server: %d", zh->machine->id, rc);
    let_go(zh, false);
    if (is_unrecoverable_state(zh->state)) {
        deliver_state(zh, zh->state);
        fail_all(zh, rc);
        sim_cancel(&zh->io);
        return;
    }
    if (was_connected)
        deliver_state(zh, ZOO_CONNECTING_STATE);
    fail_all(zh, rc);
    zh->state = ZOO_NOTCONNECTED_STATE;
    try_next(zh);
}

static void add_watched(sim_request *r, const listener *l) {
    sim_part *parts = realloc(r->parts, (r->part_count + 1) * sizeof *parts);
    SIM_CHECK(parts != NULL);
    r->parts = parts;
    parts[r->part_count++] = (sim_part){.path = sim_copy(l->path), .watch = l->kind};
}

/* All of them in one packet, before anything else. */
static void set_watches(zhandle_t *zh) {
    if (!zh->listeners)
        return;
    sim_request *r = sim_request_new(OP_SET_WATCHES, NULL);
    r->zxid = zh->seen;
    for (const listener *l = zh->listeners; l; l = l->next)
        add_watched(r, l);
    send_now(zh, r);
}

static void send_auth(zhandle_t *zh) {
    if (!zh->has_auth)
        return;
    sim_request *r = sim_request_new(OP_AUTH, NULL);
    r->identity = zh->identity;
    send_now(zh, r);
}

static void confirmed(zhandle_t *zh, const sim_message *m) {
    zh->is_asking = false;
    zh->tries = 0;
    if (!m->good || (zh->id.client_id && zh->id.client_id != sim_session_id(m->session))) {
        zh->state = ZOO_EXPIRED_SESSION_STATE;
        lose(zh, ZSESSIONEXPIRED);
        return;
    }
    zh->id.client_id = sim_session_id(m->session);
    zh->state = ZOO_CONNECTED_STATE;
    SAY("client %d has server %d, session %llx", zh->machine->id,
        zh->servers[zh->turn % zh->server_count] + 1, (unsigned long long)zh->id.client_id);
    send_auth(zh);
    set_watches(zh);
    for (sim_request *r; (r = take(&zh->waiting, &zh->last_waiting));)
        send_now(zh, r);
    deliver_state(zh, ZOO_CONNECTED_STATE);
    watch_over(zh);
}

/* ---- watches, in the library ---- */

static bool hears(const listener *l, int type) {
    switch (type) {
    case EVENT_DELETED:
        return l->kind == WATCH_DATA || l->kind == WATCH_CHILDREN;
    case EVENT_CHILDREN:
        return l->kind == WATCH_CHILDREN;
    default:
        return l->kind == WATCH_DATA || l->kind == WATCH_EXISTS;
    }
}

static bool is_among(const listener *list, const listener *l) {
    for (; list; list = list->next)
        if (list->fn == l->fn && list->ctx == l->ctx)
            return true;
    return false;
}

/* One that is told twice of one event hears it once. */
static listener *take_listeners(zhandle_t *zh, const char *path, int type) {
    listener *taken = NULL, *doubled = NULL;
    for (listener **p = &zh->listeners; *p;) {
        listener *l = *p;
        if (!hears(l, type) || strcmp(l->path, path) != 0) {
            p = &l->next;
            continue;
        }
        *p = l->next;
        listener **to = is_among(taken, l) ? &doubled : &taken;
        l->next = *to;
        *to = l;
    }
    free_listeners(doubled);
    return taken;
}

static void listen_to(zhandle_t *zh, const sim_request *r) {
    const int kind = r->op == OP_LIST                              ? WATCH_CHILDREN
                     : r->op == OP_EXISTS && r->part.rc == ZNONODE ? WATCH_EXISTS
                                                                   : WATCH_DATA;
    for (const listener *l = zh->listeners; l; l = l->next)
        if (l->kind == kind && l->fn == r->watcher && l->ctx == r->watcher_ctx &&
            strcmp(l->path, r->part.path) == 0)
            return;
    listener *l = sim_new(sizeof *l);
    *l = (listener){zh->listeners, sim_copy(r->part.path), kind, r->watcher, r->watcher_ctx};
    zh->listeners = l;
}

static void stop_listening(zhandle_t *zh, const char *path, int kind) {
    for (listener **p = &zh->listeners; *p;) {
        listener *l = *p;
        const bool is_it = strcmp(l->path, path) == 0 &&
                           (l->kind == kind || (kind == WATCH_DATA && l->kind == WATCH_EXISTS));
        if (!is_it) {
            p = &l->next;
            continue;
        }
        *p = l->next;
        l->next = NULL;
        free_listeners(l);
    }
}

/* ---- what the server says ---- */

static void hear_event(zhandle_t *zh, const sim_message *m) {
    listener *listeners = take_listeners(zh, m->path, m->type);
    delivery *d = deliver(zh);
    d->type = m->type;
    d->path = sim_copy(m->path);
    d->listeners = listeners;
}

static void hear_reply(zhandle_t *zh, const sim_message *m) {
    sim_request *r = take(&zh->asked, &zh->last_asked);
    SIM_CHECK(r == m->request); /* answers come in order */
    const int rc = r->part.rc;
    SAY("client %d is answered: %s %s: %d", zh->machine->id, sim_op_name(r->op),
        r->part.made   ? r->part.made
        : r->part.path ? r->part.path
                       : "",
        rc);
    if (r->watcher && (rc == ZOK || (r->op == OP_EXISTS && rc == ZNONODE)))
        listen_to(zh, r);
    if (r->op == OP_UNWATCH && rc == ZOK)
        stop_listening(zh, r->part.path, r->watch);
    deliver_answer(zh, r, rc);
    if (r->op == OP_AUTH && rc != ZOK) {
        zh->state = ZOO_AUTH_FAILED_STATE;
        lose(zh, ZAUTHFAILED);
    }
}

static void hear(void *client, const sim_message *m) {
    zhandle_t *zh = client;
    zh->last_heard = sim_now;
    if (m->zxid > zh->seen)
        zh->seen = m->zxid;
    switch (m->kind) {
    case SAY_CONNECTED:
        confirmed(zh, m);
        break;
    case SAY_REPLY:
        hear_reply(zh, m);
        break;
    case SAY_EVENT:
        hear_event(zh, m);
        break;
    case SAY_END:
        lose(zh, ZCONNECTIONLOSS);
        break;
    default:
        sim_fail("a client hears what no server says");
    }
}

static zkl_nanos busy_until(void *client) {
    const zhandle_t *zh = client;
    return zh->machine->stopped_until;
}

static void connect_now(zhandle_t *zh) {
    const int server = zh->servers[zh->turn % zh->server_count];
    zh->last_heard = zh->last_sent = sim_now;
    const bool nobody = server < 0 || zh->machine->cut_off_until > sim_now;
    zh->socket = nobody ? NULL : sim_connect(server, zh, hear, busy_until);
    if (!zh->socket) {
        lose(zh, ZCONNECTIONLOSS);
        return;
    }
    zh->is_asking = true;
    zh->state = ZOO_ASSOCIATING_STATE;
    sim_send_connect(zh->socket, zh->id.client_id, zh->recv_timeout * SIM_MS, zh->seen,
                     zh->machine);
    watch_over(zh);
}

/* What lies in the socket is read before anybody looks at the time. */
static void run_io(sim_event *event) {
    zhandle_t *zh = ZKL_CONTAINER_OF(event, zhandle_t, io);
    if (sim_is_stopped(zh->machine, event))
        return;
    if (zh->machine->stopped_until && zh->machine->stopped_until + 2 * SIM_MS > sim_now &&
        zh->socket) {
        sim_at(event, zh->machine->stopped_until + 2 * SIM_MS);
        return;
    }
    if (!zh->socket) {
        connect_now(zh);
        return;
    }
    const zkl_nanos timeout = zh->recv_timeout * SIM_MS;
    if (sim_now >= zh->last_heard + timeout * 2 / 3) {
        lose(zh, ZOPERATIONTIMEOUT);
        return;
    }
    if (!zh->is_asking && sim_now >= zh->last_sent + timeout / 3)
        send_now(zh, sim_request_new(OP_PING, NULL));
    watch_over(zh);
}

void sim_hang_up_new(const sim_machine *machine) {
    for (zhandle_t *zh = handles; zh; zh = zh->next)
        if (zh->machine == machine && zh->is_asking)
            lose(zh, ZCONNECTIONLOSS);
}

size_t sim_handles(void) {
    size_t n = 0;
    for (const zhandle_t *zh = handles; zh; zh = zh->next)
        n++;
    return n;
}

size_t sim_listeners_below(const sim_machine *machine, const char *path) {
    size_t n = 0;
    for (const zhandle_t *zh = handles; zh; zh = zh->next)
        for (const listener *l = zh->listeners; zh->machine == machine && l; l = l->next)
            n += strncmp(l->path, path, strlen(path)) == 0;
    return n;
}

/* ---- a handle's life ---- */

/* 10.0.0.1 is the first server; what is none answers nobody. */
static void parse_servers(zhandle_t *zh, const char *hosts) {
    while (*hosts && zh->server_count < 32) {
        const char *dot = hosts + strcspn(hosts, ",:");
        while (dot > hosts && dot[-1] != '.')
            dot--;
        const int last = atoi(dot);
        zh->servers[zh->server_count++] = last >= 1 && last <= SERVERS ? last - 1 : -1;
        hosts += strcspn(hosts, ",");
        hosts += *hosts == ',';
    }
}

zhandle_t *zookeeper_init2(const char *hosts, watcher_fn fn, int timeout, const clientid_t *id,
                           void *ctx, int flags, log_callback_fn log) {
    (void)flags;
    zhandle_t *zh = sim_new(sizeof *zh);
    zh->machine = sim_here;
    zh->fn = fn;
    zh->ctx = ctx;
    zh->log = log;
    zh->recv_timeout = timeout;
    zh->state = ZOO_NOTCONNECTED_STATE;
    if (id)
        zh->id = *id;
    zh->io.run = run_io;
    zh->completion.run = run_completion;
    parse_servers(zh, hosts);
    zh->next = handles;
    handles = zh;
    sim_after(&zh->io, sim_some(SIM_MS));
    return zh;
}

/* Of what was on its way some comes back, as closing, and some is never heard of. */
static void call_closing(zhandle_t *zh) {
    for (delivery *d; (d = zh->first);) {
        zh->first = d->next;
        if (d->request && sim_once_in(2))
            call_back(zh, d);
        free_delivery(d);
    }
    zh->last = NULL;
    sim_cancel(&zh->completion);
}

/* The library says goodbye, waits until that has gone out, and ends its threads: what was not
 * answered yet makes the servers' system cut the connection before they have read it. */
int zookeeper_close(zhandle_t *zh) {
    const bool connected = zh->state == ZOO_CONNECTED_STATE, drained = !zh->asked;
    zh->is_closing = true;
    sim_machine *machine = sim_here;
    if (connected) {
        sim_request *r = sim_request_new(OP_CLOSE_SESSION, NULL);
        sim_send(zh->socket, r);
        sim_request_drop(r);
    }
    sim_cancel(&zh->io);
    fail_all(zh, ZCLOSING);
    call_closing(zh);
    let_go(zh, drained && !(sim_rude_closings && sim_once_in(sim_rude_closings)));
    zhandle_t **p = &handles;
    while (*p != zh)
        p = &(*p)->next;
    *p = zh->next;
    free_listeners(zh->listeners);
    free(zh);
    sim_here = NULL;
    sim_run(sim_now + sim_some(sim_once_in(4) ? ZKL_SECOND : 5 * SIM_MS)); /* threads are joined */
    sim_here = machine;
    return ZOK;
}

int zoo_state(zhandle_t *zh) {
    return zh->state;
}

const clientid_t *zoo_client_id(zhandle_t *zh) {
    return &zh->id;
}

int zoo_recv_timeout(zhandle_t *zh) {
    return zh->recv_timeout;
}

int is_unrecoverable(zhandle_t *zh) {
    return is_unrecoverable_state(zh->state) ? ZINVALIDSTATE : ZOK;
}

struct sockaddr *zookeeper_get_connected_host(zhandle_t *zh, struct sockaddr *address,
                                              socklen_t *length) {
    if (!zh->socket || *length < sizeof(struct sockaddr_in))
        return NULL;
    struct sockaddr_in *in = (struct sockaddr_in *)address;
    memset(in, 0, sizeof *in);
    in->sin_family = AF_INET;
    in->sin_addr.s_addr = htonl(0x0a000001U);
    *length = sizeof *in;
    return address;
}

void zoo_set_debug_level(ZooLogLevel level) {
    (void)level;
}

void zoo_set_log_stream(FILE *stream) {
    (void)stream;
}

void zoo_set_log_callback(zhandle_t *zh, log_callback_fn callback) {
    zh->log = callback;
}

void zoo_deterministic_conn_order(int yes) {
    (void)yes;
}

int zoo_set_servers_resolution_delay(zhandle_t *zh, int delay) {
    (void)zh;
    (void)delay;
    return ZOK;
}

/* ---- how each kind of answer is told ---- */

static const struct Stat *stat_or_null(const sim_request *r) {
    return r->rc == ZOK ? &r->part.stat : NULL;
}

static int tell_void(sim_request *r) {
    ((void_completion_t)r->completion)(r->rc, r->ctx);
    return 0;
}

static int tell_stat(sim_request *r) {
    ((stat_completion_t)r->completion)(r->rc, stat_or_null(r), r->ctx);
    return 0;
}

static int tell_data(sim_request *r) {
    const bool good = r->rc == ZOK;
    ((data_completion_t)r->completion)(r->rc, good ? r->data : NULL,
                                       good ? (int)strlen(r->data) : -1, stat_or_null(r), r->ctx);
    return 0;
}

static struct String_vector names_of(const sim_request *r) {
    return (struct String_vector){(int32_t)r->name_count, r->names};
}

static int tell_strings(sim_request *r) {
    const struct String_vector names = names_of(r);
    ((strings_completion_t)r->completion)(r->rc, r->rc == ZOK ? &names : NULL, r->ctx);
    return 0;
}

static int tell_strings_stat(sim_request *r) {
    const struct String_vector names = names_of(r);
    ((strings_stat_completion_t)r->completion)(r->rc, r->rc == ZOK ? &names : NULL, stat_or_null(r),
                                               r->ctx);
    return 0;
}

static int tell_string(sim_request *r) {
    const char *path = r->op == OP_SYNC ? r->part.path : r->part.made;
    ((string_completion_t)r->completion)(r->rc, r->rc == ZOK ? path : NULL, r->ctx);
    return 0;
}

static int tell_string_stat(sim_request *r) {
    ((string_stat_completion_t)r->completion)(r->rc, r->rc == ZOK ? r->part.made : NULL,
                                              stat_or_null(r), r->ctx);
    return 0;
}

static int tell_acl(sim_request *r) {
    char id[] = "somebody:secret";
    struct ACL entries[2] = {{ZOO_PERM_ALL, ZOO_ANYONE_ID_UNSAFE}};
    struct ACL_vector acl = {1, entries};
    if (r->acl != ZKL_ACL_OPEN)
        entries[0] = (struct ACL){ZOO_PERM_ALL, {(char *)"digest", id}};
    if (r->acl == ZKL_ACL_READ) {
        entries[1] = entries[0];
        entries[0] = (struct ACL){ZOO_PERM_READ, ZOO_ANYONE_ID_UNSAFE};
        acl.count = 2;
    }
    ((acl_completion_t)r->completion)(r->rc, r->rc == ZOK ? &acl : NULL,
                                      r->rc == ZOK ? &r->part.stat : NULL, r->ctx);
    return 0;
}

static int tell_multi(sim_request *r) {
    for (size_t i = 0; i < r->part_count; i++) {
        zoo_op_result_t *result = &r->results[i];
        const sim_part *p = &r->parts[i];
        result->err = r->rc == r->part.rc ? p->rc : r->rc;
        if (r->rc != ZOK)
            continue;
        if (p->made && result->value && result->valuelen > 0) {
            strncpy(result->value, p->made, (size_t)result->valuelen);
            result->value[result->valuelen - 1] = '\0';
        }
        if (result->stat && p->op == OP_SET)
            *result->stat = p->stat;
    }
    ((void_completion_t)r->completion)(r->rc, r->ctx);
    return 0;
}

/* ---- the calls ---- */

typedef void plain(void);

static sim_request *ask(sim_op op, const char *path, int (*tell)(sim_request *), plain *completion,
                        const void *ctx) {
    sim_request *r = sim_request_new(op, path);
    r->tell = completion ? tell : NULL;
    r->completion = completion;
    r->ctx = ctx;
    return r;
}

static void set_watcher(sim_request *r, watcher_fn fn, void *ctx, int kind) {
    r->watcher = fn;
    r->watcher_ctx = ctx;
    r->watch = fn ? kind : 0;
}

static char *text_of(const char *data, int length) {
    if (length <= 0 || !data)
        return sim_copy("");
    char *text = sim_new((size_t)length + 1);
    memcpy(text, data, (size_t)length);
    return text;
}

static zkl_acl acl_of(const struct ACL_vector *acl) {
    if (acl->count == 2)
        return ZKL_ACL_READ;
    return strcmp(acl->data[0].id.scheme, "auth") == 0 ? ZKL_ACL_CREATOR : ZKL_ACL_OPEN;
}

static void fill_create(sim_part *p, const char *data, int length, const struct ACL_vector *acl,
                        int mode) {
    p->data = text_of(data, length);
    p->acl = acl_of(acl);
    p->sequence = mode == ZOO_PERSISTENT_SEQUENTIAL || mode == ZOO_EPHEMERAL_SEQUENTIAL;
    p->mode = mode == ZOO_EPHEMERAL              ? ZKL_EPHEMERAL
              : mode == ZOO_EPHEMERAL_SEQUENTIAL ? ZKL_EPHEMERAL_SEQUENCE
              : mode == ZOO_CONTAINER            ? ZKL_CONTAINER
                                                 : ZKL_PERSISTENT;
}

int zoo_acreate(zhandle_t *zh, const char *path, const char *data, int length,
                const struct ACL_vector *acl, int mode, string_completion_t completion,
                const void *ctx) {
    sim_request *r = ask(OP_CREATE, path, tell_string, (plain *)completion, ctx);
    fill_create(&r->part, data, length, acl, mode);
    return submit(zh, r);
}

int zoo_acreate2(zhandle_t *zh, const char *path, const char *data, int length,
                 const struct ACL_vector *acl, int mode, string_stat_completion_t completion,
                 const void *ctx) {
    sim_request *r = ask(OP_CREATE, path, tell_string_stat, (plain *)completion, ctx);
    fill_create(&r->part, data, length, acl, mode);
    return submit(zh, r);
}

int zoo_adelete(zhandle_t *zh, const char *path, int version, void_completion_t completion,
                const void *ctx) {
    sim_request *r = ask(OP_DELETE, path, tell_void, (plain *)completion, ctx);
    r->part.version = version;
    return submit(zh, r);
}

int zoo_aset(zhandle_t *zh, const char *path, const char *data, int length, int version,
             stat_completion_t completion, const void *ctx) {
    sim_request *r = ask(OP_SET, path, tell_stat, (plain *)completion, ctx);
    r->part.version = version;
    r->part.data = text_of(data, length);
    return submit(zh, r);
}

int zoo_awexists(zhandle_t *zh, const char *path, watcher_fn fn, void *watcher_ctx,
                 stat_completion_t completion, const void *ctx) {
    sim_request *r = ask(OP_EXISTS, path, tell_stat, (plain *)completion, ctx);
    set_watcher(r, fn, watcher_ctx, WATCH_DATA);
    return submit(zh, r);
}

int zoo_aexists(zhandle_t *zh, const char *path, int watch, stat_completion_t completion,
                const void *ctx) {
    return zoo_awexists(zh, path, watch ? zh->fn : NULL, zh->ctx, completion, ctx);
}

int zoo_awget(zhandle_t *zh, const char *path, watcher_fn fn, void *watcher_ctx,
              data_completion_t completion, const void *ctx) {
    sim_request *r = ask(OP_GET, path, tell_data, (plain *)completion, ctx);
    set_watcher(r, fn, watcher_ctx, WATCH_DATA);
    return submit(zh, r);
}

int zoo_aget(zhandle_t *zh, const char *path, int watch, data_completion_t completion,
             const void *ctx) {
    return zoo_awget(zh, path, watch ? zh->fn : NULL, zh->ctx, completion, ctx);
}

int zoo_awget_children(zhandle_t *zh, const char *path, watcher_fn fn, void *watcher_ctx,
                       strings_completion_t completion, const void *ctx) {
    sim_request *r = ask(OP_LIST, path, tell_strings, (plain *)completion, ctx);
    set_watcher(r, fn, watcher_ctx, WATCH_CHILDREN);
    return submit(zh, r);
}

int zoo_awget_children2(zhandle_t *zh, const char *path, watcher_fn fn, void *watcher_ctx,
                        strings_stat_completion_t completion, const void *ctx) {
    sim_request *r = ask(OP_LIST, path, tell_strings_stat, (plain *)completion, ctx);
    set_watcher(r, fn, watcher_ctx, WATCH_CHILDREN);
    return submit(zh, r);
}

int zoo_aget_children(zhandle_t *zh, const char *path, int watch, strings_completion_t completion,
                      const void *ctx) {
    return zoo_awget_children(zh, path, watch ? zh->fn : NULL, zh->ctx, completion, ctx);
}

int zoo_aget_children2(zhandle_t *zh, const char *path, int watch,
                       strings_stat_completion_t completion, const void *ctx) {
    return zoo_awget_children2(zh, path, watch ? zh->fn : NULL, zh->ctx, completion, ctx);
}

int zoo_async(zhandle_t *zh, const char *path, string_completion_t completion, const void *ctx) {
    return submit(zh, ask(OP_SYNC, path, tell_string, (plain *)completion, ctx));
}

int zoo_aget_acl(zhandle_t *zh, const char *path, acl_completion_t completion, const void *ctx) {
    return submit(zh, ask(OP_GET_ACL, path, tell_acl, (plain *)completion, ctx));
}

/* The one call whose header does not say const. */
int zoo_aset_acl(zhandle_t *zh, const char *path, int version, struct ACL_vector *acl,
                 void_completion_t completion, const void *ctx) {
    sim_request *r = ask(OP_SET_ACL, path, tell_void, (plain *)completion, ctx);
    r->part.version = version;
    r->part.acl = acl_of(acl);
    return submit(zh, r);
}

int zoo_aremove_all_watches(zhandle_t *zh, const char *path, ZooWatcherType type, int local,
                            void_completion_t *completion, const void *ctx) {
    const int kind = type == ZWATCHTYPE_CHILD ? WATCH_CHILDREN : WATCH_DATA;
    (void)local;
    sim_request *r = ask(OP_UNWATCH, path, tell_void, (plain *)completion, ctx);
    r->watch = kind;
    return submit(zh, r);
}

static uint64_t identity_of(const char *credential, int length) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)credential[i]) * UINT64_C(1099511628211);
    return hash | 1;
}

int zoo_add_auth(zhandle_t *zh, const char *scheme, const char *credential, int length,
                 void_completion_t completion, const void *ctx) {
    (void)scheme;
    if (is_unrecoverable_state(zh->state) || zh->is_closing)
        return ZINVALIDSTATE;
    zh->identity = identity_of(credential, length);
    zh->has_auth = true;
    if (zh->state != ZOO_CONNECTED_STATE)
        return ZOK;
    sim_request *r = ask(OP_AUTH, NULL, tell_void, (plain *)completion, ctx);
    r->identity = zh->identity;
    send_now(zh, r);
    return ZOK;
}

/* ---- transactions ---- */

enum { TYPE_CREATE = 1, TYPE_DELETE = 2, TYPE_SET = 5, TYPE_CHECK = 13 };

void zoo_create_op_init(zoo_op_t *op, const char *path, const char *value, int length,
                        const struct ACL_vector *acl, int mode, char *buffer, int size) {
    memset(op, 0, sizeof *op);
    op->type = TYPE_CREATE;
    op->create_op.path = path;
    op->create_op.data = value;
    op->create_op.datalen = length;
    op->create_op.acl = acl;
    op->create_op.flags = mode;
    op->create_op.buf = buffer;
    op->create_op.buflen = size;
}

void zoo_delete_op_init(zoo_op_t *op, const char *path, int version) {
    memset(op, 0, sizeof *op);
    op->type = TYPE_DELETE;
    op->delete_op.path = path;
    op->delete_op.version = version;
}

void zoo_set_op_init(zoo_op_t *op, const char *path, const char *data, int length, int version,
                     struct Stat *stat) {
    memset(op, 0, sizeof *op);
    op->type = TYPE_SET;
    op->set_op.path = path;
    op->set_op.data = data;
    op->set_op.datalen = length;
    op->set_op.version = version;
    op->set_op.stat = stat;
}

void zoo_check_op_init(zoo_op_t *op, const char *path, int version) {
    memset(op, 0, sizeof *op);
    op->type = TYPE_CHECK;
    op->check_op.path = path;
    op->check_op.version = version;
}

static void fill_part(sim_part *p, const zoo_op_t *op, zoo_op_result_t *result) {
    switch (op->type) {
    case TYPE_CREATE:
        p->op = OP_CREATE;
        p->path = sim_copy(op->create_op.path);
        fill_create(p, op->create_op.data, op->create_op.datalen, op->create_op.acl,
                    op->create_op.flags);
        result->value = op->create_op.buf;
        result->valuelen = op->create_op.buflen;
        break;
    case TYPE_DELETE:
        p->op = OP_DELETE;
        p->path = sim_copy(op->delete_op.path);
        p->version = op->delete_op.version;
        break;
    case TYPE_SET:
        p->op = OP_SET;
        p->path = sim_copy(op->set_op.path);
        p->data = text_of(op->set_op.data, op->set_op.datalen);
        p->version = op->set_op.version;
        result->stat = op->set_op.stat;
        break;
    default:
        p->op = OP_CHECK;
        p->path = sim_copy(op->check_op.path);
        p->version = op->check_op.version;
    }
}

int zoo_amulti(zhandle_t *zh, int count, const zoo_op_t *ops, zoo_op_result_t *results,
               void_completion_t completion, const void *ctx) {
    sim_request *r = ask(OP_MULTI, NULL, tell_multi, (plain *)completion, ctx);
    r->parts = sim_new((size_t)(count ? count : 1) * sizeof *r->parts);
    r->part_count = (size_t)count;
    r->results = results;
    for (int i = 0; i < count; i++)
        fill_part(&r->parts[i], &ops[i], &results[i]);
    return submit(zh, r);
}
