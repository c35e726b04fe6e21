/* SPDX-License-Identifier: MIT */
#include "cli/doctor/patient.h"

#include "cli/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_finding(cli_patient *patient, cli_level level, const char *subject, const char *remedy,
                 const char *format, ...) {
    static const char *const levels[] = {
        [CLI_FINE] = "ok     ", [CLI_WARNING] = "warning", [CLI_FAILURE] = "failure"};
    va_list arguments;
    char *reason = NULL;
    va_start(arguments, format);
    if (vasprintf(&reason, format, arguments) < 0)
        reason = cli_memory_text("not enough memory");
    va_end(arguments);
    char *line = cli_memory_print("%s  %s: %s%s%s", levels[level], subject, reason,
                                  remedy ? ". " : "", remedy ? remedy : "");
    char *shown = cli_text_shown(line, strlen(line));
    puts(shown);
    fflush(stdout);
    free(shown);
    free(line);
    free(reason);
    if (level > patient->worst)
        patient->worst = level;
}
