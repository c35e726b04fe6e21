/* SPDX-License-Identifier: MIT */
#include "zookeeper/link.h"

#include "base/descriptors.h"
#include "base/process.h"
#include "base/status.h"
#include "zookeeper/link_state.h"
#include "zookeeper/log.h"
#include "zookeeper/operations.h"
#include "zookeeper/outgoing_request.h"
#include "zookeeper/socket.h"
#include "zookeeper/tls.h"
#include "zookeeper/watchdog.h"
#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* The library gives a server a third of it for its first answer; the servers grant at least their
 * own minimum anyway. */
#define TIMEOUT_LEAST (3 * ZKL_SECOND / 10)

/* A server that has accepted a TLS connection also gets a third of the timeout, within these
 * bounds. */
#define PATIENCE_LEAST (2 * ZKL_SECOND)
#define PATIENCE_MOST (3 * ZKL_SECOND)
#define TLS_PAUSE (ZKL_SECOND / 5)
/* How many lost connections in a row are free, and the pause for each further one. */
#define STREAK 5
#define STREAK_PAUSE (ZKL_SECOND / 10)
#define STREAK_PAUSE_MOST (2 * ZKL_SECOND / 5)
/* The library waits two thirds of the timeout for a server. If it leaves one as timed out sooner
 * than this, the server has granted less than TIMEOUT_LEAST. */
#define HASTY (TIMEOUT_LEAST / 3)
/* How long the library may take to finish what it was doing with a handle: some lines of code. On a
 * busy machine its threads get no turn for that long, so there are several looks. */
#define PARTING (ZKL_SECOND / 20)
#define PARTING_LOOKS 40

/* Builds of libzookeeper without TLS lack it; the header declares it only for builds with TLS. */
extern zhandle_t *zookeeper_init_ssl(const char *host, const char *cert, watcher_fn fn,
                                     int recv_timeout, const clientid_t *clientid, void *context,
                                     int flags) __attribute__((weak));

/* ---- events of the library ---- */

static void turn(zkl_link *link, zkl_link_event t) {
    link->owner.happened(link->owner.ctx, link, t);
}

static void auths_accepted(zkl_link *link, size_t count) {
    pthread_mutex_lock(&link->mutex);
    const size_t open = link->auths_open;
    link->auths_open -= count < open ? count : open;
    const bool ready = open > 0 && !link->auths_open && link->connected;
    pthread_mutex_unlock(&link->mutex);
    if (ready)
        turn(link, ZKL_LINK_CONNECTED);
}

/* IO thread. A refusal also comes as a session event, which is the one that counts. After a cut the
 * library repeats the credentials by itself, without another call of this function. */
static void on_auth(int rc, const void *data) {
    if (rc == ZOK)
        auths_accepted((zkl_link *)data, 1);
}

/* The servers answer in order, and hang up when they refuse credentials: they have accepted all. */
static void on_woken(int rc, const struct Stat *stat, const void *data) {
    zkl_link *link = (zkl_link *)data;
    (void)stat;
    if (rc != ZAUTHFAILED && !zkl_status_unknown(rc))
        auths_accepted(link, link->config->auth_count);
}

/* Credentials do not wake the library's IO thread (with Debian's patch they do), so they would wait
 * for its next ping, up to a third of the timeout. A request behind them wakes it. Its answer
 * counts if the connection was cut off before the servers had answered the credentials: a refusal
 * is often lost that way, because servers hang up behind it. */
static int wake(zkl_link *link) {
    return zoo_awexists(link->handle, "/", NULL, NULL, on_woken, link);
}

/* Credentials go out in the CONNECTED event: at other times the library may refuse them (it does
 * between two servers). They overtake everything else on the wire. false: the link went down
 * meanwhile. */
static bool add_auths(zkl_link *link) {
    const zkl_config *config = link->config;
    pthread_mutex_lock(&link->mutex);
    link->auths_open = config->auth_count;
    pthread_mutex_unlock(&link->mutex);
    for (; link->auths_added < config->auth_count; link->auths_added++) {
        const zkl_auth *auth = &config->auths[link->auths_added];
        if (zoo_add_auth(link->handle, auth->scheme, auth->credential,
                         (int)strlen(auth->credential), on_auth, link) != ZOK)
            return false;
    }
    wake(link);
    return true;
}

