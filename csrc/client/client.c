/* engine: wires the rooms together: a client is a mutex around a context, its lines, its queries and its session. */
#include "client/client.h"
#include "base/entropy.h"
#include "base/worker.h"
#include "queue/compound.h"
#include "base/timer_thread.h"
#include "queue/lines.h"
#include "queue/patrol.h"
#include "base/process.h"
#include "query/query.h"
#include "client/registry.h"
#include "zookeeper/session.h"
#include "zookeeper/tls.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long a client that closes waits for the servers, before it closes its link, which takes some seconds by itself if
 * they do not answer. */
#define END_MOST (2 * ZKL_SECOND)

#define TIMEOUT_MOST 3600 /* seconds; whoever asks for more has milliseconds in mind */

struct zkl_client {
    pthread_mutex_t mutex;  /* of everything below but what says otherwise */
    pthread_cond_t stepped; /* a step was made, once the client is closing */
    unsigned generation;    /* the process it belongs to; never changes */
    atomic_uint
        users; /* the host, the worker thread, each contender, query, bell and visit that the host has */
    atomic_bool ended;

    zkl_context context;
    zkl_lines lines;
    zkl_queries queries;
    zkl_session session;
    zkl_timer_thread timer_thread;
    zkl_worker worker;
    zkl_job end;
    zkl_log *log; /* never changes; NULL: not wanted */
    zkl_registered registered;
    zkl_event closed; /* wakes the host when the session has ended */
    bool closing;
};

/* ---- in and out ---- */

static bool forked(const zkl_client *client) {
    return client->generation != zkl_process_generation();
}

static void enter(void *ctx) {
    pthread_mutex_lock(&((zkl_client *)ctx)->mutex);
}

/* Every step ends here: what has become free is freed, what has become answerable is answered. */
static void leave(void *ctx) {
    zkl_client *client = ctx;
    zkl_compounds_step(&client->context);
    zkl_queries_check(&client->queries);
    zkl_lines_tidy(&client->lines);
    zkl_contenders_sweep(&client->context);
    zkl_heart_tend(&client->session.heart);
    if (client->closing)
        pthread_cond_broadcast(&client->stepped);
    pthread_mutex_unlock(&client->mutex);
}

/* The end of a step that only looked. */
static void unlock(zkl_client *client) {
    pthread_mutex_unlock(&client->mutex);
}

static void release_memory(zkl_client *client) {
    zkl_session_destroy(&client->session);
    zkl_lines_destroy(&client->lines);
    zkl_vetted_clear(&client->context.vetted);
    zkl_receivers_destroy(&client->context.receivers);
    if (client->log)
        zkl_log_close(client->log);
    free(client->log);
    zkl_events_destroy(&client->context.events);
    pthread_cond_destroy(&client->stepped);
    pthread_mutex_destroy(&client->mutex);
    free(client);
}

static void unuse(void *ctx) {
    zkl_client *client = ctx;
    if (atomic_fetch_sub(&client->users, 1) == 1)
        release_memory(client);
}

bool zkl_client_forked(const zkl_client *client) {
    return forked(client);
}

zkl_events *zkl_client_events(zkl_client *client) {
    return &client->context.events;
}

void zkl_client_use(zkl_client *client) {
    atomic_fetch_add(&client->users, 1);
}

void zkl_client_unuse(zkl_client *client) {
    unuse(client);
}

/* ---- what the rooms call ---- */

static zkl_client *client_of(zkl_context *context) {
    return (zkl_client *)((char *)context - offsetof(zkl_client, context));
}

static void sooner(zkl_timers *timers) {
    zkl_client *client = client_of((zkl_context *)((char *)timers - offsetof(zkl_context, timers)));
    zkl_timer_thread_wake_at(&client->timer_thread, zkl_timers_next(timers));
}

/* timer thread */
static void run_timers(void *ctx) {
    zkl_client *client = ctx;
    enter(client);
    zkl_timers_run(&client->context.timers, zkl_context_now(&client->context));
    leave(client);
    enter(client); /* leaving may have set timers */
    zkl_timer_thread_wake_at(&client->timer_thread, zkl_timers_next(&client->context.timers));
    unlock(client);
}

static void refuse_line(zkl_line *line) {
    zkl_line_dismiss(line, ZKL_AUTH_FAILED, false);
}

static void close_line(zkl_line *line) {
    zkl_line_dismiss(line, ZKL_CLOSED, true);
}

