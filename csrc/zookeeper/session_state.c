/* SPDX-License-Identifier: MIT */
#include "zookeeper/session_state.h"

#include "base/clock.h"
#include "base/event.h"
#include "base/transitions.h"
#include "zklock.h"

#include <inttypes.h>
#include <stdio.h>

/* CONNECTING to EXPIRED: the session ended before the servers had accepted the credentials. */
static zkl_transitions state_transitions = {
    .of = "session",
    .names = {"CONNECTING", "CONNECTED", "SUSPENDED", "EXPIRED", "REFUSED", "CLOSED"},
    .legal =
        {
            [ZKL_STATE_CONNECTING] = ZKL_TO(ZKL_STATE_CONNECTED) | ZKL_TO(ZKL_STATE_EXPIRED) |
                                     ZKL_TO(ZKL_STATE_AUTH_FAILED) | ZKL_TO(ZKL_STATE_CLOSED),
            [ZKL_STATE_CONNECTED] = ZKL_TO(ZKL_STATE_SUSPENDED) | ZKL_TO(ZKL_STATE_EXPIRED) |
                                    ZKL_TO(ZKL_STATE_AUTH_FAILED) | ZKL_TO(ZKL_STATE_CLOSED),
            [ZKL_STATE_SUSPENDED] = ZKL_TO(ZKL_STATE_CONNECTED) | ZKL_TO(ZKL_STATE_EXPIRED) |
                                    ZKL_TO(ZKL_STATE_AUTH_FAILED) | ZKL_TO(ZKL_STATE_CLOSED),
            [ZKL_STATE_EXPIRED] = ZKL_TO(ZKL_STATE_CONNECTED) | ZKL_TO(ZKL_STATE_AUTH_FAILED) |
                                  ZKL_TO(ZKL_STATE_CLOSED),
            [ZKL_STATE_AUTH_FAILED] =
                ZKL_TO(ZKL_STATE_CONNECTED) | ZKL_TO(ZKL_STATE_EXPIRED) | ZKL_TO(ZKL_STATE_CLOSED),
        },
};

void zkl_session_state_set(zkl_session *session, zkl_state state) {
    if (session->state == state || session->state == ZKL_STATE_CLOSED)
        return;
    zkl_transitions_make(&state_transitions, (zkl_transition){session->state, state},
                         session->context->trace, session);
    session->state = state;
    /* A host that does not poll loses the oldest changes, never the latest. */
    zkl_notice *event = &session->states[session->state_next++ % ZKL_STATES_KEPT];
    zkl_events_drop(&session->context->events, event);
    event->kind = ZKL_EVENT_STATE;
    zkl_events_post(&session->context->events, event, (int)state, 0);
}

void zkl_session_state_disconnected(zkl_session *session, zkl_state state) {
    if (session->state == ZKL_STATE_CONNECTED)
        session->away = zkl_context_now(session->context);
    zkl_session_state_set(session, state);
}

/* ---- the log ---- */

#define UNPROVEN "the servers ask for credentials of another scheme (enforce.auth.schemes)"

/* The server's own words go before what the library saw of its hanging up. */
static bool breakdown(const zkl_session *session, char *text, size_t size) {
    if (!session->unproven)
        return zkl_trouble_of(session->tried, session->met, text, size);
    snprintf(text, size, "%s", UNPROVEN);
    return true;
}

bool zkl_session_trouble(const zkl_session *session, char *text, size_t size) {
    if (!session->doubt[0] && breakdown(session, text, size))
        return true;
    const char *why = session->doubt[0] ? session->doubt : session->hindrance;
    if (why[0])
        snprintf(text, size, "%s", why);
    return why[0] != '\0';
}

void zkl_session_log_suspended(zkl_session *session) {
    char why[ZKL_TROUBLE_TEXT];
    const bool known = breakdown(session, why, sizeof why);
    zkl_log_warn(session->log, "", "suspended: %s", known ? why : "the connection has broken");
}

void zkl_session_log_expired(zkl_session *session) {
    const zkl_context *context = session->context;
    const zkl_nanos now = zkl_context_now(context);
    const double silence = zkl_clock_seconds(session->heart.heard ? now - session->heart.heard : 0);
    const uint64_t held = context->counters.held;
    (held ? zkl_log_error : zkl_log_warn)(
        session->log, "", "session expired after %.1f s without an answer; locks held: %" PRIu64,
        silence, held);
    if (context->valid_until > now)
        zkl_log_warn(session->log, "",
                     "the session was valid for another %.1f s: its timeout of %g s is less than "
                     "two ticks of the servers, or it was a local session (localSessionsEnabled) "
                     "and has changed its server, or somebody has ended it",
                     zkl_clock_seconds(context->valid_until - now),
                     zkl_clock_seconds(session->timeout));
}

void zkl_session_log_connected(zkl_session *session) {
    if (session->away)
        zkl_log_warn(session->log, "", "connected again after %.1f s",
                     zkl_clock_seconds(zkl_context_now(session->context) - session->away));
    session->away = 0;
}

/* ---- forgetting a session ---- */

void zkl_session_forget(zkl_session *session) {
    session->context->session = 0;
    zkl_heart_stopped(&session->heart);
}
