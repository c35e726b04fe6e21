/* SPDX-License-Identifier: MIT */
#include "cli/run/session.h"

#include "cli/connection.h"
#include "cli/run/channel.h"
#include "cli/run/page.h"
#include "cli/run/state.h"
#include "cli/text.h"
#include "zklock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* ---- to connect ---- */

/* From 0 to 1. */
static double chance(void) {
    uint32_t drawn = 0;
    if (getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn)
        drawn = (uint32_t)zkl_now();
    return (double)drawn / UINT32_MAX;
}

static bool splay(struct session *session) {
    const double most = session->run->options.splay;
    if (most <= 0)
        return true;
    const zkl_nanos until = zkl_clock_after(zkl_now(), most * chance());
    while (zkl_now() < until && !cli_session_stopped(session))
        cli_session_turn(session, until);
    return !cli_session_stopped(session);
}

static bool open_client(struct session *session) {
    struct run *run = session->run;
    session->connection.seconds = run->options.connect;
    const int code = cli_connection_open(&session->connection, &run->settings, RUN_SESSION,
                                         run->options.identifier);
    if (code)
        cli_page_end(session->page, code, "error", NULL); /* it has complained */
    return code == 0;
}

/* Why there is no server in reach, as far as the client knows. */
static void end_without_servers(struct session *session, zkl_status status, const char *what) {
    cli_page_end(session->page, cli_exit_code(status), "error", "%s: %s with %s%s",
                 zkl_status_text(status), what, CLI_SHOWN(session->run->settings.hosts),
                 CLI_TROUBLE(&session->connection));
}

static bool connect_session(struct session *session) {
    char what[64];
    const zkl_nanos deadline = cli_connection_deadline(&session->connection);
    zkl_query *query = zkl_query_session(session->connection.client, CLI_QUESTION, deadline);
    const zkl_status status = cli_session_answer(session, query, 0);
    zkl_query_drop(query);
    if (cli_session_stopped(session))
        return false;
    snprintf(what, sizeof what, "no session within %g s", session->run->options.connect);
    if (status != ZKL_OK)
        end_without_servers(session, status, what);
    return status == ZKL_OK;
}

/* Seconds. */
#define GRACE_LEAST 0.5
#define GRACE_MOST 5.0 /* unless the user asks for more */

static double grace_of(double session) {
    const double eighth = session / 8;
    return eighth > GRACE_MOST ? GRACE_MOST : eighth < GRACE_LEAST ? GRACE_LEAST : eighth;
}

/* The session must have room for a grace. */
static bool check_grace(struct session *session) {
    const double asked = session->run->options.grace;
    const double granted = zkl_session_timeout(session->connection.client);
    const double grace = asked >= 0 ? asked : grace_of(granted);
    session->grace = zkl_clock_duration(grace);
    if (grace >= GRACE_LEAST && grace <= granted / 4)
        return true;
    if (asked >= 0)
        cli_page_end(session->page, EX_USAGE, "error",
                     "bad argument '--grace': from %g s to a quarter of the session expected, "
                     "got %g s with a session of %g s",
                     GRACE_LEAST, grace, granted);
    else
        cli_page_end(session->page, EX_USAGE, "error",
                     "bad argument '--session': %g s or more expected for a grace of %g s, the "
                     "servers have granted %g s",
                     4 * GRACE_LEAST, GRACE_LEAST, granted);
    return false;
}

/* ---- the runs above ---- */

/* Is this child's name one of the nodes'? Others than ours may have a name twice. */
static bool is_among(const char *nodes, const char *child) {
    const size_t length = strlen(child);
    const char *at = strncmp(child, "_c_", 3) == 0 ? strstr(nodes, child) : NULL;
    while (at && !(at > nodes && at[-1] == '/' && (!at[length] || at[length] == '\n')))
        at = strstr(at + length, child);
    return at;
}

