/* SPDX-License-Identifier: MIT */
#include "zookeeper/session.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/timer.h"
#include "base/worker.h"
#include "port/extras.h"
#include "zookeeper/config.h"
#include "zookeeper/heart.h"
#include "zookeeper/link.h"
#include "zookeeper/log.h"
#include "zookeeper/servers.h"
#include "zookeeper/session_link.h"
#include "zookeeper/trouble.h"
#include "zklock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* After a refusal the client shows its credentials again: an operator may have admitted it by now,
 * or the refusal was forged. */
#define REFUSED_FIRST (4 * ZKL_SECOND)
#define REFUSED_MOST (60 * ZKL_SECOND)
/* If a server no longer knows a session so soon after it granted it, it will do the same with the
 * next one. */
#define BRIEF ZKL_SECOND
#define BRIEF_PAUSE (ZKL_SECOND / 5)
/* The client believes a longer session timeout only if it has asked for it. Servers grant more than
 * that if it is less than two of their ticks. */
#define BELIEVED_MOST (60 * ZKL_SECOND)

/* ---- events of the link ---- */

static void refreshed(zkl_heart *heart) {
    zkl_session *session = ZKL_CONTAINER_OF(heart, zkl_session, heart);
    session->tell(session->ctx, ZKL_SESSION_REFRESHED);
}

/* locked. If answers take longer than an eighth of the timeout, no chain (validity.h) is complete
 * in time. */
static void explain_doubt(zkl_session *session) {
    const double timeout = zkl_clock_seconds(session->timeout),
                 latency = zkl_clock_seconds(session->heart.latency), most = timeout / 8;
    if (latency > most)
        snprintf(session->doubt, sizeof session->doubt,
                 latency < 1 ? "answers take %.2g s; a session of %g s allows %g s"
                             : "answers take %.1f s; a session of %g s allows %g s",
                 latency, timeout, most);
    else
        snprintf(session->doubt, sizeof session->doubt,
                 "answers come, but none shows that the session of %g s is alive", timeout);
}

static void unsure(zkl_heart *heart) {
    zkl_session *session = ZKL_CONTAINER_OF(heart, zkl_session, heart);
    session->tell(session->ctx, ZKL_SESSION_UNSURE);
}

static void warn_lacking(zkl_session *session) {
    session->told_lacking = true;
    zkl_log_warn(session->log, "",
                 "%s: directories of locks are plain nodes, which stay when they are empty%s",
                 session->context->extras.keeper ? "the servers are ClickHouse Keeper's"
                                                 : "the servers make no container nodes",
                 session->context->extras.keeper
                     ? "; each broken connection costs every lock, and validity is not proven"
                     : "");
}

void zkl_session_step(zkl_session *session) {
    if (!session->told_lacking && !zkl_context_knows(session->context, ZKL_EXTRA_CONTAINER))
        warn_lacking(session);
    if (session->context->given_up == session->explained)
        return;
    session->explained = session->context->given_up;
    explain_doubt(session);
    zkl_log_warn(session->log, "", "a lock was not granted: %s", session->doubt);
}

static void overdue(zkl_timer *timer) {
    zkl_session *session = ZKL_CONTAINER_OF(timer, zkl_session, overdue);
    char why[ZKL_TROUBLE_TEXT] = "no answer";
    if (!zkl_trouble_of(session->tried, 0, why, sizeof why) && session->hindrance[0])
        snprintf(why, sizeof why, "%s", session->hindrance);
    zkl_log_warn(session->log, "", "no server was reached for %g s: %s",
                 zkl_clock_seconds(session->timeout), why);
}

/* locked: from now on the client sends requests, and its reads count. */
static void resume(zkl_session *session) {
    session->carried = false;
    zkl_session_log_connected(session);
    zkl_session_state_set(session, ZKL_STATE_CONNECTED);
    zkl_session_link_stage(session, ZKL_STAGE_LINKED);
}

static void on_watched(void *ctx, zkl_link *link, const char *path, zkl_change change) {
    zkl_session *session = ctx;
    session->enter(session->ctx);
    if (link == session->link)
        session->watched(session->ctx, path, change);
    session->leave(session->ctx);
}

/* locked. The state changes only when a server accepts the credentials. */
static void refused(zkl_session *session) {
    const zkl_nanos pause = zkl_backoff(&session->refused_pause, REFUSED_FIRST, REFUSED_MOST);
    zkl_session_state_disconnected(session, ZKL_STATE_AUTH_FAILED);
    zkl_session_link_dead(session, pause);
    zkl_log_error(session->log, "", "auth failed: the servers refuse the credentials");
    session->tell(session->ctx, ZKL_SESSION_REFUSED);
}

