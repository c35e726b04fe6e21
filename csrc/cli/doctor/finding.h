/* SPDX-License-Identifier: MIT */
/* finding: what `zklock doctor` has found: a line each. */
#ifndef ZKL_CLI_FINDING_H
#define ZKL_CLI_FINDING_H

typedef enum cli_level { CLI_FINE, CLI_WARNING, CLI_FAILURE } cli_level;

typedef struct cli_findings {
    cli_level worst;
} cli_findings;

/* `LEVEL  SUBJECT: REASON. REMEDY`; a remedy may be NULL. Others' texts in it are spelled as
 * cli/text.h says. */
void cli_finding(cli_findings *findings, cli_level level, const char *subject, const char *remedy,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
