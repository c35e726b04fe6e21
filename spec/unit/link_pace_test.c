/* SPDX-License-Identifier: MIT */
/* How long the thread of a handle rests before it connects again. The library is made up: it tells
 * the link in a log line why it left a server. */
#include "check.h"

#include "zookeeper/link.h"

#include <string.h>
#include <time.h>
#include <zookeeper/zookeeper.h>

#define MS (ZKL_SECOND / 1000)

static log_callback_fn say;
static zkl_nanos clock_ns, slept;

zhandle_t *zookeeper_init2(const char *host, watcher_fn watcher, int timeout,
                           const clientid_t *session, void *context, int flags,
                           log_callback_fn log) {
    (void)host, (void)watcher, (void)timeout, (void)session, (void)context, (void)flags;
    say = log;
    return NULL;
}

int clock_gettime(clockid_t id, struct timespec *t) {
    (void)id;
    *t = (struct timespec){clock_ns / ZKL_SECOND, clock_ns % ZKL_SECOND};
    return 0;
}

int nanosleep(const struct timespec *pause, struct timespec *left) {
    (void)left;
    slept += pause->tv_sec * ZKL_SECOND + pause->tv_nsec;
    return 0;
}

/* The case begins long after the one before it. */
static void begin(void) {
    const zkl_link_owner owner = {0};
    const zkl_config config = {.session_timeout = 4};
    zkl_context context = {.clock = &zkl_clock_boot};
    zkl_link *link = zkl_link_new(&owner, &context);
    clock_ns += 100 * ZKL_SECOND;
    CHECK(!zkl_link_start(link, "127.0.0.1:2181", &config, NULL));
    zkl_link_close(link);
    CHECK(say != NULL);
}

/* The library says this when `ms` have passed. Returns for how many milliseconds its thread then
 * rests. */
static int rests_after(int ms, const char *line) {
    clock_ns += ms * MS;
    slept = 0;
    say(line);
    clock_ns += slept;
    return (int)(slept / MS);
}

static const char TIMED_OUT[] =
    "2026-01-01 00:00:00,000:1(0x1):ZOO_ERROR@zookeeper_interest@2648: Socket 10.0.0.1:2181 zk "
    "retcode=-7, errno=110(Connection timed out): connection to 10.0.0.1:2181 timed out (exceeded "
    "timeout by 0ms)";
static const char HUNG_UP[] =
    "2026-01-01 00:00:00,000:1(0x1):ZOO_ERROR@check_events@2998: Socket 10.0.0.1:2181 zk "
    "retcode=-4, errno=112(Host is down): failed while receiving a server response";
static const char REFUSED[] =
    "2026-01-01 00:00:00,000:1(0x1):ZOO_ERROR@check_events@2982: Socket 10.0.0.1:2181 zk "
    "retcode=-4, errno=111(Connection refused): server refused to accept the client";

static void a_server_that_granted_no_time_is_left_for_a_tenth_of_a_second(void) {
    CHECK_INT(rests_after(0, TIMED_OUT), 0);
    CHECK_INT(rests_after(1, TIMED_OUT), 100);
    CHECK_INT(rests_after(1, TIMED_OUT), 100);
}

static void the_pauses_grow_to_four_tenths_of_a_second(void) {
    int last = 0;
    rests_after(0, TIMED_OUT);
    for (int i = 0; i < 40; i++) {
        const int pause = rests_after(1, TIMED_OUT);
        CHECK(pause >= last);
        last = pause;
    }
    CHECK_INT(last, 400);
}

/* It gives a server 200 ms at least when the servers grant what they were asked for. */
static void a_server_that_did_not_answer_in_time_is_left_at_once(void) {
    rests_after(0, HUNG_UP);
    CHECK_INT(rests_after(200, TIMED_OUT), 0);
    CHECK_INT(rests_after(200, TIMED_OUT), 0);
}

static void five_servers_may_hang_up_before_a_pause(void) {
    for (int i = 0; i < 5; i++)
        CHECK_INT(rests_after(1, HUNG_UP), 0);
    CHECK_INT(rests_after(1, HUNG_UP), 100);
    CHECK_INT(rests_after(1000, HUNG_UP), 0);
}

static void a_refused_connection_costs_no_pause(void) {
    for (int i = 0; i < 20; i++)
        CHECK_INT(rests_after(1, REFUSED), 0);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a server that granted no time is left for a tenth of a second",
         a_server_that_granted_no_time_is_left_for_a_tenth_of_a_second},
        {"the pauses grow to four tenths of a second", the_pauses_grow_to_four_tenths_of_a_second},
        {"a server that did not answer in time is left at once",
         a_server_that_did_not_answer_in_time_is_left_at_once},
        {"five servers may hang up before a pause", five_servers_may_hang_up_before_a_pause},
        {"a refused connection costs no pause", a_refused_connection_costs_no_pause},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, NULL);
}
