/* SPDX-License-Identifier: MIT */
#include "cli/connection.h"

#include "cli/complaint.h"
#include "cli/loop.h"
#include "cli/text.h"
#include "zklock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- to open ---- */

static char *tls_of(const cli_settings *settings) {
    if (!settings->tls_ca)
        return NULL;
    return cli_memory_print("%s,%s,%s,%s", settings->tls_ca, settings->tls_cert, settings->tls_key,
                            settings->tls_password ? settings->tls_password : "none");
}

static int open_client(cli_connection *connection, const zkl_config *config) {
    const zkl_status status = zkl_open(config, &connection->client);
    if (status == ZKL_OK)
        return 0;
    if (status == ZKL_NO_MEMORY && errno)
        cli_complain("cannot connect: %s", strerror(errno));
    else
        cli_complain("cannot connect: %s", zkl_status_text(status));
    return cli_exit_code(status);
}

int cli_connection_open(cli_connection *connection, const cli_settings *settings, double session,
                        const char *identifier) {
    char host[256] = "localhost", identity[300];
    gethostname(host, sizeof host - 1);
    snprintf(identity, sizeof identity, "%s:%ld", host, (long)getpid());
    char *tls = tls_of(settings);
    const zkl_config config = {
        .hosts = settings->hosts,
        .session_timeout = settings->session > 0 ? settings->session : session,
        .auths = settings->auths,
        .auth_count = settings->auth_count,
        .acl = settings->acl,
        .identifier = identifier ? identifier : identity,
        .tls = tls,
        .node_bytes = settings->node_bytes,
    };
    *connection = (cli_connection){.tag = 0};
    errno = 0;
    const int code = open_client(connection, &config);
    if (tls)
        explicit_bzero(tls, strlen(tls));
    free(tls);
    return code;
}

/* ---- to wait ---- */

uint64_t cli_connection_tag(cli_connection *connection) {
    return ++connection->tag;
}

bool cli_connection_hear(cli_connection *connection, cli_told *told, void *context) {
    zkl_event event;
    while (zkl_peek(connection->client, &event)) {
        zkl_forget(connection->client, event.serial);
        const bool of_client = event.kind == ZKL_EVENT_STATE || event.kind == ZKL_EVENT_LOG;
        if (!of_client && !told(context, &event))
            return false;
    }
    return true;
}

/* A wait for an event of a tag. */
typedef struct awaited {
    const cli_listener *others;
    uint64_t tag;
    zkl_event *event;
    bool came;
} awaited;

static bool hear(void *context, const zkl_event *event) {
    awaited *wait = context;
    if (event->tag != wait->tag)
        return !wait->others->told || wait->others->told(wait->others->context, event);
    *wait->event = *event;
    wait->came = true;
    return false;
}

cli_waited cli_connection_await(cli_connection *connection, uint64_t tag, zkl_nanos until,
                                zkl_event *event) {
    struct pollfd fd = {zkl_fd(connection->client), POLLIN, 0};
    awaited wait = {.others = &connection->listener, .tag = tag, .event = event};
    zkl_wake_at(connection->client, until);
    while (cli_connection_hear(connection, hear, &wait)) {
        if (until != ZKL_NEVER && zkl_now() >= until)
            return CLI_WAITED_LONG;
        cli_loop_wait(&fd, 1);
    }
    return wait.came ? CLI_WAITED_EVENT : CLI_WAITED_INTERRUPTED;
}

zkl_status cli_connection_answer(cli_connection *connection, uint64_t tag, bool asked) {
    zkl_event event;
    if (!asked)
        return ZKL_NO_MEMORY;
    if (cli_connection_await(connection, tag, ZKL_NEVER, &event) == CLI_WAITED_EVENT)
        return event.status;
    return ZKL_CANCELLED;
}

int cli_connection_session(cli_connection *connection, double seconds) {
    char about[64];
    const uint64_t tag = cli_connection_tag(connection);
    const zkl_nanos deadline = zkl_clock_after(zkl_now(), seconds);
    zkl_query *query = zkl_query_session(connection->client, tag, deadline);
    const zkl_status status = cli_connection_answer(connection, tag, query);
    zkl_query_drop(query);
    if (status == ZKL_OK)
        return 0;
    snprintf(about, sizeof about, "no session within %g s", seconds);
    return cli_connection_failure(connection, status, status == ZKL_DISCONNECTED ? about : NULL);
}

int cli_connection_failure(cli_connection *connection, zkl_status status, const char *about) {
    char trouble[ZKL_TROUBLE_TEXT];
    if (status != ZKL_DISCONNECTED ||
        !zkl_client_trouble(connection->client, trouble, sizeof trouble))
        return cli_failure(status, about);
    if (about)
        cli_complain("%s: %s: %s", zkl_status_text(status), about, trouble);
    else
        cli_complain("%s: %s", zkl_status_text(status), trouble);
    return cli_exit_code(status);
}

/* ---- to close ---- */

static bool drain(cli_connection *connection, zkl_nanos until) {
    zkl_event event;
    struct pollfd fd = {zkl_fd(connection->client), POLLIN, 0};
    while (zkl_peek(connection->client, &event))
        zkl_forget(connection->client, event.serial);
    const zkl_nanos left = until - zkl_now();
    if (zkl_ended(connection->client) || left <= 0)
        return false;
    poll(&fd, 1, (int)(left / 1000000) + 1);
    return true;
}

void cli_connection_close(cli_connection *connection, zkl_nanos most) {
    if (!connection->client)
        return;
    const zkl_nanos until = zkl_now() + most;
    zkl_close(connection->client);
    while (drain(connection, until))
        ;
    zkl_free(connection->client);
    connection->client = NULL;
}
