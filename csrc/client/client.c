/* SPDX-License-Identifier: MIT */
/* client: the life of a client. It connects the rooms: lines and queries get the session's events,
 * the timer thread runs the timers, and the worker ends a closed client. */
#include "client/client_state.h"

#include "ask/ask.h"
#include "base/clock.h"
#include "base/entropy.h"
#include "base/event.h"
#include "base/process.h"
#include "base/sized.h"
#include "base/timer.h"
#include "base/timer_thread.h"
#include "base/worker.h"
#include "client/access.h"
#include "client/registry.h"
#include "client/trace.h"
#include "compound/compound.h"
#include "line/line.h"
#include "line/lines.h"
#include "nodes/node_request.h"
#include "nodes/node_watch.h"
#include "once/once.h"
#include "paths/node_budget.h"
#include "port/receiver.h"
#include "query/query.h"
#include "zklock_host.h"
#include "zookeeper/log.h"
#include "zookeeper/servers.h"
#include "zookeeper/session.h"
#include "zookeeper/session_state.h"
#include "zookeeper/tls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a closing client waits for the servers before it closes its link. If they do not answer,
 * that takes some seconds more. */
#define END_MOST (2 * ZKL_SECOND)

#define TIMEOUT_MOST 3600 /* seconds; a larger number was meant as milliseconds */

/* ---- called by the rooms ---- */

static void enter(void *ctx) {
    zkl_client_enter(ctx);
}

static void leave(void *ctx) {
    zkl_client_leave(ctx);
}

static void unuse(void *ctx) {
    zkl_client_unuse(ctx);
}

static void sooner(zkl_timers *timers) {
    zkl_client *client = zkl_client_of(ZKL_CONTAINER_OF(timers, zkl_context, timers));
    zkl_timer_thread_wake_at(&client->timer_thread, zkl_timers_next(timers));
}

/* timer thread */
static void run_timers(void *ctx) {
    zkl_client *client = ctx;
    zkl_client_enter(client);
    zkl_timers_run(&client->context.timers, zkl_context_now(&client->context));
    zkl_client_leave(client);
    zkl_client_enter(client); /* the step may have set timers */
    zkl_timer_thread_wake_at(&client->timer_thread, zkl_timers_next(&client->context.timers));
    zkl_client_unlock(client);
}

static void alarmed(zkl_timer *alarm) {
    zkl_events_wake(&ZKL_CONTAINER_OF(alarm, zkl_client, alarm)->context.events);
}

static void refuse_line(zkl_line *line) {
    zkl_line_fail(line, ZKL_AUTH_FAILED, false);
}

static void close_line(zkl_line *line) {
    zkl_line_fail(line, ZKL_CLOSED, true);
}

/* The handle is gone, and with it all its requests and watches. */
static void lose_requests(zkl_client *client) {
    zkl_node_requests_unlink(&client->nodes);
    zkl_node_watches_unlink(&client->nodes);
    zkl_lines_unlink(&client->lines);
}

static void session_changed(void *ctx, zkl_session_news news) {
    zkl_client *client = ctx;
    switch (news) {
    case ZKL_SESSION_RESUMED:
        zkl_lines_each(&client->lines, zkl_line_resume);
        zkl_node_requests_resume(&client->nodes);
        zkl_node_watches_resume(&client->nodes);
        break;
    case ZKL_SESSION_SUSPENDED:
        zkl_lines_each(&client->lines, zkl_line_suspend);
        zkl_queries_suspend(&client->queries);
        break;
    case ZKL_SESSION_RELINKED:
        zkl_lines_each(&client->lines, zkl_line_relink);
        zkl_queries_suspend(&client->queries);
        lose_requests(client);
        break;
    case ZKL_SESSION_REFUSED:
        zkl_lines_each(&client->lines, refuse_line);
        zkl_compounds_fail(&client->lines.common, ZKL_AUTH_FAILED);
        zkl_asks_give_up(&client->queries.asks, ZKL_AUTH_FAILED);
        zkl_asks_give_up(&client->nodes.asks, ZKL_AUTH_FAILED);
        lose_requests(client);
        zkl_lines_each(&client->lines, zkl_line_expire);
        zkl_node_budget_expire(&client->lines.common.node_budget);
        break;
    case ZKL_SESSION_EXPIRED:
        zkl_lines_each(&client->lines, zkl_line_expire);
        zkl_queries_suspend(&client->queries);
        lose_requests(client);
        zkl_node_budget_expire(&client->lines.common.node_budget);
        break;
    case ZKL_SESSION_REFRESHED:
        zkl_lines_each(&client->lines, zkl_line_refreshed);
        break;
    case ZKL_SESSION_UNSURE:
        zkl_lines_each(&client->lines, zkl_line_unsure);
        break;
    }
}