/* Lists a directory, or with NULL has the server catch up. false: there is no answer, or the run is
 * to end. */
static bool look(struct session *session, const char *path) {
    cli_connection *connection = &session->connection;
    const zkl_nanos deadline = cli_connection_deadline(&session->connection);
    const zkl_op list = {.size = sizeof(zkl_op), .kind = ZKL_OP_CHILDREN, .path = path};
    zkl_node_request_drop(connection->request);
    connection->request =
        path ? zkl_node_do(connection->client, &list, CLI_QUESTION, deadline, false)
             : zkl_node_sync(connection->client, CLI_QUESTION, deadline, false);
    cli_session_answer(session, connection->request, 0);
    return session->answered;
}

/* A list that cannot be read has no names: the acquire says why. */
static bool has_own(struct session *session, const char *path) {
    const zkl_content *content =
        look(session, path) ? zkl_node_request_content(session->connection.request, 0) : NULL;
    for (size_t i = 0; content && i < content->count; i++)
        if (is_among(session->run->above, content->names[i]))
            return true;
    return false;
}

static const char *path_of_own(struct session *session) {
    const struct run_options *options = &session->run->options;
    if (!look(session, NULL)) /* a server that lags behind may not know the node yet */
        return NULL;
    for (size_t i = 0; i < options->count; i++)
        if (has_own(session, options->paths[i]))
            return options->paths[i];
    return NULL;
}

static bool is_below_own(struct session *session) {
    if (!session->run->above || session->run->options.kind == ZKL_KIND_LEASE)
        return false;
    const char *path = path_of_own(session);
    zkl_node_request_drop(session->connection.request);
    session->connection.request = NULL;
    if (!path)
        return false;
    cli_page_end(session->page, EX_DATAERR, "error",
                 "deadlock: a zklock run above this one holds %s", CLI_SHOWN(path));
    return true;
}

/* ---- what is said of the wait ---- */

#define FIRST_PAUSE (ZKL_SECOND / 2) /* a short wait says nothing */
#define PAUSE (5 * ZKL_SECOND)       /* a second more or less, by chance */

static void say(struct session *session, const char *text) {
    struct waiting *waiting = &session->waiting;
    if (strcmp(text, waiting->said) == 0)
        return;
    snprintf(waiting->said, sizeof waiting->said, "%s", text);
    if (session->run->options.verbose)
        cli_session_say(session, "%s", text);
    else
        cli_channel_send(session->run->front, CHANNEL_LINE, 0, text);
}

static const char *ordinal(size_t number) {
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    const size_t last = number % 10;
    return number / 10 % 10 == 1 || last > 3 ? ends[0] : ends[last];
}

static void say_no_server(struct session *session) {
    char text[WAITING_TEXT];
    snprintf(text, sizeof text, "waiting for %s: no server%s", session->run->shown,
             CLI_TROUBLE(&session->connection));
    say(session, text);
}

/* Leases have no order. Before it asks for them, one that waits has its place among the others that
 * do; the holder that is known then has no lease yet. */
static void say_front(struct session *session) {
    const struct run_options *options = &session->run->options;
    const bool semaphore = options->kind == ZKL_KIND_LEASE;
    char text[WAITING_TEXT], place[64] = "", holder[CLI_TEXT_SHOWN + 16] = "";
    zkl_front front = ZKL_FRONT_DEFAULTS;
    const bool waits = zkl_front_of(session->contender, &front) && front.ahead;
    if (waits && semaphore && !front.next[0])
        snprintf(place, sizeof place, ": all %" PRId64 " permits are taken", options->permits);
    else if (waits)
        snprintf(place, sizeof place, ": %zu%s of %zu", front.ahead + 1, ordinal(front.ahead + 1),
                 front.of);
    if (waits && !semaphore && front.read)
        snprintf(holder, sizeof holder, ", held by %s",
                 front.holder[0] ? CLI_SHOWN(front.holder) : "an unnamed one");
    snprintf(text, sizeof text, "waiting for %s%s%s", CLI_SHOWN(options->paths[front.path]), place,
             holder);
    say(session, text);
}

