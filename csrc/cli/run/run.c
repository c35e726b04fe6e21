/* SPDX-License-Identifier: MIT */
/* run: `zklock run`, from its arguments to its exit. */
#include "cli/held.h"
#include "cli/options.h"
#include "cli/text.h"
#include "cli/run/state.h"
#include "cli/run/page.h"
#include "cli/connection.h"
#include "zklock.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: zklock run [OPTIONS] PATH [--] COMMAND [ARG...]\n"
    "       zklock run [OPTIONS] PATH -c 'SHELL LINE'\n"
    "\n"
    "Runs a command while it holds the lock at PATH. The command and everything that it\n"
    "forked are dead before another can have the lock. Options end at PATH.\n"
    "\n"
    "  -n, --nonblock      exit with 1 if the lock is held\n"
    "  -w, --wait SECONDS  exit with 1 if it is still held then (also --timeout)\n"
    "  -E, --conflict-exit-code CODE\n"
    "                      exit with CODE instead of 1\n"
    "  -x, -e, --exclusive the write side of a read-write lock\n"
    "  -s, --shared        the read side of a read-write lock\n"
    "                      (without them PATH is a mutex, which is another kind)\n"
    "      --permits N     a semaphore with N permits\n"
    "      --also PATH     hold this mutex, too; may be repeated\n"
    "  -o, --close         release when the command itself ends\n"
    "  -c, --command LINE  after PATH: a line for $SHELL\n"
    "      --verbose       a line for each change while it waits\n"
    "      --session SECONDS\n"
    "                      session timeout to ask for (40)\n"
    "      --grace SECONDS send TERM when so much validity is left (an eighth of the\n"
    "                      session, from 0.5 to 5 s)\n"
    "      --on-loss kill|term|ignore\n"
    "                      what happens to the command when the lock is lost (kill)\n"
    "      --revocable     end the command when somebody revokes the lock\n"
    "      --every SECONDS run only if the last run is so long ago, on any machine\n"
    "      --once          run only if there was no run yet, on any machine\n"
    "      --mark before|after\n"
    "                      when --every counts the run: before, or after exit 0\n"
    "      --splay SECONDS wait for a random time up to SECONDS first\n"
    "      --report FILE   write the outcome, for node_exporter\n"
    "      --identifier TEXT\n"
    "                      what others see as the holder (HOST:PID)\n" CLI_OPTIONS_HELP "\n"
    "--connect is 60 s, with -n 40 s.\n"
    "\n"
    "Exits with the code of the command, or dies of the same signal; otherwise with\n"
    "   0  --every, --once: not due\n"
    "   1  the lock is held (-n, -w; another code: -E)\n"
    "  64  wrong arguments, or a configuration that cannot be used\n"
    "  65  wrong kind of lock, deadlock, too big\n"
    "  69  no server\n"
    "  70  any other error\n"
    "  75  the lock was lost or revoked before the command was gone\n"
    "  76  nobody can say whether the mark is written\n"
    "  77  access denied\n"
    "  126, 127  the command cannot be executed, is not found\n";

/* ---- what takes a value; each returns 0, or EX_USAGE after a complaint ---- */

/* --every, or --once, whose duration has no end. */
static int take_every(void *to, const char *name) {
    struct run_options *run = to;
    const bool once = strcmp(name, "--once") == 0;
    if (run->due && strcmp(run->due, name) != 0)
        return cli_misuse("--once", "cannot be given with --every");
    run->due = once ? "--once" : "--every";
    run->every = INFINITY;
    if (once)
        return 0;
    return cli_number_seconds_of(name, optarg, (cli_seconds){.positive = true}, &run->every);
}

static int take_identifier(void *to, const char *name) {
    struct run_options *run = to;
    if (strcmp(optarg, ZKL_REVOKE) == 0)
        return cli_misuse(name, "'%s' asks a holder to give back", ZKL_REVOKE);
    if (strlen(optarg) > ZKL_IDENTIFIER_MOST)
        return cli_misuse(name, "at most %d bytes expected, got %zu", ZKL_IDENTIFIER_MOST,
                          strlen(optarg));
    run->identifier = optarg;
    return 0;
}

static int take_report(void *to, const char *name) {
    struct run_options *run = to;
    run->report = optarg;
    return *optarg ? 0 : cli_misuse(name, "a file's name expected, got ''");
}

static void add_path(struct run_options *run, const char *path) {
    run->paths = cli_memory_again(run->paths, run->count + 1, sizeof *run->paths);
    run->paths[run->count++] = path;
}

static int take_also(void *to, const char *name) {
    struct run_options *run = to;
    (void)name;
    add_path(run, optarg);
    return 0;
}

static int take_side(void *to, const char *name) {
    struct run_options *run = to;
    const bool shared = strcmp(name, "-s") == 0 || strcmp(name, "--shared") == 0;
    const zkl_kind side = shared ? ZKL_KIND_READ : ZKL_KIND_WRITE;
    if (run->kind != ZKL_KIND_LOCK && run->kind != side)
        return cli_misuse("-s", "cannot be given with -x");
    run->kind = side;
    return 0;
}

