/* SPDX-License-Identifier: MIT */
#include "cli/connection.h"

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

void cli_identity(char identity[CLI_IDENTITY]) {
    char host[256] = "localhost";
    gethostname(host, sizeof host - 1);
    snprintf(identity, CLI_IDENTITY, "%s:%ld", host, (long)getpid());
}

int cli_connection_open(cli_connection *connection, const cli_settings *settings, double session,
                        const char *identifier) {
    char identity[CLI_IDENTITY];
    char *tls = tls_of(settings);
    cli_identity(identity);
    const zkl_config config = {
        .size = sizeof config,
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
    const zkl_status status = zkl_open(&config, &connection->client);
    const int why = status == ZKL_NO_MEMORY ? errno : 0;
    cli_memory_wipe(tls);
    if (status == ZKL_OK)
        return 0;
    cli_complain("cannot connect: %s", why ? strerror(why) : zkl_status_text(status));
    return cli_exit_code(status);
}

/* ---- to wait ---- */

uint64_t cli_connection_tag(cli_connection *connection) {
    return ++connection->tag;
}

uint64_t cli_connection_ask(cli_connection *connection) {
    connection->answered = false;
    connection->answer = (zkl_event){.status = ZKL_OK};
    connection->asked = cli_connection_tag(connection);
    return connection->asked;
}

/* false: the listener has ended the wait. */
static bool take(cli_connection *connection, const zkl_event *event) {
    const cli_listener *listener = &connection->listener;
    if (event->tag != connection->asked || connection->answered)
        return !listener->told || listener->told(listener->context, event);
    connection->answered = true;
    connection->answer = *event;
    return true;
}

bool cli_connection_hear(cli_connection *connection) {
    zkl_event event;
    while (zkl_peek(connection->client, &event)) {
        zkl_forget(connection->client, event.serial);
        const bool of_client = event.kind == ZKL_EVENT_STATE || event.kind == ZKL_EVENT_LOG;
        if (!of_client && !take(connection, &event))
            return false;
    }
    return true;
}

bool cli_connection_await(cli_connection *connection, zkl_nanos until) {
    struct pollfd fd = {zkl_fd(connection->client), POLLIN, 0};
    zkl_wake_at(connection->client, until);
    while (cli_connection_hear(connection) && !connection->answered) {
        if (until != ZKL_NEVER && zkl_now() >= until)
            return false;
        poll(&fd, 1, -1);
    }
    const bool answered = connection->answered;
    if (answered)
        connection->asked = 0; /* the next wait is for another one */
    connection->answered = false;
    return answered;
}

zkl_status cli_connection_answer(cli_connection *connection, bool there) {
    if (!there)
        return ZKL_NO_MEMORY;
    return cli_connection_await(connection, ZKL_NEVER) ? connection->answer.status : ZKL_CANCELLED;
}

int cli_connection_session(cli_connection *connection, double seconds) {
    char about[64];
    const uint64_t tag = cli_connection_ask(connection);
    const zkl_nanos deadline = zkl_clock_after(zkl_now(), seconds);
    zkl_query *query = zkl_query_session(connection->client, tag, deadline);
    const zkl_status status = cli_connection_answer(connection, query);
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
    cli_complain("%s: %s%s%s", zkl_status_text(status), about ? about : "", about ? ": " : "",
                 trouble);
    return cli_exit_code(status);
}

/* ---- to close ---- */

void cli_connection_close(cli_connection *connection, zkl_nanos most) {
    zkl_client *client = connection->client;
    if (!client)
        return;
    struct pollfd fd = {zkl_fd(client), POLLIN, 0};
    const zkl_nanos until = zkl_now() + most;
    zkl_close(client);
    for (zkl_nanos left; !zkl_ended(client) && (left = until - zkl_now()) > 0;) {
        poll(&fd, 1, (int)(left / 1000000) + 1);
        for (zkl_event event; zkl_peek(client, &event);)
            zkl_forget(client, event.serial);
    }
    zkl_free(client);
    connection->client = NULL;
}
