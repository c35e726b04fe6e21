/* SPDX-License-Identifier: MIT */
/* The functions of zklock.h with arguments that are out of range: a host in C has no checks but
 * these. The client was never connected, so nothing but the checks can answer. */
#include "base/process.h"
#include "check.h"
#include "client/client_state.h"
#include "nodes/node_request.h"
#include "nodes/node_watch.h"
#include "port/wire.h"
#include "recipe/znode.h"
#include "zklock_host.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TAG 7
#define NUMBERS (sizeof numbers / sizeof *numbers)

static const int numbers[] = {INT_MIN, -1000000, -1, 1000, 1000000, INT_MAX};
static const char *const no_locks[] = {"",
                                       "a",
                                       "/",
                                       "/a/",
                                       "/a//b",
                                       "/..",
                                       "/zookeeper",
                                       "/zookeeper/quota",
                                       "/a/x-lock-0000000001/b",
                                       "/a/_c_x-lease-0000000001"};
#define NO_LOCKS (sizeof no_locks / sizeof *no_locks)

static zkl_nanos moment;

static zkl_nanos read_moment(void) {
    return moment;
}

static const zkl_clock fake_clock = {read_moment};

static zkl_client client;
static char no_chroot[] = "";

static void begin(void) {
    moment = ZKL_SECOND;
    memset(&client, 0, sizeof client);
    pthread_mutex_init(&client.mutex, NULL);
    client.generation = zkl_process_generation();
    atomic_init(&client.users, 1);
    client.context.clock = &fake_clock;
    client.context.port = &zkl_port_refusing;
    client.context.identifier = "";
    client.session.servers.chroot = no_chroot;
    CHECK(zkl_events_init(&client.context.events));
    CHECK(zkl_receivers_init(&client.context.receivers));
    CHECK(zkl_lines_init(&client.lines, &client.context, 0));
    client.queries = (zkl_queries){.asks = {&client.context, &client.session.state},
                                   .common = &client.lines.common};
    zkl_node_requests_init(&client.nodes, &client.context, &client.session.state);
    zkl_node_watches_init(&client.nodes, &client.lines);
    zkl_onces_init(&client.onces, &client.nodes);
    client.session.context = client.session.heart.context = &client.context;
    client.session.timeout = 6 * ZKL_SECOND;
}

static void end(void) {
    zkl_lines_destroy(&client.lines);
    zkl_receivers_destroy(&client.context.receivers);
    zkl_events_destroy(&client.context.events);
    pthread_mutex_destroy(&client.mutex);
}

/* ---- numbers that index a table ---- */

static void the_text_of_any_number_is_one(void) {
    for (size_t i = 0; i < NUMBERS; i++) {
        check_note("number: %d", numbers[i]);
        CHECK_TEXT(zkl_loss_text((zkl_loss)numbers[i]), "unknown");
        CHECK_TEXT(zkl_result_text((zkl_result)numbers[i]), "unknown");
        CHECK_TEXT(zkl_state_text((zkl_state)numbers[i]), "unknown");
    }
    CHECK_TEXT(zkl_loss_text(ZKL_LOSS_END), "unknown");
    CHECK_TEXT(zkl_loss_text(ZKL_LOSS_MAX_HOLD), "max_hold");
    CHECK_TEXT(zkl_result_text(ZKL_RESULT_END), "unknown");
    CHECK_TEXT(zkl_result_text(ZKL_RESULT_ERROR), "error");
    CHECK_TEXT(zkl_state_text((zkl_state)(ZKL_STATE_FORKED + 1)), "unknown");
    CHECK_TEXT(zkl_state_text(ZKL_STATE_FORKED), "forked");
    CHECK_TEXT(zkl_status_text(ZKL_STATUS_END), "zookeeper: UNKNOWN");
    CHECK_TEXT(zkl_status_text(INT_MIN), "zookeeper: UNKNOWN");
}

static void the_bound_of_a_bucket_that_is_not_there_is_infinite(void) {
    CHECK(zkl_bound(ZKL_BUCKETS - 2) == 60);
    CHECK(isinf(zkl_bound(ZKL_BUCKETS)));
    CHECK(isinf(zkl_bound(SIZE_MAX)));
}

static zkl_stats stats;
static zkl_counts counts[ZKL_COUNTS_MOST];

static zkl_measures measure(void) {
    zkl_measures measures = ZKL_MEASURES_DEFAULTS;
    counts[0].size = sizeof counts[0];
    stats.size = sizeof stats;
    CHECK_INT(zkl_client_measure(&client, &measures, &stats, counts, ZKL_COUNTS_MOST), ZKL_OK);
    return measures;
}

static uint64_t errors_without_a_name(void) {
    CHECK_INT(measure().count, 1);
    return counts[0].ended[ZKL_RESULT_ERROR];
}