static void answered(void *ctx, const zkl_return *back, const zkl_reply *reply) {
    zkl_client *client = ctx;
    zkl_receiver *receiver = zkl_receiver_find(&client->context.receivers, back->receiver);
    if (receiver)
        receiver->answer(receiver, back, reply);
}

static void unwatched(zkl_context *context, const char *path, bool list) {
    zkl_node_watches_unwatched(&zkl_client_of(context)->nodes, path, list);
}

static void warn_slow(zkl_context *context, const char *path, int length, double seconds,
                      const char *why) {
    zkl_log_warn(zkl_client_of(context)->log, NULL, "waiting for %.*s for %.1f s: %s", length, path,
                 seconds, why);
}

static void watched(void *ctx, const char *path, zkl_change change) {
    zkl_client *client = ctx;
    const bool seen = zkl_node_watches_told(&client->nodes, path, change);
    zkl_lines_watch(&client->lines, path, change, seen);
}

/* locked. True if a node is left that the servers will delete once they hear of it. Nodes that they
 * refuse to delete do not count: they go with the session. */
static bool unfinished(const zkl_client *client) {
    ZKL_EACH (const zkl_contender, c, &client->lines.common.departing, end.leaving) {
        if (!c->erase_pause)
            return true;
    }
    return false;
}

/* worker thread. Waits until all released nodes are gone. It waits without a link, too: if the link
 * comes back, others get the locks at once, not only when the session times out. */
static void await_deletes(zkl_client *client, zkl_nanos deadline) {
    zkl_client_enter(client);
    while (unfinished(client) &&
           zkl_clock_wait(client->context.clock, &client->stepped, &client->mutex, deadline))
        continue;
    zkl_client_unlock(client);
}

/* worker thread, the last job */
static void end(zkl_job *job) {
    zkl_client *client = ZKL_CONTAINER_OF(job, zkl_client, end);
    const zkl_nanos deadline = zkl_context_now(&client->context) + END_MOST;
    await_deletes(client, deadline);
    zkl_session_end(&client->session, deadline);
    zkl_client_enter(client);
    zkl_lines_each(&client->lines, zkl_line_expire); /* the nodes ended with the session */
    zkl_node_budget_expire(&client->lines.common.node_budget);
    zkl_node_watches_unlink(&client->nodes);
    zkl_lines_unlink(&client->lines);
    client->context.timers.sooner = NULL;
    zkl_client_leave(client);
    zkl_timer_thread_stop(&client->timer_thread);
    atomic_store(&client->ended, true);
    zkl_events_post(&client->context.events, &client->closed, ZKL_STATE_CLOSED, 0);
    zkl_worker_stop(&client->worker);
    zkl_registry_leave(&client->registered);
}

/* ---- life ---- */

const char *zkl_version(void) {
    return ZKL_VERSION;
}

zkl_nanos zkl_now(void) {
    return zkl_clock_boot.now();
}

bool zkl_hosts_valid(const char *hosts, char *why, size_t size) {
    zkl_servers servers;
    if (!zkl_servers_parse(&servers, hosts, why, size))
        return why[0] == '\0'; /* out of memory: zkl_open reports that */
    zkl_servers_free(&servers);
    return true;
}

const char *zkl_tls_problem(const char *ca, const char *cert, const char *key, const char *password,
                            char *why, size_t size) {
    return zkl_tls_check(ca, cert, key, password, why, size);
}

static bool make_guid(uint64_t *guid) {
    if (!zkl_entropy(guid, sizeof *guid))
        return false;
    *guid &= ZKL_GUID_MASK;
    return true;
}

static bool init_context(zkl_client *client, const zkl_config *config) {
    zkl_context *context = &client->context;
    context->clock = &zkl_clock_boot;
    context->timers.sooner = sooner;
    if (!make_guid(&context->guid) || !zkl_events_init(&context->events))
        return false;
    if (!zkl_receivers_init(&context->receivers)) {
        zkl_events_destroy(&context->events);
        return false;
    }
    if (!zkl_lines_init(&client->lines, context, config->node_bytes)) {
        zkl_receivers_destroy(&context->receivers);
        zkl_events_destroy(&context->events);
        return false;
    }
    return true;
}

