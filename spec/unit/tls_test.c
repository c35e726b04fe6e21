#include "check.h"
#include "tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const NAMES[] = {"ca", "cert", "key"};
static char good[] = "/tmp/tls_test.XXXXXX", why[256];

static void begin(void) {
    strcpy(good + sizeof good - 7, "XXXXXX");
    const int fd = mkstemp(good);
    CHECK(fd >= 0);
    close(fd);
}

static void end(void) {
    unlink(good);
}

/* What is said if file `which` is `path`, and the others can be read. */
static const char *check(size_t which, const char *path) {
    return zkl_tls_check(which == 0 ? path : good, which == 1 ? path : good,
                         which == 2 ? path : good, "sesame", why, sizeof why);
}

static void names_a_file_that_is_not_there(void) {
    for (size_t i = 0; i < 3; i++) {
        CHECK_TEXT(check(i, "/nonesuch/file"), NAMES[i]);
        CHECK_TEXT(why, "cannot read /nonesuch/file: No such file or directory");
    }
}

static void names_a_file_that_cannot_be_read(void) {
    for (size_t i = 0; i < 3; i++) {
        CHECK_TEXT(check(i, "/"), NAMES[i]);
        CHECK_TEXT(why, "cannot read /: Is a directory");
    }
}

static void cuts_a_long_complaint(void) {
    char path[1024];
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = 0;
    CHECK_TEXT(check(0, path), "ca");
    CHECK(strlen(why) < sizeof why);
}

static void gives_no_reason_without_a_failure(void) {
    CHECK(zkl_tls_reason() == NULL);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"names a file that is not there", names_a_file_that_is_not_there},
        {"names a file that cannot be read", names_a_file_that_cannot_be_read},
        {"cuts a long complaint", cuts_a_long_complaint},
        {"gives no reason without a failure", gives_no_reason_without_a_failure},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