/* ---- the options, in the order of the help ---- */

static const char *const losses[] = {
    [RUN_LOSS_KILL] = "kill", [RUN_LOSS_TERM] = "term", [RUN_LOSS_IGNORE] = "ignore", NULL};
static const char *const marks[] = {
    [RUN_MARK_BEFORE] = "before", [RUN_MARK_AFTER] = "after", [RUN_MARK_NONE] = NULL};

#define FIELD(name) .field = offsetof(struct run_options, name)
static const cli_option table[] = {
    {"nonblock", 'n', CLI_FLAG, FIELD(nonblock)},
    {"nb", 'n', CLI_FLAG, FIELD(nonblock)},
    {"nonblocking", 'n', CLI_FLAG, FIELD(nonblock)},
    {"wait", 'w', CLI_SECONDS, FIELD(wait)},
    {"timeout", 'w', CLI_SECONDS, FIELD(wait)},
    {"conflict-exit-code", 'E', CLI_WHOLE, FIELD(conflict_code), .most = 255},
    {"exclusive", 'x', CLI_ACT, .take = take_side},
    {NULL, 'e', CLI_ACT, .take = take_side},
    {"shared", 's', CLI_ACT, .take = take_side},
    {"permits", 0, CLI_WHOLE, FIELD(permits), .least = 1, .most = INT32_MAX},
    {"also", 0, CLI_VALUE, .take = take_also},
    {"close", 'o', CLI_FLAG, FIELD(close)},
    {"command", 'c', CLI_REFUSED,
     .refusal = "expected after PATH: zklock run PATH -c 'SHELL LINE'"},
    {"verbose", 0, CLI_FLAG, FIELD(verbose)},
    {"session", 0, CLI_SECONDS, FIELD(session), .seconds = {true, CLI_SESSION_MOST}},
    {"grace", 0, CLI_SECONDS, FIELD(grace)},
    {"on-loss", 0, CLI_WORD, FIELD(on_loss), .words = losses, .expected = "kill, term or ignore"},
    {"revocable", 0, CLI_FLAG, FIELD(revocable)},
    {"every", 0, CLI_VALUE, .take = take_every},
    {"once", 0, CLI_ACT, .take = take_every},
    {"mark", 0, CLI_WORD, FIELD(mark), .words = marks, .expected = "before or after"},
    {"splay", 0, CLI_SECONDS, FIELD(splay)},
    {"report", 0, CLI_VALUE, .take = take_report},
    {"identifier", 0, CLI_VALUE, .take = take_identifier},
    /* flock(1) has these, and letters for two that all subcommands have */
    {"unlock", 'u', CLI_REFUSED,
     .refusal = "a lock is released when its command ends, and not before"},
    {"no-fork", 'F', CLI_REFUSED,
     .refusal = "zklock has to stay: it ends the command when the lock is lost"},
    {NULL, 'h', .kind = CLI_HELP},
    {NULL, 'V', .kind = CLI_VERSION},
    {.name = NULL},
};

static const cli_syntax syntax = {.table = table, .help = help, .first = true};

/* ---- what goes together ---- */

enum { A_READ = 1, A_WRITE = 2, A_SIDE = A_READ | A_WRITE, A_PERMITS = 4, AN_ALSO = 8, A_DUE = 16 };

/* Those that exclude each other, besides the two sides, and --once and --every. */
static const struct {
    unsigned one, other;
    const char *name, *others; /* no name: that of --every or --once, whichever it is */
} pairs[] = {
    {A_PERMITS, A_SIDE, "--permits", "-s or -x"},
    {AN_ALSO, A_SIDE, "--also", "-s or -x"},
    {AN_ALSO, A_PERMITS, "--also", "--permits"},
    {A_DUE, A_READ, NULL, "-s"},
    {A_DUE, A_WRITE, NULL, "-x"},
    {A_DUE, A_PERMITS, NULL, "--permits"},
    {A_DUE, AN_ALSO, NULL, "--also"},
};

static unsigned given(const struct run_options *run) {
    return (run->kind == ZKL_KIND_READ ? A_READ : 0) | (run->kind == ZKL_KIND_WRITE ? A_WRITE : 0) |
           (run->permits ? A_PERMITS : 0) | (run->count > 1 ? AN_ALSO : 0) | (run->due ? A_DUE : 0);
}

static int check(const struct run_options *run) {
    const unsigned all = given(run);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if ((all & pairs[i].one) && (all & pairs[i].other))
            return cli_misuse(pairs[i].name ? pairs[i].name : run->due, "cannot be given with %s",
                              pairs[i].others);
    if (run->mark != RUN_MARK_NONE && !run->due)
        return cli_misuse("--mark", "expected with --every or --once only");
    return 0;
}

/* ---- the command ---- */

