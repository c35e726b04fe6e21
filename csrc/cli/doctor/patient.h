/* SPDX-License-Identifier: MIT */
/* patient: what `zklock doctor` examines and what it finds: a line each. */
#ifndef ZKL_CLI_DOCTOR_PATIENT_H
#define ZKL_CLI_DOCTOR_PATIENT_H

#include "cli/connection.h"

typedef enum cli_level { CLI_FINE, CLI_WARNING, CLI_FAILURE } cli_level;

typedef struct cli_patient {
    cli_level worst; /* of all findings */
    cli_settings settings;
    cli_connection connection; /* once a server is in reach */
    const char *path;          /* of a lock, or NULL */
} cli_patient;

/* `LEVEL  SUBJECT: REASON. REMEDY`; a remedy may be NULL. Others' texts in it are spelled as
 * cli/text.h says. */
void cli_finding(cli_patient *patient, cli_level level, const char *subject, const char *remedy,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The contents of the lock's directory; acquires the lock, and releases it. */
void cli_doctor_line(cli_patient *patient);

#endif
