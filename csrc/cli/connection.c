/* SPDX-License-Identifier: MIT */
#include "cli/connection.h"

#include "cli/text.h"
#include "zklock.h"

#include <errno.h>
#include <stdio.h>
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
    errno = 0;
    const zkl_status status = zkl_open(&config, &connection->client);
    const int why = status == ZKL_NO_MEMORY ? errno : 0;
    cli_memory_wipe(tls);
    if (status == ZKL_OK)
        return 0;
    cli_complain("cannot connect: %s", why ? strerror(why) : zkl_status_text(status));
    return cli_exit_code(status);
}

/* ---- to ask ---- */

zkl_nanos cli_connection_deadline(const cli_connection *connection) {
    return zkl_clock_after(zkl_now(), connection->seconds);
}

zkl_status cli_connection_answer(cli_connection *connection, bool there) {
    zkl_event answer = {.status = ZKL_NO_MEMORY};
    if (there)
        zkl_wait(connection->client, CLI_QUESTION, ZKL_NEVER, &answer);
    return answer.status;
}

zkl_status cli_connection_ready(cli_connection *connection, zkl_nanos deadline) {
    zkl_query *query = zkl_query_session(connection->client, CLI_QUESTION, deadline);
    const zkl_status status = cli_connection_answer(connection, query);
    zkl_query_drop(query);
    return status;
}

int cli_connection_session(cli_connection *connection) {
    char about[64];
    const zkl_status status = cli_connection_ready(connection, cli_connection_deadline(connection));
    snprintf(about, sizeof about, "no session within %g s", connection->seconds);
    return cli_connection_failure(connection, status, status == ZKL_DISCONNECTED ? about : NULL);
}

zkl_status cli_connection_do(cli_connection *connection, const zkl_op *op) {
    zkl_node_request_drop(connection->request);
    connection->request = zkl_node_do(connection->client, op, CLI_QUESTION,
                                      cli_connection_deadline(connection), false);
    return cli_connection_answer(connection, connection->request);
}

zkl_status cli_connection_read(cli_connection *connection, zkl_op_kind kind, const char *path) {
    return cli_connection_do(connection,
                             &(zkl_op){.size = sizeof(zkl_op), .kind = kind, .path = path});
}

int cli_connection_failure(cli_connection *connection, zkl_status status, const char *about) {
    char trouble[ZKL_TROUBLE_TEXT];
    if (status == ZKL_OK)
        return 0;
    if (status != ZKL_DISCONNECTED ||
        !zkl_client_trouble(connection->client, trouble, sizeof trouble))
        return cli_failure(status, about);
    cli_complain("%s: %s%s%s", zkl_status_text(status), about ? about : "", about ? ": " : "",
                 trouble);
    return cli_exit_code(status);
}

/* ---- to close ---- */

#define NOBODY 0 /* has no event */

void cli_connection_close(cli_connection *connection, zkl_nanos most) {
    zkl_event none;
    if (!connection->client)
        return;
    zkl_node_request_drop(connection->request);
    zkl_close(connection->client);
    zkl_wait(connection->client, NOBODY, zkl_now() + most, &none);
    zkl_free(connection->client);
    *connection = (cli_connection){.client = NULL};
}