static void told(void *ctx, zkl_session_news news) {
    zkl_client *client = ctx;
    switch (news) {
    case ZKL_SESSION_RESUMED:
        zkl_lines_each(&client->lines, zkl_line_resume);
        break;
    case ZKL_SESSION_SUSPENDED:
        zkl_lines_each(&client->lines, zkl_line_suspend);
        zkl_queries_suspend(&client->queries);
        break;
    case ZKL_SESSION_RELINKED:
        zkl_lines_each(&client->lines, zkl_line_relink);
        zkl_queries_suspend(&client->queries);
        break;
    case ZKL_SESSION_REFUSED:
        zkl_lines_each(&client->lines, refuse_line);
        zkl_queries_dismiss(&client->queries, ZKL_AUTH_FAILED);
        zkl_lines_each(&client->lines, zkl_line_expire);
        break;
    case ZKL_SESSION_EXPIRED:
        zkl_lines_each(&client->lines, zkl_line_expire);
        zkl_queries_suspend(&client->queries);
        break;
    case ZKL_SESSION_REFRESHED:
        zkl_lines_each(&client->lines, zkl_line_refreshed);
        break;
    }
}

static void answered(void *ctx, const zkl_return *back, const zkl_reply *reply) {
    zkl_client *client = ctx;
    zkl_receiver *receiver = zkl_receiver_find(&client->context.receivers, back->receiver);
    if (receiver)
        receiver->answer(receiver, back, reply);
}

static void watched(void *ctx, const char *path, zkl_change change) {
    zkl_client *client = ctx;
    zkl_lines_watch(&client->lines, path, change);
}

/* locked: is a node left that goes as soon as the servers hear of it? What they refuse to delete goes with the session. */
static bool unfinished(const zkl_client *client) {
    for (const zkl_contender *c = client->context.departing; c; c = c->behind)
        if (!c->patience)
            return true;
    return false;
}

/* worker thread. Also while there is no link: it may come back, and what was given back is to be free then, and not
 * only when the session has timed out. */
static void see_off(zkl_client *client, zkl_nanos deadline) {
    enter(client);
    while (unfinished(client) &&
           zkl_clock_wait(client->context.clock, &client->stepped, &client->mutex, deadline))
        continue;
    unlock(client);
}

/* worker thread, the last job */
static void end(zkl_job *job) {
    zkl_client *client = (zkl_client *)((char *)job - offsetof(zkl_client, end));
    const zkl_nanos deadline = zkl_context_now(&client->context) + END_MOST;
    see_off(client, deadline);
    zkl_session_end(&client->session, deadline);
    enter(client);
    zkl_lines_each(&client->lines, zkl_line_expire); /* the nodes went with the session */
    client->context.timers.sooner = NULL;
    leave(client);
    zkl_timer_thread_stop(&client->timer_thread);
    atomic_store(&client->ended, true);
    zkl_events_post(&client->context.events, &client->closed, ZKL_STATE_CLOSED, 0);
    zkl_worker_stop(&client->worker);
    zkl_registry_leave(&client->registered);
}

/* ---- life ---- */

zkl_nanos zkl_now(void) {
    return zkl_clock_boot.now();
}

bool zkl_hosts_valid(const char *hosts, char *why, size_t size) {
    zkl_servers servers;
    if (!zkl_servers_parse(&servers, hosts, why, size))
        return why[0] == '\0'; /* for want of memory only: zkl_open says so */
    zkl_servers_free(&servers);
    return true;
}

static bool make_guid(uint64_t *guid) {
    if (!zkl_entropy(guid, sizeof *guid))
        return false;
    *guid &= ZKL_GUID_MASK;
    return true;
}

