#include "check.h"

#include <inttypes.h>
#include <setjmp.h>
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

static int run_case(const check_case *c, void (*before)(void)) {
    int good = 0;
    note[0] = '\0';
    if (setjmp(failed) == 0) {
        if (before)
            before();
        c->run();
        printf("ok      %s\n", c->name);
        good = 1;
    } else {
        if (note[0])
            printf("%s\n", note);
        printf("FAILED  %s\n", c->name);
    }
    return good;
}

int check_run(const check_case *cases, size_t count, int argc, char **argv, void (*before)(void),
              void (*after)(void)) {
    unsigned passed = 0, broken = 0;
    setvbuf(stdout, NULL, _IOLBF, 0); /* what was said before a crash counts */
    for (size_t i = 0; i < count; i++) {
        if (argc > 1 && !strstr(cases[i].name, argv[1]))
            continue;
        if (run_case(&cases[i], before))
            passed++;
        else
            broken++;
        if (after)
            after();
        if (broken > 0 && getenv("CHECK_STOP"))
            break;
    }
    printf("%u passed, %u failed\n", passed, broken);
    return broken != 0;
}