static void a_number_of_no_name_counts_as_no_name(void) {
    zkl_count(&client, UINT_MAX, ZKL_LOST, 0);
    zkl_count(&client, ZKL_COUNTS_MOST, ZKL_LOST, 0);
    zkl_count(&client, 1, ZKL_LOST, 0);
    CHECK_INT(errors_without_a_name(), 3);
}

static void a_negative_wait_counts_as_none(void) {
    zkl_count(&client, 0, ZKL_LOST, -5 * ZKL_SECOND);
    measure();
    CHECK(stats.wait.sum == 0);
    CHECK_INT(stats.wait.buckets[0], 1);
}

/* ---- time ---- */

static void no_number_of_seconds_makes_a_deadline_never_come_by_mistake(void) {
    const double none[] = {0, -0.0, -1, -1e300, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        check_note("seconds: %f", none[i]);
        CHECK_INT(zkl_clock_after(5, none[i]), 5);
        CHECK_INT(zkl_clock_duration(none[i]), 1);
    }
    CHECK_INT(zkl_clock_after(ZKL_NEVER, 1), ZKL_NEVER);
    CHECK_INT(zkl_clock_after(ZKL_NEVER - 5, 1), ZKL_NEVER);
}

/* ---- clients ---- */

static void a_client_with_an_acl_or_a_timeout_that_is_none_is_not_opened(void) {
    const zkl_config good = {.size = sizeof good, .hosts = "127.0.0.1:1", .session_timeout = 6};
    zkl_client *opened = NULL;
    for (size_t i = 0; i < NUMBERS; i++) {
        zkl_config config = good;
        config.acl = (zkl_acl)numbers[i];
        CHECK_INT(zkl_open(&config, &opened), ZKL_BAD_ARGUMENT);
    }
    const double timeouts[] = {0, -1, NAN, INFINITY, -INFINITY, 3601};
    for (size_t i = 0; i < sizeof timeouts / sizeof *timeouts; i++) {
        zkl_config config = good;
        config.session_timeout = timeouts[i];
        CHECK_INT(zkl_open(&config, &opened), ZKL_BAD_ARGUMENT);
    }
    char identifier[ZKL_IDENTIFIER_MOST + 2] = "";
    zkl_config config = good;
    config.identifier = memset(identifier, 'i', sizeof identifier - 1);
    CHECK_INT(zkl_open(&config, &opened), ZKL_BAD_ARGUMENT);
    config = good;
    config.tls = "ca,cert,key,password";
    if (!zkl_has_tls())
        CHECK_INT(zkl_open(&config, &opened), ZKL_BAD_ARGUMENT);
    CHECK(opened == NULL);
}

/* ---- paths ---- */

static void a_lock_is_neither_reserved_nor_named_like_a_node_of_another(void) {
    for (size_t i = 0; i < NO_LOCKS; i++) {
        check_note("path: %s", no_locks[i]);
        CHECK(!zkl_path_is_lock(no_locks[i]));
    }
    const char *const locks[] = {"/a", "/zookeeperx", "/a/zookeeper", "/a/lock-1", "/a/b c"};
    for (size_t i = 0; i < sizeof locks / sizeof *locks; i++) {
        check_note("path: %s", locks[i]);
        CHECK(zkl_path_is_lock(locks[i]));
    }
}

/* A path of that many bytes, in components of at most so many. */
static const char *long_path(size_t bytes, size_t component) {
    static char path[5000];
    for (size_t i = 0; i < bytes; i++)
        path[i] = i % (component + 1) ? 'x' : '/';
    path[bytes] = '\0';
    return path;
}

static void a_lock_has_a_path_with_which_its_nodes_fit(void) {
    CHECK(zkl_path_is_lock(long_path(256, 255)));
    CHECK(!zkl_path_is_lock(long_path(257, 256)));
    CHECK(zkl_path_is_lock(long_path(4096, 100)));
    CHECK(!zkl_path_is_lock(long_path(4097, 100)));
    CHECK(zkl_path_is_lock(long_path(256, 1)));
    CHECK(!zkl_path_is_lock(long_path(258, 1)));
}

/* ---- joins ---- */

static zkl_terms terms_of(zkl_kind kind) {
    return (zkl_terms){.size = sizeof(zkl_terms),
                       .kind = kind,
                       .permits = kind == ZKL_KIND_LEASE,
                       .deadline = ZKL_NEVER};
}

static zkl_status join(const char *path, const zkl_terms *terms) {
    zkl_contender *contender = NULL;
    const zkl_status status = zkl_join(&client, path, TAG, terms, &contender);
    CHECK((contender != NULL) == (status == ZKL_OK));
    if (contender)
        zkl_drop(contender);
    return status;
}

static zkl_status join_all(const char *const *paths, size_t count, const zkl_terms *terms) {
    zkl_contender *contender = NULL;
    const zkl_status status = zkl_join_all(&client, paths, count, TAG, terms, &contender);
    CHECK((contender != NULL) == (status == ZKL_OK));
    if (contender)
        zkl_drop(contender);
    return status;
}

