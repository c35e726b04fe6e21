/* SPDX-License-Identifier: MIT */
#include "zookeeper/watchdog.h"

#include "base/descriptors.h"
#include "base/process.h"
#include "zookeeper/servers.h"
#include "zookeeper/socket.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A handshake may stop half-way for so many times the patience. */
#define HALFWAY 20

struct zkl_watchdog {
    pthread_t thread;
    zkl_nanos patience;
    char *addresses;

    pthread_mutex_t mutex; /* a leaf; for the fields below */
    pthread_cond_t changed;
    bool on_duty, stopping;
    const zhandle_t *handle; /* NULL: not set yet, or being closed */
    zkl_nanos closing;       /* since when it is being closed; 0: it is not */
    int last;                /* the handle's descriptor at that moment; -1: none */
};

static zkl_nanos now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * ZKL_SECOND + t.tv_nsec;
}

/* True if it may be the connection of the handle that is being closed: it existed before, or has
 * sent something since. */
static bool is_candidate(const zkl_watchdog *watchdog, int number, zkl_nanos sent) {
    return !watchdog->closing || number == watchdog->last || sent <= now() - watchdog->closing;
}

/* True if it has received no byte for longer than the patience since we wrote. A handshake that
 * stopped half-way has received some; only time shows that. */
static bool is_silent(const zkl_watchdog *watchdog, int fd, int number) {
    const zkl_nanos ms = ZKL_SECOND / 1000, limit = watchdog->patience / ms;
    struct tcp_info info;
    socklen_t length = sizeof info;
    memset(&info, 0, sizeof info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || info.tcpi_data_segs_out == 0)
        return false;
    const bool is_late = info.tcpi_bytes_received == 0
                             ? info.tcpi_last_data_sent >= limit
                             : info.tcpi_last_data_recv >= HALFWAY * limit;
    return is_late && is_candidate(watchdog, number, info.tcpi_last_data_sent * ms);
}

static bool is_to_be_hung_up(const zkl_watchdog *watchdog, int fd, int number) {
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    memset(&peer, 0, sizeof peer);
    return getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
           (peer.ss_family == AF_INET || peer.ss_family == AF_INET6) &&
           zkl_servers_listed(watchdog->addresses, (struct sockaddr *)&peer, length) &&
           is_silent(watchdog, fd, number);
}

/* Another thread may close the descriptor at any time, and another file may get its number. So this
 * checks a copy, and shuts that down. */
static void hang_up_if_silent(int fd, void *ctx) {
    const zkl_watchdog *watchdog = ctx;
    if (!is_to_be_hung_up(watchdog, fd, fd))
        return;
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return; /* no descriptor is left: later */
    if (is_to_be_hung_up(watchdog, copy, fd) &&
        (!watchdog->handle || zkl_socket_presumed(watchdog->handle) == fd))
        /* the handshake fails, and the library tries the next server */
        shutdown(copy, SHUT_RDWR);
    close(copy);
}

/* locked. The library frees a handle while it closes it, so this checks all sockets then. */
static void look(zkl_watchdog *watchdog) {
    if (watchdog->closing)
        zkl_descriptors_each(hang_up_if_silent, watchdog);
    else if (watchdog->handle && zkl_socket_presumed(watchdog->handle) >= 0)
        hang_up_if_silent(zkl_socket_presumed(watchdog->handle), watchdog);
}

/* locked. false: something has changed meanwhile. */
static bool pause_for(zkl_watchdog *watchdog, zkl_nanos pause) {
    const zkl_nanos at = now() + pause;
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
            look(watchdog);
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
    watchdog->last = -1;
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
    return watchdog;
}

static void set_duty(zkl_watchdog *watchdog, bool on) {
    pthread_mutex_lock(&watchdog->mutex);
    watchdog->on_duty = on;
    pthread_cond_signal(&watchdog->changed);
    pthread_mutex_unlock(&watchdog->mutex);
}

void zkl_watchdog_watch(zkl_watchdog *watchdog, const zhandle_t *handle) {
    pthread_mutex_lock(&watchdog->mutex);
    watchdog->handle = handle;
    pthread_mutex_unlock(&watchdog->mutex);
}

void zkl_watchdog_rest(zkl_watchdog *watchdog) {
    set_duty(watchdog, false);
}

void zkl_watchdog_duty(zkl_watchdog *watchdog) {
    set_duty(watchdog, true);
}

void zkl_watchdog_closing(zkl_watchdog *watchdog) {
    pthread_mutex_lock(&watchdog->mutex);
    if (watchdog->handle)
        watchdog->last = zkl_socket_presumed(watchdog->handle);
    watchdog->handle = NULL;
    watchdog->closing = now();
    pthread_mutex_unlock(&watchdog->mutex);
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
    release_memory(watchdog);
}
