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
    char *origin;      /* of hosts, for a complaint: "-z", "$ZOOKEEPER", "FILE:3" */
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

/* ---- the connection ---- */

/* Hears an event of a contender, a query, a request or a watch. false: the wait ends. */
typedef bool cli_told(void *context, const zkl_event *event);

/* Hears of all events but answers: LOST, REVOKED, CHANGED, ... */
typedef struct cli_listener {
    cli_told *told; /* NULL: such events are dropped */
    void *context;
} cli_listener;

typedef struct cli_connection {
    zkl_client *client;
    uint64_t tag;          /* the latest that was given out */
    cli_listener listener; /* the caller may set it at any time */
    /* the latest question: there is one at a time */
    uint64_t asked;
    bool answered;
    zkl_event answer; /* its status is ZKL_OK before */
} cli_connection;

/* HOST:PID of this process. */
#define CLI_IDENTITY 300
void cli_identity(char identity[CLI_IDENTITY]);

/* Starts connecting. Asks for a session of so many seconds if the configuration does not say.
 * `identifier`: NULL: HOST:PID. Returns 0, or an exit code after a complaint. */
int cli_connection_open(cli_connection *connection, const cli_settings *settings, double session,
                        const char *identifier);

/* A number that no contender, query, ... of this connection has. */
uint64_t cli_connection_tag(cli_connection *connection);

/* The same, for a question that is about to be asked: its first event is the answer. */
uint64_t cli_connection_ask(cli_connection *connection);

/* Takes the events that there are. false: the listener has ended it, and others may be left. */
bool cli_connection_hear(cli_connection *connection);

/* Waits for the answer. false: the moment came before, or the listener has ended the wait. */
bool cli_connection_await(cli_connection *connection, zkl_nanos until);

/* Waits for the answer of a query or a node request that has a deadline of its own. `there`: it is;
 * else ZKL_NO_MEMORY. Interrupted: ZKL_CANCELLED. */
zkl_status cli_connection_answer(cli_connection *connection, bool there);

/* Waits for a session. Returns 0, or an exit code after a complaint that says why there is none. */
int cli_connection_session(cli_connection *connection, double seconds);

/* Complains that a request failed, with what is known about the servers if that is the reason.
 * Returns the exit code. */
int cli_connection_failure(cli_connection *connection, zkl_status status, const char *about);

#define CLI_CLOSE_MOST (5 * ZKL_SECOND)

/* Ends the session, for which it waits at most so long, and frees the client. If no server has
 * answered then, the session times out. */
void cli_connection_close(cli_connection *connection, zkl_nanos most);

#endif