static zkl_status join_leases(const char *path, size_t count, const zkl_terms *terms) {
    zkl_contender *contender = NULL;
    const zkl_status status = zkl_join_leases(&client, path, count, TAG, terms, &contender);
    CHECK((contender != NULL) == (status == ZKL_OK));
    if (contender)
        zkl_drop(contender);
    return status;
}

static void no_join_takes_the_path_of_no_lock(void) {
    const zkl_terms mutex = terms_of(ZKL_KIND_LOCK), leases = terms_of(ZKL_KIND_LEASE);
    for (size_t i = 0; i < NO_LOCKS; i++) {
        check_note("path: %s", no_locks[i]);
        const char *const both[] = {"/good", no_locks[i]};
        CHECK_INT(join(no_locks[i], &mutex), ZKL_BAD_ARGUMENT);
        CHECK_INT(join_all(both, 2, &mutex), ZKL_BAD_ARGUMENT);
        CHECK_INT(join_leases(no_locks[i], 1, &leases), ZKL_BAD_ARGUMENT);
    }
    CHECK_INT(join("/good", &mutex), ZKL_OK);
    CHECK_INT(join_leases("/good", 1, &leases), ZKL_OK);
    CHECK_INT(join_leases(long_path(4096, 100), 1, &leases), ZKL_OK);
}

static void a_multilock_has_no_path_twice_and_none_below_another(void) {
    static const struct {
        const char *paths[4];
        zkl_status status;
    } rows[] = {
        {{"/a", "/b", "/c", "/d"}, ZKL_OK},
        {{"/a", "/a!", "/a0", "/ab"}, ZKL_OK},
        {{"/a/b", "/a!/b", "/a-b", "/a.b/c"}, ZKL_OK},
        {{"/a", "/b", "/c", "/a"}, ZKL_BAD_ARGUMENT},
        {{"/b", "/b", "/a", "/c"}, ZKL_BAD_ARGUMENT},
        {{"/a", "/a!", "/a/b", "/c"}, ZKL_BAD_ARGUMENT},
        {{"/c", "/a/b/c", "/a-b", "/a"}, ZKL_BAD_ARGUMENT},
        {{"/\xc3\xa4/x", "/\xc3\xa4", "/b", "/c"}, ZKL_BAD_ARGUMENT},
    };
    const zkl_terms mutex = terms_of(ZKL_KIND_LOCK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_note("row: %zu", i);
        CHECK_INT(join_all(rows[i].paths, 4, &mutex), rows[i].status);
    }
    CHECK_INT(join_all(rows[0].paths, 1, &mutex), ZKL_OK);
    CHECK_INT(join_all(rows[0].paths, 0, &mutex), ZKL_BAD_ARGUMENT);
}

static void no_join_takes_terms_that_are_none(void) {
    static const zkl_sharing sharing = {.size = sizeof sharing, .stint = 3600 * ZKL_SECOND};
    static const zkl_sharing wrong[] = {{sizeof sharing, -1, 0},
                                        {sizeof sharing, 3600 * ZKL_SECOND + 1, 0},
                                        {sizeof sharing, ZKL_NEVER, 0},
                                        {sizeof sharing, 0, -1}};
    const char *const paths[] = {"/a", "/b"};
    for (size_t i = 0; i < NUMBERS; i++) {
        const zkl_terms terms = terms_of((zkl_kind)numbers[i]);
        CHECK_INT(join("/a", &terms), ZKL_BAD_ARGUMENT);
    }
    zkl_terms terms = terms_of(ZKL_KIND_NONE);
    CHECK_INT(join("/a", &terms), ZKL_BAD_ARGUMENT);
    terms = terms_of(ZKL_KIND_LOCK);
    terms.max_hold = -1;
    CHECK_INT(join("/a", &terms), ZKL_BAD_ARGUMENT);
    terms = terms_of(ZKL_KIND_LOCK);
    terms.slow = -1;
    CHECK_INT(join("/a", &terms), ZKL_BAD_ARGUMENT);
    terms = terms_of(ZKL_KIND_LOCK);
    terms.owner = ZKL_OWNER_MOST + 1;
    CHECK_INT(join("/a", &terms), ZKL_BAD_ARGUMENT);
    terms = terms_of(ZKL_KIND_LOCK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        terms.sharing = &wrong[i];
        CHECK_INT(join("/a", &terms), ZKL_BAD_ARGUMENT);
    }
    terms.sharing = &sharing;
    CHECK_INT(join("/a", &terms), ZKL_OK);
    CHECK_INT(join_all(paths, 2, &terms), ZKL_BAD_ARGUMENT);
    terms = terms_of(ZKL_KIND_LEASE);
    CHECK_INT(join_all(paths, 2, &terms), ZKL_BAD_ARGUMENT);
    CHECK_INT(join_leases("/l", 0, &terms), ZKL_BAD_ARGUMENT);
    CHECK_INT(join_leases("/l", 2, &terms), ZKL_BAD_ARGUMENT);
    terms.sharing = &sharing;
    CHECK_INT(join("/l", &terms), ZKL_BAD_ARGUMENT);
    CHECK_INT(join_leases("/l", 1, &terms), ZKL_BAD_ARGUMENT);
    terms.permits = 0;
    terms.sharing = NULL;
    CHECK_INT(join("/l", &terms), ZKL_BAD_ARGUMENT);
}

