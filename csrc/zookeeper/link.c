#include "zookeeper/link.h"

#include "base/descriptors.h"
#include "base/process.h"
#include "zookeeper/exposure.h"
#include "zookeeper/log.h"
#include "zookeeper/servers.h"
#include "zookeeper/tls.h"
#include "zookeeper/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* The library gives a server a third of it to answer at first; the servers grant their own least
 * anyway. */
#define TIMEOUT_LEAST (3 * ZKL_SECOND / 10)

/* A server that has accepted a TLS connection is given a third of the timeout, too, but these at
 * least and at most. */
#define PATIENCE_LEAST (2 * ZKL_SECOND)
#define PATIENCE_MOST (3 * ZKL_SECOND)
#define TLS_PAUSE (ZKL_SECOND / 5)
/* Connections lost one after another, and what each more of them costs. */
#define STREAK 5
#define STREAK_PAUSE (ZKL_SECOND / 10)
/* Until what the library was just doing with a handle shows: some lines of code. */
#define PARTING (ZKL_SECOND / 20)

/* Builds of libzookeeper without TLS do not have it; the header names it only for those that do. */
extern zhandle_t *zookeeper_init_ssl(const char *host, const char *cert, watcher_fn fn,
                                     int recv_timeout, const clientid_t *clientid, void *context,
                                     int flags) __attribute__((weak));

typedef struct request request;

/* What a transaction's answer is written to. */
typedef struct batch {
    zoo_op_t *ops;
    zoo_op_result_t *results;
    char **asked,
        /* the paths that were asked for, and behind each, in one piece, the one that was made */
        **names;
    size_t count;
    char *mark;
    struct Stat stat; /* the mark's */
} batch;

enum { MARK_OPS = 3 };

/* On its way; the library brings it back once, unless the handle is closed before. */
struct request {
    request *prev, *next;
    zkl_link *link;
    zkl_return back;
    zkl_nanos handed;
    zkl_reach reach;
    batch *batch; /* of a transaction */
    zkl_mode mode;
    char path[]; /* of a create */
};

struct zkl_link {
    zkl_port port;
    zkl_link_owner owner;
    const zkl_clock *clock;
    uint64_t *sent_count;
    const zkl_config *config;
    zkl_watchdog *watchdog; /* with TLS; never changes once started */
    /* credentials that the library has and repeats on every reconnect; completion thread */
    size_t auths_added;
    /* when the newest request that has come back was handed over; completion thread */
    zkl_nanos settled;
    zhandle_t *handle; /* set once, under the mutex, by whoever hears of it first */

    pthread_mutex_t mutex; /* a leaf; for what follows */
    pthread_cond_t idle;
    request *requests;
    size_t auths_open; /* credentials that this connection waits for an answer to */
    bool connected;
    zkl_nanos root; /* the servers took the connection after that */
};

/* ---- requests on their way ---- */

static request *request_about(zkl_link *link, zkl_return back, zkl_reach reach, const char *path) {
    const size_t size = strlen(path) + 1;
    request *r = calloc(1, sizeof *r + size);
    if (!r)
        return NULL;
    memcpy(r->path, path, size);
    r->link = link;
    r->back = back;
    r->reach = reach;
    r->handed = link->clock->now();
    pthread_mutex_lock(&link->mutex);
    r->next = link->requests;
    if (r->next)
        r->next->prev = r;
    link->requests = r;
    pthread_mutex_unlock(&link->mutex);
    return r;
}

static request *request_new(zkl_link *link, zkl_return back, zkl_reach reach) {
    return request_about(link, back, reach, "");
}

static void batch_free(batch *b) {
    for (size_t i = 0; b && b->asked && i < b->count; i++)
        free(b->asked[i]);
    if (b) {
        free(b->asked);
        free(b->mark);
        free(b->names);
        free(b->ops);
        free(b->results);
    }
    free(b);
}

static void request_free(request *r) {
    zkl_link *link = r->link;
    pthread_mutex_lock(&link->mutex);
    *(r->prev ? &r->prev->next : &link->requests) = r->next;
    if (r->next)
        r->next->prev = r->prev;
    if (!link->requests)
        pthread_cond_broadcast(&link->idle);
    pthread_mutex_unlock(&link->mutex);
    batch_free(r->batch);
    free(r);
}

/* The library took the request, or not: then nobody brings it back. */
static int sent(request *r, int rc) {
    if (rc != ZOK)
        request_free(r);
    else
        ++*r->link->sent_count;
    return rc;
}

