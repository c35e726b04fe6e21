/* SPDX-License-Identifier: MIT */
/* doctor: looks for what could keep locks from working. */
#include "cli/connection.h"
#include "cli/doctor/patient.h"
#include "cli/run/state.h"
#include "cli/options.h"
#include "cli/text.h"
#include "cli/who/roster.h"
#include "zklock.h"

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

static const cli_syntax syntax = {.help = help};

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
    const char *end = patient->path ? strrchr(patient->path, '/') : NULL;
    char *above = end && end > patient->path
                      ? cli_memory_print("%.*s", (int)(end - patient->path), patient->path)
                      : cli_memory_text("/");
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
    if (!cli_doctor_servers(patient) ||
        cli_connection_open(&patient->connection, &patient->settings, RUN_SESSION, NULL) != 0 ||
        cli_connection_session(&patient->connection) != 0)
        return CLI_FAILURE;
    examine_timeout(patient);
    if (patient->path) {
        cli_doctor_acls(patient);
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
    int code = cli_options_expect(&options, 0, 1, "[PATH]");
    if (code)
        return code;
    cli_patient patient = {.path = argv[optind], /* NULL at the end */
                           .connection = {.seconds = options.connect}};
    code = cli_settings_read(&patient.settings, options.hosts, options.config);
    if (code == 0 && patient.path)
        code = cli_path_check("PATH", patient.path, patient.settings.hosts, ZKL_PATH_LOCK);
    if (code == 0)
        code = examine(&patient);
    cli_connection_close(&patient.connection, CLI_CLOSE_MOST);
    cli_settings_free(&patient.settings);
    return code;
}
