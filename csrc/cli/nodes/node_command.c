/* SPDX-License-Identifier: MIT */
#include "cli/nodes/node_command.h"

#include "cli/connection.h"
#include "cli/text.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- the command ---- */

int cli_node_command_begin(cli_node_command *command, const cli_options *options, const char *path,
                           zkl_path_use use) {
    *command = (cli_node_command){.connect = options->connect};
    int code = cli_settings_read(&command->settings, options->hosts, options->config);
    if (code == 0)
        code = cli_path_check("PATH", path, command->settings.hosts, use);
    if (code == 0)
        code =
            cli_connection_open(&command->connection, &command->settings, CLI_NODE_SESSION, NULL);
    return code ? code : cli_connection_session(&command->connection, options->connect);
}

zkl_status cli_node_command_try(cli_node_command *command, const zkl_op *op) {
    cli_connection *connection = &command->connection;
    const uint64_t tag = cli_connection_ask(connection);
    const zkl_nanos deadline = zkl_clock_after(zkl_now(), command->connect);
    zkl_node_request_drop(command->request);
    command->request = zkl_node_do(connection->client, op, tag, deadline, false);
    return cli_connection_answer(connection, command->request);
}

int cli_node_command_do(cli_node_command *command, const zkl_op *op) {
    const zkl_status status = cli_node_command_try(command, op);
    return status == ZKL_OK ? 0 : cli_connection_failure(&command->connection, status, op->path);
}

/* A check of each node, then the write; NULL: none. */
static zkl_status try_guarded(cli_node_command *command, const cli_guard *guard,
                              const zkl_op *write) {
    cli_connection *connection = &command->connection;
    const uint64_t tag = cli_connection_ask(connection);
    const zkl_nanos deadline = zkl_clock_after(zkl_now(), command->connect);
    const size_t count = guard->count + (write ? 1 : 0);
    zkl_op *ops = cli_memory_again(NULL, count, sizeof *ops);
    for (size_t i = 0; i < guard->count; i++)
        ops[i] = (zkl_op){
            .size = sizeof(zkl_op), .kind = ZKL_OP_CHECK, .path = guard->nodes[i], .version = -1};
    if (write)
        ops[guard->count] = *write;
    zkl_node_request_drop(command->request);
    command->request = zkl_node_do_all(connection->client, ops, count, NULL, tag, deadline, false);
    free(ops);
    const zkl_status status = cli_connection_answer(connection, command->request);
    return status == ZKL_UNKNOWN && !write ? ZKL_TIMEOUT : status; /* nothing was to be written */
}

int cli_node_command_write(cli_node_command *command, const cli_guard *guard, const zkl_op *write) {
    if (guard->count == 0)
        return cli_node_command_do(command, write);
    const zkl_status status = try_guarded(command, guard, write);
    if (status == ZKL_OK)
        return 0;
    const size_t failed = zkl_node_request_failed(command->request);
    const bool of_guard = failed > 0 && failed <= guard->count;
    const char *path = of_guard ? guard->nodes[failed - 1] : write ? write->path : guard->nodes[0];
    if (of_guard && status == ZKL_NO_NODE)
        return cli_failure(ZKL_LOST, path);
    return cli_connection_failure(&command->connection, status, path);
}

const zkl_content *cli_node_command_written(const cli_node_command *command,
                                            const cli_guard *guard) {
    return zkl_node_request_content(command->request, guard->count);
}

void cli_node_command_end(cli_node_command *command) {
    zkl_node_request_drop(command->request);
    cli_connection_close(&command->connection, CLI_CLOSE_MOST);
    cli_settings_free(&command->settings);
}

int cli_node_command_at(const char *path, const cli_options *options, const cli_node_task *task) {
    cli_node_command command;
    int code = cli_node_command_begin(&command, options, path, task->use);
    if (code == 0)
        code = task->run(&command, path, task->to);
    cli_node_command_end(&command);
    return code;
}

int cli_node_command_run(cli_options *options, const cli_node_task *task) {
    if (!cli_options_read(options, task->to))
        return options->code;
    const int code = cli_options_expect(options, 1, 1, "PATH");
    return code ? code : cli_node_command_at(options->argv[optind], options, task);
}
