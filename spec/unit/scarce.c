/* SPDX-License-Identifier: MIT */
#include "scarce.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_uint asked, first, last; /* first 0: nothing is planned */

void scarce_plan(unsigned nth, unsigned count) {
    atomic_store(&first, 0);
    atomic_store(&asked, 0);
    atomic_store(&last, nth > UINT_MAX - count ? UINT_MAX : nth + count);
    atomic_store(&first, nth);
}

unsigned scarce_asked(void) {
    return atomic_load(&asked);
}

bool scarce_room(void) {
    const unsigned n = atomic_fetch_add(&asked, 1) + 1, from = atomic_load(&first);
    const bool room = from == 0 || n < from || n >= atomic_load(&last);
    if (!room)
        errno = ENOMEM;
    return room;
}

void *scarce_malloc(size_t size) {
    return scarce_room() ? malloc(size) : NULL;
}

void *scarce_calloc(size_t count, size_t size) {
    return scarce_room() ? calloc(count, size) : NULL;
}

char *scarce_strdup(const char *text) {
    return scarce_room() ? strdup(text) : NULL;
}

char *scarce_strndup(const char *text, size_t most) {
    return scarce_room() ? strndup(text, most) : NULL;
}

int scarce_asprintf(char **text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int length = scarce_room() ? vasprintf(text, format, args) : -1;
    va_end(args);
    return length;
}

/* The name of asprintf where buffers are checked (_FORTIFY_SOURCE). */
int scarce___asprintf_chk(char **text, int flag, const char *format, ...) {
    va_list args;
    (void)flag;
    va_start(args, format);
    const int length = scarce_room() ? vasprintf(text, format, args) : -1;
    va_end(args);
    return length;
}
