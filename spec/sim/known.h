/* SPDX-License-Identifier: MIT */
/* known: histories that failed once, made short, with what was wrong. */
#ifndef KNOWN_H
#define KNOWN_H

#include <stdint.h>

typedef struct sim_known {
    const char *name;
    uint64_t seed;
    const char *keep; /* the deeds that did it; NULL: all */
} sim_known;

/* The last one has no name. */
extern const sim_known sim_known_histories[];

#endif
