/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "check_memory.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf failed;
static char note[256];

void check_note(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(note, sizeof note, format, args);
    va_end(args);
}

void check_fail(const char *file, int line, const char *format, ...) {
    va_list args;
    va_start(args, format);
    printf("%s:%d: ", file, line);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    longjmp(failed, 1);
}

void check_int(const char *file, int line, const char *what, int64_t is, int64_t should) {
    if (is != should)
        check_fail(file, line, "%s is %" PRId64 ", not %" PRId64, what, is, should);
}

void check_text(const char *file, int line, const char *what, const char *is, const char *should) {
    if (!is || strcmp(is, should) != 0)
        check_fail(file, line, "%s is '%s', not '%s'", what, is ? is : "(null)", should);
}

/* false: a check has failed. */
static bool succeeds(void (*what)(void)) {
    if (setjmp(failed) != 0)
        return false;
    if (what)
        what();
    return true;
}

static bool run_case(const check_case *c, void (*before)(void), void (*after)(void)) {
    note[0] = '\0';
    const bool good = succeeds(before) && succeeds(c->run);
    if (!good && note[0])
        printf("%s\n", note);
    return succeeds(after) && good;
}

/* Does it leave memory behind each time that it runs? A piece that is kept for the next time is
 * there once. */
static bool leaks(const check_case *c, void (*before)(void), void (*after)(void), size_t pieces) {
    if (check_memory_pieces() <= pieces)
        return false;
    pieces = check_memory_pieces();
    if (run_case(c, before, after) && check_memory_pieces() <= pieces)
        return false;
    printf("not freed: %zu pieces of memory\n", check_memory_pieces() - pieces);
    return true;
}

static bool passes(const check_case *c, void (*before)(void), void (*after)(void)) {
    const size_t pieces = check_memory_pieces();
    const bool good = run_case(c, before, after) && !leaks(c, before, after, pieces);
    printf("%s  %s\n", good ? "ok    " : "FAILED", c->name);
    return good;
}

int check_run(const check_case *cases, size_t count, int argc, char **argv, void (*before)(void),
              void (*after)(void)) {
    unsigned passed = 0, broken = 0;
    setvbuf(stdout, NULL, _IOLBF, 0); /* what was said before a crash counts */
    for (size_t i = 0; i < count; i++) {
        if (argc > 1 && !strstr(cases[i].name, argv[1]))
            continue;
        if (passes(&cases[i], before, after))
            passed++;
        else
            broken++;
        if (broken > 0 && getenv("CHECK_STOP"))
            break;
    }
    printf("%u passed, %u failed\n", passed, broken);
    return broken != 0;
}
