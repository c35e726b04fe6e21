/* SPDX-License-Identifier: MIT */
/* must: what a fake needs of the machine, or the test ends here. */
#ifndef MUST_H
#define MUST_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline void must(bool good) {
    if (!good)
        abort();
}

static inline char *copy(const char *text) {
    char *c = strdup(text);
    must(c != NULL);
    return c;
}

#endif
