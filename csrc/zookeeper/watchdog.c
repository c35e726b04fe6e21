#include "zookeeper/watchdog.h"

#include "base/descriptors.h"
#include "base/list.h"
#include "base/process.h"
#include "zookeeper/servers.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Times the patience: for so long a handshake may stop half way. A session that is healthy can be
 * quiet for longer, but not for its timeout, as the library gives it up before. */
#define HALFWAY 20

struct zkl_watchdog {
    pthread_t thread;
    zkl_nanos patience;
    char *addresses;

    pthread_mutex_t mutex; /* a leaf; for what follows */
    pthread_cond_t changed;
    bool on_duty, stopping;

    zkl_list_item item;             /* in `all`; this and the following under its mutex */
    struct sockaddr_storage server; /* that a session is confirmed at */
    socklen_t server_length;        /* 0: there is none */
    zkl_nanos timeout;              /* the session's */
};

static pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
static pthread_once_t all_once = PTHREAD_ONCE_INIT;
static zkl_list all;

/* The watchdogs that a child inherits look after the parent's links. */
static void in_child(void) {
    pthread_mutex_init(&all_mutex, NULL);
    all = (zkl_list){0};
}

static void prepare(void) {
    pthread_atfork(NULL, NULL, in_child);
}

static void enlist(zkl_watchdog *watchdog) {
    pthread_once(&all_once, prepare);
    pthread_mutex_lock(&all_mutex);
    zkl_list_append(&all, &watchdog->item);
    pthread_mutex_unlock(&all_mutex);
}

static void delist(zkl_watchdog *watchdog) {
    pthread_mutex_lock(&all_mutex);
    ZKL_EACH (const zkl_watchdog, w, &all, item) {
        if (w == watchdog) /* otherwise it is the parent's */
            zkl_list_remove(&all, &watchdog->item);
    }
    pthread_mutex_unlock(&all_mutex);
}

static void set_session(zkl_watchdog *watchdog, const struct sockaddr *server, socklen_t length,
                        zkl_nanos timeout) {
    pthread_mutex_lock(&all_mutex);
    watchdog->server_length = server && length <= sizeof watchdog->server ? length : 0;
    if (watchdog->server_length)
        memcpy(&watchdog->server, server, length);
    watchdog->timeout = timeout;
    pthread_mutex_unlock(&all_mutex);
}

/* The longest that a healthy session of this process at that server may be quiet. */
static zkl_nanos longest_session(const struct sockaddr *server, socklen_t length) {
    zkl_nanos longest = 0;
    pthread_mutex_lock(&all_mutex);
    ZKL_EACH (const zkl_watchdog, w, &all, item) {
        if (w->server_length == length && memcmp(&w->server, server, length) == 0 &&
            w->timeout > longest)
            longest = w->timeout;
    }
    pthread_mutex_unlock(&all_mutex);
    return longest;
}

/* Has it had no byte of an answer, for longer than the patience since we wrote? A session's socket
 * has had one, and like it a handshake that stopped half way: these are told apart by time
 * alone. */
static bool silent(int fd, zkl_nanos patience, zkl_nanos session) {
    const zkl_nanos ms = ZKL_SECOND / 1000, limit = patience / ms,
                    halfway = session > HALFWAY * patience ? session / ms : HALFWAY * limit;
    struct tcp_info info;
    socklen_t length = sizeof info;
    memset(&info, 0, sizeof info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || info.tcpi_data_segs_out == 0)
        return false;
    return info.tcpi_bytes_received == 0 ? info.tcpi_last_data_sent >= limit
                                         : info.tcpi_last_data_recv >= halfway;
}

static bool is_to_be_hung_up(const zkl_watchdog *watchdog, int fd) {
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    memset(&peer, 0, sizeof peer);
    return getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
           (peer.ss_family == AF_INET || peer.ss_family == AF_INET6) &&
           zkl_servers_listed(watchdog->addresses, (struct sockaddr *)&peer, length) &&
           silent(fd, watchdog->patience, longest_session((struct sockaddr *)&peer, length));
}

/* Another thread may close the descriptor at any time, and its number be somebody else's: so what
 * is hung up on is a copy, and that is looked at. */
static void hang_up_if_silent(int fd, void *ctx) {
    const zkl_watchdog *watchdog = ctx;
    if (!is_to_be_hung_up(watchdog, fd))
        return;
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return; /* none is left: later */
    if (is_to_be_hung_up(watchdog, copy))
        shutdown(copy, SHUT_RDWR); /* the handshake fails, and the library tries the next server */
    close(copy);
}

/* locked. false: something has changed meanwhile. */
static bool pause_for(zkl_watchdog *watchdog, zkl_nanos pause) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const zkl_nanos at = now.tv_sec * ZKL_SECOND + now.tv_nsec + pause;
    return pthread_cond_timedwait(&watchdog->changed, &watchdog->mutex,
                                  &(struct timespec){at / ZKL_SECOND, at % ZKL_SECOND}) != 0;
}

static void *watch(void *ctx) {
    zkl_watchdog *watchdog = ctx;
    pthread_mutex_lock(&watchdog->mutex);
    while (!watchdog->stopping) {
        if (!watchdog->on_duty) {
            pthread_cond_wait(&watchdog->changed, &watchdog->mutex);
        } else if (pause_for(watchdog, watchdog->patience / 4)) {
            pthread_mutex_unlock(&watchdog->mutex);
            zkl_descriptors_each(hang_up_if_silent, watchdog);
            pthread_mutex_lock(&watchdog->mutex);
        }
    }
    pthread_mutex_unlock(&watchdog->mutex);
    return NULL;
}

static void release_memory(zkl_watchdog *watchdog) {
    pthread_cond_destroy(&watchdog->changed);
    pthread_mutex_destroy(&watchdog->mutex);
    free(watchdog->addresses);
    free(watchdog);
}

zkl_watchdog *zkl_watchdog_start(const char *addresses, zkl_nanos patience) {
    zkl_watchdog *watchdog = calloc(1, sizeof *watchdog);
    if (!watchdog)
        return NULL;
    watchdog->addresses = strdup(addresses);
    watchdog->patience = patience;
    watchdog->on_duty = true;
    pthread_mutex_init(&watchdog->mutex, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&watchdog->changed, &attr);
    pthread_condattr_destroy(&attr);
    if (!watchdog->addresses || !zkl_thread_start(&watchdog->thread, watch, watchdog)) {
        release_memory(watchdog);
        return NULL;
    }
    enlist(watchdog);
    return watchdog;
}

static void set_duty(zkl_watchdog *watchdog, bool on) {
    pthread_mutex_lock(&watchdog->mutex);
    watchdog->on_duty = on;
    pthread_cond_signal(&watchdog->changed);
    pthread_mutex_unlock(&watchdog->mutex);
}

void zkl_watchdog_rest(zkl_watchdog *watchdog, const struct sockaddr *server, socklen_t length,
                       zkl_nanos timeout) {
    set_session(watchdog, server, length, timeout);
    set_duty(watchdog, false);
}

void zkl_watchdog_duty(zkl_watchdog *watchdog) {
    set_session(watchdog, NULL, 0, 0);
    set_duty(watchdog, true);
}

void zkl_watchdog_stop(zkl_watchdog *watchdog) {
    if (!watchdog)
        return;
    pthread_mutex_lock(&watchdog->mutex);
    watchdog->stopping = true;
    pthread_cond_signal(&watchdog->changed);
    pthread_mutex_unlock(&watchdog->mutex);
    pthread_join(watchdog->thread, NULL);
    delist(watchdog);
    release_memory(watchdog);
}
