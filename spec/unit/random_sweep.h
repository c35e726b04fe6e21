/* SPDX-License-Identifier: MIT */
/* random_sweep: one course with many seeds. Each seed has a process of its own, so that one that
 * crashes or never ends is a failure like others, and all processors are at work. */
#ifndef RANDOM_SWEEP_H
#define RANDOM_SWEEP_H

/* The outcome of a seed; the child's exit code. */
typedef enum random_outcome { RANDOM_PASSED, RANDOM_FAILED, RANDOM_TRIED_LITTLE } random_outcome;

typedef struct random_tally {
    unsigned passed, failed;
    unsigned little; /* of those that passed: they tried too little to say anything */
} random_tally;

/* Runs the seeds from 1 on, adds to the tally, and prints what those that fail print. */
void random_sweep(unsigned course, unsigned seeds,
                  random_outcome (*run)(unsigned course, unsigned seed), random_tally *tally);

#endif