static void no_room_is_made_for_more_leases_than_there_can_be(void) {
    zkl_contender *contender;
    zkl_event event;
    zkl_terms terms = terms_of(ZKL_KIND_LEASE);
    const size_t bytes = strlen("/l/leases/") + zkl_znode_length(ZKL_KIND_LEASE);
    /* the bytes of the second number do not fit into 32 bits, and look like few */
    const size_t many[] = {UINT32_MAX, UINT32_MAX / bytes + 1};
    terms.permits = UINT32_MAX;
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        CHECK_INT(zkl_join_leases(&client, "/l", many[i], TAG, &terms, &contender), ZKL_OK);
        CHECK(zkl_peek(&client, &event));
        CHECK_INT(event.status, ZKL_TOO_BIG);
        zkl_drop(contender);
    }
}

/* Nobody runs the timers here: the thread that does could be later than a server's answer. */
static void a_wait_whose_deadline_has_passed_is_over_at_once(void) {
    const zkl_nanos passed[] = {0, -1, ZKL_SECOND - 1, ZKL_SECOND};
    zkl_terms terms = terms_of(ZKL_KIND_LOCK);
    zkl_contender *contender;
    zkl_event event;
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) {
        terms.deadline = passed[i];
        CHECK_INT(zkl_join(&client, "/a", TAG, &terms, &contender), ZKL_OK);
        CHECK(zkl_peek(&client, &event));
        CHECK_INT(event.kind, ZKL_EVENT_FAILED);
        CHECK_INT(event.status, ZKL_DISCONNECTED);
        zkl_drop(contender);
    }
    terms.deadline = ZKL_SECOND + 1;
    CHECK_INT(zkl_join(&client, "/a", TAG, &terms, &contender), ZKL_OK);
    CHECK(!zkl_peek(&client, &event));
    zkl_drop(contender);
}

/* The end of a step explains places that were given up. */
static bool ends_a_step(zkl_contender *contender) {
    client.session.doubt[0] = '\0';
    client.context.given_up++;
    zkl_drop(contender);
    CHECK(!client.lines.common.retired.first);
    return client.session.doubt[0] != '\0';
}

static void a_drop_that_nobody_else_notices_ends_no_step(void) {
    zkl_contender *waiter, *gone;
    const zkl_terms terms = terms_of(ZKL_KIND_LOCK);
    CHECK_INT(zkl_join(&client, "/a", TAG, &terms, &waiter), ZKL_OK);
    CHECK_INT(zkl_join(&client, "/a", TAG, &terms, &gone), ZKL_OK);
    zkl_cancel(gone);
    CHECK(!ends_a_step(gone));
    CHECK(ends_a_step(waiter));
    CHECK_INT(zkl_lines_count(&client.lines), 0);
}

/* A job's wait is counted apart, and is none of the oldest. */
static void a_wait_for_a_turn_is_no_wait_of_the_metrics(void) {
    zkl_contender *job, *caller;
    zkl_terms terms = terms_of(ZKL_KIND_LOCK);
    terms.job = true;
    CHECK_INT(zkl_join(&client, "/a", TAG, &terms, &job), ZKL_OK);
    moment += ZKL_SECOND;
    terms.job = false;
    CHECK_INT(zkl_join(&client, "/a", TAG, &terms, &caller), ZKL_OK);
    moment += ZKL_SECOND;
    const zkl_measures measures = measure();
    CHECK_INT(counts[0].standing_by, 1);
    CHECK_INT(counts[0].waiting, 1);
    CHECK_INT(stats.waiting, 2);
    CHECK(counts[0].oldest_wait == 1);
    CHECK(measures.oldest_wait == 1);
    zkl_drop(job);
    zkl_drop(caller);
    measure();
    CHECK_INT(counts[0].standing_by, 0);
    CHECK_INT(counts[0].waiting, 0);
}

static void a_run_is_counted_with_the_time_of_its_begin(void) {
    const time_t before = time(NULL);
    zkl_count_run(&client, 0, ZKL_RUN_SKIPPED);
    zkl_count_run(&client, 0, ZKL_RUN_FAILED);
    zkl_count_run(&client, 0, ZKL_RUN_END);
    zkl_count_run(&client, 0, (zkl_run)-1);
    measure();
    CHECK(counts[0].last_run == 0);
    zkl_count_run(&client, 0, ZKL_RUN_RAN);
    zkl_count_run(&client, 0, ZKL_RUN_FAILED);
    measure();
    CHECK(counts[0].last_run >= (double)before);
    CHECK(counts[0].last_run < (double)time(NULL) + 1);
    static const uint64_t expected[ZKL_RUN_END] = {
        [ZKL_RUN_RAN] = 1, [ZKL_RUN_SKIPPED] = 1, [ZKL_RUN_FAILED] = 2};
    for (size_t i = 0; i < ZKL_RUN_END; i++) {
        CHECK_INT(counts[0].runs[i], expected[i]);
        CHECK_INT(stats.runs[i], expected[i]);
    }
}

