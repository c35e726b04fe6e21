/* client_state: what a client is made of, and how one gets in and out: a mutex around the context,
 * the lines, the queries and the session. Only for the rooms of csrc/client. */
#ifndef ZKL_CLIENT_STATE_H
#define ZKL_CLIENT_STATE_H

#include "base/timer_thread.h"
#include "base/worker.h"
#include "client/access.h"
#include "client/registry.h"
#include "line/lines.h"
#include "nodes/nodes.h"
#include "port/context.h"
#include "query/query.h"
#include "zookeeper/log.h"
#include "zookeeper/session.h"

#include <stdatomic.h>

struct zkl_client {
    pthread_mutex_t mutex;  /* of everything below, unless it says otherwise */
    pthread_cond_t stepped; /* signalled at the end of each step, once the client is closing */
    unsigned generation;    /* the process that has opened it; never changes */
    /* The host, the worker thread, and each contender, query, notifier and visit that the host
     * has. */
    atomic_uint users;
    atomic_bool ended;

    zkl_context context;
    zkl_lines lines;
    zkl_queries queries;
    zkl_nodes nodes;
    zkl_session session;
    zkl_timer_thread timer_thread;
    zkl_worker worker;
    zkl_job end;
    zkl_log *log; /* never changes; NULL: not wanted */
    zkl_registered registered;
    zkl_event closed; /* wakes the host when the session has ended */
    zkl_timer alarm;  /* wakes the host at the moment that it asked for */
    bool closing;
};

zkl_client *zkl_client_of(zkl_context *context);

/* Begins a step: takes the mutex. */
void zkl_client_enter(zkl_client *client);
/* Ends a step: what has come to its end is freed, what can be answered is answered, and the mutex
 * is given back. */
void zkl_client_leave(zkl_client *client);
/* Ends a step that only looked. */
void zkl_client_unlock(zkl_client *client);

/* The full path of a node: "/" with a chroot is the chroot. As below. */
char *zkl_client_node_path(const zkl_client *client, const char *path);
/* A full path, with the chroot. The caller frees it; NULL: no memory. */
char *zkl_client_full_path(const zkl_client *client, const char *path);

#endif
