/* SPDX-License-Identifier: MIT */
/* connection: which servers, who we are there, and a client of the engine, for a program that asks
 * one thing after another and waits for each answer. */
#ifndef ZKL_CLI_CONNECTION_H
#define ZKL_CLI_CONNECTION_H

#include "zklock.h"

/* ---- settings.c: options, environment and the configuration file ----
 *
 * The servers: -z, else $ZKLOCK_SERVERS, else $ZOOKEEPER, else `hosts` of the file, else
 * 127.0.0.1:2181. The file: --config, else $ZKLOCK_CONFIG, else /etc/zklock.conf, which need not be
 * there. Credentials come from the file only: arguments and the environment of a process can be
 * read by others. */

#define CLI_CONFIG_FILE "/etc/zklock.conf"
#define CLI_HOSTS "127.0.0.1:2181"
#define CLI_SESSION_MOST 3600 /* seconds */
/* node-bytes */
#define CLI_NODE_BYTES_LEAST 1000
#define CLI_NODE_BYTES_MOST 100000000

typedef struct cli_settings {
    char *hosts;
    char *origin;      /* of hosts, for a complaint: "-z", "FILE:3", "the default" */
    bool exposed;      /* the file has credentials, and others can read it */
    char *file;        /* what was read; NULL: there was none */
    double session;    /* seconds; 0: the file does not say */
    size_t node_bytes; /* likewise */
    zkl_auth *auths;
    size_t auth_count;
    char *tls_ca, *tls_cert, *tls_key, *tls_password;
    bool has_acl;
    zkl_acl acl; /* also without `has_acl`: the default */
} cli_settings;

/* `hosts` and `config` are the options' values, or NULL. Returns 0, or EX_USAGE after a
 * complaint; in both cases the caller calls cli_settings_free. Warns of a file with credentials
 * that others can read. */
int cli_settings_read(cli_settings *settings, const char *hosts, const char *config);

/* Wipes what is secret. */
void cli_settings_free(cli_settings *settings);

/* ---- connection.c: one question after another; run/session.c has a loop of its own ---- */

typedef struct cli_connection {
    zkl_client *client;        /* NULL: it is not open */
    double seconds;            /* for a session, and for each answer */
    zkl_node_request *request; /* the latest operation; its content is there until the next */
} cli_connection;

/* The tag of each question. */
#define CLI_QUESTION 1

/* HOST:PID of this process. */
#define CLI_IDENTITY 300
void cli_identity(char identity[CLI_IDENTITY]);

/* Starts connecting. Asks for a session of so many seconds if the configuration does not say.
 * `identifier`: NULL: HOST:PID. Returns 0, or an exit code after a complaint. */
#define CLI_SESSION 10 /* of a short command */
int cli_connection_open(cli_connection *connection, const cli_settings *settings, double session,
                        const char *identifier);

/* Of a question that is asked now. */
zkl_nanos cli_connection_deadline(const cli_connection *connection);

/* Waits for the answer to a question, which has a deadline. `there`: it is; else ZKL_NO_MEMORY. */
zkl_status cli_connection_answer(cli_connection *connection, bool there);

/* Waits for a session until then. */
zkl_status cli_connection_ready(cli_connection *connection, zkl_nanos deadline);
/* The same. Returns 0, or an exit code after a complaint that says why there is none. */
int cli_connection_session(cli_connection *connection);

/* Does an operation. */
zkl_status cli_connection_do(cli_connection *connection, const zkl_op *op);
zkl_status cli_connection_read(cli_connection *connection, zkl_op_kind kind, const char *path);

/* ": " and what is known about servers that are out of reach, or "": in memory of the block that it
 * stands in. */
#define CLI_TROUBLE_TEXT (ZKL_TROUBLE_TEXT + 2)
#define CLI_TROUBLE(connection) cli_connection_trouble(connection, (char[CLI_TROUBLE_TEXT]){""})
const char *cli_connection_trouble(const cli_connection *connection, char text[CLI_TROUBLE_TEXT]);

/* The exit code of a status: 0, or another one after a complaint, with what is known about the
 * servers if that is the reason. `about` may be NULL. */
int cli_connection_failure(cli_connection *connection, zkl_status status, const char *about);

#define CLI_CLOSE_MOST (5 * ZKL_SECOND)

/* Ends the session, for which it waits at most so long, and frees the client. If no server has
 * answered then, the session times out. */
void cli_connection_close(cli_connection *connection, zkl_nanos most);

/* ---- lock nodes without which nothing is written ---- */

typedef struct cli_guard {
    char **nodes;
    size_t count; /* 0: nothing is guarded */
} cli_guard;

/* Adds what `source`, --guard or a variable, names. Returns 0, or EX_USAGE after a complaint: the
 * list is empty, or names what is not a lock's node. */
int cli_guard_add(cli_guard *guard, const char *source, const char *list);

void cli_guard_free(cli_guard *guard);

/* Does an operation while the nodes are there; NULL: only looks for them, which the servers do as
 * one write, too. The content of the operation is that behind the guard's. Returns 0, EX_TEMPFAIL
 * if a node is gone, or another exit code, after a complaint. */
int cli_guard_do(cli_connection *connection, const cli_guard *guard, const zkl_op *op);

#endif
