/* SPDX-License-Identifier: MIT */
#include "cli/connection.h"

#include "cli/text.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>

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

/* A check of each node, then the operation; NULL: none. */
static zkl_status try(cli_connection *connection, const cli_guard *guard, const zkl_op *op) {
    const size_t count = guard->count + (op ? 1 : 0);
    if (guard->count == 0)
        return cli_connection_do(connection, op);
    zkl_op *ops = cli_memory_again(NULL, count, sizeof *ops);
    for (size_t i = 0; i < guard->count; i++)
        ops[i] = (zkl_op){
            .size = sizeof(zkl_op), .kind = ZKL_OP_CHECK, .path = guard->nodes[i], .version = -1};
    if (op)
        ops[guard->count] = *op;
    zkl_node_request_drop(connection->request);
    connection->request = zkl_node_do_all(connection->client, ops, count, NULL, CLI_QUESTION,
                                          cli_connection_deadline(connection), false);
    free(ops);
    const zkl_status status = cli_connection_answer(connection, connection->request);
    return status == ZKL_UNKNOWN && !op ? ZKL_TIMEOUT : status; /* nothing was to be written */
}

int cli_guard_do(cli_connection *connection, const cli_guard *guard, const zkl_op *op) {
    const zkl_status status = try(connection, guard, op);
    const size_t failed = connection->request ? zkl_node_request_failed(connection->request) : 0;
    const bool of_guard = failed > 0 && failed <= guard->count;
    const char *path = of_guard ? guard->nodes[failed - 1] : op ? op->path : guard->nodes[0];
    if (of_guard && status == ZKL_NO_NODE)
        return cli_failure(ZKL_LOST, path);
    return cli_connection_failure(connection, status, path);
}