/* 257 is 1 in a byte, which is the number of the first name. */
static void terms_with_the_number_of_no_name_are_those_without_a_name(void) {
    unsigned number;
    CHECK_INT(zkl_name(&client, "first", &number), ZKL_OK);
    CHECK_INT(number, 1);
    zkl_terms terms = terms_of(ZKL_KIND_LOCK);
    terms.name = number + 256;
    CHECK_INT(join("/a", &terms), ZKL_OK);
    CHECK_INT(measure().count, 2);
    CHECK_TEXT(counts[1].name, "first");
    uint64_t ended = 0;
    for (size_t i = 0; i < ZKL_RESULT_END; i++)
        ended += counts[1].ended[i];
    CHECK_INT(ended, 0);
    zkl_counts_free(&client.context.counts);
}

/* ---- questions about nodes ---- */

/* The status of the one event that is there. */
static zkl_status answer(void) {
    zkl_event event;
    if (!zkl_peek(&client, &event))
        return ZKL_OK; /* it waits for a link */
    CHECK_INT(event.kind, ZKL_EVENT_ANSWER);
    CHECK_INT(event.tag, TAG);
    zkl_forget(&client, event.serial);
    CHECK(!zkl_peek(&client, &event));
    CHECK(event.status != ZKL_OK);
    return event.status;
}

static zkl_status ask(const zkl_op *op) {
    zkl_node_request *request = zkl_node_do(&client, op, TAG, ZKL_NEVER, false);
    CHECK(request != NULL);
    const zkl_status status = answer();
    zkl_node_request_drop(request);
    return status;
}

static zkl_status ask_all(const zkl_op *op) {
    const zkl_op ops[] = {
        {.size = sizeof *op, .kind = ZKL_OP_DELETE, .path = "/good", .version = -1}, *op};
    zkl_node_request *request = zkl_node_do_all(&client, ops, 2, NULL, TAG, ZKL_NEVER, false);
    CHECK(request != NULL);
    const zkl_status status = answer();
    zkl_node_request_drop(request);
    return status;
}

static zkl_op op_at(zkl_op_kind kind, const char *path) {
    return (zkl_op){.size = sizeof(zkl_op), .kind = kind, .path = path, .data = "", .version = -1};
}

static void no_operation_has_a_kind_that_is_none(void) {
    for (size_t i = 0; i < NUMBERS; i++) {
        const zkl_op op = op_at((zkl_op_kind)numbers[i], "/a");
        check_note("kind: %d", numbers[i]);
        CHECK_INT(ask(&op), ZKL_BAD_ARGUMENT);
        CHECK_INT(ask_all(&op), ZKL_BAD_ARGUMENT);
    }
    for (zkl_op_kind kind = ZKL_OP_GET; kind <= ZKL_OP_ACL; kind++) {
        const zkl_op op = op_at(kind, "/a");
        const bool writes = kind == ZKL_OP_CREATE || kind == ZKL_OP_SET || kind == ZKL_OP_DELETE;
        const bool checks = kind == ZKL_OP_CHECK;
        check_note("kind: %d", (int)kind);
        CHECK_INT(ask(&op), checks ? ZKL_BAD_ARGUMENT : ZKL_OK);
        CHECK_INT(ask_all(&op), writes || checks ? ZKL_OK : ZKL_BAD_ARGUMENT);
    }
}

static void no_number_of_bytes_is_more_than_too_big(void) {
    const size_t lengths[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (zkl_op_kind kind = ZKL_OP_CREATE; kind <= ZKL_OP_SET; kind++) {
            zkl_op op = op_at(kind, "/a");
            op.length = lengths[i];
            CHECK_INT(ask(&op), ZKL_TOO_BIG);
            CHECK_INT(ask_all(&op), ZKL_TOO_BIG);
        }
    }
}

static void a_container_is_neither_sequential_nor_ephemeral(void) {
    zkl_op op = op_at(ZKL_OP_CREATE, "/a");
    op.container = true;
    CHECK_INT(ask(&op), ZKL_OK);
    op.sequential = true;
    CHECK_INT(ask(&op), ZKL_BAD_ARGUMENT);
    op.ephemeral = true;
    CHECK_INT(ask(&op), ZKL_BAD_ARGUMENT);
    op.sequential = false;
    CHECK_INT(ask(&op), ZKL_BAD_ARGUMENT);
    op.container = false;
    CHECK_INT(ask(&op), ZKL_OK);
    op.sequential = true;
    CHECK_INT(ask(&op), ZKL_OK);
}

