#include "zookeeper/session.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "base/event.h"
#include "base/timer.h"
#include "base/transitions.h"
#include "zookeeper/config.h"
#include "zookeeper/tls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#define PAUSE_FIRST (ZKL_SECOND / 20)
#define PAUSE_MOST (2 * ZKL_SECOND)
/* Credentials that were refused are shown again: an operator may have let us in by now, or the
 * refusal was forged. */
#define REFUSED_FIRST (4 * ZKL_SECOND)
#define REFUSED_MOST (60 * ZKL_SECOND)
/* A server that does not know a session any more so soon after it gave it does so with the next
 * one, too. */
#define BRIEF ZKL_SECOND
#define BRIEF_PAUSE (ZKL_SECOND / 5)
#define SEEK_LEAST (4 * ZKL_SECOND) /* so long that a watchdog may come before */
#define SEEK_SOON (2 * ZKL_SECOND)  /* the least without TLS */
#define LOOK_MOST (2 * ZKL_SECOND)  /* or the session timeout, if that is longer */
/* A longer session timeout is believed only if it was asked for. Servers grant more than was asked
 * when it is less than two of their ticks. */
#define BELIEVED_MOST (60 * ZKL_SECOND)

/* ---- what it is to the host, and what there is of a link ---- */

/* Expired without having been told connected: the credentials had not been taken yet. */
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

/* locked */
static void set_state(zkl_session *session, zkl_state state) {
    if (session->state == state || session->state == ZKL_STATE_CLOSED)
        return;
    zkl_transitions_make(&state_transitions, session->state, state);
    session->state = state;
    /* A host that does not poll loses the oldest changes, never the latest. */
    zkl_event *event = &session->states[session->state_next++ % ZKL_STATES_KEPT];
    zkl_events_drop(&session->context->events, event);
    event->kind = ZKL_EVENT_STATE;
    zkl_events_post(&session->context->events, event, (int)state, 0);
}

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

/* locked */
static void set_stage(zkl_session *session, zkl_stage stage) {
    zkl_transitions_make(&stage_transitions, session->stage, stage);
    session->stage = stage;
}

/* ---- what the link says ---- */

static void refreshed(zkl_heart *heart) {
    zkl_session *session = ZKL_CONTAINER_OF(heart, zkl_session, heart);
    session->warned = false;
    session->tell(session->ctx, ZKL_SESSION_REFRESHED);
}

/* locked. With answers that take longer than an eighth of the timeout no chain (trust.h) is in
 * time. */
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

void zkl_session_step(zkl_session *session) {
    if (session->context->given_up == session->explained)
        return;
    session->explained = session->context->given_up;
    explain_doubt(session);
    if (!session->warned)
        zkl_log_warn(session->log, "a lock was not granted: %s", session->doubt);
    session->warned = true;
}

/* ---- what the log says ---- */

/* locked. The host hears only the name of a state. */
static void set_state_for(zkl_session *session, zkl_state state) {
    if (session->state == ZKL_STATE_CONNECTED)
        session->away = zkl_context_now(session->context);
    set_state(session, state);
}

static void log_suspended(zkl_session *session) {
    char why[ZKL_TROUBLE_TEXT];
    const bool known = zkl_trouble_of(session->tried, session->met, why, sizeof why);
    zkl_log_warn(session->log, "suspended: %s", known ? why : "the connection has broken");
}

/* With what the servers and the heart have said before they are forgotten. */
static void log_expired(zkl_session *session) {
    const zkl_context *context = session->context;
    const zkl_nanos now = zkl_context_now(context);
    zkl_log_warn(session->log,
                 "session expired after %.1f s without an answer; locks held: %" PRIu64,
                 zkl_clock_seconds(session->heart.heard ? now - session->heart.heard : 0),
                 context->counters.held);
    if (context->trusted_until > now)
        zkl_log_warn(session->log,
                     "the session was valid for another %.1f s: its timeout of %g s is less than "
                     "two ticks of the servers, or somebody has ended it",
                     zkl_clock_seconds(context->trusted_until - now),
                     zkl_clock_seconds(session->timeout));
}

