/* SPDX-License-Identifier: MIT */
#include "cli/run/files.h"

#include "cli/complaint.h"
#include "cli/held/held_socket.h"
#include "cli/run/page.h"
#include "cli/files/report.h"
#include "cli/text.h"
#include "zklock.h"

#include <errno.h>
#include <string.h>

void cli_files_prepare(struct run *run) {
    if (cli_held_make(run->directory))
        return;
    run->directory[0] = '\0';
    cli_warn("zklock held cannot ask this run: no directory in $TMPDIR or /tmp: %s",
             strerror(errno));
}

void cli_files_remove(const struct run *run) {
    if (run->directory[0])
        cli_held_remove(run->directory);
}

static double seconds_between(zkl_nanos from, zkl_nanos to) {
    return to > from ? (double)(to - from) / ZKL_SECOND : 0;
}

void cli_files_report(const struct run *run, const char *label, int exit_code) {
    const char *file = run->options.report;
    const zkl_nanos now = zkl_now(), granted = run->page ? run->page->granted : 0;
    char shown[CLI_TEXT_SHOWN];
    if (!file)
        return;
    const struct report report = {
        .path = run->options.paths[0],
        .outcome = label,
        .exit_code = exit_code,
        .waited = seconds_between(run->started, granted ? granted : now),
        .held = granted ? seconds_between(granted, now) : 0,
        .success = strcmp(label, "ok") == 0,
    };
    const int why = cli_report_write(file, &report);
    cli_text_show(shown, sizeof shown, file);
    if (why)
        cli_warn("cannot write the report %s: %s", shown, strerror(why));
}
