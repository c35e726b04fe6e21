/* SPDX-License-Identifier: MIT */
/* counts: what a client counts of its locks, for metrics: how waits and holds end, and how long
 * they take. The locks with one name share their counts. Not locked. */
#ifndef ZKL_COUNTS_H
#define ZKL_COUNTS_H

#include "zklock.h"

/* The upper bounds of the buckets, in seconds; the last is infinity. */
extern const double zkl_bounds[ZKL_BUCKETS];

/* The result of a wait that failed with that status. */
zkl_result zkl_result_of(zkl_status status);

_Static_assert(ZKL_COUNTS_MOST <= UINT8_MAX, "a contender keeps the number in a byte");

/* The counts of one client; zeros are valid. */
typedef struct zkl_counts_table {
    zkl_counts unnamed;
    zkl_counts *named[ZKL_NAMES_MOST + 1]; /* NULL: not used yet; the last is "other" */
} zkl_counts_table;

/* The number of the counts with that name, which it creates. 0: the name is "". ZKL_COUNTS_MOST: no
 * memory. */
unsigned zkl_counts_enter(zkl_counts_table *table, const char *name);
/* The number itself, if it has counts, otherwise 0. The numbers that have some are in order of
 * their serial, "other" last. */
static inline unsigned zkl_counts_used(const zkl_counts_table *table, unsigned number) {
    return number > 0 && number < ZKL_COUNTS_MOST && table->named[number - 1] ? number : 0;
}

/* The counts with a number that zkl_counts_enter has returned; with any other number, those
 * without a name. */
static inline zkl_counts *zkl_counts_at(zkl_counts_table *table, unsigned number) {
    const unsigned used = zkl_counts_used(table, number);
    return used ? table->named[used - 1] : &table->unnamed;
}
/* An acquire through a lock with the name of that number has ended, after so long. */
void zkl_counts_ended(zkl_counts_table *table, unsigned number, zkl_status status, zkl_nanos wait);
void zkl_counts_free(zkl_counts_table *table);

/* Adds the waits and the holds of all names to these. */
void zkl_counts_sum(const zkl_counts_table *table, zkl_histogram *wait, zkl_histogram *hold);

/* A duration is in the first bucket whose bound it does not exceed. */
void zkl_histogram_add(zkl_histogram *histogram, zkl_nanos duration);

#endif