static void containers_and_parents_are_not_created_among_several(void) {
    zkl_op op = op_at(ZKL_OP_CREATE, "/a");
    CHECK_INT(ask_all(&op), ZKL_OK);
    op.container = true;
    CHECK_INT(ask_all(&op), ZKL_BAD_ARGUMENT);
    op.container = false;
    op.parents = true;
    CHECK_INT(ask_all(&op), ZKL_BAD_ARGUMENT);
    CHECK_INT(ask(&op), ZKL_OK);
}

/* Of a path of 800,000 bytes the parents' paths would have 160 GB. */
static void parents_are_made_for_no_path_longer_than_that_of_a_lock(void) {
    zkl_op op = op_at(ZKL_OP_CREATE, long_path(4097, 100));
    CHECK_INT(ask(&op), ZKL_OK);
    op.parents = true;
    CHECK_INT(ask(&op), ZKL_BAD_ARGUMENT);
    op.path = long_path(258, 1);
    CHECK_INT(ask(&op), ZKL_BAD_ARGUMENT);
    op.path = long_path(256, 1);
    CHECK_INT(ask(&op), ZKL_OK);
    op.path = "/";
    CHECK_INT(ask(&op), ZKL_OK);
}

static void a_node_has_an_acl_that_is_one(void) {
    zkl_op op = op_at(ZKL_OP_CREATE, "/a");
    op.own_acl = true;
    for (size_t i = 0; i < NUMBERS; i++) {
        op.acl = (zkl_acl)numbers[i];
        CHECK_INT(ask(&op), ZKL_BAD_ARGUMENT);
        CHECK_INT(ask_all(&op), ZKL_BAD_ARGUMENT);
    }
    op.acl = ZKL_ACL_READ;
    CHECK_INT(ask(&op), ZKL_OK);
    op.own_acl = false;
    op.acl = (zkl_acl)1000;
    CHECK_INT(ask(&op), ZKL_OK);
}

static void the_nodes_of_the_servers_are_read_only(void) {
    for (zkl_op_kind kind = ZKL_OP_GET; kind <= ZKL_OP_ACL; kind++) {
        const zkl_op op = op_at(kind, "/zookeeper/config");
        const bool reads = kind <= ZKL_OP_CHILDREN || kind == ZKL_OP_ACL;
        check_note("kind: %d", (int)kind);
        CHECK_INT(ask(&op), reads ? ZKL_OK : ZKL_BAD_ARGUMENT);
        CHECK_INT(ask_all(&op), kind == ZKL_OP_CHECK ? ZKL_OK : ZKL_BAD_ARGUMENT);
    }
}

static zkl_status answered(zkl_query *query) {
    CHECK(query != NULL);
    const zkl_status status = answer();
    zkl_query_drop(query);
    return status;
}

static zkl_status revoke_at(const char *path, bool leases) {
    return answered(zkl_query_revoke(&client, path, leases, TAG, ZKL_NEVER, false));
}

static void only_the_holders_of_a_lock_are_asked_to_release(void) {
    for (size_t i = 0; i < NO_LOCKS; i++) {
        check_note("path: %s", no_locks[i]);
        CHECK_INT(revoke_at(no_locks[i], false), ZKL_BAD_ARGUMENT);
    }
    CHECK_INT(revoke_at("/a", false), ZKL_OK);
    CHECK_INT(answered(zkl_query_participants(&client, "/", false, TAG, ZKL_NEVER, false)), ZKL_OK);
}

static void all_semaphores_that_there_can_be_are_revoked(void) {
    const size_t lengths[][2] = {{4096, 100}, {256, 1}};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char leases[5000];
        snprintf(leases, sizeof leases, "%s/leases", long_path(lengths[i][0], lengths[i][1]));
        CHECK(!zkl_path_is_lock(leases));
        CHECK_INT(revoke_at(leases, false), ZKL_BAD_ARGUMENT);
        CHECK_INT(revoke_at(leases, true), ZKL_OK);
    }
    CHECK_INT(revoke_at("/a//leases", true), ZKL_BAD_ARGUMENT);
    CHECK_INT(revoke_at("/zookeeper/leases", true), ZKL_BAD_ARGUMENT);
}

/* Servers would hang up, at each try. */
static void no_line_is_read_at_a_path_that_no_request_can_have(void) {
    char *path = malloc(ZKL_WIRE_MOST + 2);
    memset(path, 'x', ZKL_WIRE_MOST + 1);
    path[0] = '/';
    path[ZKL_WIRE_MOST + 1] = '\0';
    CHECK_INT(answered(zkl_query_participants(&client, path, false, TAG, ZKL_NEVER, false)),
              ZKL_TOO_BIG);
    free(path);
}

static zkl_status check_at(const char *path, int64_t token) {
    return answered(zkl_query_check(&client, path, token, TAG, ZKL_NEVER, false));
}