static int take_line(struct run_options *run, int count, char **words) {
    if (count != 2)
        return cli_misuse("-c", "one SHELL LINE expected, got %d arguments", count - 1);
    char *shell = getenv("SHELL");
    static char usual[] = "/bin/sh";
    static char flag[] = "-c";
    run->shell_words[0] = shell && shell[0] ? shell : usual;
    run->shell_words[1] = flag;
    run->shell_words[2] = words[1];
    run->command = run->shell_words;
    return 0;
}

static int take_command(struct run_options *run, int count, char **words) {
    if (count > 0 && (strcmp(words[0], "-c") == 0 || strcmp(words[0], "--command") == 0))
        return take_line(run, count, words);
    if (count > 0 && strcmp(words[0], "--") == 0) {
        words++;
        count--;
    }
    if (count == 0)
        return cli_misuse("COMMAND", "one expected after PATH, got none");
    run->command = words;
    return 0;
}

static int take_path(struct run_options *run, int count, char **words) {
    if (count == 0)
        return cli_misuse("PATH", "one expected, got none; see zklock run --help");
    run->paths[0] = words[0];
    return take_command(run, count - 1, words + 1);
}

static int read_all(struct run_options *run, cli_options *options) {
    if (!cli_options_read(options, run))
        return options->code;
    const int code = check(run);
    return code ? code : take_path(run, options->argc - optind, options->argv + optind);
}

/* After a wrong argument: --report and PATH, so that the report can say so. A word that is no path
 * may be the value of an option that zklock does not know: then there is no report. */
static void find_report(struct run_options *run, const cli_options *options) {
    const char *report = cli_options_find(options, "report"), *path = options->argv[optind];
    const bool known = report && *report && path && path[0] == '/';
    run->report = known ? report : NULL;
    run->paths[0] = path;
}

/* Reads the arguments, of which the first is "run". -1: go on. Otherwise the exit code: of --help
 * and --version, or 64 after a complaint; then only `report` and the first path can be used, if
 * both are known, and otherwise `report` is NULL. */
static int read_options(struct run_options *run, int argc, char **argv) {
    *run = (struct run_options){.wait = -1,
                                .session = -1,
                                .grace = -1,
                                .splay = -1,
                                .every = -1,
                                .conflict_code = 1,
                                .mark = RUN_MARK_NONE};
    run->kind = ZKL_KIND_LOCK;
    add_path(run, NULL); /* PATH comes before those of --also */
    cli_options options = cli_options_of(argc, argv, &syntax, -1);
    const int code = read_all(run, &options);
    if (code)
        find_report(run, &options);
    if (code || !run->command)
        return code;
    run->servers = options.hosts;
    run->config_file = options.config;
    /* libzookeeper leaves a server that does not answer after two thirds of the session */
    run->connect = options.connect >= 0 ? options.connect : run->nonblock ? RUN_SESSION : 60;
    if (run->permits)
        run->kind = ZKL_KIND_LEASE;
    if (run->every >= 0 && run->mark == RUN_MARK_NONE)
        run->mark = RUN_MARK_BEFORE;
    return -1;
}

/* ---- the run ---- */

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
        cli_report(run, "error", EX_SOFTWARE);
        return EX_SOFTWARE;
    }
    if (!cli_held_make(run->directory))
        cli_warn("zklock held cannot ask this run: no directory in $XDG_RUNTIME_DIR, $TMPDIR "
                 "or /tmp: %s",
                 strerror(errno));
    const int code = cli_front_live(run);
    cli_page_free(run->page);
    return code;
}

/* Whatever is wrong, the report says that this run was an error. -1: go on. */
static int prepare(struct run *run, int argc, char **argv) {
    int code = read_options(&run->options, argc, argv);
    if (code < 0)
        code = cli_settings_read(&run->settings, run->options.servers, run->options.config_file);
    else if (code == 0)
        return 0; /* --help, --version */
    if (code == 0)
        code = check_paths(run);
    if (code == 0)
        return -1;
    cli_report(run, "error", code);
    return code;
}

/* ZKLOCK_NODE is the run's right above, ZKLOCK_ABOVE has those above that one. */
static char *nodes_above(void) {
    const char *nearest = getenv("ZKLOCK_NODE"), *others = getenv("ZKLOCK_ABOVE");
    if (!nearest && !others)
        return NULL;
    return cli_memory_print("%s%s%s", nearest ? nearest : "", nearest && others ? "\n" : "",
                            others ? others : "");
}

int cli_run(int argc, char **argv) {
    struct run run = {.front = -1, .session = -1, .lifeline = -1, .started = zkl_now()};
    cli_complaint_patience(MESSAGE_MOST);
    int code = prepare(&run, argc, argv);
    if (code < 0) {
        run.above = nodes_above();
        cli_signals_take(&run.signals);
        code = start(&run);
    }
    cli_settings_free(&run.settings);
    free(run.above);
    free(run.options.paths);
    return code;
}
