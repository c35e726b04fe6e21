/* SPDX-License-Identifier: MIT */
#include "zookeeper/session_link.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "base/timer.h"
#include "base/transitions.h"
#include "base/worker.h"
#include "zookeeper/config.h"
#include "zookeeper/heart.h"
#include "zookeeper/link.h"
#include "zookeeper/log.h"
#include "zookeeper/servers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_FIRST (ZKL_SECOND / 20)
#define PAUSE_MOST (2 * ZKL_SECOND)
#define SEEK_LEAST (4 * ZKL_SECOND) /* so long that a watchdog may come first */
#define SEEK_SOON (2 * ZKL_SECOND)  /* the minimum without TLS */
#define LOOK_MOST (2 * ZKL_SECOND)  /* or the session timeout, if that is longer */

static zkl_transitions stage_transitions = {
    .of = "link of a session",
    .names = {"OPENING", "RESTING", "SEEKING", "PROVING", "LINKED", "ENDED"},
    .legal =
        {
            [ZKL_STAGE_OPENING] =
                ZKL_TO(ZKL_STAGE_SEEKING) | ZKL_TO(ZKL_STAGE_RESTING) | ZKL_TO(ZKL_STAGE_ENDED),
            [ZKL_STAGE_RESTING] = ZKL_TO(ZKL_STAGE_OPENING) | ZKL_TO(ZKL_STAGE_ENDED),
            [ZKL_STAGE_SEEKING] = ZKL_TO(ZKL_STAGE_PROVING) | ZKL_TO(ZKL_STAGE_LINKED) |
                                  ZKL_TO(ZKL_STAGE_OPENING) | ZKL_TO(ZKL_STAGE_RESTING) |
                                  ZKL_TO(ZKL_STAGE_ENDED),
            [ZKL_STAGE_PROVING] = ZKL_TO(ZKL_STAGE_LINKED) | ZKL_TO(ZKL_STAGE_SEEKING) |
                                  ZKL_TO(ZKL_STAGE_OPENING) | ZKL_TO(ZKL_STAGE_RESTING) |
                                  ZKL_TO(ZKL_STAGE_ENDED),
            [ZKL_STAGE_LINKED] = ZKL_TO(ZKL_STAGE_SEEKING) | ZKL_TO(ZKL_STAGE_OPENING) |
                                 ZKL_TO(ZKL_STAGE_RESTING) | ZKL_TO(ZKL_STAGE_ENDED),
        },
};

void zkl_session_link_stage(zkl_session *session, zkl_stage stage) {
    zkl_transitions_make(&stage_transitions, (zkl_transition){session->stage, stage},
                         session->context->trace, session);
    const bool was_linked = session->stage == ZKL_STAGE_LINKED,
               is_linked = stage == ZKL_STAGE_LINKED;
    session->stage = stage;
    if (was_linked == is_linked)
        return;
    session->context->port = is_linked ? zkl_link_port(session->link) : &zkl_port_refusing;
    session->tell(session->ctx, is_linked ? ZKL_SESSION_RESUMED : ZKL_SESSION_SUSPENDED);
}

/* locked. When the next link takes over from a link with TLS. The library waits for a host that
 * does not even refuse a connection as long as the kernel does, two minutes, and tries no other
 * host meanwhile; the next link begins with another server. If there is no session to lose, the
 * time is half as long. */
static zkl_nanos sought_with_tls(const zkl_session *session) {
    const zkl_nanos patience = session->context->session ? session->timeout : session->timeout / 2;
    return session->seeking + (patience < SEEK_LEAST ? SEEK_LEAST : patience);
}

/* locked. When another link takes over to carry the session on. A link that has had a server
 * refuses servers with older data, even if an operator has set up all servers from scratch; the
 * next link accepts any of them. */
static zkl_nanos sought_until(const zkl_session *session) {
    if (session->config.tls)
        return sought_with_tls(session);
    const zkl_nanos patience = session->timeout < SEEK_SOON ? SEEK_SOON : session->timeout;
    return session->remembers ? session->seeking + patience : ZKL_NEVER;
}

/* locked. Without a server the worker looks up names again. The first time is early enough to carry
 * the session to another address, but not at once, because the library mostly finds a server that
 * it knows. After that the pauses grow. */
static void look_later(zkl_session *session) {
    const zkl_nanos most = session->timeout < LOOK_MOST ? LOOK_MOST : session->timeout;
    const zkl_nanos now = zkl_context_now(session->context), until = sought_until(session);
    zkl_nanos at = now + zkl_backoff(&session->look_pause, session->timeout / 6, most);
    if (until > now && until < at)
        at = until;
    zkl_timer_set(&session->context->timers, &session->look, at);
}