/* completion thread; freed only after the owner has acted on it, so that a drained link has nothing
 * left to start */
static void answer(request *r, const zkl_reply *reply) {
    zkl_link *link = r->link;
    if (link->settled < r->handed)
        link->settled = r->handed;
    link->owner.answered(link->owner.ctx, link, &r->back, reply, r->handed,
                         zkl_proof_of(r->reach, reply->rc));
    request_free(r);
}

/* ---- answers ---- */

/* What the other side has sent may be anything: a server, or whoever sits on the connection, is not
 * trusted to keep to the protocol. An answer that cannot be right says nothing of what became of
 * the request. */
#define CORRUPT ZMARSHALLINGERROR

/* Exactly as the servers print one. */
static bool is_sequence(const char *text) {
    char printed[sizeof "-2147483648"];
    snprintf(printed, sizeof printed, "%010" PRId32, (int32_t)strtol(text, NULL, 10));
    return strcmp(printed, text) == 0;
}

/* Is it the path of what was asked for? */
static bool is_made(const char *made, const char *asked, bool sequence) {
    const size_t length = strlen(asked);
    if (!made || strncmp(made, asked, length) != 0)
        return false;
    return sequence ? is_sequence(made + length) : made[length] == '\0';
}

static bool is_name(const char *name) {
    return name && name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           !strchr(name, '/');
}

static bool are_names(const struct String_vector *names) {
    if (!names || names->count < 0 || (names->count > 0 && !names->data))
        return false;
    for (int32_t i = 0; i < names->count; i++)
        if (!is_name(names->data[i]))
            return false;
    return true;
}

static zkl_stat stat_of(const struct Stat *stat) {
    return (zkl_stat){stat->czxid, stat->ephemeralOwner, stat->ctime, stat->aversion};
}

static void on_void(int rc, const void *data) {
    answer((request *)data, &(zkl_reply){.rc = rc});
}

static void on_string(int rc, const char *value, const void *data) {
    (void)value;
    answer((request *)data, &(zkl_reply){.rc = rc});
}

static void on_create(int rc, const char *path, const struct Stat *stat, const void *data) {
    request *r = (request *)data;
    zkl_reply reply = {.rc = rc};
    zkl_stat copy;
    if (rc == ZOK && is_made(path, r->path, r->mode == ZKL_EPHEMERAL_SEQUENCE) && stat &&
        stat->czxid > 0) {
        copy = stat_of(stat);
        reply.stat = &copy;
        reply.path = path;
    } else if (rc == ZOK) {
        reply.rc = CORRUPT;
    }
    answer(r, &reply);
}

static void listed(int rc, const struct String_vector *names, const zkl_stat *stat,
                   const void *data) {
    zkl_reply reply = {.rc = rc, .stat = stat};
    if (rc == ZOK && are_names(names)) {
        reply.names = (const char *const *)names->data;
        reply.count = (size_t)names->count;
    } else if (rc == ZOK) {
        reply.rc = CORRUPT;
    }
    answer((request *)data, &reply);
}

static void on_list(int rc, const struct String_vector *names, const void *data) {
    listed(rc, names, NULL, data);
}

static void on_list_of(int rc, const struct String_vector *names, const struct Stat *stat,
                       const void *data) {
    const bool complete = rc != ZOK || stat;
    const zkl_stat copy = stat ? stat_of(stat) : (zkl_stat){0};
    listed(complete ? rc : CORRUPT, names, &copy, data);
}

static void on_acl(int rc, struct ACL_vector *acl, struct Stat *stat, const void *data) {
    zkl_reply reply = {.rc = rc};
    zkl_stat copy;
    if (rc == ZOK && stat && zkl_exposure_of(acl, &reply.exposed)) {
        copy = stat_of(stat);
        reply.stat = &copy;
    } else if (rc == ZOK) {
        reply.rc = CORRUPT;
    }
    answer((request *)data, &reply);
}

static void on_get(int rc, const char *value, int length, const struct Stat *stat,
                   const void *data) {
    zkl_reply reply = {.rc = rc};
    zkl_stat copy;
    if (rc == ZOK && stat && (value || length <= 0)) {
        copy = stat_of(stat);
        reply.stat = &copy;
        reply.data = length > 0 ? value : "";
        reply.length = length > 0 ? (size_t)length : 0;
    } else if (rc == ZOK) {
        reply.rc = CORRUPT;
    }
    answer((request *)data, &reply);
}