static void ask(struct session *session) {
    zkl_query_drop(session->waiting.query);
    session->answered = false;
    session->waiting.query = zkl_query_front(session->contender, CLI_QUESTION, zkl_now() + PAUSE);
}

static zkl_nanos waiting_turn(struct session *session) {
    struct waiting *waiting = &session->waiting;
    const zkl_nanos now = zkl_now();
    if (!session->run->options.verbose && !cli_progress_possible())
        return ZKL_NEVER;
    if (waiting->query && session->answered) {
        session->answered = false;
        say_front(session);
    }
    if (!waiting->next)
        waiting->next = now + FIRST_PAUSE;
    if (now >= waiting->next) {
        waiting->next = zkl_clock_after(now + PAUSE - ZKL_SECOND, 2 * chance());
        if (session->cut_off)
            say_no_server(session);
        else
            ask(session);
    }
    return waiting->next;
}

static void waiting_end(struct session *session) {
    zkl_query_drop(session->waiting.query);
    session->waiting.query = NULL;
}

/* ---- the line ---- */

#define TRY_PAUSE (ZKL_SECOND / 10) /* between two tries at most */

static bool is_single_try(const struct run_options *options) {
    return options->nonblock || options->wait == 0;
}

/* The end of the wait. Of a single try it does not count: that ends when the servers have
 * answered. */
static zkl_nanos deadline_of(const struct session *session) {
    const double wait = session->run->options.wait;
    return wait < 0 ? ZKL_NEVER : zkl_clock_after(session->queued, wait);
}

static bool join(struct session *session) {
    const struct run_options *options = &session->run->options;
    const zkl_terms terms = {.size = sizeof(zkl_terms),
                             .kind = options->kind,
                             .permits = (uint32_t)options->permits,
                             .deadline = deadline_of(session),
                             .once = is_single_try(options),
                             .owner = 1};
    zkl_client *client = session->connection.client;
    zkl_status status;
    if (options->kind == ZKL_KIND_LEASE)
        status = zkl_join_leases(client, options->paths[0], 1, SESSION_CONTENDER, &terms,
                                 &session->contender);
    else if (options->count > 1)
        status = zkl_join_all(client, options->paths, options->count, SESSION_CONTENDER, &terms,
                              &session->contender);
    else
        status =
            zkl_join(client, options->paths[0], SESSION_CONTENDER, &terms, &session->contender);
    session->status = status;
    session->failed = status != ZKL_OK;
    return status == ZKL_OK;
}

static bool cut_off_too_long(const struct session *session, zkl_nanos *end) {
    *end = session->cut_off ? zkl_clock_after(session->cut_off, session->run->options.connect)
                            : ZKL_NEVER;
    return zkl_now() >= *end;
}

/* Waits for the answer. A wait that is stopped is cancelled, and the answer still comes. */
static void await_grant(struct session *session) {
    const zkl_nanos began = zkl_now();
    bool cancelled = false;
    while (!session->granted && !session->failed) {
        zkl_nanos end;
        const bool cut_off = cut_off_too_long(session, &end);
        if (!cancelled && (cut_off || cli_session_stopped(session))) {
            cancelled = true;
            zkl_cancel(session->contender);
        }
        const zkl_nanos next = cancelled ? ZKL_NEVER : waiting_turn(session);
        cli_session_turn(session, next < end ? next : end);
        if (cancelled && cut_off && session->failed)
            session->status = ZKL_DISCONNECTED;
    }
    waiting_end(session);
    if (session->granted)
        cli_session_say(session, "the lock was granted after %.1f s",
                        zkl_clock_seconds(zkl_now() - began));
}

/* Of several paths that were not free together within a short time, it may not be known which one
 * was not. */