void zkl_session_link_down(zkl_session *session) {
    session->seeking = zkl_context_now(session->context);
    session->doubt[0] = '\0';
    zkl_heart_unlinked(&session->heart);
    look_later(session);
}

/* locked. There is no link, and there will be none for a while. */
static void rest(zkl_session *session, zkl_nanos pause) {
    zkl_session_link_stage(session, ZKL_STAGE_RESTING);
    zkl_timer_set(&session->context->timers, &session->reopen,
                  zkl_context_now(session->context) + pause);
}

void zkl_session_link_dead(zkl_session *session, zkl_nanos pause) {
    zkl_session_link_down(session);
    if (pause > 0)
        rest(session, pause);
    else
        zkl_session_link_stage(session, ZKL_STAGE_OPENING);
    zkl_session_forget(session);
    session->retired = session->link;
    session->link = NULL;
    zkl_worker_send(session->worker, &session->renew);
}

/* locked. The library waits two thirds of the granted timeout before it leaves a server that does
 * not answer. A request that was handed over before the link found its server counts from then
 * on. */
static bool is_mute(const zkl_session *session) {
    const zkl_heart *heart = &session->heart;
    const zkl_nanos since = heart->sent > heart->met ? heart->sent : heart->met;
    return heart->beating && since + session->timeout / 3 * 2 <= zkl_context_now(session->context);
}

void zkl_session_link_listen(zkl_session *session) {
    zkl_timer_set(&session->context->timers, &session->look,
                  zkl_context_now(session->context) + session->timeout / 3);
}

static void try_again_later(zkl_session *session) {
    rest(session, zkl_backoff(&session->pause, PAUSE_FIRST, PAUSE_MOST));
}

static void reopen(zkl_timer *timer) {
    zkl_session *session = ZKL_CONTAINER_OF(timer, zkl_session, reopen);
    zkl_session_link_stage(session, ZKL_STAGE_OPENING);
    zkl_worker_send(session->worker, &session->renew);
}

/* worker thread. The link counts before it is started: its first event may come before this
 * returns. */
static void open_link(zkl_session *session, char *addresses, const zkl_identity *carried) {
    zkl_link *link = addresses ? zkl_link_new(&session->owner, session->context) : NULL;
    session->enter(session->ctx);
    free(session->tried);
    session->tried = addresses ? strdup(addresses) : NULL;
    session->link = link;
    session->remembers = session->misled = session->inherits = false;
    session->carried = carried != NULL;
    session->seeking = zkl_context_now(session->context);
    if (link) {
        zkl_session_link_stage(session, ZKL_STAGE_SEEKING);
        look_later(session);
    }
    session->leave(session->ctx);
    const bool started = link && zkl_link_start(link, addresses, &session->config, carried);
    const char *reason = started ? "" : strerror(link ? errno : ENOMEM);
    if (link && !started)
        zkl_log_warn(session->log, "", "cannot start a ZooKeeper handle: %s", reason);
    free(session->addresses);
    session->addresses = addresses;
    session->enter(session->ctx);
    /* Credentials that the library does not have yet go first: without them servers may accept
     * nothing. */
    if (started && link == session->link && !session->ending && !session->config.auth_count)
        zkl_heart_started(&session->heart, zkl_link_port(link));
    if (started) {
        session->leave(session->ctx);
        return;
    }
    session->link = NULL;
    if (addresses)
        snprintf(session->hindrance, sizeof session->hindrance,
                 "cannot start a ZooKeeper handle: %s", reason);
    session->inherits = carried && session->context->session != 0;
    if (session->inherits)
        session->identity = *carried;
    if (!session->ending) /* otherwise zkl_session_end comes */
        try_again_later(session);
    session->leave(session->ctx);
    if (link)
        zkl_link_close(link);
}

static char *resolve(zkl_session *session) {
    char why[256];
    char *addresses = zkl_servers_resolve(&session->servers, session->addresses, why, sizeof why);
    session->enter(session->ctx);
    snprintf(session->hindrance, sizeof session->hindrance, "%.*s", ZKL_TROUBLE_TEXT - 1, why);
    session->leave(session->ctx);
    if (why[0])
        zkl_log_warn(session->log, why, "%s", why);
    return addresses;
}

/* locked. True if there is a link that looks for a server and has not found one. */
static bool is_seeking(const zkl_session *session) {
    return session->stage == ZKL_STAGE_SEEKING && !session->ending;
}

bool zkl_session_link_look(zkl_session *session) {
    if (is_seeking(session))
        zkl_worker_send(session->worker, &session->look_again);
    else if (session->misled && is_mute(session))
        return true;
    else if (session->misled && session->link)
        zkl_session_link_listen(session);
    return false;
}

