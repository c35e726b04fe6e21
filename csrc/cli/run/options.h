/* SPDX-License-Identifier: MIT */
/* options: what `zklock run` was asked for. Filled once, before a process is forked. */
#ifndef ZKL_CLI_RUN_OPTIONS_H
#define ZKL_CLI_RUN_OPTIONS_H

#include "zklock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUN_SESSION 40 /* seconds that are asked for by default */

enum run_on_loss { RUN_LOSS_KILL, RUN_LOSS_TERM, RUN_LOSS_IGNORE };
enum run_mark { RUN_MARK_BEFORE, RUN_MARK_AFTER, RUN_MARK_NONE };

/* Durations are seconds; below 0: not given. */
struct run_options {
    const char *servers;     /* of -z, or NULL */
    const char *config_file; /* of --config, or NULL */
    const char **paths;      /* PATH, then those of --also */
    size_t count;
    zkl_kind kind;
    int64_t permits;
    bool nonblock, close, verbose, revocable;
    double wait, connect, session, grace, splay;
    double every;    /* infinite with --once */
    const char *due; /* "--every" or "--once"; NULL: neither */
    int64_t conflict_code;
    enum run_on_loss on_loss;
    enum run_mark mark;
    const char *report, *identifier; /* or NULL */
    char **command;                  /* NULL at its end */
    char *shell_words[4];            /* of -c */
};

/* Reads the arguments, of which the first is "run". -1: go on. Otherwise the exit code: of --help
 * and --version, or 64 after a complaint; then only `report` and the first path can be used, if
 * both are known, and otherwise `report` is NULL. */
int cli_run_options_read(struct run_options *options, int argc, char **argv);
void cli_run_options_free(struct run_options *options);

#endif