static void confirmed(zkl_link *link, zhandle_t *handle) {
    struct sockaddr_storage server;
    socklen_t length = sizeof server;
    memset(&server, 0, sizeof server);
    const struct sockaddr *at =
        zookeeper_get_connected_host(handle, (struct sockaddr *)&server, &length);
    if (at)
        zkl_socket_confirmed(handle, at, length);
    if (link->watchdog)
        zkl_watchdog_rest(link->watchdog);
}

/* The library computes two thirds of it as an int. If the result is 0 or less, it hangs up on every
 * server from then on, until a server confirms another timeout. */
static bool is_usable(int granted) {
    return granted > 0 && granted <= INT_MAX / 2;
}

/* Reports CONNECTED only after the servers have accepted new credentials, so that the client hears
 * of a refusal before a success. */
static void connected(zkl_link *link, zhandle_t *handle) {
    const bool usable = is_usable(zoo_recv_timeout(handle));
    pthread_mutex_lock(&link->mutex);
    const bool again = link->connected; /* a server may send this without being asked */
    if (!link->handle)
        link->handle = handle; /* zookeeper_init2 has not returned yet */
    if (!usable)
        link->connected = false;
    pthread_mutex_unlock(&link->mutex);
    if (!usable) {
        turn(link, ZKL_LINK_SPOILED);
        return;
    }
    if (again)
        return;
    pthread_mutex_lock(&link->mutex);
    if (!link->connected && link->root < link->settled)
        link->root = link->settled; /* earlier answers came from another connection */
    link->connected = true;
    const bool unanswered = link->auths_open > 0;
    pthread_mutex_unlock(&link->mutex);
    confirmed(link, handle);
    if (link->auths_added < link->config->auth_count)
        add_auths(link); /* on_auth continues; or the next CONNECTED, if the link is down again */
    else if (!unanswered || wake(link) == ZMARSHALLINGERROR) /* no memory: nothing would tell */
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

zkl_link *zkl_link_new(const zkl_link_owner *owner, zkl_context *context) {
    zkl_link *link = calloc(1, sizeof *link);
    if (!link)
        return NULL;
    link->port.call = zkl_operations();
    link->owner = *owner;
    link->clock = context->clock;
    link->context = context;
    pthread_mutex_init(&link->mutex, NULL);
    zkl_clock_cond_init(&link->idle);
    return link;
}

/* True if the library has left a server as timed out before any server could have answered. It does
 * so with each connection once a server has granted a few milliseconds, or no time at all. */
static bool is_hasty(const char *message, zkl_nanos since) {
    return since < HASTY && strstr(message, " zk retcode=-7,");
}

/* IO thread. If a server accepts a connection and then hangs up, the library connects again at
 * once, thousands of times a second. Each time it queues a change of state for its other thread. So
 * many failures in a row, each within a second, are no accident. */
static void pace(const char *message) {
    static _Thread_local zkl_nanos last;
    static _Thread_local unsigned streak;
    if (!strstr(message, " zk retcode=") || strstr(message, "server refused to accept"))
        return;
    const zkl_nanos now = zkl_clock_boot.now(), since = now - last;
    streak = since < ZKL_SECOND ? streak + 1 : 0;
    last = now;
    if (streak < STREAK && is_hasty(message, since))
        streak = STREAK;
    if (streak < STREAK)
        return;
    const zkl_nanos pause = STREAK_PAUSE * (streak / STREAK);
    nanosleep(&(struct timespec){.tv_nsec = pause < STREAK_PAUSE_MOST ? pause : STREAK_PAUSE_MOST},
              NULL);
}

static void log_plain(const char *message) {
    pace(message);
    zkl_log_library(message, NULL);
}

/* The library reports that a connection failed, and OpenSSL knows why: such lines come from the IO
 * thread. If the library cannot load the files any more, it does not give up the connection but
 * tries again at once, thousands of times a second, until an operator has replaced them. */
static void log_with_reason(const char *message) {
    const bool failed = strstr(message, " zk retcode="),
               stuck = !failed && strstr(message, "@init_ssl_for_socket@");
    const char *reason = failed || stuck ? zkl_tls_reason() : NULL;
    if (stuck)
        nanosleep(&(struct timespec){.tv_nsec = TLS_PAUSE}, NULL);
    pace(message);
    zkl_log_library(message, reason);
}

static pthread_mutex_t *tls_start;
static pthread_once_t tls_once = PTHREAD_ONCE_INIT;
static FILE *nowhere;

__attribute__((constructor)) static void prepare(void) {
    tls_start = zkl_process_memory(sizeof *tls_start);
}

static void prepare_tls(void) {
    nowhere = fopen("/dev/null", "we");
}

/* One at a time: the library splits its argument with strtok. It accepts no log callback here, so
 * its lines would go to stderr until it returns. */
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
    pthread_mutex_lock(tls_start);
    if (nowhere)
        zoo_set_log_stream(nowhere);
    zhandle_t *handle = zookeeper_init_ssl(addresses, link->config->tls, on_session, timeout,
                                           session, link, ZOO_NO_LOG_CLIENTENV);
    pthread_mutex_unlock(tls_start);
    if (handle) {
        zoo_set_log_callback(handle, log_with_reason);
        zkl_watchdog_watch(link->watchdog, handle);
    }
    return handle;
}

