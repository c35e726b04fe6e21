/* SPDX-License-Identifier: MIT */
/* doctor: looks for what could keep locks from working. */
#include "cli/connection.h"
#include "cli/doctor/patient.h"
#include "cli/run/state.h"
#include "cli/options.h"
#include "cli/text.h"
#include "cli/who/roster.h"
#include "zklock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT 5 /* seconds; --connect */
/* Requests of the search for deadlocks, one after another. */
#define SEARCHED 1000

static const char help[] =
    "usage: zklock doctor [OPTIONS] [PATH]\n"
    "\n"
    "Looks for what could keep locks from working: a line each, ok, warning or\n"
    "failure. Exits 0, 1 if the worst is a warning, 2 if it is a failure. With PATH\n"
    "it also looks at that lock, and acquires and releases it for a moment.\n"
    "\n" CLI_OPTIONS_HELP;

static const cli_syntax syntax = {.help = help, .arguments = "[PATH]", .most = 1};

/* ---- what needs no server ---- */

static void examine_settings(cli_patient *patient) {
    const cli_settings *settings = &patient->settings;
    if (settings->exposed)
        cli_finding(patient, CLI_WARNING, "configuration",
                    "Make it readable for its owner alone: chmod 600",
                    "%s has credentials, and others can read it", settings->file);
    else
        cli_finding(patient, CLI_FINE, "configuration", NULL, "%s; servers from %s",
                    settings->file ? settings->file : "no file", settings->origin);
}

static bool is_loopback(const char *hosts) {
    return strncmp(hosts, "127.", 4) == 0 || strncmp(hosts, "localhost", 9) == 0 ||
           strncmp(hosts, "[::1]", 5) == 0;
}

/* The files were loaded when the configuration was read. */
static void examine_tls(cli_patient *patient) {
    const cli_settings *settings = &patient->settings;
    if (settings->tls_ca)
        cli_finding(patient, CLI_FINE, "TLS", NULL, "in use, certificate %s", settings->tls_cert);
    else if (settings->auth_count > 0 && !is_loopback(settings->hosts))
        cli_finding(patient, CLI_WARNING, "TLS",
                    "Set tls-ca, tls-cert and tls-key in the configuration",
                    "not in use: credentials cross the network as plain text");
    else
        cli_finding(patient, CLI_FINE, "TLS", NULL, "not in use");
}

/* ---- each server of the list ---- */

/* One of them, with a client of its own. */
typedef struct server {
    char *address; /* HOST:PORT, as the list has it */
    char *hosts;   /* ... and the chroot */
    cli_connection connection;
    zkl_status status, root; /* of waiting for a session; of reading "/" there */
    double seconds;          /* until there was a session */
} server;

typedef struct servers {
    server *list;
    size_t count, reached;
} servers;

static void add(servers *all, const char *address, size_t length, const char *chroot) {
    all->list = cli_memory_again(all->list, all->count + 1, sizeof *all->list);
    server *added = &all->list[all->count++];
    *added = (server){.address = cli_memory_print("%.*s", (int)length, address),
                      .status = ZKL_NO_MEMORY}; /* unless it gets a client */
    added->hosts = cli_memory_print("%s%s", added->address, chroot);
}

static void split(servers *all, const char *hosts) {
    const size_t end = strcspn(hosts, "/");
    for (size_t at = 0, length; at < end; at += length + 1) {
        length = strcspn(hosts + at, ",/");
        if (length > 0)
            add(all, hosts + at, length, hosts + end);
    }
}

static void drop(servers *all) {
    for (size_t i = 0; i < all->count; i++) {
        cli_connection_close(&all->list[i].connection, CLI_CLOSE_MOST);
        free(all->list[i].address);
        free(all->list[i].hosts);
    }
    free(all->list);
}

/* ---- sessions ---- */

static void open_session(const cli_patient *patient, server *one) {
    cli_settings settings = patient->settings;
    settings.hosts = one->hosts;
    one->connection.seconds = patient->connection.seconds;
    cli_connection_open(&one->connection, &settings, CLI_SESSION, NULL);
}

static void report_server(cli_patient *patient, const servers *all, const server *one) {
    char trouble[ZKL_TROUBLE_TEXT];
    zkl_client *client = one->connection.client;
    const bool known = client && zkl_client_trouble(client, trouble, sizeof trouble);
    const cli_level level = all->reached > 0 ? CLI_WARNING : CLI_FAILURE;
    if (one->status == ZKL_OK)
        cli_finding(patient, CLI_FINE, one->address, NULL, "a session after %.0f ms",
                    one->seconds * 1e3);
    else if (one->status == ZKL_AUTH_FAILED)
        cli_finding(patient, level, one->address,
                    "Correct `auth` in the configuration, or give the server that scheme",
                    "%s: it refuses a credential", zkl_status_text(one->status));
    else
        cli_finding(patient, level, one->address,
                    "Start that server, open the way to it, or take it off the list",
                    "no session within %g s: %s", patient->connection.seconds,
                    known ? trouble : zkl_status_text(one->status));
}