static void only_the_token_of_a_lock_is_checked(void) {
    for (size_t i = 0; i < NO_LOCKS; i++) {
        check_note("path: %s", no_locks[i]);
        CHECK_INT(check_at(no_locks[i], 17), ZKL_BAD_ARGUMENT);
    }
    CHECK_INT(check_at("/a", -1), ZKL_BAD_ARGUMENT);
    CHECK_INT(check_at("/a", 0), ZKL_OK);
    CHECK_INT(check_at("/a", INT64_MAX), ZKL_OK);
}

/* ---- structs with a size ---- */

static void no_struct_is_without_a_size(void) {
    zkl_config config = ZKL_CONFIG_DEFAULTS;
    zkl_terms terms = ZKL_TERMS_DEFAULTS;
    zkl_sharing sharing = {.size = 7};
    zkl_op op = op_at(ZKL_OP_GET, "/a");
    zkl_measures measures = ZKL_MEASURES_DEFAULTS;
    zkl_client *opened = NULL;
    config.hosts = "127.0.0.1:1";
    config.size = op.size = 0;
    terms.sharing = &sharing;
    CHECK_INT(zkl_open(&config, &opened), ZKL_BAD_ARGUMENT);
    CHECK_INT(join("/a", &terms), ZKL_BAD_ARGUMENT);
    terms = (zkl_terms){.kind = ZKL_KIND_LOCK};
    CHECK_INT(join("/a", &terms), ZKL_BAD_ARGUMENT);
    CHECK_INT(join_all((const char *const[]){"/a", "/b"}, 2, &terms), ZKL_BAD_ARGUMENT);
    terms.kind = ZKL_KIND_LEASE;
    CHECK_INT(join_leases("/a", 1, &terms), ZKL_BAD_ARGUMENT);
    CHECK_INT(ask(&op), ZKL_BAD_ARGUMENT);
    CHECK_INT(ask_all(&op), ZKL_BAD_ARGUMENT);
    op.size = offsetof(zkl_op, path); /* no version was so small */
    CHECK_INT(ask(&op), ZKL_BAD_ARGUMENT);
    stats.size = 0;
    CHECK_INT(zkl_client_stats(&client, &stats), ZKL_BAD_ARGUMENT);
    CHECK_INT(zkl_client_measure(&client, &measures, &stats, NULL, 0), ZKL_BAD_ARGUMENT);
    stats.size = sizeof stats;
    counts[0].size = 0;
    CHECK_INT(zkl_client_measure(&client, &measures, &stats, counts, 1), ZKL_BAD_ARGUMENT);
    CHECK_INT(zkl_client_measure(&client, &measures, &stats, counts, 0), ZKL_OK);
    measures.size = 0;
    CHECK_INT(zkl_client_measure(&client, &measures, &stats, NULL, 0), ZKL_BAD_ARGUMENT);
}

static void an_older_struct_has_the_defaults_of_later_fields(void) {
    zkl_terms terms = {.size = offsetof(zkl_terms, deadline), .kind = ZKL_KIND_LOCK};
    zkl_contender *contender;
    terms.max_hold = -1; /* nobody reads it */
    CHECK_INT(zkl_join(&client, "/a", TAG, &terms, &contender), ZKL_OK);
    CHECK(!zkl_peek(&client, &(zkl_event){0})); /* a deadline of 0 would have ended the wait */
    zkl_drop(contender);
}

/* As a program has it that was built with a later version. */
typedef struct later_op {
    zkl_op known;
    uint64_t later;
} later_op;

static void a_later_struct_is_refused_if_it_uses_a_later_field(void) {
    later_op ops[] = {{op_at(ZKL_OP_SET, "/a"), 0}, {op_at(ZKL_OP_DELETE, "/b"), 0}};
    for (int i = 0; i < 3; i++) {
        ops[0].known.size = ops[1].known.size = sizeof *ops;
        ops[1].later = i == 1;
        ops[0].later = i == 2 ? UINT64_C(1) << 63 : 0;
        zkl_node_request *request =
            zkl_node_do_all(&client, &ops->known, 2, NULL, TAG, ZKL_NEVER, false);
        CHECK_INT(answer(), i ? ZKL_BAD_ARGUMENT : ZKL_OK);
        zkl_node_request_drop(request);
    }
}

