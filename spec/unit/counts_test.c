/* SPDX-License-Identifier: MIT */
/* The counts of a client: histograms, results, names. */
#include "base/counts.h"

#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- histograms ---- */

static size_t bucket_of(zkl_nanos duration) {
    zkl_histogram histogram = {0};
    zkl_histogram_add(&histogram, duration);
    size_t found = ZKL_BUCKETS;
    for (size_t i = 0; i < ZKL_BUCKETS; i++)
        if (histogram.buckets[i] == 1)
            found = found == ZKL_BUCKETS ? i : ZKL_BUCKETS + 1;
    return found;
}

static void a_duration_is_in_the_first_bucket_whose_bound_it_does_not_exceed(void) {
    CHECK_INT(bucket_of(0), 0);
    for (size_t i = 0; i + 1 < ZKL_BUCKETS; i++) {
        const zkl_nanos bound = (zkl_nanos)(zkl_bounds[i] * 1e9 + 0.5);
        CHECK_INT(bucket_of(bound), i);
        CHECK_INT(bucket_of(bound + 1), i + 1);
    }
    CHECK(isinf(zkl_bounds[ZKL_BUCKETS - 1]));
    CHECK_INT(bucket_of(ZKL_NEVER), ZKL_BUCKETS - 1);
}

static void the_bounds_are_those_of_the_contract(void) {
    static const double bounds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                    0.5,   1,      2.5,   5,    10,    30,   60};
    for (size_t i = 0; i + 1 < ZKL_BUCKETS; i++)
        CHECK(zkl_bounds[i] == bounds[i]);
}

static void a_histogram_adds_seconds(void) {
    zkl_histogram histogram = {0};
    zkl_histogram_add(&histogram, 3 * ZKL_SECOND / 2);
    zkl_histogram_add(&histogram, ZKL_SECOND / 4);
    CHECK(histogram.sum == 1.75);
}

/* ---- results ---- */

