/* SPDX-License-Identifier: MIT */
/* A check of the fake servers fails as everything does here. */
#include "check.h"

#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void check_fail(const char *file, int line, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sim_fail("%s (%s:%d)", text, file, line);
}

void check_int(const char *file, int line, const char *what, int64_t is, int64_t should) {
    if (is != should)
        check_fail(file, line, "%s is %lld, not %lld", what, (long long)is, (long long)should);
}
