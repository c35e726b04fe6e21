/* SPDX-License-Identifier: MIT */
/* report: the file of --report. */
#include "cli/run/state.h"

#include "cli/text.h"
#include "zklock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PERMISSIONS 0666
#define NEW_FILE_SIZE 4096

/* Opens a new file beside `file`, with the permissions that the umask leaves. -1: errno says
 * why. */
static int open_beside(const char *file, char temporary[NEW_FILE_SIZE]) {
    if (snprintf(temporary, NEW_FILE_SIZE, "%s.XXXXXX", file) >= NEW_FILE_SIZE) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return -1;
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, PERMISSIONS & ~mask); /* if not, it has fewer */
    return fd;
}

/* How the latest run ended. */
struct report {
    const char *label;   /* its path, as a label */
    const char *outcome; /* one of `outcomes` */
    int exit_code;
    double success; /* when the latest was; 0: never */
};

/* Each is there from the first report on: an alert can tell 0 from "never heard of". */
static const char *const outcomes[] = {
    "ok", "failed", "lost", "revoked", "busy", "skipped", "signal", "error",
};

#define LAST_SUCCESS "zklock_run_last_success_timestamp_seconds"

/* In the value of a label `\`, `"` and newlines are escaped. The spelling has no newline. It is the
 * same in the locale of cron and in that of a user: the next report looks for this one's label. */
static char *label_of(const char *path) {
    char *shown = cli_text_spelled(path, strlen(path));
    char *label = cli_memory_again(NULL, strlen(shown) + 1, 2), *end = label;
    for (const char *c = shown; *c; c++) {
        if (*c == '\\' || *c == '"')
            *end++ = '\\';
        *end++ = *c;
    }
    *end = '\0';
    free(shown);
    return label;
}

/* The value that the former report has for this path; 0: none. */
static double last_success(const char *file, const char *label) {
    FILE *former = fopen(file, "re");
    char *line = NULL, *start = cli_memory_print(LAST_SUCCESS "{path=\"%s\"} ", label);
    size_t size = 0;
    double moment = 0;
    while (former && getline(&line, &size, former) > 0)
        if (strncmp(line, start, strlen(start)) == 0)
            moment = strtod(line + strlen(start), NULL);
    free(line);
    free(start);
    if (former)
        fclose(former);
    return moment;
}

static void gauge(FILE *to, const char *label, const char *name, double value, const char *help) {
    fprintf(to, "# HELP %s %s\n# TYPE %s gauge\n%s{path=\"%s\"} %.3f\n", name, help, name, name,
            label, value);
}

static double seconds_between(zkl_nanos from, zkl_nanos to) {
    return to > from ? (double)(to - from) / ZKL_SECOND : 0;
}

static void write_all(FILE *to, const struct run *run, const struct report *report) {
    const char *label = report->label;
    const zkl_nanos now = zkl_now(), granted = run->page ? run->page->granted : 0;
    fputs("# HELP zklock_run_outcome 1: the latest run ended so.\n"
          "# TYPE zklock_run_outcome gauge\n",
          to);
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
        fprintf(to, "zklock_run_outcome{path=\"%s\",outcome=\"%s\"} %d\n", label, outcomes[i],
                strcmp(outcomes[i], report->outcome) == 0);
    gauge(to, label, "zklock_run_exit_code", report->exit_code,
          "Exit code of zklock; 128 and the signal if one ended the command.");
    gauge(to, label, "zklock_run_wait_seconds",
          seconds_between(run->started, granted ? granted : now), "How long it waited.");
    gauge(to, label, "zklock_run_hold_seconds", granted ? seconds_between(granted, now) : 0,
          "How long it held the lock.");
    gauge(to, label, "zklock_run_end_timestamp_seconds", cli_wall_clock(), "When it ended.");
    gauge(to, label, LAST_SUCCESS, report->success,
          "When the command ended with 0 for the last time on this machine; 0: never.");
}

/* The report takes the name of a former one only. /dev/null would be a file from then on, for
 * everybody, and the open of a pipe would wait for a writer. 0, or an errno. */
static int refuse_special(const char *file) {
    struct stat found;
    if (lstat(file, &found) != 0 || S_ISREG(found.st_mode))
        return 0;
    return S_ISDIR(found.st_mode) ? EISDIR : EEXIST;
}

/* Under another name, then it is renamed: a reader finds the former report, or all of the new one.
 * 0, or an errno. */
static int write_report(const struct run *run, const char *outcome, int exit_code) {
    char temporary[NEW_FILE_SIZE];
    const char *file = run->options.report;
    char *label = label_of(run->options.paths[0]);
    const bool good = strcmp(outcome, "ok") == 0;
    const double success = good ? cli_wall_clock() : last_success(file, label);
    const int fd = open_beside(file, temporary);
    int why = errno;
    FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
    if (to) {
        write_all(to, run, &(struct report){label, outcome, exit_code, success});
        const bool complete = !ferror(to);
        why = fclose(to) == 0 && complete && rename(temporary, file) == 0 ? 0 : errno;
    }
    if (fd >= 0 && why != 0)
        unlink(temporary);
    free(label);
    return why;
}

void cli_report(const struct run *run, const char *outcome, int exit_code) {
    const char *file = run->options.report;
    int why = file ? refuse_special(file) : 0;
    if (file && !why)
        why = write_report(run, outcome, exit_code);
    if (why)
        cli_warn("cannot write the report %s: %s", CLI_SHOWN(file), strerror(why));
}
