/* SPDX-License-Identifier: MIT */
#include "cli/text.h"
#include "zklock.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int patience = -1; /* milliseconds; -1: for ever */

void cli_complaint_patience(int milliseconds) {
    patience = milliseconds;
}

bool cli_complaint_is_taken(int milliseconds) {
    struct pollfd standard_error = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&standard_error, 1, milliseconds) != 0;
}

void cli_write(int fd, const char *text, size_t length) {
    sigset_t stop, before;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTTOU);
    sigprocmask(SIG_BLOCK, &stop, &before);
    for (size_t done = 0; done < length;) {
        const ssize_t written = write(fd, text + done, length - done);
        if (written <= 0)
            break; /* nobody reads it now */
        done += (size_t)written;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* In one write: lines of several processes do not get mixed. */
static void say(const char *prefix, const char *format, va_list arguments) {
    char *message = NULL;
    if (vasprintf(&message, format, arguments) < 0)
        message = cli_memory_text("not enough memory");
    char *shown = cli_text_shown(message, strlen(message));
    char *line = cli_memory_print("zklock: %s%s\n", prefix, shown);
    fflush(stdout);
    if (cli_complaint_is_taken(patience))
        cli_write(STDERR_FILENO, line, strlen(line));
    free(line);
    free(shown);
    free(message);
}

void cli_complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("", format, arguments);
    va_end(arguments);
}

void cli_warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("warning: ", format, arguments);
    va_end(arguments);
}

int cli_misuse(const char *argument, const char *format, ...) {
    va_list arguments;
    char *prefix = cli_memory_print("bad argument '%s': ", argument);
    char *shown = cli_text_shown(prefix, strlen(prefix));
    va_start(arguments, format);
    say(shown, format, arguments);
    va_end(arguments);
    free(shown);
    free(prefix);
    return EX_USAGE;
}

int cli_failure(zkl_status status, const char *about) {
    if (about)
        cli_complain("%s: %s", zkl_status_text(status), about);
    else
        cli_complain("%s", zkl_status_text(status));
    return cli_exit_code(status);
}

static const struct {
    zkl_status status;
    int code;
} codes[] = {
    {ZKL_OK, 0},
    {ZKL_WRONG_KIND, EX_DATAERR},
    {ZKL_DEADLOCK, EX_DATAERR},
    {ZKL_BAD_VERSION, EX_DATAERR},
    {ZKL_NOT_EMPTY, EX_DATAERR},
    {ZKL_TOO_BIG, EX_DATAERR},
    {ZKL_NO_NODE, EX_NOINPUT},
    {ZKL_TIMEOUT, EX_UNAVAILABLE},
    {ZKL_DISCONNECTED, EX_UNAVAILABLE},
    {ZKL_NODE_EXISTS, EX_CANTCREAT},
    {ZKL_LOST, EX_TEMPFAIL},
    {ZKL_UNKNOWN, EX_PROTOCOL},
    {ZKL_ACCESS_DENIED, EX_NOPERM},
    {ZKL_AUTH_FAILED, EX_NOPERM},
};

int cli_exit_code(zkl_status status) {
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].status == status)
            return codes[i].code;
    return EX_SOFTWARE;
}
