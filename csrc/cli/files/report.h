/* SPDX-License-Identifier: MIT */
/* report: the file of `--report`: how the latest run ended, for the textfile collector of
 * Prometheus's node_exporter. */
#ifndef FILES_REPORT_H
#define FILES_REPORT_H

#include <stdbool.h>

struct report {
    const char *path;    /* of the lock */
    const char *outcome; /* one of report.c's */
    int exit_code;
    double waited, held; /* seconds */
    bool success;        /* else the file keeps the time of the latest success */
};

/* Writes the file under another name, then renames it. 0, or errno. */
int cli_report_write(const char *file, const struct report *report);

#endif