static void a_struct_is_filled_as_far_as_it_goes(void) {
    struct {
        zkl_stats known;
        uint64_t later;
    } larger = {ZKL_STATS_DEFAULTS, 17};
    struct {
        zkl_counts known;
        uint64_t later;
    } both[2] = {{ZKL_COUNTS_DEFAULTS, 17}, {ZKL_COUNTS_DEFAULTS, 17}};
    zkl_measures measures = ZKL_MEASURES_DEFAULTS;
    unsigned number;
    larger.known.size = sizeof larger;
    both[0].known.size = sizeof *both;
    zkl_count(&client, 0, ZKL_LOST, 0);
    CHECK_INT(zkl_name(&client, "first", &number), ZKL_OK);
    measures.size = offsetof(zkl_measures, count);
    measures.count = 17;
    CHECK_INT(zkl_client_measure(&client, &measures, &larger.known, &both->known, 2), ZKL_OK);
    CHECK_INT(measures.count, 17);
    CHECK_INT(larger.later, 0);
    CHECK_INT(larger.known.size, sizeof larger);
    CHECK_TEXT(both[1].known.name, "first");
    CHECK_INT(both[1].known.size, sizeof *both);
    CHECK_INT(both[0].later + both[1].later, 0);
    CHECK_INT(both[0].known.ended[ZKL_RESULT_ERROR], 1);
    measures.size = sizeof measures;
    both[1].known.name = NULL;
    CHECK_INT(zkl_client_measure(&client, &measures, &larger.known, &both->known, 1), ZKL_OK);
    CHECK_INT(measures.count, 2);
    CHECK(!both[1].known.name); /* there was no room for it */
    zkl_counts_free(&client.context.counts);
}

static void every_drop_and_free_accepts_null(void) {
    zkl_free(NULL);
    zkl_drop(NULL);
    zkl_query_drop(NULL);
    zkl_node_request_drop(NULL);
    zkl_once_drop(NULL);
    zkl_node_watch_drop(NULL);
    zkl_content_free(NULL);
    zkl_notifier_drop(NULL);
    zkl_visit_drop(NULL);
}

static const check_case cases[] = {
    {"every drop and free accepts NULL", every_drop_and_free_accepts_null},
    {"the text of any number is one", the_text_of_any_number_is_one},
    {"the bound of a bucket that is not there is infinite",
     the_bound_of_a_bucket_that_is_not_there_is_infinite},
    {"a number of no name counts as no name", a_number_of_no_name_counts_as_no_name},
    {"a negative wait counts as none", a_negative_wait_counts_as_none},
    {"no number of seconds makes a deadline never come by mistake",
     no_number_of_seconds_makes_a_deadline_never_come_by_mistake},
    {"a client with an ACL or a timeout that is none is not opened",
     a_client_with_an_acl_or_a_timeout_that_is_none_is_not_opened},
    {"a lock is neither reserved nor named like a node of another",
     a_lock_is_neither_reserved_nor_named_like_a_node_of_another},
    {"a lock has a path with which its nodes fit", a_lock_has_a_path_with_which_its_nodes_fit},
    {"no join takes the path of no lock", no_join_takes_the_path_of_no_lock},
    {"a multilock has no path twice and none below another",
     a_multilock_has_no_path_twice_and_none_below_another},
    {"no join takes terms that are none", no_join_takes_terms_that_are_none},
    {"no room is made for more leases than there can be",
     no_room_is_made_for_more_leases_than_there_can_be},
    {"a wait whose deadline has passed is over at once",
     a_wait_whose_deadline_has_passed_is_over_at_once},
    {"a drop that nobody else notices ends no step", a_drop_that_nobody_else_notices_ends_no_step},
    {"a wait for a turn is no wait of the metrics", a_wait_for_a_turn_is_no_wait_of_the_metrics},
    {"a run is counted with the time of its begin", a_run_is_counted_with_the_time_of_its_begin},
    {"terms with the number of no name are those without a name",
     terms_with_the_number_of_no_name_are_those_without_a_name},
    {"no operation has a kind that is none", no_operation_has_a_kind_that_is_none},
    {"no number of bytes is more than too big", no_number_of_bytes_is_more_than_too_big},
    {"a container is neither sequential nor ephemeral",
     a_container_is_neither_sequential_nor_ephemeral},
    {"containers and parents are not created among several",
     containers_and_parents_are_not_created_among_several},
    {"parents are made for no path longer than that of a lock",
     parents_are_made_for_no_path_longer_than_that_of_a_lock},
    {"a node has an ACL that is one", a_node_has_an_acl_that_is_one},
    {"the nodes of the servers are read-only", the_nodes_of_the_servers_are_read_only},
    {"only the holders of a lock are asked to release",
     only_the_holders_of_a_lock_are_asked_to_release},
    {"the leases of every possible semaphore can be revoked",
     all_semaphores_that_there_can_be_are_revoked},
    {"no struct is without a size", no_struct_is_without_a_size},
    {"an older struct has the defaults of later fields",
     an_older_struct_has_the_defaults_of_later_fields},
    {"a later struct is refused if it uses a later field",
     a_later_struct_is_refused_if_it_uses_a_later_field},
    {"a struct is filled as far as it goes", a_struct_is_filled_as_far_as_it_goes},
    {"no line is read at a path that no request can have",
     no_line_is_read_at_a_path_that_no_request_can_have},
    {"only the token of a lock is checked", only_the_token_of_a_lock_is_checked},
};

int main(int argc, char **argv) {
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
