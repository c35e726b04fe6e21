/* SPDX-License-Identifier: MIT */
/* client_state: the data of a client, and how a step begins and ends: a mutex around the context,
 * the lines, the queries and the session. Only for the rooms of csrc/client. */
#ifndef ZKL_CLIENT_STATE_H
#define ZKL_CLIENT_STATE_H

#include "ask/ask.h"
#include "base/timer_thread.h"
#include "base/worker.h"
#include "client/access.h"
#include "client/registry.h"
#include "client/trace.h"
#include "line/lines.h"
#include "nodes/nodes.h"
#include "once/once.h"
#include "port/context.h"
#include "query/query.h"
#include "zookeeper/log.h"
#include "zookeeper/session.h"

#include <stdatomic.h>

struct zkl_client {
    pthread_mutex_t mutex;  /* protects everything below, except where a comment says otherwise */
    pthread_cond_t stepped; /* signalled at the end of each step while the client is closing */
    unsigned generation;    /* identifies the process that opened it; never changes */
    /* How many users it has: the host, the worker thread, and each contender, query, notifier and
     * visit of the host. */
    atomic_uint users;
    atomic_bool ended;

    zkl_context context;
    zkl_lines lines;
    zkl_queries queries;
    zkl_nodes nodes;
    zkl_onces onces;
    zkl_session session;
    zkl_timer_thread timer_thread;
    zkl_worker worker;
    zkl_job end;
    zkl_log *log;      /* never changes; NULL: no log */
    zkl_tracer tracer; /* of a client with a trace */
    zkl_registered registered;
    zkl_notice closed; /* wakes the host when the session has ended */
    zkl_timer alarm;   /* wakes the host at the moment that the host has set */
    bool closing;
};

zkl_client *zkl_client_of(zkl_context *context);

/* Begins a step: takes the mutex. */
void zkl_client_enter(zkl_client *client);
/* Begins a step for a call of the host. false: this is a fork of the process that opened the
 * client, and the mutex is not taken. */
bool zkl_client_begin(zkl_client *client);
/* Ends a step: frees ended objects, answers queries, and releases the mutex. */
void zkl_client_leave(zkl_client *client);
/* The same for a step that began a wait: a wait whose deadline has passed ends here, because the
 * timer's thread could be later than an answer. */
void zkl_client_leave_waiting(zkl_client *client, zkl_nanos deadline);
#ifdef ZKL_CHECK
/* The end of each step calls it: is what the lines know a legal state? The tests define it
 * (spec/unit/invariants_sums.c), so a build with ZKL_CHECK alone does not link. */
void zkl_invariants_check(const zkl_lines *lines, const zkl_nodes *nodes);
#endif
/* Ends a step that changed nothing. */
void zkl_client_unlock(zkl_client *client);

/* Starts a question of the host, within a step. The client stays until the host drops it. */
void zkl_client_ask(zkl_client *client, zkl_ask *ask, zkl_nanos deadline);
/* The host drops it: a step. In a fork of the process nothing happens. */
void zkl_client_drop(zkl_ask *ask);

/* The full path of a node: "/" with a chroot is the chroot. Ownership as below. */
char *zkl_client_node_path(const zkl_client *client, const char *path);
/* A full path, with the chroot. The caller frees it; NULL: no memory. */
char *zkl_client_full_path(const zkl_client *client, const char *path);

#endif