/* completion thread; one function and one context for all nodes, so that asking twice costs the
 * library nothing */
static void on_watch(zhandle_t *handle, int type, int state, const char *path, void *ctx) {
    (void)handle;
    (void)state;
    zkl_link *link = ctx;
    if (type == ZOO_SESSION_EVENT)
        return; /* every node watch hears those too */
    zkl_change change = ZKL_CHANGE_OTHER;
    if (type == ZOO_DELETED_EVENT)
        change = ZKL_CHANGE_DELETED;
    else if (type == ZOO_CHILD_EVENT)
        change = ZKL_CHANGE_CHILDREN;
    link->owner.watched(link->owner.ctx, link, path, change);
}

/* ---- the table ---- */

static struct ACL read_entries[2];
static struct ACL_vector read_acl = {2, read_entries};
static pthread_once_t read_once = PTHREAD_ONCE_INIT;

static void read_acl_fill(void) {
    read_entries[0] = (struct ACL){ZOO_PERM_READ, ZOO_ANYONE_ID_UNSAFE};
    read_entries[1] = (struct ACL){ZOO_PERM_ALL, ZOO_AUTH_IDS};
}

static const struct ACL_vector *acl_of(zkl_acl acl) {
    switch (acl) {
    case ZKL_ACL_CREATOR:
        return &ZOO_CREATOR_ALL_ACL;
    case ZKL_ACL_READ:
        pthread_once(&read_once, read_acl_fill);
        return &read_acl;
    case ZKL_ACL_OPEN:
        break;
    }
    return &ZOO_OPEN_ACL_UNSAFE;
}

static int mode_of(zkl_mode mode) {
    switch (mode) {
    case ZKL_EPHEMERAL:
        return ZOO_EPHEMERAL;
    case ZKL_EPHEMERAL_SEQUENCE:
        return ZOO_EPHEMERAL_SEQUENTIAL;
    case ZKL_CONTAINER:
        return ZOO_CONTAINER;
    case ZKL_PERSISTENT:
        break;
    }
    return ZOO_PERSISTENT;
}

static int port_create(zkl_port *port, const char *path, const char *data, zkl_mode mode,
                       zkl_acl acl, zkl_return back) {
    zkl_link *link = (zkl_link *)port;
    request *r = request_about(link, back, ZKL_REACH_QUORUM, path);
    if (!r)
        return ZMARSHALLINGERROR;
    r->mode = mode;
    return sent(r, zoo_acreate2(link->handle, path, data, (int)strlen(data), acl_of(acl),
                                mode_of(mode), on_create, r));
}

static bool all_made(const batch *b) {
    for (size_t i = 0; i < b->count; i++)
        if (!is_made(b->names[i], b->asked[i], true))
            return false;
    return true;
}

static void on_batch(int rc, const void *data) {
    request *r = (request *)data;
    const batch *b = r->batch;
    zkl_stat stat = {.czxid = b->mark ? b->stat.mzxid : 0};
    zkl_reply reply = {.rc = rc == ZOK && !all_made(b) ? CORRUPT : rc, .stat = &stat};
    if (reply.rc == ZOK) {
        reply.names = (const char *const *)b->names;
        reply.count = b->count;
    }
    answer(r, &reply);
}

/* A copy of the path, and room for it with the sequence that comes after it. */
static char *path_with_room(const char *path, size_t length) {
    char *both = calloc(1, 2 * (length + 1) + strlen("-2147483648"));
    if (both)
        memcpy(both, path, length);
    return both;
}

static bool add_create(batch *b, size_t i, const zkl_batch *asked, const struct ACL_vector *acl) {
    const size_t length = strlen(asked->paths[i]);
    b->asked[i] = path_with_room(asked->paths[i], length);
    if (!b->asked[i])
        return false;
    b->names[i] = b->asked[i] + length + 1;
    zoo_create_op_init(&b->ops[i], asked->paths[i], asked->data, (int)strlen(asked->data), acl,
                       ZOO_EPHEMERAL_SEQUENTIAL, b->names[i], (int)(length + sizeof "-2147483648"));
    return true;
}