/* worker thread. Takes the session from the former link, so that the next one can carry it on.
 * false: the link has just found a server, and closing it ends the session. The servers may hear of
 * that end much later, so no link carries the session on. */
static bool take_session(zkl_session *session, zkl_link *former, zkl_identity *identity) {
    if (zkl_link_part(former, identity))
        return true;
    session->enter(session->ctx);
    zkl_session_log_expired(session);
    zkl_session_forget(session);
    zkl_session_state_disconnected(session, ZKL_STATE_EXPIRED);
    session->tell(session->ctx, ZKL_SESSION_EXPIRED);
    session->leave(session->ctx);
    return false;
}

/* locked. True if another link should take over from the one that looks for a server: if a server
 * has misled the link; if `addresses` differ from those of the link; or if the link's time is up,
 * or it connects in vain. In the last two cases the new link begins with another server. */
static bool decide_to_move(zkl_session *session, char *addresses) {
    if (!is_seeking(session) || zkl_link_connected(session->link))
        return false;
    if (session->misled)
        return true;
    if (!addresses)
        return false;
    if (!zkl_servers_same(addresses, session->addresses))
        return true;
    if (zkl_context_now(session->context) < sought_until(session) &&
        !zkl_heart_in_vain(&session->heart))
        return false;
    zkl_servers_begin_elsewhere(addresses, session->addresses);
    return true;
}

/* worker thread. Takes the link from the session if another one should take over: from then on
 * nothing listens to the link, and nothing about the session is certain. NULL: the link stays, and
 * the worker looks up names again later. */
static zkl_link *give_up_link(zkl_session *session, char *addresses) {
    zkl_link *former = NULL;
    session->enter(session->ctx);
    if (decide_to_move(session, addresses)) {
        former = session->link;
        session->link = NULL;
        zkl_session_link_stage(session, ZKL_STAGE_OPENING);
        zkl_heart_stopped(&session->heart);
        session->tell(session->ctx, ZKL_SESSION_RELINKED);
    } else if (is_seeking(session)) {
        look_later(session);
    }
    session->leave(session->ctx);
    return former;
}

/* worker thread. A server has misled the former link, and may mislead the next one. So the next
 * link begins after a pause, with another server. The client no longer believes the former link
 * about the session. */
static void move_later(zkl_session *session, bool carried) {
    session->enter(session->ctx);
    session->inherits = carried;
    if (!session->ending) /* otherwise zkl_session_end comes */
        try_again_later(session);
    session->leave(session->ctx);
}

/* worker thread. To change the addresses of a running handle is a race inside the library, so
 * another link carries the session on. The former link is closed first, because two links of one
 * session would take it from each other for ever. */
static void move_session(zkl_session *session, zkl_link *former, char *addresses) {
    zkl_identity identity;
    session->enter(session->ctx);
    const bool alive = session->context->session != 0, misled = session->misled;
    session->leave(session->ctx);
    const bool carried = alive && take_session(session, former, &identity);
    zkl_link_close(former); /* may block for seconds */
    if (misled) {
        free(addresses);
        move_later(session, carried);
    } else {
        open_link(session, addresses, carried ? &identity : NULL);
    }
}

static bool is_misled(zkl_session *session) {
    session->enter(session->ctx);
    const bool misled = session->misled;
    session->leave(session->ctx);
    return misled;
}

/* worker thread: no server was in reach for a while, or one has misled the link. Such a link may
 * reconnect again and again until it is closed, so this closes it before it looks up names. */
static void look_again(zkl_job *job) {
    zkl_session *session = ZKL_CONTAINER_OF(job, zkl_session, look_again);
    char *addresses = is_misled(session) ? NULL : resolve(session);
    zkl_link *former = give_up_link(session, addresses);
    if (former)
        move_session(session, former, addresses);
    else
        free(addresses);
}

/* worker thread: closes a dead link, and opens the next one */
static void renew(zkl_job *job) {
    zkl_session *session = ZKL_CONTAINER_OF(job, zkl_session, renew);
    session->enter(session->ctx);
    zkl_link *dead = session->retired;
    session->retired = NULL;
    const bool wanted = session->stage == ZKL_STAGE_OPENING && !session->ending;
    const bool misled = session->misled, inherits = session->inherits;
    const zkl_identity identity = session->identity;
    session->leave(session->ctx);
    char *addresses = wanted ? resolve(session) : NULL;
    if (addresses && misled)
        zkl_servers_begin_elsewhere(addresses, session->addresses);
    if (wanted)
        open_link(session, addresses, inherits ? &identity : NULL);
    if (dead)
        zkl_link_close(dead);
}

void zkl_session_link_init(zkl_session *session) {
    session->reopen.fire = reopen;
    session->renew.run = renew;
    session->look_again.run = look_again;
}
