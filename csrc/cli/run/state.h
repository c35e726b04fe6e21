/* SPDX-License-Identifier: MIT */
/* state: what the three processes of a `zklock run` know of it and of each other.
 *
 * The front is the process that the user has started: it owns the terminal and the exit status. Its
 * child, the session, has the engine. The session's child, the watcher, forks the command. Each of
 * the three is a subreaper, so whichever of them dies, the next above it inherits the command and
 * its descendants. */
#ifndef RUN_STATE_H
#define RUN_STATE_H

#include "cli/held/held_socket.h"
#include "cli/run/options.h"
#include "cli/run/page.h"
#include "cli/run/signals.h"
#include "cli/run/terminal.h"
#include "cli/settings.h"

#define RUN_SESSION 40 /* seconds that are asked for by default */

struct run {
    struct run_options options;
    cli_settings settings;
    struct signals signals;
    struct page *page;
    char *identity;                      /* HOST:PID, unless there is --identifier */
    char *above;                         /* the nodes of the runs above this one, or NULL */
    char directory[HELD_DIRECTORY_SIZE]; /* with the socket of zklock held; empty: none */
    zkl_nanos started;
    struct terminal terminal;
    pid_t group;        /* of the front */
    int front, session; /* this process's channels to the two, or -1 */
    int lifeline;       /* watcher: readable when the front has ended */
};

#endif