static zkl_status init_session(zkl_client *client, const zkl_config *config) {
    zkl_session *session = &client->session;
    session->context = &client->context;
    session->worker = &client->worker;
    session->enter = enter;
    session->leave = leave;
    session->tell = session_changed;
    session->answered = answered;
    session->watched = watched;
    session->ctx = client;
    if (config->log || config->notes || config->trace) {
        client->log = malloc(sizeof *client->log);
        if (!client->log)
            return ZKL_NO_MEMORY;
        zkl_log_open(client->log, &client->context.events, client->context.clock, config->log);
        session->log = client->log;
        client->context.warn_slow = warn_slow;
    }
    if (config->trace && !zkl_tracer_begin(&client->tracer, &client->context, client->log))
        return ZKL_NO_MEMORY;
    if (config->tls)
        zkl_tls_advise(config->tls, client->log);
    return zkl_session_init(session, config);
}

/* The process is about to exit. */
static void close_at_exit(zkl_registered *registered) {
    zkl_close(ZKL_CONTAINER_OF(registered, zkl_client, registered));
}

static bool is_sensible_identifier(const char *identifier) {
    return !identifier || strlen(identifier) <= ZKL_IDENTIFIER_MOST;
}

/* 0: the default. */
static bool is_sensible_bound(size_t node_bytes) {
    return !node_bytes ||
           (node_bytes >= ZKL_NODE_BUDGET_LEAST && node_bytes <= ZKL_NODE_BUDGET_MOST);
}

zkl_status zkl_open(const zkl_config *given, zkl_client **out) {
    zkl_config taken = ZKL_CONFIG_DEFAULTS;
    const zkl_config *config = &taken;
    if (!zkl_sized_take(&taken, given) || !config->hosts ||
        !(config->session_timeout > 0 && config->session_timeout <= TIMEOUT_MOST) ||
        (size_t)config->acl > ZKL_ACL_READ || !is_sensible_bound(config->node_bytes) ||
        !is_sensible_identifier(config->identifier) || (config->tls && !zkl_has_tls()))
        return ZKL_BAD_ARGUMENT;
    errno = 0;
    zkl_client *client = calloc(1, sizeof *client);
    if (!client)
        return ZKL_NO_MEMORY;
    client->generation = zkl_process_generation();
    if (!init_context(client, config)) {
        const int why = errno;
        free(client);
        errno = why;
        return ZKL_NO_MEMORY;
    }
    pthread_mutex_init(&client->mutex, NULL);
    zkl_clock_cond_init(&client->stepped);
    client->queries = (zkl_queries){.asks = {&client->context, &client->session.state},
                                    .common = &client->lines.common};
    zkl_node_requests_init(&client->nodes, &client->context, &client->session.state);
    zkl_node_watches_init(&client->nodes, &client->lines);
    zkl_onces_init(&client->onces, &client->nodes);
    client->context.unwatched = unwatched;
    client->closed.kind = ZKL_EVENT_STATE;
    client->end.run = end;
    client->alarm.fire = alarmed;
    client->registered.close = close_at_exit;
    atomic_init(&client->users, 1);
    atomic_init(&client->ended, false);
    zkl_status status = init_session(client, config);
    if (status == ZKL_OK && !zkl_timer_thread_start(&client->timer_thread, run_timers, client))
        status = ZKL_NO_MEMORY;
    else if (status == ZKL_OK && !zkl_worker_start(&client->worker, unuse, client)) {
        zkl_timer_thread_stop(&client->timer_thread);
        errno = EAGAIN;
        status = ZKL_NO_MEMORY;
    }
    if (status != ZKL_OK) {
        const int why = errno;
        zkl_client_unuse(client);
        errno = why;
        return status;
    }
    zkl_client_use(client); /* for the worker thread */
    zkl_registry_enter(&client->registered);
    zkl_client_enter(client);
    zkl_session_start(&client->session);
    zkl_client_leave(client);
    *out = client;
    return ZKL_OK;
}