/* ---- do they belong together? ---- */

/* Which node it is, and whose children it has; a server that does not answer counts as the same. */
static bool are_same(const servers *all) {
    const zkl_stat *first = NULL;
    for (size_t i = 0; i < all->count; i++) {
        const server *one = &all->list[i];
        if (one->status != ZKL_OK || one->root != ZKL_OK)
            continue;
        const zkl_stat *stat = &zkl_node_request_content(one->connection.request, 0)->stat;
        if (first && (first->czxid != stat->czxid || first->pzxid != stat->pzxid))
            return false;
        first = stat;
    }
    return true;
}

/* A node that comes or goes at the root in between makes them differ for a moment. */
static void examine_ensemble(cli_patient *patient, servers *all) {
    enum { TRIES = 5 };
    bool same = false;
    for (int try = 0; !same && try < TRIES; try++) {
        for (server *one = all->list; one < all->list + all->count; one++)
            if (one->status == ZKL_OK)
                one->root = cli_connection_read(&one->connection, ZKL_OP_EXISTS, "/");
        same = are_same(all);
    }
    if (!same)
        cli_finding(patient, CLI_FAILURE, "servers", "List the servers of one ensemble only",
                    "they do not show the same nodes: two callers could hold one lock");
    else if (all->reached > 1)
        cli_finding(patient, CLI_FINE, "servers", NULL,
                    "%zu of %zu answer, and show the same nodes", all->reached, all->count);
}

static bool examine_servers(cli_patient *patient) {
    servers all = {.count = 0};
    split(&all, patient->settings.hosts);
    const zkl_nanos since = zkl_now(), deadline = cli_connection_deadline(&patient->connection);
    for (size_t i = 0; i < all.count; i++)
        open_session(patient, &all.list[i]);
    for (server *one = all.list; one < all.list + all.count; one++) {
        if (one->connection.client)
            one->status = cli_connection_ready(&one->connection, deadline);
        one->seconds = zkl_clock_seconds(zkl_now() - since);
        all.reached += one->status == ZKL_OK;
    }
    for (size_t i = 0; i < all.count; i++)
        report_server(patient, &all, &all.list[i]);
    if (all.reached > 0)
        examine_ensemble(patient, &all);
    drop(&all);
    return all.reached > 0;
}

/* ---- what the servers granted ---- */

static void examine_timeout(cli_patient *patient) {
    const double asked = patient->settings.session > 0 ? patient->settings.session : RUN_SESSION;
    const double granted = zkl_session_timeout(patient->connection.client);
    if (granted < asked)
        cli_finding(patient, CLI_WARNING, "session timeout",
                    "Ask for less with `session`, or raise maxSessionTimeout of the servers",
                    "%g s granted of %g s", granted, asked);
    else if (granted > asked)
        cli_finding(patient, CLI_WARNING, "session timeout",
                    "Ask for more with `session`, or lower minSessionTimeout of the servers",
                    "%g s granted for %g s: a dead process keeps its locks for so long", granted,
                    asked);
    else
        cli_finding(patient, CLI_FINE, "session timeout", NULL, "%g s, as asked", granted);
}

/* Answers that take longer than an eighth of the session give no validity. */
static void examine_latency(cli_patient *patient) {
    zkl_stats stats = ZKL_STATS_DEFAULTS;
    zkl_client *client = patient->connection.client;
    const double granted = zkl_session_timeout(client);
    cli_connection_read(&patient->connection, ZKL_OP_EXISTS, "/"); /* behind a write: a quorum's */
    zkl_client_stats(client, &stats);
    if (stats.latency > granted / 16)
        cli_finding(patient, CLI_WARNING, "latency",
                    "Find out why the servers are slow, or ask for a longer session",
                    "answers take %.3f s; a session of %g s allows %g s", stats.latency, granted,
                    granted / 8);
    else
        cli_finding(patient, CLI_FINE, "latency", NULL, "answers take %.1f ms",
                    stats.latency * 1e3);
}

/* ---- who may delete the lock, or take its place: from its path to the root ---- */

/* "world:anyone:rwcda digest:a:b:r", on one line. */
static char *on_one_line(const zkl_content *content) {
    char *text = cli_memory_text(content->data);
    for (char *end; (end = strchr(text, '\n'));)
        *end = end[1] ? ' ' : '\0';
    return text;
}