static void log_connected(zkl_session *session) {
    if (session->away)
        zkl_log_warn(session->log, "connected again after %.1f s",
                     zkl_clock_seconds(zkl_context_now(session->context) - session->away));
    session->away = 0;
}

static void overdue(zkl_timer *timer) {
    zkl_session *session = ZKL_CONTAINER_OF(timer, zkl_session, overdue);
    char why[ZKL_TROUBLE_TEXT] = "no answer";
    if (!zkl_trouble_of(session->tried, 0, why, sizeof why) && session->unresolved[0])
        snprintf(why, sizeof why, "%s", session->unresolved);
    zkl_log_warn(session->log, "no server was reached for %g s: %s",
                 zkl_clock_seconds(session->timeout), why);
}

/* locked: from now on requests are made, and what is read is believed. */
static void resume(zkl_session *session) {
    session->carried = false;
    log_connected(session);
    set_stage(session, ZKL_STAGE_LINKED);
    session->context->port = zkl_link_port(session->link);
    set_state(session, ZKL_STATE_CONNECTED);
    session->tell(session->ctx, ZKL_SESSION_RESUMED);
}

static void on_watched(void *ctx, zkl_link *link, const char *path, zkl_change change) {
    zkl_session *session = ctx;
    session->enter(session->ctx);
    if (link == session->link)
        session->watched(session->ctx, path, change);
    session->leave(session->ctx);
}

/* locked. When a link with TLS has had its time. The library waits for a host that does not even
 * refuse a connection as long as the kernel does, two minutes, and tries no other one meanwhile;
 * the next link begins with another server. Without a session that could be lost it has half the
 * time. */
static zkl_nanos sought_with_tls(const zkl_session *session) {
    const zkl_nanos patience = session->context->session ? session->timeout : session->timeout / 2;
    return session->seeking + (patience < SEEK_LEAST ? SEEK_LEAST : patience);
}

/* locked. When the link has had its time, and another one is to carry the session on. A link that
 * has had a server refuses those whose data is older, even if all servers were set up anew; the
 * next link takes any of them. */
static zkl_nanos sought_until(const zkl_session *session) {
    if (session->config.tls)
        return sought_with_tls(session);
    const zkl_nanos patience = session->timeout < SEEK_SOON ? SEEK_SOON : session->timeout;
    return session->remembers ? session->seeking + patience : ZKL_NEVER;
}

/* locked. Without a server names are looked up again: the first time while the session can still be
 * carried to another address, but not at once, because mostly the library finds a server that it
 * knows; then less and less often. */
static void look_later(zkl_session *session) {
    const zkl_nanos most = session->timeout < LOOK_MOST ? LOOK_MOST : session->timeout;
    const zkl_nanos now = zkl_context_now(session->context), until = sought_until(session);
    zkl_nanos at = now + zkl_backoff(&session->look_pause, session->timeout / 6, most);
    if (until > now && until < at)
        at = until;
    zkl_timer_set(&session->context->timers, &session->look, at);
}

/* locked */
static void link_down(zkl_session *session) {
    session->context->port = NULL;
    session->seeking = zkl_context_now(session->context);
    session->doubt[0] = '\0';
    zkl_heart_unlinked(&session->heart);
    look_later(session);
}

/* locked. There is no link, and none for a while. */
static void rest(zkl_session *session, zkl_nanos pause) {
    set_stage(session, ZKL_STAGE_RESTING);
    zkl_timer_set(&session->context->timers, &session->reopen,
                  zkl_context_now(session->context) + pause);
}

/* locked */
static void forget_session(zkl_session *session) {
    session->context->session = 0;
    zkl_heart_stopped(&session->heart);
}

/* locked. The next link is opened after the pause. */
static void link_dead(zkl_session *session, zkl_nanos pause) {
    link_down(session);
    if (pause > 0)
        rest(session, pause);
    else
        set_stage(session, ZKL_STAGE_OPENING);
    forget_session(session);
    session->retired = session->link;
    session->link = NULL;
    zkl_worker_send(session->worker, &session->renew);
}

