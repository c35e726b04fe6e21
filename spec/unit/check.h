/* SPDX-License-Identifier: MIT */
/* check: what the unit tests stand on. A program is a table of named cases; the first check that
 * fails ends its case. The last line says `N passed, N failed`. */
#ifndef CHECK_H
#define CHECK_H

#include <stddef.h>
#include <stdint.h>

typedef struct check_case {
    const char *name; /* a sentence about behaviour */
    void (*run)(void);
} check_case;

/* Runs the cases, each between `before` and `after` (NULL: nothing to do); after a failure, too.
 * With an argument, only those whose name holds it. With CHECK_STOP in the environment the first
 * that fails is the last. Returns what main returns. */
int check_run(const check_case *cases, size_t count, int argc, char **argv, void (*before)(void),
              void (*after)(void));

/* A line that is printed if the running case fails: the seed, the step. */
void check_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

_Noreturn void check_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void check_int(const char *file, int line, const char *what, int64_t is, int64_t should);
void check_text(const char *file, int line, const char *what, const char *is, const char *should);

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0 : check_fail(__FILE__, __LINE__, "check failed: %s", #condition))
#define CHECK_INT(is, should) check_int(__FILE__, __LINE__, #is, (int64_t)(is), (int64_t)(should))
#define CHECK_TEXT(is, should) check_text(__FILE__, __LINE__, #is, (is), (should))
#define CHECK_CASES(cases) (cases), sizeof(cases) / sizeof *(cases)

#endif
