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
#define MOST 20000 /* ms to wait for what should come at once */

/* A server that the kernel accepts connections for, and nobody else. */
typedef struct listener {
    int fd;
    struct sockaddr_in at;
    char address[32];
} listener;

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

static void hangs_up_on_a_server_that_says_nothing(void) {
    char list[80];
    snprintf(list, sizeof list, "%s,%s", other.address, ours.address);
    watchdog = zkl_watchdog_start(list, PATIENCE);
    CHECK(watchdog != NULL);
    CHECK(hung_up(call(&ours), MOST));
    CHECK(hung_up(call(&other), MOST));
}

static void hangs_up_on_a_server_that_says_no_more(void) {
    const int fd = call(&ours);
    answer(&ours);
    watchdog = zkl_watchdog_start(ours.address, PATIENCE);
    CHECK(hung_up(fd, MOST));
}

static void leaves_all_others_alone(void) {
    const int answered = call(&ours);
    answer(&ours);
    const int quiet = connect_to(&ours), elsewhere = call(&other), silent = call(&ours);
    watchdog = zkl_watchdog_start(ours.address, ZKL_SECOND / 2);
    CHECK(hung_up(silent, MOST));
    CHECK(!hung_up(answered, 0));
    CHECK(!hung_up(quiet, 0));
    CHECK(!hung_up(elsewhere, 0));
}

/* Another client's, whose session may be quiet for longer than any handshake. */
static void leaves_a_quiet_session_alone(void) {
    const int session = call(&ours), handshake = call(&other);
    answer(&ours);
    answer(&other);
    zkl_watchdog *healthy = zkl_watchdog_start(ours.address, ZKL_SECOND);
    CHECK(healthy != NULL);
    zkl_watchdog_rest(healthy, (struct sockaddr *)&ours.at, sizeof ours.at, 3600 * ZKL_SECOND);
    char list[80];
    snprintf(list, sizeof list, "%s,%s", ours.address, other.address);
    watchdog = zkl_watchdog_start(list, PATIENCE);
    const bool meanwhile = hung_up(handshake, MOST), early = hung_up(session, 0);
    zkl_watchdog_duty(healthy); /* the session's link is gone: what is there now is none */
    const bool later = hung_up(session, MOST);
    zkl_watchdog_stop(healthy);
    CHECK(meanwhile);
    CHECK(!early);
    CHECK(later);
}

static void does_nothing_off_duty(void) {
    watchdog = zkl_watchdog_start(ours.address, PATIENCE);
    zkl_watchdog_rest(watchdog, NULL, 0, 0);
    const int left = call(&ours), silent = call(&other);
    zkl_watchdog *longer = zkl_watchdog_start(other.address, 6 * PATIENCE);
    const bool meanwhile = hung_up(silent, MOST), early = hung_up(left, 0);
    zkl_watchdog_stop(longer);
    CHECK(meanwhile);
    CHECK(!early);
    zkl_watchdog_duty(watchdog);
    CHECK(hung_up(left, MOST));
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
    const int later = call(&ours);
    watchdog = zkl_watchdog_start(ours.address, PATIENCE);
    CHECK(hung_up(later, MOST)); /* they are looked at in turn */
    CHECK(atomic_load(&swapped_for) == -1);
    CHECK(!hung_up(other_one, 0));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"hangs up on a server that says nothing", hangs_up_on_a_server_that_says_nothing},
        {"hangs up on a server that says no more", hangs_up_on_a_server_that_says_no_more},
        {"leaves all others alone", leaves_all_others_alone},
        {"leaves another client's quiet session alone", leaves_a_quiet_session_alone},
        {"does nothing off duty", does_nothing_off_duty},
        {"leaves alone who got the number of a silent one",
         leaves_alone_who_got_the_number_of_a_silent_one},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