/* locked. The state stays as it is until a server takes the credentials. */
static void refused(zkl_session *session) {
    const zkl_nanos pause = zkl_backoff(&session->refused_pause, REFUSED_FIRST, REFUSED_MOST);
    link_dead(session, pause);
    set_state_for(session, ZKL_STATE_AUTH_FAILED);
    zkl_log_warn(session->log, "auth failed: the servers refuse the credentials");
    session->tell(session->ctx, ZKL_SESSION_REFUSED);
}

/* locked */
static void expired(zkl_session *session) {
    const bool was_brief = zkl_context_now(session->context) - session->met < BRIEF;
    log_expired(session);
    link_dead(session, was_brief ? BRIEF_PAUSE : 0);
    set_state_for(session, ZKL_STATE_EXPIRED);
    session->tell(session->ctx, ZKL_SESSION_EXPIRED);
}

/* locked. A server that grants much more than was asked may lie, and it would take that long until
 * the client heard of its end. */
static zkl_nanos believable(const zkl_session *session, zkl_nanos granted) {
    const zkl_nanos asked = zkl_link_asked(&session->config);
    const zkl_nanos most = asked > BELIEVED_MOST ? asked : BELIEVED_MOST;
    return granted < most ? granted : most;
}

/* locked. The library waits two thirds of what the server granted before it leaves a server that
 * answers nothing. */
static bool is_mute(const zkl_session *session) {
    const zkl_heart *heart = &session->heart;
    return heart->beating &&
           heart->beaten + session->timeout / 3 * 2 <= zkl_context_now(session->context);
}

/* locked */
static void listen_later(zkl_session *session) {
    zkl_timer_set(&session->context->timers, &session->look,
                  zkl_context_now(session->context) + session->timeout / 3);
}

/* locked */
static void connected(zkl_session *session) {
    zkl_context *context = session->context;
    const zkl_nanos now = zkl_context_now(context);
    const bool was_brief = now - session->met < BRIEF;
    session->met = now;
    const int64_t id = zkl_link_session(session->link);
    const bool fresh = context->session != id;
    if (session->stage != ZKL_STAGE_SEEKING)
        return;
    if (fresh && context->session) {
        forget_session(session); /* it was to be carried on, and could not */
        session->tell(session->ctx, ZKL_SESSION_EXPIRED);
    }
    context->session = id;
    const zkl_grant grant = {.root = zkl_link_root(session->link),
                             .granted = zkl_link_timeout(session->link),
                             .believed = believable(session, zkl_link_timeout(session->link)),
                             .fresh = fresh};
    session->timeout = grant.believed;
    session->identity = zkl_link_identity(session->link);
    session->misled = grant.believed < grant.granted;
    if (!was_brief) /* whoever hangs up at once is asked less and less often */
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
        listen_later(session);
    zkl_heart_linked(&session->heart, &grant, session->carried);
    /* A server that lags could show a link which has seen nothing yet a list without our nodes: the
     * heart's first write is answered when it has caught up, and on_answered goes on. */
    if (session->carried)
        set_stage(session, ZKL_STAGE_PROVING);
    else
        resume(session);
}

/* locked */
static void suspended(zkl_session *session) {
    const bool resumed = session->stage == ZKL_STAGE_LINKED;
    link_down(session);
    set_stage(session, ZKL_STAGE_SEEKING);
    /* misled: the library rests a sixtieth of the timeout between two tries */
    if (session->misled || zkl_heart_in_vain(&session->heart))
        zkl_worker_send(session->worker, &session->look_again);
    if (!resumed)
        return;
    set_state_for(session, ZKL_STATE_SUSPENDED);
    log_suspended(session);
    session->tell(session->ctx, ZKL_SESSION_SUSPENDED);
}

/* locked. The library reaches no server with this handle any more: another one carries the session
 * on. */
static void spoiled(zkl_session *session) {
    if (session->stage != ZKL_STAGE_SEEKING)
        suspended(session);
    session->misled = true;
    zkl_worker_send(session->worker, &session->look_again);
}

/* A write is refused so when a quorum has agreed that the session is over. Mostly the server hangs
 * up then; but one that goes on with the connection, answers pings and what is read, would never be
 * left. */