static bool add_mark(batch *b, const char *mark, const struct ACL_vector *acl) {
    zoo_op_t *ops = b->ops + b->count;
    b->mark = strdup(mark);
    if (!b->mark)
        return false;
    zoo_create_op_init(&ops[0], b->mark, "", 0, acl, ZOO_PERSISTENT, NULL, 0);
    zoo_set_op_init(&ops[1], b->mark, "", 0, -1, &b->stat);
    zoo_delete_op_init(&ops[2], b->mark, -1);
    return true;
}

static batch *batch_new(const zkl_batch *asked, const struct ACL_vector *acl) {
    batch *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->count = asked->count;
    b->ops = calloc(b->count + MARK_OPS, sizeof *b->ops);
    b->results = calloc(b->count + MARK_OPS, sizeof *b->results);
    b->asked = calloc(b->count, sizeof *b->asked);
    b->names = calloc(b->count, sizeof *b->names);
    bool complete = b->ops && b->results && b->asked && b->names;
    for (size_t i = 0; complete && i < b->count; i++)
        complete = add_create(b, i, asked, acl);
    if (complete && asked->mark)
        complete = add_mark(b, asked->mark, acl);
    if (!complete) {
        batch_free(b);
        return NULL;
    }
    return b;
}

static int port_create_all(zkl_port *port, const zkl_batch *asked, zkl_acl acl, zkl_return back) {
    zkl_link *link = (zkl_link *)port;
    request *r = request_new(link, back, ZKL_REACH_QUORUM);
    if (!r)
        return ZMARSHALLINGERROR;
    r->batch = batch_new(asked, acl_of(acl));
    if (!r->batch)
        return sent(r, ZMARSHALLINGERROR);
    return sent(r, zoo_amulti(link->handle, (int)(asked->count + (asked->mark ? MARK_OPS : 0)),
                              r->batch->ops, r->batch->results, on_batch, r));
}

static int port_list(zkl_port *port, const char *path, bool watch, zkl_return back) {
    zkl_link *link = (zkl_link *)port;
    request *r = request_new(link, back, ZKL_REACH_SERVER);
    if (!r)
        return ZMARSHALLINGERROR;
    const watcher_fn fn = watch ? on_watch : NULL;
    if (link->config->acl != ZKL_ACL_OPEN)
        return sent(r, zoo_awget_children2(link->handle, path, fn, link, on_list_of, r));
    return sent(r, zoo_awget_children(link->handle, path, fn, link, on_list, r));
}

static int port_get(zkl_port *port, const char *path, bool watch, zkl_return back) {
    zkl_link *link = (zkl_link *)port;
    request *r = request_new(link, back, ZKL_REACH_SERVER);
    if (!r)
        return ZMARSHALLINGERROR;
    return sent(r, zoo_awget(link->handle, path, watch ? on_watch : NULL, link, on_get, r));
}

static void on_stat(int rc, const struct Stat *stat, const void *data) {
    (void)stat;
    answer((request *)data, &(zkl_reply){.rc = rc});
}

static int port_set(zkl_port *port, const char *path, const char *data, zkl_return back) {
    zkl_link *link = (zkl_link *)port;
    request *r = request_new(link, back, ZKL_REACH_QUORUM);
    if (!r)
        return ZMARSHALLINGERROR;
    return sent(r, zoo_aset(link->handle, path, data, (int)strlen(data), -1, on_stat, r));
}

static int port_erase(zkl_port *port, const char *path, zkl_return back) {
    zkl_link *link = (zkl_link *)port;
    request *r = request_new(link, back, ZKL_REACH_ERASE);
    return r ? sent(r, zoo_adelete(link->handle, path, -1, on_void, r)) : ZMARSHALLINGERROR;
}

static int port_sync(zkl_port *port, const char *path, zkl_return back) {
    zkl_link *link = (zkl_link *)port;
    request *r = request_new(link, back, ZKL_REACH_LEADER);
    return r ? sent(r, zoo_async(link->handle, path, on_string, r)) : ZMARSHALLINGERROR;
}

/* The library's declaration takes a pointer to the completion's type, and uses it as the
 * completion. */
static int port_unwatch(zkl_port *port, const char *path, bool list, zkl_return back) {
    zkl_link *link = (zkl_link *)port;
    request *r = request_new(link, back, ZKL_REACH_SERVER);
    return r ? sent(r, zoo_aremove_all_watches(link->handle, path,
                                               list ? ZWATCHTYPE_CHILD : ZWATCHTYPE_DATA, 0,
                                               (void_completion_t *)on_void, r))
             : ZMARSHALLINGERROR;
}

