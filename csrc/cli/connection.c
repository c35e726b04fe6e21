/* SPDX-License-Identifier: MIT */
#include "cli/connection.h"

#include "cli/text.h"
#include "zklock_host.h"

#include <errno.h>
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

const char *cli_connection_trouble(const cli_connection *connection, char text[CLI_TROUBLE_TEXT]) {
    const bool known = zkl_client_trouble(connection->client, text + 2, CLI_TROUBLE_TEXT - 2);
    text[0] = known ? ':' : '\0';
    text[1] = ' ';
    return text;
}

int cli_connection_failure(cli_connection *connection, zkl_status status, const char *about) {
    if (status == ZKL_OK)
        return 0;
    cli_complain("%s%s%s%s", zkl_status_text(status), about ? ": " : "", about ? about : "",
                 status == ZKL_DISCONNECTED ? CLI_TROUBLE(connection) : "");
    return cli_exit_code(status);
}

/* ---- the guard ---- */

static int check_node(const char *source, const char *node) {
    int32_t sequence;
    const char *problem = zkl_path_problem(node, "", ZKL_PATH_WRITE);
    if (!problem && !zkl_znode_parse(strrchr(node, '/') + 1, &sequence))
        problem = "a lock's node expected, such as those of $ZKLOCK_NODE";
    if (!problem)
        return 0;
    return cli_misuse(source, "path '%s': %s", CLI_SHOWN(node), problem);
}

int cli_guard_add(cli_guard *guard, const char *source, const char *list) {
    static const char ends[] = "\r\n";
    const size_t before = guard->count;
    int code = 0;
    for (const char *line = list + strspn(list, ends); code == 0 && *line;) {
        const size_t length = strcspn(line, ends);
        char *node = cli_memory_print("%.*s", (int)length, line);
        guard->nodes = cli_memory_again(guard->nodes, guard->count + 1, sizeof *guard->nodes);
        guard->nodes[guard->count++] = node;
        code = check_node(source, node);
        line += length + strspn(line + length, ends);
    }
    if (code || guard->count > before)
        return code;
    return cli_misuse(source, "lock nodes expected, such as those of $ZKLOCK_NODE, got none");
}

void cli_guard_free(cli_guard *guard) {
    for (size_t i = 0; i < guard->count; i++)
        free(guard->nodes[i]);
    free(guard->nodes);
    *guard = (cli_guard){.count = 0};
}

/* A check of each node, then the operation; NULL: none. Then nothing is to be written, so it asks
 * again if an answer is lost. */
static zkl_status try(cli_connection *connection, const cli_guard *guard, const zkl_op *op) {
    const size_t count = guard->count + (op ? 1 : 0);
    const zkl_nanos deadline = cli_connection_deadline(connection);
    zkl_status status;
    if (guard->count == 0)
        return cli_connection_do(connection, op);
    zkl_op *ops = cli_memory_again(NULL, count, sizeof *ops);
    for (size_t i = 0; i < guard->count; i++)
        ops[i] = (zkl_op){
            .size = sizeof(zkl_op), .kind = ZKL_OP_CHECK, .path = guard->nodes[i], .version = -1};
    if (op)
        ops[guard->count] = *op;
    do {
        zkl_node_request_drop(connection->request);
        connection->request =
            zkl_node_do_all(connection->client, ops, count, NULL, CLI_QUESTION, deadline, false);
        status = cli_connection_answer(connection, connection->request);
    } while (status == ZKL_UNKNOWN && !op && zkl_now() < deadline);
    free(ops);
    return status == ZKL_UNKNOWN && !op ? ZKL_TIMEOUT : status;
}

int cli_guard_do(cli_connection *connection, const cli_guard *guard, const zkl_op *op) {
    const zkl_status status = try(connection, guard, op);
    const size_t failed = connection->request ? zkl_node_request_failed(connection->request) : 0;
    const bool of_guard = failed > 0 && failed <= guard->count;
    const char *path = of_guard ? guard->nodes[failed - 1] : op ? op->path : guard->nodes[0];
    const bool gone = of_guard && status == ZKL_NO_NODE;
    return cli_connection_failure(connection, gone ? ZKL_LOST : status, path);
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