/* With the ACL "open" the user lets everybody do everything. Otherwise the engine grants nothing in
 * a directory that is exposed; above it strangers may only do something while it is empty. */
static void report_acl(cli_patient *patient, const char *path, const char *subject) {
    const zkl_content *content = zkl_node_request_content(patient->connection.request, 0);
    const bool open = patient->settings.acl == ZKL_ACL_OPEN;
    const bool own = strcmp(path, patient->path) == 0;
    char *acl = on_one_line(content);
    if (!content->exposed)
        cli_finding(patient, CLI_FINE, subject, NULL, "%s", acl);
    else if (open)
        cli_finding(patient, CLI_FINE, subject, NULL, "%s: anybody may %s, as acl is open", acl,
                    own ? "delete nodes of the lock" : "create and delete below it");
    else if (own)
        cli_finding(patient, CLI_FAILURE, subject,
                    "Give the directory an ACL of your own, or set acl open",
                    "%s: anybody may delete nodes of the lock, so it is never granted", acl);
    else if (path[1])
        cli_finding(patient, CLI_WARNING, subject, "Give it an ACL of your own",
                    "%s: anybody may delete what is empty below it, and make it anew", acl);
    else
        cli_finding(patient, CLI_FINE, subject, NULL, "%s, as usual for the root", acl);
    free(acl);
}

static void examine_acl(cli_patient *patient, const char *path) {
    const zkl_status status = cli_connection_read(&patient->connection, ZKL_OP_ACL, path);
    char *subject = cli_memory_print("ACL of %s", path);
    if (status == ZKL_OK)
        report_acl(patient, path, subject);
    else if (status == ZKL_NO_NODE)
        cli_finding(patient, CLI_FINE, subject, NULL,
                    "no such node yet: the first acquire makes it");
    else
        cli_finding(patient, CLI_WARNING, subject,
                    "Add credentials to the configuration that may read it", "%s",
                    zkl_status_text(status));
    free(subject);
}

static void examine_acls(cli_patient *patient) {
    char *path = cli_memory_text(patient->path);
    while (*path) {
        examine_acl(patient, path);
        *strrchr(path, '/') = '\0';
    }
    examine_acl(patient, "/");
    free(path);
}

/* ---- circles, anywhere ---- */

static void report_circle(cli_patient *patient, const cli_deadlocks *found, size_t index) {
    char *text = cli_deadlocks_text(found, index);
    cli_finding(patient, found->circles.all[index].certain ? CLI_FAILURE : CLI_WARNING, "deadlock",
                "End one of them; always take these locks in one order, or by a multilock", "%s",
                text);
    free(text);
}

static void examine_deadlocks(cli_patient *patient) {
    cli_deadlocks found = {.roster = {.count = 0}};
    const char *path = patient->path ? patient->path : "/";
    const int parent = (int)(strrchr(path, '/') - path);
    char *above = cli_memory_print("%.*s", parent > 0 ? parent : 1, path);
    const cli_search all = {above, true, SEARCHED, .quiet = true};
    if (cli_deadlocks_find(&all, &patient->connection, &found) == 0) {
        for (size_t i = 0; i < found.circles.count; i++)
            report_circle(patient, &found, i);
        if (found.circles.count == 0)
            cli_finding(patient, CLI_FINE, "deadlocks", NULL, "none among %zu lock nodes%s",
                        found.roster.count,
                        found.roster.cut ? ", and some directories were left out" : "");
    }
    cli_deadlocks_free(&found);
    free(above);
}

/* ---- all of it ---- */

static int examine(cli_patient *patient) {
    examine_settings(patient);
    examine_tls(patient);
    if (!examine_servers(patient) ||
        cli_connection_open(&patient->connection, &patient->settings, RUN_SESSION, NULL) != 0 ||
        cli_connection_session(&patient->connection) != 0)
        return CLI_FAILURE;
    examine_timeout(patient);
    if (patient->path) {
        examine_acls(patient);
        cli_doctor_line(patient);
    }
    examine_deadlocks(patient);
    examine_latency(patient);
    return (int)patient->worst;
}

int cli_doctor(int argc, char **argv) {
    cli_options options = cli_options_of(argc, argv, &syntax, CONNECT);
    if (!cli_options_read(&options, NULL))
        return options.code;
    cli_patient patient = {.path = argv[optind], /* NULL at the end */
                           .connection = {.seconds = options.connect}};
    int code = cli_settings_read(&patient.settings, options.hosts, options.config);
    if (code == 0 && patient.path)
        code = cli_path_check("PATH", patient.path, patient.settings.hosts, ZKL_PATH_LOCK);
    if (code == 0)
        code = examine(&patient);
    cli_connection_close(&patient.connection, CLI_CLOSE_MOST);
    cli_settings_free(&patient.settings);
    return code;
}