/* locked */
static void expired(zkl_session *session) {
    const bool was_brief = zkl_context_now(session->context) - session->met < BRIEF;
    zkl_session_log_expired(session);
    zkl_session_state_disconnected(session, ZKL_STATE_EXPIRED);
    zkl_session_link_dead(session, was_brief ? BRIEF_PAUSE : 0);
    session->tell(session->ctx, ZKL_SESSION_EXPIRED);
}

static void look(zkl_timer *timer) {
    zkl_session *session = ZKL_CONTAINER_OF(timer, zkl_session, look);
    if (zkl_session_link_look(session))
        expired(session);
}

/* locked. A server that grants much more than was asked may lie. The client would then take that
 * long to notice the session's end. */
static zkl_nanos believable(const zkl_session *session, zkl_nanos granted) {
    const zkl_nanos asked = zkl_link_asked(&session->config);
    const zkl_nanos most = asked > BELIEVED_MOST ? asked : BELIEVED_MOST;
    return granted < most ? granted : most;
}

/* ClickHouse Keeper, and nothing else, gives its sessions a password of zeros. */
static bool is_keeper(const zkl_identity *identity) {
    static const char zeros[sizeof identity->password];
    return memcmp(identity->password, zeros, sizeof zeros) == 0;
}

/* locked */
static void connected(zkl_session *session) {
    zkl_context *context = session->context;
    const zkl_nanos now = zkl_context_now(context);
    const bool was_brief = now - session->met < BRIEF;
    session->met = now;
    const zkl_identity identity = zkl_link_identity(session->link);
    const bool keeper = is_keeper(&identity);
    /* Keeper carries no session on. If it was set up anew, it gives the same number again. */
    const bool fresh = keeper || context->session != identity.id;
    /* a Keeper without a leader gives none, and hangs up */
    if (session->stage != ZKL_STAGE_SEEKING || !identity.id)
        return;
    if (fresh && context->session) {
        zkl_session_forget(session); /* the new link could not carry the session on */
        session->tell(session->ctx, ZKL_SESSION_EXPIRED);
    }
    context->session = identity.id;
    zkl_extras_connected(&context->extras, keeper, !fresh);
    const zkl_grant grant = {.root = zkl_link_root(session->link),
                             .granted = zkl_link_timeout(session->link),
                             .believed = believable(session, zkl_link_timeout(session->link)),
                             .fresh = fresh};
    session->timeout = grant.believed;
    session->identity = identity;
    session->misled = grant.believed < grant.granted;
    if (!was_brief) /* a server that hangs up at once is tried less and less often */
        session->pause = session->look_pause = 0;
    session->refused_pause = 0;
    session->remembers = true;
    session->carried = session->carried && !fresh;
    zkl_timer_clear(&context->timers, &session->look);
    zkl_timer_clear(&context->timers, &session->overdue);
    context->counters.sessions += fresh;
    if (!session->ending)
        zkl_heart_started(&session->heart, zkl_link_port(session->link));
    if (session->misled)
        zkl_session_link_listen(session);
    zkl_heart_linked(&session->heart, &grant, session->carried);
    /* A link that is new to the servers may get, from one that lags, a list without our nodes. The
     * heart's first write is answered once the server has caught up; on_answered continues then. */
    if (session->carried)
        zkl_session_link_stage(session, ZKL_STAGE_PROVING);
    else
        resume(session);
}

/* locked */
static void suspended(zkl_session *session) {
    if (session->stage == ZKL_STAGE_LINKED) {
        zkl_session_state_disconnected(session, ZKL_STATE_SUSPENDED);
        zkl_session_log_suspended(session);
    }
    zkl_session_link_down(session);
    zkl_session_link_stage(session, ZKL_STAGE_SEEKING);
    /* misled: the library would pause for a sixtieth of the timeout between two tries */
    if (session->misled || zkl_heart_in_vain(&session->heart))
        zkl_worker_send(session->worker, &session->look_again);
}

/* locked. The library will reach no server with this handle any more: another link carries the
 * session on. */
static void spoiled(zkl_session *session) {
    if (session->stage != ZKL_STAGE_SEEKING)
        suspended(session);
    session->misled = true;
    zkl_worker_send(session->worker, &session->look_again);
}

/* The servers answer a write this way if a quorum has agreed that the session is over. Usually the
 * server hangs up then. But the client would never leave a server that keeps the connection and
 * answers pings and reads. */
