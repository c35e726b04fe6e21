/* SPDX-License-Identifier: MIT */
#include "base/counts.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

const double zkl_bounds[ZKL_BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                        0.5,   1,      2.5,   5,    10,    30,   60,  INFINITY};

/* The same in nanoseconds. */
#define MS (ZKL_SECOND / 1000)
static const zkl_nanos bounds[ZKL_BUCKETS] = {
    MS,       MS * 5 / 2, MS * 5,    MS * 10,   MS * 25,    MS * 50,    MS * 100,   MS * 250,
    MS * 500, MS * 1000,  MS * 2500, MS * 5000, MS * 10000, MS * 30000, MS * 60000, ZKL_NEVER};

static const char *const results[] = {
    [ZKL_RESULT_ACQUIRED] = "acquired",   [ZKL_RESULT_TIMEOUT] = "timeout",
    [ZKL_RESULT_CANCELLED] = "cancelled", [ZKL_RESULT_DISCONNECTED] = "disconnected",
    [ZKL_RESULT_BUSY] = "busy",           [ZKL_RESULT_DEADLOCK] = "deadlock",
    [ZKL_RESULT_CLOSED] = "closed",       [ZKL_RESULT_ERROR] = "error",
};
_Static_assert(sizeof results / sizeof *results == ZKL_RESULT_END, "each has a text");
_Static_assert((int)ZKL_RESULT_END <= ZKL_RESULTS && (int)ZKL_LOSS_END <= ZKL_LOSSES &&
                   (int)ZKL_RUN_END <= ZKL_RUNS,
               "the arrays of zkl_counts have room for each");

static const char *const losses[] = {
    [ZKL_LOSS_NONE] = "none",
    [ZKL_LOSS_EXPIRED] = "expired",
    [ZKL_LOSS_DELETED] = "deleted",
    [ZKL_LOSS_MAX_HOLD] = "max_hold",
};
_Static_assert(sizeof losses / sizeof *losses == ZKL_LOSS_END, "each has a text");

static const char *const runs[] = {
    [ZKL_RUN_RAN] = "ran",
    [ZKL_RUN_SKIPPED] = "skipped",
    [ZKL_RUN_FAILED] = "failed",
};
_Static_assert(sizeof runs / sizeof *runs == ZKL_RUN_END, "each has a text");

double zkl_bound(size_t bucket) {
    return bucket < ZKL_BUCKETS ? zkl_bounds[bucket] : INFINITY;
}

const char *zkl_result_text(zkl_result result) {
    return (size_t)result < ZKL_RESULT_END ? results[result] : "unknown";
}

const char *zkl_run_text(zkl_run run) {
    return (size_t)run < ZKL_RUN_END ? runs[run] : "unknown";
}

const char *zkl_loss_text(zkl_loss loss) {
    return (size_t)loss < ZKL_LOSS_END ? losses[loss] : "unknown";
}

zkl_result zkl_result_of(zkl_status status) {
    switch (status) {
    case ZKL_TIMEOUT:
        return ZKL_RESULT_TIMEOUT;
    case ZKL_CANCELLED:
        return ZKL_RESULT_CANCELLED;
    case ZKL_DISCONNECTED:
        return ZKL_RESULT_DISCONNECTED;
    case ZKL_BUSY:
        return ZKL_RESULT_BUSY;
    case ZKL_DEADLOCK:
        return ZKL_RESULT_DEADLOCK;
    case ZKL_CLOSED:
        return ZKL_RESULT_CLOSED;
    default:
        return ZKL_RESULT_ERROR;
    }
}

/* ---- histograms ---- */

void zkl_histogram_add(zkl_histogram *histogram, zkl_nanos duration) {
    size_t i = 0;
    while (duration > bounds[i])
        i++;
    histogram->buckets[i]++;
    histogram->sum += zkl_clock_seconds(duration);
}

static void merge(zkl_histogram *into, const zkl_histogram *from) {
    for (size_t i = 0; i < ZKL_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
    into->sum += from->sum;
}

/* ---- names ---- */

#define OTHER ZKL_NAMES_MOST /* its index */
static const char other_name[] = "other";
static atomic_uint_fast64_t serials;

static zkl_counts *counts_new(const char *name) {
    zkl_counts *counts = calloc(1, sizeof *counts);
    char *own = strdup(name);
    if (!counts || !own) {
        free(counts);
        free(own);
        return NULL;
    }
    counts->name = own;
    counts->serial = atomic_fetch_add(&serials, 1) + 1;
    return counts;
}

unsigned zkl_counts_enter(zkl_counts_table *table, const char *name) {
    if (!name[0])
        return 0;
    size_t i = 0;
    while (i < OTHER && table->named[i] && strcmp(table->named[i]->name, name) != 0)
        i++;
    const bool full = i == OTHER || strcmp(name, other_name) == 0;
    if (full)
        i = OTHER;
    if (!table->named[i])
        table->named[i] = counts_new(full ? other_name : name);
    return table->named[i] ? (unsigned)i + 1 : ZKL_COUNTS_MOST;
}

void zkl_counts_ended(zkl_counts_table *table, unsigned number, zkl_status status, zkl_nanos wait) {
    zkl_counts *counts = zkl_counts_at(table, number);
    counts->ended[zkl_result_of(status)]++;
    zkl_histogram_add(&counts->wait, wait);
}

void zkl_counts_free(zkl_counts_table *table) {
    for (size_t i = 0; i <= OTHER; i++) {
        if (table->named[i])
            free((char *)table->named[i]->name);
        free(table->named[i]);
        table->named[i] = NULL;
    }
}

static void sum_of(const zkl_counts *counts, zkl_histogram *wait, zkl_histogram *hold) {
    merge(wait, &counts->wait);
    merge(hold, &counts->hold);
}

void zkl_counts_sum(const zkl_counts_table *table, zkl_histogram *wait, zkl_histogram *hold) {
    sum_of(&table->unnamed, wait, hold);
    for (size_t i = 0; i <= OTHER; i++)
        if (table->named[i])
            sum_of(table->named[i], wait, hold);
}
