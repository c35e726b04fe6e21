/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "zookeeper/tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* The answer if file `which` is `path`, and the others can be read. */
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

/* The log's line about `what`, for a key with this mode; "": none. */
static const char *advice_on(const char *what, mode_t mode) {
    static char line[ZKL_LOG_LINE];
    char files[256];
    const char *level;
    bool own;
    zkl_events events;
    zkl_log log;
    CHECK(zkl_events_init(&events));
    zkl_log_open(&log, &events, &zkl_clock_boot, true);
    CHECK_INT(chmod(good, mode), 0);
    snprintf(files, sizeof files, "ca.pem,client.pem,%s,sesame", good);
    zkl_tls_advise(files, &log);
    do {
        if (!zkl_log_take_next(&log, &level, &own, line, sizeof line))
            line[0] = '\0';
        CHECK(!strstr(line, "sesame"));
    } while (line[0] && !strstr(line, what));
    zkl_log_close(&log);
    zkl_events_destroy(&events);
    return line;
}

static const char *advice(mode_t mode) {
    return advice_on("private key", mode);
}

static void warns_of_a_library_that_compares_no_names(void) {
    CHECK_INT(strstr(advice_on("whatever the name", 0600), "see docs/tls.md") != NULL,
              !zkl_tls_names());
}

static void warns_of_a_key_that_others_may_read(void) {
    CHECK_TEXT(advice(0600), "");
    CHECK_TEXT(advice(0640), "");
    CHECK(strstr(advice(0644), "every user of this machine may read the private key"));
    CHECK(strstr(advice(0604), good));
    CHECK(strstr(advice(0602), "every user of this machine may write"));
    zkl_tls_advise("", NULL);
    zkl_tls_advise(",,", NULL);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"names a file that is not there", names_a_file_that_is_not_there},
        {"names a file that cannot be read", names_a_file_that_cannot_be_read},
        {"cuts a long complaint", cuts_a_long_complaint},
        {"warns of a key that others may read or write", warns_of_a_key_that_others_may_read},
        {"warns of a library that compares no names", warns_of_a_library_that_compares_no_names},
        {"gives no reason without a failure", gives_no_reason_without_a_failure},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
