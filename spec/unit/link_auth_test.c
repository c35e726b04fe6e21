/* SPDX-License-Identifier: MIT */
/* When a link with credentials says that it is connected. The library is made up: the test tells
 * the link what happens, and answers for the servers. */
#include "check.h"

#include "zookeeper/link.h"

#include <string.h>
#include <zookeeper/zookeeper.h>

enum { CREDENTIALS = 2, ASKED_MOST = 4 };

static struct {
    watcher_fn watcher;
    void_completion_t auths[CREDENTIALS];
    const void *auth_data[CREDENTIALS];
    stat_completion_t asked[ASKED_MOST];
    const void *asked_data[ASKED_MOST];
    int auth_count, asked_count, rc;
} library;

static zkl_context context;
static zkl_link *the_link;
static zkl_auth auths[CREDENTIALS] = {{"digest", "a:b"}, {"nonesuch", "x"}};
static zkl_config config = {.session_timeout = 4, .auths = auths};
static int connected, refused;

static zhandle_t *the_handle(void) {
    return (zhandle_t *)&library;
}

zhandle_t *zookeeper_init2(const char *host, watcher_fn watcher, int timeout,
                           const clientid_t *session, void *ctx, int flags, log_callback_fn log) {
    (void)host, (void)timeout, (void)session, (void)ctx, (void)flags, (void)log;
    library.watcher = watcher;
    return the_handle();
}

int zookeeper_close(zhandle_t *zh) {
    CHECK(zh == the_handle());
    return ZOK;
}

int zoo_set_servers_resolution_delay(zhandle_t *zh, int delay) {
    (void)zh, (void)delay;
    return ZOK;
}

int zoo_recv_timeout(zhandle_t *zh) {
    (void)zh;
    return 4000;
}

struct sockaddr *zookeeper_get_connected_host(zhandle_t *zh, struct sockaddr *at,
                                              socklen_t *length) {
    (void)zh, (void)at, (void)length;
    return NULL;
}

int zoo_add_auth(zhandle_t *zh, const char *scheme, const char *credential, int length,
                 void_completion_t completion, const void *data) {
    const zkl_auth *auth = &auths[library.auth_count];
    CHECK(zh == the_handle() && library.auth_count < CREDENTIALS);
    CHECK_TEXT(scheme, auth->scheme);
    CHECK_INT(memcmp(credential, auth->credential, (size_t)length), 0);
    library.auth_data[library.auth_count] = data;
    library.auths[library.auth_count++] = completion;
    return ZOK;
}

int zoo_awexists(zhandle_t *zh, const char *path, watcher_fn watcher, void *ctx,
                 stat_completion_t completion, const void *data) {
    CHECK(zh == the_handle() && library.asked_count < ASKED_MOST);
    CHECK(!watcher && !ctx);
    CHECK_TEXT(path, "/");
    if (library.rc != ZOK)
        return library.rc;
    library.asked_data[library.asked_count] = data;
    library.asked[library.asked_count++] = completion;
    return ZOK;
}

static void happened(void *ctx, zkl_link *link, zkl_link_event event) {
    (void)ctx;
    CHECK(link == the_link);
    connected += event == ZKL_LINK_CONNECTED;
    refused += event == ZKL_LINK_AUTH_FAILED;
}

static void is(int state) {
    library.watcher(the_handle(), ZOO_SESSION_EVENT, state, "", the_link);
}

static void answer_auth(int i, int rc) {
    library.auths[i](rc, library.auth_data[i]);
}

static void answer(int i, int rc) {
    library.asked[i](rc, NULL, library.asked_data[i]);
}

/* The requests on their way are answered as lost, and the library connects again. */
static void cut(void) {
    for (int i = 0; i < library.auth_count; i++)
        answer_auth(i, ZCONNECTIONLOSS);
    answer(library.asked_count - 1, ZCONNECTIONLOSS);
    is(ZOO_CONNECTING_STATE);
}

static void begin(void) {
    const zkl_link_owner owner = {.happened = happened};
    memset(&library, 0, sizeof library);
    config.auth_count = CREDENTIALS;
    connected = refused = 0;
    context.clock = &zkl_clock_boot;
    the_link = zkl_link_new(&owner, &context);
    CHECK(zkl_link_start(the_link, "127.0.0.1:2181", &config, NULL));
}

static void end(void) {
    zkl_link_close(the_link);
}

static void without_credentials_it_is_connected_at_once(void) {
    config.auth_count = 0;
    is(ZOO_CONNECTED_STATE);
    CHECK_INT(connected, 1);
    CHECK_INT(library.asked_count, 0);
}

static void it_is_connected_when_all_credentials_are_accepted(void) {
    is(ZOO_CONNECTED_STATE);
    answer_auth(0, ZOK);
    CHECK_INT(connected, 0);
    answer_auth(1, ZOK);
    CHECK_INT(connected, 1);
    answer(0, ZNONODE);
    CHECK_INT(connected, 1);
}

static void accepted_credentials_count_on_later_connections(void) {
    is(ZOO_CONNECTED_STATE);
    answer_auth(0, ZOK);
    answer_auth(1, ZOK);
    answer(0, ZOK);
    is(ZOO_CONNECTING_STATE);
    is(ZOO_CONNECTED_STATE);
    CHECK_INT(connected, 2);
    CHECK_INT(library.asked_count, 1);
}

static void credentials_that_were_cut_off_are_not_accepted(void) {
    is(ZOO_CONNECTED_STATE);
    for (int i = 0; i < 2; i++) {
        cut();
        is(ZOO_CONNECTED_STATE);
        CHECK_INT(connected, 0);
    }
    answer(2, ZAUTHFAILED);
    is(ZOO_AUTH_FAILED_STATE);
    CHECK_INT(connected, 0);
    CHECK_INT(refused, 1);
}

static void credentials_that_were_cut_off_are_accepted_with_the_request_behind_them(void) {
    is(ZOO_CONNECTED_STATE);
    cut();
    is(ZOO_CONNECTED_STATE);
    answer(1, ZNONODE);
    CHECK_INT(connected, 1);
    is(ZOO_CONNECTING_STATE);
    is(ZOO_CONNECTED_STATE);
    CHECK_INT(connected, 2);
    CHECK_INT(library.asked_count, 2);
}

static void it_waits_for_no_answer_if_memory_is_short(void) {
    is(ZOO_CONNECTED_STATE);
    cut();
    library.rc = ZMARSHALLINGERROR;
    is(ZOO_CONNECTED_STATE);
    CHECK_INT(connected, 1);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"without credentials it is connected at once",
         without_credentials_it_is_connected_at_once},
        {"it is connected when all credentials are accepted",
         it_is_connected_when_all_credentials_are_accepted},
        {"accepted credentials count on later connections",
         accepted_credentials_count_on_later_connections},
        {"credentials that were cut off are not accepted",
         credentials_that_were_cut_off_are_not_accepted},
        {"credentials that were cut off are accepted with the request behind them",
         credentials_that_were_cut_off_are_accepted_with_the_request_behind_them},
        {"it waits for no answer if memory is short", it_waits_for_no_answer_if_memory_is_short},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