void zkl_close(zkl_client *client) {
    if (!zkl_client_begin(client))
        return;
    if (!client->closing) {
        client->closing = true;
        zkl_session_ending(&client->session);
        zkl_lines_each(&client->lines, close_line);
        zkl_compounds_fail(&client->lines.common, ZKL_CLOSED);
        zkl_asks_give_up(&client->queries.asks, ZKL_CLOSED);
        zkl_asks_give_up(&client->nodes.asks, ZKL_CLOSED);
        zkl_asks_give_up(&client->onces.asks, ZKL_CLOSED);
        zkl_node_watches_close(&client->nodes);
        zkl_worker_send(&client->worker, &client->end);
    }
    zkl_client_leave(client);
}

bool zkl_ended(zkl_client *client) {
    return zkl_client_forked(client) || atomic_load(&client->ended);
}

void zkl_free(zkl_client *client) {
    if (!client || zkl_client_forked(client))
        return; /* threads that the child does not have may hold its locks */
    zkl_close(client);
    zkl_client_unuse(client);
}

const char *zkl_state_text(zkl_state state) {
    static const char *const texts[] = {
        [ZKL_STATE_CONNECTING] = "connecting",   [ZKL_STATE_CONNECTED] = "connected",
        [ZKL_STATE_SUSPENDED] = "suspended",     [ZKL_STATE_EXPIRED] = "expired",
        [ZKL_STATE_AUTH_FAILED] = "auth failed", [ZKL_STATE_CLOSED] = "closed",
        [ZKL_STATE_FORKED] = "forked",
    };
    return (size_t)state < sizeof texts / sizeof *texts ? texts[state] : "unknown";
}

zkl_state zkl_client_state(zkl_client *client) {
    if (zkl_client_forked(client))
        return ZKL_STATE_FORKED;
    return client->session.state;
}

bool zkl_client_trouble(zkl_client *client, char *text, size_t size) {
    if (!zkl_client_begin(client))
        return false;
    const bool known = zkl_session_trouble(&client->session, text, size);
    zkl_client_unlock(client);
    return known;
}

double zkl_session_timeout(zkl_client *client) {
    if (!zkl_client_begin(client))
        return 0;
    const zkl_nanos timeout = client->session.timeout;
    zkl_client_unlock(client);
    return zkl_clock_seconds(timeout);
}

int64_t zkl_session_id(zkl_client *client) {
    if (!zkl_client_begin(client))
        return 0;
    const int64_t id = client->context.session;
    zkl_client_unlock(client);
    return id;
}

/* ---- events: the queue has its own lock ---- */

int zkl_fd(zkl_client *client) {
    return client->context.events.fd;
}

void zkl_hang_up(zkl_client *client) {
    if (!zkl_client_forked(client))
        zkl_events_hang_up(&client->context.events);
}

bool zkl_peek(zkl_client *client, zkl_event *event) {
    return !zkl_client_forked(client) && zkl_events_peek(&client->context.events, event);
}

bool zkl_look(zkl_client *client, zkl_event *event) {
    return !zkl_client_forked(client) && zkl_events_look(&client->context.events, event);
}

void zkl_forget(zkl_client *client, uint64_t serial) {
    if (!zkl_client_forked(client))
        zkl_events_forget(&client->context.events, serial);
}

zkl_status zkl_wait(zkl_client *client, uint64_t tag, zkl_nanos deadline, zkl_event *event) {
    if (!event)
        return ZKL_BAD_ARGUMENT;
    if (zkl_client_forked(client))
        return ZKL_FORKED;
    return zkl_events_await(&client->context.events, client->context.clock, &client->ended, tag,
                            deadline, event);
}

void zkl_mute(zkl_client *client) {
    if (!zkl_client_forked(client))
        zkl_events_mute(&client->context.events);
}

void zkl_unmute(zkl_client *client) {
    if (!zkl_client_forked(client))
        zkl_events_unmute(&client->context.events);
}

void zkl_wake(zkl_client *client) {
    if (!zkl_client_forked(client))
        zkl_events_wake(&client->context.events);
}

void zkl_wake_at(zkl_client *client, zkl_nanos moment) {
    if (!zkl_client_begin(client))
        return;
    if (!client->closing && (!client->alarm.at || moment < client->alarm.at))
        zkl_timer_set(&client->context.timers, &client->alarm, moment);
    zkl_client_unlock(client);
}

bool zkl_log_take(zkl_client *client, const char **level, bool *own, char *line, size_t size) {
    return !zkl_client_forked(client) && client->log &&
           zkl_log_take_next(client->log, level, own, line, size);
}
