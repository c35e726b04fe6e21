/* SPDX-License-Identifier: MIT */
/* node_command: what the subcommands about nodes have in common: the configuration, a connection,
 * one request at a time, and the lock nodes of --guard. */
#ifndef ZKL_CLI_NODES_NODE_COMMAND_H
#define ZKL_CLI_NODES_NODE_COMMAND_H

#include "cli/connection.h"
#include "cli/options.h"
#include "cli/text.h"
#include "zklock.h"

typedef struct cli_guard {
    char **nodes;
    size_t count; /* 0: nothing is guarded */
} cli_guard;

/* Adds what `source`, --guard or a variable, names. Returns 0, or EX_USAGE after a complaint: the
 * list is empty, or names what is not a lock's node. */
int cli_guard_add(cli_guard *guard, const char *source, const char *list);

void cli_guard_free(cli_guard *guard);

/* Seconds: of --connect, and of the session that a short command asks for. */
#define CLI_NODE_CONNECT 10
#define CLI_NODE_SESSION 10

typedef struct cli_node_command {
    cli_settings settings;
    cli_connection connection;
    double connect;            /* seconds that each request may take, too */
    zkl_node_request *request; /* the latest; its content is the command's until the next */
} cli_node_command;

/* Reads the configuration, checks the path, connects, and waits for a session. Returns 0, or an
 * exit code after a complaint. In both cases the caller calls cli_node_command_end. */
int cli_node_command_begin(cli_node_command *command, const cli_options *options, const char *path,
                           zkl_path_use use);

/* Does one operation. Returns 0, or an exit code after a complaint that names the path. */
int cli_node_command_do(cli_node_command *command, const zkl_op *op);

/* The same without a complaint. */
zkl_status cli_node_command_try(cli_node_command *command, const zkl_op *op);

/* Does a write, while the lock nodes of the guard are there; NULL: only looks for them, which the
 * servers do as one write, too. Returns 0, EX_TEMPFAIL if one is not,
 * or another exit code, after a complaint. */
int cli_node_command_write(cli_node_command *command, const cli_guard *guard, const zkl_op *write);

/* The result of a write: of a create, the path is the data. */
const zkl_content *cli_node_command_written(const cli_node_command *command,
                                            const cli_guard *guard);

void cli_node_command_end(cli_node_command *command);

/* What a subcommand does at one path. */
typedef struct cli_node_task {
    zkl_path_use use;
    /* Called with a session. Returns an exit code. */
    int (*run)(cli_node_command *command, const char *path, void *to);
    void *to; /* the options, too, are read into it */
} cli_node_task;

/* Connects, runs the task, and returns its exit code, or one after a complaint. */
int cli_node_command_at(const char *path, const cli_options *options, const cli_node_task *task);

/* All of a subcommand whose only argument is PATH: reads the options, too. */
int cli_node_command_run(cli_options *options, const cli_node_task *task);

#endif
