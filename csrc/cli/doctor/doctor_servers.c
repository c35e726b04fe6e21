/* SPDX-License-Identifier: MIT */
/* doctor_servers: a session with each server of the list. */
#include "cli/connection.h"
#include "cli/doctor/patient.h"

#include "cli/text.h"
#include "zklock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One server of the list, with a client of its own. */
typedef struct server {
    char *address; /* HOST:PORT, as the list has it */
    char *hosts;   /* ... and the chroot */
    cli_connection connection;
    bool reached;
    double seconds; /* until there was a session */
    char trouble[ZKL_TROUBLE_TEXT];
    zkl_status root; /* of reading "/" there: whose children, and which node, it is */
    int64_t czxid, pzxid;
} server;

typedef struct servers {
    server *list;
    size_t count, reached;
} servers;

/* ---- the list ---- */

static void add(servers *all, const char *address, size_t length, const char *chroot) {
    all->list = cli_memory_again(all->list, all->count + 1, sizeof *all->list);
    server *added = &all->list[all->count++];
    *added = (server){.address = cli_memory_print("%.*s", (int)length, address)};
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

static void await_session(server *one, zkl_nanos since, zkl_nanos deadline) {
    zkl_client *client = one->connection.client;
    if (!client)
        return;
    const zkl_status status = cli_connection_ready(&one->connection, deadline);
    one->reached = status == ZKL_OK;
    one->seconds = zkl_clock_seconds(zkl_now() - since);
    if (!one->reached && !zkl_client_trouble(client, one->trouble, sizeof one->trouble))
        snprintf(one->trouble, sizeof one->trouble, "%s", zkl_status_text(status));
}

static void report(cli_patient *patient, const servers *all, const server *one) {
    if (one->reached)
        cli_finding(patient, CLI_FINE, one->address, NULL, "a session after %.0f ms",
                    one->seconds * 1e3);
    else
        cli_finding(patient, all->reached > 0 ? CLI_WARNING : CLI_FAILURE, one->address,
                    "Start that server, open the way to it, or take it off the list",
                    "no session within %g s: %s", patient->connection.seconds,
                    one->trouble[0] ? one->trouble : "no client");
}

/* ---- do they belong together? ---- */

static void read_root(server *one) {
    one->root = cli_connection_read(&one->connection, ZKL_OP_EXISTS, "/");
    if (one->root != ZKL_OK)
        return;
    const zkl_stat *stat = &zkl_node_request_content(one->connection.request, 0)->stat;
    one->czxid = stat->czxid;
    one->pzxid = stat->pzxid;
}

static bool are_same(const servers *all) {
    const server *first = NULL;
    for (size_t i = 0; i < all->count; i++) {
        const server *one = &all->list[i];
        if (!one->reached || one->root != ZKL_OK)
            continue;
        if (!first)
            first = one;
        else if (first->czxid != one->czxid || first->pzxid != one->pzxid)
            return false;
    }
    return true;
}

/* A node that comes or goes at the root in between makes them differ for a moment. */
static void examine_ensemble(cli_patient *patient, servers *all) {
    enum { TRIES = 5 };
    bool same = false;
    for (int try = 0; !same && try < TRIES; try++) {
        for (size_t i = 0; i < all->count; i++)
            if (all->list[i].reached)
                read_root(&all->list[i]);
        same = are_same(all);
    }
    if (!same)
        cli_finding(patient, CLI_FAILURE, "servers", "List the servers of one ensemble only",
                    "they do not show the same nodes: two callers could hold one lock");
    else if (all->reached > 1)
        cli_finding(patient, CLI_FINE, "servers", NULL,
                    "%zu of %zu answer, and show the same nodes", all->reached, all->count);
}

bool cli_doctor_servers(cli_patient *patient) {
    servers all = {.count = 0};
    split(&all, patient->settings.hosts);
    const zkl_nanos since = zkl_now(), deadline = cli_connection_deadline(&patient->connection);
    for (size_t i = 0; i < all.count; i++)
        open_session(patient, &all.list[i]);
    for (size_t i = 0; i < all.count; i++) {
        await_session(&all.list[i], since, deadline);
        all.reached += all.list[i].reached;
    }
    for (size_t i = 0; i < all.count; i++)
        report(patient, &all, &all.list[i]);
    if (all.reached > 0)
        examine_ensemble(patient, &all);
    drop(&all);
    return all.reached > 0;
}