static int port_get_acl(zkl_port *port, const char *path, zkl_return back) {
    zkl_link *link = (zkl_link *)port;
    request *r = request_new(link, back, ZKL_REACH_SERVER);
    return r ? sent(r, zoo_aget_acl(link->handle, path, on_acl, r)) : ZMARSHALLINGERROR;
}

static const zkl_port_table table = {port_create, port_create_all, port_list,
                                     port_get,    port_set,        port_erase,
                                     port_sync,   port_unwatch,    port_get_acl};

/* ---- the session's turns ---- */

static void turn(zkl_link *link, zkl_link_event t) {
    link->owner.happened(link->owner.ctx, link, t);
}

/* IO thread. A refusal comes as a session event too, and that is the one we act on; after a cut the
 * library repeats the credentials by itself, but does not come back here. */
static void on_auth(int rc, const void *data) {
    zkl_link *link = (zkl_link *)data;
    if (rc != ZOK)
        return;
    pthread_mutex_lock(&link->mutex);
    const bool ready = link->auths_open > 0 && --link->auths_open == 0 && link->connected;
    pthread_mutex_unlock(&link->mutex);
    if (ready)
        turn(link, ZKL_LINK_CONNECTED);
}

/* Credentials are given in the CONNECTED event: at any other time the library may refuse them (it
 * does while it is between two servers). They overtake everything else on the wire. false: the link
 * went down meanwhile. */
static bool add_auths(zkl_link *link) {
    const zkl_config *config = link->config;
    pthread_mutex_lock(&link->mutex);
    link->auths_open = config->auth_count - link->auths_added;
    pthread_mutex_unlock(&link->mutex);
    for (; link->auths_added < config->auth_count; link->auths_added++) {
        const zkl_auth *auth = &config->auths[link->auths_added];
        if (zoo_add_auth(link->handle, auth->scheme, auth->credential,
                         (int)strlen(auth->credential), on_auth, link) != ZOK)
            return false;
    }
    return true;
}

/* A session is confirmed on some socket of the process to that server. */
static void confirmed(zkl_link *link, zhandle_t *handle) {
    struct sockaddr_storage server;
    socklen_t length = sizeof server;
    memset(&server, 0, sizeof server);
    const struct sockaddr *at =
        zookeeper_get_connected_host(handle, (struct sockaddr *)&server, &length);
    if (at)
        zkl_descriptors_mark_sockets(at, length);
    if (link->watchdog)
        zkl_watchdog_rest(link->watchdog, at, length, zkl_link_timeout(link));
}

/* Connected is told once the servers have taken new credentials too, so that a refusal is heard
 * before a success. */
static void connected(zkl_link *link, zhandle_t *handle) {
    pthread_mutex_lock(&link->mutex);
    if (!link->handle)
        link->handle = handle; /* zookeeper_init2 has not returned yet */
    if (!link->connected && link->root < link->settled)
        link->root = link->settled; /* what has come back by now was not on this connection */
    link->connected = true;
    pthread_mutex_unlock(&link->mutex);
    confirmed(link, handle);
    if (link->auths_added < link->config->auth_count) {
        add_auths(link); /* on_auth goes on; or the next CONNECTED, if the link is down again */
        return;
    }
    turn(link, ZKL_LINK_CONNECTED);
}

static void on_session(zhandle_t *handle, int type, int state, const char *path, void *ctx) {
    (void)path;
    zkl_link *link = ctx;
    if (type != ZOO_SESSION_EVENT)
        return;
    if (state == ZOO_CONNECTED_STATE) {
        connected(link, handle);
    } else if (state == ZOO_EXPIRED_SESSION_STATE) {
        turn(link, ZKL_LINK_EXPIRED);
    } else if (state == ZOO_AUTH_FAILED_STATE) {
        turn(link, ZKL_LINK_AUTH_FAILED);
    } else {
        pthread_mutex_lock(&link->mutex);
        link->connected = false;
        pthread_mutex_unlock(&link->mutex);
        if (link->watchdog)
            zkl_watchdog_duty(link->watchdog);
        turn(link, ZKL_LINK_SUSPENDED);
    }
}

/* ---- life ---- */

bool zkl_has_tls(void) {
    return zookeeper_init_ssl != NULL;
}

