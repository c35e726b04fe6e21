/* SPDX-License-Identifier: MIT */
/* state: what the three processes of a `zklock run` know of it and of each other.
 *
 * The front is the process that the user has started: it owns the terminal and the exit status. Its
 * child, the session, has the engine. The session's child, the watcher, forks the command. Each of
 * the three is a subreaper, so whichever of them dies, the next above it inherits the command and
 * its descendants. */
#ifndef ZKL_CLI_RUN_STATE_H
#define ZKL_CLI_RUN_STATE_H

#include "cli/held/held_socket.h"
#include "cli/run/options.h"
#include "cli/run/page.h"
#include "cli/run/inherited.h"
#include "cli/settings.h"
#include "cli/text.h"

struct run {
    struct run_options options;
    cli_settings settings;
    struct signals signals;
    struct page *page;
    char shown[CLI_TEXT_SHOWN];          /* the first path, in messages */
    char *identity;                      /* HOST:PID, unless there is --identifier */
    char *above;                         /* the nodes of the runs above this one, or NULL */
    char directory[HELD_DIRECTORY_SIZE]; /* with the socket of zklock held; empty: none */
    zkl_nanos started;
    struct terminal terminal;
    pid_t group;        /* of the front */
    int front, session; /* this process's channels to the two, or -1 */
    int lifeline;       /* watcher: readable when the front has ended */
};

/* ---- the three processes ---- */

/* Forks the session, passes signals on, and waits for the end. Returns the exit code of zklock, or
 * ends by a signal. */
int cli_front_live(struct run *run);

/* Runs in the new process, with run->front and run->lifeline. Returns its exit code; the page has
 * the outcome. */
int cli_session_live(struct run *run);

/* The life of the watcher, in a process of its own with one thread. Uses run->session and
 * run->lifeline. Returns when no descendant is left, or when --close has let them go. */
void cli_watcher_live(struct run *run);

/* ---- files.c: the directory with the socket of held_socket.h, and the file of --report ---- */

/* Front, before it forks: makes the directory. Without one it warns, and the run goes on. */
void cli_files_prepare(struct run *run);
/* Any process, when the run is over: removes the directory. Twice is fine. */
void cli_files_remove(const struct run *run);
/* Front, or before there is one: writes the report, for the textfile collector of Prometheus's
 * node_exporter. `label` is how the run has ended. */
void cli_files_report(const struct run *run, const char *label, int exit_code);

/* ---- command.c: the user's program ---- */

/* Can it be executed? 0, or the errno with which execvp(3) would fail, as far as the file itself
 * shows. */
int cli_command_check(const struct run *run);
/* The exit code when it cannot be executed. */
int cli_command_code(int why);

/* Forks and executes it. Returns its process id; -1: errno says why. Only for the watcher. */
pid_t cli_command_start(const struct run *run);

/* Sends it a signal: to its process group if that is its own, and somebody is in it. Once it was
 * reaped, to all descendants of the watcher. */
void cli_command_signal(const struct run *run, int signal);

#endif
