/* SPDX-License-Identifier: MIT */
#include "cli/run/session.h"

#include "cli/connection.h"
#include "cli/run/page.h"
#include "cli/text.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>

/* ZKLOCK_NODE is the run's right above, ZKLOCK_ABOVE has those above that one. */
char *cli_above_nodes(void) {
    const char *nearest = getenv("ZKLOCK_NODE"), *others = getenv("ZKLOCK_ABOVE");
    if (!nearest && !others)
        return NULL;
    return cli_memory_print("%s%s%s", nearest ? nearest : "", nearest && others ? "\n" : "",
                            others ? others : "");
}

/* Is this child's name one of the nodes'? Others than ours may have a name twice. */
static bool is_among(const char *nodes, const char *child) {
    const size_t length = strlen(child);
    const char *at = strncmp(child, "_c_", 3) == 0 ? strstr(nodes, child) : NULL;
    while (at && !(at > nodes && at[-1] == '/' && (!at[length] || at[length] == '\n')))
        at = strstr(at + length, child);
    return at;
}

/* Lists a directory, or with NULL has the server catch up. false: there is no answer, or the run is
 * to end. */
static bool ask(struct session *session, const char *path) {
    cli_connection *connection = &session->connection;
    const zkl_nanos deadline = zkl_clock_after(zkl_now(), session->run->options.connect);
    const zkl_op list = {.size = sizeof(zkl_op), .kind = ZKL_OP_CHILDREN, .path = path};
    const uint64_t tag = cli_session_ask(session);
    zkl_node_request_drop(connection->request);
    connection->request = path ? zkl_node_do(connection->client, &list, tag, deadline, false)
                               : zkl_node_sync(connection->client, tag, deadline, false);
    return connection->request && cli_session_await(session, ZKL_NEVER, true);
}

/* A list that cannot be read has no names: the acquire says why. */
static bool has_own(struct session *session, const char *path) {
    const zkl_content *content =
        ask(session, path) ? zkl_node_request_content(session->connection.request, 0) : NULL;
    for (size_t i = 0; content && i < content->count; i++)
        if (is_among(session->run->above, content->names[i]))
            return true;
    return false;
}

static const char *path_of_own(struct session *session) {
    const struct run_options *options = &session->run->options;
    if (!ask(session, NULL)) /* a server that lags behind may not know the node yet */
        return NULL;
    for (size_t i = 0; i < options->count; i++)
        if (has_own(session, options->paths[i]))
            return options->paths[i];
    return NULL;
}

bool cli_above_check(struct session *session) {
    if (!session->run->above || session->run->options.kind == ZKL_KIND_LEASE)
        return false;
    const char *path = path_of_own(session);
    zkl_node_request_drop(session->connection.request);
    session->connection.request = NULL;
    if (!path)
        return false;
    cli_page_end(session->page, EX_DATAERR, "error",
                 "deadlock: a zklock run above this one holds %s", CLI_SHOWN(path));
    return true;
}
