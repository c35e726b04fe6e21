/* SPDX-License-Identifier: MIT */
#include "cli/run/session.h"

#include "cli/connection.h"
#include "cli/text.h"
#include "cli/held.h"
#include "cli/run/channel.h"
#include "cli/run/page.h"
#include "zklock.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- how it ends ---- */

void cli_session_end_stopped(struct session *session) {
    if (session->signal)
        cli_page_end_signal(session->page, session->signal, "signal");
    else
        cli_page_end(session->page, EX_SOFTWARE, "error", "a process of zklock was killed");
}

void cli_session_say(struct session *session, const char *format, ...) {
    char text[CHANNEL_TEXT];
    if (!session->run->options.verbose)
        return;
    va_list words;
    va_start(words, format);
    vsnprintf(text, sizeof text, format, words);
    va_end(words);
    cli_channel_send(session->run->front, CHANNEL_PRINT, 0, text);
}

/* ---- what happens ---- */

static void see_contender(struct session *session, const zkl_event *event) {
    session->granted |= event->kind == ZKL_EVENT_GRANTED;
    session->lost |= event->kind == ZKL_EVENT_LOST;
    session->revoked |= event->kind == ZKL_EVENT_REVOKED;
    if (event->kind != ZKL_EVENT_FAILED)
        return;
    session->failed = true;
    session->status = event->status;
}

static void see_engine(struct session *session) {
    zkl_client *client = session->connection.client;
    zkl_event event;
    if (!client)
        return;
    while (zkl_peek(client, &event)) {
        zkl_forget(client, event.serial);
        if (event.tag == SESSION_CONTENDER)
            see_contender(session, &event);
        if (event.tag != CLI_QUESTION)
            continue;
        session->answered = true;
        session->answer = event.status;
    }
    const bool cut_off = zkl_client_state(client) != ZKL_STATE_CONNECTED;
    if (!cut_off || !session->cut_off)
        session->cut_off = cut_off ? zkl_now() : 0;
}

/* A signal is the command's from the moment that the watcher was told to start it, until no
 * descendant is left. */
static void see_signal(struct session *session, int signal) {
    const int phase = atomic_load(&session->page->phase);
    if (phase > PAGE_QUEUED && phase < PAGE_EMPTY)
        cli_channel_send(session->watcher_end, CHANNEL_SIGNAL, signal, NULL);
    else if (!session->signal && signal != SIGUSR1 && signal != SIGUSR2)
        session->signal = signal;
}

static void hear_front(void *ctx, const struct channel_message *message) {
    struct session *session = ctx;
    if (message->kind == CHANNEL_SIGNAL)
        see_signal(session, message->value);
    else if (message->kind == CHANNEL_GO)
        session->go = message->value;
}

static void see_channels(struct session *session) {
    if (!session->front_gone)
        session->front_gone = !cli_channel_hear(session->run->front, hear_front, session);
    if (session->front_gone)
        session->polled[SESSION_FRONT].fd = -1;
    if (!cli_channel_hear(session->watcher_end, NULL, NULL)) /* the page says what it means */
        session->polled[SESSION_WATCHER].fd = -1;
}

/* A stopped watcher cannot end the command in time, so it is killed. */
static void see_children(struct session *session) {
    int status;
    cli_signals_forget(session->polled[LOOP_SIGNALS].fd);
    if (!session->watcher)
        return;
    const pid_t changed = waitpid(session->watcher, &status, WNOHANG | WUNTRACED);
    if (changed != session->watcher)
        return;
    if (WIFSTOPPED(status)) {
        kill(session->watcher, SIGKILL);
        return;
    }
    session->watcher = 0;
    if (cli_page_occupied(session->page)) /* the children of the watcher are ours now */
        cli_reaper_end(session->page, PAGE_WATCHER);
}

static void see_questions(struct session *session) {
    if (session->polled[SESSION_HELD].revents)
        cli_held_serve(session->polled[SESSION_HELD].fd, atomic_load(&session->page->until));
}

bool cli_session_stopped(const struct session *session) {
    const bool waits = atomic_load(&session->page->phase) < PAGE_EMPTY;
    return session->signal || (waits && (session->front_gone || !session->watcher));
}

static void watch_engine(struct session *session) {
    struct pollfd *engine = session->polled + SESSION_ENGINE;
    engine->fd = session->connection.client ? zkl_fd(session->connection.client) : -1;
}

void cli_session_turn(struct session *session, zkl_nanos until) {
    watch_engine(session);
    cli_loop_wait(session->polled, SESSION_FDS, until);
    see_channels(session);
    see_children(session);
    see_engine(session);
    see_questions(session);
}

zkl_status cli_session_answer(struct session *session, bool there, zkl_nanos longer) {
    session->answered = false;
    if (!there)
        return ZKL_NO_MEMORY;
    while (!session->answered && !cli_session_stopped(session))
        cli_session_turn(session, ZKL_NEVER);
    const zkl_nanos until = zkl_now() + longer;
    while (!session->answered && zkl_now() < until)
        cli_session_turn(session, until);
    return session->answered ? session->answer : ZKL_TIMEOUT;
}
