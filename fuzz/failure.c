/* SPDX-License-Identifier: MIT */
/* failure: of a check, in the place of spec/unit/check.c: the fuzzer, or whoever replays, sees the
 * process die. */
#include "check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void check_note(const char *format, ...) {
    (void)format;
}

void check_fail(const char *file, int line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    abort();
}

void check_int(const char *file, int line, const char *what, int64_t is, int64_t should) {
    if (is != should)
        check_fail(file, line, "%s is %" PRId64 ", not %" PRId64, what, is, should);
}

void check_text(const char *file, int line, const char *what, const char *is, const char *should) {
    if (!is || strcmp(is, should) != 0)
        check_fail(file, line, "%s is '%s', not '%s'", what, is ? is : "(null)", should);
}
