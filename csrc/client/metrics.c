/* SPDX-License-Identifier: MIT */
/* metrics: the counts of a client, as its host sees them. */
#include "base/clock.h"
#include "base/counts.h"
#include "client/access.h"
#include "client/client_state.h"
#include "line/contender.h"
#include "line/polled.h"
#include "zklock.h"

#include <string.h>
#include <time.h>

/* locked */
static void copy_stats(zkl_client *client, zkl_stats *stats) {
    *stats = client->context.counters;
    stats->unwatched = zkl_polled_count(&client->lines.common);
    stats->node_bytes = client->lines.common.node_budget.bytes;
    stats->latency = zkl_clock_seconds(client->session.heart.latency);
    zkl_counts_sum(&client->context.counts, &stats->wait, &stats->hold);
}

void zkl_client_stats(zkl_client *client, zkl_stats *stats) {
    memset(stats, 0, sizeof *stats);
    if (!zkl_client_begin(client))
        return;
    copy_stats(client, stats);
    zkl_client_unlock(client);
}

zkl_status zkl_name(zkl_client *client, const char *name, unsigned *number) {
    if (!zkl_client_begin(client))
        return ZKL_FORKED;
    *number = zkl_counts_number(&client->context.counts, name);
    zkl_client_unlock(client);
    return *number < ZKL_COUNTS_MOST ? ZKL_OK : ZKL_NO_MEMORY;
}

void zkl_count(zkl_client *client, unsigned name, zkl_status status, zkl_nanos wait) {
    if (!zkl_client_begin(client))
        return;
    zkl_counts_ended(&client->context.counts, name, status, wait > 0 ? wait : 0);
    zkl_client_unlock(client);
}

void zkl_count_run(zkl_client *client, unsigned name, zkl_run run) {
    if ((size_t)run >= ZKL_RUN_END || !zkl_client_begin(client))
        return;
    zkl_counts *counts = zkl_counts_at(&client->context.counts, name);
    counts->runs[run]++;
    client->context.counters.runs[run]++;
    if (run == ZKL_RUN_RAN) {
        struct timespec wall;
        clock_gettime(CLOCK_REALTIME, &wall);
        counts->last_run = (double)wall.tv_sec + (double)wall.tv_nsec / ZKL_SECOND;
    }
    zkl_client_unlock(client);
}

static zkl_counts *copy_of(zkl_measures *measures, const zkl_contender *c) {
    return zkl_counts_copied(measures->counts, measures->count, c->terms.name);
}

/* An age of one name, and the largest of all names. */
static void raise_to(double *of_name, double *of_all, zkl_nanos age) {
    const double seconds = zkl_clock_seconds(age);
    *of_name = seconds > *of_name ? seconds : *of_name;
    *of_all = seconds > *of_all ? seconds : *of_all;
}

/* Of each name the oldest wait and hold. */
static void copy_ages(const zkl_context *context, zkl_nanos now, zkl_measures *measures) {
    ZKL_EACH (const zkl_contender, c, &context->waiters, age) {
        if (!c->terms.job)
            raise_to(&copy_of(measures, c)->oldest_wait, &measures->oldest_wait, now - c->since);
    }
    ZKL_EACH (const zkl_contender, c, &context->holds, age) {
        if (!c->terms.job)
            raise_to(&copy_of(measures, c)->oldest_hold, &measures->oldest_hold, now - c->since);
    }
}

/* Seconds for which every hold is valid; 0: nothing is held. */
static double least_validity(const zkl_context *context, zkl_nanos now) {
    zkl_nanos until = context->holds.first ? ZKL_NEVER : now;
    ZKL_EACH (const zkl_contender, c, &context->holds, age) {
        const zkl_nanos its = zkl_contender_valid_until(c);
        until = its < until ? its : until;
    }
    return until > now ? zkl_clock_seconds(until - now) : 0;
}

bool zkl_client_measure(zkl_client *client, zkl_measures *measures) {
    memset(measures, 0, sizeof *measures);
    if (!zkl_client_begin(client))
        return false;
    const zkl_context *context = &client->context;
    const zkl_nanos now = zkl_context_now(context);
    copy_stats(client, &measures->stats);
    measures->validity = least_validity(context, now);
    measures->count = zkl_counts_copy(&context->counts, measures->counts);
    copy_ages(context, now, measures);
    zkl_client_unlock(client);
    return true;
}

double zkl_since(zkl_contender *contender) {
    zkl_client *client = zkl_client_of(contender->context);
    if (!zkl_client_begin(client))
        return 0;
    const bool present = contender->phase != ZKL_OVER;
    const zkl_nanos since = zkl_context_now(contender->context) - contender->since;
    zkl_client_unlock(client);
    return present ? zkl_clock_seconds(since) : 0;
}