zkl_nanos zkl_link_asked(const zkl_config *config) {
    const zkl_nanos asked = zkl_clock_duration(config->session_timeout);
    return asked < TIMEOUT_LEAST ? TIMEOUT_LEAST : asked;
}

zkl_link *zkl_link_new(const zkl_link_owner *owner, const zkl_clock *clock, uint64_t *requests) {
    zkl_link *link = calloc(1, sizeof *link);
    if (!link)
        return NULL;
    link->port.call = &table;
    link->owner = *owner;
    link->clock = clock;
    link->sent_count = requests;
    pthread_mutex_init(&link->mutex, NULL);
    zkl_clock_cond_init(&link->idle);
    return link;
}

/* IO thread. The library comes back at once to a server that takes sessions and hangs up on them:
 * thousands of times a second, and whoever hears of the state as often. So many in a row, each
 * within a second, are no accident. */
static void pace(const char *message) {
    static _Thread_local zkl_nanos last;
    static _Thread_local unsigned streak;
    if (!strstr(message, " zk retcode=") || strstr(message, "server refused to accept"))
        return;
    const zkl_nanos now = zkl_clock_boot.now();
    streak = now - last < ZKL_SECOND ? streak + 1 : 0;
    last = now;
    if (streak >= STREAK)
        nanosleep(&(struct timespec){.tv_nsec = STREAK_PAUSE}, NULL);
}

static void log_plain(const char *message) {
    pace(message);
    zkl_log_library(message);
}

/* The library says that a connection failed, OpenSSL knows why: such lines come from the IO thread.
 * Where the library cannot load the files, which it could when we looked, it does not give the
 * connection up but tries again at once, thousands of times a second, until whoever replaces them
 * has done so. */
static void log_with_reason(const char *message) {
    const bool failed = strstr(message, " zk retcode="),
               stuck = !failed && strstr(message, "@init_ssl_for_socket@");
    const char *reason = failed || stuck ? zkl_tls_reason() : NULL;
    if (stuck)
        nanosleep(&(struct timespec){.tv_nsec = TLS_PAUSE}, NULL);
    char text[ZKL_LOG_LINE];
    if (reason) {
        snprintf(text, sizeof text, "%s: %s", message, reason);
        message = text;
    }
    log_plain(message);
}

static pthread_mutex_t tls_start = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t tls_once = PTHREAD_ONCE_INIT;
static FILE *nowhere;

static void in_child(void) {
    pthread_mutex_init(&tls_start, NULL);
}

static void prepare_tls(void) {
    pthread_atfork(NULL, NULL, in_child);
    nowhere = fopen("/dev/null", "we");
}

/* One at a time: the library takes its argument apart with strtok. It takes no log callback here:
 * what it says before it returns would go to stderr. */
static zhandle_t *start_tls(zkl_link *link, const char *addresses, int timeout,
                            const clientid_t *session) {
    zkl_nanos patience = timeout * (ZKL_SECOND / 1000) / 3;
    if (patience < PATIENCE_LEAST)
        patience = PATIENCE_LEAST;
    if (patience > PATIENCE_MOST)
        patience = PATIENCE_MOST;
    link->watchdog = zkl_watchdog_start(addresses, patience);
    if (!link->watchdog)
        return NULL;
    pthread_once(&tls_once, prepare_tls);
    pthread_mutex_lock(&tls_start);
    if (nowhere)
        zoo_set_log_stream(nowhere);
    zhandle_t *handle = zookeeper_init_ssl(addresses, link->config->tls, on_session, timeout,
                                           session, link, ZOO_NO_LOG_CLIENTENV);
    pthread_mutex_unlock(&tls_start);
    if (handle)
        zoo_set_log_callback(handle, log_with_reason);
    return handle;
}

/* The library has one for its connection and one for completions, and asserts that it gets them. */
enum { LIBRARY_THREADS = 2 };

static zhandle_t *start_handle(zkl_link *link, const char *addresses, const zkl_config *config,
                               const clientid_t *session) {
    const int timeout = (int)(zkl_link_asked(config) / (ZKL_SECOND / 1000));
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
    zoo_deterministic_conn_order(1);
    if (!zkl_process_has_room(LIBRARY_THREADS)) {
        errno = EAGAIN;
        return NULL;
    }
    if (config->tls)
        return start_tls(link, addresses, timeout, session);
    return zookeeper_init2(addresses, on_session, timeout, session, link, ZOO_NO_LOG_CLIENTENV,
                           log_plain);
}

