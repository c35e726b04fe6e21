/* SPDX-License-Identifier: MIT */
/* library: what libzookeeper_mt does with a handle, on the servers of ensemble.h: its two threads,
 * the order of what it calls back, what it repeats after a reconnect, what it forgets. Written
 * from what the real one does; spec/recorder compares. */
#include "handle.h"

#include "zookeeper/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

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

zhandle_t *sim_handle_first;
unsigned sim_rude_closings = 20;
void (*sim_submitted)(const sim_request *request);
void (*sim_told)(const sim_request *request);
uint64_t sim_asked[OP_PING];

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
    zh->io.run = sim_run_io;
    zh->completion.run = sim_run_completion;
    parse_servers(zh, hosts);
    zh->next = sim_handle_first;
    sim_handle_first = zh;
    sim_after(&zh->io, sim_some(SIM_MS));
    return zh;
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
    sim_fail_all(zh, ZCLOSING);
    sim_deliver_closing(zh);
    sim_let_go(zh, drained && !(sim_rude_closings && sim_once_in(sim_rude_closings)));
    zhandle_t **p = &sim_handle_first;
    while (*p != zh)
        p = &(*p)->next;
    *p = zh->next;
    sim_listeners_free(zh->listeners);
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
    return sim_is_unrecoverable(zh->state) ? ZINVALIDSTATE : ZOK;
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

/* There are no descriptors: what is done to a handle's own is done to the handle. */
void zkl_socket_confirmed(const zhandle_t *zh, const struct sockaddr *server, socklen_t length) {
    (void)zh;
    (void)server;
    (void)length;
}

void zkl_socket_hang_up(const zhandle_t *zh) {
    if (zh->is_asking)
        sim_lose((zhandle_t *)zh, ZCONNECTIONLOSS);
}

int zkl_socket_presumed(const zhandle_t *zh) {
    (void)zh;
    return -1;
}

size_t sim_handles(void) {
    size_t n = 0;
    for (const zhandle_t *zh = sim_handle_first; zh; zh = zh->next)
        n++;
    return n;
}

zkl_nanos sim_proven_at(const sim_machine *machine) {
    zkl_nanos latest = 0;
    for (const zhandle_t *zh = sim_handle_first; zh; zh = zh->next)
        if (zh->machine == machine && zh->proven > latest)
            latest = zh->proven;
    return latest;
}

static const zhandle_t *handle_of(const void *ctx) {
    const zhandle_t *zh = sim_handle_first;
    while (zh && (zh->ctx != ctx || sim_is_unrecoverable(zh->state)))
        zh = zh->next;
    return zh;
}

size_t sim_watched_bytes(const void *ctx) {
    const zhandle_t *zh = handle_of(ctx);
    return zh ? zh->watched : 0;
}

size_t sim_watched_below(const void *ctx, const char *path) {
    const zhandle_t *zh = handle_of(ctx);
    const size_t length = strlen(path);
    size_t bytes = 0;
    for (const sim_listener *l = zh ? zh->listeners : NULL; l; l = l->next)
        if (strncmp(l->path, path, length) == 0)
            bytes += sim_listener_bytes(l);
    return bytes;
}

size_t sim_listeners_below(const sim_machine *machine, const char *path) {
    size_t n = 0;
    for (const zhandle_t *zh = sim_handle_first; zh; zh = zh->next)
        for (const sim_listener *l = zh->listeners; zh->machine == machine && l; l = l->next)
            n += strncmp(l->path, path, strlen(path)) == 0;
    return n;
}