static void on_answered(void *ctx, zkl_link *link, const zkl_return *back, const zkl_reply *reply,
                        zkl_nanos handed, zkl_proof proof) {
    zkl_session *session = ctx;
    session->enter(session->ctx);
    if (link == session->link) {
        zkl_heart_answered(&session->heart, proof, handed);
        session->answered(session->ctx, back, reply);
        if (reply->rc == ZSESSIONEXPIRED)
            expired(session);
        else if (session->stage == ZKL_STAGE_PROVING && !session->heart.proving)
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

/* ---- links come and go ---- */

static void try_again_later(zkl_session *session) {
    rest(session, zkl_backoff(&session->pause, PAUSE_FIRST, PAUSE_MOST));
}

static void reopen(zkl_timer *timer) {
    zkl_session *session = ZKL_CONTAINER_OF(timer, zkl_session, reopen);
    set_stage(session, ZKL_STAGE_OPENING);
    zkl_worker_send(session->worker, &session->renew);
}

/* worker thread. The link counts before it is started: its first words may come before this
 * returns. */
static void open_link(zkl_session *session, char *addresses, const zkl_identity *carried) {
    const zkl_link_owner owner = {session, on_answered, on_watched, on_link_event};
    zkl_link *link = addresses ? zkl_link_new(&owner, session->context->clock,
                                              &session->context->counters.requests_sent)
                               : NULL;
    session->enter(session->ctx);
    free(session->tried);
    session->tried = addresses ? strdup(addresses) : NULL;
    session->link = link;
    session->remembers = session->misled = session->inherits = false;
    session->carried = carried != NULL;
    session->seeking = zkl_context_now(session->context);
    if (link) {
        set_stage(session, ZKL_STAGE_SEEKING);
        look_later(session);
    }
    session->leave(session->ctx);
    const bool started = link && zkl_link_start(link, addresses, &session->config, carried);
    if (link && !started)
        zkl_log_warn(session->log, "cannot start a ZooKeeper handle: %s", strerror(errno));
    free(session->addresses);
    session->addresses = addresses;
    session->enter(session->ctx);
    /* Credentials that the library does not have yet go before everything else: servers may take
     * nothing without. */
    if (started && link == session->link && !session->ending && !session->config.auth_count)
        zkl_heart_started(&session->heart, zkl_link_port(link));
    if (started) {
        session->leave(session->ctx);
        return;
    }
    session->link = NULL;
    session->inherits = carried && session->context->session != 0;
    if (session->inherits)
        session->identity = *carried;
    if (!session->ending) /* else zkl_session_end comes */
        try_again_later(session);
    session->leave(session->ctx);
    if (link)
        zkl_link_close(link);
}

static char *resolve(zkl_session *session) {
    char why[256];
    char *addresses = zkl_servers_resolve(&session->servers, session->addresses, why, sizeof why);
    session->enter(session->ctx);
    snprintf(session->unresolved, sizeof session->unresolved, "%.*s", ZKL_TROUBLE_TEXT - 1, why);
    session->leave(session->ctx);
    if (why[0])
        zkl_log_warn(session->log, "%s", why);
    return addresses;
}

/* locked. Is there a link that looks for a server and has not found one? */
static bool is_seeking(const zkl_session *session) {
    return session->stage == ZKL_STAGE_SEEKING && !session->ending;
}

static void look(zkl_timer *timer) {
    zkl_session *session = ZKL_CONTAINER_OF(timer, zkl_session, look);
    if (is_seeking(session))
        zkl_worker_send(session->worker, &session->look_again);
    else if (session->misled && is_mute(session))
        expired(session); /* it cannot be carried on: closing the link may end it */
    else if (session->misled && session->link)
        listen_later(session);
}

/* worker thread. Takes the session off the former link, so that the next one can carry it on.
 * false: the link has found a server just now, and closing it ends the session; as the servers may
 * hear of that much later, nobody carries it on. */
static bool take_session(zkl_session *session, zkl_link *former, zkl_identity *identity) {
    if (zkl_link_part(former, identity))
        return true;
    session->enter(session->ctx);
    log_expired(session);
    forget_session(session);
    set_state_for(session, ZKL_STATE_EXPIRED);
    session->tell(session->ctx, ZKL_SESSION_EXPIRED);
    session->leave(session->ctx);
    return false;
}

/* locked. Is another link to take over from the one that looks for a server? Yes if a server has
 * misled the link; if `addresses` are others than those of the link; or if the link has had its
 * time, or connects in vain, and then the new one begins with another server than the link did. */
static bool is_to_be_moved(zkl_session *session, char *addresses) {
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

/* worker thread. Takes the link off the session if another one is to take over: then nothing hears
 * the link any more, and nothing trusts in the session. NULL: the link stays, and names are looked
 * up again later. */
static zkl_link *give_up_link(zkl_session *session, char *addresses) {
    zkl_link *former = NULL;
    session->enter(session->ctx);
    if (is_to_be_moved(session, addresses)) {
        former = session->link;
        session->link = NULL;
        set_stage(session, ZKL_STAGE_OPENING);
        zkl_heart_stopped(&session->heart);
        session->tell(session->ctx, ZKL_SESSION_RELINKED);
    } else if (is_seeking(session)) {
        look_later(session);
    }
    session->leave(session->ctx);
    return former;
}

/* worker thread. A server has misled the former link, and may mislead the next one: after a pause
 * the next link begins with another server. The client no longer believes what the former link
 * says of the session. */
static void move_later(zkl_session *session, bool carried) {
    session->enter(session->ctx);
    session->inherits = carried;
    if (!session->ending) /* else zkl_session_end comes */
        try_again_later(session);
    session->leave(session->ctx);
}

/* worker thread. Changing the addresses of a running handle races inside the library, so another
 * link carries the session on; and the former one is closed before, for two links of one session
 * would take it from each other for ever. */
static void move_session(zkl_session *session, zkl_link *former, char *addresses) {
    zkl_identity identity;
    session->enter(session->ctx);
    const bool alive = session->context->session != 0, misled = session->misled;
    session->leave(session->ctx);
    const bool carried = alive && take_session(session, former, &identity);
    zkl_link_close(former); /* blocks, for seconds at worst */
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

/* worker thread: no server has been in reach for a while, or one has misled the link. Such a link
 * may connect again and again until it is closed: no lookup of names comes before that. */
static void look_again(zkl_job *job) {
    zkl_session *session = ZKL_CONTAINER_OF(job, zkl_session, look_again);
    char *addresses = is_misled(session) ? NULL : resolve(session);
    zkl_link *former = give_up_link(session, addresses);
    if (former)
        move_session(session, former, addresses);
    else
        free(addresses);
}

/* worker thread: closes what has died, opens the next */
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

void zkl_session_start(zkl_session *session) {
    zkl_timer_set(&session->context->timers, &session->overdue,
                  zkl_context_now(session->context) + session->timeout);
    zkl_worker_send(session->worker, &session->renew);
}

void zkl_session_ending(zkl_session *session) {
    session->ending = true;
    session->heart.port = NULL; /* no more heartbeats: nobody holds or waits */
    zkl_timer_clear(&session->context->timers, &session->reopen);
    zkl_timer_clear(&session->context->timers, &session->look);
    zkl_timer_clear(&session->context->timers, &session->overdue);
    set_state(session, ZKL_STATE_CLOSED);
}

void zkl_session_end(zkl_session *session, zkl_nanos deadline) {
    session->enter(session->ctx);
    zkl_link *link = session->link, *dead;
    const bool reachable = session->context->port != NULL;
    session->leave(session->ctx);
    if (reachable)
        zkl_link_drain(link, deadline); /* closing with answers on their way leaves nodes behind */
    session->enter(session->ctx);
    link = session->link;
    dead = session->retired; /* the same one, if it came to its end meanwhile */
    session->link = session->retired = NULL;
    link_down(session);
    set_stage(session, ZKL_STAGE_ENDED);
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
    session->timeout = zkl_link_asked(config);
    session->reopen.fire = reopen;
    session->look.fire = look;
    session->overdue.fire = overdue;
    session->renew.run = renew;
    session->look_again.run = look_again;
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