bool zkl_link_start(zkl_link *link, const char *addresses, const zkl_config *config,
                    const zkl_identity *carried) {
    clientid_t session;
    if (carried) {
        session.client_id = carried->id;
        memcpy(session.passwd, carried->password, sizeof session.passwd);
    }
    sigset_t before;
    link->config = config;
    link->root = link->clock->now();
    zkl_signals_block(&before);
    zkl_descriptors *pipes = zkl_descriptors_pipes();
    zhandle_t *handle = NULL;
    if (pipes) /* or its pipes could not be told from others */
        handle = start_handle(link, addresses, config, carried ? &session : NULL);
    const int error = errno;
    zkl_descriptors_mark_new_pipes(pipes);
    zkl_signals_restore(&before);
    if (!handle) {
        errno = error;
        return false;
    }
    pthread_mutex_lock(&link->mutex);
    if (!link->handle)
        link->handle = handle;
    pthread_mutex_unlock(&link->mutex);
    zoo_set_servers_resolution_delay(handle, -1); /* they are numbers: nothing to look up again */
    return true;
}

zkl_port *zkl_link_port(zkl_link *link) {
    return &link->port;
}

bool zkl_link_connected(zkl_link *link) {
    pthread_mutex_lock(&link->mutex);
    const bool connected = link->connected;
    pthread_mutex_unlock(&link->mutex);
    return connected;
}

/* A socket that no session is confirmed on yet: those that are have been marked for exec. */
static void hang_up_if_new(int fd, void *ctx) {
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    memset(&peer, 0, sizeof peer);
    if (getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
        (peer.ss_family == AF_INET || peer.ss_family == AF_INET6) &&
        !(fcntl(fd, F_GETFD) & FD_CLOEXEC) &&
        zkl_servers_listed(ctx, (struct sockaddr *)&peer, length))
        shutdown(fd, SHUT_RDWR);
}

static bool is_connected(zhandle_t *handle) {
    const int state = zoo_state(handle);
    return state == ZOO_CONNECTED_STATE || state == ZOO_READONLY_STATE;
}

/* The library has no way to let go of a session, and tells the servers to end it when it closes a
 * handle that is connected. On each connection it asks for the session whose id is written in the
 * handle, or for a new one if that is 0. A connection on which it has asked for ours already is
 * cut, so that nothing more goes out on it; that of another client which asks at this moment is cut
 * as well, and tries again. */
bool zkl_link_part(zkl_link *link, const char *addresses, zkl_identity *identity) {
    clientid_t *session = (clientid_t *)zoo_client_id(link->handle);
    *identity = (zkl_identity){.id = session->client_id};
    memcpy(identity->password, session->passwd, sizeof identity->password);
    memset(session, 0, sizeof *session);
    zkl_descriptors_each(hang_up_if_new, (void *)addresses);
    nanosleep(&(struct timespec){.tv_nsec = PARTING}, NULL);
    return !is_connected(link->handle) || zkl_link_session(link) != identity->id;
}

int64_t zkl_link_session(zkl_link *link) {
    return zoo_client_id(link->handle)->client_id;
}

zkl_nanos zkl_link_timeout(zkl_link *link) {
    const int granted = zoo_recv_timeout(link->handle); /* what a server says, whoever that is */
    return (granted > 0 ? granted : 1) * (ZKL_SECOND / 1000);
}

zkl_nanos zkl_link_root(zkl_link *link) {
    pthread_mutex_lock(&link->mutex);
    const zkl_nanos root = link->root;
    pthread_mutex_unlock(&link->mutex);
    return root;
}

void zkl_link_drain(zkl_link *link, zkl_nanos deadline) {
    pthread_mutex_lock(&link->mutex);
    while (link->requests && zkl_clock_wait(link->clock, &link->idle, &link->mutex, deadline))
        continue;
    pthread_mutex_unlock(&link->mutex);
}

void zkl_link_close(zkl_link *link) {
    if (link->watchdog)
        zkl_watchdog_duty(link->watchdog);
    if (link->handle)
        zookeeper_close(link->handle); /* joins the threads: nobody else knows the link now */
    zkl_watchdog_stop(link->watchdog);
    for (request *r = link->requests, *next; r; r = next) {
        next = r->next;
        batch_free(r->batch);
        free(r);
    }
    pthread_cond_destroy(&link->idle);
    pthread_mutex_destroy(&link->mutex);
    free(link);
}
