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
unsigned zkl_counts_number(zkl_counts_table *table, const char *name);
/* The counts with a number that zkl_counts_number has returned; with any other number, those
 * without a name. */
static inline zkl_counts *zkl_counts_at(zkl_counts_table *table, unsigned number) {
    zkl_counts *named = number > 0 && number < ZKL_COUNTS_MOST ? table->named[number - 1] : NULL;
    return named ? named : &table->unnamed;
}
/* An acquire through a lock with the name of that number has ended, after so long. */
void zkl_counts_ended(zkl_counts_table *table, unsigned number, zkl_status status, zkl_nanos wait);
void zkl_counts_free(zkl_counts_table *table);

/* Copies all counts in use to `into`, which has room for ZKL_COUNTS_MOST: first those without a
 * name, then the others in order of their serial, "other" last. Returns how many there are. */
size_t zkl_counts_copy(const zkl_counts_table *table, zkl_counts *into);
/* Among those `count` copies, the one of zkl_counts_at(number). */
zkl_counts *zkl_counts_copied(zkl_counts *copies, size_t count, unsigned number);

/* Adds the waits and the holds of all names to these. */
void zkl_counts_sum(const zkl_counts_table *table, zkl_histogram *wait, zkl_histogram *hold);

/* A duration is in the first bucket whose bound it does not exceed. */
void zkl_histogram_add(zkl_histogram *histogram, zkl_nanos duration);

#endif
