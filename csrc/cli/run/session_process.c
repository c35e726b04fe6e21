/* SPDX-License-Identifier: MIT */
/* session_process: the life of the process that has the engine: it queues, keeps the lock while the
 * command runs, and releases it. */
#include "cli/run/session.h"

#include "cli/connection.h"
#include "cli/held.h"
#include "cli/run/channel.h"
#include "cli/run/page.h"
#include "cli/run/state.h"
#include "cli/text.h"
#include "zklock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RENEWALS 80 /* of the page, in a session */
#define RENEW_LEAST (ZKL_SECOND / 20)
#define RENEW_MOST (ZKL_SECOND / 2)
#define CONFIRM_MOST (5 * ZKL_SECOND)
#define HANG_UP_MOST (ZKL_SECOND / 4) /* after a signal, besides CLI_SIGNALLED_MOST */
#define LEAD_LEAST (ZKL_SECOND / 4)

/* ---- what the page says ---- */

/* The clock is read before the validity, so the sum is never too late. */
static void renew(struct session *session) {
    const zkl_nanos now = zkl_now();
    const zkl_nanos validity = (zkl_nanos)(zkl_validity(session->contender) * (double)ZKL_SECOND);
    atomic_store(&session->page->until, session->lost ? 0 : now + validity);
}

static void write_nodes(struct session *session) {
    struct page *page = session->page;
    char node[ZKL_NODE_PATH];
    size_t used = 0;
    for (size_t i = 0; zkl_node_at(session->contender, i, node, sizeof node); i++) {
        const int length =
            snprintf(page->nodes + used, page->room - used, "%s%s", used ? "\n" : "", node);
        if (length < 0 || (size_t)length >= page->room - used)
            break;
        used += (size_t)length;
    }
}

static void fill(struct session *session) {
    struct page *page = session->page;
    const zkl_nanos lead = session->grace / 5;
    atomic_store(&page->grace, session->grace);
    atomic_store(&page->lead, lead > LEAD_LEAST ? lead : LEAD_LEAST);
    page->token = zkl_token(session->contender);
    page->granted = zkl_now();
    write_nodes(session);
    renew(session);
}

/* ---- the command ---- */

static void look(struct session *session) {
    cli_channel_send(session->watcher_end, CHANNEL_LOOK, 0, NULL);
}

static void see_revocation(struct session *session) {
    if (!session->revoked || !session->run->options.revocable || !cli_page_occupied(session->page))
        return;
    session->revoked = false;
    cli_page_blame(session->page, PAGE_REVOKED);
    cli_session_say(session, "somebody has revoked the lock");
    look(session);
}

static zkl_nanos next_renewal(struct session *session) {
    const zkl_nanos pause =
        zkl_clock_duration(zkl_session_timeout(session->connection.client) / RENEWALS);
    const zkl_nanos bounded = pause < RENEW_LEAST  ? RENEW_LEAST
                              : pause > RENEW_MOST ? RENEW_MOST
                                                   : pause;
    return zkl_now() + bounded;
}

static void see_loss(struct session *session) {
    if (!session->lost || atomic_load(&session->page->until) == 0)
        return;
    renew(session);
    cli_page_blame(session->page, PAGE_LOST);
    look(session);
    cli_session_say(session, "the lock is lost");
}

/* The watcher should have killed the command by now. If it has not, it does not run. */
static void stand_in(struct session *session) {
    const struct page *page = session->page;
    const zkl_nanos now = zkl_now();
    const bool late = cli_page_kill_at(page, 1) <= now && cli_page_killed_until(page) <= now;
    if (late && session->run->options.on_loss == RUN_LOSS_KILL && session->watcher)
        kill(session->watcher, SIGKILL);
}

/* The kernel may have no memory for a message: the next turn sends it again. */
static void run_command(struct session *session) {
    bool told = false;
    cli_page_advance(session->page, PAGE_STARTED);
    while (atomic_load(&session->page->phase) < PAGE_EMPTY) {
        told = told || cli_channel_send(session->watcher_end, CHANNEL_START, 0, NULL);
        cli_session_turn(session, next_renewal(session));
        if (!session->lost)
            renew(session);
        see_loss(session);
        see_revocation(session);
        stand_in(session);
    }
}

/* The lock was granted. Has the watcher start the command, and keeps the page up to date until no
 * descendant is left. */
static void keep(struct session *session) {
    fill(session);
    if (session->lost)
        cli_page_blame(session->page, PAGE_LOST);
    else
        run_command(session);
}

/* ---- the release ---- */

