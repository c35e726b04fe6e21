/* SPDX-License-Identifier: MIT */
#include "cli/run/state.h"

#include "cli/connection.h"
#include "cli/text.h"
#include "cli/run/channel.h"
#include "cli/run/page.h"
#include "cli/run/session.h"
#include "cli/held/held_socket.h"
#include "zklock.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIGNALLED_MOST (ZKL_SECOND / 4) /* besides the time for the end of the wait */

/* In the new process, which keeps only its own ends. */
static _Noreturn void become_watcher(struct session *session, const int ends[2]) {
    close(ends[0]);
    close(session->run->front);
    session->run->front = -1;
    session->run->session = ends[1];
    cli_watcher_live(session->run);
    _exit(0);
}

/* Forks the watcher. No thread and no descriptor of the engine is there yet. */
static bool start_watcher(struct session *session) {
    int ends[2];
    if (!cli_channel_pair(ends))
        return false;
    session->watcher_end = ends[0];
    const pid_t watcher = fork();
    if (watcher == 0)
        become_watcher(session, ends);
    const int why = errno;
    close(ends[1]);
    errno = why;
    session->watcher = watcher > 0 ? watcher : 0; /* a signal to -1 would be to every process */
    return watcher > 0;
}

/* -1: this run cannot be asked. */
static int open_held(const struct run *run) {
    return run->directory[0] ? cli_held_open(run->directory) : -1;
}

static bool prepare(struct session *session) {
    const char *why;
    setpgid(0, 0);
    cli_signals_ignore();
    if (!cli_reaper_become(&why) || !start_watcher(session))
        return false;
    close(session->run->lifeline);
    session->run->lifeline = -1;
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    const int fds[] = {[SESSION_ENGINE] = -1,
                       [SESSION_FRONT] = session->run->front,
                       [SESSION_WATCHER] = session->watcher_end,
                       [SESSION_CHILDREN] = cli_signals_open(&child),
                       [SESSION_ALARM] = cli_alarm_open(),
                       [SESSION_HELD] = open_held(session->run)};
    cli_loop_enter(session->polled, fds, SESSION_FDS);
    return fds[SESSION_CHILDREN] >= 0 && fds[SESSION_ALARM] >= 0;
}

/* Ends the watcher, which has nothing to do any more. One that is stopped would not hear a
 * message. */
static void dismiss(struct session *session) {
    if (session->watcher)
        kill(session->watcher, SIGKILL);
    while (session->watcher && waitpid(session->watcher, NULL, 0) < 0 && errno == EINTR)
        continue;
    close(session->watcher_end);
    close(session->polled[SESSION_CHILDREN].fd);
    close(session->polled[SESSION_ALARM].fd);
}

/* Ends the session at the servers, if they are in reach. */
static void hang_up(struct session *session) {
    if (session->connection.client && session->cut_off)
        zkl_free(session->connection.client);
    else
        cli_connection_close(&session->connection,
                             session->signal ? SIGNALLED_MOST : CLI_CLOSE_MOST);
}

int cli_session_live(struct run *run) {
    struct session session = {.run = run, .page = run->page, .watcher_end = -1};
    if (!prepare(&session))
        cli_page_end(run->page, EX_SOFTWARE, "error", "cannot start its processes: %s",
                     strerror(errno));
    else if (cli_queue_wait(&session) && cli_every_begin(&session)) {
        cli_hold_keep(&session);
        if (cli_every_finish(&session))
            cli_page_end_command(run->page, run->shown);
    }
    cli_hold_release(&session);
    if (session.contender)
        zkl_drop(session.contender);
    hang_up(&session);
    if (session.watcher_end >= 0)
        dismiss(&session);
    cli_files_remove(run); /* the front does so, too, if it lives */
    if (session.signal)
        _exit(0); /* exit(3) would wait for a second for a session that has not ended */
    return 0;
}
