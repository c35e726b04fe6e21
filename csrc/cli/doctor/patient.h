/* SPDX-License-Identifier: MIT */
/* patient: what `zklock doctor` examines, and its examinations, each in a file of its own. */
#ifndef ZKL_CLI_PATIENT_H
#define ZKL_CLI_PATIENT_H

#include "cli/doctor/finding.h"
#include "cli/nodes/node_command.h"

typedef struct cli_patient {
    cli_findings findings;
    cli_node_command command; /* settings, and a connection once a server is in reach */
    const char *path;         /* of a lock, or NULL */
    double grace;             /* seconds; below 0: the default */
} cli_patient;

/* Looks names up, and opens a session with each server of the list. Is any server in reach? */
bool cli_doctor_servers(cli_patient *patient);

/* The rest has a connection. */

/* ACLs from the path up to the root. */
void cli_doctor_acls(cli_patient *patient);
/* The contents of the lock's directory. */
void cli_doctor_line(cli_patient *patient);
/* Acquires the lock, and releases it. */
void cli_doctor_acquire(cli_patient *patient);

#endif
