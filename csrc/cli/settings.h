/* SPDX-License-Identifier: MIT */
/* settings: which servers, who we are there, and the rest of the configuration file.
 *
 * The servers: -z, else $ZKLOCK_SERVERS, else $ZOOKEEPER, else `hosts` of the file, else
 * 127.0.0.1:2181. The file: --config, else $ZKLOCK_CONFIG, else /etc/zklock.conf, which need not be
 * there. Credentials come from the file only: arguments and the environment of a process can be
 * read by others. */
#ifndef ZKL_CLI_SETTINGS_H
#define ZKL_CLI_SETTINGS_H

#include "zklock.h"

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

#endif
