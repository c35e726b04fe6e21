#include "zookeeper/watchdog.h"

#include "base/descriptors.h"
#include "base/process.h"
#include "zookeeper/servers.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Times the patience: for so long a handshake may stop half way. A session that is healthy can be quiet for longer, but not
 * for its timeout, as the library gives it up before. */
#define HALFWAY 20

struct zkl_rescue {
    pthread_t thread;
    zkl_nanos patience;
    char *addresses;

    pthread_mutex_t mutex; /* a leaf; for what follows */
    pthread_cond_t changed;
    bool on_duty, stopping;

    zkl_rescue *next;               /* these under the mutex of all */
    struct sockaddr_storage server; /* that a session is confirmed at */
    socklen_t server_length;        /* 0: there is none */
    zkl_nanos timeout;              /* the session's */
};

static pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
static pthread_once_t all_once = PTHREAD_ONCE_INIT;
static zkl_rescue *all;

/* Those that it inherits look after the parent's links. */
static void in_child(void) {
    pthread_mutex_init(&all_mutex, NULL);
    all = NULL;
}

static void prepare(void) {
    pthread_atfork(NULL, NULL, in_child);
}

static void enlist(zkl_rescue *rescue) {
    pthread_once(&all_once, prepare);
    pthread_mutex_lock(&all_mutex);
    rescue->next = all;
    all = rescue;
    pthread_mutex_unlock(&all_mutex);
}

static void delist(zkl_rescue *rescue) {
    pthread_mutex_lock(&all_mutex);
    for (zkl_rescue **r = &all; *r; r = &(*r)->next) {
        if (*r != rescue)
            continue;
        *r = rescue->next;
        break;
    }
    pthread_mutex_unlock(&all_mutex);
}

static void set_session(zkl_rescue *rescue, const struct sockaddr *server, socklen_t length,
                        zkl_nanos timeout) {
    pthread_mutex_lock(&all_mutex);
    rescue->server_length = server && length <= sizeof rescue->server ? length : 0;
    if (rescue->server_length)
        memcpy(&rescue->server, server, length);
    rescue->timeout = timeout;
    pthread_mutex_unlock(&all_mutex);
}

/* The longest that a healthy session of this process at that server may be quiet. */
static zkl_nanos longest_session(const struct sockaddr *server, socklen_t length) {
    zkl_nanos longest = 0;
    pthread_mutex_lock(&all_mutex);
    for (const zkl_rescue *r = all; r; r = r->next)
        if (r->server_length == length && memcmp(&r->server, server, length) == 0 &&
            r->timeout > longest)
            longest = r->timeout;
    pthread_mutex_unlock(&all_mutex);
    return longest;
}

/* Has it had no byte of an answer, for longer than the patience since we wrote? A session's socket has had one, and like
 * it a handshake that stopped half way: these are told apart by time alone. */
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

static void hang_up_if_silent(int fd, void *ctx) {
    const zkl_rescue *rescue = ctx;
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    memset(&peer, 0, sizeof peer);
    if (getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
        (peer.ss_family == AF_INET || peer.ss_family == AF_INET6) &&
        zkl_servers_listed(rescue->addresses, (struct sockaddr *)&peer, length) &&
        silent(fd, rescue->patience, longest_session((struct sockaddr *)&peer, length)))
        shutdown(fd, SHUT_RDWR); /* the handshake fails, and the library tries the next server */
}

/* locked. false: something has changed meanwhile. */
static bool pause_for(zkl_rescue *rescue, zkl_nanos pause) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const zkl_nanos at = now.tv_sec * ZKL_SECOND + now.tv_nsec + pause;
    return pthread_cond_timedwait(&rescue->changed, &rescue->mutex,
                                  &(struct timespec){at / ZKL_SECOND, at % ZKL_SECOND}) != 0;
}

static void *watch(void *ctx) {
    zkl_rescue *rescue = ctx;
    pthread_mutex_lock(&rescue->mutex);
    while (!rescue->stopping) {
        if (!rescue->on_duty) {
            pthread_cond_wait(&rescue->changed, &rescue->mutex);
        } else if (pause_for(rescue, rescue->patience / 4)) {
            pthread_mutex_unlock(&rescue->mutex);
            zkl_descriptors_each(hang_up_if_silent, rescue);
            pthread_mutex_lock(&rescue->mutex);
        }
    }
    pthread_mutex_unlock(&rescue->mutex);
    return NULL;
}

static void release_memory(zkl_rescue *rescue) {
    pthread_cond_destroy(&rescue->changed);
    pthread_mutex_destroy(&rescue->mutex);
    free(rescue->addresses);
    free(rescue);
}

zkl_rescue *zkl_rescue_start(const char *addresses, zkl_nanos patience) {
    zkl_rescue *rescue = calloc(1, sizeof *rescue);
    if (!rescue)
        return NULL;
    rescue->addresses = strdup(addresses);
    rescue->patience = patience;
    rescue->on_duty = true;
    pthread_mutex_init(&rescue->mutex, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&rescue->changed, &attr);
    pthread_condattr_destroy(&attr);
    if (!rescue->addresses || !zkl_thread_start(&rescue->thread, watch, rescue)) {
        release_memory(rescue);
        return NULL;
    }
    enlist(rescue);
    return rescue;
}

static void set_duty(zkl_rescue *rescue, bool on) {
    pthread_mutex_lock(&rescue->mutex);
    rescue->on_duty = on;
    pthread_cond_signal(&rescue->changed);
    pthread_mutex_unlock(&rescue->mutex);
}

void zkl_rescue_rest(zkl_rescue *rescue, const struct sockaddr *server, socklen_t length,
                     zkl_nanos timeout) {
    set_session(rescue, server, length, timeout);
    set_duty(rescue, false);
}

void zkl_rescue_duty(zkl_rescue *rescue) {
    set_session(rescue, NULL, 0, 0);
    set_duty(rescue, true);
}

void zkl_rescue_stop(zkl_rescue *rescue) {
    if (!rescue)
        return;
    pthread_mutex_lock(&rescue->mutex);
    rescue->stopping = true;
    pthread_cond_signal(&rescue->changed);
    pthread_mutex_unlock(&rescue->mutex);
    pthread_join(rescue->thread, NULL);
    delist(rescue);
    release_memory(rescue);
}
