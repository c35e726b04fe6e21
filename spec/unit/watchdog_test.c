/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "zookeeper/watchdog.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATIENCE (ZKL_SECOND / 20)
#define MOST 10000 /* ms to wait for what should come at once */

/* A server that the kernel accepts connections for, and nobody else. */
typedef struct listener {
    int fd;
    struct sockaddr_in at;
    char address[32];
} listener;

/* As handles of libzookeeper begin since 3.6. */
static struct {
    _Atomic int fd;
    void *tls;
} its_socket;

static struct { const void *socket; } handle = {&its_socket};

static listener ours, other;
static zkl_watchdog *watchdog;
static int open_fds[16];
static size_t open_count;

static int kept(int fd) {
    CHECK(fd >= 0);
    open_fds[open_count++] = fd;
    return fd;
}

static void listen_at(listener *host) {
    socklen_t length = sizeof host->at;
    host->fd = kept(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    host->at =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK(bind(host->fd, (struct sockaddr *)&host->at, length) == 0);
    CHECK(listen(host->fd, 8) == 0);
    CHECK(getsockname(host->fd, (struct sockaddr *)&host->at, &length) == 0);
    snprintf(host->address, sizeof host->address, "127.0.0.1:%d", ntohs(host->at.sin_port));
}

static void begin(void) {
    open_count = 0;
    its_socket.fd = -1;
    watchdog = NULL;
    listen_at(&ours);
    listen_at(&other);
}

static void end(void) {
    zkl_watchdog_stop(watchdog);
    while (open_count)
        close(open_fds[--open_count]);
}

static int connect_to(const listener *host) {
    const int fd = kept(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    CHECK(connect(fd, (const struct sockaddr *)&host->at, sizeof host->at) == 0);
    return fd;
}

/* One that has said its first word, as a handshake does. */
static int call(const listener *host) {
    const int fd = connect_to(host);
    CHECK(send(fd, "hello", 5, MSG_NOSIGNAL) == 5);
    return fd;
}

static void answer(const listener *host) {
    CHECK(send(kept(accept(host->fd, NULL, NULL)), "!", 1, MSG_NOSIGNAL) == 1);
}

static bool hung_up(int fd, int wait) {
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};
    return poll(&p, 1, wait) == 1 && p.revents & POLLRDHUP;
}

/* The watchdog of a handle with this connection. */
static void watch_over(int fd, const char *addresses, zkl_nanos patience) {
    its_socket.fd = fd;
    watchdog = zkl_watchdog_start(addresses, patience);
    CHECK(watchdog != NULL);
    zkl_watchdog_watch(watchdog, (const zhandle_t *)(const void *)&handle);
}

static void hangs_up_on_a_server_that_says_nothing(void) {
    char list[80];
    snprintf(list, sizeof list, "%s,%s", other.address, ours.address);
    const int fd = call(&ours);
    watch_over(fd, list, PATIENCE);
    CHECK(hung_up(fd, MOST));
    const int next = call(&other);
    its_socket.fd = next;
    CHECK(hung_up(next, MOST));
}

static void hangs_up_on_a_server_that_says_no_more(void) {
    const int fd = call(&ours);
    answer(&ours);
    watch_over(fd, ours.address, PATIENCE);
    CHECK(hung_up(fd, MOST));
}

static void waits_for_a_server_that_has_time_to_answer(void) {
    const int answered = call(&ours);
    answer(&ours);
    watch_over(answered, ours.address, PATIENCE);
    CHECK(!hung_up(answered, 5 * PATIENCE / (ZKL_SECOND / 1000)));
    const int quiet = connect_to(&ours);
    its_socket.fd = quiet;
    CHECK(!hung_up(quiet, 5 * PATIENCE / (ZKL_SECOND / 1000)));
    const int elsewhere = call(&other);
    its_socket.fd = elsewhere;
    CHECK(!hung_up(elsewhere, 5 * PATIENCE / (ZKL_SECOND / 1000)));
}

/* Other libraries' of this process, or other clients'. */
static void leaves_silent_connections_of_others_alone(void) {
    const int before = call(&ours), own = call(&ours), after = call(&ours);
    watch_over(own, ours.address, PATIENCE);
    CHECK(hung_up(own, MOST));
    its_socket.fd = -1;
    CHECK(!hung_up(before, 5 * PATIENCE / (ZKL_SECOND / 1000)));
    CHECK(!hung_up(after, 0));
}

static void hangs_up_on_nobody_without_a_handle(void) {
    const int silent = call(&ours);
    watchdog = zkl_watchdog_start(ours.address, PATIENCE);
    CHECK(!hung_up(silent, 5 * PATIENCE / (ZKL_SECOND / 1000)));
    its_socket.fd = silent;
    zkl_watchdog_watch(watchdog, (const zhandle_t *)(const void *)&handle);
    CHECK(hung_up(silent, MOST));
}

/* Its handle may be freed then: the last connection is known, and later ones are looked for. */
static void ends_what_keeps_a_handle_from_being_closed(void) {
    const int own = call(&ours), foreign = call(&ours);
    watch_over(own, ours.address, ZKL_SECOND / 5);
    CHECK(hung_up(own, MOST)); /* by then the foreign one is silent for as long */
    const int last = call(&ours);
    its_socket.fd = last;
    zkl_watchdog_closing(watchdog);
    its_socket.fd = -1;
    const int later = call(&ours);
    CHECK(hung_up(last, MOST));
    CHECK(hung_up(later, MOST));
    CHECK(!hung_up(foreign, 0));
}

static void does_nothing_off_duty(void) {
    const int silent = call(&ours);
    watchdog = zkl_watchdog_start(ours.address, PATIENCE);
    zkl_watchdog_rest(watchdog);
    its_socket.fd = silent;
    zkl_watchdog_watch(watchdog, (const zhandle_t *)(const void *)&handle);
    CHECK(!hung_up(silent, 5 * PATIENCE / (ZKL_SECOND / 1000)));
    zkl_watchdog_duty(watchdog);
    CHECK(hung_up(silent, MOST));
}

static atomic_int swapped_for = -1;
static int swapped;

/* In the place of the system's: when the watchdog has just asked about `swapped`, that number is
 * another socket's. */
int getsockopt(int fd, int level, int name, void *value, socklen_t *length) {
    const int result = (int)syscall(SYS_getsockopt, fd, level, name, value, length);
    struct tcp_info info;
    const bool asked = level == IPPROTO_TCP && name == TCP_INFO && *length <= sizeof info;
    if (result != 0 || !asked || fd != swapped || atomic_load(&swapped_for) < 0)
        return result;
    memcpy(&info, value, *length);
    if (info.tcpi_last_data_sent >= PATIENCE / (ZKL_SECOND / 1000))
        CHECK(dup2(atomic_exchange(&swapped_for, -1), fd) == fd);
    return result;
}

static void leaves_alone_who_got_the_number_of_a_silent_one(void) {
    const int other_one = connect_to(&other);
    swapped = call(&ours);
    atomic_store(&swapped_for, other_one);
    watch_over(swapped, ours.address, PATIENCE);
    const int deadline = MOST / 10;
    for (int i = 0; i < deadline && atomic_load(&swapped_for) >= 0; i++)
        CHECK(!hung_up(other_one, 10));
    CHECK(atomic_load(&swapped_for) == -1);
    const int later = call(&ours);
    its_socket.fd = later;
    CHECK(hung_up(later, MOST));
    CHECK(!hung_up(other_one, 0));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"hangs up on a server that says nothing", hangs_up_on_a_server_that_says_nothing},
        {"hangs up on a server that says no more", hangs_up_on_a_server_that_says_no_more},
        {"waits for a server that has time to answer", waits_for_a_server_that_has_time_to_answer},
        {"leaves silent connections of others alone", leaves_silent_connections_of_others_alone},
        {"hangs up on nobody without a handle", hangs_up_on_nobody_without_a_handle},
        {"ends what keeps a handle from being closed", ends_what_keeps_a_handle_from_being_closed},
        {"does nothing off duty", does_nothing_off_duty},
        {"leaves alone who got the number of a silent one",
         leaves_alone_who_got_the_number_of_a_silent_one},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