static bool init_context(zkl_client *client) {
    zkl_context *context = &client->context;
    context->clock = &zkl_clock_boot;
    context->timers.sooner = sooner;
    if (!make_guid(&context->guid) || !zkl_events_init(&context->events))
        return false;
    if (!zkl_receivers_init(&context->receivers)) {
        zkl_events_destroy(&context->events);
        return false;
    }
    if (!zkl_lines_init(&client->lines, context)) {
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
    session->tell = told;
    session->answered = answered;
    session->watched = watched;
    session->ctx = client;
    if (config->log) {
        client->log = malloc(sizeof *client->log);
        if (!client->log)
            return ZKL_NO_MEMORY;
        zkl_log_open(client->log, &client->context.events);
        session->log = client->log;
    }
    if (config->tls)
        zkl_tls_advise(config->tls, client->log);
    return zkl_session_init(session, config);
}

zkl_status zkl_open(const zkl_config *config, zkl_client **out) {
    if (!(config->session_timeout > 0 && config->session_timeout <= TIMEOUT_MOST))
        return ZKL_BAD_ARGUMENT;
    errno = 0;
    zkl_client *client = calloc(1, sizeof *client);
    if (!client)
        return ZKL_NO_MEMORY;
    client->generation = zkl_process_generation();
    if (!init_context(client)) {
        const int why = errno;
        free(client);
        errno = why;
        return ZKL_NO_MEMORY;
    }
    pthread_mutex_init(&client->mutex, NULL);
    zkl_clock_cond_init(&client->stepped);
    client->queries = (zkl_queries){.context = &client->context, .state = &client->session.state};
    client->closed.kind = ZKL_EVENT_STATE;
    client->end.run = end;
    client->registered = (zkl_registered){.client = client};
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
        release_memory(client);
        errno = why;
        return status;
    }
    atomic_fetch_add(&client->users, 1); /* the worker thread */
    zkl_registry_enter(&client->registered);
    enter(client);
    zkl_session_start(&client->session);
    leave(client);
    *out = client;
    return ZKL_OK;
}

void zkl_close(zkl_client *client) {
    if (forked(client))
        return;
    enter(client);
    if (!client->closing) {
        client->closing = true;
        zkl_session_ending(&client->session);
        zkl_lines_each(&client->lines, close_line);
        zkl_queries_dismiss(&client->queries, ZKL_CLOSED);
        zkl_worker_send(&client->worker, &client->end);
    }
    leave(client);
}

bool zkl_ended(zkl_client *client) {
    return forked(client) || atomic_load(&client->ended);
}

void zkl_free(zkl_client *client) {
    if (forked(client))
        return; /* its locks may be held by threads that the child does not have */
    zkl_close(client);
    unuse(client);
}

const char *zkl_state_text(zkl_state state) {
    static const char *const texts[] = {
        [ZKL_STATE_CONNECTING] = "connecting",   [ZKL_STATE_CONNECTED] = "connected",
        [ZKL_STATE_SUSPENDED] = "suspended",     [ZKL_STATE_EXPIRED] = "expired",
        [ZKL_STATE_AUTH_FAILED] = "auth failed", [ZKL_STATE_CLOSED] = "closed",
        [ZKL_STATE_FORKED] = "forked",
    };
    return texts[state];
}

zkl_state zkl_client_state(zkl_client *client) {
    if (forked(client))
        return ZKL_STATE_FORKED;
    enter(client);
    const zkl_state state = client->session.state;
    unlock(client);
    return state;
}

bool zkl_client_trouble(zkl_client *client, char *text, size_t size) {
    if (forked(client))
        return false;
    enter(client);
    const zkl_session *session = &client->session;
    bool known = zkl_trouble_of(session->tried, session->met, text, size);
    if (!known && session->unresolved[0]) {
        snprintf(text, size, "%s", session->unresolved);
        known = true;
    }
    unlock(client);
    return known;
}

double zkl_session_timeout(zkl_client *client) {
    if (forked(client))
        return 0;
    enter(client);
    const zkl_nanos timeout = client->session.timeout;
    unlock(client);
    return zkl_clock_seconds(timeout);
}

int64_t zkl_session_id(zkl_client *client) {
    if (forked(client))
        return 0;
    enter(client);
    const int64_t id = client->context.session;
    unlock(client);
    return id;
}

void zkl_client_stats(zkl_client *client, zkl_stats *stats) {
    memset(stats, 0, sizeof *stats);
    if (forked(client))
        return;
    enter(client);
    *stats = client->context.counters;
    stats->unwatched = zkl_patrol_count(&client->context);
    unlock(client);
}

/* ---- events: the queue has a lock of its own ---- */

int zkl_fd(zkl_client *client) {
    return client->context.events.fd;
}

void zkl_hang_up(zkl_client *client) {
    if (!forked(client))
        zkl_events_hang_up(&client->context.events);
}

bool zkl_peek(zkl_client *client, zkl_event *event) {
    return !forked(client) && zkl_events_peek(&client->context.events, event);
}

void zkl_forget(zkl_client *client, uint64_t serial) {
    if (!forked(client))
        zkl_events_forget(&client->context.events, serial);
}

void zkl_wake(zkl_client *client) {
    if (!forked(client))
        zkl_events_wake(&client->context.events);
}

bool zkl_log_take(zkl_client *client, const char **level, char *line, size_t size) {
    return !forked(client) && client->log && zkl_log_next(client->log, level, line, size);
}

/* ---- locks ---- */