static void end_busy(struct session *session) {
    const struct run_options *options = &session->run->options;
    char within[64] = "";
    zkl_front front = ZKL_FRONT_DEFAULTS;
    const bool known = zkl_front_of(session->contender, &front) || options->count == 1;
    if (!is_single_try(options))
        snprintf(within, sizeof within, " was not free within %g s", options->wait);
    cli_page_end(session->page, (int)options->conflict_code, "busy", "busy: %s%s%s",
                 CLI_SHOWN(options->paths[front.path]), known ? "" : ", or another of the paths,",
                 within);
}

static void end_failed(struct session *session) {
    char why[ZKL_SHORTAGE_TEXT];
    const zkl_status status = session->status;
    const bool short_of =
        status == ZKL_TOO_BIG && zkl_shortage_text(session->contender, why, sizeof why);
    if (status == ZKL_DISCONNECTED)
        end_without_servers(session, status, "the wait ended without a connection");
    else if (status == ZKL_TIMEOUT)
        end_busy(session);
    else
        cli_page_end(session->page, cli_exit_code(status), "error", "%s: %s%s%s",
                     zkl_status_text(status), session->run->shown, short_of ? ": " : "",
                     short_of ? why : "");
}

void cli_queue_end_unanswered(struct session *session) {
    end_without_servers(session, ZKL_DISCONNECTED, "the wait ended without contact");
}

/* Asks the front whether the command may start. A front that is stopped, because the user has
 * pressed Ctrl-Z, does not answer until it goes on. */
static bool ask_front(struct session *session, int grant, zkl_nanos until) {
    session->go = -1;
    while (session->go != grant && !session->lost && !cli_session_stopped(session)) {
        const zkl_nanos now = zkl_now(), again = now + ZKL_SECOND;
        if (now >= until)
            return false;
        /* again and again: the channel of a front that is stopped becomes full */
        cli_channel_send(session->run->front, CHANNEL_READY, grant, NULL);
        cli_session_turn(session, again < until ? again : until);
    }
    return true;
}

static void leave(struct session *session) {
    zkl_drop(session->contender);
    session->contender = NULL;
    session->granted = session->failed = session->lost = session->revoked = false;
    session->waiting = (struct waiting){.said = ""};
}

static void give_back(struct session *session) {
    zkl_release(session->contender);
    leave(session);
    cli_session_say(session, "zklock was stopped when the lock was granted: it was given back");
}

/* A single try fails when the connection breaks. It says nothing of the lock then, so for as long
 * as --connect allows there is another one. */
static bool is_cut_off(const struct session *session) {
    const double most = session->run->options.connect;
    return session->failed && session->status == ZKL_DISCONNECTED &&
           is_single_try(&session->run->options) && !cli_session_stopped(session) &&
           zkl_now() < zkl_clock_after(session->queued, most);
}

/* A run that is stopped does not keep others waiting. When it goes on, it queues anew. */
static void wait_in_line(struct session *session) {
    session->queued = zkl_now();
    while (join(session)) {
        await_grant(session);
        if (is_cut_off(session)) {
            leave(session);
            cli_session_turn(session, zkl_now() + TRY_PAUSE);
            if (connect_session(session))
                continue;
            return;
        }
        if (!session->granted || ask_front(session, ++session->grants, zkl_now() + session->grace))
            return;
        give_back(session);
        ask_front(session, 0, ZKL_NEVER);
        if (cli_session_stopped(session))
            return;
    }
}

bool cli_queue_wait(struct session *session) {
    const bool ready = splay(session) && open_client(session) && connect_session(session) &&
                       !cli_session_stopped(session);
    if (ready && check_grace(session) && !is_below_own(session))
        wait_in_line(session);
    if (cli_session_stopped(session))
        cli_session_end_stopped(session);
    else if (session->failed)
        end_failed(session);
    return session->granted && !cli_session_stopped(session);
}
