/* SPDX-License-Identifier: MIT */
/* A lock in an epoll loop: takes the lock at PATH, holds it for SECONDS, and gives it back.
 *
 *   make install-lib && ldconfig    (as root)
 *   cc -o epoll examples/c/epoll.c $(pkg-config --cflags --libs zklock)
 *   ./epoll 127.0.0.1:2181 /locks/report 2
 */
#include <zklock.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void watch(int loop, int fd) {
    struct epoll_event event;
    memset(&event, 0, sizeof event);
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event);
}

/* The work under the lock: a timer that makes its descriptor readable once. */
static void begin_work(int work, double seconds) {
    struct itimerspec after;
    memset(&after, 0, sizeof after);
    after.it_value.tv_sec = (time_t)seconds;
    after.it_value.tv_nsec = (long)((seconds - (double)after.it_value.tv_sec) * 1e9) + 1;
    timerfd_settime(work, 0, &after, NULL);
}

int main(int argc, char **argv) {
    if (argc != 4)
        return fprintf(stderr, "usage: epoll SERVERS PATH SECONDS\n"), 64;
    const double seconds = atof(argv[3]);

    zkl_config config = ZKL_CONFIG_DEFAULTS;
    config.hosts = argv[1];
    config.identifier = "epoll";
    zkl_client *client;
    zkl_status status = zkl_open(&config, &client);
    if (status != ZKL_OK)
        return fprintf(stderr, "epoll: %s\n", zkl_status_text(status)), 1;

    zkl_terms terms = ZKL_TERMS_DEFAULTS;
    terms.deadline = zkl_clock_after(zkl_now(), 30);
    zkl_contender *lock;
    status = zkl_join(client, argv[2], 1, &terms, &lock);
    if (status != ZKL_OK)
        return fprintf(stderr, "epoll: %s\n", zkl_status_text(status)), 1;

    const int loop = epoll_create1(EPOLL_CLOEXEC);
    const int work = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    watch(loop, zkl_fd(client));
    watch(loop, work);

    bool over = false;
    while (!zkl_ended(client)) {
        struct epoll_event ready;
        uint64_t times;
        if (epoll_wait(loop, &ready, 1, -1) == 1 && ready.data.fd == work && !over &&
            read(work, &times, sizeof times) == sizeof times) {
            status = zkl_release(lock);
            over = true;
        }
        for (zkl_event event; zkl_peek(client, &event); zkl_forget(client, event.serial)) {
            if (event.kind == ZKL_EVENT_GRANTED) {
                printf("granted %" PRId64 "\n", event.token);
                fflush(stdout);
                begin_work(work, seconds);
            } else if (event.kind == ZKL_EVENT_LOST || event.kind == ZKL_EVENT_FAILED) {
                status = event.status;
                over = true;
            }
        }
        if (over)
            zkl_close(client); /* makes the descriptor readable once more, when it has ended */
    }
    puts(status == ZKL_OK ? "released" : zkl_status_text(status));
    zkl_drop(lock);
    zkl_free(client);
    return status == ZKL_OK ? 0 : 1;
}