static bool is_lost(const struct session *session) {
    return session->lost || atomic_load(&session->page->reason) == PAGE_LOST;
}

/* Until when to wait for the answer to the delete. It may say that the lock was lost, so it counts
 * for as long as the lock could have been held. A lock that is lost is gone when validity ends,
 * whether the servers say so or not. A user who sends a signal does not wait for servers that are
 * out of reach. */
static zkl_nanos flush_until(const struct session *session) {
    const zkl_nanos now = zkl_now(), until = atomic_load(&session->page->until);
    if (session->signal)
        return now + CLI_SIGNALLED_MOST;
    return session->granted && (until > now || is_lost(session)) ? until : now + CONFIRM_MOST;
}

static zkl_status flush(struct session *session) {
    zkl_query *query =
        zkl_query_flush(session->connection.client, CLI_QUESTION, flush_until(session));
    const zkl_status status = cli_session_answer(session, query, CLI_SIGNALLED_MOST);
    zkl_query_drop(query);
    return status;
}

/* Without a connection there is nothing to wait for, unless the lock is still ours: the node goes
 * with the session. */
static bool is_worth_waiting(const struct session *session) {
    const bool ours = session->granted && atomic_load(&session->page->until) > zkl_now();
    return ours || !session->cut_off;
}

/* A wait has run out, and the end of its node was not confirmed: nobody knows that the lock is
 * held. A server that is stopped, or a network that drops packets, looks so until the session times
 * out. */
static bool is_unanswered(const struct session *session, zkl_status flushed) {
    return session->failed && session->status == ZKL_TIMEOUT &&
           (flushed == ZKL_TIMEOUT || flushed == ZKL_DISCONNECTED);
}

/* Gives the lock back, if it is held, and waits until the servers confirm that no node is left: 5
 * seconds at most, then it warns. */
static void release(struct session *session) {
    if (!session->connection.client || !session->contender)
        return;
    if (session->granted && !session->lost)
        session->lost = zkl_release(session->contender) == ZKL_LOST;
    const bool waits = is_worth_waiting(session);
    const zkl_status flushed = waits ? flush(session) : ZKL_DISCONNECTED;
    if (session->lost && atomic_load(&session->page->phase) >= PAGE_STARTED) {
        cli_page_blame(session->page, PAGE_LOST);
        cli_page_end_command(session->page, session->run->shown);
    } else if ((waits || session->signal) && flushed != ZKL_OK && !is_lost(session)) {
        cli_warn("the %s is not confirmed: %s: others wait for %g s at most",
                 session->granted ? "release" : "end of the wait", zkl_status_text(flushed),
                 zkl_session_timeout(session->connection.client));
    }
    if (waits && is_unanswered(session, flushed))
        cli_queue_end_unanswered(session);
}

/* ---- the process ---- */

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

static bool prepare(struct session *session) {
    setpgid(0, 0);
    cli_signals_ignore();
    if (cli_reaper_become() || !start_watcher(session))
        return false;
    close(session->run->lifeline);
    const int others[] = {-1, session->run->front, session->watcher_end,
                          cli_held_open(session->run->directory)};
    return cli_loop_open(session->polled, NULL, others, SESSION_FDS - LOOP_OTHERS);
}

/* Ends the watcher, which has nothing to do any more. One that is stopped would not hear a
 * message. */
static void dismiss(const struct session *session) {
    if (session->watcher)
        kill(session->watcher, SIGKILL);
    while (session->watcher && waitpid(session->watcher, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* Ends the session at the servers, if they are in reach. */
static void hang_up(struct session *session) {
    if (session->connection.client && session->cut_off)
        zkl_free(session->connection.client);
    else
        cli_connection_close(&session->connection, session->signal ? HANG_UP_MOST : CLI_CLOSE_MOST);
}

int cli_session_live(struct run *run) {
    struct session session = {.run = run, .page = run->page, .watcher_end = -1};
    if (!prepare(&session))
        cli_page_end(run->page, EX_SOFTWARE, "error", "cannot start its processes: %s",
                     strerror(errno));
    else if (cli_queue_wait(&session) && cli_every_begin(&session)) {
        keep(&session);
        if (cli_every_finish(&session))
            cli_page_end_command(run->page, run->shown);
    }
    release(&session);
    if (session.contender)
        zkl_drop(session.contender);
    hang_up(&session);
    dismiss(&session);
    cli_held_remove(run->directory); /* the front does so, too, if it lives */
    if (session.signal)
        _exit(0); /* exit(3) would wait for a second for a session that has not ended */
    return 0;
}
