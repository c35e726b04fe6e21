/* SPDX-License-Identifier: MIT */
#include "client/client_state.h"

#include "base/counts.h"
#include "base/event.h"
#include "base/list.h"
#include "base/process.h"
#include "base/timer.h"
#include "compound/compound.h"
#include "line/batch.h"
#include "line/contender.h"
#include "nodes/node_request.h"
#include "nodes/node_watch.h"
#include "once/once.h"
#include "port/receiver.h"
#include "shared/node.h"
#include "zookeeper/heart.h"

#include <stdlib.h>
#include <string.h>

zkl_client *zkl_client_of(zkl_context *context) {
    return ZKL_CONTAINER_OF(context, zkl_client, context);
}

bool zkl_client_forked(const zkl_client *client) {
    return client->generation != zkl_process_generation();
}

zkl_events *zkl_client_events(zkl_client *client) {
    return &client->context.events;
}

void zkl_client_enter(zkl_client *client) {
    pthread_mutex_lock(&client->mutex);
}

bool zkl_client_begin(zkl_client *client) {
    if (zkl_client_forked(client))
        return false;
    zkl_client_enter(client);
    return true;
}

/* locked */
static void settle(zkl_client *client) {
    do
        zkl_compounds_step(&client->lines.common);
    while (zkl_shared_nodes_step(&client->lines.common) || zkl_batch_step(&client->lines.common));
    zkl_session_step(&client->session);
    do
        zkl_node_requests_step(&client->nodes);
    while (zkl_onces_step(&client->onces));
    zkl_node_watches_step(&client->nodes);
    zkl_asks_step(&client->queries.asks);
    zkl_lines_tidy(&client->lines);
    zkl_contenders_sweep(&client->lines.common);
    zkl_heart_advance(&client->session.heart);
    zkl_log_step(client->log);
#ifdef ZKL_CHECK
    zkl_invariants_check(&client->lines, &client->nodes);
#endif
    if (client->closing)
        pthread_cond_broadcast(&client->stepped);
}

void zkl_client_leave(zkl_client *client) {
    settle(client);
    pthread_mutex_unlock(&client->mutex);
}

void zkl_client_leave_waiting(zkl_client *client, zkl_nanos deadline) {
    settle(client);
    const zkl_nanos now = deadline == ZKL_NEVER ? 0 : zkl_context_now(&client->context);
    if (deadline <= now) {
        zkl_timers_run(&client->context.timers, now);
        settle(client);
    }
    pthread_mutex_unlock(&client->mutex);
}

void zkl_client_unlock(zkl_client *client) {
    pthread_mutex_unlock(&client->mutex);
}

void zkl_client_use(zkl_client *client) {
    atomic_fetch_add(&client->users, 1);
}

static void release_memory(zkl_client *client) {
    zkl_session_destroy(&client->session);
    zkl_node_watches_destroy(&client->nodes);
    zkl_lines_destroy(&client->lines);
    zkl_receivers_destroy(&client->context.receivers);
    if (client->log)
        zkl_log_close(client->log);
    free(client->log);
    zkl_events_destroy(&client->context.events);
    zkl_counts_free(&client->context.counts);
    pthread_cond_destroy(&client->stepped);
    pthread_mutex_destroy(&client->mutex);
    free(client);
}

void zkl_client_unuse(zkl_client *client) {
    if (atomic_fetch_sub(&client->users, 1) == 1)
        release_memory(client);
}

void zkl_client_ask(zkl_client *client, zkl_ask *ask, zkl_nanos deadline) {
    zkl_client_use(client);
    zkl_ask_start(ask, deadline);
    if (client->closing)
        zkl_ask_give_up(ask, ZKL_CLOSED);
}

void zkl_client_drop(zkl_ask *ask) {
    zkl_client *client = zkl_client_of(ask->all->context);
    if (!zkl_client_begin(client))
        return;
    zkl_ask_free(ask);
    zkl_client_leave(client);
    zkl_client_unuse(client);
}

char *zkl_client_node_path(const zkl_client *client, const char *path) {
    const bool root = path[0] == '/' && path[1] == '\0' && client->context.chroot > 0;
    return zkl_client_full_path(client, root ? "" : path);
}

char *zkl_client_full_path(const zkl_client *client, const char *path) {
    const char *chroot = client->session.servers.chroot;
    char *full = malloc(strlen(chroot) + strlen(path) + 1);
    if (full)
        stpcpy(stpcpy(full, chroot), path);
    return full;
}
