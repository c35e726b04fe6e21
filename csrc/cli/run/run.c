/* SPDX-License-Identifier: MIT */
/* run: `zklock run`, from its arguments to its exit. */
#include "cli/options.h"
#include "cli/text.h"
#include "cli/run/session.h"
#include "cli/run/state.h"
#include "cli/run/page.h"
#include "cli/connection.h"
#include "zklock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For a message that nobody reads: a run ends, and ends its command, all the same. */
#define MESSAGE_MOST 200 /* milliseconds */

static bool is_below(const char *upper, const char *lower) {
    const size_t length = strlen(upper);
    return strncmp(upper, lower, length) == 0 && (lower[length] == '/' || !lower[length]);
}

/* A multilock wants each path once, and none below another. */
static int check_apart(const struct run_options *options, size_t index) {
    for (size_t i = 0; i < index; i++) {
        const char *one = options->paths[i], *other = options->paths[index];
        if (!is_below(one, other) && !is_below(other, one))
            continue;
        return cli_misuse("--also",
                          "a path that is no other's, and not below another, expected, "
                          "got '%s'",
                          CLI_SHOWN(other));
    }
    return 0;
}

static int check_paths(const struct run *run) {
    for (size_t i = 0; i < run->options.count; i++) {
        const int code = cli_path_check(i == 0 ? "PATH" : "--also", run->options.paths[i],
                                        run->settings.hosts, ZKL_PATH_LOCK);
        if (code)
            return code;
        const int apart = check_apart(&run->options, i);
        if (apart)
            return apart;
    }
    return 0;
}

/* The session that is asked for: --session, else the file's, else this one. */
static void choose_session(struct run *run) {
    if (run->options.session > 0)
        run->settings.session = run->options.session;
    else if (run->settings.session <= 0)
        run->settings.session = RUN_SESSION;
}

static int start(struct run *run) {
    cli_text_show(run->shown, run->options.paths[0]);
    choose_session(run);
    cli_identity(run->identity); /* of the process that the user knows */
    if (!run->options.identifier)
        run->options.identifier = run->identity;
    cli_terminal_read(&run->terminal);
    run->group = getpgrp();
    run->page = cli_page_new(run->options.count * (ZKL_NODE_PATH + 1));
    if (!run->page) {
        cli_complain("cannot map memory: %s", strerror(errno));
        cli_files_report(run, "error", EX_SOFTWARE);
        return EX_SOFTWARE;
    }
    cli_files_prepare(run);
    const int code = cli_front_live(run);
    cli_page_free(run->page);
    return code;
}

/* Whatever is wrong, the report says that this run was an error. -1: go on. */
static int read_all(struct run *run, int argc, char **argv) {
    int code = cli_run_options_read(&run->options, argc, argv);
    if (code < 0)
        code = cli_settings_read(&run->settings, run->options.servers, run->options.config_file);
    else if (code == 0)
        return 0; /* --help, --version */
    if (code == 0)
        code = check_paths(run);
    if (code == 0)
        return -1;
    cli_files_report(run, "error", code);
    return code;
}

int cli_run(int argc, char **argv) {
    struct run run = {.front = -1, .session = -1, .lifeline = -1, .started = zkl_now()};
    cli_complaint_patience(MESSAGE_MOST);
    int code = read_all(&run, argc, argv);
    if (code < 0) {
        run.above = cli_above_nodes();
        cli_signals_take(&run.signals);
        code = start(&run);
    }
    cli_settings_free(&run.settings);
    free(run.above);
    cli_run_options_free(&run.options);
    return code;
}