static char *full_path(const zkl_client *client, const char *path) {
    char *full = NULL;
    return asprintf(&full, "%s%s", client->session.servers.chroot, path) < 0 ? NULL : full;
}

/* locked */
static zkl_status usable(const zkl_client *client) {
    if (client->closing)
        return ZKL_CLOSED;
    return client->session.state == ZKL_STATE_AUTH_FAILED ? ZKL_AUTH_FAILED : ZKL_OK;
}

/* What is joined; its paths are full. */
typedef struct joining {
    char **paths;
    size_t path_count;
    size_t leases;
    bool all;
    uint64_t tag;
    const zkl_terms *terms;
} joining;

/* locked */
static zkl_contender *join(zkl_client *client, const joining *j) {
    if (j->all)
        return zkl_compound_join_all(&client->lines, (const char *const *)j->paths, j->path_count,
                                     j->tag, j->terms);
    if (j->leases)
        return zkl_compound_join_leases(&client->lines, j->paths[0], j->paths[1], j->leases, j->tag,
                                        j->terms);
    zkl_line *line = zkl_lines_at(&client->lines, j->paths[0]);
    return line ? zkl_line_join(line, j->tag, j->terms) : NULL;
}

/* Takes paths without the chroot. */
static zkl_status join_at(zkl_client *client, const char *const *paths, joining j,
                          zkl_contender **contender) {
    if (forked(client))
        return ZKL_FORKED;
    j.paths = calloc(j.path_count, sizeof *j.paths);
    bool complete = j.paths != NULL;
    for (size_t i = 0; complete && i < j.path_count; i++)
        complete = (j.paths[i] = full_path(client, paths[i])) != NULL;
    enter(client);
    zkl_status status = usable(client);
    if (status == ZKL_OK) {
        *contender = complete ? join(client, &j) : NULL;
        if (*contender)
            atomic_fetch_add(&client->users, 1);
        else
            status = ZKL_NO_MEMORY;
    }
    leave(client);
    for (size_t i = 0; j.paths && i < j.path_count; i++)
        free(j.paths[i]);
    free(j.paths);
    return status;
}

zkl_status zkl_join(zkl_client *client, const char *path, uint64_t tag, const zkl_terms *terms,
                    zkl_contender **contender) {
    return join_at(client, &path, (joining){.path_count = 1, .tag = tag, .terms = terms},
                   contender);
}

zkl_status zkl_join_all(zkl_client *client, const char *const *paths, size_t count, uint64_t tag,
                        const zkl_terms *terms, zkl_contender **contender) {
    return join_at(client, paths,
                   (joining){.path_count = count, .all = true, .tag = tag, .terms = terms},
                   contender);
}

zkl_status zkl_join_leases(zkl_client *client, const char *path, size_t count, uint64_t tag,
                           const zkl_terms *terms, zkl_contender **contender) {
    if (forked(client))
        return ZKL_FORKED;
    char *gate = NULL, *leases = NULL;
    zkl_status status = ZKL_NO_MEMORY;
    if (asprintf(&gate, "%s/locks", path) >= 0) {
        if (asprintf(&leases, "%s/leases", path) >= 0) {
            status = join_at(
                client, (const char *const[]){gate, leases},
                (joining){.path_count = 2, .leases = count, .tag = tag, .terms = terms}, contender);
            free(leases);
        }
        free(gate);
    }
    return status;
}

zkl_status zkl_release(zkl_contender *contender) {
    zkl_client *client = client_of(contender->context);
    if (forked(client))
        return ZKL_FORKED;
    enter(client);
    const zkl_status status = client->closing ? ZKL_CLOSED : contender->call->release(contender);
    leave(client);
    return status;
}

void zkl_cancel(zkl_contender *contender) {
    zkl_client *client = client_of(contender->context);
    if (forked(client))
        return;
    enter(client);
    contender->call->cancel(contender, ZKL_CANCELLED);
    leave(client);
}

void zkl_drop(zkl_contender *contender) {
    zkl_client *client = client_of(contender->context);
    if (forked(client))
        return;
    enter(client);
    zkl_queries_forget(&client->queries, contender);
    contender->call->drop(contender);
    leave(client);
    unuse(client);
}

bool zkl_held(zkl_contender *contender) {
    zkl_client *client = client_of(contender->context);
    if (forked(client))
        return false;
    enter(client);
    const bool held = contender->phase == ZKL_HELD;
    unlock(client);
    return held;
}

