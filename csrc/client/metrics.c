/* SPDX-License-Identifier: MIT */
/* metrics: the counts of a client, as its host sees them. */
#include "base/clock.h"
#include "base/counts.h"
#include "base/sized.h"
#include "client/access.h"
#include "client/client_state.h"
#include "line/contender.h"
#include "line/polled.h"
#include "zklock_host.h"

#include <time.h>

/* locked */
static void copy_stats(zkl_client *client, zkl_stats *stats) {
    *stats = client->context.counters;
    stats->size = sizeof *stats;
    stats->unwatched = zkl_polled_count(&client->lines.common);
    stats->node_bytes = client->lines.common.node_budget.bytes;
    stats->latency = zkl_clock_seconds(client->session.heart.latency);
    zkl_counts_sum(&client->context.counts, &stats->wait, &stats->hold);
}

zkl_status zkl_client_stats(zkl_client *client, zkl_stats *given) {
    zkl_stats stats = ZKL_STATS_DEFAULTS;
    if (!zkl_sized_is_one(given))
        return ZKL_BAD_ARGUMENT;
    const bool ours = zkl_client_begin(client);
    if (ours) {
        copy_stats(client, &stats);
        zkl_client_unlock(client);
    }
    zkl_sized_give(given, &stats);
    return ours ? ZKL_OK : ZKL_FORKED;
}

zkl_status zkl_name(zkl_client *client, const char *name, unsigned *number) {
    if (!zkl_client_begin(client))
        return ZKL_FORKED;
    *number = zkl_counts_enter(&client->context.counts, name);
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

/* Of each number of a name the oldest wait and hold, in seconds. */
typedef struct ages {
    double wait[ZKL_COUNTS_MOST], hold[ZKL_COUNTS_MOST];
} ages;

/* An age of one name, and the largest of all names. */
static void raise_to(double *of_name, double *of_all, zkl_nanos age) {
    const double seconds = zkl_clock_seconds(age);
    *of_name = seconds > *of_name ? seconds : *of_name;
    *of_all = seconds > *of_all ? seconds : *of_all;
}

static ages ages_of(const zkl_context *context, zkl_nanos now, zkl_measures *measures) {
    ages all = {0};
    ZKL_EACH (const zkl_contender, c, &context->waiters, age) {
        if (!c->terms.job)
            raise_to(&all.wait[zkl_counts_used(&context->counts, c->terms.name)],
                     &measures->oldest_wait, now - c->since);
    }
    ZKL_EACH (const zkl_contender, c, &context->holds, age) {
        if (!c->terms.job)
            raise_to(&all.hold[zkl_counts_used(&context->counts, c->terms.name)],
                     &measures->oldest_hold, now - c->since);
    }
    return all;
}

/* Returns how many names have counts. The host's are `counts[0].size` apart. */
static size_t give_counts(zkl_counts_table *table, const ages *all, zkl_counts *counts,
                          size_t room) {
    const size_t size = room ? counts->size : 0;
    size_t count = 0;
    for (unsigned number = 0; number < ZKL_COUNTS_MOST; number++) {
        if (zkl_counts_used(table, number) != number)
            continue;
        if (count < room) {
            zkl_counts copy = *zkl_counts_at(table, number);
            zkl_counts *given = (zkl_counts *)((char *)counts + count * size);
            copy.size = sizeof copy;
            copy.name = number ? copy.name : "";
            copy.oldest_wait = all->wait[number];
            copy.oldest_hold = all->hold[number];
            given->size = size;
            zkl_sized_give(given, &copy);
        }
        count++;
    }
    return count;
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

/* locked */
static zkl_measures measure(zkl_client *client, zkl_counts *counts, size_t room) {
    const zkl_context *context = &client->context;
    const zkl_nanos now = zkl_context_now(context);
    zkl_measures measures = ZKL_MEASURES_DEFAULTS;
    const ages all = ages_of(context, now, &measures);
    measures.validity = least_validity(context, now);
    measures.count = give_counts(&client->context.counts, &all, counts, room);
    return measures;
}

zkl_status zkl_client_measure(zkl_client *client, zkl_measures *given, zkl_stats *given_stats,
                              zkl_counts *counts, size_t room) {
    zkl_measures measures = ZKL_MEASURES_DEFAULTS;
    zkl_stats stats = ZKL_STATS_DEFAULTS;
    if (!zkl_sized_is_one(given) || !zkl_sized_is_one(given_stats) ||
        (room && !zkl_sized_is_one(counts)))
        return ZKL_BAD_ARGUMENT;
    const bool ours = zkl_client_begin(client);
    if (ours) {
        copy_stats(client, &stats);
        measures = measure(client, counts, room);
        zkl_client_unlock(client);
    }
    zkl_sized_give(given, &measures);
    zkl_sized_give(given_stats, &stats);
    return ours ? ZKL_OK : ZKL_FORKED;
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