/* The library starts one thread for its connection and one for completions, and asserts that it
 * gets them. */
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
    if (pipes) /* otherwise its pipes could not be told from others */
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
    /* the addresses are numeric: there is nothing to look up again */
    zoo_set_servers_resolution_delay(handle, -1);
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

static bool is_connected(zhandle_t *handle) {
    const int state = zoo_state(handle);
    return state == ZOO_CONNECTED_STATE || state == ZOO_READONLY_STATE;
}

/* The library cannot let go of a session: when it closes a connected handle, it tells the servers
 * to end the session. On each connection it asks for the session whose id is in the handle, or for
 * a new one if that is 0; the answer overwrites the id. So this clears the id and cuts a connection
 * that has already asked for our session, until the handle has a session of its own, or neither a
 * connection nor our id. A handle that is connected and has no id still has our session. */
bool zkl_link_part(zkl_link *link, zkl_identity *identity) {
    clientid_t *session = (clientid_t *)zoo_client_id(link->handle);
    *identity = (zkl_identity){.id = session->client_id};
    memcpy(identity->password, session->passwd, sizeof identity->password);
    for (unsigned looks = 0; looks < PARTING_LOOKS; looks++) {
        memset(session, 0, sizeof *session);
        zkl_socket_hang_up(link->handle);
        nanosleep(&(struct timespec){.tv_nsec = PARTING}, NULL);
        const int64_t id = session->client_id;
        if (id != identity->id && (id != 0 || !is_connected(link->handle)))
            return true;
    }
    return false;
}

zkl_identity zkl_link_identity(zkl_link *link) {
    const clientid_t *session = zoo_client_id(link->handle);
    zkl_identity identity = {.id = session->client_id};
    memcpy(identity.password, session->passwd, sizeof identity.password);
    return identity;
}

zkl_nanos zkl_link_timeout(zkl_link *link) {
    const int granted = zoo_recv_timeout(link->handle); /* the server's word, whoever that is */
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
    while (link->requests.first && zkl_clock_wait(link->clock, &link->idle, &link->mutex, deadline))
        continue;
    pthread_mutex_unlock(&link->mutex);
}

void zkl_link_close(zkl_link *link) {
    if (link->watchdog)
        zkl_watchdog_closing(link->watchdog);
    if (link->handle)
        /* joins the threads: nothing else refers to the link now */
        zookeeper_close(link->handle);
    zkl_watchdog_stop(link->watchdog);
    zkl_outgoing_request_forget(link);
    pthread_cond_destroy(&link->idle);
    pthread_mutex_destroy(&link->mutex);
    free(link);
}