int64_t zkl_token(zkl_contender *contender) {
    zkl_client *client = client_of(contender->context);
    if (forked(client))
        return 0;
    enter(client);
    const int64_t token = contender->phase == ZKL_HELD ? contender->token : 0;
    unlock(client);
    return token;
}

double zkl_validity(zkl_contender *contender) {
    zkl_client *client = client_of(contender->context);
    if (forked(client))
        return 0;
    enter(client);
    const zkl_nanos left =
        zkl_contender_trusted_until(contender) - zkl_context_now(&client->context);
    unlock(client);
    return left > 0 ? zkl_clock_seconds(left) : 0;
}

/* ---- queries ---- */

static zkl_query *ask(zkl_client *client, zkl_query_kind asked, uint64_t tag, zkl_nanos deadline,
                      void (*fill)(zkl_query *query, void *with), void *with) {
    zkl_query *query = zkl_query_new(&client->queries, asked, tag);
    if (!query)
        return NULL;
    query->client = client;
    atomic_fetch_add(&client->users, 1);
    enter(client);
    if (fill)
        fill(query, with);
    zkl_query_start(query, deadline);
    if (client->closing)
        zkl_queries_dismiss(&client->queries, ZKL_CLOSED);
    leave(client);
    return query;
}

zkl_query *zkl_query_session(zkl_client *client, uint64_t tag, zkl_nanos deadline) {
    return forked(client) ? NULL : ask(client, ZKL_QUERY_SESSION, tag, deadline, NULL, NULL);
}

/* What was refused is tried once more: the answer is to be of today. */
static void fill_flush(zkl_query *query, void *with) {
    query->departures = query->all->context->departures;
    zkl_lines_each(with, zkl_line_insist);
}

zkl_query *zkl_query_flush(zkl_client *client, uint64_t tag, zkl_nanos deadline) {
    return forked(client) ? NULL
                          : ask(client, ZKL_QUERY_FLUSH, tag, deadline, fill_flush, &client->lines);
}

static void fill_validity(zkl_query *query, void *with) {
    query->held = with;
}

zkl_query *zkl_query_validity(zkl_contender *contender, uint64_t tag, zkl_nanos deadline) {
    zkl_client *client = client_of(contender->context);
    return forked(client)
               ? NULL
               : ask(client, ZKL_QUERY_VALIDITY, tag, deadline, fill_validity, contender);
}

typedef struct directory {
    const char *path;
    bool leases;
    bool once;
} directory;

static void fill_participants(zkl_query *query, void *with) {
    const directory *at = with;
    query->once = at->once;
    query->listing.names = query->kind == ZKL_QUERY_REVOKE;
    if (!zkl_listing_init(&query->listing, query->all->context, at->path, at->leases)) {
        query->listing.done = true;
        query->listing.status = ZKL_NO_MEMORY;
    }
}

static zkl_query *ask_at(zkl_client *client, zkl_query_kind asked, const char *path, directory at,
                         uint64_t tag, zkl_nanos deadline) {
    if (forked(client))
        return NULL;
    char *full = full_path(client, path);
    if (!full)
        return NULL;
    at.path = full;
    zkl_query *query =
        ask(client, asked, tag, at.once ? ZKL_NEVER : deadline, fill_participants, &at);
    free(full);
    return query;
}

zkl_query *zkl_query_participants(zkl_client *client, const char *path, bool leases, uint64_t tag,
                                  zkl_nanos deadline, bool once) {
    return ask_at(client, ZKL_QUERY_PARTICIPANTS, path, (directory){.leases = leases, .once = once},
                  tag, deadline);
}

zkl_query *zkl_query_revoke(zkl_client *client, const char *path, bool leases, uint64_t tag,
                            zkl_nanos deadline, bool once) {
    return ask_at(client, ZKL_QUERY_REVOKE, path, (directory){.leases = leases, .once = once}, tag,
                  deadline);
}

size_t zkl_revoked(zkl_query *query) {
    zkl_client *client = query->client;
    if (forked(client))
        return 0;
    enter(client);
    const size_t asked = query->revocation.asked;
    unlock(client);
    return asked;
}

bool zkl_participant_at(zkl_query *query, size_t index, zkl_participant *participant) {
    zkl_client *client = query->client;
    if (forked(client))
        return false;
    enter(client);
    const bool found = zkl_listing_at(&query->listing, index, participant);
    unlock(client);
    return found;
}

void zkl_query_drop(zkl_query *query) {
    if (!query || forked(query->client))
        return;
    zkl_client *client = query->client;
    enter(client);
    zkl_query_free(query);
    leave(client);
    unuse(client);
}
