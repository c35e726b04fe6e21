/* SPDX-License-Identifier: MIT */
/* doctor_acls: who may delete the lock, or take its place: the ACLs from its path to the root. */
#include "cli/connection.h"
#include "cli/doctor/patient.h"

#include "cli/text.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>

/* "world:anyone:rwcda digest:a:b:r", on one line. */
static char *on_one_line(const zkl_content *content) {
    char *text = cli_memory_text(content->data);
    for (char *end; (end = strchr(text, '\n'));)
        *end = end[1] ? ' ' : '\0';
    return text;
}

/* With the ACL "open" the user lets everybody do everything. Otherwise the engine grants nothing in
 * a directory that is exposed; above it strangers may only do something while it is empty. */
static void report(cli_patient *patient, const char *path, const zkl_content *content) {
    const bool open = patient->settings.acl == ZKL_ACL_OPEN;
    const bool own = strcmp(path, patient->path) == 0;
    char *acl = on_one_line(content);
    char *subject = cli_memory_print("ACL of %s", path);
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
    free(subject);
    free(acl);
}

static void examine(cli_patient *patient, const char *path) {
    const zkl_status status = cli_connection_read(&patient->connection, ZKL_OP_ACL, path);
    char *subject = cli_memory_print("ACL of %s", path);
    if (status == ZKL_OK)
        report(patient, path, zkl_node_request_content(patient->connection.request, 0));
    else if (status == ZKL_NO_NODE)
        cli_finding(patient, CLI_FINE, subject, NULL,
                    "no such node yet: the first acquire makes it");
    else
        cli_finding(patient, CLI_WARNING, subject,
                    "Add credentials to the configuration that may read it", "%s",
                    zkl_status_text(status));
    free(subject);
}

void cli_doctor_acls(cli_patient *patient) {
    char *path = cli_memory_text(patient->path);
    while (*path) {
        examine(patient, path);
        *strrchr(path, '/') = '\0';
    }
    examine(patient, "/");
    free(path);
}