static void each_status_has_one_result(void) {
    static const struct {
        zkl_status status;
        const char *text;
    } rows[] = {
        {ZKL_TIMEOUT, "timeout"},
        {ZKL_CANCELLED, "cancelled"},
        {ZKL_DISCONNECTED, "disconnected"},
        {ZKL_BUSY, "busy"},
        {ZKL_DEADLOCK, "deadlock"},
        {ZKL_CLOSED, "closed"},
        {ZKL_ACCESS_DENIED, "error"},
        {ZKL_WRONG_KIND, "error"},
        {ZKL_NO_MEMORY, "error"},
        {ZKL_TOO_BIG, "error"},
        {ZKL_LOST, "error"},
        {-127, "error"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_TEXT(zkl_result_text(zkl_result_of(rows[i].status)), rows[i].text);
    CHECK_TEXT(zkl_result_text(ZKL_RESULT_ACQUIRED), "acquired");
    CHECK_TEXT(zkl_loss_text(ZKL_LOSS_EXPIRED), "expired");
    CHECK_TEXT(zkl_loss_text(ZKL_LOSS_DELETED), "deleted");
    CHECK_TEXT(zkl_loss_text(ZKL_LOSS_MAX_HOLD), "max_hold");
    CHECK_TEXT(zkl_run_text(ZKL_RUN_RAN), "ran");
    CHECK_TEXT(zkl_run_text(ZKL_RUN_SKIPPED), "skipped");
    CHECK_TEXT(zkl_run_text(ZKL_RUN_FAILED), "failed");
    CHECK_TEXT(zkl_run_text(ZKL_RUN_END), "unknown");
}

static void an_end_is_counted_with_its_wait(void) {
    zkl_counts_table table = {0};
    const unsigned number = zkl_counts_enter(&table, "report");
    zkl_counts_ended(&table, number, ZKL_TIMEOUT, 2 * ZKL_SECOND);
    const zkl_counts *counts = zkl_counts_at(&table, number);
    CHECK_INT(counts->ended[ZKL_RESULT_TIMEOUT], 1);
    CHECK_INT(counts->wait.buckets[10], 1);
    CHECK_INT(table.unnamed.ended[ZKL_RESULT_TIMEOUT], 0);
    zkl_counts_free(&table);
}

/* ---- names ---- */

static void a_name_has_one_number(void) {
    zkl_counts_table table = {0};
    const unsigned a = zkl_counts_enter(&table, "a"), b = zkl_counts_enter(&table, "b");
    CHECK(a != b && a && b);
    CHECK_INT(zkl_counts_enter(&table, "a"), a);
    CHECK_INT(zkl_counts_enter(&table, ""), 0);
    CHECK(zkl_counts_at(&table, 0) == &table.unnamed);
    CHECK(zkl_counts_at(&table, b + 1) == &table.unnamed); /* nobody has been given that one */
    CHECK(zkl_counts_at(&table, ZKL_COUNTS_MOST) == &table.unnamed);
    zkl_counts_free(&table);
}

static void the_hundred_and_first_name_is_other(void) {
    zkl_counts_table table = {0};
    char name[32];
    unsigned last = 0;
    for (int i = 0; i < ZKL_NAMES_MOST; i++) {
        snprintf(name, sizeof name, "name %d", i);
        last = zkl_counts_enter(&table, name);
        CHECK_TEXT(zkl_counts_at(&table, last)->name, name);
    }
    const unsigned other = zkl_counts_enter(&table, "one more");
    CHECK(other != last);
    CHECK_TEXT(zkl_counts_at(&table, other)->name, "other");
    CHECK_INT(zkl_counts_enter(&table, "and another"), other);
    CHECK_INT(zkl_counts_enter(&table, "name 7"), 8);
    CHECK_INT(other, ZKL_COUNTS_MOST - 1);
    for (unsigned i = 2; i < ZKL_COUNTS_MOST; i++)
        CHECK(zkl_counts_at(&table, i - 1)->serial < zkl_counts_at(&table, i)->serial);
    zkl_counts_free(&table);
}

static void a_lock_named_other_shares_the_counts_of_the_others(void) {
    zkl_counts_table table = {0};
    const unsigned other = zkl_counts_enter(&table, "other");
    CHECK_INT(zkl_counts_used(&table, other), other);
    CHECK_INT(zkl_counts_used(&table, 1), 0); /* no other name is there yet */
    CHECK_INT(zkl_counts_used(&table, ZKL_COUNTS_MOST), 0);
    for (int i = 0; i <= ZKL_NAMES_MOST; i++) {
        char name[32];
        snprintf(name, sizeof name, "name %d", i);
        const unsigned number = zkl_counts_enter(&table, name);
        CHECK((number == other) == (i == ZKL_NAMES_MOST));
    }
    zkl_counts_free(&table);
}

static void a_sum_has_all_names(void) {
    zkl_counts_table table = {0};
    zkl_histogram wait = {0}, hold = {0};
    zkl_counts_ended(&table, 0, ZKL_TIMEOUT, ZKL_SECOND);
    zkl_counts_ended(&table, zkl_counts_enter(&table, "a"), ZKL_TIMEOUT, ZKL_SECOND);
    zkl_counts_ended(&table, zkl_counts_enter(&table, "other"), ZKL_TIMEOUT, ZKL_SECOND);
    zkl_histogram_add(&zkl_counts_at(&table, 0)->hold, ZKL_SECOND);
    zkl_counts_sum(&table, &wait, &hold);
    CHECK_INT(wait.buckets[9], 3);
    CHECK(wait.sum == 3);
    CHECK_INT(hold.buckets[9], 1);
    zkl_counts_free(&table);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a duration is in the first bucket whose bound it does not exceed",
         a_duration_is_in_the_first_bucket_whose_bound_it_does_not_exceed},
        {"the bounds are those of the contract", the_bounds_are_those_of_the_contract},
        {"a histogram adds seconds", a_histogram_adds_seconds},
        {"each status has one result", each_status_has_one_result},
        {"an end is counted with its wait", an_end_is_counted_with_its_wait},
        {"a name has one number", a_name_has_one_number},
        {"the hundred and first name is other", the_hundred_and_first_name_is_other},
        {"a lock named other shares the counts of the others",
         a_lock_named_other_shares_the_counts_of_the_others},
        {"a sum has all names", a_sum_has_all_names},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