static void on_answered(void *ctx, zkl_link *link, const zkl_return *back, const zkl_reply *reply,
                        zkl_nanos handed, zkl_proof proof) {
    zkl_session *session = ctx;
    /* A server that does not know create2 hangs up behind this answer. The next create of that
     * caller is a plain one. */
    static const zkl_reply lost = {.rc = ZCONNECTIONLOSS};
    const bool vain = reply->extra == ZKL_EXTRA_CREATE2 && reply->rc == ZUNIMPLEMENTED;
    session->enter(session->ctx);
    if (link == session->link) {
        if (!zkl_status_unknown(reply->rc))
            session->unproven = reply->rc == ZSESSIONCLOSEDREQUIRESASLAUTH;
        zkl_extras_answered(&session->context->extras, reply);
        zkl_heart_answered(&session->heart, proof, handed);
        session->answered(session->ctx, back, vain ? &lost : reply);
        if (reply->rc == ZSESSIONEXPIRED)
            expired(session);
        else if (session->stage == ZKL_STAGE_PROVING && proof == ZKL_PROOF_QUORUM)
            resume(session);
    }
    session->leave(session->ctx);
}

static void on_link_event(void *ctx, zkl_link *link, zkl_link_event event) {
    zkl_session *session = ctx;
    session->enter(session->ctx);
    if (link == session->link) {
        switch (event) {
        case ZKL_LINK_CONNECTED:
            connected(session);
            break;
        case ZKL_LINK_SUSPENDED:
            if (session->stage != ZKL_STAGE_SEEKING)
                suspended(session);
            break;
        case ZKL_LINK_EXPIRED:
            expired(session);
            break;
        case ZKL_LINK_AUTH_FAILED:
            refused(session);
            break;
        case ZKL_LINK_SPOILED:
            spoiled(session);
            break;
        }
    }
    session->leave(session->ctx);
}

void zkl_session_start(zkl_session *session) {
    zkl_timer_set(&session->context->timers, &session->overdue,
                  zkl_context_now(session->context) + session->timeout);
    zkl_worker_send(session->worker, &session->renew);
}

void zkl_session_ending(zkl_session *session) {
    session->ending = true;
    session->heart.port = NULL; /* no more heartbeats: no caller holds or waits */
    zkl_timer_clear(&session->context->timers, &session->reopen);
    zkl_timer_clear(&session->context->timers, &session->look);
    zkl_timer_clear(&session->context->timers, &session->overdue);
    zkl_session_state_set(session, ZKL_STATE_CLOSED);
}

void zkl_session_end(zkl_session *session, zkl_nanos deadline) {
    session->enter(session->ctx);
    zkl_link *link = session->link, *dead;
    const bool reachable = session->stage == ZKL_STAGE_LINKED;
    session->leave(session->ctx);
    if (reachable)
        /* closing while answers are on their way leaves nodes behind */
        zkl_link_drain(link, deadline);
    session->enter(session->ctx);
    link = session->link;
    dead = session->retired; /* the same link, if it has died meanwhile */
    session->link = session->retired = NULL;
    zkl_session_link_down(session);
    zkl_session_link_stage(session, ZKL_STAGE_ENDED);
    zkl_timer_clear(&session->context->timers, &session->reopen);
    zkl_timer_clear(&session->context->timers, &session->look);
    session->leave(session->ctx);
    if (link)
        zkl_link_close(link);
    if (dead)
        zkl_link_close(dead);
    session->enter(session->ctx);
    zkl_config_forget(&session->config);
    session->leave(session->ctx);
}

/* ---- life ---- */

zkl_status zkl_session_init(zkl_session *session, const zkl_config *config) {
    char why[128];
    if (!zkl_servers_parse(&session->servers, config->hosts, why, sizeof why))
        return why[0] ? ZKL_BAD_ARGUMENT : ZKL_NO_MEMORY;
    if (!zkl_config_copy(&session->config, config, &session->servers))
        return ZKL_NO_MEMORY;
    session->state = ZKL_STATE_CONNECTING;
    session->context->port = &zkl_port_refusing;
    session->timeout = zkl_link_asked(config);
    session->owner = (zkl_link_owner){session, on_answered, on_watched, on_link_event};
    zkl_session_link_init(session);
    session->look.fire = look;
    session->overdue.fire = overdue;
    session->heart.context = session->context;
    session->heart.refreshed = refreshed;
    session->heart.unsure = unsure;
    if (!zkl_heart_init(&session->heart))
        return ZKL_NO_MEMORY;
    session->context->acl = config->acl;
    session->context->identifier = session->config.identifier;
    session->context->chroot = strlen(session->servers.chroot);
    return ZKL_OK;
}

void zkl_session_destroy(zkl_session *session) {
    zkl_config_free(&session->config);
    free(session->addresses);
    zkl_servers_free(&session->servers);
    free(session->tried);
}
